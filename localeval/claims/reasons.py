"""Why a sentence of an answer is not judged: it says nothing that could be false."""

from __future__ import annotations

import re
from typing import Literal

from localeval.claims.asked_question import AskedQuestion
from localeval.claims.list_marks import ListMarks, has_form_of_mark
from localeval.claims.units import MAX_NEARBY, Unit, count_items, ends_sentence, is_lead_in, without_item_mark
from localeval.text.content_words import bare, content, known_words, names_in, news, numbers_in
from localeval.text.empty_sentences import is_courtesy, is_refusal
from localeval.text.lead_ins import is_complete, is_phrase, points_around
from localeval.text.marks import is_mark, is_source, is_source_heading, without_marks, without_passages
from localeval.text.question_types import offers_help, states_as_question
from localeval.text.script import HAN, begins_with_han
from localeval.text.sentences import has_words
from localeval.text.word_lists import read_lists

Reason = Literal["repeats", "frames", "courtesy", "question", "refusal", "source", "thought", "no_words"]

_QUESTION = re.compile(r"[?？][\s*_\"'”’)）]*\Z")
_QUESTION_TITLE = re.compile(r"(\*{1,3}|_{1,3})(?=\S)[^*_]+[?\uff1f]\1\W*\Z")
_VALUE = re.compile(r"\w[\s*_]*[:：][\s*_]*\w")
_HAN = re.compile(f"[{HAN}]")
_QUESTION_LABEL = re.compile(r"\s*(?:Q|FAQ|Question|问题?)\s*\d{0,2}\s*[:：.]\s*", re.IGNORECASE)
_WORD = re.compile(rf"[{HAN}]|[^\W{HAN}]+")
_NUMBER_OF_STEP = re.compile(
    r"\b(?:steps?|parts?|sections?|examples?)\s*#?\d{1,2}\b|第[一二三四五六七八九十\d]{1,3}步", re.IGNORECASE
)

_MAX_BELOW = 400  # characters right below a heading or lead-in that it may repeat
_MAX_ABOVE = 1500  # characters above an offer that it may be about
_MAX_ITEMS_TEXT = 6000  # characters below a lead-in in which its items are counted
_MAX_ANSWER_WORDS = 6  # of a title that may be the answer itself; three Han characters count as one
_MIN_NEWS = 5  # words with content from which a heading is judged by itself, not with the sentence below it


def is_question(text: str) -> bool:
    """Return whether `text` ends with a question mark that is not of a title: "The film is *Who Is Ann?*"."""
    end = text[-MAX_NEARBY:]
    if not _QUESTION.search(end):
        return False
    title = _QUESTION_TITLE.search(end)
    return not (title and has_words(end[: title.start()]))


