"""Print how often the intervals of corrected shares and means hold the true one, and how wide they are.

Run it as `.venv/bin/python scripts/coverage.py`; it takes half an hour. tests/statistics/test_coverage.py
holds a part of the repeats against the promised shares.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit  # type: ignore[import-untyped]

from localeval.statistics.corrected import (
    post_stratified,
    ppi_estimate,
    ppi_mean,
    ppi_variance,
    ppi_weight,
)
from localeval.statistics.intervals import mean_interval
from localeval.statistics.rates import JudgeCounts, corrected_share, jeffreys_draws, tail_points

REPEATS = 2000
Values = npt.NDArray[np.float64]
SHARES_OF_WRONG = (0.05, 0.2, 0.5)


class Cell(NamedTuple):
    """How often an interval holds the truth, and its mean width."""

    coverage: float
    width: float


class CardCell(NamedTuple):
    """A run that is corrected by a judge's rates on other labelled samples.

    half  whether half of the labelled samples are wrong; else as many as in the run
    """

    wrong: float
    sensitivity: float
    specificity: float
    samples: int
    labels: int
    half: bool


RATES = (0.7, 0.85, 0.95)
CARDS = {
    "50 labels, half of them wrong": (50, True),
    "100 labels, half of them wrong": (100, True),
    "500 labels, half of them wrong": (500, True),
    "50 labels, as many wrong as in the run": (50, False),
    "200 labels, as many wrong as in the run": (200, False),
}


def card_cells(labels: int, half: bool) -> list[CardCell]:
    return [
        CardCell(wrong, sensitivity, specificity, samples, labels, half)
        for wrong, sensitivity, specificity, samples in product(SHARES_OF_WRONG, RATES, RATES, (200, 500))
    ]


def draw_card(cell: CardCell, generator: np.random.Generator) -> tuple[int, JudgeCounts]:
    """Draw how many samples of the run are judged right, and what the judge makes of the labelled ones."""
    right = 1 - cell.wrong
    judged_right = right * cell.sensitivity + cell.wrong * (1 - cell.specificity)
    bad = cell.labels // 2 if cell.half else int(generator.binomial(cell.labels, cell.wrong))
    good = cell.labels - bad
    counts = JudgeCounts(
        int(generator.binomial(good, cell.sensitivity)), good,
        int(generator.binomial(bad, cell.specificity)), bad,
    )  # fmt: skip
    return int(generator.binomial(cell.samples, judged_right)), counts


def by_card(cell: CardCell, repeats: int = REPEATS) -> Cell:
    """Correct runs by the judge's rates."""
    intervals = []
    for repeat in range(repeats):
        rates = (round(100 * rate) for rate in (cell.wrong, cell.sensitivity, cell.specificity))
        generator = np.random.default_rng([cell.labels, cell.samples, *rates, repeat])
        judged_right, counts = draw_card(cell, generator)
        intervals.append(corrected_share(judged_right, cell.samples, counts).interval)
    return _measured(intervals, 1 - cell.wrong)


class LabelCell(NamedTuple):
    """A run of which some samples, drawn at random, have labels 0 and 1.

    auroc  of the judge's scores
    """

    auroc: float
    wrong: float
    labels: int
    samples: int = 500


LABEL_CELLS = [
    LabelCell(auroc, wrong, labels)
    for auroc, wrong, labels in product((0.75, 0.85, 0.95), SHARES_OF_WRONG, (50, 100, 150, 200))
]


def draw_run(cell: LabelCell, generator: np.random.Generator) -> tuple[Values, Values]:
    """Draw the label and the judge's score of each sample: a calibrated probability of being right."""
    labels = (generator.random(cell.samples) >= cell.wrong).astype(float)
    distance = np.sqrt(2) * ndtri(cell.auroc)
    marks = generator.normal(labels * distance, 1.0)
    logits = marks * distance - distance**2 / 2 + np.log((1 - cell.wrong) / cell.wrong)
    return labels, 1 / (1 + np.exp(-logits))


