"""`pack`: choose the contents of a pack, and fill a folder with them."""

from __future__ import annotations

import json
import platform
import re
import shutil
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from localeval.errors import DownloadFailed, InputError, ModelBroken, ModelMissing
from localeval.models import SUMS, ModelFiles, catalog, catalog_file_path, listing, models_dir, resolve
from localeval.models.catalog import DEFAULT_JUDGE
from localeval.models.files import auto_embedder, file_sha256
from localeval.pack import install
from localeval.pack.build import NAME as LLAMA
from localeval.pack.build import LlamaBuild, build_wheel, needed_glibc, run_pip
from localeval.pack.manifest import LlamaFacts, Manifest
from localeval.pack.unfinished import CopyDiffers, UnfinishedPack, check_target
from localeval.system.terminal import say
from localeval.system.versions import own_version

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
PACKED_SHARE = 0.3  # approximate bytes of wheels for a byte of installed packages
LLAMA_BYTES = 12_000_000  # of its wheel, approximately
_GPU = re.compile(r"(nvidia|cuda)[-_]|triton$")


@dataclass(frozen=True)
class PackContents:
    """`wheels`: package -> version, as pip downloads them; `unpacked`: bytes of all packages, installed."""

    wheels: dict[str, str]
    unpacked: int
    llama: LlamaBuild
    models: tuple[ModelFiles, ...]

    def lines(self, target: Path) -> list[str]:
        """Describe what will be fetched, compiled and copied, with sizes, and the free space at `target`."""
        wheels = self.unpacked * PACKED_SHARE
        models = sum(model.size for model in self.models)
        parent = next(folder for folder in (target, *target.parents) if folder.exists())
        free = shutil.disk_usage(parent).free
        compiled = "compiled before, from the cache" if self.llama.cached_wheel else "compiled now"
        return [
            f"a pack for {platform.python_implementation()} {platform.python_version()} on "
            f"{platform.system()} {platform.machine()}, in {target}",
            f"  {len(self.wheels) + 1} wheels: about {_mb(wheels)}, by pip as it is configured here; "
            f"torch from {CPU_INDEX} if pip does not find it",
            f"  {LLAMA} {self.llama.version}: about {_mb(LLAMA_BYTES)}, {compiled}",
            *(f"  {model.name}: {_mb(model.size)}, copied" for model in self.models),
            f"in all about {_mb(wheels + LLAMA_BYTES + models)}; {_mb(free)} are free there; "
            f"installed it takes about {_mb(self.unpacked * install.GROWTH + models)}",
        ]


def _mb(size: float) -> str:
    return f"{size / 1e6:,.0f} MB"


def choose_contents(models: Sequence[str], llama: LlamaBuild) -> PackContents:
    """Choose the packages installed here, with torch's CPU build, and these catalog models.

    Raises ModelError for a model that cannot be packed, InputError where a package is not installed.
    """
    packages = closure("localeval")
    cpu_torch = platform.system() == "Linux" and "torch" in packages
    if cpu_torch:
        packages = {name: package for name, package in packages.items() if not _GPU.match(name)}
    unpacked = sum(file.size or 0 for package in packages.values() for file in package.files or [])
    others = [name for name in packages if name not in ("localeval", LLAMA)]
    wheels = {name: packages[name].version for name in others} | {"pip": ""}  # any version of pip
    if cpu_torch:
        wheels["torch"] = f"{wheels['torch'].partition('+')[0]}+cpu"
    _check_in_catalog(models)
    chosen = tuple(map(resolve, dict.fromkeys(models)))
    return PackContents(dict(sorted(wheels.items())), unpacked, llama, chosen)


def _check_in_catalog(models: Sequence[str]) -> None:
    """Raise ModelMissing for a model that is not in the catalog."""
    entries = catalog.entries()
    unknown = [name for name in models if name not in entries]
    if unknown:
        raise ModelMissing(
            f"{unknown[0]!r} is not in the catalog, and a pack holds only its models: {', '.join(entries)}; "
            "copy another GGUF file separately, and give its path to --judge."
        )


