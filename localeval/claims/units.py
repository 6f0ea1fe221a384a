"""The sentences of a text, each with the lines around it, by which headings and list items are told."""

from __future__ import annotations

import re
from dataclasses import dataclass

from localeval.text.sentences import Sentence, split_sentences
from localeval.text.tables import Row, find_rows

BOLD = re.compile(r"\*\*[^*]+\*\*|__[^_]+__")
HEADING = re.compile(r"\s*#{1,6}\s")
LIST_ITEM = re.compile(
    r"\s*(?:[-+•]|\*(?!\*)|\(?\d{1,2}[.)、）]|[(（]?[一二三四五六七八九十]{1,3}[、.)）])\s*"
)
BULLETS = ("-", "+", "•", "*")
_LEAD_IN = re.compile(r"[:：][\s*_]*\Z")
_ENDS_SENTENCE = re.compile(r"[.!?。！？][\s*_]*\Z")
_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")

# Characters examined around a sentence, and at its end, which keeps the time linear.
MAX_NEARBY = 300


@dataclass(frozen=True)
class Unit:
    """A sentence and the lines around it.

    before  the line's text before it, "" where another sentence stands there
    alone   whether no other sentence is on its line
    above   the last line with words above
    below   the next line with words, "" where none follows
    gap     what stands between it and the next sentence, "" behind the last one
    row     the row of a table that it is
    """

    sentence: Sentence
    before: str
    alone: bool
    above: str
    below: str
    gap: str
    row: Row | None

    @property
    def text(self) -> str:
        return self.sentence.text

    @property
    def is_followed(self) -> bool:
        """Whether another sentence stands behind it."""
        return bool(self.below or self.gap)

    @property
    def is_title(self) -> bool:
        """Whether it is a line after number signs, or one in bold."""
        return self.alone and bool(HEADING.match(self.before) or BOLD.fullmatch(self.text))

    def introduces(self) -> bool:
        """Return whether it is a heading, title or lead-in of the text below, by its form.

        A bold line right above another, and an item of a list unless its own text follows, are none.
        """
        if not self.below or "\n" not in self.gap or self.row:
            return False
        if is_lead_in(self.text):
            return not self._is_list_member()
        if not self.alone or ends_sentence(self.text):
            return False
        if HEADING.match(self.before):
            return True
        if BOLD.fullmatch(self.text):
            return not self._is_in_run_of_bold() and not self._is_list_member()
        is_item = LIST_ITEM.match(self.before) or LIST_ITEM.match(self.text)
        if is_item:
            in_list = LIST_ITEM.match(self.above) or LIST_ITEM.match(self.below)
            return not in_list and bool(_ENDS_SENTENCE.search(self.below))
        return bool(LIST_ITEM.match(self.below) or _ENDS_SENTENCE.search(self.below))

    def _is_in_run_of_bold(self) -> bool:
        """Return whether the next line is in bold, too, with no blank line between."""
        is_next_bold = bool(BOLD.fullmatch(without_item_mark(self.below)))
        return is_next_bold and not _BLANK_LINE.search(self.gap)

    def _is_list_member(self) -> bool:
        """Return whether it is an item of a list whose next item follows at the same depth."""
        own = LIST_ITEM.match(self.before)
        if not own or indent(self.below) > indent(self.before):
            return False
        following = LIST_ITEM.match(self.below)
        if following:
            return kind_of_item(own[0]) == kind_of_item(following[0])
        return bool(LIST_ITEM.match(self.above)) and bool(_BLANK_LINE.search(self.gap))


def is_lead_in(text: str) -> bool:
    """Return whether a sentence ends with a colon.

    >>> is_lead_in("**The steps:**"), is_lead_in("It is 3:30.")
    (True, False)
    """
    return bool(_LEAD_IN.search(text[-MAX_NEARBY:]))


def ends_sentence(text: str) -> bool:
    """Return whether a text ends with the mark of a sentence, also within bold marks."""
    return bool(_ENDS_SENTENCE.search(text[-MAX_NEARBY:]))


def indent(line: str) -> int:
    """Return how many characters of white space a line begins with."""
    return len(line) - len(line.lstrip())


def kind_of_item(mark: str) -> str:
    """Return "n" for the mark of a numbered item, else its bullet.

    >>> kind_of_item("  12. "), kind_of_item("- ")
    ('n', '-')
    """
    mark = mark.strip()
    return mark if mark in BULLETS else "n"


def without_item_mark(line: str) -> str:
    """Return a line without the mark of a list's item and white space around it."""
    item = LIST_ITEM.match(line)
    return line[item.end() if item else 0 :].strip()


def count_items(below: str) -> int:
    """Count the items of the list at the start of `below`: the marks of the first item's kind and depth.

    >>> count_items("\\n- a\\n  - b\\n- c\\n\\nThat is all.")
    2
    """
    count = 0
    first: tuple[str, int] | None = None
    for line in below.split("\n"):
        if HEADING.match(line):
            break
        item = LIST_ITEM.match(line)
        if not item:
            continue
        kind = (kind_of_item(item[0]), indent(line))
        first = first or kind
        if kind == first:
            count += 1
    return count


def find_units(text: str, question: str) -> list[Unit]:
    """Return the sentences of `text`, the answer to `question`, with the lines around them, in order."""
    sentences = split_sentences(text)
    rows = {row.start: row for row in find_rows(text, question)}
    units = []
    line_start = 0
    previous_start = 0
    previous_end = 0
    for i, sentence in enumerate(sentences):
        line_start = max(line_start, text.rfind("\n", previous_start, sentence.start) + 1)
        is_first = previous_end <= line_start
        gap = text[sentence.end : sentences[i + 1].start] if i + 1 < len(sentences) else ""
        is_last_on_line = i + 1 == len(sentences) or "\n" in gap
        units.append(
            Unit(
                sentence=sentence,
                before=_nearby(text, line_start, sentence.start) if is_first else "",
                alone=is_first and is_last_on_line,
                above=_last_line(text[max(0, line_start - MAX_NEARBY) : line_start]),
                below=_line_behind(text, sentence.end, gap),
                gap=gap,
                row=_row_of(sentence, rows),
            )
        )
        previous_start = sentence.start
        previous_end = sentence.end
    return units


def _nearby(text: str, start: int, end: int) -> str:
    return text[start : min(end, start + MAX_NEARBY)]


def _last_line(text: str) -> str:
    """Return the last line of `text` that is not blank."""
    return text.rstrip().rpartition("\n")[2]


def _line_behind(text: str, start: int, gap: str) -> str:
    """Return the line with the next sentence, "" where it stands on the same line."""
    if "\n" not in gap:
        return ""
    line_start = start + gap.rindex("\n") + 1
    return text[line_start : line_start + MAX_NEARBY].partition("\n")[0]


def _row_of(sentence: Sentence, rows: dict[int, Row]) -> Row | None:
    """Return the row of a table that is this sentence, or None."""
    row = rows.get(sentence.start)
    return row if row and row.end == sentence.end else None
