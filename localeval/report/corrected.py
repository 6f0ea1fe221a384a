"""Corrected numbers in words."""

from __future__ import annotations

from collections.abc import Iterator

from localeval.metrics.corrected import Corrected, Method, Number
from localeval.report.view import RunView

METHODS: dict[Method, str] = {
    "post-stratified": "post-stratified",
    "ppi": "PPI++",
    "rogan-gladen": "Rogan-Gladen",
}
NUMBERS: dict[Number, str] = {"share right": "right", "share wrong": "wrong", "mean": "on average"}


def corrected_lines(run: RunView) -> Iterator[str]:
    """Yield what a reader should know of each corrected number, some lines each."""
    for metric, corrected in run.corrected.items():
        yield f"{metric}, corrected: {corrected_text(corrected)}"
        yield f"  {assumption(corrected)}"
        for note in corrected_notes(corrected):
            yield f"  {note}"


def corrected_text(corrected: Corrected) -> str:
    """Return the number, its interval, and that of the judge alone; or why there is no number."""
    of_what = f"of the {corrected.unit}s {NUMBERS[corrected.number]}"
    judge = f"the judge alone: {corrected.raw:.3f}"
    if corrected.value is None:
        return f"no number, {corrected.reason}; {judge} {of_what}"
    interval = ""
    if corrected.interval is not None:
        low, high = corrected.interval
        interval = f" (95 % {low:.3f} to {high:.3f})"
    return f"{corrected.value:.3f} {of_what}{interval}; {judge}"


def assumption(corrected: Corrected) -> str:
    """Return what the number rests on, in one sentence."""
    by = f"By {corrected.labels} labels ({METHODS[corrected.method]})"
    if corrected.method == "rogan-gladen":
        return f"{by} of the card's samples; it assumes that the judge errs on this run as often as on those."
    whose = "as you say they are" if corrected.claimed_random else "as the file says they are"
    return f"{by} of this run; it assumes that these {corrected.unit}s were drawn at random, {whose}."


def corrected_notes(corrected: Corrected) -> Iterator[str]:
    """Yield the worth of the judge, and what may bias the number, a sentence each."""
    if corrected.effective_labels is not None:
        yield _worth(corrected)
    if corrected.cant_tell:
        yield f'Labels "can\'t tell", left out: {corrected.cant_tell}. They can bias the number.'
    if corrected.not_labelled:
        yield f"Drawn, and not labelled: {corrected.not_labelled}. They can bias the number, too."
    if corrected.unscored:
        yield f"Labels of samples without a score, left out: {corrected.unscored}."
    if corrected.groups is not None:
        yield (
            f"They are of {corrected.groups} groups, whose {corrected.unit}s are alike: "
            f"{corrected.design_effect:.2f} count as one."
        )


def _worth(corrected: Corrected) -> str:
    effective = round(corrected.effective_labels or 0)
    if corrected.method == "rogan-gladen":
        return f"{effective} labels of this run itself would be as precise."
    if not corrected.worth:
        return "The judge was worth no more labels."
    return f"The judge was worth {corrected.worth} more labels: {effective} alone would be as precise."