def by_labels(cell: LabelCell, repeats: int = REPEATS) -> Cell:
    """Correct runs by labels of a part of their samples."""
    intervals = []
    for repeat in range(repeats):
        labels, scores = draw_run(cell, _generator(cell, repeat))
        # The samples have no order, so the first ones are as good as any.
        n = cell.labels
        corrected = post_stratified(labels[:n].tolist(), scores[:n].tolist(), scores.tolist())
        intervals.append(corrected.interval)
    return _measured(intervals, 1 - cell.wrong)


def _generator(cell: LabelCell, repeat: int) -> np.random.Generator:
    return np.random.default_rng([cell.labels, round(100 * cell.auroc), round(100 * cell.wrong), repeat])


def alone(cell: LabelCell, repeats: int = REPEATS) -> Cell:
    """Take the labels of the same runs alone, without the judge."""
    intervals = []
    for repeat in range(repeats):
        labels, _ = draw_run(cell, _generator(cell, repeat))
        right = float(labels[: cell.labels].sum())
        intervals.append(tail_points(jeffreys_draws(right, cell.labels, seed=0)))
    return _measured(intervals, 1 - cell.wrong)


GRADED = ("even", "shares of 1 to 9 statements", "one in twelve below 1")


class GradedCell(NamedTuple):
    """A run of which some samples, drawn at random, have graded labels."""

    kind: str
    labels: int
    samples: int = 500


GRADED_CELLS = [GradedCell(kind, labels) for kind, labels in product(GRADED, (20, 50, 100, 200))]


def draw_graded(cell: GradedCell, generator: np.random.Generator, number: int) -> tuple[Values, Values]:
    """Draw labels, and scores of a judge that lie beside them."""
    if cell.kind == "even":
        labels = generator.random(number)
    elif cell.kind == "one in twelve below 1":
        labels = np.where(generator.random(number) < 1 / 12, generator.random(number), 1.0)
    else:
        statements = generator.integers(1, 10, number)
        labels = np.asarray(generator.binomial(statements, generator.beta(4, 0.7, number)) / statements)
    scores = np.clip(0.25 + 0.6 * labels + generator.normal(0, 0.2, number), 0, 1)
    return labels, np.asarray(scores)


TRUE_MEANS = {"even": 1 / 2, "shares of 1 to 9 statements": 4 / 4.7, "one in twelve below 1": 1 - 1 / 24}


def by_graded_labels(cell: GradedCell, repeats: int = REPEATS) -> Cell:
    intervals = []
    for labels, scores in _graded_runs(cell, repeats):
        n = cell.labels
        intervals.append(ppi_mean(labels[:n].tolist(), scores[:n].tolist(), scores[n:].tolist()).interval)
    return _measured(intervals, TRUE_MEANS[cell.kind])


def by_graded_labels_with_t(cell: GradedCell, repeats: int = REPEATS) -> Cell:
    """Take Student's t for the interval of the same runs, which localeval does not."""
    intervals = []
    for labels, scores in _graded_runs(cell, repeats):
        parts = labels[: cell.labels], scores[: cell.labels], scores[cell.labels :]
        weight = ppi_weight(*parts)
        estimate = ppi_estimate(*parts, weight)
        half = float(stdtrit(cell.labels - 1, 0.975)) * ppi_variance(*parts, weight) ** 0.5
        intervals.append((estimate - half, estimate + half))
    return _measured(intervals, TRUE_MEANS[cell.kind])


def graded_alone(cell: GradedCell, repeats: int = REPEATS) -> Cell:
    intervals = [
        mean_interval(labels[: cell.labels].tolist()) or (0.0, 1.0)
        for labels, _ in _graded_runs(cell, repeats)
    ]
    return _measured(intervals, TRUE_MEANS[cell.kind])


