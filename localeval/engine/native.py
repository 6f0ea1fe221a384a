"""Import llama.cpp's bindings: no hub is contacted, nothing is printed, and no signal is lost in a call."""

from __future__ import annotations

import collections
import ctypes
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Dependencies of llama_cpp read it at import; nothing in this process may contact a hub.
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import llama_cpp

__all__ = ["llama_cpp", "loading_log", "signals_held"]

_WARNING_LEVEL = 3
_LINES: collections.deque[str] = collections.deque(maxlen=20)


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def _keep_line(level: int, text: bytes, _: Any) -> None:
    if level >= _WARNING_LEVEL and text.strip():
        _LINES.append(text.decode("utf-8", "replace").strip())


# Outside loading llama.cpp logs to a C function that ignores its arguments: a Python one would be called
# while decoding, and an interrupt that arrives inside a ctypes callback is lost.
_NO_LOG = ctypes.cast(llama_cpp.llama_cpp._lib.llama_supports_mmap, llama_cpp.llama_log_callback)


@contextmanager
def loading_log() -> Iterator[collections.deque[str]]:
    """Give the last warnings and errors that llama.cpp logs inside the block, for one that loads a model."""
    _LINES.clear()
    llama_cpp.llama_log_set(_keep_line, ctypes.c_void_p(0))
    try:
        yield _LINES
    finally:
        llama_cpp.llama_log_set(_NO_LOG, ctypes.c_void_p(0))


@contextmanager
def signals_held() -> Iterator[None]:
    """Delay Ctrl-C and SIGTERM until llama.cpp returns.

    Python handles a signal at its next line, which could be one of a callback, and an exception there is
    lost: llama.cpp can't pass it on.
    """
    # Signals are handled in the main thread.
    if threading.current_thread() is not threading.main_thread():
        yield
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
