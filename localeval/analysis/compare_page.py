"""Several runs as one HTML page: a plot of the means by run, their differences, and what changed most.

The page loads nothing and sends nothing, and is whole without script; its words and styles are those of a
run's report.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from unicodedata import east_asian_width

from localeval.analysis.compare import shown_p, signed
from localeval.analysis.compare_runs import ChangedSample, MetricInRun, RunsComparison
from localeval.analysis.compare_slices import ComparedSlices
from localeval.report.html import environment
from localeval.report.text import number
from localeval.system.versions import own_version
from localeval.text.display import shorten
from localeval.text.script import script

MAX_RESPONSE = 2_000  # characters of a response that are shown
# The plot, in units of its drawing.
_LEFT = 40
_TOP = 12
_HEIGHT = 190
_SLOTS = ((6, 112), (14, 68), (math.inf, 30))  # up to so many runs, each has so much width
_MIN_NAMED_SLOT = 60  # a narrower slot shows the run's number alone
_CHARACTER = 6.6
_MIN_TENTHS = 2  # from end to end of the axis
_MAX_FINE_RANGE = 0.5  # of scores on an axis with a tick at each tenth
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Point:
    """A run on a plot.

    y, low, high  of the mean and the ends of its interval; None where there is none
    title         what a reader sees who points at it
    """

    number: int
    name: str
    x: float
    y: float | None
    low: float | None
    high: float | None
    tone: str
    title: str


@dataclass(frozen=True)
class Plot:
    """The means of one metric by run.

    ticks  (score as text, y) of each line of the axis
    line   the points with a mean, for a polyline
    """

    width: float
    height: float
    left: float
    bottom: float
    ticks: tuple[tuple[str, float], ...]
    points: tuple[Point, ...]
    line: str


def pieces(
    comparison: RunsComparison, title: str = "", slices: Sequence[ComparedSlices] = ()
) -> Iterator[str]:
    """Yield the page in parts.

    slices  of two runs, by the values of columns
    """
    changed = {
        metric: [_responses(one) for one in comparison.changed if one.metric == metric]
        for metric in comparison.metrics
    }
    page = environment(signed=signed, shown_p=shown_p).get_template("compare.html")
    return page.generate(
        comparison=comparison,
        title=title or ", ".join(comparison.names),
        language=_language(comparison),
        plots={metric: plot(comparison.names, row) for metric, row in comparison.metrics.items()},
        changed={metric: samples for metric, samples in changed.items() if samples},
        slices=slices,
        max_response=MAX_RESPONSE,
        version=own_version(),
    )


def _language(comparison: RunsComparison) -> str:
    """Return "zh" where most of the samples that changed are Chinese, else "en"."""
    texts = [f"{one.question} {one.runs[one.lowest].response}" for one in comparison.changed]
    chinese = sum(script(text) == "han" for text in texts)
    return "zh" if 2 * chinese > len(texts) else "en"


def _responses(one: ChangedSample) -> tuple[ChangedSample, list[int | None]]:
    """Return the sample, and for each run the position of an earlier run with the same response, or None."""
    first: dict[str, int] = {}
    same: list[int | None] = []
    for place, in_run in enumerate(one.runs):
        earlier = None if in_run.response is None else first.setdefault(in_run.response, place)
        same.append(None if earlier == place else earlier)
    return one, same


def plot(names: Sequence[str], row: Sequence[MetricInRun]) -> Plot:
    """Lay out the means of one metric and their intervals, by run in the order given."""
    slot = next(width for most, width in _SLOTS if len(row) <= most)
    bottom = _TOP + _HEIGHT
    ticks = _ticks(row)
    low = ticks[0]
    high = ticks[-1]

    def y(score: float) -> float:
        return round(bottom - _HEIGHT * (score - low) / (high - low), 1)

    points = []
    for place, (name, in_run) in enumerate(zip(names, row, strict=True)):
        mean = in_run.mean
        interval = mean.interval
        points.append(
            Point(
                number=place + 1,
                name=_fitting(name, slot) if slot >= _MIN_NAMED_SLOT else "",
                x=_LEFT + slot * (place + 0.5),
                y=None if mean.value is None else y(mean.value),
                low=None if interval is None else y(interval[0]),
                high=None if interval is None else y(interval[1]),
                tone=in_run.finding if in_run.finding in ("better", "worse") else "",
                title=f"{place + 1} {shorten(name, 80)}: {_mean_text(in_run)}",
            )
        )
    return Plot(
        width=_LEFT + slot * len(row) + 8,
        height=bottom + 40,
        left=_LEFT,
        bottom=bottom,
        ticks=tuple((f"{tick:.1f}", y(tick)) for tick in ticks),
        points=tuple(points),
        line=" ".join(f"{point.x},{point.y}" for point in points if point.y is not None),
    )


def _mean_text(in_run: MetricInRun) -> str:
    mean = in_run.mean
    if mean.interval is None:
        return number(mean.value)
    return f"{number(mean.value)} ({number(mean.interval[0])} to {number(mean.interval[1])})"


def _ticks(row: Sequence[MetricInRun]) -> list[float]:
    """Return the ticks of the axis, in tenths: around all intervals, and from end to end at least 0.2.

    They are 0.1 apart, or 0.2 where the intervals reach far.
    """
    ends: list[float] = []
    for in_run in row:
        if in_run.mean.value is not None:
            ends.append(in_run.mean.value)
        if in_run.mean.interval is not None:
            ends += in_run.mean.interval
    if not ends:
        ends = [0.0, 1.0]
    step = 1 if max(ends) - min(ends) <= _MAX_FINE_RANGE else 2
    first = math.floor(10 * min(ends) / step + _ROUNDING) * step
    last = math.ceil(10 * max(ends) / step - _ROUNDING) * step
    if last - first < _MIN_TENTHS:
        first = min(max(0, first - 1), 10 - _MIN_TENTHS)
        last = first + _MIN_TENTHS
    return [tenths / 10 for tenths in range(first, last + 1, step)]


def _fitting(name: str, width: float) -> str:
    """Shorten a name to a width; a wide character takes two columns.

    >>> _fitting("nightly-2026-11-28", 112), _fitting("修改之后的第二次运行", 68)
    ('nightly-2026-11…', '修改之…')
    """
    text = shorten(name, 200)
    columns = 0
    for end, character in enumerate(text):
        columns += 2 if east_asian_width(character) in "FW" else 1
        if columns * _CHARACTER > width - 4:
            return text[: max(1, end - 1)] + "…"
    return text
