"""Which sentences of a text claim something: not its headings, questions, and what only introduces."""

from __future__ import annotations

import re

from localeval.judgements.lexical import without_mentions
from localeval.sentences import Sentence

_BOLD = re.compile(r"\*\*[^*]+\*\*|__[^_]+__")
_HEADING = re.compile(r"\s*#{1,6}\s")
_ITEM = re.compile(r"\s*(?:[-*+•]|\(?\d{1,2}[.)、）])\s*")
_RULE = re.compile(r"\s*\|?\s*:?-{2,}[\s:|-]*")  # below the head of a table
_TITLE = re.compile(r"(\*{1,3}|_{1,3})(?=\S)[^*_]+[?\uff1f]\1\W*$")
_LINE_END = re.compile(r"[ \t]*(?:(?:\n[ \t]*)*\n|\Z)")
_LOOK = 300  # characters that are looked at beside a sentence: every one of a long text is looked at in turn
_STOPS = (".", "!", "\u3002", "\uff01")
_OPEN = (":", "?", "\uff1a", "\uff1f")
"""What ends so claims nothing: a colon or a question mark, of the width of a letter or of a Han character."""


def claims(text: str) -> bool:
    """Not so: marks without a letter, what introduces something else, questions, and a bare "(Passage 1)".

    >>> claims("(Passages 1 and 2)"), claims("[3]"), claims("Passage 1 names Ann.")
    (False, False, True)
    """
    own = without_mentions(text)
    return any(c.isalnum() for c in own) and not (text.rstrip("*_ ").endswith(_OPEN) and not _names(text))


def _names(text: str) -> bool:
    """Whether a question at its end is a name: it is set apart from other words before it.

    >>> _names("The film is *Who Is Ann?*"), _names("**Who is Ann?**")
    (True, False)
    """
    title = _TITLE.search(text[-_LOOK:])
    return title is not None and any(map(str.isalnum, text[-_LOOK:][: title.start()]))


def is_heading(sentence: Sentence, text: str) -> bool:
    """Whether it is on a line behind number signs, the head of a table, or a bold line above plain ones.

    What is bold within a line, as the last line, or as one item of a list among others is said with stress.
    """
    start = text.rfind("\n", 0, sentence.start) + 1
    before = text[start : min(sentence.start, start + _LOOK)]
    if _HEADING.match(before):
        return True
    if not (last := _LINE_END.match(text, sentence.end)):
        return False
    after = text[last.end() : last.end() + _LOOK].partition("\n")[0]
    if sentence.text.startswith("|"):
        return bool(_RULE.fullmatch(after))
    if not _BOLD.fullmatch(sentence.text) or sentence.text.rstrip("*_ ").endswith(_STOPS):
        return False
    if len(before) == _LOOK or any(map(str.isalpha, before)):
        return False
    item = _ITEM.match(after)
    listed = bool(item and before.strip()) and _indent(after) <= _indent(before)
    plain = after[item.end() if item else 0 :].strip()
    return bool(plain) and not listed and not _BOLD.fullmatch(plain)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
