"""torch and transformers, made to keep to a number of threads, to be silent and to stay off the network."""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_COUNTING = threading.RLock()


@contextmanager
def torch_threads(number: int) -> Iterator[None]:
    """Let torch compute with so many threads inside: another number gives other bits.

    The number is the whole process's: one block waits for another, and puts back what the host had set.
    """
    import torch

    with _COUNTING:
        before = torch.get_num_threads()
        torch.set_num_threads(number)
        try:
            yield
        finally:
            torch.set_num_threads(before)


@contextmanager
def silence_transformers() -> Iterator[None]:
    """Silence the warnings, log lines and progress bars of transformers and sentence-transformers inside.

    They are imported with the hub's offline switches set, which hold for the rest of the process.
    """
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from transformers.utils import logging as bars

        loggers = [logging.getLogger(name) for name in ("transformers", "sentence_transformers")]
        levels, shown = [logger.level for logger in loggers], bars.is_progress_bar_enabled()
        bars.disable_progress_bar()
        for logger in loggers:
            logger.setLevel(logging.CRITICAL)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
            if shown:
                bars.enable_progress_bar()
