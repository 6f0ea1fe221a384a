"""llama-cpp-python as a wheel that runs on other machines than this one; compiled once, then kept."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import platformdirs

from localeval.errors import DownloadFailed, InputError
from localeval.pack import wheels
from localeval.system import subprocesses
from localeval.text.display import said

NAME = "llama-cpp-python"

PORTABLE = ("-DGGML_NATIVE=OFF", "-DGGML_OPENMP=ON", "-DLLAVA_BUILD=OFF")
"""For any processor of this kind: llama.cpp's own baseline (on x86-64: AVX2, FMA, F16C and BMI2) and nothing
of this machine's. With OpenMP: llama.cpp's own threads spin, and crawl where they outnumber the free cores.
Without the readers of pictures and sound, which localeval never calls."""

NO_AMX = ("-mno-amx-tile", "-mno-amx-int8", "-mno-amx-bf16")
"""For compilers that know them, as in scripts/setup, which tells why."""

LIBRARIES = "llama_cpp/lib"  # where the wheel keeps them
COMPILED = "compiled"  # where the cache keeps it until it is relabelled: it took minutes
COMPILERS = ("cc", "gcc", "clang")  # in the order in which CMake looks for them

ONLY_LLAMA = "set(LLAMA_BUILD_COMMON OFF)\n"
"""CMake for llama.cpp's own project: leave out what only its programs use, half of the compiling."""

NEEDED = {"x86_64": ("avx2", "bmi2", "f16c", "fma"), "AMD64": ("avx2", "bmi2", "f16c", "fma")}


@dataclass(frozen=True)
class Build:
    """How llama-cpp-python is compiled.

    `label` becomes part of its version, and so of the signature of every run with this build, because another
    build gives other bits.
    """

    flags: tuple[str, ...] = PORTABLE
    label: str = "portable"

    @property
    def version(self) -> str:
        """
        >>> Build().version.endswith("+portable")
        True
        """
        base = version(NAME).partition("+")[0]
        return f"{base}+{self.label}" if self.label else base

    @property
    def cpu(self) -> list[str]:
        """The processor's abilities without which this build does not run, in the words of /proc/cpuinfo."""
        from localeval.pack.install import cpu_flags

        if self is NATIVE:
            return sorted(flag for flag in cpu_flags() if flag.startswith(_INSTRUCTIONS))
        return list(NEEDED.get(platform.machine(), ()))


NATIVE = Build((), "")
"""As scripts/setup compiles it: all that this processor can, so that the bits are as here."""

_INSTRUCTIONS = ("amx_", "asimd", "avx", "bf16", "bmi", "f16c", "fma", "i8mm", "sse4", "sve")


def wheel(build: Build) -> Path:
    """The wheel of this build out of the user's cache; compiled first, 5 to 10 minutes, if it is not there.

    Raises InputError without a C compiler, DownloadFailed with pip's last words.
    """
    folder = cached(build)
    if there := _first(folder):
        return there
    compiler = c_compiler()
    plain = _compiled(build, folder / COMPILED)
    if not build.label:
        return plain.replace(folder / plain.name)
    with tempfile.TemporaryDirectory(dir=folder, prefix="relabelling-") as scratch:
        made = relabel(plain, build.version, Path(scratch), openmp(plain, compiler))
        made = made.replace(folder / made.name)
    plain.unlink()
    return made


def c_compiler() -> list[str]:
    """The words that call the C compiler: those of CC, else the first that is here. Raises InputError."""
    chosen = os.environ.get("CC", "")
    try:
        ways = [words] if (words := shlex.split(chosen)) else [[name] for name in COMPILERS]
    except ValueError:  # a quote without its other one
        ways = []
    found = next((words for words in ways if shutil.which(words[0])), None)
    if found is None:
        here = f"CC is {chosen!r}, which is no program here" if chosen else "there is no C compiler here"
        raise InputError(
            f"pack compiles llama.cpp, and {here}; install one (Debian: apt install build-essential)."
        )
    return found


def is_cached(build: Build) -> bool:
    return any(cached(build).glob("*.whl"))


def cached(build: Build) -> Path:
    """The cache's folder for this build: by version, Python, system and flags; `native` also by processor."""
    from localeval.pack.install import cpu_flags

    parts = [sys.implementation.cache_tag, platform.system(), platform.machine(), platform.libc_ver()[1]]
    parts += [*build.flags, *([*NO_AMX, *sorted(cpu_flags())] if build is NATIVE else [])]
    key = hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:12]
    return platformdirs.user_cache_path("localeval") / "wheels" / f"{NAME}-{build.version}-{key}"


def _first(folder: Path) -> Path | None:
    """The folder's wheel; None where there is none."""
    return next(iter(sorted(folder.glob("*.whl"))), None)


