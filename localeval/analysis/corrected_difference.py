"""The difference of two runs' corrected numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from localeval.metrics.corrected import Corrected
from localeval.runs.result import Result


@dataclass(frozen=True)
class CorrectedDifference:
    """The corrected numbers of a metric in two runs; `difference` is b - a.

    interval  its 95 % interval, as of two numbers that are independent (Zou and Donner 2008). Runs of the
              same questions, or corrected by one card, err together, so that theirs would be narrower
    reason    why they are not compared; then all else is None
    """

    a: float | None = None
    b: float | None = None
    difference: float | None = None
    interval: tuple[float, float] | None = None
    reason: str = ""


def corrected_differences(first: Result, second: Result) -> dict[str, CorrectedDifference]:
    """Compare the corrected numbers of the metrics that have one in either run."""
    differences = {}
    for metric in dict.fromkeys([*first.corrected, *second.corrected]):
        differences[metric] = _difference(first.corrected.get(metric), second.corrected.get(metric))
    return differences


def _difference(a: Corrected | None, b: Corrected | None) -> CorrectedDifference:
    if a is None or b is None:
        side = "A" if b is None else "B"
        return CorrectedDifference(reason=f"only {side} has a corrected number")
    if (a.unit, a.number) != (b.unit, b.number):
        return CorrectedDifference(reason="A and B were corrected by labels of different kinds")
    if a.value is None or b.value is None or a.interval is None or b.interval is None:
        without = " and ".join(side for side, one in (("A", a), ("B", b)) if one.value is None)
        return CorrectedDifference(reason=f"{without} could not be corrected")
    difference = b.value - a.value
    below = math.hypot(b.value - b.interval[0], a.interval[1] - a.value)
    above = math.hypot(b.interval[1] - b.value, a.value - a.interval[0])
    interval = (difference - below, difference + above)
    return CorrectedDifference(a.value, b.value, difference, interval)


def corrected_notes(differences: Mapping[str, CorrectedDifference]) -> list[str]:
    """List the differences, a line each."""
    notes = []
    for metric, one in differences.items():
        if one.difference is None or one.interval is None:
            notes.append(f"{metric}, corrected: not compared, as {one.reason}")
            continue
        low, high = one.interval
        notes.append(
            f"{metric}, corrected: {one.a:.3f} in A, {one.b:.3f} in B, B - A {one.difference:+.3f} "
            f"(95 % {low:+.3f} to {high:+.3f}, as of independent runs)"
        )
    return notes
