"""Print how often the intervals hold the mean, and how often the test of two runs gives a false alarm.

Run it as `.venv/bin/python scripts/intervals.py`; it takes some minutes. tests/statistics/test_intervals.py
holds a part of the repeats against the promised shares.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from localeval.statistics.intervals import difference_interval, mean_interval, paired_permutation_test

REPEATS = 2000
NUMBERS = (5, 8, 12, 20, 50, 200)
Values = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Values]


def zero_or_one(mean: float) -> Draw:
    return lambda generator, n: (generator.random(n) < mean).astype(float)


def shares(generator: np.random.Generator, n: int) -> Values:
    """Draw shares of 1 to 9 statements: discrete, tied, and crowded at 1, as faithfulness is; mean 4/5."""
    statements = generator.integers(1, 10, n)
    return np.asarray(generator.binomial(statements, generator.beta(4, 1, n)) / statements)


class Kind(NamedTuple):
    """A kind of scores: how they are drawn, and their mean."""

    draw: Draw
    mean: float


KINDS = {
    "even, mean 1/2": Kind(lambda generator, n: generator.random(n), 1 / 2),
    "crowded at 1, mean 8/9 (beta(8, 1))": Kind(lambda generator, n: generator.beta(8, 1, n), 8 / 9),
    "crowded at 0, mean 1/11 (beta(0.3, 3))": Kind(lambda generator, n: generator.beta(0.3, 3, n), 1 / 11),
    "shares of 1 to 9 statements, mean 4/5": Kind(shares, 4 / 5),
    "0 or 1, mean 1/2": Kind(zero_or_one(0.5), 0.5),
    "0 or 1, mean 4/5": Kind(zero_or_one(0.8), 0.8),
    "0 or 1, mean 0.95": Kind(zero_or_one(0.95), 0.95),
}


def coverage(kind: Kind, n: int, repeats: int = REPEATS) -> float:
    """Return how often the interval of the mean of n scores holds it."""
    hits = 0
    for repeat in range(repeats):
        scores = kind.draw(np.random.default_rng([n, repeat]), n).tolist()
        interval = mean_interval(scores)
        if interval is not None and interval[0] <= kind.mean <= interval[1]:
            hits += 1
    return hits / repeats


class TwoRuns(NamedTuple):
    """How often the interval of a difference holds 0, where there is one, and how often the test errs."""

    coverage: float
    false_alarms: float


def two_runs(kind: Kind, n: int, repeats: int = REPEATS) -> TwoRuns:
    """Compare runs of n scores that are equal but for chance."""
    hits = 0
    intervals = 0
    alarms = 0
    for repeat in range(repeats):
        generator = np.random.default_rng([n, repeat])
        differences = (kind.draw(generator, n) - kind.draw(generator, n)).tolist()
        interval = difference_interval(differences)
        if interval is not None:
            intervals += 1
            hits += interval[0] <= 0 <= interval[1]
        alarms += paired_permutation_test(differences) < 0.05
    return TwoRuns(hits / intervals, alarms / repeats)


def print_row(name: str, shares_of_repeats: list[float]) -> None:
    print(f"| {name} | {' | '.join(f'{100 * share:.1f} %' for share in shares_of_repeats)} |", flush=True)


def main() -> None:
    heading = f"| scores | {' | '.join(map(str, NUMBERS))} |\n|---|{'---|' * len(NUMBERS)}"
    print(f"The interval of a mean holds it\n\n{heading}")
    for name, kind in KINDS.items():
        print_row(name, [coverage(kind, n) for n in NUMBERS])
    rows = {name: [two_runs(kind, n) for n in NUMBERS] for name, kind in KINDS.items()}
    print(f"\nThe interval of a difference holds it\n\n{heading}")
    for name, row in rows.items():
        print_row(name, [of_number.coverage for of_number in row])
    print(f"\nFalse alarms of the test\n\n{heading}")
    for name, row in rows.items():
        print_row(name, [of_number.false_alarms for of_number in row])


if __name__ == "__main__":
    main()
