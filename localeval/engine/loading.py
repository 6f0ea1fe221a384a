"""From a GGUF file to a llama.cpp model and context, with every refusal said in Python first."""

from __future__ import annotations

import collections
import ctypes
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

# Read by llama_cpp's own dependencies at import; nothing in this process asks a hub for anything.
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import llama_cpp

from localeval.engine.interface import EngineSettings
from localeval.engine.memory import at_least, available, check, needed
from localeval.engine.trial import try_first
from localeval.errors import InputError, ModelBroken
from localeval.text.display import said

LOG_LINES: collections.deque[str] = collections.deque(maxlen=20)
"""The last lines that llama.cpp logged, for the message of a failed load. Never sample text."""

_CACHE_TYPES = {"f16": llama_cpp.GGML_TYPE_F16, "q8_0": llama_cpp.GGML_TYPE_Q8_0}


class Loaded(NamedTuple):
    """Handles of llama.cpp; whoever asked for them frees them."""

    model: Any
    vocab: Any
    context: Any


def load(path: Path, settings: EngineSettings, n_sequences: int, on_node: Any = None) -> Loaded:
    """The model at `path` with one context of `n_sequences`; an unknown file is tried elsewhere before.

    `on_node` is called for the nodes of each graph (see `localeval.engine.states`).

    Raises ModelBroken when llama.cpp can't load the file, InputError when a setting does not suit the file,
    this build or this machine's memory.
    """
    _check_gpu(settings)
    check(path, at_least(path, settings), available())
    try_first(path, settings)
    free = available()  # weights that are mapped count as free when they are loaded
    with _log_kept():
        llama_cpp.llama_backend_init()
        model = _model(path, n_gpu_layers=settings.n_gpu_layers, use_mmap=settings.mmap)
        try:
            vocab = llama_cpp.llama_model_get_vocab(model)
            _check_model(path, model, vocab, settings)
            check(path, needed(path, settings, partial(number, model)), free)
            return Loaded(model, vocab, _context(path, model, settings, n_sequences, on_node))
        except BaseException:
            llama_cpp.llama_model_free(model)
            raise


def load_vocabulary(path: Path) -> tuple[Any, Any]:
    """(model, vocab) of the file at `path` without its weights. Raises ModelBroken as `load` does."""
    try_first(path)
    with _log_kept():
        llama_cpp.llama_backend_init()
        model = _model(path, vocab_only=True)
        return model, llama_cpp.llama_model_get_vocab(model)


def number(model: Any, name: str) -> int:
    """A number in the metadata, as `localeval.engine.memory.Numbers` has it."""
    text = _metadata(model, name)
    return int(text) if text.isdecimal() else 0


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def _keep_log(level: int, text: bytes, _: Any) -> None:
    if level >= 3 and text.strip():  # warnings and errors
        LOG_LINES.append(text.decode("utf-8", "replace").strip())


# llama.cpp logs to a C function that reads none of it. A Python one would be called while decoding, and
# an interrupt that arrives inside a ctypes callback is lost.
_UNHEARD = ctypes.cast(llama_cpp.llama_cpp._lib.llama_supports_mmap, llama_cpp.llama_log_callback)


@contextmanager
def _log_kept() -> Iterator[None]:
    """Keep what llama.cpp logs while a model loads; an interrupt, and SIGTERM, wait until then."""
    LOG_LINES.clear()
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    llama_cpp.llama_log_set(_keep_log, ctypes.c_void_p(0))
    try:
        yield
    finally:
        llama_cpp.llama_log_set(_UNHEARD, ctypes.c_void_p(0))
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


def _model(path: Path, **chosen: Any) -> Any:
    params = llama_cpp.llama_model_default_params()
    for name, value in chosen.items():
        setattr(params, name, value)
    model = llama_cpp.llama_model_load_from_file(os.fsencode(path), params)
    if not model:
        why = next((line for line in LOG_LINES if "error" in line.lower()), "no reason given")
        raise ModelBroken(
            f"{path}: llama.cpp can't load this model ({said(why)}); fetch it again, or choose another file."
        )
    return model


