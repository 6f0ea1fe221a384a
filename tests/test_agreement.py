"""Agreement figures against pairs and fractions counted by hand, and against scikit-learn."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localeval.runs.card.agreement import (
    Draws,
    Figure,
    auroc,
    auroc_gain,
    bins,
    both_outside,
    calibration_error,
    decided_across,
    decisions,
    folds,
    mean,
    probabilities,
)
from localeval.runs.card.agreement.draws import Values
from localeval.runs.card.agreement.folds import best_threshold

SCORES = st.lists(st.floats(0, 1), min_size=4, max_size=20)


def width(figure: Figure) -> float:
    return figure.high - figure.low


def unseen(groups: int) -> float:
    """The share that may be otherwise where all of so many groups are alike (Clopper and Pearson 1934)."""
    return float(1 - 0.025 ** (1 / groups))


def every_figure(
    scores: list[float], labels: list[int], groups: list[int] | None, parts: list[int]
) -> dict[str, Figure]:
    """All that a card shows, of one set of scores."""
    draws, rows = Draws(labels, groups, number=300), Draws([1] * len(labels), groups, number=300)
    return {
        "auroc": auroc(scores, labels, draws),
        "auroc within folds": auroc(scores, labels, draws, parts),
        "gain": auroc_gain(scores, scores[::-1], labels, draws),
        "mean": mean([round(score) for score in scores], rows),
        **decisions([int(score >= 0.5) for score in scores], labels, draws),
        **probabilities(scores, labels, draws),
    }


def test_auroc_is_the_share_of_pairs_in_order() -> None:
    # good 0.9, 0.3; bad 0.5, 0.1: in order are 0.9 over both and 0.3 over 0.1, so 3 of 4
    assert auroc([0.9, 0.3, 0.5, 0.1], [1, 1, 0, 0]).value == 0.75
    assert auroc([0.5, 0.5], [1, 0]).value == 0.5


def test_auroc_within_folds_counts_the_pairs_of_a_fold_alone() -> None:
    # fold 0: 0.9 over 0.5; fold 1: 0.3 over 0.1. The pair 0.3 < 0.5 lies across.
    assert auroc([0.9, 0.3, 0.5, 0.1], [1, 1, 0, 0], folds=[0, 1, 0, 1]).value == 1


def test_auroc_of_one_label_alone_is_not_a_number() -> None:
    assert math.isnan(auroc([0.1, 0.2], [1, 1]).value)


@given(SCORES)
def test_turning_the_scores_round_turns_the_auroc_round(scores: list[float]) -> None:
    labels, few = [i % 2 for i in range(len(scores))], 10
    draws = Draws(labels, number=few)
    assert auroc([-s for s in scores], labels, draws).value == pytest.approx(
        1 - auroc(scores, labels, draws).value
    )


@given(SCORES)
def test_the_interval_lies_in_the_range_and_is_the_same_each_time(scores: list[float]) -> None:
    labels = [i % 2 for i in range(len(scores))]
    found = auroc(scores, labels, Draws(labels, number=200))
    assert 0 <= found.low <= found.high <= 1
    assert found == auroc(scores, labels, Draws(labels, number=200))


def test_more_labels_make_a_narrower_interval() -> None:
    scores, labels = [0.9, 0.3, 0.5, 0.1, 0.6, 0.7], [1, 1, 0, 0, 1, 0]
    assert width(auroc(scores * 20, labels * 20)) < width(auroc(scores, labels)) / 2


def test_a_gain_over_equal_scores_is_nothing_and_may_be_either_way_elsewhere() -> None:
    scores, labels = [0.9, 0.3, 0.5, 0.1] * 5, [1, 1, 0, 0] * 5
    found = auroc_gain(scores, scores, labels)
    assert found == pytest.approx((0, -unseen(10), unseen(10)))


def test_a_paired_interval_is_narrower_than_that_of_either_figure() -> None:
    labels = [i % 2 for i in range(80)]
    scores = [((i * 37) % 80) / 80 + 0.2 * (i % 2) for i in range(80)]
    others = [s + 0.01 * (-1) ** (i // 7) for i, s in enumerate(scores)]
    assert width(auroc_gain(scores, others, labels)) < width(auroc(scores, labels)) / 2


def test_no_draw_changes_the_balance_of_labels_nor_parts_a_group() -> None:
    labels, groups = [1, 1, 0, 0, 1, 0], ["a", "a", "b", "b", "c", "d"]
    weights = Draws(labels, number=50).weights
    assert (weights[:, [0, 1, 4]].sum(axis=1) == 3).all()
    grouped = Draws(labels, groups, number=50).weights
    assert (grouped[:, 0] == grouped[:, 1]).all()
    assert (grouped[:, 2] == grouped[:, 3]).all()
    assert (grouped[:, 0] + grouped[:, 4] == 2).all()  # two groups of label 1, drawn twice


def test_samples_that_share_a_group_count_for_less() -> None:
    generator = random.Random(0)
    labels = [i % 2 for i in range(40)] * 5
    scores = [generator.random() + 0.5 * label for label in labels[:40]] * 5
    groups = [str(i % 40) for i in range(200)]
    assert width(auroc(scores, labels, Draws(labels, groups))) > 1.5 * width(auroc(scores, labels))


def test_decisions_are_the_fractions_counted_by_hand() -> None:
    # of 3 good ones 2 are said to be good; of 5 bad ones 1 is
    found = decisions([1, 1, 0, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0, 0])
    values = {name: figure.value for name, figure in found.items()}
    assert values["precision"] == values["recall"] == values["f1"] == pytest.approx(2 / 3)
    assert values["precision_0"] == values["recall_0"] == values["f1_0"] == pytest.approx(4 / 5)
    assert values["balanced_accuracy"] == pytest.approx((2 / 3 + 4 / 5) / 2)
    # agreed on 6 of 8; by chance 3/8 x 3/8 + 5/8 x 5/8 = 34/64
    assert values["kappa"] == pytest.approx((6 / 8 - 34 / 64) / (1 - 34 / 64))


def test_decisions_and_probabilities_are_scikit_learns() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    generator = random.Random(1)
    labels = [generator.randint(0, 1) for _ in range(60)]
    shares = [min(1, max(0, 0.3 * label + generator.random() * 0.7)) for label in labels]
    said = [int(share >= 0.5) for share in shares]
    found = decisions(said, labels) | probabilities(shares, labels) | {"auroc": auroc(shares, labels)}
    expected = {
        "balanced_accuracy": metrics.balanced_accuracy_score(labels, said),
        "precision": metrics.precision_score(labels, said),
        "recall": metrics.recall_score(labels, said),
        "f1": metrics.f1_score(labels, said),
        "precision_0": metrics.precision_score(labels, said, pos_label=0),
        "recall_0": metrics.recall_score(labels, said, pos_label=0),
        "f1_0": metrics.f1_score(labels, said, pos_label=0),
        "kappa": metrics.cohen_kappa_score(labels, said),
        "brier": metrics.brier_score_loss(labels, shares),
        "auroc": metrics.roc_auc_score(labels, shares),
    }
    assert {name: found[name].value for name in expected} == pytest.approx(expected)


def test_a_drawn_figure_is_what_it_is_on_the_drawn_samples() -> None:
    """The formula over weights says what the plain one says of samples written out."""

    class OneDraw(Draws):
        def figure(
            self, found: Values, groups: int | None = None, lowest: float = 0, highest: float = 1
        ) -> Figure:
            return Figure(*found[[0, 1, 1]])

    labels, shares = [1, 0, 1, 0, 1, 0], [0.9, 0.8, 0.6, 0.4, 0.3, 0.1]
    draws = OneDraw(labels, number=1, seed=3)
    times = draws.weights[1].astype(int)
    assert times.tolist() != [1] * 6
    again = [i for i, number in enumerate(times) for _ in range(number)]
    said, drawn = [int(s >= 0.5) for s in shares], [labels[i] for i in again]
    plain = decisions([said[i] for i in again], drawn)
    for name, figure in decisions(said, labels, draws).items():
        assert figure.low == pytest.approx(plain[name].value, nan_ok=True)
    plain = probabilities([shares[i] for i in again], drawn)
    for name, figure in probabilities(shares, labels, draws).items():
        assert figure.low == pytest.approx(plain[name].value)


def test_calibration_error_is_the_distance_between_said_and_found() -> None:
    # five bins of two: said 0.05 .. 0.85, found 0, 0.5, 0.5, 0.5, 1
    shares = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    labels = [0, 0, 1, 0, 0, 1, 1, 0, 1, 1]
    assert [(round(b.said, 2), b.found, b.number) for b in bins(shares, labels)] == [
        (0.05, 0, 2),
        (0.25, 0.5, 2),
        (0.45, 0.5, 2),
        (0.65, 0.5, 2),
        (0.85, 1, 2),
    ]
    assert calibration_error(shares, labels) == pytest.approx((0.05 + 0.25 + 0.05 + 0.15 + 0.15) / 5)


def plain_calibration_error(shares: list[float], labels: list[int]) -> float:
    """As it was before ties had a say: five equal slices of the samples by rising probability."""
    order = np.argsort(shares, kind="stable")
    parts = [part for part in np.array_split(order, 5) if len(part)]
    p, y = np.array(shares), np.array(labels, dtype=float)
    return sum(len(i) * abs(float(p[i].mean()) - float(y[i].mean())) for i in parts) / len(order)


def test_samples_of_one_probability_give_one_calibration_error_in_any_order() -> None:
    """Half of 40 at 0.5 are good: that is what 0.5 says."""
    by_label, in_turn = [0] * 20 + [1] * 20, [0, 1] * 20
    assert calibration_error([0.5] * 40, by_label) == calibration_error([0.5] * 40, in_turn) == 0
    assert [b.found for b in bins([0.5] * 40, by_label)] == [0.5] * 5
    found = [probabilities([0.5] * 40, labels)["calibration_error"] for labels in (by_label, in_turn)]
    assert found[0].value == found[1].value == 0
    # Of labels that are drawn 20 and 20 no draw says otherwise: the exact interval of 20 groups.
    assert found[0] == found[1] == pytest.approx((0, 0, unseen(20)))


@given(st.data())
def test_a_calibration_error_and_its_interval_know_no_order_of_the_rows(data: st.DataObject) -> None:
    coarse = st.tuples(st.sampled_from([0.0, 0.2, 0.5, 0.9]), st.integers(0, 1))
    rows = data.draw(st.lists(coarse, min_size=1, max_size=30))
    again = data.draw(st.permutations(rows))
    one, other = (calibration_error([p for p, _ in each], [y for _, y in each]) for each in (rows, again))
    assert one == pytest.approx(other, abs=1e-12)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40, unique=True), st.randoms(use_true_random=False))
def test_without_ties_a_calibration_error_is_that_of_five_equal_slices(
    shares: list[float], chance: random.Random
) -> None:
    labels = [chance.randint(0, 1) for _ in shares]
    assert calibration_error(shares, labels) == plain_calibration_error(shares, labels)


def test_always_saying_the_base_rate_has_no_skill() -> None:
    found = probabilities([0.25] * 8, [1, 0, 0, 0] * 2)
    assert found["skill"].value == pytest.approx(0)
    assert found["calibration_error"].value <= 0.5


def test_a_mean_of_pairs_is_their_share_with_ties_as_half() -> None:
    assert mean([1.0, 0.5, 0.0, 1.0]).value == 0.625


def test_intervals_that_have_a_width_are_those_that_were_published() -> None:
    """The numbers of the README's tables came from these percentiles."""
    scores, labels = [0.9, 0.3, 0.5, 0.1, 0.6, 0.7], [1, 1, 0, 0, 1, 0]
    assert auroc(scores, labels) == pytest.approx((2 / 3, 1 / 9, 1))
    assert mean([1, 0.5, 0, 1, 1], Draws([1] * 5, ["a", "a", "b", "c", "c"])) == (0.7, 0, 1)
    kappa = decisions([int(score > 0.55) for score in scores * 3], labels * 3)["kappa"]
    assert kappa == pytest.approx((1 / 3, -1 / 9, 7 / 9))
    found = probabilities(scores * 3, labels * 3)
    assert found["skill"] == pytest.approx((0.06, -0.313333333, 0.4))
    assert found["calibration_error"] == pytest.approx((0.216666667, 0.122083333, 0.416666667))


