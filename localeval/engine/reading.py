"""What of a GGUF file reads and writes text: its vocabulary and its chat template."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import llama_cpp

from localeval.engine.interface import EngineError, EngineSettings
from localeval.engine.loading import check_settings, load_vocabulary, number
from localeval.engine.memory import needed


class Reader:
    """Text to tokens and back, for one GGUF file. `Reader.open` reads no weights."""

    def __init__(self, path: Path, model: Any, vocab: Any) -> None:
        """`model` and `vocab` are llama.cpp's handles; `close` frees them."""
        self.path, self._model, self._vocab = path, model, vocab
        self.n_vocab = int(llama_cpp.llama_vocab_n_tokens(vocab))

    @classmethod
    def open(cls, path: Path) -> Reader:
        """Read the vocabulary alone, in about a second. Raises ModelBroken when llama.cpp can't."""
        return cls(path, *load_vocabulary(path))

    def close(self) -> None:
        """Free everything; calling it again does nothing."""
        if self._model:
            llama_cpp.llama_model_free(self._model)
            self._model = None

    def check(self, settings: EngineSettings) -> None:
        """Raise InputError where the settings do not suit the model, or this build of llama.cpp."""
        check_settings(self.path, self._model, settings)

    def memory(self, settings: EngineSettings, trunks: int = 0) -> int:
        """Bytes that the model takes in this machine's memory when it is loaded with these settings, and
        keeps the states of `trunks` tokens beside its cache.
        """
        return needed(self.path, settings, partial(number, self._model), trunks)

    def layers(self) -> int:
        """How many the model has."""
        return number(self._model, "block_count")

    def tokenize(self, text: bytes, special: bool = False) -> list[int]:
        """Tokens of `text`. With `special` false, `<|im_end|>` is seven ordinary characters and more."""
        room = len(text) + 1
        tokens = (llama_cpp.llama_token * room)()
        n = llama_cpp.llama_tokenize(self._vocab, text, len(text), tokens, room, False, special)
        if n < 0:
            raise EngineError(f"the tokenizer refused a text of {len(text)} bytes")
        return list(tokens[:n])

    def pieces(self) -> Iterator[tuple[int, bytes]]:
        """(token, its bytes) for every token that may stand in a text: no control token, none empty."""
        buffer = ctypes.create_string_buffer(256)
        for token in range(self.n_vocab):
            if llama_cpp.llama_vocab_is_control(self._vocab, token) or self.ends(token):
                continue
            n = llama_cpp.llama_token_to_piece(self._vocab, token, buffer, len(buffer), 0, False)
            if n > 0:
                yield token, buffer.raw[:n]

    def ends(self, token: int) -> bool:
        """True for a token that ends a generation."""
        return bool(llama_cpp.llama_vocab_is_eog(self._vocab, token))

    def end_token(self) -> int:
        return int(llama_cpp.llama_vocab_eos(self._vocab))

    def chat_template(self) -> str | None:
        """The Jinja chat template in the GGUF file; None when it has none."""
        template = llama_cpp.llama_model_chat_template(self._model, None)
        return template.decode("utf-8", "replace") if template else None

    def special_text(self, which: str) -> str:
        """The text of the "bos" or "eos" token as a template writes it; empty when there is none."""
        token = int(getattr(llama_cpp, f"llama_vocab_{which}")(self._vocab))
        text = llama_cpp.llama_vocab_get_text(self._vocab, token) if token >= 0 else None
        return text.decode("utf-8", "replace") if text else ""

    def adds_bos(self) -> bool:
        return bool(llama_cpp.llama_vocab_get_add_bos(self._vocab))
