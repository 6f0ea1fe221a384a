"""Do two judges say the same? Agreement of yes and no, shift of the mean, and whether they are equivalent.

Only arithmetic. A shift is what the new judge gives less what the old one gave.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from localeval.statistics.groups import Values, numbered, sums_by_group

DRAWS = 2000
MIN_KAPPA = 0.6
"""Lower end of kappa's interval from which two judges agree well enough to replace one another."""

# With fewer pairs that differ, what was not seen is allowed for in the interval of the shift.
_MIN_DIFFERING = 10
# Of each one-sided test: 5 % error, and 90 % power.
_Z_ERROR = 1.645
_Z_POWER = 1.282
_EQUAL = 1e-9

Outcome = Literal["equivalent", "different", "too few"]


class Flips(NamedTuple):
    """The verdicts of two judges on the same samples, as numbers or as shares of all."""

    both_yes: float
    yes_to_no: float
    no_to_yes: float
    both_no: float


@dataclass(frozen=True)
class Drawn:
    """What two judges gave to samples that were drawn from a run, by strata.

    old, new   values, 0 to 1, one a sample
    strata     number of each sample's stratum
    sizes      number of the run's samples in each stratum, drawn or not
    groups     number of each sample's group; None where each is its own
    """

    old: Values
    new: Values
    strata: npt.NDArray[np.int64]
    sizes: Values
    groups: Sequence[int] | None = None

    @property
    def weights(self) -> Values:
        """What each sample counts, so that the sum over the samples stands for the run; their sum is 1."""
        drawn = np.bincount(self.strata, minlength=len(self.sizes)).astype(np.float64)
        present = np.where(drawn > 0, self.sizes, 0.0)
        of_one = present / np.maximum(drawn, 1) / present.sum()
        return np.asarray(of_one[self.strata], dtype=np.float64)

    @property
    def is_evenly_drawn(self) -> bool:
        """Whether each sample counts the same."""
        return bool(np.ptp(self.weights) < _EQUAL)

    @property
    def differences(self) -> Values:
        return self.new - self.old


def flips_at(drawn: Drawn, cut: float, weights: Values) -> Flips:
    """Add up the weights of the samples by both verdicts; a value of `cut` or more is a yes."""
    old = drawn.old >= cut
    new = drawn.new >= cut
    cells = (old & new, old & ~new, ~old & new, ~old & ~new)
    return Flips(*(float(weights[cell].sum()) for cell in cells))


def agreement(flips: Flips) -> float:
    """Return the share of the samples with the same verdict."""
    return (flips.both_yes + flips.both_no) / sum(flips)


def kappa(flips: Flips) -> float:
    """Return the agreement beyond chance (Cohen 1960), -1 to 1; nan where only one verdict occurs.

    >>> round(kappa(Flips(40, 5, 10, 45)), 3)
    0.7
    """
    chance = _chance(flips)
    if chance > 1 - _EQUAL:
        return math.nan
    return (agreement(flips) - chance) / (1 - chance)


def pabak(flips: Flips) -> float:
    """Return 2 x agreement - 1: kappa if yes and no were as frequent (Byrt et al. 1993).

    >>> round(pabak(Flips(40, 5, 10, 45)), 3)
    0.7
    """
    return 2 * agreement(flips) - 1


def _chance(flips: Flips) -> float:
    """Return the agreement of two judges with these shares of yes who know nothing of each other."""
    total = sum(flips)
    old_yes = (flips.both_yes + flips.yes_to_no) / total
    new_yes = (flips.both_yes + flips.no_to_yes) / total
    return old_yes * new_yes + (1 - old_yes) * (1 - new_yes)


def mcnemar_mid_p(yes_to_no: int, no_to_yes: int) -> float:
    """Return the two-sided mid-p of McNemar's test (Fagerland et al. 2013); 1 for as many flips either way.

    It is the exact p-value, which `intervals.paired_permutation_test` gives for such pairs, less the
    probability of just these flips.

    >>> round(mcnemar_mid_p(5, 10), 4)
    0.2101
    """
    from scipy.stats import binom  # type: ignore[import-untyped]

    number = yes_to_no + no_to_yes
    smaller = min(yes_to_no, no_to_yes)
    mid_p = 2 * float(binom.cdf(smaller, number, 0.5)) - float(binom.pmf(smaller, number, 0.5))
    return min(1.0, mid_p)


def kappa_interval(drawn: Drawn, cut: float, level: float = 0.95) -> tuple[float, float] | None:
    """Return the interval of the weighted kappa, or of `pabak` where only one verdict occurs.

    Samples are drawn again within their strata, or whole groups. Where all verdicts agree, no draw can
    differ: the interval then follows from the exact one of a share of 1 (Clopper and Pearson 1934). None for
    fewer than two samples or groups.
    """
    weights = drawn.weights
    flips = flips_at(drawn, cut, weights)
    number = len(drawn.old) if drawn.groups is None else len(set(drawn.groups))
    if number < 2:
        return None
    has_kappa = not math.isnan(kappa(flips))
    if agreement(flips) > 1 - _EQUAL:
        lowest_agreement = ((1 - level) / 2) ** (1 / number)
        chance = _chance(flips) if has_kappa else 0.5
        return (lowest_agreement - chance) / (1 - chance), 1.0
    values = _kappas(_redrawn(drawn, cut, weights))
    tail = 50 * (1 - level)
    low, high = np.nanpercentile(values, [tail, 100 - tail]).tolist()
    return low, high


