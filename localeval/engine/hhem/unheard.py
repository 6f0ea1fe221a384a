"""transformers and sentence-transformers, made to keep quiet."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def unheard() -> Iterator[None]:
    """No warning, log line or progress bar of these libraries inside the block; the settings are put back."""
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
