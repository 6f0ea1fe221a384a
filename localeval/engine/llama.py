"""llama.cpp through its C interface, with every precondition checked in Python first.

Some misuse of llama.cpp ends the process instead of raising: more rows than a batch holds, a sequence
number out of range, a model without a vocabulary. Nothing in here lets such a call through.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import llama_cpp
import numpy as np
import numpy.typing as npt

from localeval.engine.interface import EngineError, EngineSettings
from localeval.engine.loading import load

Logits = npt.NDArray[np.float32]


class Row(NamedTuple):
    """One token to decode: where it stands, in which sequence, and whether its logits are wanted."""

    token: int
    position: int
    sequence: int
    wanted: bool


class Llama:
    """One GGUF model with one multi-sequence context. Not for two threads at a time.

    Raises ModelBroken when llama.cpp can't load the file, InputError when a setting does not suit it.
    """

    def __init__(self, path: Path, settings: EngineSettings) -> None:
        self.path, self.settings = path, settings
        self.n_sequences = 2 * settings.width + 1  # the branch, the leaves, and a fork for each
        self._model, self._vocab, self._context = load(path, settings, self.n_sequences)
        self.n_vocab = int(llama_cpp.llama_vocab_n_tokens(self._vocab))
        self._memory = llama_cpp.llama_get_memory(self._context)
        self._batch = llama_cpp.llama_batch_init(settings.n_batch, 0, 1)
        self.seconds = 0.0  # spent in llama_decode

    def close(self) -> None:
        """Free everything; calling it again does nothing."""
        if self._context:
            llama_cpp.llama_batch_free(self._batch)
            llama_cpp.llama_free(self._context)
            llama_cpp.llama_model_free(self._model)
            self._context = self._model = None

    # Text and tokens

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

    # The cache

    def clear(self) -> None:
        llama_cpp.llama_memory_clear(self._memory, False)

    def fork(self, source: int, target: int) -> None:
        """Let `target` see all cells of `source`; copies no cell."""
        self._check_sequence(source)
        self._check_sequence(target)
        llama_cpp.llama_memory_seq_cp(self._memory, source, target, -1, -1)

    def drop(self, sequence: int, position: int = 0) -> None:
        """Forget a sequence from `position` on."""
        self._check_sequence(sequence)
        llama_cpp.llama_memory_seq_rm(self._memory, sequence, position, -1)

    def save(self, sequence: int) -> bytes:
        """The state of one sequence, for `restore`."""
        self._check_sequence(sequence)
        size = llama_cpp.llama_state_seq_get_size(self._context, sequence)
        buffer = (ctypes.c_uint8 * size)()
        if llama_cpp.llama_state_seq_get_data(self._context, buffer, size, sequence) != size:
            raise EngineError("llama.cpp could not save a sequence")
        return bytes(buffer)

    def restore(self, state: bytes, sequence: int) -> None:
        self._check_sequence(sequence)
        buffer = (ctypes.c_uint8 * len(state)).from_buffer_copy(state)
        if llama_cpp.llama_state_seq_set_data(self._context, buffer, len(state), sequence) != len(state):
            raise EngineError("llama.cpp could not restore a sequence")

    # Decoding

    def decode(self, rows: Sequence[Row]) -> list[Logits]:
        """Decode `rows` in batches of n_batch; the logits of the wanted rows, in order.

        They lie in llama.cpp's own memory and stand until the next call: copy what is to be kept.
        """
        size = self.settings.n_batch
        if len(rows) <= size:
            return self._decode_batch(rows)
        batches = (rows[start : start + size] for start in range(0, len(rows), size))
        return [logits.copy() for batch in batches for logits in self._decode_batch(batch)]

    def _decode_batch(self, rows: Sequence[Row]) -> list[Logits]:
        batch = self._batch
        batch.n_tokens = len(rows)
        for i, row in enumerate(rows):
            self._check_row(row)
            batch.token[i], batch.pos[i] = row.token, row.position
            batch.n_seq_id[i], batch.seq_id[i][0] = 1, row.sequence
            batch.logits[i] = row.wanted
        wanted = [i for i, row in enumerate(rows) if row.wanted]
        if len(wanted) > self.n_sequences:
            raise EngineError(f"{len(wanted)} outputs asked for, {self.n_sequences} possible")
        before = time.perf_counter()
        answer = llama_cpp.llama_decode(self._context, batch)
        self.seconds += time.perf_counter() - before
        if answer != 0:
            raise EngineError(f"llama_decode returned {answer} for {len(rows)} rows")
        return [
            np.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(self._context, i), shape=(self.n_vocab,))
            for i in wanted
        ]

    def _check_row(self, row: Row) -> None:
        if not 0 <= row.token < self.n_vocab or not 0 <= row.position < self.settings.n_ctx:
            raise EngineError(f"token {row.token} at position {row.position} is out of range")
        self._check_sequence(row.sequence)

    def _check_sequence(self, sequence: int) -> None:
        if not 0 <= sequence < self.n_sequences:
            raise EngineError(f"sequence {sequence} is out of range (0 to {self.n_sequences - 1})")
