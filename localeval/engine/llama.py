"""llama.cpp through its C interface, with every precondition checked in Python first.

Some misuse of llama.cpp ends the process instead of raising: more rows than a batch holds, a sequence
number out of range, a model without a vocabulary. Nothing in here lets such a call through.
"""

from __future__ import annotations

import collections
import ctypes
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

# Read by llama_cpp's own dependencies at import; nothing in this process asks a hub for anything.
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import llama_cpp
import numpy as np
import numpy.typing as npt

from localeval.engine.interface import EngineError, EngineSettings
from localeval.errors import InputError, ModelBroken

Logits = npt.NDArray[np.float32]

LOG_LINES: collections.deque[str] = collections.deque(maxlen=20)
"""The last lines that llama.cpp logged, for the message of a failed load. Never sample text."""


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def _keep_log(level: int, text: bytes, _: Any) -> None:
    if level >= 3 and text.strip():  # warnings and errors
        LOG_LINES.append(text.decode("utf-8", "replace").strip())


# llama.cpp logs to a C function that reads none of it. A Python one would be called while decoding, and
# an interrupt that arrives inside a ctypes callback is lost.
_UNHEARD = ctypes.cast(llama_cpp.llama_cpp._lib.llama_supports_mmap, llama_cpp.llama_log_callback)


@contextmanager
def _log_kept() -> Iterator[None]:
    """Keep what llama.cpp logs while a model loads; an interrupt waits until then."""
    LOG_LINES.clear()
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    llama_cpp.llama_log_set(_keep_log, ctypes.c_void_p(0))
    try:
        yield
    finally:
        llama_cpp.llama_log_set(_UNHEARD, ctypes.c_void_p(0))
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


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
        _check_gpu(settings)
        with _log_kept():
            llama_cpp.llama_backend_init()
            self._model = self._load_model()
            self._vocab = llama_cpp.llama_model_get_vocab(self._model)
            self._check_model()
            self.n_vocab = int(llama_cpp.llama_vocab_n_tokens(self._vocab))
            self._context = self._make_context()
        self._memory = llama_cpp.llama_get_memory(self._context)
        self._batch = llama_cpp.llama_batch_init(settings.n_batch, 0, 1)
        self.rows = 0  # decoded since the start, the currency of every cost

    def _load_model(self) -> Any:
        params = llama_cpp.llama_model_default_params()
        params.n_gpu_layers = self.settings.n_gpu_layers
        model = llama_cpp.llama_model_load_from_file(str(self.path).encode(), params)
        if not model:
            said = next((line for line in LOG_LINES if "error" in line.lower()), "no reason given")
            raise ModelBroken(
                f"{self.path}: llama.cpp can't load this model ({_printable(said)}); "
                "fetch it again, or choose another file."
            )
        return model

    def _check_model(self) -> None:
        def has(question: str) -> bool:
            return bool(getattr(llama_cpp, f"llama_model_{question}")(self._model))

        if (
            llama_cpp.llama_vocab_type(self._vocab)
            not in (llama_cpp.LLAMA_VOCAB_TYPE_BPE, llama_cpp.LLAMA_VOCAB_TYPE_SPM)
            or has("has_encoder")
            or has("is_recurrent")
            or has("is_hybrid")
            or has("is_diffusion")
        ):
            raise ModelBroken(
                f"{self.path}: this is not a plain text decoder, so it can't judge; "
                "choose a Qwen2.5 or Qwen3 instruct model."
            )
        trained = int(llama_cpp.llama_model_n_ctx_train(self._model))
        if self.settings.n_ctx > trained:
            raise InputError(
                f"n_ctx is {self.settings.n_ctx}, but {self.path.name} was trained on {trained} tokens; "
                f"choose at most {trained}."
            )

    def _make_context(self) -> Any:
        settings = self.settings
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = settings.n_ctx
        params.n_batch = params.n_ubatch = settings.n_batch
        params.n_seq_max = params.n_outputs_max = self.n_sequences
        params.n_threads = params.n_threads_batch = settings.n_threads
        params.kv_unified = True
        params.flash_attn_type = int(settings.flash_attention)
        params.no_perf = True
        context = llama_cpp.llama_init_from_model(self._model, params)
        if not context:
            raise ModelBroken(
                f"{self.path}: llama.cpp can't make a context of {settings.n_ctx} tokens for this model; "
                "choose a smaller --n-ctx, or a smaller model."
            )
        return context

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

    def drop(self, sequence: int) -> None:
        self._check_sequence(sequence)
        llama_cpp.llama_memory_seq_rm(self._memory, sequence, -1, -1)

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
        """Decode `rows` in batches of n_batch; the logits of the wanted rows, in order, as copies."""
        found: list[Logits] = []
        for start in range(0, len(rows), self.settings.n_batch):
            found += self._decode_batch(rows[start : start + self.settings.n_batch])
        return found

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
        answer = llama_cpp.llama_decode(self._context, batch)
        if answer != 0:
            raise EngineError(f"llama_decode returned {answer} for {len(rows)} rows")
        self.rows += len(rows)
        return [
            np.ctypeslib.as_array(
                llama_cpp.llama_get_logits_ith(self._context, i), shape=(self.n_vocab,)
            ).copy()
            for i in wanted
        ]

    def _check_row(self, row: Row) -> None:
        if not 0 <= row.token < self.n_vocab or not 0 <= row.position < self.settings.n_ctx:
            raise EngineError(f"token {row.token} at position {row.position} is out of range")
        self._check_sequence(row.sequence)

    def _check_sequence(self, sequence: int) -> None:
        if not 0 <= sequence < self.n_sequences:
            raise EngineError(f"sequence {sequence} is out of range (0 to {self.n_sequences - 1})")


def _check_gpu(settings: EngineSettings) -> None:
    if settings.n_gpu_layers and not llama_cpp.llama_supports_gpu_offload():
        raise InputError(
            f"n_gpu_layers is {settings.n_gpu_layers}, but this llama-cpp-python has no GPU support; "
            "choose 0, or install a build with it (CMAKE_ARGS=-DGGML_CUDA=on)."
        )


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)[:200]
