"""The states of prefixes on disk: what a run computes of its worked examples, the next reads (README.md)."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from platformdirs import user_cache_path

from localeval.engine.interface import EngineSettings
from localeval.engine.probe import library, processor
from localeval.system.versions import digest, package_versions

MOST = 1_000_000_000  # bytes of all states together; those that were not used for longest go first
LOG = logging.getLogger("localeval")
_SUM = hashlib.sha256().digest_size


class PrefixCache:
    """Of one model file, by its sha256, with these settings. What can't be kept or read fails no run."""

    def __init__(self, model: str, settings: EngineSettings) -> None:
        self._model, self._settings = model, settings
        self._folder = user_cache_path("localeval") / "prefixes"

    def has(self, prefix: Sequence[int]) -> bool:
        """Tell whether there is a state of these tokens; it may yet turn out to be damaged."""
        return self._file(prefix).is_file()

    def get(self, prefix: Sequence[int]) -> bytes | None:
        """Read the state of these tokens; None where there is none, or not the bytes that were kept."""
        file = self._file(prefix)
        try:
            held = file.read_bytes()
        except OSError:
            return None
        with suppress(OSError):  # where only others may write, they keep order
            os.utime(file)
        state = held[_SUM:]
        return state if held[:_SUM] == hashlib.sha256(state).digest() else None

    def put(self, prefix: Sequence[int], state: bytes) -> None:
        """Keep the state, as far as the disk allows it, and drop the oldest beyond `MOST`."""
        file = self._file(prefix)
        beside = file.with_suffix(f".{os.getpid()}.part")
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            beside.write_bytes(hashlib.sha256(state).digest() + state)
            beside.replace(file)
        except OSError as error:
            LOG.warning("%s: the worked examples can't be kept there (%s).", file, error.strerror)
            with suppress(OSError):
                beside.unlink()
        with suppress(OSError):  # another process may drop one meanwhile
            total = 0
            for old in sorted(self._folder.iterdir(), key=lambda one: one.stat().st_mtime_ns, reverse=True):
                total += old.stat().st_size
                if total > MOST:
                    old.unlink()

    def _file(self, prefix: Sequence[int]) -> Path:
        decides = {  # all that the bits depend on
            "model": self._model,
            "settings": vars(self._settings),
            "llama-cpp-python": package_versions()["llama-cpp-python"],
            "library": library(),
            "processor": processor(),
            "prefix": [*prefix],
        }
        return self._folder / f"{digest(decides)}.state"