def _kappas(tables: Values) -> Values:
    """Return `kappa` of each row of (rows, 4) shares; nan where only one verdict occurs."""
    both_yes, yes_to_no, no_to_yes, both_no = (tables / tables.sum(axis=1, keepdims=True)).T
    old_yes = both_yes + yes_to_no
    new_yes = both_yes + no_to_yes
    chance = old_yes * new_yes + (1 - old_yes) * (1 - new_yes)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = (both_yes + both_no - chance) / (1 - chance)
    return np.where(chance > 1 - _EQUAL, np.nan, values)


def _redrawn(drawn: Drawn, cut: float, weights: Values) -> Values:
    """Return the table of `flips_at` of each bootstrap draw: (draws, 4). Seeded."""
    cells = (2 * (drawn.old < cut) + (drawn.new < cut)).astype(np.int64)
    generator = np.random.default_rng(0)
    if drawn.groups is not None:
        by_sample = np.zeros((len(cells), 4))
        by_sample[np.arange(len(cells)), cells] = weights
        return _sums_of_groups(by_sample, drawn.groups, generator)
    tables = np.zeros((DRAWS, 4))
    for stratum in np.unique(drawn.strata):
        members = drawn.strata == stratum
        counts = np.bincount(cells[members], minlength=4)
        # The samples of a stratum count the same, so that only the number in each cell matters.
        drawn_counts = generator.multinomial(counts.sum(), counts / counts.sum(), size=DRAWS)
        tables += drawn_counts * weights[members][0]
    return tables


def _sums_of_groups(by_sample: Values, groups: Sequence[int], generator: np.random.Generator) -> Values:
    """Return the sum of the rows of as many groups, drawn with replacement, for each draw."""
    numbers, sizes = numbered(groups)
    number = len(sizes)
    by_group = np.zeros((number, by_sample.shape[1]))
    np.add.at(by_group, numbers, by_sample)
    times = generator.multinomial(number, np.full(number, 1 / number), size=DRAWS)
    return np.asarray(times @ by_group, dtype=np.float64)


class Shift(NamedTuple):
    """The weighted mean of the differences, for the whole run.

    spread  standard deviation of the differences in the run
    error   standard error of the mean
    degrees degrees of freedom of Student's t
    """

    mean: float
    spread: float
    error: float
    degrees: int

    def interval(self, level: float) -> tuple[float, float]:
        """Return the interval by Student's t."""
        from scipy.stats import t

        half = float(t.ppf((1 + level) / 2, self.degrees)) * self.error
        return self.mean - half, self.mean + half


def weighted_shift(drawn: Drawn) -> Shift | None:
    """Return the shift of the mean from the old values to the new ones; None below two samples or groups."""
    return _shift_of(drawn.differences, drawn)


def _shift_of(differences: Values, drawn: Drawn) -> Shift | None:
    number = len(differences)
    units = number if drawn.groups is None else len(set(drawn.groups))
    if units < 2:
        return None
    weights = drawn.weights
    mean = float(weights @ differences)
    spread = math.sqrt(float(weights @ (differences - mean) ** 2) * number / (number - 1))
    if drawn.groups is None:
        error = _stratified_error(differences, drawn, mean)
    else:
        sums, _ = sums_by_group(weights * (differences - mean), drawn.groups)
        error = math.sqrt(units / (units - 1) * float(sums @ sums))
    return Shift(mean, spread, error, units - 1)


def _stratified_error(differences: Values, drawn: Drawn, mean: float) -> float:
    """Return the standard error of the mean over strata whose sizes in the run are themselves a chance.

    A stratum of which one sample was drawn has the variance of all.
    """
    of_all = float(np.var(differences, ddof=1))
    present = [number for number in range(len(drawn.sizes)) if (drawn.strata == number).any()]
    total = float(sum(drawn.sizes[number] for number in present))
    variance = 0.0
    for number in present:
        of_stratum = differences[drawn.strata == number]
        share = drawn.sizes[number] / total
        within = float(np.var(of_stratum, ddof=1)) if len(of_stratum) > 1 else of_all
        variance += share**2 * within / len(of_stratum)
        variance += share * (float(of_stratum.mean()) - mean) ** 2 / total
    return math.sqrt(variance)


