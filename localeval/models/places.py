"""Paths as a caller gives them."""

from __future__ import annotations

import os
from pathlib import Path

from localeval.errors import InputError


def whole_path(given: str | os.PathLike[str]) -> Path:
    """The path from the root on, a `~` at its beginning being a home folder.

    Raises InputError for the home of a user whom this machine does not know.
    """
    try:
        return Path(given).expanduser().absolute()
    except RuntimeError as error:
        raise InputError(f"{given}: no home folder is known for its ~; give the whole path.") from error
