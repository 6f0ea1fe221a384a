"""An engine that loads its model when it is first asked.

A run whose judgements all stand in its journal needs no weights, and so takes no time for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from localeval.engine.interface import EngineSettings, Reply, Spent, TreeEngine, Trunk

T = TypeVar("T", bound=BaseModel)


class LazyEngine:
    """A `TreeEngine` on the GGUF file at `path`. The first question may raise ModelBroken or InputError."""

    def __init__(self, path: Path, settings: EngineSettings) -> None:
        self._path, self._settings = path, settings
        self._engine: TreeEngine | None = None

    @property
    def settings(self) -> EngineSettings:
        return self._settings

    @property
    def spent(self) -> Spent:
        return self._engine.spent if self._engine else Spent()

    def count(self, text: str) -> int:
        return self._loaded().count(text)

    def room(self, trunk: Trunk) -> int:
        return self._loaded().room(trunk)

    def generate(
        self, trunk: Trunk, branch: str, leaves: Sequence[str], schema: type[T], **how: Any
    ) -> list[Reply[T]]:
        return self._loaded().generate(trunk, branch, leaves, schema, **how)

    def close(self) -> None:
        if self._engine:
            self._engine.close()
            self._engine = None

    def _loaded(self) -> TreeEngine:
        if self._engine is None:
            from localeval.engine.tree import Engine  # heavy: llama.cpp and outlines

            self._engine = Engine(self._path, self._settings)
        return self._engine
