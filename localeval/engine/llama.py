"""llama.cpp through its C interface, with every precondition checked in Python first.

Some misuse of llama.cpp ends the process instead of raising: more rows than a batch holds, a sequence
number out of range, a model without a vocabulary. Nothing in here lets such a call through.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import llama_cpp
import numpy as np
import numpy.typing as npt

from localeval.engine.interface import EngineError, EngineSettings
from localeval.engine.loading import load
from localeval.engine.reading import Reader
from localeval.engine.schedule import even
from localeval.engine.states import Array, StateTap, signals_held

Logits = npt.NDArray[np.float32]


class Row(NamedTuple):
    """One token to decode: where it stands, in which sequences, and whether its logits are wanted."""

    token: int
    position: int
    sequences: tuple[int, ...]
    wanted: bool


class Llama(Reader):
    """One GGUF model with one multi-sequence context. Not for two threads at a time.

    Raises ModelBroken when llama.cpp can't load the file, InputError when a setting does not suit it.
    """

    def __init__(self, path: Path, settings: EngineSettings) -> None:
        self.settings = settings
        self.n_sequences = 2 * settings.width + 1  # the branch, the leaves, and a fork for each
        self._tap = StateTap()
        model, vocab, self._context = load(path, settings, self.n_sequences, self._tap.callback)
        super().__init__(path, model, vocab)
        self._memory = llama_cpp.llama_get_memory(self._context)
        self._batch = llama_cpp.llama_batch_init(settings.n_batch, 0, self.n_sequences)
        self.seconds = 0.0  # spent in llama_decode

    def close(self) -> None:
        """Free everything; calling it again does nothing."""
        if self._context:
            llama_cpp.llama_batch_free(self._batch)
            llama_cpp.llama_free(self._context)
            self._context = None
        super().close()

    # The cache

    def clear(self, data: bool = False) -> None:
        """Forget all sequences; with `data` the numbers in their cells too."""
        llama_cpp.llama_memory_clear(self._memory, data)

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
        size = even(len(rows), self.settings.n_batch)
        if len(rows) <= size:
            return self._decode_batch(rows)
        batches = (rows[start : start + size] for start in range(0, len(rows), size))
        return [logits.copy() for batch in batches for logits in self._decode_batch(batch)]

    def states(self, rows: Sequence[Row], layers: Sequence[int]) -> Array:
        """The residual behind `layers` for each of `rows`, as (rows, layers, width).

        Nothing above is computed. The cells are good for `states` of the same layers or lower ones alone.
        Raises EngineError where this build shows no states.
        """
        size = even(len(rows), self.settings.n_batch)
        with self._tap.reading(layers):
            for start in range(0, len(rows), size):
                self._decode_batch(rows[start : start + size])
            return self._tap.states(layers, len(rows))

    def _decode_batch(self, rows: Sequence[Row]) -> list[Logits]:
        batch = self._batch
        batch.n_tokens = len(rows)
        for i, row in enumerate(rows):
            self._check_row(row)
            batch.token[i], batch.pos[i] = row.token, row.position
            batch.n_seq_id[i] = len(row.sequences)
            for k, sequence in enumerate(row.sequences):
                batch.seq_id[i][k] = sequence
            batch.logits[i] = row.wanted
        wanted = [i for i, row in enumerate(rows) if row.wanted]
        if len(wanted) > self.n_sequences:
            raise EngineError(f"{len(wanted)} outputs asked for, {self.n_sequences} possible")
        before = time.perf_counter()
        with signals_held():
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
        if not 0 < len(row.sequences) <= self.n_sequences:
            raise EngineError(f"a row in {len(row.sequences)} sequences is out of range")
        for sequence in row.sequences:
            self._check_sequence(sequence)

    def _check_sequence(self, sequence: int) -> None:
        if not 0 <= sequence < self.n_sequences:
            raise EngineError(f"sequence {sequence} is out of range (0 to {self.n_sequences - 1})")
