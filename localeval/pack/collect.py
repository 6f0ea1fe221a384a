"""`pack`: choose the contents of a pack, and fill an empty folder with them."""

from __future__ import annotations

import json
import platform
import re
import shutil
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from localeval import models as store
from localeval.errors import DownloadFailed, InputError, ModelBroken, ModelMissing
from localeval.models import ModelFiles, catalog
from localeval.models.catalog import DEFAULT_JUDGE
from localeval.models.files import auto_embedder, file_sha256
from localeval.pack import install
from localeval.pack.build import NAME as LLAMA
from localeval.pack.build import LlamaBuild, build_wheel, needed_glibc, run_pip
from localeval.system.files import atomic_write
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
        wheels, models = self.unpacked * PACKED_SHARE, sum(model.size for model in self.models)
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
    entries = catalog.entries()
    if unknown := [name for name in models if name not in entries]:
        raise ModelMissing(
            f"{unknown[0]!r} is not in the catalog, and a pack holds only its models: {', '.join(entries)}; "
            "copy another GGUF file separately, and give its path to --judge."
        )
    chosen = tuple(map(store.resolve, dict.fromkeys(models)))
    return PackContents(dict(sorted(wheels.items())), unpacked, llama, chosen)


def default_models(judge: str | None, embedder: str | None) -> list[str]:
    """Return the named judge and embedder; in place of one that is None, the default if it is here."""
    present = [row["name"] for row in store.listing() if row["state"] in ("present", "verified")]
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
        key = (canonicalize_name(requirement.name), frozenset(requirement.extras))
        if key in seen:
            continue
        seen.add(key)
        try:
            packages[key[0]] = distribution(requirement.name)
        except PackageNotFoundError as error:
            raise InputError(
                f"{requirement.name} is not installed and cannot be packed; install all that localeval needs."
            ) from error
        extras = requirement.extras or {""}
        for item in map(Requirement, packages[key[0]].requires or []):
            if item.marker is None or any(item.marker.evaluate({"extra": extra}) for extra in extras):
                pending.append(item)
    return packages


def check_empty(target: Path) -> None:
    """Raise InputError unless `target` is a new or an empty folder."""
    if target.exists() and not target.is_dir():
        raise InputError(f"{target} is not a folder; give pack a new or an empty one.")
    if target.exists() and (other := next(target.iterdir(), None)):
        raise InputError(
            f"{target} is not empty ({other.name} is there); give pack a new or an empty folder, or remove "
            "this one if an interrupted or earlier pack made it."
        )


def pack(contents: PackContents, target: Path) -> Path:
    """Fill the empty or missing folder `target` and return the path of its manifest, which is written last.

    Raises InputError for a folder that is not empty, a full disk, and no compiler; DownloadFailed with the
    error of pip; ModelError for a missing or damaged model. What was written until then is left there.
    """
    check_empty(target)
    wheels, manifest = target / "wheels", target / install.MANIFEST
    try:
        target.mkdir(parents=True, exist_ok=True)
        if not contents.llama.cached_wheel:
            say(f"compiling {LLAMA} {contents.llama.version}, which takes 5 to 10 minutes on a core")
        llama = build_wheel(contents.llama)  # first: it takes longest, and is kept outside the folder
        wheels.mkdir()
        shutil.copyfile(llama, wheels / llama.name)
        _make_own_wheel(wheels)  # before the others, so that nothing is downloaded if it can't be made
        _download_wheels(contents, wheels)
        for model in contents.models:
            _copy_model(model, target / "models")
        shutil.copyfile(install.__file__, target / "install.py")
        files = {
            name: {"size": path.stat().st_size, "sha256": install.file_sha256(path)}
            for path in target.rglob("*")
            if path.is_file() and install.is_safe(name := path.relative_to(target).as_posix())
        }
        facts = _facts(contents, target, files, needed_glibc(llama))
        atomic_write(manifest, [json.dumps({**facts, "files": files}, indent=1, sort_keys=True)])
    except OSError as error:
        place = error.filename2 or error.filename or target  # of two, that which was written to
        raise InputError(f"{place}: {error.strerror or error}; repair that and pack again.") from error
    finally:
        if wheels.exists() and not manifest.exists():
            say(f"{target} is unfinished: remove it before you pack there again.")
    return manifest


def _copy_model(model: ModelFiles, folder: Path) -> None:
    say(f"copying {model.name}")
    entry, models = catalog.entries()[model.name], store.models_dir()
    paths = [store.catalog_file_path(entry, file) for file in entry.files]
    for source in filter(Path.is_file, [*paths, models / model.name / store.SUMS]):
        path = folder / source.relative_to(models)
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, path)
        if install.file_sha256(path) != file_sha256(source):  # the latter is remembered
            raise ModelBroken(f"{source} is damaged; run: localeval models verify {model.name}")


def _make_own_wheel(folder: Path) -> None:
    """Make localeval's own wheel, from the checkout, else from what pip installed.

    No index is asked for it: it is on none, and whoever took its name there would get into every pack.
    """
    source = str(catalog.checkout() or "")
    if not source:
        origin = json.loads(distribution("localeval").read_text("direct_url.json") or "{}")
        source = origin.get("url", "")
        if "vcs_info" in origin:
            source = f"{origin['vcs_info']['vcs']}+{source}@{origin['vcs_info']['commit_id']}"
        if not source:
            raise InputError("pip does not know from where localeval was installed; pack from a checkout.")
    try:
        run_pip("wheel", "--wheel-dir", str(folder), source)
    except DownloadFailed as error:
        raise InputError(f"no wheel can be made of {source} ({error}); pack from a checkout.") from error


def _download_wheels(contents: PackContents, folder: Path) -> None:
    say(f"downloading {len(contents.wheels)} wheels")
    wheels = dict(contents.wheels)
    torch = wheels.pop("torch", None)
    download = ("download", "--only-binary", ":all:", "--dest", str(folder))
    if wheels:
        run_pip(*download, *(f"{name}=={version}" if version else name for name, version in wheels.items()))
    if torch:
        try:
            run_pip(*download, f"torch=={torch}")
        except DownloadFailed:  # the index of PyTorch has the CPU build, if the user's pip finds none
            run_pip(*download, f"torch=={torch}", "--index-url", CPU_INDEX)


def _facts(contents: PackContents, target: Path, files: Iterable[str], glibc: str) -> dict[str, Any]:
    """Return the entries of the manifest other than its files."""
    packages, unpacked, pip = dict[str, str](), 0, ""
    for path in sorted(name for name in files if name.startswith("wheels/")):
        name, version, *_ = parse_wheel_filename(Path(path).name)
        packages[name] = str(version)
        pip = path if name == "pip" else pip
        with zipfile.ZipFile(target / path) as archive:
            unpacked += sum(member.file_size for member in archive.infolist())
    return {
        "localeval_pack": install.FORMAT,
        "localeval": own_version(),
        **install.this_machine(),
        "glibc": glibc,
        "packed_on": " ".join(platform.libc_ver()).strip(),
        "cpu": contents.llama.cpu,
        "llama": {"version": contents.llama.version, "flags": list(contents.llama.flags)},
        "packages": packages,
        "models": [model.name for model in contents.models],
        "installed_bytes": unpacked,
        "pip": pip,
    }