def _compiled(build: Build, folder: Path) -> Path:
    """The wheel as pip makes it, out of `folder` where an earlier call got as far."""
    if there := _first(folder):
        return there
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="compiling-") as scratch:
        made = _compile(build, Path(scratch))
        return made.replace(folder / made.name)


def _compile(build: Build, folder: Path) -> Path:
    base = build.version.partition("+")[0]
    # pip's cache would hand out what was compiled before, whatever the flags.
    options = [
        "--no-deps",
        "--no-binary",
        NAME,
        "--no-cache-dir",
        "--no-input",
        "--disable-pip-version-check",
    ]
    command = subprocesses.module("pip", "wheel", *options, "--wheel-dir", str(folder), f"{NAME}=={base}")
    arguments = [os.environ.get("CMAKE_ARGS", ""), *build.flags]
    if build.flags:
        (folder / "only-llama.cmake").write_text(ONLY_LLAMA, encoding="utf-8")
        included = shlex.quote(f"-DCMAKE_PROJECT_llama.cpp_INCLUDE={folder / 'only-llama.cmake'}")
        arguments.append(included)
    environment = {**os.environ, **_without_amx(), "CMAKE_ARGS": " ".join(arguments).strip()}
    done = subprocess.run(  # noqa: S603
        command, env=environment, capture_output=True, text=True, errors="replace", check=False
    )
    found = next(iter(folder.glob("*.whl")), None)
    if done.returncode or found is None:
        lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()] or [""]
        errors = [line for line in lines if "error:" in line.lower()] or lines
        raise DownloadFailed(f"{NAME}=={base} could not be compiled: {said(errors[0])}")
    return found


def _without_amx() -> dict[str, str]:
    """CFLAGS and CXXFLAGS with `NO_AMX`; nothing where the compiler does not know it."""
    test = [*c_compiler(), *NO_AMX, "-fsyntax-only", "-x", "c", os.devnull]
    if subprocess.run(test, capture_output=True, check=False).returncode:  # noqa: S603
        return {}
    return {name: " ".join([os.environ.get(name, ""), *NO_AMX]).strip() for name in ("CFLAGS", "CXXFLAGS")}


def openmp(path: Path, compiler: Sequence[str]) -> list[Path]:
    """The compiler's OpenMP library, if the wheel's libraries need it: many small systems have none."""
    with zipfile.ZipFile(path) as archive:
        libraries = [archive.read(member) for member in archive.namelist() if ".so" in member]
    names = {name.decode() for each in libraries for name in re.findall(rb"lib(?:gomp|omp)\.so[.0-9]*", each)}
    found = []
    for name in sorted(names):
        command = [*compiler, f"-print-file-name={name}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        found += [place / name] if (place := Path(done.stdout.strip()).parent).is_absolute() else []
    return found


def relabel(path: Path, wanted: str, folder: Path, libraries: Sequence[Path] = ()) -> Path:
    """A copy of the wheel in `folder` with the version `wanted` and these libraries beside its own."""
    folder.mkdir(parents=True, exist_ok=True)
    name, old, tags = path.name.split("-", 2)
    copy = folder / f"{name}-{wanted}-{tags}"
    before, after = f"{name}-{old}.dist-info", f"{name}-{wanted}.dist-info"

    def members() -> Iterator[tuple[zipfile.ZipInfo, bytes]]:
        with zipfile.ZipFile(path) as source:
            for member in source.infolist():
                if member.filename == f"{before}/RECORD" or member.is_dir():
                    continue
                content = source.read(member)
                member.filename = member.filename.replace(f"{before}/", f"{after}/", 1)
                if member.filename == f"{after}/METADATA":
                    content = re.sub(rb"(?m)^Version: .*$", b"Version: " + wanted.encode(), content, count=1)
                yield member, content
        for library in libraries:  # found there by the others' RUNPATH, $ORIGIN
            yield zipfile.ZipInfo(f"{LIBRARIES}/{library.name}"), library.read_bytes()

    return wheels.write(copy, after, members())


def needed_glibc(path: Path) -> str:
    """The oldest glibc that the wheel runs with; "" if it needs none.

    It is the manylinux tag's, else that of the newest symbol which its libraries ask for.

    >>> needed_glibc(Path("numpy-2.0-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl"))
    '2.27'
    """
    platforms = path.stem.rsplit("-", 1)[-1]
    tagged = [f"{n}" for n in re.findall(r"manylinux_2_(\d+)_", platforms)]
    tagged += [
        {"1": "5", "2010": "12", "2014": "17"}[n] for n in re.findall(r"manylinux(1|2010|2014)_", platforms)
    ]
    if tagged:
        return f"2.{min(map(int, tagged))}"
    if not platforms.startswith("linux_"):
        return ""
    found = {0}
    with zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            if ".so" in member:
                found |= {int(n) for n in re.findall(rb"GLIBC_2\.(\d+)", archive.read(member))}
    return f"2.{max(found)}"
