"""torch, made to keep to a number of threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_COUNTING = threading.RLock()


@contextmanager
def on_threads(number: int) -> Iterator[None]:
    """torch computes with so many threads inside the block: another number gives other bits.

    The number is the whole process's, so that one block waits for another; what the host had set is put back.
    """
    import torch

    with _COUNTING:
        before = torch.get_num_threads()
        torch.set_num_threads(number)
        try:
            yield
        finally:
            torch.set_num_threads(before)
