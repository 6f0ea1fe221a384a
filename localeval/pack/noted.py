"""What in a folder is a pack's own, finished or not: nothing else there is kept, replaced or removed."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from localeval.pack import install

PART = f"{install.MANIFEST}.part"  # what is in the folder so far, while the pack is not whole
SCRATCH = "collecting.part"  # where pip works


@dataclass
class Noted:
    """What an earlier pack says that it put there.

    lists  of its manifest and its unfinished list, those that are there and are a pack's
    files  the whole files, with their sizes and sums
    begun  the file that was being copied; of the one before, nothing may be left
    """

    lists: list[str] = field(default_factory=list)
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    begun: str = ""

    @classmethod
    def of(cls, target: Path) -> Noted:
        noted = cls()
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            kept = json.loads((target / PART).read_text(encoding="utf-8"))
            files, begun = kept.pop("files"), kept.pop("begun", "")
            if not kept and _are_files(files) and (begun == "" or install.is_safe(begun)):
                noted = cls([PART], files, begun)
        with contextlib.suppress(OSError, install.Refused):
            files = install.read_manifest(target)["files"]
            noted = cls([*noted.lists, install.MANIFEST], files, noted.begun)
        return noted

    def names(self) -> set[str]:
        """Every file that a pack left there; where there is no list of one, it left at most half a list."""
        own = {*self.lists, *self.files, f".{PART}.part"}
        if self.lists:
            own |= {SCRATCH, f".{install.MANIFEST}.part"}
        return own | ({f"{self.begun}.part"} if self.begun else set())


def _are_files(files: Any) -> bool:
    return all(
        install.is_safe(name) and isinstance(entry["size"], int) and isinstance(entry["sha256"], str)
        for name, entry in files.items()
    )
