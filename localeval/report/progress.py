"""The live line of a run: samples done, rows a second, the time left, the means so far. Never a text."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import accumulate
from time import monotonic
from typing import TYPE_CHECKING, Any

from localeval.samples import Sample
from localeval.text.display import printable

if TYPE_CHECKING:
    from localeval.metrics import Score
    from localeval.runs.plan import Plan

SECONDS_BETWEEN_LINES = 30.0
WIDTH_WITHOUT_MEANS = 76  # title, bar, count, time taken, rows a second and time left


class Meter:
    """How far a run is. `clock` gives seconds; they count from `begin`, or from the first sample on."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._started = clock()
        self._plan: Plan | None = None
        self._upto: list[float] = []
        self._sums: dict[str, tuple[float, int]] = {}
        self.done = self.total = 0

    def begin(self, plan: Plan) -> None:
        """The plan of the run that starts now."""
        self._plan, self.total, self._started = plan, plan.samples, self._clock()

    def took(self, done: int, samples: Sequence[Sample], scores: Mapping[str, Score]) -> None:
        if not self._upto:
            self._upto = [0.0, *accumulate(self._sizes(samples))]
        self.done, self.total = done, len(samples)
        for metric, score in scores.items():
            total, n = self._sums.get(metric, (0.0, 0))
            new = (total, n) if score.value is None else (total + score.value, n + 1)
            self._sums[metric] = new

    def _sizes(self, samples: Sequence[Sample]) -> Sequence[float]:
        """What each sample costs: the rows of the plan, or a guess by its characters."""
        if self._plan is not None and len(self._plan.rows) == len(samples):
            return self._plan.rows
        return [_size(sample) for sample in samples]

    def seconds_left(self) -> float | None:
        """None while nothing is known. What is done tells the time of the rest, or the plan does before."""
        if not self._upto or not self._upto[self.done]:
            return self._plan.seconds if self._plan is not None else None
        spent = self._clock() - self._started
        return spent * (self._upto[-1] - self._upto[self.done]) / self._upto[self.done]

    def rows_a_second(self) -> float | None:
        """By the rows of the plan; None without one."""
        spent = self._clock() - self._started
        if self._plan is None or not self._plan.spent.rows or not self.done or not spent:
            return None
        share = self._upto[self.done] / (self._upto[-1] or 1)
        return self._plan.spent.rows * share / spent

    def means(self) -> str:
        """Of `value`, over the samples scored so far."""
        return ", ".join(
            f"{printable(metric)} {total / n:.3f}" for metric, (total, n) in self._sums.items() if n
        )

    def pace(self) -> str:
        """
        >>> Meter().pace()
        ''
        """
        rate, left = self.rows_a_second(), self.seconds_left()
        told = [f"{rate:.0f} rows/s"] if rate is not None else []
        told += [f"about {_clock(left)} left"] if left is not None else []
        return ", ".join(told)


class LiveLine:
    """A `Watch` for `evaluate`, and a progress callback where there are no scores. This one shows nothing."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.meter = Meter()

    def begin(self, plan: Plan) -> None:
        """What the run will take; nothing is shown before this or the first sample."""
        self.meter.begin(plan)
        self._show()

    def took(self, done: int, samples: Sequence[Sample], scores: Mapping[str, Score]) -> None:
        self.meter.took(done, samples, scores)
        self._show()

    def __call__(self, done: int, samples: Sequence[Sample]) -> None:
        self.took(done, samples, {})

    def close(self) -> None:
        """Leave the line as it is."""

    def _show(self) -> None:
        """Show where the run is."""


class _Told(LiveLine):
    """Says the plan before it begins."""

    def begin(self, plan: Plan) -> None:
        for line in plan.summary():
            _say(line)
        super().begin(plan)


class _PlainLines(_Told):
    """A line on stderr now and then."""

    def __init__(self, title: str) -> None:
        super().__init__(title)
        self._said = monotonic()

    def _show(self) -> None:
        meter, now = self.meter, monotonic()
        if meter.done and (meter.done == meter.total or now - self._said >= SECONDS_BETWEEN_LINES):
            self._said = now
            parts = (f"{self.title}: {meter.done}/{meter.total}", meter.pace())
            line = ", ".join(part for part in parts if part)
            means = meter.means()
            _say(f"{line}; {means}" if means else line)


class _Bar(_Told):
    """One line of a terminal, drawn again and again."""

    def __init__(self, title: str) -> None:
        super().__init__(title)
        self._bar: Any = None

    def _show(self) -> None:
        if self._bar is None:
            self._bar = self._opened()
        self._bar.update(
            self._task,
            completed=self.meter.done,
            total=self.meter.total or None,
            pace=self.meter.pace(),
            means=self._cut(self.meter.means()),
        )

    def _cut(self, means: str) -> str:
        """As much of the means as the line has room for behind what comes first."""
        room = max(0, self._bar.console.width - WIDTH_WITHOUT_MEANS)
        return means if len(means) <= room else means[: room - 1] + "…" if room > 1 else ""

    def _opened(self) -> Any:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(stderr=True)
        columns = [
            TextColumn(self.title),
            MofNCompleteColumn(),
            TextColumn("{task.fields[pace]}", markup=False),
            TextColumn("{task.fields[means]}", markup=False),
        ]
        if console.width >= WIDTH_WITHOUT_MEANS:  # on a narrower line the count and the time left come first
            columns[1:1] = [BarColumn(bar_width=console.width // 8)]
            columns[3:3] = [TimeElapsedColumn()]
        bar = Progress(*columns, console=console, transient=False)
        self._task = bar.add_task("", total=None, pace="", means="")
        bar.start()
        return bar

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()


@contextmanager
def live_line(quiet: bool = False, title: str = "Evaluating") -> Iterator[LiveLine]:
    """What shows a run: a bar on a terminal's stderr, else a line now and then.

    Time left is told by the rows of a plan, where `begin` gave one, else by the characters still to be read.
    """
    form: type[LiveLine] = _PlainLines
    if quiet or sys.stderr is None:  # which is None where the shell closed it, as 2>&- does
        form = LiveLine
    elif sys.stderr.isatty():
        form = _Bar
    line = form(title)
    try:
        yield line
    finally:
        line.close()


def _say(line: str) -> None:
    """Print it on stderr. Where that can't be written, the run goes on without it."""
    with suppress(OSError):
        print(line, file=sys.stderr, flush=True)


def _size(sample: Sample) -> int:
    """Roughly what a sample costs: its characters, and some for what every sample needs."""
    return 200 + len(sample.response or "") * 2 + sum(map(len, sample.retrieved_contexts or []))


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
