"""Sentences: nothing is lost, nothing hangs, and the breaks are where a reader would set them."""

import re
import subprocess
import sys
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localeval.text import sentences
from localeval.text.sentences import Sentence, split_sentences
from tests.patience import timed

LETTERS = (
    "aB好王1 \n\t.!?。！？…,;:，；：\"'“”‘’「」『』《》（）()[]{}<>*-#|`~\\&_\r\x0b\u2028\u3000\x00ı½๓é"
    "∯♨☝♬♭☉☈☇☄ȸȹ☏ƪ♟♝∮"
)
# What pysbd or Markdown reads as a mark.
PIECES = [
    "&ᓴ&",
    "&ᓷ&",
    "&⎋&",
    "&✂&",
    "&⌬&",
    "ƪƪƪ",
    "♟♟♟♟♟♟♟",
    ". . . ",
    "....",
    "?!",
    "```",
    "```py\n",
    "\r\n",
    "Dr. ",
    "no. 5 ",
    "U.S. ",
    "e.g. ",
    "He ",
    "it. The ",
    "Yahoo!",
    "3.5",
    " a) b) ",
    " 1. 2. ",
    ".[1, 2] A",
    "\n1. ",
    "\n• a • b",
    "①a②b",
    "$x = 1. Y$",
    "`a. B`",
    "old.It ",
    "¹ ",
    " [1] ",
    "U.K. Bob is",
    "\na | b\n",
    "\n-|-\n",
    "……",
    "।",
    "\n99. a\n100. b",
]
texts = st.lists(st.sampled_from([*LETTERS, *PIECES]), max_size=60).map("".join)


def texts_of(text: str) -> list[str]:
    return [sentence.text for sentence in split_sentences(text)]


def check_places(text: str, parts: list[Sentence]) -> None:
    """In order, apart, non-empty, stripped, each where it says."""
    last = 0
    for sentence in parts:
        assert last <= sentence.start < sentence.end
        assert text[sentence.start : sentence.end] == sentence.text == sentence.text.strip()
        assert any(map(str.isalnum, sentence.text))
        last = sentence.end


@settings(max_examples=50, deadline=None)
@given(texts)
def test_no_letter_or_digit_is_lost_but_markdowns_own(text: str) -> None:
    parts = split_sentences(text)
    check_places(text, parts)
    marks = r"[`~]{3,}[ \t]*[A-Za-z0-9+#._{}=-]{0,30}|\d{1,3}[.．、)）]"
    ends, starts = [0, *(part.end for part in parts)], [*(part.start for part in parts), len(text)]
    for end, start in zip(ends, starts, strict=True):
        assert not any(map(str.isalnum, re.sub(marks, "", text[end:start])))


@pytest.mark.parametrize("unit", ["..[111 ", "111 ", "1, ", "11-", "[1, 2]", "[1][2, 3] "])
def test_what_makes_pysbd_hang_does_not_hang(unit: str) -> None:
    with timed() as took:
        for n in range(1, 51):
            text = "..[" + unit * n
            check_places(text, split_sentences(text))
    assert took.seconds < 2


PROSE = "The committee met in Geneva, where Dr. Smith spoke for 3.5 hours of the U.S. plan. Nobody agreed. "
CHINESE = "委员会开会，听取了“是否延期？怎么延期？”的报告。没有人同意！因为证据（见附件。）不足。"
# Pieces of text that are repeated until a regular expression or pysbd might take too long.
UNITS = [
    "word ",
    "字",
    "x\n",
    "- ",
    "|\n",
    "a) b) ",
    "1. 2. ",
    "messrs. ",
    "..[111 ",
    ".[1",
    "！",
    "“",
    "“你。",
    "你。”",
    "（。",
    "《》",
    "“”。",
    '" (',
    "。",
    ".",
    ". ",
    "∯",
    "```\n",
    "\\(",
    "&",
    "12.",
    "old.It",
    ".It",
    "U.K. Bob is ",
    "A.",
    "• a ",
    "①",
    "①a②b",
    "$",
    "$x",
    " $=",
    "`a ",
    "\\(x ",
    "[1]",
    " [1]",
    ".¹",
    "……",
    "a|b\n",
    "-|-\n",
    " am 3. Mai",
    "।",
]
HOSTILE = [PROSE, CHINESE, PROSE[:80].strip() + "\n", *UNITS]


