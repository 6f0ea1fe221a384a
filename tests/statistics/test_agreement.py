"""Agreement figures against pairs and fractions counted by hand, and against scikit-learn."""

import math
import random
import tracemalloc

import numpy as np
import pytest
from sklearn import metrics
from sklearn.model_selection import StratifiedGroupKFold

from localeval.statistics import agreement
from localeval.statistics.agreement import Bootstrap, Figure, bins, folds, mean

FIVE_AND_EIGHT = Bootstrap([1] * 5 + [0] * 8)
TEN_AND_TEN = Bootstrap([1] * 10 + [0] * 10)


def width(figure: Figure) -> float:
    return figure.high - figure.low


def unseen(groups: int) -> float:
    """The share that may be otherwise where all of so many groups are alike (Clopper and Pearson 1934)."""
    return float(1 - 0.025 ** (1 / groups))


def test_auroc_is_the_share_of_pairs_in_order() -> None:
    """Good are 0.9 and 0.3, bad 0.5 and 0.1: in order are 0.9 over both and 0.3 over 0.1, so 3 of 4."""
    assert Bootstrap([1, 1, 0, 0]).auroc([0.9, 0.3, 0.5, 0.1]).value == 3 / 4


def test_auroc_with_folds_counts_pairs_within_a_fold() -> None:
    """Fold 0 has 0.9 over 0.5, fold 1 has 0.3 over 0.1. The pair 0.3 < 0.5 lies across."""
    draws = Bootstrap([1, 1, 0, 0])
    assert draws.auroc([0.9, 0.3, 0.5, 0.1], folds=[0, 1, 0, 1]).value == 1


def test_auroc_of_one_label_is_undefined() -> None:
    assert math.isnan(Bootstrap([1, 1]).auroc([0.1, 0.2]).value)


def test_a_gain_over_equal_scores_is_nothing() -> None:
    scores = [0.9, 0.3, 0.5, 0.1] * 5
    gain = Bootstrap([1, 1, 0, 0] * 5).auroc(scores, less=scores)
    assert gain == pytest.approx((0, -unseen(10), unseen(10)))


