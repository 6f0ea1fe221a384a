"""Agreement figures against pairs counted by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localeval.agreement import auroc, auroc_difference, auroc_interval

SCORES = st.lists(st.floats(0, 1), min_size=4, max_size=20)


def test_auroc_is_the_share_of_pairs_in_order() -> None:
    # good 0.9, 0.3; bad 0.5, 0.1: in order are 0.9 over both and 0.3 over 0.1, so 3 of 4
    assert auroc([0.9, 0.3, 0.5, 0.1], [1, 1, 0, 0]) == 0.75
    assert auroc([0.5, 0.5], [1, 0]) == 0.5


def test_auroc_of_one_label_alone_is_not_a_number() -> None:
    assert math.isnan(auroc([0.1, 0.2], [1, 1]))


@given(SCORES)
def test_turning_the_scores_round_turns_the_auroc_round(scores: list[float]) -> None:
    labels = [i % 2 for i in range(len(scores))]
    assert auroc([-s for s in scores], labels) == pytest.approx(1 - auroc(scores, labels))


@given(SCORES)
def test_the_interval_holds_the_figure_or_touches_it_and_is_the_same_each_time(scores: list[float]) -> None:
    labels = [i % 2 for i in range(len(scores))]
    low, high = auroc_interval(scores, labels, draws=200)
    assert 0 <= low <= high <= 1
    assert (low, high) == auroc_interval(scores, labels, draws=200)


def test_more_labels_make_a_narrower_interval() -> None:
    scores, labels = [0.9, 0.3, 0.5, 0.1, 0.6, 0.7], [1, 1, 0, 0, 1, 0]
    low, high = auroc_interval(scores, labels)
    low_of_many, high_of_many = auroc_interval(scores * 20, labels * 20)
    assert high_of_many - low_of_many < (high - low) / 2


def test_a_difference_between_equal_scores_is_nothing_and_has_no_width() -> None:
    scores, labels = [0.9, 0.3, 0.5, 0.1], [1, 1, 0, 0]
    assert auroc_difference(scores, scores, labels) == (0, 0, 0)


def test_a_paired_interval_is_narrower_than_that_of_either_figure() -> None:
    labels = [i % 2 for i in range(80)]
    scores = [((i * 37) % 80) / 80 + 0.2 * (i % 2) for i in range(80)]
    others = [s + 0.01 * (-1) ** (i // 7) for i, s in enumerate(scores)]
    low, high = auroc_interval(scores, labels)
    _, from_, to = auroc_difference(scores, others, labels)
    assert to - from_ < (high - low) / 2
