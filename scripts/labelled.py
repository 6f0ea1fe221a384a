"""Labelled samples for the scripts: JSONL whose rows have a `label`, 1 (supported) or 0 (not)."""

from __future__ import annotations

import random
from collections.abc import Sequence

from localeval import Sample, read_samples
from localeval.agreement import auroc, auroc_interval


def balanced(file: str, number: int, seed: int) -> list[Sample]:
    """`number` samples, half of each label, drawn with a seed; labels take turns."""
    generator = random.Random(seed)  # noqa: S311
    halves = []
    for wanted in (0, 1):
        half = [sample for sample in read_samples(file) if label(sample) == wanted]
        generator.shuffle(half)
        halves.append(half[: number // 2])
    return [sample for pair in zip(*halves, strict=False) for sample in pair]


def label(sample: Sample) -> int:
    return int((sample.model_extra or {})["label"])


def told(scores: Sequence[float], labels: Sequence[int]) -> str:
    low, high = auroc_interval(scores, labels)
    return f"{auroc(scores, labels):.3f} ({low:.3f} to {high:.3f})"
