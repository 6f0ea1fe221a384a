"""Clauses that say that something can't be told, in both languages, and clauses that only look so."""

import pytest

from localeval.claims.lacking_clauses import asks_for, lacking_clauses


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("The bridge is 40 metres long, but its age is not given.", "The bridge is 40 metres long, but"),
        ("Ann wrote it. The documents do not say when.", "Ann wrote it."),
        ("Ann wrote it; I couldn't find the year.", "Ann wrote it;"),
        ("There is no information on its price.", ""),
        ("The passages are silent about that. It is grey.", "It is grey."),
        ("That is beyond my knowledge.", ""),
        ("桥长40米，造价不详。", "桥长40米，"),
        ("作者是林若水。资料没有说明出版年份。", "作者是林若水。"),
        ("我没能找到它的价格。", ""),
        ("这超出了我手头材料的范围。", ""),
    ],
)
def test_what_lacks_is_parted_from_the_rest(text: str, rest: str) -> None:
    found = lacking_clauses(text)
    assert found.clauses
    assert found.rest == rest


@pytest.mark.parametrize(
    "text",
    [
        "It did not burn down.",
        "No, lorries are not allowed on the bridge.",
        "The price does not include breakfast.",
        "The beetle never leaves the forest.",
        "Children should not take it without food.",
        "它没有被烧毁。",
        "不可以，十二岁以下儿童不应服用。",
        "房价不包括早餐。",
        "内胆不得使用钢丝球。",
    ],
)
def test_a_negation_alone_lacks_nothing(text: str) -> None:
    assert lacking_clauses(text).clauses == ()
    assert lacking_clauses(text).rest == text


def test_a_clause_is_about_the_question_if_it_has_no_other_word_with_content() -> None:
    question = "When was the mill built, and by whom?"
    assert asks_for(question, "the documents do not say when the mill was built")
    assert not asks_for(question, "the colour of the mill is not mentioned")
    assert asks_for(question, "it is not mentioned")
    assert asks_for("In which year?", "the exact year is unknown")
    assert asks_for("磨坊建于哪一年，有多少人参加建造？", "参加人数没有提到")
    assert not asks_for("磨坊建于哪一年？", "颜色没有提到")


def test_a_long_text_takes_linear_time() -> None:
    text = "not " * 100_000 + "nothing " * 50_000 + "没有" * 100_000
    assert lacking_clauses(text).rest is not None
