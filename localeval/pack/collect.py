"""`pack`: decide what a pack holds, and fill a folder with it, so that an interrupted call goes on."""

from __future__ import annotations

import json
import platform
import re
import shutil
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
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
PACKED_SHARE = 0.3  # bytes of wheels for a byte of installed packages, about
LLAMA_BYTES = 12_000_000  # of its wheel, about
SCRATCH = "collecting.part"  # where pip works
_GPU = re.compile(r"(nvidia|cuda)[-_]|triton$")


@dataclass(frozen=True)
class PackContents:
    """`wheels`: name to version of what pip downloads; `unpacked`: bytes of all packages, installed."""

    wheels: dict[str, str]
    unpacked: int
    llama: LlamaBuild
    models: tuple[ModelFiles, ...]

    def lines(self, target: Path) -> list[str]:
        """Tell what will be fetched, compiled and copied, with sizes, and the space at the target."""
        wheels, models = self.unpacked * PACKED_SHARE, sum(model.size for model in self.models)
        there = next(folder for folder in (target, *target.parents) if folder.exists())
        free = shutil.disk_usage(there).free
        compiled = "compiled before, from the cache" if self.llama.cached_wheel else "compiled now"
        return [
            f"a pack for {platform.python_implementation()} {platform.python_version()} on "
            f"{platform.system()} {platform.machine()}, in {target}",
            f"  {len(self.wheels) + 1} wheels: about {_mb(wheels)}, by pip as it is set up here; "
            f"torch, if need be, from {CPU_INDEX}",
            f"  {LLAMA} {self.llama.version}: about {_mb(LLAMA_BYTES)}, {compiled}",
            *(f"  {model.name}: {_mb(model.size)}, copied" for model in self.models),
            f"in all about {_mb(wheels + LLAMA_BYTES + models)}; {_mb(free)} are free there; "
            f"installed it takes about {_mb(self.unpacked * install.GROWTH + models)}",
        ]


def _mb(size: float) -> str:
    return f"{size / 1e6:,.0f} MB"


def choose_contents(models: Sequence[str], llama: LlamaBuild) -> PackContents:
    """Choose the packages as they are installed here, with torch's CPU build, and these catalog models.

    Raises ModelError for a model that cannot be packed, InputError where a package is not installed.
    """
    packages = closure("localeval")
    cpu_torch = platform.system() == "Linux" and "torch" in packages
    if cpu_torch:
        packages = {name: each for name, each in packages.items() if not _GPU.match(name)}
    unpacked = sum(file.size or 0 for each in packages.values() for file in each.files or [])
    wheels = {name: each.version for name, each in packages.items() if name not in ("localeval", LLAMA)}
    wheels["pip"] = ""  # any
    if cpu_torch:
        wheels["torch"] = f"{wheels['torch'].partition('+')[0]}+cpu"
    known = catalog.entries()
    if unknown := [name for name in models if name not in known]:
        raise ModelMissing(
            f"{unknown[0]!r} is not in the catalog, and a pack holds only its models: {', '.join(known)}; "
            "carry another GGUF file beside the pack, and give its path to --judge."
        )
    return PackContents(dict(sorted(wheels.items())), unpacked, llama, tuple(map(store.resolve, models)))


def default_models(judge: str | None, embedder: str | None) -> list[str]:
    """List the named judge and embedder; for one that is not named the default one, if it is here."""
    here = [row["name"] for row in store.listing() if row["state"] in ("present", "verified")]
    names = (judge or DEFAULT_JUDGE, embedder or auto_embedder())
    return [name for name in names if name in (judge, embedder, *here)]


def closure(name: str) -> dict[str, Distribution]:
    """Find a package and all that it needs on this machine, by normalized name, as they are installed.

    >>> sorted(closure("jinja2"))
    ['jinja2', 'markupsafe']
    """
    found: dict[str, Distribution] = {}
    seen = set()
    waiting = [Requirement(name)]
    while waiting:
        wanted = waiting.pop()
        key = (canonicalize_name(wanted.name), frozenset(wanted.extras))
        if key in seen:
            continue
        seen.add(key)
        try:
            found[key[0]] = distribution(wanted.name)
        except PackageNotFoundError as error:
            raise InputError(
                f"{wanted.name} is not installed here and cannot be packed; install all that localeval needs."
            ) from error
        extras = wanted.extras or {""}
        for needed in map(Requirement, found[key[0]].requires or []):
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in extras):
                waiting.append(needed)
    return found


