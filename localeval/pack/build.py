"""Compile llama-cpp-python as a wheel that other machines can run, and keep it in the user's cache."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import platformdirs

from localeval.errors import DownloadFailed, InputError
from localeval.pack.install import cpu_flags
from localeval.system import subprocesses
from localeval.text.display import shorten

NAME = "llama-cpp-python"

# llama.cpp's baseline for this processor type, with nothing of this very machine, and no multimodal input.
# With OpenMP, as llama.cpp's own threads busy-wait, which is very slow where they outnumber the free cores.
PORTABLE = ("-DGGML_NATIVE=OFF", "-DGGML_OPENMP=ON", "-DLLAVA_BUILD=OFF")
NEEDED = {"x86_64": ["avx2", "bmi2", "f16c", "fma"]}  # the flags of that baseline in /proc/cpuinfo
NO_AMX = ("-mno-amx-tile", "-mno-amx-int8", "-mno-amx-bf16")  # if the compiler has them: see scripts/setup
OPENMP = ("libgomp.so.1", "libomp.so.5", "libomp.so")  # of GCC, of Clang on Debian, of Clang elsewhere

_INSTRUCTION_SETS = ("amx_", "asimd", "avx", "bf16", "bmi", "f16c", "fma", "i8mm", "sse4", "sve")


@dataclass(frozen=True)
class LlamaBuild:
    """A build of llama-cpp-python: for any processor of this type, or with `native` for this one only."""

    native: bool = False

    @property
    def flags(self) -> tuple[str, ...]:
        return () if self.native else PORTABLE

    @property
    def version(self) -> str:
        """The version; the portable build gives other bits, so a signature has to show another version."""
        base = version(NAME).partition("+")[0]
        return base if self.native else f"{base}+portable"

    @property
    def cpu(self) -> list[str]:
        """The flags in /proc/cpuinfo that a processor needs to run this build."""
        if self.native:
            return sorted(flag for flag in cpu_flags() if flag.startswith(_INSTRUCTION_SETS))
        return NEEDED.get(platform.machine(), [])

    @property
    def cache_folder(self) -> Path:
        """The folder of the wheel, by version, Python, system, flags and, for a native one, processor."""
        parts = [str(sys.implementation.cache_tag), platform.system(), platform.machine()]
        parts += [platform.libc_ver()[1], *self.flags]
        if self.native:
            parts += [*NO_AMX, *sorted(cpu_flags())]
        key = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
        return platformdirs.user_cache_path("localeval") / "wheels" / f"{NAME}-{self.version}-{key}"

    @property
    def cached_wheel(self) -> Path | None:
        return next(self.cache_folder.glob("*.whl"), None)


def build_wheel(build: LlamaBuild) -> Path:
    """Return the wheel of this build; compile it, in 5 to 10 minutes, if it is not in the user's cache.

    Raises InputError without a C compiler, DownloadFailed with the error of pip.
    """
    cached = build.cached_wheel
    if cached:
        return cached
    compiler = _find_compiler()
    build.cache_folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=build.cache_folder, prefix="compiling-") as scratch:
        base = build.version.partition("+")[0]
        run_pip("download", "--no-binary", NAME, "--dest", scratch, f"{NAME}=={base}")
        archive = next(Path(scratch).glob("*.tar.gz"))
        # Python 3.12 warns without a filter, and the first releases of 3.11 know none.
        safely: Any = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        shutil.unpack_archive(archive, scratch, **safely)
        source = Path(scratch) / archive.name.removesuffix(".tar.gz")
        if not build.native:
            _make_portable(source, compiler)
        environment = {"CMAKE_ARGS": _with_flags("CMAKE_ARGS", build.flags)}
        if _knows_amx(compiler):
            environment["CFLAGS"] = _with_flags("CFLAGS", NO_AMX)
            environment["CXXFLAGS"] = _with_flags("CXXFLAGS", NO_AMX)
        # pip's cache would return an earlier wheel, whatever its flags.
        run_pip("wheel", "--no-cache-dir", "--wheel-dir", scratch, str(source), **environment)
        wheel = next(Path(scratch).glob("*.whl"))
        return wheel.replace(build.cache_folder / wheel.name)


def _find_compiler() -> list[str]:
    """Return the command of the C compiler: the one in the variable CC, else a usual one."""
    candidates = [os.environ["CC"]] if os.environ.get("CC") else ["cc", "gcc", "clang"]
    for candidate in candidates:
        words = shlex.split(candidate)
        if shutil.which(words[0]):
            return words
    raise InputError(
        f"pack compiles llama.cpp, and there is no C compiler here ({candidates[0]}); install one "
        "(Debian: apt install build-essential)."
    )


def _knows_amx(compiler: list[str]) -> bool:
    """Return whether the compiler knows the flags that leave AMX out."""
    check = [*compiler, *NO_AMX, "-fsyntax-only", "-x", "c", os.devnull]
    return subprocess.run(check, capture_output=True, check=False).returncode == 0  # noqa: S603


def _with_flags(variable: str, flags: Sequence[str]) -> str:
    """Return the value of an environment variable with these flags behind it."""
    return " ".join([os.environ.get(variable, ""), *flags]).strip()


def _make_portable(source: Path, compiler: list[str]) -> None:
    """Patch the source: another version, the library without programs, and OpenMP's library included."""
    init = source / "llama_cpp" / "__init__.py"
    version_line = re.compile(r'(?m)^(__version__ = ".*)"')
    text = version_line.sub(r'\1+portable"', init.read_text(encoding="utf-8"))
    init.write_text(text, encoding="utf-8")
    cmake = source / "CMakeLists.txt"
    text = cmake.read_text(encoding="utf-8").replace("LLAMA_BUILD_COMMON ON", "LLAMA_BUILD_COMMON OFF")
    for name in OPENMP:
        library = _library_of(compiler, name)
        if library is not None:
            # Small systems lack it; llama.cpp's libraries search their own folder first.
            destination = f'DESTINATION "${{SKBUILD_PLATLIB_DIR}}/llama_cpp/lib" RENAME {name}'
            text += f'\ninstall(FILES "{library.resolve()}" {destination})'
    cmake.write_text(text + "\n", encoding="utf-8")


