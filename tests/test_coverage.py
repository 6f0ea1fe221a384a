"""What a sentence says and its statements leave out is noticed; what only introduces is not."""

from __future__ import annotations

import pytest

from localeval.text.overlap import omits_content

KEPT = (
    ("Based on the given passages, it appears that the mill burned down.", ["The mill burned down."]),
    ("It is important to note that the mill is closed on Mondays.", ["The mill is closed on Mondays."]),
    ("As mentioned in passage 2, the mill grinds rye.", ["The mill grinds rye."]),
    (
        "The mill, built of oak, grinds rye and wheat.",
        ["The mill is built of oak.", "The mill grinds rye and wheat."],
    ),
    ("根据所给资料，水车建于明代。", ["水车建于明代。"]),
    ("The mill drew 1,200 people.", ["The mill drew 1200 people."]),
    ("The mill burned down (passage 12).", ["The mill burned down."]),
    ("水车建于１４０２年。", ["水车建于1402年。"]),
)
LEFT_OUT = (
    ("The mill grinds rye, which farmers from three villages bring on Fridays.", ["The mill grinds rye."]),
    ("The mill burned down in 1820.", ["The mill burned down."]),
    ("It costs 1,200 euros a year to repair the mill.", ["It costs money to repair the mill."]),
    ("水车建于明代，由一座旧粮仓的木料改造而成。", ["水车建于明代。"]),
    ("村里的路较窄，桥面上的栏杆十分低矮，水车已停转。", ["村里的路较窄。", "水车已停转。"]),
    ("水车建于1402年。", ["水车建于明代。"]),
)


@pytest.mark.parametrize(("sentence", "statements"), KEPT)
def test_statements_that_say_it_all_leave_nothing_out(sentence: str, statements: list[str]) -> None:
    assert not omits_content(sentence, statements)


@pytest.mark.parametrize(("sentence", "statements"), LEFT_OUT)
def test_a_clause_or_number_that_no_statement_has_is_left_out(sentence: str, statements: list[str]) -> None:
    assert omits_content(sentence, statements)


@pytest.mark.parametrize(("sentence", "_"), LEFT_OUT)
def test_a_sentence_leaves_nothing_of_itself_out(sentence: str, _: list[str]) -> None:
    assert not omits_content(sentence, [sentence])
