"""Compile llama-cpp-python as a wheel that other machines can run, once, and keep it in the user's cache."""

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
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import platformdirs

from localeval.errors import DownloadFailed, InputError
from localeval.pack.install import cpu_flags
from localeval.system import subprocesses
from localeval.text.display import shorten

NAME = "llama-cpp-python"

# llama.cpp's own baseline for this kind of processor, and nothing of this machine's; no readers of pictures
# and sound. With OpenMP, since llama.cpp's own threads spin, and crawl where they outnumber the free cores.
PORTABLE = ("-DGGML_NATIVE=OFF", "-DGGML_OPENMP=ON", "-DLLAVA_BUILD=OFF")
NEEDED = {"x86_64": ["avx2", "bmi2", "f16c", "fma"]}  # what that baseline is, in the words of /proc/cpuinfo
NO_AMX = ("-mno-amx-tile", "-mno-amx-int8", "-mno-amx-bf16")  # where known; scripts/setup tells why
OPENMP = ("libgomp.so.1", "libomp.so.5", "libomp.so")  # GCC's, and Clang's on Debian and elsewhere

_INSTRUCTIONS = ("amx_", "asimd", "avx", "bf16", "bmi", "f16c", "fma", "i8mm", "sse4", "sve")


@dataclass(frozen=True)
class LlamaBuild:
    """How llama-cpp-python is compiled: for any processor of this kind, or (`native`) for this very one."""

    native: bool = False

    @property
    def flags(self) -> tuple[str, ...]:
        return () if self.native else PORTABLE

    @property
    def version(self) -> str:
        """Its own for the portable build: other bits need another version in the signature of a run."""
        base = version(NAME).partition("+")[0]
        return base if self.native else f"{base}+portable"

    @property
    def cpu(self) -> list[str]:
        """What a processor must be able to do to run this build, in the words of /proc/cpuinfo."""
        if self.native:
            return sorted(flag for flag in cpu_flags() if flag.startswith(_INSTRUCTIONS))
        return NEEDED.get(platform.machine(), [])

    @property
    def cache_folder(self) -> Path:
        """Where its wheel is kept: by version, Python, system and flags; a native one also by processor."""
        parts = [str(sys.implementation.cache_tag), platform.system(), platform.machine()]
        parts += [platform.libc_ver()[1], *self.flags]
        parts += [*NO_AMX, *sorted(cpu_flags())] if self.native else []
        key = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
        return platformdirs.user_cache_path("localeval") / "wheels" / f"{NAME}-{self.version}-{key}"

    @property
    def cached_wheel(self) -> Path | None:
        return next(self.cache_folder.glob("*.whl"), None)


def build_wheel(build: LlamaBuild) -> Path:
    """Compile the wheel of this build, 5 to 10 minutes, if it is not in the user's cache.

    Raises InputError without a C compiler, DownloadFailed with pip's last words.
    """
    if cached := build.cached_wheel:
        return cached
    named = [os.environ["CC"]] if os.environ.get("CC") else ["cc", "gcc", "clang"]
    compiler = next((words for words in map(shlex.split, named) if shutil.which(words[0])), None)
    if compiler is None:
        raise InputError(
            f"pack compiles llama.cpp, and there is no C compiler here ({named[0]}); install one "
            "(Debian: apt install build-essential)."
        )
    build.cache_folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=build.cache_folder, prefix="compiling-") as scratch:
        base = build.version.partition("+")[0]
        run_pip("download", "--no-binary", NAME, "--dest", scratch, f"{NAME}=={base}")
        archive = next(Path(scratch).glob("*.tar.gz"))
        shutil.unpack_archive(archive, scratch)
        source = Path(scratch) / archive.name.removesuffix(".tar.gz")
        if not build.native:
            _make_portable(source, compiler)
        environment = {"CMAKE_ARGS": " ".join([os.environ.get("CMAKE_ARGS", ""), *build.flags]).strip()}
        test = [*compiler, *NO_AMX, "-fsyntax-only", "-x", "c", os.devnull]
        if not subprocess.run(test, capture_output=True, check=False).returncode:  # noqa: S603
            for name in ("CFLAGS", "CXXFLAGS"):
                environment[name] = " ".join([os.environ.get(name, ""), *NO_AMX]).strip()
        # pip's cache would hand out what was compiled before, whatever the flags.
        run_pip("wheel", "--no-cache-dir", "--wheel-dir", scratch, str(source), **environment)
        made = next(Path(scratch).glob("*.whl"))
        return made.replace(build.cache_folder / made.name)


def _make_portable(source: Path, compiler: list[str]) -> None:
    """Change the source: its version, only the library and no programs, and OpenMP's library beside it."""
    init, cmake = source / "llama_cpp" / "__init__.py", source / "CMakeLists.txt"
    text = re.sub(r'(?m)^(__version__ = ".*)"', r'\1+portable"', init.read_text(encoding="utf-8"))
    init.write_text(text, encoding="utf-8")
    text = cmake.read_text(encoding="utf-8").replace("LLAMA_BUILD_COMMON ON", "LLAMA_BUILD_COMMON OFF")
    for name in OPENMP:  # many small systems have none; llama.cpp's libraries look beside themselves first
        command = [*compiler, f"-print-file-name={name}"]
        found = Path(subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip())  # noqa: S603
        if found.is_absolute():
            place = f'DESTINATION "${{SKBUILD_PLATLIB_DIR}}/llama_cpp/lib" RENAME {name}'
            text += f'\ninstall(FILES "{found.resolve()}" {place})'
    cmake.write_text(text + "\n", encoding="utf-8")


def needed_glibc(wheel: Path) -> str:
    """Find the oldest glibc that a wheel compiled here runs with: that of its libraries' newest symbol."""
    with zipfile.ZipFile(wheel) as archive:
        libraries = [archive.read(member) for member in archive.namelist() if ".so" in member]
    found = {int(minor) for library in libraries for minor in re.findall(rb"GLIBC_2\.(\d+)", library)}
    return f"2.{max(found)}" if found else ""


def run_pip(command: str, *arguments: str, **environment: str) -> None:
    """Run a pip command for packages, without what they need. Raises DownloadFailed with its words."""
    options = ["--no-deps", "--no-input", "--disable-pip-version-check", "--progress-bar", "off", "--quiet"]
    done = subprocess.run(  # noqa: S603
        subprocesses.module("pip", command, *options, *arguments),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        env={**os.environ, **environment},
    )
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        errors = [line for line in lines if "error:" in line.lower() and "subprocess-exited" not in line]
        raise DownloadFailed(f"pip {command}: {shorten((errors or lines or ['no word from pip'])[0])}")
