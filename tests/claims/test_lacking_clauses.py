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
        ("The bridge is grey. Its height doesn't appear in any of the documents.", "The bridge is grey."),
        ("I don't see a price in these sources.", ""),
        ("Width: no data in the passages", ""),
        ("There isn't enough in these pages for me to say who built it.", ""),
        ("I'm afraid I can't help you with that.", ""),
        ("It is grey. What it cost, however, the text leaves open.", "It is grey."),
        ("It is grey. As for its width, no figure is given.", "It is grey."),
        ("Colour: grey\nOwner: not stated", "Colour: grey"),
        ("桥长40米，造价不详。", "桥长40米，"),
        ("作者是林若水。资料没有说明出版年份。", "作者是林若水。"),
        ("我没能找到它的价格。", ""),
        ("这超出了我手头材料的范围。", ""),
        ("桥长40米；造价：未提供。", "桥长40米；"),
        ("桥宽：资料中无相关信息", ""),
        ("桥长40米。设计者是谁，材料没有写。", "桥长40米。"),
        ("桥长40米。至于造价，资料没有说明。", "桥长40米。"),
        ("桥宽方面，文中没有给出数据。", ""),
        ("高度暂时无法从这些文件的内容中得知。", ""),
        ("桥长40米，造价文中只字未提。", "桥长40米，"),
        ("不过造价并无记载。", "不过"),
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
        "Drivers can't see the lamps in the fog.",
        "There is no data plan in this offer.",
        "The shop can't help customers on Sundays.",
        "Please leave the door open.",
        "The name does not appear on the old map.",
        "它没有被烧毁。",
        "不可以，十二岁以下儿童不应服用。",
        "房价不包括早餐。",
        "内胆不得使用钢丝球。",
        "无人机不得提供送餐服务。",
        "从站台无法看到列车。",
    ],
)
def test_a_negation_alone_lacks_nothing(text: str) -> None:
    assert lacking_clauses(text).clauses == ()
    assert lacking_clauses(text).rest == text


@pytest.mark.parametrize(
    "told",
    ["The bridge, which is 40 metres long,", "It is 40 metres long,", "桥长40米，", "无论什么天气都开放，"],
)
def test_a_clause_that_tells_something_is_no_topic_of_the_next(told: str) -> None:
    assert lacking_clauses(f"{told} its age is not given.").rest == told


def test_a_clause_is_about_the_question_if_it_has_no_other_word_with_content() -> None:
    question = "When was the mill built, and by whom?"
    assert asks_for(question, "the documents do not say when the mill was built")
    assert not asks_for(question, "the colour of the mill is not mentioned")
    assert asks_for(question, "it is not mentioned")
    assert asks_for("In which year?", "the exact year is unknown")
    assert asks_for("磨坊建于哪一年，有多少人参加建造？", "参加人数没有提到")
    assert not asks_for("磨坊建于哪一年？", "颜色没有提到")


def test_what_a_clause_is_about_may_stand_before_it() -> None:
    [clause] = lacking_clauses("As for its colour, nothing is said.").clauses
    assert asks_for("Which colour has it?", clause)
    assert not asks_for("When was the mill built?", clause)


def test_of_a_question_with_several_parts_a_clause_lacks_the_one_that_the_rest_does_not_tell() -> None:
    question = "Who founded the choir, and where was its first concert?"
    rest = "The choir was founded by Ann Reed."
    assert asks_for(question, "I was unable to find where the concert took place", rest)
    assert not asks_for(question, "how many singers the choir has is not mentioned", rest)


def test_of_a_question_with_one_part_a_clause_must_lack_just_that() -> None:
    question = "Where was the first concert of the choir?"
    assert not asks_for(question, "how long the concert took is not mentioned", "It was in Ely.")


def test_a_long_text_takes_linear_time() -> None:
    text = "not " * 100_000 + "nothing " * 50_000 + "没有" * 100_000
    assert lacking_clauses(text).rest is not None
