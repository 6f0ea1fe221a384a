"""Hidden states: the residual stream after a layer, copied while llama.cpp computes its graph."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import llama_cpp
import numpy as np
import numpy.typing as npt

from localeval.engine.interface import EngineError

StateArray = npt.NDArray[np.float32]


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


class StateTap:
    """Copies the residual stream after a layer, by the `callback` of one context; must live as long."""

    def __init__(self) -> None:
        # An exception in the callback would be ignored, and the graph computed on: `_on_node` raises none.
        self.callback = llama_cpp.ggml_backend_sched_eval_callback(self._on_node)
        self._node_name = b""  # of the node to copy; empty for none
        self._copied = b""

    def _on_node(self, tensor: int, ask: bool, _: Any) -> bool:
        """Answer llama.cpp, which asks for each node whether to show it, and shows those it was asked to.

        False for a shown node ends the graph, or the part of it that one device computes; in a later part the
        first node is asked for, to end that too. With no node to copy, a single answer lets the graph run.
        """
        if not self._node_name:
            return not ask
        if self._copied:
            return ask
        ggml = _ggml()
        matches = bool(ggml.ggml_get_name(tensor) == self._node_name)
        if ask or not matches:
            return matches
        size = ggml.ggml_nbytes(tensor)
        buffer = ctypes.create_string_buffer(size)
        ggml.ggml_backend_tensor_get(tensor, buffer, 0, size)  # from a GPU's memory, too
        self._copied = buffer.raw
        return False

    @contextmanager
    def reading(self, layer: int) -> Iterator[None]:
        """Copy the residual stream after `layer` in the one decode call inside; compute no layer above it.

        The call leaves cells whose upper layers are empty, and no logits. Raises EngineError where this build
        of llama.cpp does not expose its graph.
        """
        if _ggml() is None:
            raise EngineError("this build of llama.cpp exposes no hidden states")
        self._node_name = f"l_out-{layer}".encode()  # as the graphs of Qwen2, Qwen2.5 and Qwen3 name it
        self._copied = b""
        try:
            yield
        finally:
            self._node_name = b""

    def states(self, tokens: int) -> StateArray:
        """Return the copied states, (tokens, width). Raises EngineError if any is missing or not finite."""
        flat = np.frombuffer(self._copied, np.float32)
        if not flat.size or flat.size % tokens or not np.isfinite(flat).all():
            raise EngineError(f"llama.cpp showed no hidden states at {self._node_name.decode()}")
        return flat.reshape(tokens, -1)
