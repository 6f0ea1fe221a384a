"""`unpack`: take the models of a pack into this machine's store, or install all of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from localeval import models as store
from localeval.errors import InputError, PackBroken
from localeval.models import catalog
from localeval.models.fetch import Announce, Progress, fetch, say
from localeval.pack import install


def unpack(
    folder: Path, sha256: str = "", announce: Announce = say, progress: Progress | None = None
) -> list[store.ModelFiles]:
    """Check the pack's models and put them into the models folder; those that are there already are kept.

    `sha256` is what the pack's manifest must have. Raises InputError for a folder that is no pack, for models
    that this localeval does not know, and for a disk that is too small; PackBroken for a file that is
    missing or damaged.
    """
    with _refusals():
        manifest = install.read_manifest(folder, sha256)
        names = [str(name) for name in manifest["models"]]
        if unknown := [name for name in names if name not in catalog.rows()]:
            raise InputError(
                f"{folder} holds models that this localeval does not know ({', '.join(unknown)}); "
                f"install the pack's own localeval: {folder / 'install.py'}"
            )
        if not names:
            announce(f"{folder} holds no models.")
        announce(f"checking the models of {folder}")
        size = install.check_files(folder, manifest, ("models/",))
        states = {row["name"]: row["state"] for row in store.listing()}
        if not all(states[name] in ("present", "verified") for name in names):
            install.check_room(store.models_dir(), _copied(folder, size), "unpacking the models")
    return [fetch(name, folder / "models", announce, progress, elsewhere=False) for name in names]


def install_pack(folder: Path, into: Path, sha256: str = "") -> Path:
    """Do what the pack's install.py does: check every file, make the environment `into`, place the models.

    Returns the environment's `localeval`. Raises what `unpack` raises, and InputError where the pack does not
    fit this machine.
    """
    with _refusals():
        manifest = install.read_manifest(folder, sha256)
        install.check_machine(manifest)
        install.check_files(folder, manifest)
        return install.install(folder, into, manifest)


def _copied(folder: Path, size: int) -> int:
    """The bytes that unpacking takes: none where the store links to the pack's files."""
    there = store.models_dir()
    while not there.exists():
        there = there.parent
    return 0 if os.stat(folder).st_dev == os.stat(there).st_dev else size  # noqa: PTH116


@contextmanager
def _refusals() -> Iterator[None]:
    """The installer's refusals, and what the system refuses, as localeval's errors."""
    try:
        yield
    except install.Refused as error:
        raise (PackBroken if error.exit_code == PackBroken.exit_code else InputError)(str(error)) from error
    except OSError as error:
        raise InputError(f"{error.filename}: {error.strerror or error}.") from error
