"""A cache of prefix states on disk: a run's worked examples are computed once for later runs (README.md)."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from platformdirs import user_cache_path

from localeval.engine.build import library_digest, processor
from localeval.engine.settings import EngineSettings
from localeval.system.files import replace_bytes
from localeval.system.versions import digest, package_versions

# Of all states together; the least recently used are removed first.
MAX_CACHE_BYTES = 1_000_000_000
LOG = logging.getLogger("localeval")
_CHECKSUM_SIZE = hashlib.sha256().digest_size


class PrefixCache:
    """The prefix states of one model file, by its sha256, with these settings. Disk errors fail no run."""

    def __init__(self, model: str, settings: EngineSettings) -> None:
        self._model = model
        self._settings = settings
        self._folder = user_cache_path("localeval") / "prefixes"

    def get(self, prefix: Sequence[int]) -> bytes | None:
        """Read the state for these tokens; None where there is none or its checksum is wrong."""
        file = self._file(prefix)
        try:
            data = file.read_bytes()
        except OSError:
            return None
        # The folder may be writable by others alone.
        with suppress(OSError):
            os.utime(file)
        state = data[_CHECKSUM_SIZE:]
        return state if data[:_CHECKSUM_SIZE] == hashlib.sha256(state).digest() else None

    def put(self, prefix: Sequence[int], state: bytes) -> None:
        """Store the state if the disk allows it; beyond `MAX_CACHE_BYTES`, remove the least recently used."""
        file = self._file(prefix)
        try:
            replace_bytes(file, hashlib.sha256(state).digest() + state)
        except OSError as error:
            LOG.warning("%s: the worked examples can't be kept there (%s).", file, error.strerror)
        # Another process may remove one meanwhile.
        with suppress(OSError):
            self._remove_least_recently_used()

    def _remove_least_recently_used(self) -> None:
        total = 0
        for path in sorted(self._folder.iterdir(), key=lambda p: p.stat().st_mtime_ns, reverse=True):
            total += path.stat().st_size
            if total > MAX_CACHE_BYTES:
                path.unlink()

    def _file(self, prefix: Sequence[int]) -> Path:
        # Everything that the bits depend on.
        key = {
            "model": self._model,
            "settings": vars(self._settings),
            "llama-cpp-python": package_versions()["llama-cpp-python"],
            "library": library_digest(),
            "processor": processor(),
            "prefix": [*prefix],
        }
        return self._folder / f"{digest(key)}.state"
