"""llama.cpp through its C interface: the tokenizer of a GGUF file, the model with its cache, hidden states.

Some misuse ends the process instead of raising: a file that llama.cpp fails on, which is probed first; a
sequence or token out of range, or more outputs than a context has, which the engine never asks for.
"""

from __future__ import annotations

import collections
import ctypes
import os
import re
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path
from typing import Any

# Dependencies of llama_cpp read it at import; nothing in this process may contact a hub.
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import llama_cpp
import numpy as np
import numpy.typing as npt

from localeval.engine.batching import BatchToken, even_size
from localeval.engine.interface import LEAST_CONTEXT, EngineError, EngineSettings
from localeval.engine.probe import probe_model
from localeval.errors import InputError, ModelBroken
from localeval.text.display import shorten

Logits = npt.NDArray[np.float32]

_CACHE_TYPES = {"f16": llama_cpp.GGML_TYPE_F16, "q8_0": llama_cpp.GGML_TYPE_Q8_0}
_LOG_LINES: collections.deque[str] = collections.deque(maxlen=20)


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def _keep_log(level: int, text: bytes, _: Any) -> None:
    if level >= 3 and text.strip():  # warnings and errors
        _LOG_LINES.append(text.decode("utf-8", "replace").strip())


# Outside loading llama.cpp logs to a C function that ignores its arguments: a Python one would be called
# while decoding, and an interrupt that arrives inside a ctypes callback is lost.
_NO_LOG = ctypes.cast(llama_cpp.llama_cpp._lib.llama_supports_mmap, llama_cpp.llama_log_callback)


