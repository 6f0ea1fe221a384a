"""The tokenizer and metadata of a GGUF file, through llama.cpp's C interface.

A file on which llama.cpp fails can end the process instead of raising: `localeval.engine.probe` tries a file
in a process of its own first.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from localeval.engine.native import llama_cpp, loading_log, signals_held
from localeval.engine.settings import MIN_CONTEXT, EngineSettings
from localeval.errors import InputError, ModelBroken
from localeval.text.display import shorten

CACHE_GROUP = 32  # numbers that a cache of 8 bits stores with one scale
_BUFFER_BYTES = 256  # of a value of the metadata, or of a token's text


def split_marks(text: bytes, marks: re.Pattern[bytes]) -> Iterator[bytes]:
    """Cut `text` behind the first character of every mark in it, so that no part has one.

    >>> list(split_marks(b"a <b> c", re.compile(b"<b>|b> c")))
    [b'a <', b'b', b'> c']
    """
    start = 0
    while match := marks.search(text, start):
        # UTF-8: the bytes of a character after its first one are 0x80 to 0xBF.
        end = match.start() + 1
        while 0x80 <= text[end] < 0xC0:
            end += 1
        yield text[start:end]
        start = end
    yield text[start:]


class Tokenizer:
    """The tokenizer and metadata of a GGUF file, read without its weights.

    Raises ModelBroken when llama.cpp can't load the file, InputError for settings that do not suit it.
    """

    def __init__(self, path: Path, settings: EngineSettings, weights: bool = False) -> None:
        self.path = path
        self.settings = settings
        if settings.n_gpu_layers and not llama_cpp.llama_supports_gpu_offload():
            raise InputError(
                f"n_gpu_layers is {settings.n_gpu_layers}, but this llama-cpp-python has no GPU support; "
                "choose 0, or install a build with it (CMAKE_ARGS=-DGGML_CUDA=on)."
            )
        self._model = _load_model(path, settings, weights)
        self._vocab = llama_cpp.llama_model_get_vocab(self._model)
        self.n_vocab = int(llama_cpp.llama_vocab_n_tokens(self._vocab))
        try:
            self._check_context()
            self._check_cache_type()
        except InputError:
            self.close()
            raise

    def _check_context(self) -> None:
        """Raise InputError for more tokens of context than the model was trained on."""
        # llama.cpp's own call needs the weights. Without a number it loads no weights.
        trained = self.number("context_length")
        if 0 < trained < self.settings.n_ctx:
            remedy = f"at most {trained}" if trained >= MIN_CONTEXT else "another model"
            raise InputError(
                f"n_ctx is {self.settings.n_ctx}, but {self.path.name} was trained on {trained} tokens; "
                f"choose {remedy}."
            )

    def _check_cache_type(self) -> None:
        """Raise InputError if a cache of 8 bits can't hold the model's keys or values."""
        if self.settings.cache_type == "f16":
            return
        default = self.number("embedding_length") // max(1, self.number("attention.head_count"))
        for part in ("key", "value"):
            length = self.number(f"attention.{part}_length") or default
            if length % CACHE_GROUP:
                raise InputError(
                    f"cache_type is {self.settings.cache_type}, which stores {CACHE_GROUP} numbers together, "
                    f"but the heads of {self.path.name} have {length}; leave cache_type out."
                )

    def close(self) -> None:
        """Free everything; calling it again does nothing."""
        # First: an interrupt here may lead to a second call.
        model = self._model
        self._model = None
        if model:
            llama_cpp.llama_model_free(model)

    def number(self, name: str) -> int:
        """Read a number from the metadata by its name without the architecture ("block_count"); else 0."""
        text = self.value(f"{self.architecture()}.{name}")
        return int(text) if text.isdecimal() else 0

    def architecture(self) -> str:
        """Read the name of the model's architecture, such as "qwen2"; empty where the file has none."""
        return self.value("general.architecture")

    def value(self, key: str) -> str:
        """Read a value from the metadata as text; empty where there is none."""
        buffer = ctypes.create_string_buffer(_BUFFER_BYTES)
        length = llama_cpp.llama_model_meta_val_str(self._model, key.encode(), buffer, len(buffer))
        return buffer.value.decode("utf-8", "replace") if length >= 0 else ""

    def tokenize(self, text: bytes, special: bool = False) -> list[int]:
        """Tokenize `text`. Without `special`, `<|im_end|>` and `<tool_call>` are ordinary text, no token."""
        marks = self._marks
        if special or marks is None or marks.search(text) is None:
            return self._tokenize(text, special)
        return [token for part in split_marks(text, marks) for token in self._tokenize(part, special)]

    @cached_property
    def _marks(self) -> re.Pattern[bytes] | None:
        """Match the text of every token that its maker added to the vocabulary; None where there is none.

        llama.cpp finds these in every text, where it finds control tokens only if asked. White space is left
        out, as no mark consists of it.
        """
        added = llama_cpp.LLAMA_TOKEN_ATTR_USER_DEFINED
        texts = []
        for token in range(self.n_vocab):
            if llama_cpp.llama_vocab_get_attr(self._vocab, token) & added:
                text = llama_cpp.llama_vocab_get_text(self._vocab, token)
                # U+2581 is how SentencePiece writes a space.
                if len(text.decode("utf-8", "replace").strip("\u2581 \t\r\n")) > 1:
                    texts.append(text)
        if not texts:
            return None
        return re.compile(b"|".join(map(re.escape, sorted(texts))))

    def _tokenize(self, text: bytes, special: bool) -> list[int]:
        capacity = len(text) + 1
        tokens = (llama_cpp.llama_token * capacity)()
        n = llama_cpp.llama_tokenize(self._vocab, text, len(text), tokens, capacity, False, special)
        return list(tokens[:n])

    def pieces(self) -> Iterator[tuple[int, bytes]]:
        """Yield (token, its bytes) for every token that a text can have: no control token, none empty."""
        buffer = ctypes.create_string_buffer(_BUFFER_BYTES)
        for token in range(self.n_vocab):
            if llama_cpp.llama_vocab_is_control(self._vocab, token):
                continue
            if llama_cpp.llama_vocab_is_eog(self._vocab, token):
                continue
            n = llama_cpp.llama_token_to_piece(self._vocab, token, buffer, len(buffer), 0, False)
            if n > 0:
                yield token, buffer.raw[:n]

    def end_token(self) -> int:
        return int(llama_cpp.llama_vocab_eos(self._vocab))

    def chat_template(self) -> str | None:
        """Read the Jinja chat template of the GGUF file; None when it has none."""
        template = llama_cpp.llama_model_chat_template(self._model, None)
        return template.decode("utf-8", "replace") if template else None

    def special_text(self, which: str) -> str:
        """Return the "bos" or "eos" token as a template writes it; empty when there is none."""
        token = int(getattr(llama_cpp, f"llama_vocab_{which}")(self._vocab))
        if token < 0:
            return ""
        text = llama_cpp.llama_vocab_get_text(self._vocab, token)
        return text.decode("utf-8", "replace") if text else ""

    def adds_bos(self) -> bool:
        return bool(llama_cpp.llama_vocab_get_add_bos(self._vocab))


def _load_model(path: Path, settings: EngineSettings, weights: bool) -> Any:
    """Load a GGUF file, without `weights` its vocabulary alone. Raises ModelBroken if llama.cpp can't."""
    params = llama_cpp.llama_model_default_params()
    params.vocab_only = not weights
    params.n_gpu_layers = settings.n_gpu_layers
    params.use_mmap = settings.mmap
    with signals_held(), loading_log() as log:
        llama_cpp.llama_backend_init()
        model = llama_cpp.llama_model_load_from_file(os.fsencode(path), params)
        reasons = [line for line in log if "error" in line.lower()]
    if not model:
        reason = reasons[0] if reasons else "no reason given"
        raise ModelBroken(
            f"{path}: llama.cpp can't load this model ({shorten(reason)}); "
            "fetch it again, or choose another file."
        )
    return model