def _graded_runs(cell: GradedCell, repeats: int) -> Iterator[tuple[Values, Values]]:
    for repeat in range(repeats):
        yield draw_graded(cell, np.random.default_rng([cell.labels, repeat]), cell.samples)


def _measured(intervals: list[tuple[float, float]], truth: float) -> Cell:
    ends = np.asarray(intervals)
    holds = (ends[:, 0] <= truth) & (truth <= ends[:, 1])
    return Cell(float(holds.mean()), float((ends[:, 1] - ends[:, 0]).mean()))


def summary(cells: list[Cell]) -> str:
    """Return a row: the least, mean and largest coverage, the share of cells near 95 %, the mean width."""
    shares = np.asarray([cell.coverage for cell in cells])
    near = ((shares >= 0.93) & (shares <= 0.97)).mean()
    width = np.mean([cell.width for cell in cells])
    return (
        f"{len(cells)} | {shares.min():.3f} | {shares.mean():.3f} | {shares.max():.3f} | {100 * near:.0f} % "
        f"| {width:.3f} |"
    )


HEADING = "cells | least | mean | most | within 0.93 to 0.97 | mean width |\n|---|---|---|---|---|---|---|"


def print_coverage(repeats: int) -> None:
    print(f"A share that is corrected by a card\n\n| card | {HEADING}", flush=True)
    for name, (labels, half) in CARDS.items():
        print(
            f"| {name} | {summary([by_card(cell, repeats) for cell in card_cells(labels, half)])}", flush=True
        )
    print(f"\nA share that is corrected by labels\n\n| labels of 500 | {HEADING}")
    for labels in (50, 100, 150, 200):
        cells = [by_labels(cell, repeats) for cell in LABEL_CELLS if cell.labels == labels]
        print(f"| {labels} | {summary(cells)}", flush=True)
    print("\nA graded mean that is corrected by labels: coverage (mean width)\n")
    print("| labels of 500 | | corrected | with Student's t | labels alone |\n|---|---|---|---|---|")
    for cell in GRADED_CELLS:
        measured = [by_graded_labels(cell, repeats), by_graded_labels_with_t(cell, repeats)]
        measured.append(graded_alone(cell, repeats))
        columns = " | ".join(f"{one.coverage:.3f} ({one.width:.3f})" for one in measured)
        print(f"| {cell.labels} | {cell.kind} | {columns} |", flush=True)


def print_half_widths(repeats: int = 300) -> None:
    """Print the mean half-widths for a run of 500 of which a fifth is wrong."""
    print("\nHalf-width of the 95 % interval, for a run of 500 of which a fifth is wrong\n")
    numbers = (50, 73, 100, 250, 500)
    print(f"| by a card; sensitivity = specificity | {' | '.join(f'{n} a class' for n in numbers)} |")
    print(f"|---|{'---|' * len(numbers)}")
    for rate in (0.77, 0.85, 0.95):
        cards = [CardCell(0.2, rate, rate, 500, 2 * number, half=True) for number in numbers]
        widths = [by_card(card, repeats).width / 2 for card in cards]
        print(f"| {rate} | {' | '.join(f'±{width:.2f}' for width in widths)} |", flush=True)
    print("\n| by labels of the run | 50 | 100 | 200 |\n|---|---|---|---|")
    rows = {"labels alone": [alone(LabelCell(0.85, 0.2, n), repeats) for n in (50, 100, 200)]}
    for auroc in (0.75, 0.85, 0.95):
        cells = [by_labels(LabelCell(auroc, 0.2, n), repeats) for n in (50, 100, 200)]
        rows[f"with a judge of AUROC {auroc}"] = cells
    for name, row in rows.items():
        print(f"| {name} | {' | '.join(f'±{one.width / 2:.3f}' for one in row)} |", flush=True)


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else REPEATS
    print_half_widths()
    print()
    print_coverage(repeats)


if __name__ == "__main__":
    main()
