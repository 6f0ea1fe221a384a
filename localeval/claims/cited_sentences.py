"""Which citation marks belong to which sentence, and which contexts they name."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from localeval.text.citation_marks import CitationMark, find_citation_marks
from localeval.text.sentences import has_words

# A number that exceeds the number of contexts by more is no mark: "[250]" beside five contexts.
_MAX_BEYOND = 50


class Place(NamedTuple):
    """A stretch of the text, and the number of its sentence; None where nothing of it is judged."""

    start: int
    end: int
    sentence: int | None


class CitedContexts(NamedTuple):
    """What the marks of a sentence name, each once, in the order of the marks.

    cited         indices of contexts, from 0
    out_of_range  numbers, as written, of contexts that there are not
    unreadable    marks that name no context by its number
    """

    cited: tuple[int, ...]
    out_of_range: tuple[int, ...]
    unreadable: tuple[str, ...]


def counts_from_zero(marks: Sequence[CitationMark], number_of_contexts: int) -> bool:
    """Return whether the marks count contexts from 0.

    They do by their form, or where 0 occurs and the number of contexts does not.

    >>> counts_from_zero(find_citation_marks("Tea [0]. Salt [1]."), 2)
    True
    >>> counts_from_zero(find_citation_marks("Tea [0]. Salt [2]."), 2)
    False
    """
    if any(mark.from_zero for mark in marks):
        return True
    spans = [span for mark in marks for span in mark.spans]
    has_zero = any(first == 0 for first, _ in spans)
    has_last = any(first <= number_of_contexts <= last for first, last in spans)
    return has_zero and not has_last


def cited_contexts(
    marks: Sequence[CitationMark], number_of_contexts: int, *, from_zero: bool
) -> CitedContexts:
    """Return the contexts that marks name.

    A range that goes beyond the contexts is cut, and its last number is out of range.

    >>> cited_contexts(find_citation_marks("Tea [1, 3-9][1] and 【4:0†source】[250]."), 4, from_zero=False)
    CitedContexts(cited=(0, 2, 3), out_of_range=(9,), unreadable=('【4:0†source】',))
    """
    first_number = 0 if from_zero else 1
    last_number = first_number + number_of_contexts - 1
    cited: dict[int, None] = {}
    out_of_range: dict[int, None] = {}
    unreadable: dict[str, None] = {}
    for mark in marks:
        if not mark.spans:
            unreadable[mark.text] = None
        if any(first > number_of_contexts + _MAX_BEYOND for first, _ in mark.spans):
            continue
        for first, last in mark.spans:
            for number in range(max(first, first_number), min(last, last_number) + 1):
                cited[number - first_number] = None
            if first < first_number:
                out_of_range[first] = None
            if last > last_number:
                out_of_range[last] = None
    return CitedContexts(tuple(cited), tuple(out_of_range), tuple(unreadable))


def marks_of_sentences(
    text: str, places: Sequence[Place], number_of_sentences: int
) -> list[list[CitationMark]]:
    """Return the citation marks of each sentence: those that stand in it or directly behind it.

    places  all stretches of the text that say something, in order; a mark behind one that is not judged is
            nobody's

    A mark at the start of a sentence belongs to the one before it on the line, unless the line begins with a
    mark. Linear time.

    >>> places = [Place(0, 10, 0), Place(11, 33, 1)]
    >>> found = marks_of_sentences("Tea grows. [1] Salt does not [2]. [3]", places, 2)
    >>> [[mark.text for mark in marks] for marks in found]
    [['[1]'], ['[2]', '[3]']]
    """
    found: list[list[CitationMark]] = [[] for _ in range(number_of_sentences)]
    if places:
        attribution = _Attribution(text, places)
        for mark in find_citation_marks(text):
            sentence = attribution.sentence_of(mark)
            if sentence is not None:
                found[sentence].append(mark)
    return found


class _Attribution:
    """Finds the sentences of the marks of a text, which are given in order."""

    def __init__(self, text: str, places: Sequence[Place]) -> None:
        self._text = text
        self._places = places
        self._starts = [place.start for place in places]
        self._line_start = 0
        self._searched = 0
        self._line_begins_with_mark: bool | None = None
        # The end of the marks at the start of a place: (number of the place, offset).
        self._opening = (-1, 0)

    def sentence_of(self, mark: CitationMark) -> int | None:
        self._read_line(mark)
        number = bisect_right(self._starts, mark.start) - 1
        if number < 0:
            first = self._places[0]
            return first.sentence if "\n" not in self._text[mark.end : first.start] else None
        place = self._places[number]
        is_inside = mark.start < place.end
        if is_inside and self._opens(mark, number) and self._follows_on_line(number):
            return self._places[number - 1].sentence
        return place.sentence

    def _read_line(self, mark: CitationMark) -> None:
        """Find out about the line of the mark whether it begins with one."""
        newline = self._text.rfind("\n", self._searched, mark.start)
        self._searched = mark.start
        if newline >= 0:
            self._line_start = newline + 1
            self._line_begins_with_mark = None
        if self._line_begins_with_mark is None:
            self._line_begins_with_mark = not has_words(self._text[self._line_start : mark.start])

    def _opens(self, mark: CitationMark, number: int) -> bool:
        """Return whether only marks stand between the start of a place and the mark."""
        opened, position = self._opening
        if opened != number:
            position = self._places[number].start
        if position > mark.start or has_words(self._text[position : mark.start]):
            # From here on no mark opens the place.
            self._opening = (number, len(self._text))
            return False
        self._opening = (number, mark.end)
        return True

    def _follows_on_line(self, number: int) -> bool:
        """Return whether a place has another one before it on its line, which begins with no mark."""
        return bool(
            number > 0 and not self._line_begins_with_mark and self._places[number - 1].end > self._line_start
        )
