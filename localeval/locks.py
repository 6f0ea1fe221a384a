"""A file that one process at a time can hold."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from filelock import BaseFileLock


def held(path: Path, seconds: float) -> BaseFileLock:
    """The lock on `path`, which this process holds until it calls `release`, or ends.

    Waits for another process as long as `seconds` (-1: for ever), then raises filelock's Timeout; OSError
    where the file can't be written. On a file system that knows no locks, a note of the holder beside the
    file stands for one: filelock's own way there removes the note that another process left in `path`.
    """
    from filelock import FileLock, SoftFileLock

    lock: BaseFileLock = FileLock(path, thread_local=False, fallback_to_soft=False)
    try:
        lock.acquire(timeout=seconds)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        lock = SoftFileLock(path.with_name(f"{path.name}.held"), thread_local=False)
        lock.acquire(timeout=seconds)
    return lock
