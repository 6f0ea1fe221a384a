"""Labelled samples: which are taken."""

from __future__ import annotations

import random
from collections.abc import Sequence

from localeval.errors import InputError
from localeval.runs.card import groups
from localeval.samples import Sample
from localeval.text.display import said

FEWEST, FEWEST_OF_EACH = 20, 5


def label(sample: Sample, where: str = "the samples") -> int:
    """1 or 0; a table's cell may hold it as text. Raises InputError for anything else."""
    extra = sample.model_extra or {}
    name = f"{where}: sample {said(sample.id, 40)}"
    if "label" not in extra:
        raise InputError(f"{name} has no column label; write 1 (good) or 0 (bad) there.")
    if extra["label"] not in (0, 1, "0", "1"):
        given = said(repr(extra["label"]), 40)
        raise InputError(f"{name} has the label {given}; write 1 (good) or 0 (bad).")
    return int(extra["label"])


def balanced(samples: Sequence[Sample], number: int, seed: int) -> list[Sample]:
    """`number` samples, half of each label, drawn with a seed; labels take turns."""
    generator = random.Random(seed)  # noqa: S311
    halves = []
    for wanted in (0, 1):
        half = [sample for sample in samples if label(sample) == wanted]
        generator.shuffle(half)
        halves.append(half[: number // 2])
    return [sample for pair in zip(*halves, strict=False) for sample in pair]


def chosen(samples: Sequence[Sample], number: int, seed: int, where: str) -> list[Sample]:
    """The samples to judge; all for 0.

    Raises InputError where they are too few to say anything, or those of a label are all of one group.
    """
    labels = [label(sample, where) for sample in samples]
    if len(labels) < FEWEST or min(labels.count(0), labels.count(1)) < FEWEST_OF_EACH:
        raise InputError(
            f"{where}: {labels.count(1)} samples with label 1 and {labels.count(0)} with label 0 are too few "
            f"to say anything; label at least {FEWEST}, {FEWEST_OF_EACH} of each."
        )
    if 0 < number < FEWEST:
        raise InputError(f"{where}: {number} samples are too few to say anything; take at least {FEWEST}.")
    taken = balanced(samples, number, seed) if number else list(samples)
    for wanted in (1, 0):
        groups.check([s for s in taken if label(s) == wanted], f"samples with label {wanted}", where)
    return taken