def test_a_mean_of_equal_values_has_the_exact_interval_of_its_groups() -> None:
    # Of 10 without a miss it is 0.692 to 1 (Clopper and Pearson 1934), and of 5 it is 0.478 to 1.
    assert mean([1.0] * 10) == pytest.approx((1, 0.692, 1), abs=1e-3)
    assert mean([1.0] * 5) == pytest.approx((1, 0.478, 1), abs=1e-3)
    assert mean([0.0] * 10) == pytest.approx((0, 0, 0.308), abs=1e-3)
    assert mean([0.9] * 10) == pytest.approx((0.9, 0.9 * 0.692, 0.9 + 0.1 * 0.308), abs=1e-3)
    assert mean([0.0] * 10, lowest=-1) == pytest.approx((0, -0.308, 0.308), abs=1e-3)
    groups = Draws([1] * 10, [i // 2 for i in range(10)])
    assert mean([1.0] * 10, groups) == pytest.approx((1, 0.478, 1), abs=1e-3)


def test_one_group_tells_nothing_of_others() -> None:
    for values in ([1.0, 1.0, 1.0], [1.0, 0.0, 1.0]):
        found = mean(values, Draws([1] * 3, ["a"] * 3))
        assert found.value == sum(values) / 3
        assert math.isnan(found.low)
        assert math.isnan(found.high)
    labels, groups = [1, 1, 1, 0, 0, 0], ["a", "a", "a", "b", "c", "d"]  # the good ones are of one
    assert math.isnan(auroc([0.9, 0.8, 0.3, 0.5, 0.4, 0.1], labels, Draws(labels, groups)).low)


def test_a_group_that_no_draw_leaves_out_is_not_taken_for_like_the_others() -> None:
    """Five good and five bad are right, a group with both labels is wrong: nothing to draw it against."""
    labels, groups = [1] * 5 + [0] * 5 + [1, 0], [*range(10), 10, 10]
    scores = [0.9] * 5 + [0.1] * 5 + [0.4, 0.6]
    found = auroc(scores, labels, Draws(labels, groups))
    assert found.value == 35 / 36
    assert math.isnan(found.low)


def test_scores_that_part_few_labels_without_a_mistake_are_not_known_to_do_so_always() -> None:
    scores, labels = [0.9] * 5 + [0.1] * 8, [1] * 5 + [0] * 8
    # Five pairs with no sample in common, all of them in order; of five, 0.478 to 1 is exact.
    assert auroc(scores, labels) == pytest.approx((1, 0.478, 1), abs=1e-3)
    assert auroc([0.5] * 13, labels) == pytest.approx((0.5, 0.239, 0.761), abs=1e-3)
    said = decisions([int(score > 0.5) for score in scores], labels)
    assert said["recall"] == pytest.approx((1, 1 - unseen(5), 1))
    assert said["recall_0"] == pytest.approx((1, 1 - unseen(8), 1))
    assert said["balanced_accuracy"] == said["f1"] == said["f1_0"] == said["precision"] == said["recall"]
    assert said["kappa"] == pytest.approx((1, 1 - 2 * unseen(5), 1))
    certain = probabilities([round(score) for score in scores], labels)
    assert certain["brier"] == pytest.approx((0, 0, unseen(5)))
    assert certain["skill"] == pytest.approx((1, 1 - unseen(5) / (5 / 13 * 8 / 13), 1))


def test_within_folds_only_pairs_of_one_fold_are_counted_for_the_exact_interval() -> None:
    scores, labels, folds = [0.9] * 6 + [0.1] * 6, [1] * 6 + [0] * 6, [0, 0, 0, 0, 1, 1] * 2
    assert auroc(scores, labels, folds=folds) == pytest.approx((1, 1 - unseen(6), 1))
    uneven = [0, 0, 0, 0, 0, 1, 0, 1, 1, 1, 1, 1]  # a pair in each
    assert auroc(scores, labels, folds=uneven) == pytest.approx((1, 1 - unseen(2), 1))


def test_a_precision_is_known_by_what_was_said_alone() -> None:
    """Of ten good ones three are found, without a mistake: exact is 0.292 to 1, as of three."""
    found = decisions([1] * 3 + [0] * 17, [1] * 10 + [0] * 10)["precision"]
    assert found == pytest.approx((1, 0.292, 1), abs=1e-3)
    assert math.isnan(decisions([1] + [0] * 19, [1] * 10 + [0] * 10)["precision"].low)


@pytest.mark.parametrize(("good", "bad"), [(10, 10), (30, 10), (10, 60)])
def test_where_nothing_was_found_f1_and_kappa_may_be_what_either_recall_allows(good: int, bad: int) -> None:
    """Said of none, label 1 may have been found in `unseen` of all its samples, and of all, label 0 may."""
    labels = [1] * good + [0] * bad
    for said in (0, 1):
        found = decisions([said] * len(labels), labels)
        kept = np.array([said] * len(labels)) != labels  # the recall that is 0 is that of these
        rise = unseen(int(kept.sum()))
        share = kept.mean()
        assert found["f1" if said == 0 else "f1_0"].high >= 2 * rise / (2 * rise + 1 - rise)
        kappa = 2 * share * (1 - share) * rise / (share * (1 - share * rise) + (1 - share) * share * rise)
        assert found["kappa"].high >= kappa


@given(st.data())
def test_no_interval_has_no_width(data: st.DataObject) -> None:
    labels = [i % 2 for i in range(data.draw(st.integers(4, 14)))]
    coarse = st.lists(st.sampled_from([0.0, 0.4, 0.5, 1.0]), min_size=len(labels), max_size=len(labels))
    few = st.lists(st.integers(0, 5), min_size=len(labels), max_size=len(labels))
    found = every_figure(data.draw(coarse), labels, data.draw(st.none() | few), data.draw(few))
    for name, figure in found.items():
        assert math.isnan(figure.low) == math.isnan(figure.high), name
        assert math.isnan(figure.low) or width(figure) > 1e-9, name


def test_folds_part_no_group_and_balance_the_labels() -> None:
    labels = [i % 2 for i in range(100)]
    groups = [f"{i // 2}" for i in range(100)]  # each with both labels
    found = folds(labels, groups, seed=1)
    assert found is not None
    assert sorted(set(found)) == [0, 1, 2, 3, 4]
    assert all(found[i] == found[i + 1] for i in range(0, 100, 2))
    for fold in range(5):
        own = [labels[i] for i in range(100) if found[i] == fold]
        assert own.count(0) == own.count(1) > 5
    assert found == folds(labels, groups, seed=1) != folds(labels, groups, seed=2)


def test_a_threshold_comes_from_the_other_folds() -> None:
    """In fold 0 every score is 10 higher: the threshold of fold 1 calls all of them good."""
    scores, labels = [10.1, 10.9, 10.2, 10.8, 0.1, 0.9, 0.2, 0.8], [0, 1, 0, 1, 0, 1, 0, 1]
    assert decided_across(scores, labels, [0, 0, 0, 0, 1, 1, 1, 1]) == [1, 1, 1, 1, 0, 0, 0, 0]
    assert decided_across(scores[4:], labels[4:], [0, 0, 1, 1]) == [0, 1, 0, 1]


def test_without_two_groups_of_each_label_there_are_no_folds() -> None:
    assert folds([1, 0] * 10, ["a"] * 20) is None
    assert folds([1] * 10 + [0] * 10, ["a"] * 10 + ["b"] * 10) is None
    assert folds([1, 0, 0, 0], ["a", "b", "c", "d"]) is None
    assert folds([1, 1, 0, 0], ["a", "b", "c", "d"]) is not None


def test_folds_of_which_one_has_all_of_a_label_are_none() -> None:
    """A hundred bad ones take a fold for themselves, and both groups with good ones balance it."""
    sizes = {"w": (0, 100), "x": (10, 50), "y": (1, 20)}
    labels, groups = [], []
    for name, (good, bad) in sizes.items():
        labels += [1] * good + [0] * bad
        groups += [name] * (good + bad)
    assert folds(labels, groups) is None
    assert not both_outside(labels, [int(name != "w") for name in groups])
    assert both_outside(labels, [int(name == "x") for name in groups])


def test_a_threshold_is_never_made_from_one_label() -> None:
    for labels in ([1, 1], [0, 0]):
        with pytest.raises(ValueError, match="both labels"):
            best_threshold([0.2, 0.8], labels)
