"""Which sentences of the contexts are closest to a statement, with weights counted by hand."""

import pytest

from localeval.claims.evidence import context_sentences, rank_sentences
from localeval.judgements.deciders import closest_evidence


@pytest.mark.parametrize(
    ("statement", "number"),
    [
        ("Red green blue brown black tea.", 2),
        ("Red green blue brown black white tea.", 1),
        ("Red green blue brown black zebra tea.", 1),
    ],
    ids=["tea is 1 of 6 terms", "tea is 1 of 7 terms", "an unknown term weighs as much"],
)
def test_a_second_sentence_adds_three_twentieths_of_the_weight(statement: str, number: int) -> None:
    """All terms have one weight: 1/6 is more than 3/20, and 1/7 is less."""
    sentences = context_sentences(["Red green blue brown black white.", "Tea."])
    (ranked,) = rank_sentences([statement], sentences, 2)
    assert len(ranked) == number


TEA = ["Tea sells well. Tea grows in Arl. It needs much rain."]


def test_of_two_sentences_shown_the_one_that_most_statements_have_comes_first() -> None:
    statements = ["Arl grows tea that needs rain.", "It needs much rain."]
    assert closest_evidence(statements, TEA) == [
        "It needs much rain. … Tea grows in Arl.",
        "It needs much rain.",
    ]


def test_sentences_that_as_many_statements_have_are_shown_in_the_order_of_the_text() -> None:
    assert closest_evidence(["Arl grows tea that needs rain."], TEA) == [
        "Tea grows in Arl. … It needs much rain."
    ]


def test_a_single_sentence_is_shown_where_no_other_adds_enough() -> None:
    assert closest_evidence(["Arl sleeps."], ["Tea grows in Arl."]) == ["Tea grows in Arl."]
