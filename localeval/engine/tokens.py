"""Texts and trunks as tokens: all of a model that is needed to count what it would compute."""

from __future__ import annotations

from localeval.engine.chat import Chat
from localeval.engine.interface import Frame
from localeval.engine.reading import Reader
from localeval.prompts.prefix import Trunk


class Tokens:
    """The tokens of one model. Raises ModelBroken for a file without a chat template."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self._chat = Chat(reader)
        self._frames: dict[Trunk, Frame] = {}

    def of(self, text: str) -> list[int]:
        """UTF-8; a lone surrogate, which no file holds but Python can, becomes a question mark."""
        return self.reader.tokenize(text.encode("utf-8", "replace"))

    def frame(self, trunk: Trunk) -> Frame:
        if trunk not in self._frames:
            self._frames[trunk] = Frame(*self._chat.frame(trunk))
        return self._frames[trunk]

    def close(self) -> None:
        self.reader.close()
