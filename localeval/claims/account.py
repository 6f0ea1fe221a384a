"""Account for a whole text: which stretches of it are judged, and which are not, and why.

A sentence is judged unless its content shows that it says nothing that could be false. Its form only decides
what it is compared with: a heading with the text below it, a table's row with its header.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from localeval.claims.asked_question import join_sentences, read_question
from localeval.claims.list_marks import ListMarks, pieces_between
from localeval.claims.reasons import Reason, Reasons
from localeval.claims.units import Unit, find_units
from localeval.text.display import one_line
from localeval.text.marks import is_mark, without_tags
from localeval.text.question_types import affirms, says_only_yes_or_no
from localeval.text.script import HAN
from localeval.text.sentences import Sentence, has_words

_HAN = re.compile(f"[{HAN}]")
# Behind these a heading needs no colon.
_SENTENCE_ENDS = ("?", "\uff1f", ".", "!", "\u3002", "\uff01")


@dataclass(frozen=True)
class Claim(Sentence):
    """A sentence of the text that is judged, or a heading together with the sentence right below it.

    standalone  what is judged: the sentence on one line; a short answer to the question has it in front, a
                row of a table has the names of its columns
    """

    standalone: str


class Unjudged(NamedTuple):
    """A stretch of the text that is not judged, its place, and why; see `account`."""

    text: str
    start: int
    end: int
    reason: Reason


class Account(NamedTuple):
    """Every letter and digit of a text is in exactly one of these; both are in the order of the text."""

    claims: tuple[Claim, ...]
    unjudged: tuple[Unjudged, ...]


@lru_cache(maxsize=4)  # several judgements of a sample need the account of one text
def account(text: str, question: str = "") -> Account:
    """Sort all of `text`, the answer to `question`, into claims and what is not judged.

    The reasons why a stretch is not judged are true by content:

    repeats   a heading, title or lead-in with only words of the question or the text right below it;
              the header of a table, whose names stand in each row
    frames    a heading, title or lead-in with only words about the response itself ("Summary", "步骤")
    courtesy  a whole sentence of courtesy ("I hope this helps!")
    question  asks, and states nothing: all its words are the reader's, the question's or the text's own
    refusal   says only that the contexts do not tell
    source    is recognizably a source: a file, an address, the number of a passage, a title with its year
    no_words  marks, tags, the numbers of list items and passages

    A heading with news is judged: with the sentence right below it where it is short, else by itself. Never
    raises; the time is linear in the length of any text.

    >>> found = account("# Tea\\nTea grows. I hope this helps!\\n\\nSources:\\n- tea.pdf", "Does tea grow?")
    >>> [claim.text for claim in found.claims]
    ['Tea grows.']
    >>> [(stretch.text, stretch.reason) for stretch in found.unjudged]
    [('Tea', 'repeats'), ('I hope this helps!', 'courtesy'), ('Sources:', 'frames'), ('tea.pdf', 'source')]
    """
    return _Accountant(text, question).account()


def extract_claims(text: str, question: str = "") -> list[Claim]:
    """Return the claims of `text`; see `account`.

    >>> [claim.standalone for claim in extract_claims("Yes. It is old.", "Is the mill safe?")]
    ['Is the mill safe? Yes.', 'It is old.']
    """
    return list(account(text, question).claims)


@dataclass
class _Heading:
    """A heading or lead-in with news, which waits for the next claim: it is judged together with it.

    is_adjacent  whether nothing but marks stands between it and the next claim
    """

    sentence: Sentence
    words: str
    is_adjacent: bool = True


class _Accountant:
    """Makes the account of one text; see `account`."""

    def __init__(self, text: str, question: str) -> None:
        self._text = text
        self._question = read_question(question)
        self._units = find_units(text, question)
        self._titles = sum(unit.is_title for unit in self._units)
        self._list_marks = ListMarks()
        self._reasons = Reasons(text, self._question, self._list_marks)
        self._claims: list[Claim] = []
        self._unjudged: list[Unjudged] = []
        self._waiting: list[_Heading] = []
        # (start, end) of what stands between a heading and the sentence with which it is one claim.
        self._gaps_within_claims: list[tuple[int, int]] = []

    def account(self) -> Account:
        for unit in self._units:
            self._sort(unit)
        self._release_waiting()
        self._sort_gaps()
        self._rescue_bare_marks()
        return Account(
            tuple(sorted(self._claims, key=lambda claim: claim.start)),
            tuple(sorted(self._unjudged, key=lambda stretch: stretch.start)),
        )

    def _sort(self, unit: Unit) -> None:
        if unit.row:
            if unit.row.is_header:
                self._skip(unit.sentence, "repeats")
            else:
                self._judge(unit.sentence, unit.row.words)
            return
        if says_only_yes_or_no(unit.text) and not is_mark(unit.text):
            self._sort_yes_or_no(unit)
            return
        if affirms(unit.text, self._question.text):
            self._judge(unit.sentence, self._with_question(unit.text))
            return
        reason = self._reasons.of(unit)
        if reason:
            self._skip(unit.sentence, reason)
        elif self._is_answer(unit):
            self._judge(unit.sentence, self._with_question(unit.text))
        elif self._reasons.is_judged_with_next(unit):
            self._waiting.append(_Heading(unit.sentence, _without_frame(unit.text)))
        else:
            self._judge(unit.sentence, one_line(unit.text))

    def _sort_yes_or_no(self, unit: Unit) -> None:
        """Judge "Yes." with the question; to a question that asks who or when it is a mere courtesy."""
        if self._question.has_words:
            if self._question.may_be_yes_or_no:
                self._judge(unit.sentence, self._with_question(unit.text))
            else:
                self._skip(unit.sentence, "courtesy")
        elif unit.is_followed:
            self._waiting.append(_Heading(unit.sentence, one_line(unit.text)))
        else:
            self._judge(unit.sentence, one_line(unit.text))

    def _is_answer(self, unit: Unit) -> bool:
        """Return whether it is the first and only title, and so short that it answers the question."""
        if not self._question.has_words or not unit.is_title or self._titles > 1:
            return False
        is_first = not self._claims and not self._waiting
        return is_first and self._reasons.is_short_answer(unit.text)

    def _with_question(self, answer: str) -> str:
        """Return a short answer behind its question."""
        return self._question.with_answer(_without_frame(answer) or one_line(answer))

    def _skip(self, sentence: Sentence, reason: Reason) -> None:
        for heading in self._waiting:
            heading.is_adjacent = False
        self._unjudged.append(Unjudged(sentence.text, sentence.start, sentence.end, reason))

    def _judge(self, sentence: Sentence, standalone: str) -> None:
        """Add a claim, together with the headings that wait for it."""
        headings = self._waiting
        self._waiting = []
        if headings and all(heading.is_adjacent for heading in headings):
            self._judge_as_one(headings, sentence, standalone)
            return
        for heading in headings:
            own = heading.sentence
            with_heading = _below(heading, standalone)
            self._claims.append(Claim(own.text, own.start, own.end, with_heading))
        self._claims.append(Claim(sentence.text, sentence.start, sentence.end, standalone))

    def _judge_as_one(self, headings: list[_Heading], sentence: Sentence, standalone: str) -> None:
        """Add one claim of a sentence and the headings right above it."""
        start = headings[0].sentence.start
        parts = [*(heading.sentence for heading in headings), sentence]
        for part, following in pairwise(parts):
            self._gaps_within_claims.append((part.end, following.start))
        for heading in reversed(headings):
            standalone = _below(heading, standalone)
        self._claims.append(Claim(self._text[start : sentence.end], start, sentence.end, standalone))

    def _release_waiting(self) -> None:
        for heading in self._waiting:
            own = heading.sentence
            self._claims.append(Claim(own.text, own.start, own.end, one_line(own.text)))
        self._waiting = []

    def _sort_gaps(self) -> None:
        """Sort the letters and digits that are in no sentence: marks of items, names of code languages.

        A number that is no item's belongs to the claim behind it, or is a claim itself.
        """
        self._claims.sort(key=lambda claim: claim.start)
        by_start = {claim.start: i for i, claim in enumerate(self._claims)}
        added: list[Claim] = []
        for start, end, is_within_claim in self._gaps():
            for piece in pieces_between(self._text, start, end):
                if is_within_claim:
                    # It tells which marks may follow.
                    self._list_marks.take(piece.text)
                elif self._list_marks.take_in_gap(self._text, piece):
                    self._unjudged.append(Unjudged(piece.text, piece.start, piece.end, "no_words"))
                elif end in by_start and "\n" not in self._text[piece.end : end]:
                    place = by_start[end]
                    self._claims[place] = self._extended(self._claims[place], piece)
                else:
                    standalone = self._with_question(piece.text)
                    added.append(Claim(piece.text, piece.start, piece.end, standalone))
        self._claims += added

    def _gaps(self) -> Iterator[tuple[int, int, bool]]:
        """Yield (start, end, is within a claim) of what is in no sentence, in the order of the text."""
        places = [(claim.start, claim.end) for claim in self._claims]
        places += [(stretch.start, stretch.end) for stretch in self._unjudged]
        places.sort()
        within = iter([*self._gaps_within_claims, (len(self._text), len(self._text))])
        next_within = next(within)
        position = 0
        for start, end in [*places, (len(self._text), len(self._text))]:
            while next_within[0] < start:
                yield *next_within, True
                next_within = next(within)
            yield position, start, False
            position = end

    def _extended(self, claim: Claim, piece: Sentence) -> Claim:
        """Return a claim together with a piece of text that stands before it on its line."""
        return replace(
            claim,
            text=self._text[piece.start : claim.end],
            start=piece.start,
            standalone=f"{piece.text} {claim.standalone}",
        )

    def _rescue_bare_marks(self) -> None:
        """Judge "(12)" with the question where the text says nothing else."""
        if self._claims or any(stretch.reason not in ("no_words", "frames") for stretch in self._unjudged):
            return
        kept = []
        for stretch in self._unjudged:
            if stretch.reason == "no_words" and has_words(without_tags(stretch.text)):
                standalone = self._with_question(stretch.text)
                self._claims.append(Claim(stretch.text, stretch.start, stretch.end, standalone))
            else:
                kept.append(stretch)
        self._unjudged = kept


def _without_frame(text: str) -> str:
    """Return `text` on one line without the marks of headings and of bold text around it.

    >>> _without_frame("**Sydney**")
    'Sydney'
    """
    return one_line(text).strip("*_# ")


def _below(heading: _Heading, standalone: str) -> str:
    """Return a sentence with its heading before it."""
    return join_sentences(_as_opening(heading.words), standalone)


def _as_opening(words: str) -> str:
    """Return a heading as it stands before the sentence that it introduces.

    >>> _as_opening("Age"), _as_opening("Colours:"), _as_opening("Who built it?")
    ('Age:', 'Colours:', 'Who built it?')
    """
    words = words.rstrip(":\uff1a*_ ")
    if words.endswith(_SENTENCE_ENDS):
        return words
    colon = "\uff1a" if _HAN.search(words) else ":"
    return words + colon