def default_models(judge: str | None, embedder: str | None) -> list[str]:
    """Return the named judge and embedder; in place of one that is None, the default if it is here."""
    present = [row["name"] for row in listing() if row["state"] in ("present", "verified")]
    names = (judge or DEFAULT_JUDGE, embedder or auto_embedder())
    return [name for name in names if name in (judge, embedder, *present)]


def closure(name: str) -> dict[str, Distribution]:
    """Return a package and all its dependencies as installed here, by normalized name.

    >>> sorted(closure("jinja2"))
    ['jinja2', 'markupsafe']
    """
    packages: dict[str, Distribution] = {}
    seen = set()
    pending = [Requirement(name)]
    while pending:
        requirement = pending.pop()
        package = canonicalize_name(requirement.name)
        wanted = (package, frozenset(requirement.extras))
        if wanted in seen:
            continue
        seen.add(wanted)
        try:
            packages[package] = distribution(requirement.name)
        except PackageNotFoundError as error:
            raise InputError(
                f"{requirement.name} is not installed and cannot be packed; install all that localeval needs."
            ) from error
        # A marker is evaluated with one extra at a time, "" for none.
        extras = requirement.extras or {""}
        for line in packages[package].requires or []:
            needed = Requirement(line)
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in extras):
                pending.append(needed)
    return packages


def pack(contents: PackContents, target: Path) -> Path:
    """Fill the folder `target` and return the path of its manifest, which is written last.

    The folder is missing, empty, or holds what an interrupted call made: files that are whole are kept.

    Raises InputError for a folder with anything else in it, a full disk, and no compiler; DownloadFailed with
    the error of pip; ModelError for a missing or damaged model. Files that are written already stay there.
    """
    check_target(target)
    try:
        with closing(UnfinishedPack(target)) as unfinished:
            return _fill(unfinished, contents)
    except OSError as error:
        # A failed copy or rename names two files, of which the second is the one that was written.
        place = error.filename2 or error.filename or target
        raise InputError(f"{place}: {error.strerror or error}; repair that and pack again.") from error


def _fill(unfinished: UnfinishedPack, contents: PackContents) -> Path:
    """Make the files of a pack that are not there yet, and return the path of its manifest."""
    if not contents.llama.cached_wheel:
        say(f"compiling {LLAMA} {contents.llama.version}, which takes 5 to 10 minutes on a core")
    # First: it takes longest, and is kept outside the folder.
    llama = build_wheel(contents.llama)
    llama_name = f"wheels/{llama.name}"
    unfinished.copy(llama, llama_name, install.file_sha256(llama))
    # Before the others, so that nothing is downloaded if it can't be made.
    own_name = _add_own_wheel(unfinished)
    wheels = [llama_name, own_name, *_add_downloaded_wheels(unfinished, contents.wheels)]
    models: list[str] = []
    for model in contents.models:
        models += _add_model(unfinished, model)
    installer = Path(install.__file__)
    unfinished.copy(installer, "install.py", install.file_sha256(installer))
    wanted = [*wheels, *models, "install.py"]
    manifest = _manifest(unfinished, contents, wheels, wanted, needed_glibc(llama))
    return unfinished.finish(wanted, manifest)


def _add_model(unfinished: UnfinishedPack, model: ModelFiles) -> list[str]:
    """Copy the files of a model, and return their names in the pack."""
    say(f"copying {model.name}")
    entry = catalog.entries()[model.name]
    folder = models_dir()
    paths = [catalog_file_path(entry, file) for file in entry.files]
    paths.append(folder / model.name / SUMS)
    names = []
    for path in paths:
        if not path.is_file():
            continue
        name = f"models/{path.relative_to(folder).as_posix()}"
        try:
            unfinished.copy(path, name, file_sha256(path))
        except CopyDiffers as error:
            # The remembered sha256 was right, and the bytes changed without a trace.
            raise ModelBroken(f"{path} is damaged; run: localeval models verify {model.name}") from error
        names.append(name)
    return names


