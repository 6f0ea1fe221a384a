"""Agreement of two judges and equivalence of their means: known answers, and what must hold."""

import math

import numpy as np
import pytest

from localeval.statistics.equivalence import (
    Drawn,
    Flips,
    agreement,
    equivalence,
    flips_at,
    kappa,
    kappa_interval,
    mcnemar_mid_p,
    pabak,
    samples_needed,
    shift_interval,
    weighted_shift,
)

# Of 100 samples: 40 yes by both, 5 yes and then no, 10 no and then yes, 45 no by both.
KNOWN = Flips(40, 5, 10, 45)


def drawn_of(flips: Flips) -> Drawn:
    """Values of 0 and 1 with these verdicts, each sample of the run drawn."""
    counts = [int(count) for count in flips]
    old = np.repeat([1.0, 1.0, 0.0, 0.0], counts)
    new = np.repeat([1.0, 0.0, 1.0, 0.0], counts)
    return Drawn(old, new, np.zeros(len(old), dtype=np.int64), np.array([float(len(old))]))


def test_kappa_has_the_known_value() -> None:
    assert kappa(KNOWN) == pytest.approx(0.700, abs=1e-3)


def test_pabak_is_twice_the_agreement_less_one() -> None:
    assert agreement(KNOWN) == pytest.approx(0.85)
    assert pabak(KNOWN) == pytest.approx(0.70)


def test_mcnemar_has_the_known_mid_p() -> None:
    assert mcnemar_mid_p(5, 10) == pytest.approx(0.2101, abs=1e-4)


def test_the_mid_p_of_as_many_flips_either_way_is_one() -> None:
    assert mcnemar_mid_p(4, 4) == 1
    assert mcnemar_mid_p(0, 0) == 1


def test_the_shift_is_the_mean_of_the_differences() -> None:
    shift = weighted_shift(drawn_of(KNOWN))
    assert shift is not None
    assert shift.mean == pytest.approx(0.05)
    # Of 100 differences five are -1 and ten are 1: the variance is 0.15 - 0.05 ** 2, of one more in 99.
    assert shift.spread == pytest.approx(math.sqrt((0.15 - 0.0025) * 100 / 99))
    assert shift.error == pytest.approx(shift.spread / 10, rel=0.01)


def test_so_many_samples_are_needed_as_the_formula_says() -> None:
    assert samples_needed(0.2, 0.03) == 381


def test_the_bootstrap_interval_of_kappa_is_near_the_closed_form() -> None:
    interval = kappa_interval(drawn_of(KNOWN), 0.5)
    assert interval == pytest.approx((0.561, 0.839), abs=0.02)


def test_strata_that_were_drawn_unevenly_are_weighted_back() -> None:
    # Of a run with 900 yes and 100 no, 50 of each were drawn; 5 of the yes and 5 of the no flip.
    old = np.repeat([1.0, 0.0], 50)
    new = np.concatenate([np.repeat([0.0, 1.0], [5, 45]), np.repeat([1.0, 0.0], [5, 45])])
    drawn = Drawn(old, new, np.repeat([0, 1], 50), np.array([900.0, 100.0]))
    assert not drawn.is_evenly_drawn
    shift = weighted_shift(drawn)
    assert shift is not None
    # A tenth of either: 90 of 1,000 get a no, and 10 a yes.
    assert shift.mean == pytest.approx(-0.08)
    assert flips_at(drawn, 0.5, drawn.weights) == pytest.approx((0.81, 0.09, 0.01, 0.09))
    # Within the strata 0.3 ** 2 x 50 / 49 for 50 samples; between them for the 1,000 of the run.
    within = 0.09 * 50 / 49 / 50 * (0.9**2 + 0.1**2)
    between = (0.9 * 0.02**2 + 0.1 * 0.18**2) / 1000
    assert shift.error == pytest.approx(math.sqrt(within + between))


def test_a_stratum_of_which_nothing_was_drawn_counts_nothing() -> None:
    drawn = Drawn(np.array([1.0, 0.0]), np.array([1.0, 0.0]), np.array([1, 1]), np.array([10.0, 30.0]))
    assert drawn.weights.tolist() == [0.5, 0.5]


