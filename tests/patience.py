"""Times to hold against a bound on a slow machine too; bounds catch work that grows faster than its input."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

# Seconds that `_loop` took on the machine the tests' bounds were set on, with nothing beside it.
_USUAL = 0.05


@dataclass
class Took:
    """Processor time of a block, once it is done."""

    seconds: float = math.inf


@contextmanager
def timed() -> Iterator[Took]:
    """The time of a block, `as_usual`."""
    took, start = Took(), time.process_time()
    yield took
    took.seconds = as_usual(time.process_time() - start)


def as_usual(seconds: float) -> float:
    """What took so long here and now, on the usual machine: less where plain Python is slower than there.

    Below two seconds, under which no bound lies, it stands as it is: the machine is not asked.
    """
    return seconds if seconds < 2 else seconds / max(1.0, _loop() / _USUAL)


def _loop() -> float:
    """The median of five, as memory shared with a busy neighbour slows some and not others."""
    times = []
    for _ in range(5):
        start = time.process_time()
        total = 0
        for number in range(1_000_000):
            total += number
        times.append(time.process_time() - start)
    return sorted(times)[2]
