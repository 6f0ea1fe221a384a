"""Drop what a text says of the given texts and of its own list: "passage 2", "[3]", the number of an item.

Such numbers are no content: no context has them, and no statement is false for them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from localeval.text.citation_marks import FORMS as CITATION_MARKS
from localeval.text.citation_marks import FORMS_BEHIND_WORDS as RAISED_MARKS
from localeval.text.script import UNIFIED_HAN
from localeval.text.word_lists import read_lists

_ENGLISH = {name: "|".join(words) for name, words in read_lists("claims", "en")["mentions"].items()}
_CHINESE = {name: "|".join(words) for name, words in read_lists("claims", "zh")["mentions"].items()}

# The number of a passage or a list item, which is not part of the content. After a mere word it has at most
# two digits ("passage 12", and not "documents 1,200 deaths", "sources 40%", "资料2023年").
_NOT_OF_AN_AMOUNT = r"(?![0-9%]|,[0-9]{3}|\.[0-9]|\s?[年月%百千万亿])"
_SOURCE_NUMBER = rf"[0-9]{{1,2}}{_NOT_OF_AN_AMOUNT}"
# Of a list, or of documents, which may be counted, too.
_SMALL_NUMBER = rf"(?:1?[0-9]|20){_NOT_OF_AN_AMOUNT}"
# Further numbers: "passages 1, 2 and 3".
_FURTHER = r"(?:\s*,\s*(?:and\s+)?|\s*(?:and|or|to|&|-|–)\s*)"
_SOURCE_NUMBERS = rf"{_SOURCE_NUMBER}(?:{_FURTHER}{_SOURCE_NUMBER})*"
_SMALL_NUMBERS = rf"{_SMALL_NUMBER}(?:{_FURTHER}{_SMALL_NUMBER})*"
_HAN_NUMBERS = rf"{_SOURCE_NUMBER}(?:\s*[、,，和与及至-]\s*{_SOURCE_NUMBER})*"
# After four words at most: more may say something of their own.
_FILE_OR_PAGE = (
    r"(?:[^\[\]()【】（）\s]+\s+){0,4}[^\[\]()【】（）\s]*"
    r"(?:\.(?:pdf|docx?|pptx?|xlsx?|html?|md|txt|csv)\b|\bpp?\.\s*[0-9])[0-9\s,;.–p-]*"
)
# After a label such as "Source:": a file, an address, a numbered text, or a name of a few words. More may be
# a claim.
_SOURCE_NAME = (
    rf"(?:{_FILE_OR_PAGE}|https?://[^\s\[\]()【】（）]{{1,200}}"
    rf"|(?:[A-Za-z]{{1,12}}|[{UNIFIED_HAN}]{{1,4}})\s?\#?[0-9]{{1,3}}"
    rf"|[A-Za-z.’'-]{{1,20}}(?: [A-Za-z.’'-]{{1,20}}){{0,2}}|[《]?[{UNIFIED_HAN}]{{1,8}}[》]?)\s*"
)
_FORMS = (
    CITATION_MARKS,
    RAISED_MARKS,
    # A named source in brackets.
    rf"[\[【(（]\s*(?:{_FILE_OR_PAGE}|(?:{_ENGLISH['source_labels']}|{_CHINESE['source_labels']})"
    rf"\s*[:：]\s*{_SOURCE_NAME})[\]】)）]",
    # Of a unit, which is no value: m², m<sup>2</sup>; but for a power of ten.
    r"(?<!10)<sup>[^<>\n]{1,9}</sup>",
    r"(?<!(?<![0-9])10)(?:[⁰¹²³⁴-⁹])+",
    # A circled number, but for a grade or a class: ⑤级.
    rf"[①-⑳](?!{_CHINESE['grades']})",
    # Of an item in a sentence: at its start, or behind a mark.
    r"(?:^|(?<=[,;:.，；：、。\n])|(?<=[,;:.，；：、。\n]\s))[(（][0-9]{1,2}[)）](?=\s*[^\W\d_])",
    # "passages 1 and 2", "the second document", "资料3", "第3段".
    r"(?<=[据见照])(?:[^，。；\n]{0,8}[和与及、])?第\s*[0-9]+\s*[段篇]",
    rf"\b(?:{_ENGLISH['passages']})\s*(?:#\s*)?{_SOURCE_NUMBERS}",
    rf"\b(?:{_ENGLISH['documents']})\s*(?:#\s*)?{_SMALL_NUMBERS}",
    rf"\b(?:{_ENGLISH['before_words']})\s+(?:{_ENGLISH['numbers']})\b",
    rf"\b(?:{_ENGLISH['ordinals']})\s+(?:{_ENGLISH['after_ordinals']})\b",
    rf"(?:{_CHINESE['passages']})\s*{_HAN_NUMBERS}",
    rf"第\s*[0-9]+\s*(?:[条个份篇段]\s*)?(?:{_CHINESE['passages']})",
    # A list's numbers at the start: "Step 6:", "Option 2", "3."
    rf"^\W{{0,9}}(?:{_ENGLISH['items']}|{_CHINESE['items']})\s*#?{_SMALL_NUMBER}(?=\W{{0,9}}(?:[:：.)]|$|\n))",
    rf"^\s*(?:\*\*)?\(?{_SMALL_NUMBER}(?:[)、）]|[.．](?=\s|[{UNIFIED_HAN}]))",
)
_MENTION = re.compile("|".join(_FORMS), re.IGNORECASE)
# A law has paragraphs, too: these are mentions only where there are as many contexts.
_PARAGRAPH = re.compile(
    rf"\b(?:paragraphs?)\s*(?:#\s*)?{_SOURCE_NUMBERS}|第\s*[0-9]{{1,2}}\s*[段篇]", re.IGNORECASE
)
# "(1) tea and (2) salt": numbers in brackets that go on from one another are of items.
_ITEM_NUMBER = re.compile(r"(?<![A-Za-z0-9_])[(（]([0-9]{1,2})[)）](?=\s*[^\W\d_])")
_DIGITS = re.compile("[0-9]+")
_FULL_WIDTH_DIGITS = str.maketrans("０１２３４５６７８９", "0123456789")


@lru_cache(maxsize=256)  # several rules look at one text
def without_mentions(text: str) -> str:
    """Drop mentions of numbered passages from `text`, and a list item's number at its start.

    >>> without_mentions("As passage 2 says [3], it has (1) tea and (2) salt.").split()
    ['As', 'says', ',', 'it', 'has', 'tea', 'and', 'salt.']
    """
    return replace_mentions(text, " ")


def replace_mentions(text: str, replacement: str) -> str:
    """Return `text` with plain digits, and `replacement` in place of each mention."""
    return _with_mentions(text, lambda _: replacement)


def mask_mentions(text: str) -> str:
    """Return `text` with plain digits, and spaces in place of each mention, so that all places stay.

    >>> mask_mentions("It has 3 rooms [3].")
    'It has 3 rooms    .'
    """
    return _with_mentions(text, lambda match: " " * len(match[0]))


def _with_mentions(text: str, replaced: Callable[[re.Match[str]], str]) -> str:
    """Return `text` with plain digits, and what `replaced` makes of each mention."""
    text = text.translate(_FULL_WIDTH_DIGITS)
    items = {int(match[1]) for match in _ITEM_NUMBER.finditer(text)}
    text = _MENTION.sub(replaced, text)

    def replace_item(match: re.Match[str]) -> str:
        number = int(match[1])
        is_in_list = number - 1 in items or number + 1 in items
        return replaced(match) if is_in_list else match[0]

    return _ITEM_NUMBER.sub(replace_item, text) if items else text


def replace_paragraphs(text: str, replacement: str, number_of_texts: int) -> str:
    """Return `text` with `replacement` in place of each number of a paragraph that one of the texts may have.

    >>> replace_paragraphs("Paragraph 2 and paragraph 9", "*", 5)
    '* and paragraph 9'
    """

    def replace_given(match: re.Match[str]) -> str:
        named = [int(digits) for digits in _DIGITS.findall(match[0])]
        return replacement if max(named) <= number_of_texts else match[0]

    return _PARAGRAPH.sub(replace_given, text)
