"""Copy a node of the graph that llama.cpp computes, such as the hidden states after a layer."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from localeval.engine.native import llama_cpp


@cache
def _ggml() -> Any:
    """Open the ggml library that llama.cpp has loaded; None where this build has no separate one."""
    paths = sorted((Path(llama_cpp.__file__).parent / "lib").glob("libggml-base.*"))
    if not paths:
        return None
    library = ctypes.CDLL(str(paths[0]))
    library.ggml_get_name.argtypes = [ctypes.c_void_p]
    library.ggml_get_name.restype = ctypes.c_char_p
    library.ggml_nbytes.argtypes = [ctypes.c_void_p]
    library.ggml_nbytes.restype = ctypes.c_size_t
    library.ggml_backend_tensor_get.argtypes = [
        ctypes.c_void_p,  # tensor
        ctypes.c_char_p,  # buffer
        ctypes.c_size_t,  # offset
        ctypes.c_size_t,  # number of bytes
    ]
    library.ggml_backend_tensor_get.restype = None
    return library


def are_exposed() -> bool:
    """Return whether hidden states can be copied from this build of llama.cpp."""
    return _ggml() is not None


class StateTap:
    """Copies a node of the graph that llama.cpp computes.

    callback  to be the `cb_eval` of a context, which this object must outlive
    copied    the bytes of the node that was copied last; empty if the graph had none of its name
    """

    def __init__(self) -> None:
        # An exception in the callback would be ignored, and the graph computed on: `_on_node` raises none.
        self.callback = llama_cpp.ggml_backend_sched_eval_callback(self._on_node)
        self.copied = b""
        self._node = b""
        self._goes_on = False

    @contextmanager
    def copying(self, node: str, goes_on: bool = False) -> Iterator[None]:
        """Copy the node of this name when a graph is computed inside the block.

        Nothing after the node is computed, unless the graph `goes_on`.
        """
        self.copied = b""
        self._node = node.encode()
        self._goes_on = goes_on
        try:
            yield
        finally:
            self._node = b""

    def _on_node(self, tensor: int, ask: bool, _: Any) -> bool:
        """Answer the scheduler of llama.cpp, which calls this for each node.

        With `ask`, return whether to show the node once it is computed. Without, the node is one that was
        asked for: copy it, and return whether to compute on. False ends the graph, or the part of it that
        one device computes; in a later part the first node is asked for, to end that too. With no node to
        copy, a single answer lets the graph run.
        """
        if not self._node:
            return not ask
        if self.copied:
            return ask
        ggml = _ggml()
        matches = bool(ggml.ggml_get_name(tensor) == self._node)
        if ask or not matches:
            return matches
        size = ggml.ggml_nbytes(tensor)
        buffer = ctypes.create_string_buffer(size)
        # From a GPU's memory, too.
        ggml.ggml_backend_tensor_get(tensor, buffer, 0, size)
        self.copied = buffer.raw
        if self._goes_on:
            self._node = b""
        return self._goes_on
