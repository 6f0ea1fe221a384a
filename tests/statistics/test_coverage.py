"""The intervals of corrected shares and means hold the true one as often as they say.

A part of the repeats; LOCALEVAL_TEST_REPEATS=2000 runs as many as `scripts/coverage.py`.
"""

from __future__ import annotations

import os

import pytest

from scripts.coverage import (
    CARDS,
    GRADED_CELLS,
    LABEL_CELLS,
    CardCell,
    GradedCell,
    LabelCell,
    by_card,
    by_graded_labels,
    by_labels,
    card_cells,
)

REPEATS = int(os.environ.get("LOCALEVAL_TEST_REPEATS", "200"))
# By 200 repeats at 93 %, fewer than 88 % come in 1 of 200 cases.
LEAST = 0.92 if REPEATS >= 2000 else 0.88

# Two cells of each card; the script has all 54.
SOME_CARD_CELLS = [cell for card in CARDS.values() for cell in card_cells(*card)[7::27]]


@pytest.mark.parametrize("cell", SOME_CARD_CELLS, ids=str)
def test_a_share_that_is_corrected_by_a_card_is_held_by_its_interval(cell: CardCell) -> None:
    assert by_card(cell, REPEATS).coverage >= LEAST


@pytest.mark.parametrize("cell", LABEL_CELLS[::5], ids=str)
def test_a_share_that_is_corrected_by_labels_is_held_by_its_interval(cell: LabelCell) -> None:
    assert by_labels(cell, REPEATS).coverage >= LEAST


@pytest.mark.parametrize("cell", GRADED_CELLS[::3], ids=str)
def test_a_graded_mean_that_is_corrected_by_labels_is_held_by_its_interval(cell: GradedCell) -> None:
    assert by_graded_labels(cell, REPEATS).coverage >= LEAST
