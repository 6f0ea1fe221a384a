"""Print how often the test of two runs shows a change, of as many samples as `localeval power` tells.

Run it as `.venv/bin/python scripts/power.py`; it takes some minutes. Each share must lie within 3 points of
80 %. tests/statistics/test_power.py holds a part of the repeats against that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from localeval.statistics.intervals import paired_permutation_test
from localeval.statistics.power import design_effect_by_variance, needed_flips, needed_pairs
from scripts.intervals import shares

REPEATS = 2000
GROUP_SIZE = 4
Values = npt.NDArray[np.float64]


class Kind(NamedTuple):
    """A kind of two runs.

    draw     (generator, number of pairs) -> their differences
    needed   number of pairs that are told to be needed
    grouped  whether `GROUP_SIZE` pairs in a row share a group
    """

    draw: Callable[[np.random.Generator, int], Values]
    needed: int
    grouped: bool = False


def flips(share: float, difference: float) -> Kind:
    """Scores of 0 and 1, of which this share differs: more of them rise than fall."""
    rising = (share + difference) / 2

    def draw(generator: np.random.Generator, n: int) -> Values:
        drawn = generator.random(n)
        return (drawn < rising).astype(float) - ((drawn >= rising) & (drawn < share))

    return Kind(draw, needed_flips(share, difference))


def normal(deviation: float, difference: float) -> Kind:
    """Differences of a normal distribution."""

    def draw(generator: np.random.Generator, n: int) -> Values:
        return generator.normal(difference, deviation, n)

    return Kind(draw, needed_pairs(deviation, difference))


def answered_again(share: float, mended: float) -> Kind:
    """Shares of statements: of the answers this share is another one, and this share has lost its faults."""

    def draw(generator: np.random.Generator, n: int) -> Values:
        before = shares(generator, n)
        after = np.where(generator.random(n) < share, shares(generator, n), before)
        after = np.where(generator.random(n) < mended, 1.0, after)
        return np.asarray(after - before)

    many = draw(np.random.default_rng(0), 1_000_000)
    return Kind(draw, needed_pairs(float(many.std()), float(many.mean())))


def grouped(deviation: float, difference: float) -> Kind:
    """Normal differences, half of whose variance is that of the group."""
    part = deviation / math.sqrt(2)

    def draw(generator: np.random.Generator, n: int) -> Values:
        of_groups = np.repeat(generator.normal(0, part, -(-n // GROUP_SIZE)), GROUP_SIZE)[:n]
        return np.asarray(difference + of_groups + generator.normal(0, part, n))

    many = draw(np.random.default_rng(0), 200_000)
    effect = design_effect_by_variance(many.tolist(), groups_of(len(many)))
    return Kind(draw, math.ceil(effect * needed_pairs(deviation, difference)), grouped=True)


def groups_of(pairs: int) -> list[int]:
    return [i // GROUP_SIZE for i in range(pairs)]


KINDS: dict[str, Callable[[], Kind]] = {
    "0 or 1, 5 % differ, all rise: 0.05": lambda: flips(0.05, 0.05),
    "0 or 1, 10 % differ: 0.05": lambda: flips(0.1, 0.05),
    "0 or 1, 30 % differ: 0.05": lambda: flips(0.3, 0.05),
    "0 or 1, 20 % differ: 0.1": lambda: flips(0.2, 0.1),
    "0 or 1, 20 % differ: 0.15": lambda: flips(0.2, 0.15),
    "0 or 1, 40 % differ: 0.2": lambda: flips(0.4, 0.2),
    "normal, spread 0.3: 0.1": lambda: normal(0.3, 0.1),
    "normal, spread 0.3: 0.2": lambda: normal(0.3, 0.2),
    "normal, spread 0.3: 0.05": lambda: normal(0.3, 0.05),
    "shares, every answer is another: 0.05": lambda: answered_again(1.0, 0.25),
    "shares, half of the answers are others: 0.05": lambda: answered_again(0.5, 0.25),
    "shares, a fifth of the answers are others: 0.02": lambda: answered_again(0.2, 0.1),
    "normal, groups of four, spread 0.3: 0.1": lambda: grouped(0.3, 0.1),
}


def simulated_power(kind: Kind, repeats: int = REPEATS) -> float:
    """Return how often the test shows the change, of as many pairs as are told."""
    groups = groups_of(kind.needed) if kind.grouped else None
    shown = 0
    for repeat in range(repeats):
        differences = kind.draw(np.random.default_rng([kind.needed, repeat]), kind.needed).tolist()
        shown += paired_permutation_test(differences, groups) < 0.05
    return shown / repeats


def main() -> None:
    print("| differences: change | samples told | power |\n|---|---|---|")
    for name, make in KINDS.items():
        kind = make()
        print(f"| {name} | {kind.needed} | {100 * simulated_power(kind):.1f} % |", flush=True)


if __name__ == "__main__":
    main()
