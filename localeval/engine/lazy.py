"""An engine that loads its model when it is first asked.

A run whose judgements all stand in its journal needs no weights, and so takes no time for them. To count
tokens, the vocabulary alone is read, which takes a second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from localeval.engine.interface import EngineError, EngineSettings, Frame, Reply, Spent, States, TreeEngine
from localeval.engine.watched import Watched
from localeval.models.gguf import split_files
from localeval.prompts.prefix import Trunk

if TYPE_CHECKING:
    from localeval.engine.kept import KeptStates
    from localeval.engine.tokens import Tokens

T = TypeVar("T", bound=BaseModel)
V = TypeVar("V")


class LazyEngine:
    """A `TreeEngine` on the GGUF file at `path`. The first question may raise ModelBroken or InputError.

    `kept` as `Engine` has it.

    Any may raise ModelBroken when the file is no longer the one that was there at the beginning: what was
    decoded while it changed is not given out.
    """

    def __init__(self, path: Path, settings: EngineSettings, kept: KeptStates | None = None) -> None:
        self.path, self._settings, self._kept = path, settings, kept
        self._watched = Watched(split_files(path) or [path])
        self._engine: TreeEngine | None = None
        self._tokens: Tokens | None = None

    @property
    def settings(self) -> EngineSettings:
        return self._settings

    @property
    def spent(self) -> Spent:
        return self._engine.spent if self._engine else Spent()

    def tokens(self, text: str) -> Sequence[int]:
        return self._engine.tokens(text) if self._engine else self._reading().of(text)

    def frame(self, trunk: Trunk) -> Frame:
        return self._engine.frame(trunk) if self._engine else self._reading().frame(trunk)

    def count(self, text: str) -> int:
        return len(self.tokens(text))

    def stands(self, trunk: Trunk) -> bool:
        if self._engine:
            return self._engine.stands(trunk)
        return bool(self._kept and self._kept.has(self.frame(trunk).before))

    def room(self, trunk: Trunk) -> int:
        before, after = self.frame(trunk)
        return self._settings.n_ctx - len(before) - len(after)

    def generate(
        self, trunk: Trunk, branch: str, leaves: Sequence[str], schema: type[T], **how: Any
    ) -> list[Reply[T]]:
        return self._watching(lambda engine: engine.generate(trunk, branch, leaves, schema, **how))

    def read(self, context: str, items: Sequence[str], layers: Sequence[int]) -> list[States]:
        return self._watching(lambda engine: engine.read(context, items, layers))

    def _watching(self, ask: Callable[[TreeEngine], V]) -> V:
        """What the engine answers, unless the model file changed meanwhile."""
        try:
            answer = ask(self._loaded())
        except EngineError:
            self._watched.check()
            raise
        self._watched.check()
        return answer

    def layers(self) -> int:
        """How many the model has."""
        return self._reading().reader.layers()

    @property
    def loaded(self) -> bool:
        """Whether the weights are in memory."""
        return self._engine is not None

    def check(self) -> None:
        """Raise ModelBroken or InputError where loading would, as far as a second's reading tells."""
        if self._engine is None:
            self._reading()

    def memory(self, trunks: int = 0) -> int | None:
        """Bytes of the loaded model, by its file, with the states of so many tokens of trunks that it keeps.

        None where a GPU holds it, or part of it.
        """
        if self._settings.n_gpu_layers:
            return None
        return self._reading().reader.memory(self._settings, trunks)

    def close(self) -> None:
        if self._engine:
            self._engine.close()
        if self._tokens:
            self._tokens.close()
        self._engine = self._tokens = None

    def _reading(self) -> Tokens:
        if self._tokens is None:
            from localeval.engine.reading import Reader  # heavy: llama.cpp
            from localeval.engine.tokens import Tokens

            reader = Reader.open(self.path)
            try:
                reader.check(self._settings)
            except BaseException:
                reader.close()
                raise
            self._tokens = Tokens(reader)
        return self._tokens

    def _loaded(self) -> TreeEngine:
        if self._engine is None:
            from localeval.engine.tree import Engine  # heavy: llama.cpp and outlines

            self._watched.check()
            self._engine = Engine(self.path, self._settings, self._kept, self._watched.check)
        return self._engine
