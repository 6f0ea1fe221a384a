"""Rules of statements and their support, as tables: what strays, what is left out, what is shown again."""

from __future__ import annotations

import pytest

from localeval.judgements.statements import StatementFilter
from localeval.judgements.support import closest_evidence
from localeval.text.overlap import context_sentences, omits_content, rank_sentences

CONTEXTS = ["Tea is grown in Assam. It was first planted there in 1837.", "Coffee is grown in Kodagu."]
KEPT = (
    ("Based on the given passages, it appears that the mill burned down.", ["The mill burned down."]),
    ("As mentioned in passage 2, the mill grinds rye.", ["The mill grinds rye."]),
    (
        "The mill, built of oak, grinds rye and wheat.",
        ["The mill is built of oak.", "The mill grinds rye and wheat."],
    ),
    ("根据所给资料，水车建于明代。", ["水车建于明代。"]),
    ("The mill drew 1,200 people.", ["The mill drew 1200 people."]),
)
LEFT_OUT = (
    ("The mill grinds rye, which farmers from three villages bring on Fridays.", ["The mill grinds rye."]),
    ("The mill burned down in 1820.", ["The mill burned down."]),
    ("水车建于明代，由一座旧粮仓的木料改造而成。", ["水车建于明代。"]),
    ("村里的路较窄，桥面上的栏杆十分低矮，水车已停转。", ["村里的路较窄。", "水车已停转。"]),
)


@pytest.mark.parametrize(
    ("sentence", "statements", "omits"), [(*row, False) for row in KEPT] + [(*row, True) for row in LEFT_OUT]
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
