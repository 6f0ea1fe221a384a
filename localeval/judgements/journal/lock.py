"""One process at a time in a run's folder."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from localeval.errors import FolderError
from localeval.system.files import held

FILE = ".lock"


class Lock:
    """Held from the beginning on. The system lets go of it when the process ends, however it ends.

    Raises FolderError, with the process that holds it, where another one does; OSError for a folder that
    can't be written.
    """

    def __init__(self, folder: Path) -> None:
        from filelock import Timeout

        path = folder / FILE
        try:
            self._lock = held(path, 0)
        except Timeout:
            who = "another process"
            with contextlib.suppress(OSError, ValueError):
                who = f"process {int(path.read_text(encoding='ascii'))}"
            raise FolderError(
                f"{folder}: {who} is writing to this run; wait until it is done, stop it, or choose another "
                "folder with -o."
            ) from None
        path.write_text(f"{os.getpid()}\n", encoding="ascii")

    def release(self) -> None:
        self._lock.release()
