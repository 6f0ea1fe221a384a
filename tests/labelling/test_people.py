"""Two people's labels of one draw."""

from collections.abc import Sequence

import pytest

from localeval.analysis.labelling.draw import LabelDraw, draw_items
from localeval.analysis.labelling.people import Person, TwoPeople, agreement_text, compare_people
from localeval.errors import InputError
from tests.labelling.runs import mills


def labelled(draw: LabelDraw, name: str, values: Sequence[float | str | None]) -> Person:
    """A label for each item, in the order of the draw; "" for none."""
    given = zip(draw.items.items(), values, strict=True)
    return Person(
        name, {row_id: item.label(value) for (row_id, item), value in given if not isinstance(value, str)}
    )


def compared(
    ann: Sequence[float | str | None], ben: Sequence[float | str | None]
) -> tuple[LabelDraw, TwoPeople]:
    draw = draw_items(mills(len(ann)), kind="all")
    return draw, compare_people(labelled(draw, "Ann", ann), labelled(draw, "Ben", ben), draw)


def test_agreement_and_kappa_are_those_counted_by_hand() -> None:
    # 40 both right, 5 and 10 differ, 45 both wrong: agreement 0.85, by chance 0.50, kappa 0.35 / 0.50.
    ann = [1.0] * 45 + [0.0] * 55
    ben = [1.0] * 40 + [0.0] * 5 + [1.0] * 10 + [0.0] * 45
    _, two = compared(ann, ben)
    assert (two.same, two.both) == (85, 100)
    assert two.kappa is not None
    assert two.kappa.value == pytest.approx(0.7)
    assert agreement_text(two).startswith("Ann and Ben agree on 85 of 100; Cohen's kappa 0.70 (")


def test_what_differs_comes_first_then_what_one_cannot_tell_then_what_one_did_not_label() -> None:
    draw, two = compared([1.0, 1.0, None, 1.0, None], [1.0, 0.0, 0.0, "", None])
    rows = list(draw.items)
    assert list(two.open) == [rows[1], rows[2], rows[3]]
    assert list(two.agreed) == [rows[0], rows[4]]
    assert (two.same, two.both) == (1, 2)


def test_one_label_only_has_no_kappa_and_says_so() -> None:
    _, two = compared([1.0, 1.0], [1.0, 1.0])
    assert agreement_text(two) == "Ann and Ben agree on 2 of 2; Cohen's kappa –; to decide: 0"


def test_people_without_an_item_in_common_are_refused() -> None:
    with pytest.raises(InputError, match="no item in common"):
        compared([1.0, ""], ["", 1.0])
