"""Two people's labels of the same draw: how far they agree, and what one of them has to decide."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from localeval.analysis.labelling.draw import LabelDraw
from localeval.errors import InputError
from localeval.labels.file import Label, Labels
from localeval.statistics.agreement import Bootstrap, Figure

PEOPLE = 2


@dataclass(frozen=True)
class Person:
    """One person's labels.

    name    as their rows say, else the name of the file
    labels  by the ids of the rows
    """

    name: str
    labels: Mapping[str, Label]


@dataclass(frozen=True)
class TwoPeople:
    """Two people's labels.

    agreed  row id -> the label that both gave
    open    ids of the rows that one has to decide: those with different labels first, then those that one
            can't tell, then those that only one labelled
    both    number of rows with a label 1 or 0, or between, of both
    same    number of these with the same label
    kappa   Cohen's kappa of the labels 1 and 0; None where no row has such labels of both
    """

    people: tuple[Person, Person]
    agreed: Mapping[str, Label]
    open: Sequence[str]
    both: int
    same: int
    kappa: Figure | None


def person(labels: Labels, draw: LabelDraw, fallback: str) -> Person:
    """Return the labels of a file as one person's. Raises InputError as `LabelDraw.match`."""
    names = dict.fromkeys(label.by for label in labels.labels if label.by)
    return Person(" & ".join(names) or fallback, draw.match(labels))


def compare_people(one: Person, other: Person, draw: LabelDraw) -> TwoPeople:
    """Compare two people's labels. Raises InputError where they have no row in common."""
    common = [row_id for row_id in draw.items if row_id in one.labels and row_id in other.labels]
    if not common:
        raise InputError(f"{one.name} and {other.name} have no item in common; give labels of the same draw.")
    pairs = {row_id: (one.labels[row_id].value, other.labels[row_id].value) for row_id in common}
    same = [row_id for row_id, (a, b) in pairs.items() if a == b]
    # None is the label of a row that one can't tell.
    told = {row_id: pair for row_id, pair in pairs.items() if None not in pair}
    labelled = one.labels.keys() | other.labels.keys()
    single = [row_id for row_id in draw.items if row_id in labelled and row_id not in pairs]
    return TwoPeople(
        people=(one, other),
        agreed={row_id: one.labels[row_id] for row_id in same},
        open=[*_different(pairs), *single],
        both=len(told),
        same=sum(row_id in told for row_id in same),
        kappa=_kappa(told, draw),
    )


def _different(pairs: Mapping[str, tuple[float | None, float | None]]) -> list[str]:
    """Return the rows with different labels: those that both could tell, then those that one can't."""
    different = [row_id for row_id, (a, b) in pairs.items() if a != b]
    told = [row_id for row_id in different if None not in pairs[row_id]]
    untold = [row_id for row_id in different if None in pairs[row_id]]
    return [*told, *untold]


def _kappa(told: Mapping[str, tuple[float | None, float | None]], draw: LabelDraw) -> Figure | None:
    """Return Cohen's kappa of the rows that both labelled 1 or 0; statements of a sample are one group."""
    rows = [row_id for row_id, pair in told.items() if set(pair) <= {0.0, 1.0}]
    if not rows:
        return None
    ones = [int(told[row_id][0] or 0) for row_id in rows]
    others = [int(told[row_id][1] or 0) for row_id in rows]
    groups = [draw.items[row_id].result.sample.id for row_id in rows]
    return Bootstrap(ones, groups).decisions(others)["kappa"]


def agreement_text(two: TwoPeople) -> str:
    """Say how far two people agree, in a line."""
    one, other = two.people
    line = f"{one.name} and {other.name} agree on {two.same} of {two.both}"
    if two.kappa is not None:
        line += f"; Cohen's kappa {kappa_text(two.kappa)}"
    return f"{line}; to decide: {len(two.open)}"


def kappa_text(kappa: Figure) -> str:
    """Format kappa with its 95 % interval, where it has one; a dash where both gave one label only.

    >>> kappa_text(Figure(0.61, 0.3, 0.8)), kappa_text(Figure(0.61, float("nan"), float("nan")))
    ('0.61 (0.30 to 0.80)', '0.61')
    """
    if math.isnan(kappa.value):
        return "–"
    if math.isnan(kappa.low):
        return f"{kappa.value:.2f}"
    return f"{kappa.value:.2f} ({kappa.low:.2f} to {kappa.high:.2f})"