def _add_own_wheel(unfinished: UnfinishedPack) -> str:
    """Make localeval's own wheel, from the checkout, else from what pip installed; return its name.

    No index is asked for it: it is on none, and whoever took its name there would get into every pack.
    """
    source = _own_source()
    folder = unfinished.place("own/wheel").parent
    try:
        run_pip("wheel", "--wheel-dir", str(folder), source)
    except DownloadFailed as error:
        raise InputError(f"no wheel can be made of {source} ({error}); pack from a checkout.") from error
    wheel = next(folder.glob("*.whl"))
    name = f"wheels/{wheel.name}"
    unfinished.add(wheel, name)
    return name


def _own_source() -> str:
    """Return the path or address that pip makes localeval's wheel from."""
    checkout = catalog.checkout()
    if checkout:
        return str(checkout)
    origin = json.loads(distribution("localeval").read_text("direct_url.json") or "{}")
    source: str = origin.get("url", "")
    if not source:
        raise InputError("pip does not know from where localeval was installed; pack from a checkout.")
    if "vcs_info" in origin:
        vcs = origin["vcs_info"]
        return f"{vcs['vcs']}+{source}@{vcs['commit_id']}"
    return source


def _add_downloaded_wheels(unfinished: UnfinishedPack, wheels: Mapping[str, str]) -> list[str]:
    """Download the wheels that are not there yet, and return the names of all of them in the pack.

    wheels  package -> version; "" for any
    """
    missing = {
        name: version for name, version in wheels.items() if not _find(name, version, unfinished.files)
    }
    say(f"downloading {len(missing)} wheels")
    torch = missing.pop("torch", None)
    if missing:
        _download(
            unfinished, [f"{name}=={version}" if version else name for name, version in missing.items()]
        )
    if torch:
        try:
            _download(unfinished, [f"torch=={torch}"])
        except DownloadFailed:
            # The index of PyTorch has the CPU build, if the user's pip finds none.
            _download(unfinished, [f"torch=={torch}", "--index-url", CPU_INDEX])
    found = [_find(name, version, unfinished.files) for name, version in wheels.items()]
    return [name for name in found if name]


def _download(unfinished: UnfinishedPack, requirements: Sequence[str]) -> None:
    folder = unfinished.place("downloads/wheel").parent
    run_pip("download", "--only-binary", ":all:", "--dest", str(folder), *requirements)
    for wheel in sorted(folder.glob("*.whl")):
        unfinished.add(wheel, f"wheels/{wheel.name}")


def _find(package: str, version: str, files: Iterable[str]) -> str | None:
    """Return the name of the package's wheel among the files of a pack; None if it is not there.

    >>> _find("numpy", "2.0", ["models/a.gguf", "wheels/numpy-2.0-py3-none-any.whl"])
    'wheels/numpy-2.0-py3-none-any.whl'
    """
    for name in files:
        if name.startswith("wheels/"):
            packaged, packaged_version, *_ = parse_wheel_filename(Path(name).name)
            if packaged == package and version in ("", str(packaged_version)):
                return name
    return None


def _manifest(
    unfinished: UnfinishedPack,
    contents: PackContents,
    wheels: Sequence[str],
    wanted: Iterable[str],
    glibc: str,
) -> Manifest:
    """Describe a pack whose files are all there.

    wheels  the names of its wheels
    wanted  the names of all its files
    glibc   the oldest glibc that the compiled wheel runs with
    """
    packages: dict[str, str] = {}
    for wheel in sorted(wheels):
        name, version, *_ = parse_wheel_filename(Path(wheel).name)
        packages[name] = str(version)
    return Manifest(
        localeval_pack=install.FORMAT,
        localeval=own_version(),
        **install.this_machine(),
        glibc=glibc,
        packed_on=" ".join(platform.libc_ver()).strip(),
        cpu=contents.llama.cpu,
        llama=LlamaFacts(version=contents.llama.version, flags=list(contents.llama.flags)),
        packages=packages,
        models=[model.name for model in contents.models],
        installed_bytes=sum(_unpacked_bytes(unfinished.target / wheel) for wheel in wheels),
        pip=_find("pip", "", wheels) or "",
        files={name: unfinished.files[name] for name in wanted},
    )


def _unpacked_bytes(wheel: Path) -> int:
    with zipfile.ZipFile(wheel) as archive:
        return sum(member.file_size for member in archive.infolist())
