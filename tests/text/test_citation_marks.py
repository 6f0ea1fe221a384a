"""Citation marks: every form that is read, what looks like one and is none, and one parser for both uses."""

import time

import pytest

from localeval.claims.mentions import without_mentions
from localeval.claims.sources import source_terms, unsupported_numbers
from localeval.text.citation_marks import find_citation_marks, without_citation_marks
from localeval.text.marks import is_mark


def numbers_in(text: str) -> list[int]:
    """All numbers that the marks of a text name, ranges written out."""
    spans = [span for mark in find_citation_marks(text) for span in mark.spans]
    return [number for first, last in spans for number in range(first, last + 1)]


NUMBERED = [
    ("[1]", [1]),
    ("[1][2][3]", [1, 2, 3]),
    ("[1, 3]", [1, 3]),
    ("[1 3]", [1, 3]),
    ("[1-3]", [1, 2, 3]),
    ("[1–3]", [1, 2, 3]),
    ("[1-3,7]", [1, 2, 3, 7]),
    ("[3-1]", [3, 1]),
    ("[１]", [1]),
    ("[^1]", [1]),
    ("[S1]", [1]),
    ("【1】", [1]),
    ("【1，2】", [1, 2]),
    ("【1、2】", [1, 2]),
    ("【1至3】", [1, 2, 3]),
    ("【来源1】", [1]),
    ("【3†source】", [3]),
    ("[资料2]", [2]),
    ("（来源：资料1）", [1]),
    ("（见资料2、3）", [2, 3]),
    ("【第2段】", [2]),
    ("[citation:3][citation:5]", [3, 5]),
    ("[SOURCE 1]", [1]),
    ("[[Source:1]]", [1]),
    ("[src:1]", [1]),
    ("[doc 2]", [2]),
    ("[Doc 1, Doc 2]", [1, 2]),
    ("[Document 1: the 3 mills]", [1]),
    ("[2](https://a.org/9)", [2]),
    ("(Source: 2)", [2]),
    ("(see Passages 1 and 2)", [1, 2]),
    ("{{cite:c3, c5}}", [3, 5]),
    ("<cite>1</cite>", [1]),
    ("##0$$", [0]),
]


@pytest.mark.parametrize(("mark", "numbers"), NUMBERED, ids=[mark for mark, _ in NUMBERED])
def test_the_numbers_of_a_mark_are_read(mark: str, numbers: list[int]) -> None:
    assert numbers_in(f"Tea grows {mark}.") == numbers


@pytest.mark.parametrize("mark", [mark for mark, _ in NUMBERED])
def test_a_mark_that_is_read_is_no_word_of_the_text(mark: str) -> None:
    assert without_citation_marks(f"Tea grows {mark}.") == "Tea grows."
    assert is_mark(mark)
    assert not any(sign.isdigit() for sign in without_mentions(f"Tea grows {mark}."))


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Tea grows.¹", [1]),
        ("Tea¹ and salt²", [1, 2]),
        ("Tea grows.<sup>1, 2, 30</sup>", [1, 2, 30]),
        ("Tea grows.^1", [1]),
        ("茶在生长①。", [1]),
        ("Tea grows{1}.", [1]),
    ],
)
def test_a_raised_number_behind_a_word_is_a_mark_and_no_number_that_the_text_states(
    text: str, numbers: list[int]
) -> None:
    assert numbers_in(text) == numbers
    assert unsupported_numbers(text, source_terms([])) == ()


def test_a_raised_number_behind_a_year_is_a_mark_and_the_year_a_number() -> None:
    text = "It was planted in 1837², and sold later."
    assert numbers_in(text) == [2]
    assert unsupported_numbers(text, source_terms([])) == ("1837",)


@pytest.mark.parametrize(
    ("text", "numbers", "rest"),
    [
        ("Tea grows in Assam (2).", [2], "Tea grows in Assam."),
        ("Tea grows (1, 3). It is old (2)!", [1, 3, 2], "Tea grows. It is old!"),
        ("茶在阿萨姆生长（2）。", [2], "茶在阿萨姆生长。"),
        ("茶在生长（1、2）。", [1, 2], "茶在生长。"),
    ],
)
def test_a_bare_number_in_round_brackets_is_a_mark_at_the_end_of_a_sentence(
    text: str, numbers: list[int], rest: str
) -> None:
    assert numbers_in(text) == numbers
    assert without_citation_marks(text) == rest


@pytest.mark.parametrize(
    "text",
    [
        "The sizes are small (1), large (2) and huge (3), in all shops.",
        "* Ann Reed (19)\n* Bob Hill (12)",
        "That follows from section (2).",
        "That follows from Article 5(2).",
        "The team has 40 members (38).",
        "依照第三条第（2）款。",
        "见式（2）。",
    ],
)
def test_other_numbers_in_round_brackets_are_no_marks(text: str) -> None:
    assert find_citation_marks(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Built [1820].",
        "From [1820-1850].",
        "5 km² of hills",
        "10³ leaves",
        "It has 1800² leaves.",
        "10^3 leaves",
        "5 m<sup>2</sup>",
        "① Pick it. ② Dry it.",
        "(12)",
        "At [1:20] it ends.",
        "Write `leaf[1]`.",
        "```\nleaf[1]\n```",
        "[1]: https://a.org",
        "[^1]: The tea book.",
    ],
)
def test_a_year_a_power_an_item_code_and_a_definition_are_no_marks(text: str) -> None:
    assert find_citation_marks(text) == []
    assert without_citation_marks(text) == text


@pytest.mark.parametrize(
    "mark",
    [
        "【4:0†source】",
        "[citation:The Mill](https://a.org)",
        ":contentReference[oaicite:2]{index=2}",
        "\ue200cite\ue202turn0search1\ue201",
        "turn0search1",
        "[doc 20481]",
        "[Source: 2020]",
    ],
)
def test_a_mark_of_a_tool_and_an_id_name_no_context(mark: str) -> None:
    [found] = find_citation_marks(f"Tea grows {mark}.")
    assert (found.text, found.spans) == (mark, ())


def test_a_time_in_brackets_is_no_mark_and_must_be_in_the_contexts() -> None:
    assert unsupported_numbers("It ends [1:20].", source_terms(["It ends at 1:30."]))


@pytest.mark.parametrize(
    "part",
    [
        "[",
        "[1,",
        "[1 ",
        "【1†",
        "(Source ",
        "`",
        "```",
        "[[",
        "\ue200",
        "<sup>1",
        "[1]",
        "1\n[1]: ",
        "[doc 2020 ",
    ],
)
def test_marks_are_found_in_linear_time(part: str) -> None:
    text = part * (100_000 // len(part))
    start = time.process_time()
    without_citation_marks(text)
    assert time.process_time() - start < 5
