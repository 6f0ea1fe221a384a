"""Model files that must stay as they were while an engine uses them: they are mapped, not copied."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from localeval.errors import ModelBroken


class Watched:
    """The size, time of change and inode of each file, as they are now."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._then = {path: _identity(path) for path in paths}

    def check(self) -> None:
        """Raises ModelBroken where a file is another one by now, or gone."""
        for path, then in self._then.items():
            if _identity(path) != then:
                raise ModelBroken(
                    f"{path}: the model file was replaced or changed while it judged; what it judged before "
                    "is kept. Put the file back and give the same command again; another judges all anew."
                )


def _identity(path: Path) -> tuple[int, ...]:
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_size, status.st_mtime_ns, status.st_dev, status.st_ino
