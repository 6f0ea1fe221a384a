"""Lock files, also where the file system has no locks."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from filelock import BaseFileLock, Timeout

_HELD_SUFFIX = ".held"
_SECOND_LOOK_SECONDS = 0.2


def lock_file(path: Path, seconds: float) -> BaseFileLock:
    """Lock `path` for this process, until it releases the returned lock, or ends.

    Waits for another process up to `seconds` (-1: for ever), then raises filelock's Timeout, whose
    `lock_file` is another path where the file's existence is the lock (see `left_over_lock`).
    """
    from filelock import FileLock, SoftFileLock

    if not issubclass(FileLock, SoftFileLock):
        lock = FileLock(path, thread_local=False, fallback_to_soft=False)
        try:
            lock.acquire(timeout=seconds)
            return lock
        except OSError as error:
            if error.errno != errno.ENOSYS:
                raise
    # A file system, or a Python, without locks. filelock's own fallback would remove another holder's file.
    soft_lock = SoftFileLock(path.with_name(f"{path.name}{_HELD_SUFFIX}"), thread_local=False)
    # The first look removes the file of a process of this machine that has ended, and a second one locks.
    soft_lock.acquire(timeout=_SECOND_LOOK_SECONDS if seconds == 0 else seconds)
    return soft_lock


def left_over_lock(timeout: Timeout) -> Path | None:
    """Return the file whose existence is the lock, which stays where its process was killed; else None."""
    path = Path(timeout.lock_file)
    return path if path.name.endswith(_HELD_SUFFIX) else None
