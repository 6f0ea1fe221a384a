"""Messages to the user on stderr."""

from __future__ import annotations

import sys
from contextlib import suppress

from localeval.text.display import printable_lines


def say(line: str) -> None:
    """Print a line on stderr, without control characters that a terminal would obey."""
    if sys.stderr is None:  # the shell closed it, as 2>&- does; print would take stdout instead
        return
    with suppress(OSError):  # a message that can't be written, as on a full disk, stops no work
        print(printable_lines(line), file=sys.stderr, flush=True)