def test_groups_that_flip_together_widen_both_intervals() -> None:
    alone = drawn_of(KNOWN)
    grouped = Drawn(alone.old, alone.new, alone.strata, alone.sizes, [i // 5 for i in range(100)])
    assert width(kappa_interval(grouped, 0.5)) > 1.5 * width(kappa_interval(alone, 0.5))
    assert width(shift_interval(grouped, 0.9)) > 1.5 * width(shift_interval(alone, 0.9))


def width(interval: tuple[float, float] | None) -> float:
    assert interval is not None
    return interval[1] - interval[0]


def test_judges_that_agree_on_many_samples_are_equivalent() -> None:
    assert equivalence(drawn_of(Flips(300, 3, 3, 294)), 0.5, 0.03).outcome == "equivalent"


def test_a_few_samples_that_all_agree_are_too_few_and_the_number_that_would_do_is_told() -> None:
    found = equivalence(drawn_of(Flips(15, 0, 0, 15)), 0.5, 0.03)
    # 0.97 ** 99 is the first power of 0.97 below 0.05.
    assert (found.outcome, found.needed) == ("too few", 99)
    assert equivalence(drawn_of(Flips(49, 0, 0, 49)), 0.5, 0.03).outcome == "too few"
    assert equivalence(drawn_of(Flips(50, 0, 0, 49)), 0.5, 0.03).outcome == "equivalent"


def test_a_shift_that_is_not_chance_is_different() -> None:
    assert equivalence(drawn_of(Flips(100, 40, 5, 55)), 0.5, 0.03).outcome == "different"


def test_verdicts_that_agree_only_by_chance_are_different_though_the_mean_stays() -> None:
    assert equivalence(drawn_of(Flips(500, 500, 500, 500)), 0.5, 0.05).outcome == "different"


def test_a_shift_that_may_be_none_or_more_than_the_margin_is_too_few() -> None:
    found = equivalence(drawn_of(KNOWN), 0.5, 0.03)
    assert found.outcome == "too few"
    # The spread is 0.386: (2.927 x 0.386 / 0.03) ** 2 is about 1,418.
    assert found.needed == pytest.approx(1418, rel=0.02)


def test_where_only_one_verdict_occurs_pabak_stands_for_kappa() -> None:
    drawn = drawn_of(Flips(200, 0, 0, 0))
    assert math.isnan(kappa(flips_at(drawn, 0.5, drawn.weights)))
    # 0.025 ** (1 / 200) is the least agreement: 0.982.
    assert kappa_interval(drawn, 0.5) == pytest.approx((2 * 0.025 ** (1 / 200) - 1, 1.0))
    assert equivalence(drawn, 0.5, 0.03).outcome == "equivalent"


def test_one_sample_is_too_few_and_has_no_interval() -> None:
    drawn = drawn_of(Flips(1, 0, 0, 0))
    assert (kappa_interval(drawn, 0.5), shift_interval(drawn, 0.9)) == (None, None)
    assert equivalence(drawn, 0.5, 0.03).outcome == "too few"


def test_judges_with_a_shift_beyond_the_margin_are_seldom_called_equivalent() -> None:
    """The size of the test: at a true shift as large as the margin, at most 5 % and some for chance."""
    generator = np.random.default_rng(0)
    wrong = 0
    for _ in range(400):
        old = generator.integers(0, 2, 200).astype(float)
        new = np.where(generator.random(200) < 0.05, 1.0, old)
        # Of the half that says no, 5 % become a yes: 0.025.
        drawn = Drawn(old, new, np.zeros(200, dtype=np.int64), np.array([200.0]))
        wrong += equivalence(drawn, 0.5, 0.025).outcome == "equivalent"
    assert wrong / 400 < 0.08


def test_they_are_seldom_called_so_either_where_the_stratum_that_counts_most_has_few_flips() -> None:
    generator = np.random.default_rng(0)
    wrong = 0
    for _ in range(200):
        # Of 1,000 samples 100 have the rarer verdict, no; of either verdict 100 are drawn.
        old = np.repeat([1.0, 0.0], 100)
        flips = generator.random(200) < np.repeat([0.0444, 0.1], 100)
        new = np.where(flips, 1 - old, old)
        # The true shift is 0.1 x 0.1 - 0.9 x 0.0444 = -0.03.
        drawn = Drawn(old, new, np.repeat([0, 1], 100), np.array([900.0, 100.0]))
        wrong += equivalence(drawn, 0.5, 0.03).outcome == "equivalent"
    assert wrong / 200 < 0.08
