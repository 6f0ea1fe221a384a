"""What stands at the head of the report: each metric's mean, how sure it is, and how the samples spread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from localeval.metrics.summary import Summary
from localeval.report.html.order import Standing

if TYPE_CHECKING:
    from localeval.runs.result import Disagreement, Result

BINS = 10
MOST_DISAGREEMENTS = 100
MOST_SKIPPED = 100

# The drawing of a distribution, in its own units.
LEFT, WIDTH, TOP, HEIGHT = 6, 240, 4, 56


class Bar(NamedTuple):
    """One tenth of the values: its place in the drawing, and what it says."""

    x: float
    y: float
    height: float
    samples: int
    says: str


@dataclass(frozen=True)
class Card:
    """One metric. `agreement` is what the judge card says of it: HTML where it is `Markup`; "" for none."""

    name: str
    summary: Summary
    lower: bool
    bars: list[Bar]
    agreement: str

    @property
    def counts(self) -> str:
        return ", ".join(str(bar.samples) for bar in self.bars)

    @staticmethod
    def x(value: float) -> float:
        """Where a value stands in the drawing."""
        return round(LEFT + WIDTH * value, 1)


@dataclass(frozen=True)
class RunCost:
    """What all judgements of a run took: seconds, and rows (tokens put through the model)."""

    seconds: float
    rows: int


def cards(result: Result, standing: Standing, agreement: Mapping[str, str]) -> list[Card]:
    return [
        Card(
            name,
            result[name],
            not result.higher_is_better.get(name, True),
            bars(standing.tenths[name]),
            agreement.get(name, ""),
        )
        for name in result.metrics
    ]


def bars(tenths: list[int]) -> list[Bar]:
    """The bars of a distribution, the highest as high as the drawing; one sample is still to be seen.

    >>> [bar.height for bar in bars([0, 2, 4])]
    [0.0, 28.0, 56.0]
    """
    most, step = max([*tenths, 1]), WIDTH / len(tenths)
    drawn = []
    for i, count in enumerate(tenths):
        height = round(max(1.5, HEIGHT * count / most), 1) if count else 0.0
        says = f"{i / len(tenths):.1f}–{(i + 1) / len(tenths):.1f}: {count}"
        drawn.append(Bar(round(LEFT + i * step + 1, 1), round(TOP + HEIGHT - height, 1), height, count, says))
    return drawn


def clock(seconds: float) -> str:
    """
    >>> clock(42.26), clock(61), clock(3 * 3600 + 125)
    ('42.3 s', '1:01 min', '3:02:05 h')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02} h" if hours else f"{minutes}:{rest:02} min"


def disagreements(result: Result) -> list[Disagreement]:
    """What judge and HHEM decide differently at the run's threshold; reads no record in vain."""
    if not {"faithfulness", "faithfulness_hhem"} <= set(result.metrics):
        return []
    return result.disagreements(result.signature.threshold)


def strangers(result: Result, standing: Standing) -> list[str]:
    """Labels of the models that know English alone, where samples are in another language."""
    told = []
    if standing.foreign and result.signature.embedder.get("languages") == ["en"]:
        told.append("foreign_embedder")
    if standing.foreign and result.signature.classifier:
        told.append("foreign_hhem")
    return told


def network(result: Result) -> str:
    """The label of what is known of the run's attempts to use the network."""
    if result.network.watched:
        return "network_refused"
    return "network_unwatched" if result.network.refused is None else "network_partly"