def shift_interval(drawn: Drawn, level: float) -> tuple[float, float] | None:
    """Return the interval of the shift; None below two samples or groups.

    Where fewer than ten samples differ in the stratum in which a sample counts most, a normal interval would
    be too narrow, and of no width where none does. Each end then takes one more sample there, which differs
    by as much as may be: by the largest difference and 1/k of it, of k that differ, or by 1 where none does.
    Where none differs at all, so many equal ones leave a share that was not seen (Clopper and Pearson 1934),
    which may differ by 1.
    """
    shift = weighted_shift(drawn)
    if shift is None:
        return None
    if not (np.abs(drawn.differences) > _EQUAL).any():
        unseen = 1 - ((1 - level) / 2) ** (1 / _effective_number(drawn))
        return -unseen, unseen
    stratum = int(drawn.strata[int(np.argmax(drawn.weights))])
    sizes = np.abs(drawn.differences[drawn.strata == stratum])
    number = int((sizes > _EQUAL).sum())
    if number >= _MIN_DIFFERING:
        return shift.interval(level)
    largest = min(1.0, float(sizes.max()) * (1 + 1 / number)) if number else 1.0
    low = _with_one_more(drawn, stratum, -largest).interval(level)[0]
    high = _with_one_more(drawn, stratum, largest).interval(level)[1]
    return low, high


def _effective_number(drawn: Drawn) -> float:
    """Return how many samples that count the same, or groups, would tell as much (Kish 1965)."""
    weights = drawn.weights
    if drawn.groups is not None:
        weights, _ = sums_by_group(weights, drawn.groups)
    return float(1 / (weights @ weights))


def _with_one_more(drawn: Drawn, stratum: int, difference: float) -> Shift:
    """Return the shift with one more sample in this stratum, of its own group."""
    groups = None if drawn.groups is None else [*drawn.groups, max(drawn.groups) + 1]
    more = Drawn(
        old=np.append(drawn.old, 0.0),
        new=np.append(drawn.new, difference),
        strata=np.append(drawn.strata, stratum),
        sizes=drawn.sizes,
        groups=groups,
    )
    shift = _shift_of(more.differences, more)
    assert shift is not None  # noqa: S101 (it has more samples than the one that has a shift)
    return shift


def samples_needed(spread: float, margin: float) -> int:
    """Return how many samples show two judges without a shift to be equivalent, within `margin`.

    spread  standard deviation of the differences. Each of the two one-sided tests has 90 % power.

    >>> samples_needed(0.2, 0.03)
    381
    """
    return math.ceil((_Z_ERROR + _Z_POWER) ** 2 * spread**2 / margin**2)


@dataclass(frozen=True)
class Equivalence:
    """Whether the new judge may replace the old one.

    outcome    equivalent: the 90 % interval of the shift lies within the margin (two one-sided tests at 5 %,
               Schuirmann 1987), and kappa's 95 % interval above 0.6. different: the 95 % interval of the
               shift leaves out 0, or kappa's lies below 0.6, and it is not equivalent. Else too few
    needed     number of samples that would probably tell, for "too few"; None where none would
    """

    outcome: Outcome
    needed: int | None = None


def equivalence(drawn: Drawn, cut: float, margin: float) -> Equivalence:
    """Decide by the shift and by kappa (PABAK where only one verdict occurs), at least two samples."""
    number = len(drawn.old)
    tested = shift_interval(drawn, 0.90)
    wide = shift_interval(drawn, 0.95)
    agreeing = kappa_interval(drawn, cut)
    if tested is None or wide is None or agreeing is None:
        return Equivalence("too few")
    is_within = -margin < tested[0] and tested[1] < margin
    if is_within and agreeing[0] >= MIN_KAPPA:
        return Equivalence("equivalent")
    if not is_within and not wide[0] <= 0 <= wide[1]:
        return Equivalence("different")
    if agreeing[1] < MIN_KAPPA:
        return Equivalence("different")
    needed = [number + 1]
    if not is_within:
        needed.append(_needed_for_shift(drawn, margin))
    if agreeing[0] < MIN_KAPPA:
        needed.append(_needed_for_kappa(drawn, cut, agreeing))
    return Equivalence("too few", max(needed))


def _needed_for_shift(drawn: Drawn, margin: float) -> int:
    """Return how many samples would show that the shift lies within the margin, drawn as these were."""
    shift = weighted_shift(drawn)
    if shift is None or shift.error == 0:
        # So many samples that all agree leave less than the margin for one in twenty that was not seen.
        return math.ceil(math.log(0.05) / math.log(1 - margin))
    # The standard error of one sample, which strata and groups make another than the spread.
    of_one = shift.error * math.sqrt(len(drawn.old))
    needed = samples_needed(of_one, margin)
    if needed > len(drawn.old):
        return needed
    # There are enough to tell no shift at all; the one that is seen lies near the margin.
    distance = max(abs(margin - abs(shift.mean)), margin / 10)
    return samples_needed(of_one, distance)


def _needed_for_kappa(drawn: Drawn, cut: float, interval: tuple[float, float]) -> int:
    """Return how many samples would bring the lower end of kappa's interval to the least that is needed."""
    flips = flips_at(drawn, cut, drawn.weights)
    value = kappa(flips)
    value = pabak(flips) if math.isnan(value) else value
    distance = max(value - MIN_KAPPA, 0.02)
    return math.ceil(len(drawn.old) * ((value - interval[0]) / distance) ** 2)