@pytest.mark.parametrize("unit", HOSTILE)
def test_a_hundred_thousand_characters_take_less_than_three_seconds(unit: str) -> None:
    text = (unit * (100_000 // len(unit) + 1))[:100_000]
    with timed() as took:
        parts = split_sentences(text)
    assert took.seconds < 3
    check_places(text, parts)


@pytest.mark.parametrize("prose", [PROSE, CHINESE])
def test_a_long_line_is_split_as_its_parts_are(prose: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The windows leave no trace, nor does the plain splitter, which goes on past the budget."""
    expected = texts_of(prose)
    assert texts_of(prose * 300) == expected * 300
    monkeypatch.setattr(sentences, "BUDGET", 0)
    assert texts_of(prose) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Prices rose by 3.5% in the U.S. market, or $4.50 (approx. 4 euros) a piece.",
        "Dr. Smith met Mrs. Jones and J. Doe at No. 5 on Jan. 5 as Acme Inc. closed.",
        "Some fruits, e.g. apples, are sweet: open report.pdf or visit example.com now.",
        "The mill was built in 1700, see https://arl.org/x?id=5 for more.",
        "The film Who Is Ann? was shot in the mill in 1700.",
        "Use `obj?.name` to read the name of 1700.",
        "The mill was built ca. 1820 by Ann Lee.",
        "The lake covers 12 sq. km and holds 300 lbs. of fish.",
        "He lives in Ft. Worth and met Pres. Lee there.",
        "Create a .env file with `.NET` in ~/.bashrc, ending in .com, and run ./go.sh with `cd ..` now.",
        "It opens from 9 a.m. Monday to 5 p.m. EST, for approx. $5 (Figs. 2 and Eq. (5)), Tel.: 555.",
        "The book *What Is Life?* was written in 1944.",
        "Bees dance.[1, 2, 3, 4, 5, 6, 7]",
        "He saw " + "one thing and " * 100 + "left.",  # longer than a window
    ],
)
def test_a_mark_within_a_sentence_does_not_end_it_and_a_reference_belongs_to_it(text: str) -> None:
    assert texts_of(f"It begins. {text} They agreed.") == ["It begins.", text, "They agreed."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The ferry is slow.It leaves at noon.Nobody waits.", 3),
        ("Is the ferry slow?Yes, it is.It leaves at noon.", 3),
        ("The dam broke in 1974.Rebuilding took years.", 2),
        ("They came from Oslo.They stayed.", 2),
        ("She lives in the U.S.Her brother does not.", 2),
        ("He called it “a slow ferry.”She laughed.", 2),
    ],
)
def test_a_sentence_ends_also_where_no_space_follows_its_mark(text: str, expected: int) -> None:
    assert len(texts_of(text)) == expected


WHOLE = [
    "Use fmt.Println or System.Out to print it.",
    "Open Report.Pdf and mail Ann.Lee@Example.Org about it.",
    "See https://Arl.Org/Old.Mill for pears, e.g.This one, and version 2.0.Beta of it.",
    "Vue.Js and Booking.Com are names.",
    "Write `ferry. Slow` or $v = 2. K$ for it.",
    "Er kam am 3. Mai nach Bonn, wo der 30. Kongress begann.",
    "The U.S. Navy has ships, and the number of men in the U.S. Army is known.",
]


@pytest.mark.parametrize("text", WHOLE)
def test_names_code_addresses_numbers_and_formulas_do_not_end_a_sentence(text: str) -> None:
    assert texts_of(f"{text} They agreed.") == [text, "They agreed."]


def test_initials_end_a_sentence_before_a_word_that_begins_one_or_a_name_with_its_verb() -> None:
    assert texts_of("She earned an M.B.A. He did not.") == ["She earned an M.B.A.", "He did not."]
    assert texts_of("He died in the U.K. Carla is 90.") == ["He died in the U.K.", "Carla is 90."]
    assert texts_of("They live in the U.S. Ann works there.") == ["They live in the U.S.", "Ann works there."]


def test_a_one_word_answer_in_small_letters_is_a_sentence() -> None:
    text = "Is the ferry slow? yes. Is it new? no."
    assert texts_of(text) == ["Is the ferry slow?", "yes.", "Is it new?", "no."]


def test_items_of_a_list_within_a_line_are_sentences() -> None:
    assert texts_of("• Slow ferry • New dam") == ["Slow ferry", "New dam"]
    assert texts_of("We sell: • pears • plums") == ["We sell:", "pears", "plums"]
    assert texts_of("①渡轮很慢②大坝很新③桥已关闭") == ["①渡轮很慢", "②大坝很新", "③桥已关闭"]
    for text in ("Ferry • noon", "如图①和图②所示", "①②都对"):
        assert texts_of(text) == [text]


def test_two_ellipses_end_a_chinese_sentence_but_no_list_or_hesitation() -> None:
    assert texts_of("渡轮开走了……大家都在等。") == ["渡轮开走了……", "大家都在等。"]
    for text in ("苹果、桃子……都卖完了。", "这……我不知道。"):
        assert texts_of(text) == [text]


def test_end_marks_of_other_scripts_end_a_sentence() -> None:
    assert texts_of("नाव धीमी है। पुल नया है।") == ["नाव धीमी है।", "पुल नया है।"]
    assert texts_of("هل القارب بطيء؟ نعم هو بطيء") == ["هل القارب بطيء؟", "نعم هو بطيء"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The dam is new.¹ It leaks.²", ["The dam is new.¹", "It leaks.²"]),
        ("The dam is new.[1]It leaks.[2]", ["The dam is new.[1]", "It leaks.[2]"]),
        ("The dam is new. [1] It leaks. [2, 3]", ["The dam is new. [1]", "It leaks. [2, 3]"]),
        ("大坝很新。[1]它漏水。【2】", ["大坝很新。[1]", "它漏水。【2】"]),
        ("[1] Dams of Arl. [2] Mills of Arl.", ["[1] Dams of Arl.", "[2] Mills of Arl."]),
    ],
)
def test_a_footnotes_mark_belongs_to_the_sentence_before_it(text: str, expected: list[str]) -> None:
    assert texts_of(text) == expected


def test_rows_of_a_table_without_outer_pipes_are_sentences() -> None:
    ruled = "Name | Note\n--- | :-:\nA. Lee | Tall. Old\n1. B | 2"
    assert texts_of(ruled) == ["Name | Note", "A. Lee | Tall. Old", "1. B | 2"]
    assert texts_of("A. Lee | Tall. Old\nC. Ott | Small. New") == [
        "A. Lee | Tall. Old",
        "C. Ott | Small. New",
    ]


def test_a_number_of_three_digits_is_a_list_number_behind_the_one_before_it() -> None:
    assert texts_of("99. Ice\n100. Water") == ["Ice", "Water"]
    assert texts_of("100. Water") == ["100. Water"]


QUOTATIONS = [
    ("他说:“我来了。你呢?”然后走了。", ["他说:“我来了。你呢?”", "然后走了。"]),
    ("他问：「去吗？去。」，没人答。", ["他问：「去吗？去。」，没人答。"]),
    ("《去吗？》是书\n“走吧。”他问了“走吗？”就走", ["《去吗？》是书", "“走吧。”", "他问了“走吗？”就走"]),
    ("他走了。（没人知道。）天黑了。", ["他走了。", "（没人知道。）", "天黑了。"]),
    ("他说：“她答『好。』就走。”后来下雨。", ["他说：“她答『好。』就走。”", "后来下雨。"]),
    ('她说:"来吧。快跑。"雨停了。', ['她说:"来吧。快跑。"', "雨停了。"]),
    ("涨3.5%；跌2%。为什么？！不知道。。。", ["涨3.5%；跌2%。", "为什么？！", "不知道。。。"]),
    ("“" + "他走了。" * 40 + "”", ["“他走了。", *["他走了。"] * 38, "他走了。”"]),
]


@pytest.mark.parametrize("budget", [0, sentences.BUDGET], ids=["by rules", "by pysbd"])
@pytest.mark.parametrize(("text", "expected"), QUOTATIONS)
def test_chinese_does_not_break_inside_short_quotes(
    text: str, expected: list[str], budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sentences, "BUDGET", budget)
    assert texts_of(text) == expected


def test_the_number_of_a_step_and_the_marks_of_bold_text_belong_to_their_sentence() -> None:
    assert texts_of("Step 1. Open it. Step 2. Close it.") == ["Step 1. Open it.", "Step 2. Close it."]
    assert texts_of("**Who built it?** It was Ann.") == ["**Who built it?**", "It was Ann."]


def test_a_mark_behind_a_space_and_a_plain_one_in_chinese_end_a_sentence() -> None:
    assert texts_of("He left .It rained. 他走了.天黑了.") == ["He left .", "It rained.", "他走了.", "天黑了."]


def test_markdown_is_cut_at_its_lines_and_its_marks_are_no_text() -> None:
    text = """\
# Findings
- **Heat** melts ice. It also dries soil.
  1. Storms
> ## Table 1
| City | Note. Old |
|------|:---------:|
| Oslo | 0.7 million |

```python
print("a. B")  # one. Two
```
---
**1.** End. **2. More** follows.
"""
    assert texts_of(text) == [
        "Findings",
        "**Heat** melts ice.",
        "It also dries soil.",
        "Storms",
        "Table 1",
        "| City | Note. Old |",
        "| Oslo | 0.7 million |",
        'print("a. B")  # one. Two',
        "End.",
        "**2. More** follows.",
    ]


@pytest.mark.parametrize("width", [46, 60, 76, 100])
def test_text_that_was_wrapped_at_a_width_has_the_sentences_that_it_had(width: int) -> None:
    lines, han = textwrap.wrap(PROSE * 4, width), textwrap.wrap(CHINESE * 4, width // 2)
    for text in ("\n  ".join(lines), "> " + "\r\n".join(lines)):
        check_places(text, split_sentences(text))
        assert [" ".join(part.split()) for part in texts_of(text)] == texts_of(PROSE * 4)
    assert [part.replace("\n", "") for part in texts_of("\n".join(han))] == texts_of(CHINESE * 4)
    assert len(texts_of("\n".join(textwrap.wrap(PROSE[:82], 60)))) == 1  # no sentence ends in it


NOT_WRAPPED = {
    "settings of a program": "name = 'The Orme bridge, south of Tarnow'\nopened = 'in 1932'",
    "a list of fruits": "apples and pears\nplums of Arl",
    "a heading and a line": "# The old Orme bridge in the south of Tarnow\nof 1932",
    "a list and its head": "Two bridges lead over the Senn in Tarnow:\nthe old one",
    "a poem": "白日依山尽，\n黄河入海流。\n欲穷千里目，\n更上一层楼。",
    "two names of places": "塔诺城南横跨森河下游的奥姆桥一带\n塔诺城北的凯尔桥",
    "paragraphs of English prose": f"{PROSE * 2}Read more\n{PROSE * 2}",
    "paragraphs of Chinese prose": f"{CHINESE * 2}Read more\n{CHINESE * 2}",
}


@pytest.mark.parametrize("text", NOT_WRAPPED.values(), ids=NOT_WRAPPED)
def test_lines_that_were_not_wrapped_stay_apart(text: str) -> None:
    assert all("\n" not in part for part in texts_of(text))


def test_a_list_number_on_a_line_of_its_own_is_no_sentence() -> None:
    assert texts_of("1.\nApples\n2.\nPears") == ["Apples", "Pears"]


def test_a_number_that_is_the_answer_is_a_sentence() -> None:
    assert texts_of("42.") == ["42."]
    assert texts_of("The answer is\n42.") == ["The answer is", "42."]


@pytest.mark.parametrize("text", ["", " \n\t", "...", "|---|", "```python\n```", "- \n* ", "。！", "🙂"])
def test_marks_alone_are_no_sentence(text: str) -> None:
    assert split_sentences(text) == []


def test_pysbd_is_imported_without_warnings() -> None:
    code = "import localeval.text.sentences as s; print(len(s.split_sentences('One. Two.')))"
    command = [sys.executable, "-W", "error", "-B", "-X", "pycache_prefix=/nonexistent", "-c", code]
    assert subprocess.check_output(command, stderr=subprocess.STDOUT, text=True) == "2\n"
