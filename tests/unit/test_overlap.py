"""Lexical evidence: coverage and unknown numbers, counted by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localeval import evaluate
from localeval.testing import FakeEngine, fake_judge
from localeval.text.overlap import numbers, source_terms, term_recall, unsupported_numbers
from tests.patience import timed

SNOW = ["Gary gets 1,200 mm of rain; the first snow falls in November 1996.", "Twelve towns lie by the lake."]
BRIDGE = ["大桥于１９６２年建成，全长一百二十五米。", "总投资3.5亿元，有二十个桥墩。"]


@pytest.mark.parametrize(
    ("statement", "share"),
    [
        ("Gary gets snow.", 3 / 3),
        ("Gary gets hail in May.", 2 / 4),  # gary, gets; not hail and may
        ("The towns of the lake", 2 / 2),
        ("", 1),
        ("...", 1),
    ],
)
def test_coverage_is_the_share_of_terms_in_the_contexts(statement: str, share: float) -> None:
    assert term_recall(statement, source_terms(SNOW)) == share


def test_coverage_of_chinese_counts_pairs_of_characters() -> None:
    """大桥 桥有 有桥 桥墩: of these 大桥 and 桥墩 are there."""
    assert term_recall("大桥有桥墩。", source_terms(BRIDGE)) == 2 / 4
    assert term_recall("大桥", source_terms([])) == 0


@pytest.mark.parametrize(
    ("statement", "premise", "unknown"),
    [
        ("It gets 1200 mm, or 1,200.", SNOW, ()),
        ("It gets 1,300 mm in 1996 and 1,300 in 1997.", SNOW, ("1300", "1997")),
        ("The 1st snow falls on 12 towns.", SNOW, ()),
        ("The humidity is 70% to 90%.", SNOW, ("70", "90")),
        ("It is -5.5 or 0.50 degrees.", ["5.5 or 0.5"], ()),
        (
            "25 of 100, the 21st, 2,001",
            ["Twenty-five of one hundred, the twenty-first, two thousand and one"],
            (),
        ),
        ("In 2000 5 came.", ["In two thousand, five came."], ()),
        ("It holds 1200 or 10,000.", ["It holds 1 200, or 1万."], ()),
        ("1.5 million, 3亿", ["1,500,000 and 300,000,000"], ()),
        ("1.6 million", ["1,500,000"], ("1.6",)),
        ("占3.5%", ["百分之三点五"], ()),
        ("According to passages 7, 8 and 9 and [6], it snows (Passage 5).", SNOW, ()),
        ("7. It snows.", SNOW, ()),
        ("It falls on 2021-05-03.", ["May 3, 2021"], ("5",)),
        ("大桥于1962年建成，全长125米。", BRIDGE, ()),
        ("大桥于１９６３年建成，全长１２６米。", BRIDGE, ("1963", "126")),
        ("总投资3.5亿元，20个桥墩，占70％。", BRIDGE, ("70",)),
        ("根据资料7和第8段，大桥有桥墩。", BRIDGE, ()),
        ("It has 7 lakes.", [], ("7",)),
    ],
)
def test_unknown_numbers_are_found(statement: str, premise: Sequence[str], unknown: tuple[str, ...]) -> None:
    assert unsupported_numbers(statement, source_terms(premise)) == unknown


@settings(max_examples=25)
@given(st.text(), st.lists(st.text(), max_size=3))
def test_any_text_has_a_coverage_and_knows_its_own_numbers(statement: str, others: list[str]) -> None:
    looked = source_terms([*others, statement])
    assert term_recall(statement, looked) == 1
    assert unsupported_numbers(statement, looked) == ()
    assert 0 <= term_recall(statement, source_terms(others)) <= 1


@pytest.mark.parametrize(
    "text", ["1," * 50_000, "1,111" * 20_000, "passage" + " " * 99_999, "万" * 99_999, "9" * 99_999]
)
def test_long_runs_of_signs_take_no_longer_than_others(text: str) -> None:
    with timed() as took:
        numbers(text)
        source_terms([text])
    assert took.seconds < 2


def test_a_verdict_keeps_what_was_seen_of_its_statement() -> None:
    judge = fake_judge(FakeEngine([{"verdict": 0.9}, {"verdict": 0.6}]))
    sample = {"response": "Snow falls in 1996. Hail falls in 1997.", "retrieved_contexts": SNOW}
    result = evaluate([sample], ["faithfulness"], judge, statements="sentences")
    first, second = result.to_dict()["samples"][0]["records"]["support"]["verdicts"]
    assert (first["coverage"], first["unknown_numbers"]) == (1, [])
    assert (second["coverage"], second["unknown_numbers"]) == (1 / 3, ["1997"])
