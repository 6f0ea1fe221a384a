"""What is said to the person in front of the screen."""

from __future__ import annotations

import sys
from contextlib import suppress

from localeval.text.display import printable_lines


def say(line: str) -> None:
    """Print a line on stderr, with nothing in it that a terminal would obey."""
    with suppress(OSError):  # what can't be said, as where a disk is full, stops no work
        print(printable_lines(line), file=sys.stderr, flush=True)
