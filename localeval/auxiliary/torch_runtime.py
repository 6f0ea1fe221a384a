"""Run torch and transformers with a fixed number of threads, silently and without the network."""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

# Each block below changes, and restores, what holds for the whole process.
_LOCK = threading.RLock()


@contextmanager
def torch_threads(number: int) -> Iterator[None]:
    """Let torch compute with `number` threads inside: another number gives other bits.

    The number holds for the whole process, so blocks run one at a time; the previous number is restored.
    """
    import torch

    with _LOCK:
        previous = torch.get_num_threads()
        torch.set_num_threads(number)
        try:
            yield
        finally:
            torch.set_num_threads(previous)


@contextmanager
def silence_transformers() -> Iterator[None]:
    """Silence the warnings, log lines and progress bars of transformers and sentence-transformers inside.

    Blocks run one at a time, blocks of `torch_threads` included. Also set the hub's offline switches, for the
    rest of the process.
    """
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")
    with _LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from transformers.utils import logging as progress

        loggers = [logging.getLogger(name) for name in ("transformers", "sentence_transformers")]
        levels = [logger.level for logger in loggers]
        enabled = progress.is_progress_bar_enabled()
        progress.disable_progress_bar()
        for logger in loggers:
            logger.setLevel(logging.CRITICAL)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
            if enabled:
                progress.enable_progress_bar()
