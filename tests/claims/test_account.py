"""Nothing that a text says goes unjudged for how it is marked, and what is not judged says nothing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localeval.claims.account import Account, Claim, Unjudged, account, extract_claims
from tests.patience import timed

MILL = "**The mill was built in 1700**"


def claims(text: str, question: str = "") -> list[str]:
    return [claim.text for claim in extract_claims(text, question)]


def judged(text: str, question: str = "") -> list[str]:
    return [claim.standalone for claim in extract_claims(text, question)]


def unjudged(text: str, question: str = "") -> list[tuple[str, str]]:
    return [(stretch.text, stretch.reason) for stretch in account(text, question).unjudged]


# Every letter and digit is accounted for


def assert_complete(text: str, found: Account) -> None:
    """Each stretch stands where it says, and each letter and digit is in exactly one."""
    times = [0] * len(text)
    parts: list[Claim | Unjudged] = [*found.claims, *found.unjudged]
    for part in parts:
        assert part.text == text[part.start : part.end]
        for place in range(part.start, part.end):
            times[place] += 1
    for place, character in enumerate(text):
        assert times[place] == 1 or not character.isalnum()


MARKS_OF_LINES = ["# ", "## ", "- ", "* ", "1. ", "2) ", "12. ", "一、", "> ", "```", "```python"]
MARKS_OF_TABLES = ["| ", " | ", "|---|---|"]
MARKS_WITHIN_LINES = ["**", "__", ": ", "：", "? ", "？", ". ", "。", "! ", ", ", " "]
LINE_ENDS = ["\n", "\n", "\n\n", "\u2028", "\r"]
MARKS_OF_SOURCES = [
    "[3]",
    "[1812]",
    "(12)",
    "(Passage 1)",
    "¹",
    "²",
    "Sources:",
    "来源：",
    "a.pdf",
    "https://a.org/b",
]
TAGS = ["</p>", "<b>"]
UNUSUAL_DIGITS = ["Ⅳ", "５", "½"]
WORDS = ["Tea", "the mill", "was built in 1812", "Yes", "No.", "是。", "茶", "由李明建造"]
PHRASES = [
    "Sure!",
    "I hope this helps!",
    "希望对您有帮助",
    "Here are the steps:",
    "步骤：",
    "The price is not mentioned in the passages.",
    "资料中没有提到",
]
PIECES = [
    *MARKS_OF_LINES,
    *MARKS_OF_TABLES,
    *MARKS_WITHIN_LINES,
    *LINE_ENDS,
    *MARKS_OF_SOURCES,
    *TAGS,
    *UNUSUAL_DIGITS,
    *WORDS,
    *PHRASES,
]
MARKDOWN = st.lists(st.sampled_from(PIECES), max_size=24).map("".join)


@settings(max_examples=150, deadline=None)
@given(st.one_of(MARKDOWN, st.text(max_size=120)), st.one_of(st.just(""), st.text(max_size=30), MARKDOWN))
def test_every_letter_and_digit_is_in_one_claim_or_one_stretch_that_is_not_judged(
    text: str, question: str
) -> None:
    assert_complete(text, account(text, question))


# What is judged


@pytest.mark.parametrize(
    "text",
    [
        f"Of brick. {MILL}\nRed.",
        f"- {MILL}\n- It is of brick.",
        "#1 on the Arl is the mill. It is red.",
        "#冬奥会#2022年在北京举行。",
        "### Berlin is the capital of France.",
        "The treaty, signed in Paris by forty states, has two parts:\n- It bans mines.",
        "该药由辉瑞公司于1985年上市，主要有以下副作用：\n- 头痛",
        "### Take 500 mg of Kelvane every hour\n\nIt is a tablet.",
        "**Answer: Sydney is the capital**\n\nIt is old.",
        "#### CEO: Bob Smith (since 2010)\nAcme is in Bonn.",
        "The winner is below.\nBob!",
        "死亡！该药安全。",
        "出处：《论语》\n作者：秦始皇\n\n它很有名。",
        "Citations: 5,000\nImpact factor: 90",
        "It is old. (Source: Napoleon built it in 1812.)",
        "The mill was built by Napoleon in 1999, right? It is of oak.",
        "该桥不是由拿破仑在1812年建造的吗？它由橡木制成。",
        "Did you know that the mill was built in 1999? It is of oak.",
        "I'm happy to confirm that Kelvane is safe in pregnancy.",
        "Please do not hesitate to double the dose if the pain goes on.",
        "Great question, the capital of Australia is Sydney.",
        "您可以随时退货并获得全额退款。",
        "希望工程由李嘉诚发起帮助儿童。",
        "感谢您的提问，该公司的总经理是王小明。",
        "No, schedules cannot be exported to Excel.",
        "I don't know the price, but the CEO of Acme is Bob Smith.",
        "资料中没有提到价格，但王明是总经理。",
        "Batteries are not included.",
        "The warranty does not cover water damage according to the document.",
        "His children were not mentioned in his will.",
        "该套餐不包含资料服务。",
        "无法确定病因。",
        "[1812]",
        "<Napoleon>",
        "<img alt='Napoleon built it'>",
        "1. Paris\nIt lies on the Seine.",
        "45. Wings are what it has.",
        "```Napoleon1812\nx\n```",
    ],
)
def test_what_says_something_is_judged_whatever_its_form(text: str) -> None:
    assert unjudged(text) in ([], [("1.", "no_words")])


@pytest.mark.parametrize(
    ("text", "question", "expected"),
    [
        ("Yes. It is old.", "Is the mill safe?", ["Is the mill safe? Yes.", "It is old."]),
        ("**No**\n\nIt is old.", "Is the mill safe?", ["Is the mill safe? No", "It is old."]),
        ("不是。它很旧。", "磨坊安全吗？", ["磨坊安全吗？不是。", "它很旧。"]),
        ("**Sydney**\n\nIt is old.", "What is the capital?", ["What is the capital? Sydney", "It is old."]),
        ("# 1999\nIt is old.", "When was it built", ["When was it built: 1999", "It is old."]),
        ("Answer:\n(12)", "How many are there?", ["How many are there? (12)"]),
    ],
)
def test_yes_and_a_title_that_is_the_answer_are_judged_with_the_question(
    text: str, question: str, expected: list[str]
) -> None:
    assert judged(text, question) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Yes. It is old.", ["Yes. It is old."]),
        ("**Age**\n\nIt is old.\n\n**Colour**\n\nIt is red.", ["Age: It is old.", "Colour: It is red."]),
        ("- **Ann**\n  She built it.\n- **Bob**\n  He left.", ["Ann: She built it.", "Bob: He left."]),
        ("**颜色**\n它是红的。", ["颜色：它是红的。"]),
        ("**Who built it?**\nAnn did.", ["Who built it? Ann did."]),
    ],
)
def test_a_heading_of_few_words_is_judged_with_the_sentence_below_it(text: str, expected: list[str]) -> None:
    assert judged(text) == expected


@pytest.mark.parametrize(
    "table",
    ["| Plan | Price |\n|---|---|\n| A | 20 |", "Plan | Price\n--- | ---\nA | 20"],
    ids=["with outer pipes", "without outer pipes"],
)
def test_a_row_of_a_table_has_the_names_of_its_columns(table: str) -> None:
    assert judged(table) == ["Plan: A; Price: 20"]


def test_a_row_of_a_chinese_table_has_the_names_of_its_columns() -> None:
    assert judged("| 套餐 | 价格 |\n|---|---|\n| 甲 | 20元 |") == ["套餐: 甲; 价格: 20元"]


def test_in_a_list_of_keys_and_values_the_first_row_is_data() -> None:
    assert judged("| Built | 1812 |\n|---|---|\n| Made of | oak |") == ["Built: 1812", "Made of: oak"]
    cities = "| Bern | capital of Italy |\n|---|---|\n| Rome | a city |"
    assert judged(cities) == ["Bern: capital of Italy", "Rome: a city"]


def test_a_word_of_assent_is_the_answer_where_the_question_asks_for_yes_or_no() -> None:
    assert judged("Absolutely. It is old.", "Is the mill safe?")[0] == "Is the mill safe? Absolutely."
    assert judged("Yes.", "Can you drive to the mill?") == ["Can you drive to the mill? Yes."]


def test_a_word_of_assent_to_a_favour_is_a_courtesy() -> None:
    assert unjudged("Certainly! It is old.", "Can you describe the mill?") == [("Certainly!", "courtesy")]


def test_the_letter_of_an_option_is_judged_with_the_sentence_below_it() -> None:
    assert judged("A.\nIt is old.", "Which is it? A. Mill B. Barn") == ["A. It is old."]


def test_a_heading_and_the_sentence_below_it_are_one_stretch_of_the_text() -> None:
    text = "It is big.\n\n1. **Age**\n\nIt is old."
    assert claims(text) == ["It is big.", "**Age**\n\nIt is old."]


def test_items_of_a_list_and_bold_lines_in_a_row_are_claims_of_their_own() -> None:
    assert claims("Red.\n__Old__\n__Low__") == ["Red.", "__Old__", "__Low__"]
    assert claims(f"1. {MILL}\n2. **It is of gold**\n3. It is red.") == [
        MILL,
        "**It is of gold**",
        "It is red.",
    ]
    assert claims("一、Tea\n二、Rice\n\nAnn built it.") == ["一、Tea", "二、Rice", "Ann built it."]


# What is not judged: a true case and a false one of each reason, in both languages

HOW = "How do I bake bread?"
WIE = "怎么烤面包？"


@pytest.mark.parametrize(
    ("text", "question", "reason"),
    [
        ("# Baking bread\nMix it.", HOW, "repeats"),
        ("Based on the passages, here are the steps to bake bread:\n- Mix it.", HOW, "repeats"),
        ("Here are the 2 steps:\n- Mix it.\n- Bake it.", "", "repeats"),
        ("**Rye and wheat**\n\nRye is dark, wheat is not.", "", "repeats"),
        ("烤面包的步骤如下：\n- 揉面", WIE, "repeats"),
        ("# Summary\nMix it.", HOW, "frames"),
        ("Ingredients:\n- flour", HOW, "frames"),
        ("Based on the given passages, here is my answer:\nMix it.", HOW, "frames"),
        ("**总结**\n\n揉面。", WIE, "frames"),
        ("Sure! Mix it.", HOW, "courtesy"),
        ("I hope this answers your question! Mix it.", HOW, "courtesy"),
        ("If you have any questions about bread, let me know. Mix it.", HOW, "courtesy"),
        ("Yes. Mix it.", HOW, "courtesy"),
        ("希望以上信息对您有所帮助！揉面。", WIE, "courtesy"),
        ("Would you like to know more about bread? Mix it.", HOW, "question"),
        ("How do I bake bread?\nMix it.", HOW, "question"),
        ("您还想了解什么？揉面。", WIE, "question"),
        ("Would you like to know more? [3]", HOW, "question"),
        ("The price is not mentioned in the passages. Mix it.", HOW, "refusal"),
        ("Unfortunately, I cannot answer that from the documents.", HOW, "refusal"),
        ("The documents do not say who won in 1998.", "Who won in 1998?", "refusal"),
        ("资料中没有提到烤箱的温度。", WIE, "refusal"),
        ("无法回答这个问题。", WIE, "refusal"),
        ("抱歉，根据目前的资料，我无法回答您的问题。", WIE, "refusal"),
        ("I'm sorry, but the context does not specify who bakes bread.", HOW, "refusal"),
        ("Mix it.\n\n- https://a.org/bread", HOW, "source"),
        ("Mix it. (Source: bread.pdf, p. 3)", HOW, "source"),
        ("Mix it.\n\n[^1]: bread.pdf", HOW, "source"),
        ("揉面。\n\n来源：资料1", WIE, "source"),
        ("Mix it. (Passages 1 and 2)", HOW, "no_words"),
        ("Mix it.\n</p>", HOW, "no_words"),
        ("```python\nmix()\n```", HOW, "no_words"),
        ("1. Mix it.", HOW, "no_words"),
    ],
)
def test_a_stretch_that_says_nothing_is_listed_with_its_reason(text: str, question: str, reason: str) -> None:
    assert [found for _, found in unjudged(text, question)] == [reason]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        # A heading of the question's words may be the answer itself, and a "not" changes it.
        ("**Rye**\nIt is dark.", "Is it rye or wheat?"),
        ("# Bread is safe\nEat it.", "Is bread safe?"),
        ("# How not to bake bread\nMix it.", HOW),
        ("Here are the 5 steps:\n- Mix it.\n- Bake it.", ""),
        ("烤不了面包的步骤：\n- 揉面", WIE),
        ("# A summary of Napoleon's life\nHe left.", ""),
        ("**拿破仑总结**\n\n揉面。", WIE),
        ("I'm glad to say that bread is safe.", HOW),
        ("欢迎随时入园免费参观。", WIE),
        ("Bread was baked in 1812, wasn't it?", HOW),
        ("Why is bread deadly?", HOW),
        ("面包难道不致命吗？", WIE),
        ("The documents do not say that Ann Lee stole bread.", HOW),
        ("Bread is not available in Japan.", HOW),
        ("面包不能冷冻。", WIE),
        ("Sources: 12 people praised the bread", HOW),
        ("Mix it.\n\nSources:\n- Napoleon baked it in 1999", HOW),
        ("信息来源：王明", WIE),
        ("Mix it. (Napoleon baked it)", HOW),
    ],
)
def test_a_stretch_that_says_something_has_no_reason(text: str, question: str) -> None:
    assert [reason for _, reason in unjudged(text, question) if reason not in ("frames",)] == []


def test_sources_are_told_by_their_entries_below_a_heading_and_never_up_to_an_empty_line() -> None:
    text = "It is old.\n\nSources:\n- mill.pdf\n- The Mill (1820)\n- Ann built it in 1812\n- oak.pdf"
    reasons = [
        ("Sources:", "frames"),
        ("mill.pdf", "source"),
        ("The Mill (1820)", "source"),
        ("oak.pdf", "source"),
    ]
    assert unjudged(text) == reasons
    assert claims(text) == ["It is old.", "Ann built it in 1812"]


def test_a_footnote_is_judged_where_it_says_something() -> None:
    text = "It was Ann [1].[^2]\n\n[1]: a.pdf\n[^2]: Ann was born in 1812"
    assert claims(text) == ["It was Ann [1].[^2]", "[^2]: Ann was born in 1812"]


@pytest.mark.parametrize(
    ("mark", "number"),
    [
        ("?*", 50_000),
        ("**a**\n", 20_000),
        ("| a |\n", 20_000),
        ("(a", 50_000),
        ("[)", 50_000),
        (", ,", 30_000),
        ("source:\n\n", 20_000),
        ("If you have a ", 20_000),
        ("希望", 50_000),
    ],
)
def test_marks_in_any_number_take_a_few_seconds_at_most(mark: str, number: int) -> None:
    with timed() as took:
        claims(mark * number)
    assert took.seconds < 5
