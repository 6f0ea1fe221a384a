"""The engine of a judge without a model, for metrics that ask none."""

from __future__ import annotations

from typing import Any, NoReturn

from localeval.engine.interface import EngineError, TokenUsage, TreeEngine
from localeval.engine.settings import EngineSettings


class AbsentEngine(TreeEngine):
    """A `TreeEngine` that has settings, and answers nothing: each call raises EngineError."""

    spent = TokenUsage()

    def __init__(self, settings: EngineSettings) -> None:
        self.settings = settings

    def tokens(self, *_: Any) -> NoReturn:
        self._refuse()

    def frame(self, *_: Any) -> NoReturn:
        self._refuse()

    def generate(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse()

    def read(self, *_: Any) -> NoReturn:
        self._refuse()

    def states_before_replies(self, *_: Any) -> NoReturn:
        self._refuse()

    def likelihood(self, *_: Any) -> NoReturn:
        self._refuse()

    def read_and_compare(self, *_: Any) -> NoReturn:
        self._refuse()

    def close(self) -> None:
        """Do nothing: there is no model to free."""

    def _refuse(self) -> NoReturn:
        raise EngineError("no judge was loaded")