def _library_of(compiler: list[str], name: str) -> Path | None:
    """Return where the compiler has a library of this name; None where it has none."""
    command = [*compiler, f"-print-file-name={name}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    path = Path(done.stdout.strip())
    # A compiler repeats the name of a library that it does not have.
    return path if path.is_absolute() else None


def needed_glibc(wheel: Path) -> str:
    """Return the oldest glibc that the wheel runs with: the version of the newest symbol in its libraries."""
    with zipfile.ZipFile(wheel) as archive:
        libraries = [archive.read(member) for member in archive.namelist() if ".so" in member]
    minors = {int(minor) for library in libraries for minor in re.findall(rb"GLIBC_2\.(\d+)", library)}
    return f"2.{max(minors)}" if minors else ""


def run_pip(command: str, *arguments: str, **environment: str) -> None:
    """Run a pip command for packages without dependencies. Raises DownloadFailed with the error of pip."""
    options = ["--no-deps", "--no-input", "--disable-pip-version-check", "--progress-bar", "off", "--quiet"]
    process = subprocess.run(  # noqa: S603
        subprocesses.module("pip", command, *options, *arguments),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        env={**os.environ, **environment},
    )
    if process.returncode:
        lines = [line for line in (process.stdout + process.stderr).splitlines() if line.strip()]
        errors = [line for line in lines if "error:" in line.lower() and "subprocess-exited" not in line]
        reasons = errors or lines or ["pip printed nothing"]
        raise DownloadFailed(f"pip {command}: {shorten(reasons[0])}")
