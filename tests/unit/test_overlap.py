"""Words of a statement in its contexts, and the rules that stand on them, as tables counted by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localeval import evaluate
from localeval.judgements.statements import StatementFilter
from localeval.judgements.support import closest_evidence
from localeval.testing import FakeEngine, fake_judge
from localeval.text.overlap import (
    context_sentences,
    numbers,
    omits_content,
    rank_sentences,
    source_terms,
    term_recall,
    unsupported_numbers,
)
from tests.patience import timed

SNOW = ["Gary gets 1,200 mm of rain; the first snow falls in November 1996.", "Twelve towns lie by the lake."]
BRIDGE = ["大桥于１９６２年建成，全长一百二十五米。", "总投资3.5亿元，有二十个桥墩。"]


@pytest.mark.parametrize(
    ("statement", "premise", "share"),
    [
        ("Gary gets snow.", SNOW, 3 / 3),
        ("Gary gets hail in May.", SNOW, 2 / 4),  # gary, gets; not hail and may
        ("The towns of the lake", SNOW, 2 / 2),
        ("...", SNOW, 1),
        ("大桥有桥墩。", BRIDGE, 2 / 4),  # 大桥 and 桥墩; not 桥有 and 有桥
        ("大桥", [], 0),
    ],
)
def test_coverage_is_the_share_of_terms_in_the_contexts(
    statement: str, premise: Sequence[str], share: float
) -> None:
    assert term_recall(statement, source_terms(premise)) == share


@pytest.mark.parametrize(
    ("statement", "premise", "unknown"),
    [
        ("It gets 1200 mm, or 1,200.", SNOW, ()),
        ("It gets 1,300 mm in 1996 and 1,300 in 1997.", SNOW, ("1300", "1997")),
        ("The humidity is 70% to 90%.", SNOW, ("70", "90")),
        ("It is -5.5 or 0.50 degrees.", ["5.5 or 0.5"], ()),
        (
            "25 of 100, the 21st, 2,001",
            ["Twenty-five of one hundred, the twenty-first, two thousand and one"],
            (),
        ),
        ("26 of 90", ["twenty-five of nineteen"], ("26", "90")),
        ("In 2000 5 came.", ["In two thousand, five came."], ()),
        ("It holds 1200 or 10,000.", ["It holds 1 200, or 1万."], ()),
        ("1.5 million, 3亿", ["1,500,000 and 300,000,000"], ()),
        ("According to passages 7, 8 and 9 and [6], it snows (Passage 5).", SNOW, ()),
        ("7. It snows.", SNOW, ()),
        ("It falls on 2021-05-03.", ["May 3, 2021"], ("5",)),
        ("大桥于1962年建成，全长125米。", BRIDGE, ()),
        ("大桥于１９６３年建成，全长１２６米。", BRIDGE, ("1963", "126")),
        ("总投资3.5亿元，20个桥墩，占70％。", BRIDGE, ("70",)),
        ("根据资料7和第8段，大桥有桥墩。", BRIDGE, ()),
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


CONTEXTS = ["Tea is grown in Assam. It was first planted there in 1837.", "Coffee is grown in Kodagu."]
GRINDS = "The mill grinds rye"


@pytest.mark.parametrize(
    ("sentence", "statements", "omits"),
    [
        (
            "Based on the given passages, it appears that the mill burned down.",
            ["The mill burned down."],
            False,
        ),
        ("As mentioned in passage 2, the mill grinds rye.", [GRINDS], False),
        (
            "The mill, built of oak, grinds rye and wheat.",
            ["It is built of oak.", f"{GRINDS} and wheat."],
            False,
        ),
        ("根据所给资料，水车建于明代。", ["水车建于明代。"], False),
        ("The mill drew 1,200 people.", ["The mill drew 1200 people."], False),
        (f"{GRINDS}, which farmers from three villages bring on Fridays.", [GRINDS], True),
        ("The mill burned down in 1820.", ["The mill burned down."], True),
        ("水车建于明代，由一座旧粮仓的木料改造而成。", ["水车建于明代。"], True),
        ("村里的路较窄，桥面上的栏杆十分低矮，水车已停转。", ["村里的路较窄。", "水车已停转。"], True),
    ],
)
def test_a_clause_that_no_statement_has(sentence: str, statements: list[str], omits: bool) -> None:
    assert omits_content(sentence, statements) is omits
    assert not omits_content(sentence, [sentence])


HEADED = ["The colours of the house are:", "The door is red.", "The roof is blue."]
TOWER = ["Orrin Tower was first lit in 1871.", "It was built by Agnes Pell."]
BOOK = ["Ann Lee of the Hill School wrote a book.", "She left in May.", "The book was sold."]


@pytest.mark.parametrize(
    ("sentences", "question", "statement", "i", "strays"),
    [
        (HEADED, "", "The door is red.", 0, True),
        (HEADED, "", "The door of the house is red.", 1, False),
        (TOWER, "Who built Orrin Tower?", "Agnes Pell built Orrin Tower.", 0, True),
        (TOWER, "Who built Orrin Tower?", "Agnes Pell built Orrin Tower.", 1, False),
        (BOOK, "", "Ann Lee of the Hill School left in May.", 1, False),  # a name for a pronoun
    ],
)
def test_a_statement_that_says_what_another_sentence_says_strays(
    sentences: list[str], question: str, statement: str, i: int, strays: bool
) -> None:
    assert StatementFilter(sentences, question).strays(statement, i) is strays


def test_the_evidence_is_the_sentence_that_shares_most_and_says_where_it_stands() -> None:
    statements = ["Tea was planted in 1837.", "Kodagu grows coffee.", "Zebras!"]
    first, second, third = rank_sentences(statements, context_sentences(CONTEXTS), 1)
    assert [one.text for one in (*first, *second)] == [
        "It was first planted there in 1837.",
        "Coffee is grown in Kodagu.",
    ]
    assert CONTEXTS[0][first[0].start : first[0].end] == first[0].text
    assert [first[0].context, second[0].context, third] == [0, 1, ()]


@pytest.mark.parametrize(
    ("statement", "number"),
    [
        ("Red green blue brown black tea.", 2),  # the second sentence adds 1 of 6 terms, all of one weight
        ("Red green blue brown black white tea.", 1),  # 1 of 7
        ("Red green blue brown black zebra tea.", 1),  # a term that no sentence has weighs as much
        ("Red green.", 1),  # nothing
    ],
)
def test_a_second_sentence_adds_three_twentieths_of_the_weight(statement: str, number: int) -> None:
    sentences = context_sentences(["Red green blue brown black white.", "Tea."])
    assert [len(own) for own in rank_sentences([statement], sentences, 2)] == [number]


def test_of_two_sentences_shown_the_one_that_most_statements_have_comes_first() -> None:
    contexts = ["Tea sells well. Tea grows in Arl. It needs much rain."]
    statements = ["Arl grows tea that needs rain.", "It needs much rain."]
    shown, alone = closest_evidence(statements, contexts), closest_evidence(statements[:1], contexts)
    assert shown == ["It needs much rain. … Tea grows in Arl.", "It needs much rain."]
    assert alone == ["Tea grows in Arl. … It needs much rain."]
