"""Citation marks: [1], [1, 3], [2-4], 【资料1】, (Source: 2), <sup>1</sup>, green.¹

One pattern finds them, for those who drop them from a text and for those who read which contexts they name.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from localeval.text.script import BASIC_HAN
from localeval.text.word_lists import read_lists

_LISTS = [read_lists("text", language) for language in ("en", "zh")]
_NAME = "|".join(name for lists in _LISTS for name in lists["passage_names"] + lists["citation_names"])
_OPENING = "|".join(opening for lists in _LISTS for opening in lists["citation_openings"])

# A number of four digits is a year. A letter stands before the number in "[S1]" and in "[c3]".
_NUMBER = r"\^?[scSC]?[0-9]{1,3}(?![0-9])"
_NAMED_NUMBER = rf"(?:{_NAME})[\s:：#_]{{0,3}}(?:(?:{_NAME})[\s:：#_]{{0,3}})?{_NUMBER}"
_NUMBER_IN_HAN = r"第\s?[0-9]{1,3}\s?(?:段|篇|条资料|份资料)"
_BETWEEN = r"\s{0,3}(?:[,;，、；&–—~～至到和与及-]|and|to)\s{0,3}"
_MAX_FURTHER = 50  # numbers in one mark
_ANY_NUMBER = rf"(?:(?:{_NAME})[\s:：#_]{{0,3}})?{_NUMBER}"
_FURTHER = rf"(?:{_BETWEEN}(?:and\s{{1,3}})?{_ANY_NUMBER}){{0,{_MAX_FURTHER}}}"
_NUMBERS = rf"{_NUMBER}{_FURTHER}\^?"
_NAMED_NUMBERS = rf"(?:{_NAMED_NUMBER}{_FURTHER}|{_NUMBER_IN_HAN})"
_LINK = r"(?:\([^()\s]{1,300}\))?"
_AFTER_DAGGER = r"(?:†[^\]】\n]{0,80})?"
# "[Doc 1: The mill]"
_TITLE = r"(?:\s?[:：][^\[\]【】\n]{1,120})?"

# Of tools that number messages and searches, and not the contexts.
_UNREADABLE = "|".join(
    [
        r"[\[【][0-9]{1,3}:[0-9]{1,3}†[^\]】\n]{0,80}[\]】]",
        "\ue200[^\ue200\ue201\n]{0,200}\ue201",
        r"(?<![A-Za-z0-9])turn[0-9]{1,3}(?:search|news|view|image|file|fetch)[0-9]{1,3}(?![0-9])",
        r":contentReference\[oaicite:[0-9]{1,3}\](?:\{index=[0-9]{1,3}\})?",
        rf"\[citation:[^\[\]\d\n][^\[\]\n]{{0,120}}\]{_LINK}",
        # The id of a text, or its year, and not its place in the list: "[doc 20481]".
        rf"[\[【]\s{{0,3}}(?:{_NAME})[\s:：#_]{{0,3}}[0-9]{{4,12}}(?:{_BETWEEN}[0-9]{{1,12}}){{0,{_MAX_FURTHER}}}"
        rf"{_AFTER_DAGGER}\s{{0,3}}[\]】]",
    ]
)
_IN_BRACKETS = "|".join(
    [
        rf"[\[【]\[?\s{{0,3}}(?:(?:{_OPENING})\s{{0,3}})?{_NUMBERS}{_AFTER_DAGGER}\s{{0,3}}\]?[\]】]{_LINK}",
        # "[1 2]"
        rf"[\[【]\s{{0,3}}{_ANY_NUMBER}(?:\s{{1,3}}{_NUMBER}){{1,{_MAX_FURTHER}}}\s{{0,3}}[\]】]",
        rf"[\[【]\[?\s{{0,3}}(?:(?:{_OPENING})\s{{0,3}})?{_NAMED_NUMBERS}{_TITLE}{_AFTER_DAGGER}\s{{0,3}}"
        rf"\]?[\]】]{_LINK}",
        rf"\{{\{{\s?(?:{_NAME})[\s:：#_]{{0,3}}{_NUMBERS}\s?\}}\}}",
        rf"[(（]\s{{0,3}}(?:{_NAME})\s?[:：]\s?{_NUMBERS}\s{{0,3}}[)）]",
        rf"<cite>\s{{0,3}}{_NUMBERS}\s{{0,3}}</cite>",
    ]
)
_IN_ROUND_BRACKETS = rf"[(（]\s{{0,3}}(?:(?:{_OPENING})\s{{0,3}})?{_NAMED_NUMBERS}\s{{0,3}}[)）]"
_FROM_ZERO = r"##[0-9]{1,3}\$\$"
# Behind a number, or a unit of one or two letters, a raised number is a power: 10³, km². Behind a year it is
# a mark at the end of a clause.
_AFTER_WORD = rf"(?:(?<=[A-Za-z]{{3}})|(?<=[{BASIC_HAN}.,;:!?。，；：！？、\"'”’)）\]】⁰¹²³⁴-⁹,]))"
_RAISED = "|".join(
    [
        rf"{_AFTER_WORD}<sup>\s?\[?{_NUMBERS}\]?\s?</sup>",
        rf"{_AFTER_WORD}[⁰¹²³⁴-⁹]{{1,3}}",
        rf"{_AFTER_WORD}\^[0-9]{{1,2}}(?![\w.^])|{_AFTER_WORD}\^[0-9]{{1,2}}(?=\.(?:\s|\Z))",
    ]
)
_END = r"(?=\s*(?:[.,;:!?。，；：！？、)）]|\Z|\n))"
_BEHIND_YEAR = rf"(?<=\b(?:1[5-9]|20)[0-9]{{2}})[⁰¹²³⁴-⁹]{{1,2}}{_END}"
# A circled number before words is an item's.
_AT_END = rf"(?<=[^\s①-⑳])[①-⑳]{{1,9}}{_END}|(?<=\S)\s?\{{[0-9]{{1,2}}\}}{_END}"

# A bare number is one only behind the last word of a sentence: "grows in Assam (2)."
_NOT_NUMBERED = "".join(rf"(?<!{word})" for lists in _LISTS for word in lists["numbered_parts"])
_BARE_NUMBER = r"(?:1?[0-9]|20)"
_BARE = (
    rf"{_NOT_NUMBERED}(?<=[A-Za-z{BASIC_HAN}\"'”’])\s?[(（]{_BARE_NUMBER}(?:{_BETWEEN}{_BARE_NUMBER}){{0,9}}[)）]"
    r"(?=[.!?。！？])"
)

FORMS = f"{_UNREADABLE}|{_IN_BRACKETS}|{_FROM_ZERO}"
"""The marks that are nothing else wherever they stand, as a pattern that ignores case."""
FORMS_IN_ROUND_BRACKETS = _IN_ROUND_BRACKETS
"""So are these: "(see Passages 1 and 2)"."""
FORMS_BEHIND_WORDS = f"{_RAISED}|{_BEHIND_YEAR}|{_AT_END}|{_BARE}"
"""Marks by what they stand behind: green.¹, green<sup>1</sup>, green{1}, green (1)."""

_MARK = re.compile(
    rf"(?P<unreadable>{_UNREADABLE})|(?P<from_zero>{_FROM_ZERO})|{_IN_BRACKETS}|{_IN_ROUND_BRACKETS}"
    rf"|{FORMS_BEHIND_WORDS}",
    re.IGNORECASE,
)
_CODE = re.compile(r"(```|~~~).*?(?:\1|\Z)|`[^`\n]{1,300}`", re.DOTALL)
# "[1]: https://..." and "[^1]: ..." say what a mark stands for.
_DEFINITION = re.compile(r"(?:^|\n)[ \t>*-]{0,9}\[\^?[0-9]{1,3}\](?=\s?[:：])")
_SPAN = re.compile(r"[0-9]+(?:\s{0,3}(?:[–—~～至到-]|to)\s{0,3}\^?[A-Za-z]?[0-9]+)?", re.IGNORECASE)
_DIGITS = re.compile("[0-9]+")
_TITLE_OR_LINK = re.compile(r"†.*|(?<=[0-9])\s?[:：].*|\]\(.*", re.DOTALL)
_CIRCLED = "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"
_PLAIN = str.maketrans("０１２３４５６７８９", "0123456789")
_RAISED_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_SPACE_BEFORE = " \t\u3000"


class CitationMark(NamedTuple):
    """A citation mark, at `text[start:end]`.

    spans      the numbers that it names, as (first, last), in order; empty where it names none of a context
    from_zero  whether its form counts from 0
    """

    text: str
    start: int
    end: int
    spans: tuple[tuple[int, int], ...]
    from_zero: bool = False


def find_citation_marks(text: str) -> list[CitationMark]:
    """Return the citation marks of `text` in order, none in code, and no number of an entry of a list.

    A raised number behind a number or a unit is a power. Linear time.

    >>> found = find_citation_marks("Tea [1, 3-5] grows【2】 on 5 km² of hills.¹ [1820] `a[4]`")
    >>> [mark.spans for mark in found]
    [((1, 1), (3, 5)), ((2, 2),), ((1, 1),)]
    >>> find_citation_marks("Tea.【4:0†source】")[0].spans
    ()
    """
    plain = text.translate(_PLAIN)
    skipped = [match.span() for match in _CODE.finditer(plain)]
    skipped += [match.span() for match in _DEFINITION.finditer(plain)]
    skipped.sort()
    marks = []
    next_skipped = 0
    for match in _MARK.finditer(plain):
        while next_skipped < len(skipped) and skipped[next_skipped][1] <= match.start():
            next_skipped += 1
        if next_skipped < len(skipped) and skipped[next_skipped][0] < match.end():
            continue
        spans = () if match["unreadable"] else _spans(match[0])
        is_from_zero = bool(match["from_zero"])
        start, end = match.span()
        marks.append(CitationMark(text[start:end], start, end, spans, is_from_zero))
    return marks


def _spans(mark: str) -> tuple[tuple[int, int], ...]:
    """Return the numbers of a mark as (first, last).

    >>> _spans("[Doc 2: The 3 mills]"), _spans("(Sources 1 and 4-6)"), _spans("②③")
    (((2, 2),), ((1, 1), (4, 6)), ((2, 2), (3, 3)))
    """
    if mark[0] in _CIRCLED:
        return tuple((number, number) for number in (_CIRCLED.index(sign) + 1 for sign in mark))
    numbers = _TITLE_OR_LINK.sub("", mark.translate(_RAISED_DIGITS))
    spans: list[tuple[int, int]] = []
    for span in _SPAN.finditer(numbers):
        ends = [int(digits) for digits in _DIGITS.findall(span[0])]
        if ends[0] <= ends[-1]:
            spans.append((ends[0], ends[-1]))
        else:
            spans += [(number, number) for number in ends]
    return tuple(spans)


def without_citation_marks(text: str) -> str:
    """Drop the citation marks of `text`, and the spaces before them.

    >>> without_citation_marks("Tea grows [1][2]. It is old (Source: 3).")
    'Tea grows. It is old.'
    >>> without_citation_marks("茶在生长【1】。")
    '茶在生长。'
    """
    kept = []
    position = 0
    for mark in find_citation_marks(text):
        kept.append(text[position : mark.start].rstrip(_SPACE_BEFORE))
        position = mark.end
    kept.append(text[position:])
    return "".join(kept).strip() if position else text
