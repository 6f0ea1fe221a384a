"""Time bounds that hold on a slow machine too; they catch work that grows faster than its input."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

# Seconds that `_loop` took on the machine the tests' bounds were set on, with nothing beside it.
_USUAL = 0.05


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """The block takes at most so much processor time, of a machine as fast as that one."""
    start = time.process_time()
    yield
    took = time.process_time() - start
    assert took < allowed(seconds, took), f"{took:.1f} s"


def allowed(seconds: float, took: float) -> float:
    """The bound, or where that was passed as many times more as plain Python is slower here and now."""
    return seconds if took < seconds else seconds * max(1.0, _loop() / _USUAL)


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
