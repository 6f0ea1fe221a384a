"""Messages to the user on stderr, and the end of stdout."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from localeval.text.display import printable_lines


def say(line: str) -> None:
    """Print a line on stderr, without control characters that a terminal would obey."""
    if sys.stderr is None:  # the shell closed it, as 2>&- does; print would take stdout instead
        return
    with suppress(OSError):  # a message that can't be written, as on a full disk, stops no work
        print(printable_lines(line), file=sys.stderr, flush=True)


def drop_output() -> None:
    """Drop what stdout did not take; Python would try to write it again when it ends, with exit code 120."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def drop_lost_messages() -> None:
    """Drop what stderr did not take; Python would try to write it again when it ends, with exit code 120."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
