"""The live line of a run: samples done, time left, means so far. It never shows a text of a sample."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from time import monotonic

from rich import progress as bars
from rich.console import Console
from rich.table import Column

from localeval.metrics.score import Score
from localeval.report.view import PlanView
from localeval.samples import Sample
from localeval.system.terminal import say
from localeval.text.display import printable

SECONDS_BETWEEN_LINES = 30.0
# Samples whose pace gives the time left: not all, as samples from the journal take no time.
LAST_SAMPLES = 10


class LiveLine:
    """Show the progress of a run on stderr: its plan, then a bar on a terminal, else a line now and then.

    This is a `Watch` for `evaluate`, and a progress callback where there are no scores.
    """

    def __init__(self, title: str, quiet: bool, clock: Callable[[], float] = monotonic) -> None:
        self._title = title
        self._clock = clock
        # stderr is None where the shell closed it, as 2>&- does.
        self._quiet = quiet or sys.stderr is None
        self.bar = _bar(title) if not self._quiet and sys.stderr.isatty() else None
        self._last_line = clock()
        # Cumulative sizes of the samples, from 0.
        self._sizes: list[int] = []
        # (time, cumulative size) of finished samples; the first one waits for the model's weights, too
        self._ends = deque[tuple[float, int]](maxlen=LAST_SAMPLES + 1)
        self._sums: dict[str, tuple[float, int]] = {}

    def on_plan(self, plan: PlanView) -> None:
        """Show the plan of the run; nothing is shown before this or the first sample."""
        for line in [] if self._quiet else plan.summary():
            say(line)
        self._draw(0, plan.samples, "")

    def on_sample(
        self, done: int, samples: Sequence[Sample], scores: Mapping[str, Score], workers: str = ""
    ) -> None:
        """Record and show that `done` of `samples` are judged, the last of them with these scores.

        workers  which workers judge now, such as "3 workers on 2 nodes"
        """
        self._sizes = self._sizes or [0, *accumulate(map(_size, samples))]
        self._ends.append((self._clock(), self._sizes[done]))
        for metric, score in scores.items():
            if score.value is not None:
                total, n = self._sums.get(metric, (0.0, 0))
                self._sums[metric] = (total + score.value, n + 1)
        self._draw(done, len(samples), workers)
        due = done == len(samples) or self._clock() - self._last_line >= SECONDS_BETWEEN_LINES
        if due and not self._quiet and self.bar is None:
            self._last_line = self._clock()
            line = _join(", ", f"{self._title}: {done}/{len(samples)}", workers, self.time_left())
            say(_join("; ", line, self.means()))

    def __call__(self, done: int, samples: Sequence[Sample]) -> None:
        self.on_sample(done, samples, {})

    def time_left(self) -> str:
        """Estimate the time left by the size and pace of the last samples; "" while it is unknown."""
        if len(self._ends) < 2:
            return ""
        (start, before), (now, after) = self._ends[0], self._ends[-1]
        seconds = round((now - start) * (self._sizes[-1] - after) / (after - before))
        minutes = f"{seconds // 3600}:{seconds // 60 % 60:02}" if seconds >= 3600 else f"{seconds // 60}"
        return f"about {minutes}:{seconds % 60:02} left"

    def means(self) -> str:
        """Return the mean value of each metric over the samples scored so far, as text."""
        return ", ".join(f"{printable(metric)} {total / n:.3f}" for metric, (total, n) in self._sums.items())

    def _draw(self, done: int, total: int, workers: str) -> None:
        if self.bar is not None:
            self.bar.start()
            left = _join(", ", workers, self.time_left())
            self.bar.update(self.bar.task_ids[0], completed=done, total=total, left=left, means=self.means())


def _bar(title: str) -> bars.Progress:
    def field(name: str, ratio: int | None = None) -> bars.TextColumn:
        column = Column(ratio=ratio, no_wrap=True)
        return bars.TextColumn(f"{{task.fields[{name}]}}", markup=False, table_column=column)

    bar = bars.Progress(
        bars.TextColumn(title),
        bars.BarColumn(None, table_column=Column(ratio=1)),
        bars.MofNCompleteColumn(),
        bars.TimeElapsedColumn(),
        field("left"),
        field("means", ratio=3),
        console=Console(stderr=True),
        expand=True,
    )
    bar.add_task("", total=None, left="", means="")
    return bar


@contextmanager
def live_line(quiet: bool = False, title: str = "Evaluating") -> Iterator[LiveLine]:
    """Show progress on stderr: a bar on a terminal, else a line now and then."""
    line = LiveLine(title, quiet)
    try:
        yield line
    finally:
        if line.bar is not None:
            line.bar.stop()


def _join(separator: str, *parts: str) -> str:
    """Join the parts that are not empty."""
    return separator.join(filter(None, parts))


def _size(sample: Sample) -> int:
    """Estimate the cost of a sample in characters, with a constant part for every sample."""
    return 200 + len(sample.response or "") * 2 + sum(map(len, sample.retrieved_contexts or []))
