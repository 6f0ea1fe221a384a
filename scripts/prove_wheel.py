"""The campaign `wheel`: it is all of localeval, the sdist builds the same one, and it needs no checkout."""

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
    """0 if the wheel of the sdist is the checkout's, and works in an environment that has no checkout.

    The environment takes localeval's dependencies from this one, and the judge where it is here. Options go
    to `evaluate --example --plan`.
    """
    with tempfile.TemporaryDirectory(prefix="prove-") as scratch:
        folder = Path(scratch)
        build = [sys.executable, "-m", "build", str(ROOT), "--outdir"]
        _run([*build, str(folder / "checkout"), "--wheel"], folder)
        _run([*build, str(folder / "sdist")], folder)  # the sdist, and the wheel out of it
        (wheel,) = (folder / "checkout").glob("*.whl")
        if wheel.read_bytes() != (folder / "sdist" / wheel.name).read_bytes():
            print(f"   the sdist builds another {wheel.name} than the checkout")
            return 1
        print(f"   {wheel.name}: {wheel.stat().st_size:,} bytes, the same from the sdist")
        room = folder / "room"
        _run([sys.executable, "-m", "venv", str(room)], folder)
        (packages,) = room.glob("lib/python*/site-packages")
        _run([str(room / "bin" / "pip"), "install", "--quiet", "--no-deps", "--no-index", str(wheel)], folder)
        # A path in a .pth file is searched, but the .pth files in it are not read: no editable localeval.
        (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
        found = _run([str(room / "bin" / "python"), "-c", WHERE], folder).strip()
        if not Path(found).is_relative_to(packages):
            print(f"   the localeval of {found} was imported, not the wheel's")
            return 1
        program = str(room / "bin" / "localeval")
        for arguments in (
            ["models", "list"],
            ["models", "path", DEFAULT_JUDGE],
            ["evaluate", "--example", "--plan", *(options or ["-m", "faithfulness"])],
        ):
            print(f"   localeval {' '.join(arguments)}", _run([program, *arguments], folder), sep="\n")
    return 0


def _run(command: list[str], folder: Path) -> str:
    """Run it in `folder`, with nothing of this checkout but its models; return what it printed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LOCALEVAL"))}
    done = subprocess.run(  # noqa: S603
        command,
        cwd=folder,
        env={**kept, "LOCALEVAL_MODELS": str(models_dir())},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"prove: {' '.join(command)} ended with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout
