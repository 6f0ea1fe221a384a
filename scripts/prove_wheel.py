"""The campaign `wheel`: the wheel is complete, the sdist builds the same one, and it needs no checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path

from localeval.models import models_dir
from localeval.models.catalog import DEFAULT_JUDGE

ROOT = Path(__file__).parents[1]
WHERE = "import localeval, pathlib; print(pathlib.Path(localeval.__file__).parent)"


def prove_wheel(options: Sequence[str]) -> int:
    """Return 0 if the sdist builds the checkout's wheel, which works in an environment without a checkout.

    The environment uses localeval's dependencies from this one, and the judge from its models folder.
    `options` are passed to `evaluate --example --plan`.
    """
    with tempfile.TemporaryDirectory(prefix="prove-") as scratch:
        folder = Path(scratch)
        build = [sys.executable, "-m", "build", str(ROOT), "--outdir"]
        _run([*build, str(folder / "checkout"), "--wheel"], folder)
        _run([*build, str(folder / "sdist")], folder)  # the sdist, and the wheel built from it
        (wheel,) = (folder / "checkout").glob("*.whl")
        if wheel.read_bytes() != (folder / "sdist" / wheel.name).read_bytes():
            print(f"   the sdist builds another {wheel.name} than the checkout")
            return 1
        print(f"   {wheel.name}: {wheel.stat().st_size:,} bytes, the same from the sdist")
        venv = folder / "room"
        _run([sys.executable, "-m", "venv", str(venv)], folder)
        (packages,) = venv.glob("lib/python*/site-packages")
        _run([str(venv / "bin" / "pip"), "install", "--quiet", "--no-deps", "--no-index", str(wheel)], folder)
        # A path in a .pth file is searched, but the .pth files in it are not read: no editable localeval.
        (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
        location = _run([str(venv / "bin" / "python"), "-c", WHERE], folder).strip()
        if not Path(location).is_relative_to(packages):
            print(f"   the localeval of {location} was imported, not the wheel's")
            return 1
        program = str(venv / "bin" / "localeval")
        for arguments in (
            ["models", "list"],
            ["models", "path", DEFAULT_JUDGE],
            ["evaluate", "--example", "--plan", *(options or ["-m", "faithfulness"])],
        ):
            print(f"   localeval {' '.join(arguments)}", _run([program, *arguments], folder), sep="\n")
    return 0


def _run(command: list[str], folder: Path) -> str:
    """Run `command` in `folder`, without this checkout except for its models; return its output."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LOCALEVAL"))}
    process = subprocess.run(  # noqa: S603
        command,
        cwd=folder,
        env={**env, "LOCALEVAL_MODELS": str(models_dir())},
        capture_output=True,
        text=True,
        check=False,
    )
    if process.returncode:
        sys.exit(f"prove: {' '.join(command)} ended with {process.returncode}: {process.stderr[-2000:]}")
    return process.stdout


if __name__ == "__main__":
    sys.exit(prove_wheel(sys.argv[1:]))
