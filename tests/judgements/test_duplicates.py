"""Which statements of a text are judged only once, because they say nothing new."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from localeval.judgements.duplicates import without_duplicates


def judged_once(sentences: Sequence[str], *lists: Sequence[str]) -> list[list[str]]:
    return [list(texts) for texts in without_duplicates(sentences, lists or [[s] for s in sentences])]


@pytest.mark.parametrize(
    "sentences",
    [
        [
            "Torn lies south.",
            "It has 300,000 inhabitants.",
            "Skell lies north.",
            "It has 300,000 inhabitants.",
        ],
        ["| yes | no |", "| no | no |", "| yes | no |"],
        ["Plan A is new.", "The price is 10 euros.", "Plan B is old.", "The price is 10 euros."],
        ["石浦在南方。", "人口三十万。", "青川在北方。", "人口三十万。"],
    ],
)
def test_equal_sentences_about_different_subjects_are_all_judged(sentences: list[str]) -> None:
    assert judged_once(sentences) == [[sentence] for sentence in sentences]


SUBJECT_NAMED = ["Ida Colm was born in Torn.", "So it was in Torn that Ida Colm was born."]


def test_a_statement_that_names_its_subject_is_judged_once() -> None:
    once = judged_once(SUBJECT_NAMED, ["Ida Colm was born in Torn."], ["Ida Colm was born in Torn"])
    assert once == [["Ida Colm was born in Torn."], []]


def test_a_statement_whose_subject_has_no_capital_is_judged_again() -> None:
    lists = (["Ida Colm was born in Torn."], ["ida colm was born in Torn", "X is y."])
    assert judged_once(SUBJECT_NAMED, *lists) == [list(texts) for texts in lists]


def test_a_subject_that_the_judge_put_for_a_pronoun_is_known() -> None:
    sentences = ["望澜桥长412米。", "因此它长412米。"]
    assert judged_once(sentences, ["望澜桥长412米。"], ["望澜桥长412米。"]) == [["望澜桥长412米。"], []]


def test_the_same_sentence_twice_in_a_row_is_judged_once() -> None:
    assert judged_once(["It is old.", "It is old.", "So it is."]) == [["It is old."], [], ["So it is."]]


def test_the_us_is_not_us() -> None:
    texts = ["The law protects US.", "The law protects us."]
    assert judged_once(["The law protects US and us."], texts) == [texts]


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ("Otto resigned.", "Otto, the mayor, resigned in May."),
        ("The dam was opened.", "The dam was officially opened."),
        ("The dam was opened in May.", "The dam was opened in May 1962."),
        ("The dam was opened.", "The dam was opened in Torn."),
        ("大坝于5月竣工。", "大坝于5月正式竣工。"),
        ("大坝竣工。", "大坝于1962年竣工。"),
    ],
)
def test_of_two_statements_the_one_with_only_time_place_or_apposition_more_is_judged(
    less: str, more: str
) -> None:
    assert judged_once(["The sentence."], [less, more]) == [[more]]


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ("The drug is safe.", "The drug is safe in small doses."),
        ("The drug is safe.", "The drug is safe in Torn."),
        ("Otto signed the deal.", "Otto refused to have signed the deal."),
        ("Otto is the owner.", "Otto is the former owner."),
        ("Otto left.", "Nobody but Otto left."),
        ("Otto owned Acme.", "Otto owned half of Acme."),
        ("Otto left.", "Otto's wife left."),
        ("Otto left.", "Friends of Otto left."),
        ("Otto was seen.", "Otto was seldom seen."),
        ("Otto did not come.", "Otto did not come in May."),
        ("It cost 3 euros.", "It cost 3,000 euros."),
        ("It cost three euros.", "It cost three thousand euros."),
        ("王明是总经理。", "王明是副总经理。"),
        ("王明是总经理。", "王明是前总经理。"),
        ("桥长90米。", "桥长约90米。"),
        ("王明去世。", "王明的父亲去世。"),
        ("三日去世。", "十三日去世。"),
    ],
)
def test_both_of_two_statements_are_judged_where_the_words_more_may_change_what_is_said(
    less: str, more: str
) -> None:
    assert judged_once(["The sentence."], [less, more]) == [[less, more]]
