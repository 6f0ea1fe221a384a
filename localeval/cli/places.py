"""Files and folders that a caller names to be written, looked at before anything is computed."""

from __future__ import annotations

import os
from pathlib import Path

from localeval.errors import InputError
from localeval.system.files import is_same


def folder_of(given: str | None) -> Path | None:
    """The folder that -o names; None where it was left out. Raises InputError for an empty name."""
    if given == "":
        raise InputError("-o is empty; name a folder, or leave it out.")
    return None if given is None else Path(given)


def place_of(given: str, option: str, own: str, source: str | None = None) -> Path:
    """The file that `option` names. Raises InputError where none can be written, or is not to be.

    own     what such a file is called in a run's folder; every other file of a run stays as it is
    source  the file that the command reads, which stays too
    """
    from localeval.runs.folder import FILES

    path = Path(given)
    if path.is_symlink() and path.is_file():
        path = path.resolve()  # that is what would be written
    if not given:
        raise InputError(f"{option} is empty; name a file, or leave it out.")
    if path.is_dir():
        raise InputError(f"{path}: this is a folder, and {option} takes a file; give {path / own}, say.")
    if not path.absolute().parent.is_dir():
        raise InputError(f"{path}: there is no such folder; make it, or choose another place for {option}.")
    # A file is made beside and moved into its place, so that its folder has to be writable too.
    needed = [path] if path.exists() else []
    needed += [] if path.exists() and not path.is_file() else [path.absolute().parent]
    if not all(os.access(place, os.W_OK) for place in needed):
        raise InputError(f"{path}: can't be written (Permission denied); choose another place for {option}.")
    if source is not None and is_same(path, source):
        raise InputError(f"{path}: this is the file that is read; choose another place for {option}.")
    if path.name.lower() in FILES and path.name != own and in_a_run(path):
        raise InputError(f"{path}: this is a file of the run there, which has to stay; choose another place.")
    return path


def in_a_run(path: Path) -> bool:
    """Whether the file is, or would be, in a run's folder."""
    from localeval.runs.folder import is_run

    try:
        return is_run(path.parent)
    except OSError:
        return True  # it can't be told
