"""The live line of a run: samples done, and the time left."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic

from localeval.samples import Sample

SECONDS_BETWEEN_LINES = 30.0


@contextmanager
def live_line(
    quiet: bool = False, title: str = "Evaluating"
) -> Iterator[Callable[[int, Sequence[Sample]], None]]:
    """A progress callback for `evaluate`: a bar on a terminal's stderr, else a line now and then.

    Time left is told by the characters that are still to be read, not by the number of samples.
    """
    if quiet:
        yield _nothing
        return
    if not sys.stderr.isatty():
        yield _plain_lines(title)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn(title),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    started = monotonic()
    with Progress(*columns, console=Console(stderr=True), transient=False) as bar:
        task = bar.add_task("", total=None, left="")

        def show(done: int, samples: Sequence[Sample]) -> None:
            left = _left(done, samples, monotonic() - started)
            bar.update(task, completed=done, total=len(samples), left=f"about {_clock(left)} left")

        yield show


def _plain_lines(title: str) -> Callable[[int, Sequence[Sample]], None]:
    started = said = monotonic()

    def show(done: int, samples: Sequence[Sample]) -> None:
        nonlocal said
        now = monotonic()
        if done == len(samples) or now - said >= SECONDS_BETWEEN_LINES:
            said = now
            left = _clock(_left(done, samples, now - started))
            print(f"{title}: {done}/{len(samples)}, about {left} left", file=sys.stderr, flush=True)

    return show


def _nothing(done: int, samples: Sequence[Sample]) -> None:  # noqa: ARG001
    return None


def _left(done: int, samples: Sequence[Sample], seconds: float) -> float:
    sizes = [_size(sample) for sample in samples]
    return seconds * sum(sizes[done:]) / max(1, sum(sizes[:done]))


def _size(sample: Sample) -> int:
    """Roughly what a sample costs: its characters, and some for what every sample needs."""
    return 200 + len(sample.response or "") * 2 + sum(map(len, sample.retrieved_contexts or []))


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