def test_a_gain_is_paired() -> None:
    labels = [i % 2 for i in range(80)]
    scores = [((i * 37) % 80) / 80 + 0.2 * (i % 2) for i in range(80)]
    other_scores = [s + 0.01 * (-1) ** (i // 7) for i, s in enumerate(scores)]
    draws = Bootstrap(labels)
    assert width(draws.auroc(scores, less=other_scores)) < width(draws.auroc(scores)) / 2


@pytest.mark.parametrize("drawn", [False, True])
def test_figures_are_scikit_learns_on_the_samples_and_on_drawn_ones(drawn: bool) -> None:
    generator = random.Random(1)
    labels = [generator.randint(0, 1) for _ in range(60)]
    shares = [min(1, max(0, 0.3 * label + generator.random() * 0.7)) for label in labels]
    draws = Bootstrap(labels)
    if drawn:
        draws.counts = draws.counts[::-1]  # the first row is the figure itself
    figures = draws.decisions([int(share >= 0.5) for share in shares])
    figures |= draws.probabilities(shares) | {"auroc": draws.auroc(shares)}
    places = np.repeat(np.arange(60), draws.counts[0].astype(int))
    assert (len(set(places.tolist())) < 60) == drawn
    y, p = np.array(labels)[places], np.array(shares)[places]
    decisions = p >= 0.5
    expected = {
        "balanced_accuracy": metrics.balanced_accuracy_score(y, decisions),
        "kappa": metrics.cohen_kappa_score(y, decisions),
        "brier": metrics.brier_score_loss(y, p),
        "auroc": metrics.roc_auc_score(y, p),
    }
    for name in ("precision", "recall", "f1"):
        score = getattr(metrics, f"{name}_score")
        expected |= {name: score(y, decisions), f"{name}_0": score(y, decisions, pos_label=0)}
    assert {name: figures[name].value for name in expected} == pytest.approx(expected)


def test_no_draw_changes_the_balance_of_labels_nor_parts_a_group() -> None:
    labels, groups = [1, 1, 0, 0, 1, 0], ["a", "a", "b", "b", "c", "d"]
    assert (Bootstrap(labels).counts[:, [0, 1, 4]].sum(axis=1) == 3).all()
    grouped = Bootstrap(labels, groups).counts
    assert (grouped[:, 0] == grouped[:, 1]).all()
    assert (grouped[:, 0] + grouped[:, 4] == 2).all()  # two groups of label 1, drawn twice


def test_more_samples_narrow_an_interval_and_those_that_share_a_group_count_for_less() -> None:
    generator = random.Random(0)
    labels = [i % 2 for i in range(40)]
    scores = [generator.random() + 0.5 * label for label in labels]
    few, many = Bootstrap(labels).auroc(scores), Bootstrap(labels * 5).auroc(scores * 5)
    grouped = Bootstrap(labels * 5, [i % 40 for i in range(200)]).auroc(scores * 5)
    assert width(many) < width(few) / 2
    assert width(grouped) > 1.5 * width(many)


def assert_figure(figure: Figure, value: float, low: float, high: float) -> None:
    assert figure == pytest.approx((value, low, high), abs=1e-3)


def assert_no_interval(figure: Figure, value: float) -> None:
    assert figure.value == pytest.approx(value)
    assert math.isnan(figure.low)
    assert math.isnan(figure.high)


def test_ten_of_ten_have_the_exact_interval() -> None:
    """Clopper and Pearson 1934."""
    assert_figure(mean([1.0] * 10), 1, 0.692, 1)
    assert_figure(mean([1.0, 1.0]), 1, 1 - unseen(2), 1)


def test_ten_gains_of_nothing_have_the_exact_interval_on_both_sides() -> None:
    assert_figure(mean([0.0] * 10, lowest=-1), 0, -0.308, 0.308)


def test_five_groups_of_two_have_the_exact_interval_of_five() -> None:
    assert_figure(mean([1.0] * 10, [i // 2 for i in range(10)]), 1, 0.478, 1)


def test_pairs_all_in_order_have_the_exact_interval_of_the_rarer_label() -> None:
    """Five pairs are apart from one another."""
    assert_figure(FIVE_AND_EIGHT.auroc([0.9] * 5 + [0.1] * 8), 1, 0.478, 1)


def test_precision_without_a_mistake_has_the_exact_interval_of_what_was_found() -> None:
    """Of three: 0.292 to 1."""
    assert_figure(TEN_AND_TEN.decisions([1] * 3 + [0] * 17)["precision"], 1, 0.292, 1)


def test_precision_of_a_single_finding_has_no_interval() -> None:
    assert_no_interval(TEN_AND_TEN.decisions([1] + [0] * 19)["precision"], 1)


def test_kappa_of_decisions_that_are_all_right_has_the_exact_interval() -> None:
    """Between -1 and 1, so twice the share that was not seen."""
    assert_figure(FIVE_AND_EIGHT.decisions([1] * 5 + [0] * 8)["kappa"], 1, 1 - 2 * unseen(5), 1)


def test_f1_of_nothing_found_is_widened_as_a_hit_counts_twice() -> None:
    """By two of the five groups."""
    assert_figure(FIVE_AND_EIGHT.decisions([0] * 5 + [1] * 8)["f1"], 0, 0, unseen(2))


def test_the_skill_of_probabilities_that_are_all_right_has_the_exact_interval() -> None:
    """Of five good ones and eight bad ones a base rate has 5/13 x 8/13 off; the worst, 1, is 169/40 of it."""
    skill = FIVE_AND_EIGHT.probabilities([1] * 5 + [0] * 8)["skill"]
    assert_figure(skill, 1, 1 - unseen(5) * 169 / 40, 1)


def test_an_interval_is_from_the_2_5_to_the_97_5_percent_point_of_the_draws() -> None:
    """The value is 0, the draws are 0.0005 to 1."""
    assert_figure(FIVE_AND_EIGHT.figure(np.linspace(0, 1, 2001)), 0, 0.0255, 0.9750)


def test_one_group_tells_nothing_of_others() -> None:
    assert_no_interval(mean([1.0, 0.0, 1.0], ["a"] * 3), 2 / 3)


def test_a_group_that_each_draw_has_tells_nothing_of_others() -> None:
    """Group e is the only one with both labels."""
    draws = Bootstrap([1, 1, 0, 0, 1, 0], ["a", "b", "c", "d", "e", "e"])
    assert_no_interval(draws.auroc([0.9, 0.9, 0.1, 0.1, 0.9, 0.1]), 1)


def test_calibration_error_is_the_distance_between_the_probabilities_and_the_share_of_good_ones() -> None:
    # Five bins of two: their mean probability, and the share of good ones.
    expected = [(0.05, 0), (0.25, 0.5), (0.45, 0.5), (0.65, 0.5), (0.85, 1)]
    shares = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    labels = [0, 0, 1, 0, 0, 1, 1, 0, 1, 1]
    assert [(round(p, 2), good) for p, good, number in bins(shares, labels) if number == 2] == expected
    error = Bootstrap(labels).probabilities(shares)["calibration_error"]
    assert error.value == pytest.approx((0.05 + 0.25 + 0.05 + 0.15 + 0.15) / 5)
    skill = Bootstrap([1, 0, 0, 0] * 2).probabilities([0.25] * 8)["skill"]
    assert skill.value == pytest.approx(0)  # the base rate


def test_the_calibration_error_of_a_draw_is_that_of_its_samples() -> None:
    generator = np.random.default_rng(4)
    labels = generator.integers(0, 2, 43).tolist()
    shares = np.round(generator.random(43), 1)  # many ties
    draws = Bootstrap(labels, [i // 2 for i in range(43)])
    expected = []
    for times in draws.counts.astype(int):
        drawn = bins(np.repeat(shares, times), np.repeat(labels, times))
        expected.append(sum(number * abs(p - good) for p, good, number in drawn) / times.sum())
    low, high = np.percentile(expected[1:], [2.5, 97.5])
    figure = draws.probabilities(shares.tolist())["calibration_error"]
    assert figure == pytest.approx((expected[0], low, high))


def test_eight_thousand_labels_need_memory_for_their_draws_alone() -> None:
    """Eight bytes for each of 2,001 draws of a sample; a few tables of all pairs would need 500 MB."""
    labels = [i % 2 for i in range(8_000)]
    scores = np.random.default_rng(0).random(8_000).tolist()
    tracemalloc.start()
    try:
        draws = Bootstrap(labels)
        draws.auroc(scores)
        draws.probabilities(scores)
        agreement.cross_validated_decisions(scores, labels, [i % 5 for i in range(8_000)])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2 * 8 * 2001 * 8_000


def test_folds_are_those_of_scikit_learn() -> None:
    for number, groups in ((60, 60), (200, 50), (143, 70)):
        generator = random.Random(number)
        labels = [int(generator.random() < 0.4) for _ in range(number)]
        group_of = [generator.randrange(groups) if groups < number else i for i in range(number)]
        numbers = {group: place for place, group in enumerate(dict.fromkeys(group_of))}
        numbered = [numbers[group] for group in group_of]
        splitter = StratifiedGroupKFold(5, shuffle=True, random_state=3)
        expected = [0] * number
        for fold, (_, held_out) in enumerate(splitter.split(numbered, labels, numbered)):
            for i in held_out:
                expected[i] = fold
        assert folds(labels, group_of, seed=3) == expected


def test_folds_part_no_group_and_balance_the_labels() -> None:
    # Fifty groups, each with both labels.
    labels = [i % 2 for i in range(100)]
    groups = [i // 2 for i in range(100)]
    fold_of = folds(labels, groups, seed=1)
    assert fold_of is not None
    assert all(fold_of[i] == fold_of[i + 1] for i in range(0, 100, 2))
    for fold in range(5):
        fold_labels = [labels[i] for i in range(100) if fold_of[i] == fold]
        assert fold_labels.count(0) == fold_labels.count(1) > 5


def test_folds_are_drawn_by_the_seed() -> None:
    labels = [i % 2 for i in range(100)]
    groups = list(range(100))
    assert folds(labels, groups, seed=1) == folds(labels, groups, seed=1)
    assert folds(labels, groups, seed=1) != folds(labels, groups, seed=2)


def test_there_are_no_folds_without_two_groups_of_each_label() -> None:
    assert folds([1, 0] * 10, ["a"] * 20) is None
    assert folds([1] * 10 + [0] * 10, ["a"] * 10 + ["b"] * 10) is None
    assert folds([1, 1, 0, 0], ["a", "b", "c", "d"]) is not None


def test_there_are_no_folds_where_a_label_is_missing_outside_of_one() -> None:
    """A hundred bad ones take a fold for themselves, and both groups with good ones balance it."""
    sizes = {"w": (0, 100), "x": (10, 50), "y": (1, 20)}
    labels = []
    groups = []
    for name, (good, bad) in sizes.items():
        labels += [1] * good + [0] * bad
        groups += [name] * (good + bad)
    assert folds(labels, groups) is None


def test_a_threshold_comes_from_the_other_folds() -> None:
    """In fold 0 every score is 10 higher: the threshold of fold 1 calls all of them good."""
    scores = [10.1, 10.9, 10.2, 10.8, 0.1, 0.9, 0.2, 0.8]
    labels = [0, 1, 0, 1, 0, 1, 0, 1]
    decided = agreement.cross_validated_decisions(scores, labels, [0, 0, 0, 0, 1, 1, 1, 1])
    assert decided == [1, 1, 1, 1, 0, 0, 0, 0]


def test_a_threshold_lies_midway_between_two_scores() -> None:
    decided = agreement.cross_validated_decisions([10.1, 10.9, 10.2, 10.8], [0, 1, 0, 1], [0, 0, 1, 1])
    assert decided == [0, 1, 0, 1]


def test_of_equally_good_thresholds_the_lowest_counts() -> None:
    """At 1 and at 2.5 three of five good ones and three of five bad ones are right."""
    scores = [2, 3, 3, 3, 5, 0, 2, 4, 7, 7]
    labels = [1] * 5 + [0] * 5
    decided = agreement.cross_validated_decisions(scores * 2, labels * 2, [0] * 10 + [1] * 10)
    assert decided == [int(score >= 1) for score in scores * 2]
