"""Print how often the intervals hold the mean, and how often the test of two runs gives a false alarm.

Run it as `.venv/bin/python scripts/intervals.py`; it takes some minutes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from localeval.metrics.statistics import difference_interval, mean_interval, paired_permutation_test

DRAWS = 2000
NUMBERS = (5, 8, 12, 20, 50, 200)
Values = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Values]


def zero_or_one(mean: float) -> Draw:
    return lambda generator, n: (generator.random(n) < mean).astype(float)


def shares(generator: np.random.Generator, n: int) -> Values:
    statements = generator.integers(1, 10, n)
    return np.asarray(generator.binomial(statements, generator.beta(4, 1, n)) / statements)


# Name -> how to draw scores, and their mean.
KINDS: dict[str, tuple[Draw, float]] = {
    "even, mean 1/2": (lambda generator, n: generator.random(n), 1 / 2),
    "crowded at 1, mean 8/9 (beta(8, 1))": (lambda generator, n: generator.beta(8, 1, n), 8 / 9),
    "crowded at 0, mean 1/11 (beta(0.3, 3))": (lambda generator, n: generator.beta(0.3, 3, n), 1 / 11),
    "shares of 1 to 9 statements, mean 4/5": (shares, 4 / 5),
    "0 or 1, mean 1/2": (zero_or_one(0.5), 0.5),
    "0 or 1, mean 4/5": (zero_or_one(0.8), 0.8),
    "0 or 1, mean 0.95": (zero_or_one(0.95), 0.95),
}


def coverage(draw: Draw, mean: float, n: int) -> float:
    hits = 0
    for repeat in range(DRAWS):
        low, high = mean_interval(draw(np.random.default_rng([n, repeat]), n).tolist()) or (1, 0)
        hits += low <= mean <= high
    return hits / DRAWS


def two_runs(draw: Draw, n: int) -> tuple[float, float]:
    """Return how often the interval of a difference holds 0, where there is one, and the false alarms."""
    hits = intervals = alarms = 0
    for repeat in range(DRAWS):
        generator = np.random.default_rng([n, repeat])
        differences = (draw(generator, n) - draw(generator, n)).tolist()
        interval = difference_interval(differences)
        if interval is not None:
            intervals += 1
            hits += interval[0] <= 0 <= interval[1]
        alarms += paired_permutation_test(differences) < 0.05
    return hits / intervals, alarms / DRAWS


def print_row(name: str, shares_of_draws: list[float]) -> None:
    print(f"| {name} | {' | '.join(f'{100 * share:.1f} %' for share in shares_of_draws)} |", flush=True)


def main() -> None:
    heading = f"| scores | {' | '.join(map(str, NUMBERS))} |\n|---|{'---|' * len(NUMBERS)}"
    print(f"The interval of a mean holds it\n\n{heading}")
    for name, (draw, mean) in KINDS.items():
        print_row(name, [coverage(draw, mean, n) for n in NUMBERS])
    rows = {name: [two_runs(draw, n) for n in NUMBERS] for name, (draw, _) in KINDS.items()}
    for place, title in enumerate(("The interval of a difference holds it", "False alarms of the test")):
        print(f"\n{title}\n\n{heading}")
        for name, row in rows.items():
            print_row(name, [of_n[place] for of_n in row])


if __name__ == "__main__":
    main()