@contextmanager
def _signals_held() -> Iterator[None]:
    """Delay Ctrl-C and SIGTERM until llama.cpp returns.

    Python handles a signal at its next line, which could be one of a callback, and an exception there is
    lost: llama.cpp can't pass it on.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are handled in the main thread
        return
    received: list[int] = []
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    handlers = {number: handler for number, handler in handlers.items() if callable(handler)}
    try:
        for number in handlers:
            signal.signal(number, lambda number, _: received.append(number))
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for received_number in received:
            signal.raise_signal(received_number)


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
        self.path, self.settings = path, settings
        if settings.n_gpu_layers and not llama_cpp.llama_supports_gpu_offload():
            raise InputError(
                f"n_gpu_layers is {settings.n_gpu_layers}, but this llama-cpp-python has no GPU support; "
                "choose 0, or install a build with it (CMAKE_ARGS=-DGGML_CUDA=on)."
            )
        probe_model(path, settings if weights else None)
        params = llama_cpp.llama_model_default_params()
        params.vocab_only = not weights
        params.n_gpu_layers, params.use_mmap = settings.n_gpu_layers, settings.mmap
        _LOG_LINES.clear()
        with _signals_held():
            llama_cpp.llama_log_set(_keep_log, ctypes.c_void_p(0))
            try:
                llama_cpp.llama_backend_init()
                self._model = llama_cpp.llama_model_load_from_file(os.fsencode(path), params)
            finally:
                llama_cpp.llama_log_set(_NO_LOG, ctypes.c_void_p(0))
        if not self._model:
            reason = next((line for line in _LOG_LINES if "error" in line.lower()), "no reason given")
            raise ModelBroken(
                f"{path}: llama.cpp can't load this model ({shorten(reason)}); "
                "fetch it again, or choose another file."
            )
        self._vocab = llama_cpp.llama_model_get_vocab(self._model)
        self.n_vocab = int(llama_cpp.llama_vocab_n_tokens(self._vocab))
        trained = self.number("context_length")  # llama.cpp's own call needs the weights
        if 0 < trained < self.settings.n_ctx:  # without a number llama.cpp loads no weights
            self.close()
            remedy = f"at most {trained}" if trained >= LEAST_CONTEXT else "another model"
            raise InputError(
                f"n_ctx is {self.settings.n_ctx}, but {path.name} was trained on {trained} tokens; "
                f"choose {remedy}."
            )

    def close(self) -> None:
        """Free everything; calling it again does nothing."""
        model, self._model = self._model, None  # first: an interrupt here may lead to a second call
        if model:
            llama_cpp.llama_model_free(model)

    def number(self, name: str) -> int:
        """Read a number from the metadata by its name without the architecture ("block_count"); else 0."""
        text = self._value(f"{self._value('general.architecture')}.{name}")
        return int(text) if text.isdecimal() else 0

    def _value(self, key: str) -> str:
        """Read a value from the metadata as text; empty where there is none."""
        buffer = ctypes.create_string_buffer(256)
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
        texts = [
            llama_cpp.llama_vocab_get_text(self._vocab, token)
            for token in range(self.n_vocab)
            if llama_cpp.llama_vocab_get_attr(self._vocab, token) & added
        ]
        texts = [text for text in texts if len(text.decode("utf-8", "replace").strip("\u2581 \t\r\n")) > 1]
        return re.compile(b"|".join(map(re.escape, sorted(texts)))) if texts else None

    def _tokenize(self, text: bytes, special: bool) -> list[int]:
        capacity = len(text) + 1
        tokens = (llama_cpp.llama_token * capacity)()
        n = llama_cpp.llama_tokenize(self._vocab, text, len(text), tokens, capacity, False, special)
        return list(tokens[:n])

    def pieces(self) -> Iterator[tuple[int, bytes]]:
        """Yield (token, its bytes) for every token that a text can have: no control token, none empty."""
        buffer = ctypes.create_string_buffer(256)
        for token in range(self.n_vocab):
            is_control, is_end = llama_cpp.llama_vocab_is_control, llama_cpp.llama_vocab_is_eog
            n = llama_cpp.llama_token_to_piece(self._vocab, token, buffer, len(buffer), 0, False)
            if n > 0 and not is_control(self._vocab, token) and not is_end(self._vocab, token):
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
        text = llama_cpp.llama_vocab_get_text(self._vocab, token) if token >= 0 else None
        return text.decode("utf-8", "replace") if text else ""

    def adds_bos(self) -> bool:
        return bool(llama_cpp.llama_vocab_get_add_bos(self._vocab))


@cache
def _ggml() -> Any:
    """Open the ggml library that llama.cpp has loaded; None where this build has no separate one."""
    paths = sorted((Path(llama_cpp.__file__).parent / "lib").glob("libggml-base.*"))
    if not paths:
        return None
    library = ctypes.CDLL(str(paths[0]))
    tensor, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
    library.ggml_get_name.argtypes, library.ggml_get_name.restype = [tensor], text
    library.ggml_nbytes.argtypes, library.ggml_nbytes.restype = [tensor], size
    library.ggml_backend_tensor_get.argtypes = [tensor, text, size, size]
    library.ggml_backend_tensor_get.restype = None
    return library


class _StateTap:
    """Copies a node of the graph that llama.cpp computes, by the `callback` of a context; must live as long.

    node    the name of the node, after which nothing is computed; empty for none
    copied  its bytes
    """

    def __init__(self) -> None:
        # An exception in the callback would be ignored, and the graph computed on: `_on_node` raises none.
        self.callback = llama_cpp.ggml_backend_sched_eval_callback(self._on_node)
        self.node = self.copied = b""

    def _on_node(self, tensor: int, ask: bool, _: Any) -> bool:
        """Answer llama.cpp, which asks for each node whether to show it, and shows those it was asked to.

        False for a shown node ends the graph, or the part of it that one device computes; in a later part the
        first node is asked for, to end that too. With no node to copy, a single answer lets the graph run.
        """
        if not self.node:
            return not ask
        if self.copied:
            return ask
        ggml = _ggml()
        matches = bool(ggml.ggml_get_name(tensor) == self.node)
        if ask or not matches:
            return matches
        size = ggml.ggml_nbytes(tensor)
        buffer = ctypes.create_string_buffer(size)
        ggml.ggml_backend_tensor_get(tensor, buffer, 0, size)  # from a GPU's memory, too
        self.copied = buffer.raw
        return False


class Llama(Tokenizer):
    """One GGUF model with one multi-sequence context. Not for two threads at a time."""

    def __init__(self, path: Path, settings: EngineSettings) -> None:
        self._context: Any = None
        super().__init__(path, settings, weights=True)
        # More than context and items need, as it also bounds the outputs of a call.
        self.n_sequences = 2 * settings.width + 1
        self.seconds = 0.0  # inside llama_decode
        self._tap = _StateTap()
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = settings.n_ctx
        params.n_batch = params.n_ubatch = settings.n_batch
        params.n_seq_max = params.n_outputs_max = self.n_sequences
        params.n_threads = params.n_threads_batch = settings.n_threads
        params.kv_unified = True
        params.flash_attn_type = int(bool(settings.flash_attention))
        params.type_k = params.type_v = _CACHE_TYPES[settings.cache_type]
        params.no_perf = True
        params.op_offload = settings.n_gpu_layers != 0  # else a GPU build computes long batches on the GPU
        params.cb_eval = self._tap.callback
        try:
            self._check_architecture()
            self._context = llama_cpp.llama_init_from_model(self._model, params)
            if not self._context:
                raise ModelBroken(
                    f"{path}: llama.cpp can't make a context of {settings.n_ctx} tokens for this model; "
                    "choose a smaller --n-ctx, or a smaller model."
                )
        except BaseException:
            self.close()
            raise
        self._memory = llama_cpp.llama_get_memory(self._context)
        self._batch = llama_cpp.llama_batch_init(settings.n_batch, 0, self.n_sequences)

    def _check_architecture(self) -> None:
        """Raise ModelBroken for a model that can't judge."""
        vocabulary_type = llama_cpp.llama_vocab_type(self._vocab)
        spm = vocabulary_type == llama_cpp.LLAMA_VOCAB_TYPE_SPM
        unsupported = ("has_encoder", "is_recurrent", "is_hybrid", "is_diffusion")
        fault = ""
        if not (spm or vocabulary_type == llama_cpp.LLAMA_VOCAB_TYPE_BPE) or any(
            getattr(llama_cpp, f"llama_model_{name}")(self._model) for name in unsupported
        ):
            fault = "this is not a plain text decoder"
        # A reply is tokenized piece by piece, with no space between. llama.cpp's default is true.
        elif spm and self._value("tokenizer.ggml.add_space_prefix") != "false":
            fault = "this tokenizer puts a space before every text, as Llama 2's and Mistral 7B's do"
        elif self.number("pooling_type"):
            fault = "this is a model for embeddings"
        if fault:
            raise ModelBroken(
                f"{self.path}: {fault}, so it can't judge; choose a Qwen2.5 or Qwen3 instruct model."
            )

    def close(self) -> None:
        context, self._context = self._context, None
        if context:
            llama_cpp.llama_batch_free(self._batch)
            llama_cpp.llama_free(context)
        super().close()

    def clear(self, data: bool = False) -> None:
        """Remove all sequences; with `data` clear their cells too."""
        llama_cpp.llama_memory_clear(self._memory, data)

    def fork(self, source: int, target: int) -> None:
        """Let `target` share all cells of `source`; no cell is copied."""
        llama_cpp.llama_memory_seq_cp(self._memory, source, target, -1, -1)

    def drop(self, sequence: int, position: int = 0) -> None:
        """Remove a sequence from `position` on."""
        llama_cpp.llama_memory_seq_rm(self._memory, sequence, position, -1)

    def save(self, sequence: int) -> bytes:
        """Copy the state of one sequence, for `restore`."""
        size = llama_cpp.llama_state_seq_get_size(self._context, sequence)
        buffer = (ctypes.c_uint8 * size)()
        llama_cpp.llama_state_seq_get_data(self._context, buffer, size, sequence)
        return bytes(buffer)

    def restore(self, state: bytes, sequence: int) -> None:
        buffer = (ctypes.c_uint8 * len(state)).from_buffer_copy(state)
        if llama_cpp.llama_state_seq_set_data(self._context, buffer, len(state), sequence) != len(state):
            raise EngineError("llama.cpp could not restore a sequence")

    def decode(self, tokens: Sequence[BatchToken]) -> list[Logits]:
        """Decode `tokens` in batches of at most n_batch; return the logits of those that want them, in order.

        The arrays may be views of llama.cpp's memory, valid until the next call. Raises EngineError where a
        logit is not finite, which damaged weights may cause for some texts only.
        """
        size = even_size(len(tokens), self.settings.n_batch)
        if len(tokens) <= size:
            return self._decode_batch(tokens)
        batches = (tokens[start : start + size] for start in range(0, len(tokens), size))
        return [logits.copy() for batch in batches for logits in self._decode_batch(batch)]

    def states(self, tokens: Sequence[BatchToken], layer: int) -> npt.NDArray[np.float32]:
        """Return the residual stream after a layer for each of `tokens`: (tokens, width).

        No layer above it is computed, so the cells serve only `states` of this layer or lower ones.
        Raises EngineError where this build exposes no hidden states, or one is not finite.
        """
        if _ggml() is None:
            raise EngineError("this build of llama.cpp exposes no hidden states")
        node = f"l_out-{layer}"  # as the graphs of Qwen2, Qwen2.5 and Qwen3 name it
        size = even_size(len(tokens), self.settings.n_batch)
        states = []
        for start in range(0, len(tokens), size):
            batch = tokens[start : start + size]
            self._tap.node, self._tap.copied = node.encode(), b""
            try:
                self._decode_batch(batch)
            finally:
                self._tap.node = b""
            flat = np.frombuffer(self._tap.copied, np.float32)
            if not flat.size or flat.size % len(batch) or not np.isfinite(flat).all():
                raise EngineError(f"llama.cpp showed no hidden states at {node}")
            states.append(flat.reshape(len(batch), -1))
        return np.concatenate(states)

    def _decode_batch(self, tokens: Sequence[BatchToken]) -> list[Logits]:
        batch = self._batch
        batch.n_tokens = len(tokens)
        for i, row in enumerate(tokens):
            batch.token[i], batch.pos[i], batch.n_seq_id[i] = row.token, row.position, len(row.sequences)
            for k, sequence in enumerate(row.sequences):
                batch.seq_id[i][k] = sequence
            batch.logits[i] = row.needs_logits
        start = time.perf_counter()
        with _signals_held():
            status = llama_cpp.llama_decode(self._context, batch)
        self.seconds += time.perf_counter() - start
        if status != 0:
            raise EngineError(f"llama_decode returned {status} for {len(tokens)} tokens")
        logits = [
            np.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(self._context, i), shape=(self.n_vocab,))
            for i, row in enumerate(tokens)
            if row.needs_logits
        ]
        if not all(np.isfinite(array).all() for array in logits):
            raise EngineError("the model answers with NaN or infinity")
        return logits
