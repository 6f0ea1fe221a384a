"""Hidden states: the residual behind a layer, copied while llama.cpp computes its graph."""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import llama_cpp
import numpy as np
import numpy.typing as npt

from localeval.engine.interface import EngineError

Array = npt.NDArray[np.float32]


@cache
def _ggml() -> Any:
    """Open the ggml library that llama.cpp itself has loaded; None where this build has none of its own."""
    found = sorted((Path(llama_cpp.__file__).parent / "lib").glob("libggml-base.*"))
    if not found:
        return None
    library = ctypes.CDLL(str(found[0]))
    tensor, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
    library.ggml_get_name.argtypes, library.ggml_get_name.restype = [tensor], text
    library.ggml_nbytes.argtypes, library.ggml_nbytes.restype = [tensor], size
    library.ggml_backend_tensor_get.argtypes = [tensor, text, size, size]
    library.ggml_backend_tensor_get.restype = None
    return library


class StateTap:
    """Copies the residual behind a layer, by the `callback` of one context, and lives as long as that."""

    def __init__(self) -> None:
        # An exception in here would be ignored, and the graph would go on: nothing in `_see` can raise.
        self.callback = llama_cpp.ggml_backend_sched_eval_callback(self._see)
        self._node = b""  # the name of the wanted one, or nothing
        self._found = b""

    def _see(self, tensor: int, ask: bool, _: Any) -> bool:
        """Answer llama.cpp: it asks of each node whether it is wanted, and shows the wanted one.

        False to a shown one ends the graph, or the part of it that one device computes: of a later part the
        first node is wanted, and ends it. Where no state is wanted, one answer lets all run whole.
        """
        if not self._node:
            return not ask
        if self._found:
            return ask
        ggml = _ggml()
        wanted = bool(ggml.ggml_get_name(tensor) == self._node)
        if ask or not wanted:
            return wanted
        size = ggml.ggml_nbytes(tensor)
        copied = ctypes.create_string_buffer(size)
        ggml.ggml_backend_tensor_get(tensor, copied, 0, size)  # from a GPU's memory, too
        self._found = copied.raw
        return False

    @contextmanager
    def reading(self, layer: int) -> Iterator[None]:
        """Copy the residual behind the layer of the tokens of the one call within; compute nothing above.

        That leaves cells whose upper layers are empty, and no logits. Raises EngineError where this build of
        llama.cpp does not show its graph.
        """
        if _ggml() is None:
            raise EngineError("this build of llama.cpp shows no hidden states")
        self._node = f"l_out-{layer}".encode()  # as the graphs of Qwen2, Qwen2.5 and Qwen3 name it
        self._found = b""
        try:
            yield
        finally:
            self._node = b""

    def states(self, tokens: int) -> Array:
        """Give what was copied since `reading` began, (tokens, width). Raises EngineError if less."""
        flat = np.frombuffer(self._found, np.float32)
        if not flat.size or flat.size % tokens or not np.isfinite(flat).all():
            raise EngineError(f"llama.cpp showed no hidden states at {self._node.decode()}")
        return flat.reshape(tokens, -1)


@contextmanager
def signals_held() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM wait until llama.cpp returns.

    Python answers a signal at its next line, which could be one of a callback, and what is raised there is
    lost: llama.cpp can't pass it on.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # no signal is answered here
        return
    came: list[int] = []
    signals = (signal.SIGINT, signal.SIGTERM)
    handlers = {one: handler for one in signals if callable(handler := signal.getsignal(one))}
    try:
        for one in handlers:
            signal.signal(one, lambda number, _: came.append(number))
        yield
    finally:
        for one, handler in handlers.items():
            signal.signal(one, handler)
        for number in came:
            signal.raise_signal(number)