class Reasons:
    """Tells of each sentence of a text, in order, why it is not judged, or how it is."""

    def __init__(self, text: str, question: AskedQuestion, list_marks: ListMarks) -> None:
        self._text = text
        self._question = question
        self._list_marks = list_marks
        self._in_sources = False

    def of(self, unit: Unit) -> Reason | None:
        """Return why a sentence is not judged, or None; sources are told by a heading of sources above."""
        reason = self._find(unit)
        begins_sources = reason == "frames" and is_source_heading(unit.text)
        self._in_sources = reason == "source" or begins_sources
        return reason

    def _find(self, unit: Unit) -> Reason | None:
        text = unit.text
        if is_mark(text) or self._is_mark_of_item(unit):
            return "no_words"
        if is_source(text, listed=self._in_sources):
            return "source"
        if is_question(text):
            return "question" if self._asks_what_is_known(unit) else None
        return _of_sentence(without_marks(text), self._question) or self._of_form(unit)

    def _of_form(self, unit: Unit) -> Reason | None:
        """Return why a heading, title, lead-in or pointer is not judged, or None for any other sentence."""
        if unit.introduces():
            return self._of_heading(unit)
        plain = without_marks(unit.text)
        if points_around(plain) and not is_complete(plain):
            return _of_words(plain, self._known_to_heading(plain))
        is_open = is_lead_in(unit.text) or unit.is_title or is_source_heading(unit.text)
        if is_open and not unit.below and not content_of(plain):
            return "frames"
        return None

    def _is_mark_of_item(self, unit: Unit) -> bool:
        if not unit.is_followed or self._question.is_option(unit.text):
            return False
        return self._list_marks.take(unit.text)

    def _asks_what_is_known(self, unit: Unit) -> bool:
        """Return whether a question has only words of who asks, of the question, or of the text around it."""
        plain = without_marks(unit.text)
        known = self._question.known
        if unit.is_followed:
            known |= self._words_below(unit)
        if offers_help(plain):
            known |= self._words_above(unit)
        return _asks_only(_QUESTION_LABEL.sub("", plain, count=1), known)

    def _of_heading(self, unit: Unit) -> Reason | None:
        plain = _NUMBER_OF_STEP.sub(" ", without_passages(without_item_mark(unit.text)))
        known = self._known_to_heading(plain) | self._words_below(unit)
        if numbers_in(plain, frozenset()) or _HAN.search(plain):
            known |= self._counts_below(unit)
        return _of_words(plain, known)

    def _known_to_heading(self, plain: str) -> frozenset[str]:
        """Return the question's words, none where a clause or a title of them may be the answer itself."""
        if not self._question.is_closed:
            return self._question.known
        is_label = self._question.offers_choice and not points_around(plain)
        may_answer = is_complete(plain) or not is_lead_in(plain) or is_label
        return frozenset() if may_answer else self._question.known

    def _words_below(self, unit: Unit) -> frozenset[str]:
        end = unit.sentence.end
        return known_words(self._text[end : end + _MAX_BELOW])

    def _words_above(self, unit: Unit) -> frozenset[str]:
        start = unit.sentence.start
        return known_words(self._text[max(0, start - _MAX_ABOVE) : start])

    def _counts_below(self, unit: Unit) -> frozenset[str]:
        """Return how many items the list below has, as words: "Here are three steps:" is true by counting."""
        end = unit.sentence.end
        count = count_items(self._text[end : end + _MAX_ITEMS_TEXT])
        if count < 2:
            return frozenset()
        words = {str(count)}
        for language in ("en", "zh"):
            names = read_lists("claims", language)["names_of_counts"]
            if count < len(names):
                words.update(names[count].split())
        return frozenset(words)

    def is_short_answer(self, text: str) -> bool:
        """Return whether a title of a few words may answer the question, rather than name a topic.

        It has no word of the question, unless that is closed.
        """
        length = sum(1 / 3 if begins_with_han(word) else 1 for word in _WORD.findall(text))
        if length > _MAX_ANSWER_WORDS or is_lead_in(text) or ends_sentence(text):
            return False
        if self._question.is_closed:
            return True
        known = self._question.known
        return all(word.isdigit() or word not in known for word in content_of(text))

    def is_judged_with_next(self, unit: Unit) -> bool:
        """Return whether it is judged together with the sentence below: it has little news, and no number."""
        text = unit.text
        if unit.is_followed and has_form_of_mark(text):
            return True
        asks = is_question(text) and not states_as_question(text)
        if not (unit.introduces() or (asks and unit.is_followed)):
            return False
        plain = _QUESTION_LABEL.sub("", without_passages(without_item_mark(text)), count=1)
        if _VALUE.search(plain):
            return False
        if is_phrase(plain):
            return True
        return self._has_little_news(plain, is_clause=not asks and is_complete(plain))

    def _has_little_news(self, plain: str, *, is_clause: bool) -> bool:
        known = self._question.known
        if numbers_in(plain, known):
            return False
        may_name = points_around(plain) and not is_clause
        if names_in(plain, known) and not may_name:
            return False
        new_words = news(plain, known, "function", "frames", "verbs")
        return len(new_words) < _MIN_NEWS and not (is_clause and len(new_words) > 1)


def content_of(text: str) -> tuple[str, ...]:
    """Return the words of `text` that say more than that something is said."""
    return content(text, "function", "frames")


def _of_sentence(plain: str, question: AskedQuestion) -> Reason | None:
    """Return why a whole sentence, without marks, is not judged, or None."""
    if is_courtesy(plain, question.text):
        return "courtesy"
    if is_refusal(plain, question.text):
        return "refusal"
    # The number of a passage stands behind its question mark.
    if is_question(plain) and _asks_only(plain, question.known):
        return "question"
    return None


def _of_words(plain: str, known: frozenset[str]) -> Reason | None:
    """Return why a heading or lead-in with these words is not judged, or None."""
    words = content_of(plain)
    if not words:
        return "frames"
    if bare(plain).isdigit():
        return None
    return "repeats" if known.issuperset(words) else None


def _asks_only(text: str, known: frozenset[str]) -> bool:
    """Return whether a question states nothing: all its words are of who asks, or known to the reader."""
    if not news(text, frozenset(), "function", "reader"):
        return True
    return not states_as_question(text) and not news(text, known, "function", "frames", "reader")
