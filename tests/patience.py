"""Times to hold against a bound on a slow machine too; bounds catch work that grows faster than its input."""

import math
import time
import timeit
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

USUAL = 0.05  # seconds of a loop of plain Python on the machine that the tests' bounds were set on


@contextmanager
def timed() -> Iterator[Any]:
    """`seconds` of processor time of a block, `as_usual`."""
    took, start = SimpleNamespace(seconds=math.inf), time.process_time()
    yield took
    took.seconds = as_usual(time.process_time() - start)


def as_usual(seconds: float) -> float:
    """What took so long here and now, on the usual machine: less where plain Python is slower than there."""
    if seconds < 2:  # under which no bound lies
        return seconds
    loops = timeit.repeat("for n in range(1_000_000): t += n", "t = 0", time.process_time, repeat=5, number=1)
    return seconds / max(1.0, sorted(loops)[2] / USUAL)