def _check_model(path: Path, model: Any, vocab: Any, settings: EngineSettings) -> None:
    def has(question: str) -> bool:
        return bool(getattr(llama_cpp, f"llama_model_{question}")(model))

    if (
        llama_cpp.llama_vocab_type(vocab)
        not in (llama_cpp.LLAMA_VOCAB_TYPE_BPE, llama_cpp.LLAMA_VOCAB_TYPE_SPM)
        or has("has_encoder")
        or has("is_recurrent")
        or has("is_hybrid")
        or has("is_diffusion")
    ):
        raise ModelBroken(
            f"{path}: this is not a plain text decoder, so it can't judge; "
            "choose a Qwen2.5 or Qwen3 instruct model."
        )
    if _adds_a_space(model, vocab):
        raise ModelBroken(
            f"{path}: this model's tokenizer puts a space before every text, as Llama 2's and Mistral 7B's "
            "do, so it can't judge; choose a Qwen2.5 or Qwen3 instruct model."
        )
    if _metadata(model, "pooling_type"):
        raise ModelBroken(
            f"{path}: this is a model for embeddings, so it can't judge; "
            "choose a Qwen2.5 or Qwen3 instruct model."
        )
    check_settings(path, model, settings)


def check_settings(path: Path, model: Any, settings: EngineSettings) -> None:
    """Raise InputError where the settings do not suit the model, or this build."""
    _check_gpu(settings)
    trained = number(model, "context_length")  # where the vocabulary alone is read, llama.cpp tells none
    if settings.n_ctx > trained:
        raise InputError(
            f"n_ctx is {settings.n_ctx}, but {path.name} was trained on {trained} tokens; "
            f"choose at most {trained}."
        )


def _adds_a_space(model: Any, vocab: Any) -> bool:
    """Whether no text is tokenized as it is: a reply is written piece by piece, and has no space between."""
    spm = llama_cpp.llama_vocab_type(vocab) == llama_cpp.LLAMA_VOCAB_TYPE_SPM
    return spm and _value(model, "tokenizer.ggml.add_space_prefix") != "false"  # llama.cpp's default is true


def _context(path: Path, model: Any, settings: EngineSettings, n_sequences: int, on_node: Any) -> Any:
    params = llama_cpp.llama_context_default_params()
    params.n_ctx = settings.n_ctx
    params.n_batch = params.n_ubatch = settings.n_batch
    params.n_seq_max = params.n_outputs_max = n_sequences
    params.n_threads = params.n_threads_batch = settings.n_threads
    params.kv_unified = True
    params.flash_attn_type = int(bool(settings.flash_attention))
    params.type_k = params.type_v = _CACHE_TYPES[settings.cache_type]
    params.no_perf = True
    if on_node is not None:
        params.cb_eval = on_node
    context = llama_cpp.llama_init_from_model(model, params)
    if not context:
        raise ModelBroken(
            f"{path}: llama.cpp can't make a context of {settings.n_ctx} tokens for this model; "
            "choose a smaller --n-ctx, or a smaller model."
        )
    return context


def _metadata(model: Any, name: str) -> str:
    """A value of the metadata as text, by its name behind the architecture; empty where there is none."""
    architecture = _value(model, "general.architecture")
    return _value(model, f"{architecture}.{name}")


def _value(model: Any, key: str) -> str:
    buffer = ctypes.create_string_buffer(256)
    found = llama_cpp.llama_model_meta_val_str(model, key.encode(), buffer, len(buffer))
    return buffer.value.decode("utf-8", "replace") if found >= 0 else ""


def _check_gpu(settings: EngineSettings) -> None:
    if settings.n_gpu_layers and not llama_cpp.llama_supports_gpu_offload():
        raise InputError(
            f"n_gpu_layers is {settings.n_gpu_layers}, but this llama-cpp-python has no GPU support; "
            "choose 0, or install a build with it (CMAKE_ARGS=-DGGML_CUDA=on)."
        )
