"""What of a GGUF file reads and writes text: its vocabulary and its chat template."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llama_cpp

from localeval.engine.interface import EngineError, EngineSettings
from localeval.engine.loading import CACHE_TYPES, load_vocabulary
from localeval.engine.memory import OVERHEAD, cache_bytes
from localeval.gguf_header import split_files


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

    def memory(self, settings: EngineSettings) -> int:
        """Bytes of the loaded model with a context: weights, keys and values, and what stands beside."""
        weights = sum(file.stat().st_size for file in split_files(self.path) or [self.path])
        layers, width = self.number("block_count"), self.number("embedding_length")
        heads = self.number("attention.head_count") or 1
        heads_kv = self.number("attention.head_count_kv") or heads
        bits = CACHE_TYPES[settings.cache_type][1]
        return weights + OVERHEAD + cache_bytes(settings.n_ctx, layers, width, heads, heads_kv, bits)

    def number(self, name: str) -> int:
        """A number in the metadata, by its name behind the architecture ("block_count"); 0 without it."""
        text = self._metadata(f"{self._metadata('general.architecture')}.{name}")
        return int(text) if text.isdecimal() else 0

    def _metadata(self, key: str) -> str:
        buffer = ctypes.create_string_buffer(256)
        n = llama_cpp.llama_model_meta_val_str(self._model, key.encode(), buffer, len(buffer))
        return buffer.value.decode("utf-8", "replace") if n >= 0 else ""

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