@dataclass
class PartialManifest:
    """The pack so far. It is in a file beside the pack's, and what matches it is kept by the next call."""

    target: Path
    known: dict[str, dict[str, Any]]  # every file that `pack` put there, or began to
    files: dict[str, dict[str, Any]] = field(default_factory=dict)  # those of this pack

    @classmethod
    def open(cls, target: Path) -> PartialManifest:
        """Read what `pack` left in the folder. Raises InputError unless it is new, empty, or a pack."""
        if target.exists() and not target.is_dir():
            raise InputError(f"{target} is no folder; give pack a new or an empty one.")
        for name in (install.PART, install.MANIFEST):
            with suppress(OSError, ValueError, KeyError, TypeError):
                known = dict(json.loads((target / name).read_text(encoding="utf-8"))["files"])
                if all(map(install.is_safe, known)):
                    return cls(target, known)
        if target.is_dir() and (other := next(target.iterdir(), None)):
            raise InputError(
                f"{target} holds other things ({other.name}); give pack a new folder, or one that it made."
            )
        return cls(target, {})

    def write(self) -> None:
        part = json.dumps({"files": self.known}, indent=1, sort_keys=True)
        atomic_write(self.target / install.PART, [part])

    def keep(self, name: str) -> bool:
        """Take a known file into this pack if it is there and whole; tell whether it was."""
        path, entry = self.target / name, self.known[name]
        whole = path.is_file() and install.file_sha256(path) == entry["sha256"]
        if whole:
            self.files[name] = entry
        return whole

    def add(self, source: Path, name: str, sha256: str = "") -> None:
        """Put the file `source` at `name`, by a copy that is read again; a whole one is kept."""
        sha256 = sha256 or install.file_sha256(source)
        self.known[name] = {"size": source.stat().st_size, "sha256": sha256}
        self.write()
        if not self.keep(name):
            path = self.target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            shutil.copyfile(source, path)
            if not self.keep(name):
                raise ModelBroken(f"{source} is damaged; run: localeval models verify")

    def finish(self, facts: dict[str, Any]) -> Path:
        """Remove what only an earlier pack needed, and write the manifest."""
        for name in self.known.keys() - self.files.keys():
            (self.target / name).unlink(missing_ok=True)
        manifest = self.target / install.MANIFEST
        atomic_write(manifest, [json.dumps({**facts, "files": self.files}, indent=1, sort_keys=True)])
        (self.target / install.PART).unlink()
        return manifest


def pack(contents: PackContents, target: Path) -> Path:
    """Fill `target` and return its manifest; what an earlier call left there whole is kept.

    Raises InputError for a folder with other things in it, a disk that is full, and no compiler;
    DownloadFailed with pip's last words; ModelError for a model that is not what it should be.
    """
    so_far = PartialManifest.open(target)
    # Beside the pack and not in /tmp, which is often small or in memory. A killed call leaves it there.
    scratch = target / SCRATCH
    try:
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        so_far.write()  # from here on no half-changed pack can be taken for a whole one
        (target / install.MANIFEST).unlink(missing_ok=True)
        _make_own_wheel(scratch)  # first: where it can't be made, nothing has to be fetched
        for model in contents.models:
            say(f"copying {model.name}")
            entry, folder = catalog.entries()[model.name], store.models_dir()
            paths = [store.catalog_file_path(entry, file) for file in entry.files]
            for source in filter(Path.is_file, [*paths, folder / model.name / store.SUMS]):
                name = source.relative_to(folder).as_posix()
                so_far.add(source, f"models/{name}", file_sha256(source))
        _download_wheels(contents, so_far, scratch)
        for wheel in sorted(scratch.glob("*.whl")):
            so_far.add(wheel, f"wheels/{wheel.name}")
            wheel.unlink()
        if not contents.llama.cached_wheel:
            say(f"compiling {LLAMA} {contents.llama.version}, which takes 5 to 10 minutes on a core")
        llama = build_wheel(contents.llama)
        so_far.add(llama, f"wheels/{llama.name}")
        so_far.add(Path(install.__file__), "install.py")
        so_far.add(catalog.catalog_path(), "catalog.toml")
        return so_far.finish(_facts(contents, so_far, needed_glibc(llama)))
    except OSError as error:
        raise InputError(
            f"{error.filename or target}: {error.strerror or error}; mend that and pack again: "
            "it goes on from there."
        ) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _make_own_wheel(folder: Path) -> None:
    """Make localeval's own wheel, of the checkout, else of what pip installed.

    No index is asked for it: it is on none, and who took its name there would get into every pack.
    """
    place = str(catalog.checkout() or "")
    if not place:
        origin = json.loads(distribution("localeval").read_text("direct_url.json") or "{}")
        place = origin.get("url", "")
        if "vcs_info" in origin:
            place = f"{origin['vcs_info']['vcs']}+{place}@{origin['vcs_info']['commit_id']}"
        if not place:
            raise InputError("pip does not know from where localeval was installed; pack from a checkout.")
    try:
        run_pip("wheel", "--wheel-dir", str(folder), place)
    except DownloadFailed as error:
        raise InputError(f"no wheel can be made of {place} ({error}); pack from a checkout.") from error


def _download_wheels(contents: PackContents, so_far: PartialManifest, scratch: Path) -> None:
    wanted = dict(contents.wheels)
    for path in so_far.known:
        if path.startswith("wheels/"):
            name, version, *_ = parse_wheel_filename(Path(path).name)
            if wanted.get(name) in ("", str(version)) and so_far.keep(path):
                del wanted[name]
    say(f"wheels: {len(contents.wheels) - len(wanted)} are there; {len(wanted)} to download")
    torch = wanted.pop("torch", None)
    download = ("download", "--only-binary", ":all:", "--dest", str(scratch))
    if wanted:
        run_pip(*download, *(f"{name}=={version}" if version else name for name, version in wanted.items()))
    if torch:
        try:
            run_pip(*download, f"torch=={torch}")
        except DownloadFailed:  # its makers' index has the CPU build, if the user's pip knows no other place
            run_pip(*download, f"torch=={torch}", "--index-url", CPU_INDEX)


def _facts(contents: PackContents, so_far: PartialManifest, glibc: str) -> dict[str, Any]:
    """Gather what the manifest says beside the files."""
    packages, unpacked, pip = dict[str, str](), 0, ""
    for path in sorted(name for name in so_far.files if name.startswith("wheels/")):
        name, version, *_ = parse_wheel_filename(Path(path).name)
        packages[name] = str(version)
        pip = path if name == "pip" else pip
        with zipfile.ZipFile(so_far.target / path) as archive:
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
