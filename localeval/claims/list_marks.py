"""The marks of list items ("2.", "b)") that stand where no sentence is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from localeval.text.content_words import words_of
from localeval.text.sentences import Sentence, has_words

_MARK = re.compile(r"[\s*_(（]*(\d{1,3}|[A-Za-z]|[ivxIVX]{2,4})[.)、．）][\s*_]*")
_PIECE = re.compile(r"[(（]?[^\W_](?:[^\n]*[^\W_])?[.)、．）]?")
_IN_BRACKETS = re.compile(r"\s*[(（]\s*\d{1,2}\s*[)）]\s*")
_FENCES = ("```", "~~~")
# These may be letters or Roman numbers: before them any mark may stand.
_MAY_BE_FIRST = "ai"


def has_form_of_mark(text: str) -> bool:
    """Return whether `text` is a number or letter with a mark behind it, wherever it stands."""
    return bool(_MARK.fullmatch(text))


class ListMarks:
    """Remembers the marks of a text's list items, to tell the next mark from a number that says something."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def take(self, text: str) -> bool:
        """Return whether `text` is the mark of a list's item: the first one, or the next after one seen.

        It is remembered.

        >>> marks = ListMarks()
        >>> [marks.take(text) for text in ("1.", "2.", "7.", "Tea")]
        [True, True, False, False]
        """
        found = _MARK.fullmatch(text)
        if not found:
            return False
        mark = found[1].lower()
        before = _mark_before(mark)
        continues = not before or mark in self._seen or before in self._seen
        self._seen.add(mark)
        return continues

    def take_in_gap(self, text: str, piece: Sentence) -> bool:
        """Return whether a piece of `text` between sentences is a mark, or a code fence's language."""
        if text[max(0, piece.start - 3) : piece.start] in _FENCES:
            return piece.text.lower().strip("{}. ") in words_of("code_languages")
        return bool(_IN_BRACKETS.fullmatch(piece.text)) or self.take(piece.text)


def _mark_before(mark: str) -> str:
    """Return the mark of the item before `mark`, "" if it may be the first.

    >>> _mark_before("3"), _mark_before("a"), _mark_before("c")
    ('2', '', 'b')
    """
    if mark.isdigit():
        number = int(mark)
        return str(number - 1) if number > 1 else ""
    if len(mark) > 1 or mark in _MAY_BE_FIRST:
        return ""
    return chr(ord(mark) - 1)


def pieces_between(text: str, start: int, end: int) -> Iterator[Sentence]:
    """Yield the words of each line from `start` to `end`, where no sentence is."""
    if has_words(text[start:end]):
        for word in _PIECE.finditer(text, start, end):
            yield Sentence(word[0], word.start(), word.end())
