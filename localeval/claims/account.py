"""Account for a whole text: which stretches of it are judged, and which are not, and why.

A sentence is judged unless its content shows that it says nothing that could be false. Its form only decides
what it is compared with: a heading with the text below it, a table's row with its header.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources
from itertools import pairwise
from typing import Literal, NamedTuple

from localeval.claims.overlap import STOP, SourceTerms, terms, without_mentions
from localeval.text import wording
from localeval.text.display import one_line
from localeval.text.marks import (
    has_content,
    is_mark,
    is_source,
    is_source_heading,
    without_marks,
    without_passages,
    without_tags,
)
from localeval.text.sentences import Sentence, has_words, split_sentences
from localeval.text.tables import Row, find_rows

__all__ = [
    "Account",
    "Claim",
    "Reason",
    "Unjudged",
    "account",
    "extract_claims",
    "has_content",
    "is_question",
    "main_clause",
]

Reason = Literal["repeats", "frames", "courtesy", "question", "refusal", "source", "thought", "no_words"]

_BOLD = re.compile(r"\*\*[^*]+\*\*|__[^_]+__")
_HEADING = re.compile(r"\s*#{1,6}\s")
_LIST_ITEM = re.compile(
    r"\s*(?:[-+•]|\*(?!\*)|\(?\d{1,2}[.)、）]|[(（]?[一二三四五六七八九十]{1,3}[、.)）])\s*"
)
_LEAD_IN = re.compile(r"[:：][\s*_]*\Z")
_QUESTION = re.compile(r"[?？][\s*_\"'”’)）]*\Z")
_QUESTION_TITLE = re.compile(r"(\*{1,3}|_{1,3})(?=\S)[^*_]+[?\uff1f]\1\W*\Z")
_QUESTION_END = re.compile(r"[.?!:。？！：]\Z")
_ENDS_SENTENCE = re.compile(r"[.!?。！？][\s*_]*\Z")
_VALUE = re.compile(r"\w[\s*_]*[:：][\s*_]*\w")
_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
_HAN = re.compile("[㐀-鿿豈-﫿]")
_QUESTION_LABEL = re.compile(r"\s*(?:Q|FAQ|Question|问题?)\s*\d{0,2}\s*[:：.]\s*", re.IGNORECASE)
_WORD = re.compile(r"[㐀-鿿豈-﫿]|[^\W㐀-鿿豈-﫿]+")
_NUMBER_OF_STEP = re.compile(
    r"\b(?:steps?|parts?|sections?|examples?)\s*#?\d{1,2}\b|第[一二三四五六七八九十\d]{1,3}步", re.IGNORECASE
)
_LIST_MARK = re.compile(r"[\s*_(（]*(\d{1,3}|[A-Za-z]|[ivxIVX]{2,4})[.)、．）][\s*_]*")
_PIECE = re.compile(r"[(（]?[^\W_](?:[^\n]*[^\W_])?[.)、．）]?")
_IN_BRACKETS = re.compile(r"\s*[(（]\s*\d{1,2}\s*[)）]\s*")
_NAMES_OF_COUNTS = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
_HAN_COUNTS = "零一二三四五六七八九十"

_BRACKETED = re.compile(r"\([^()]*\)|（[^（）]*）|\[[^\[\]]*\]|【[^【】]*】")
_INNERMOST = re.compile(r"[(（\[【][^()（）\[\]【】]*[)）\]】]")
_CONDITIONS = tomllib.loads(
    resources.files("localeval.claims").joinpath("conditions.toml").read_text("utf-8")
)
_CONDITION = re.compile(
    rf"\W*(?:(?:and|or|but)\s+)?(?:(?:{'|'.join(_CONDITIONS['en'])})\b|{'|'.join(_CONDITIONS['zh'])})",
    re.IGNORECASE,
)
# In "f(x)" and "person(s)" the bracket is part of the word.
_WITHIN_WORD = re.compile(r"(?<=[A-Za-z0-9])[(\[]\w{1,2}[)\]]")
_CLAUSE_MARK = re.compile(r"([,;:](?!\d)|[.!?](?=\s)|[，；：、。！？—–])")
_PUNCTUATION = ",;:.!?，；：、。！？—– "
_SPACE_BEFORE_MARK = re.compile(r" (?=[,;:.!?，；：、。！？])")
_MAX_BRACKET_DEPTH = 4  # of nested brackets that are removed
_MIN_DROPPED_TERMS = 2  # "for example," has fewer

_MAX_NEARBY = 300  # characters examined around a sentence, which keeps the time linear
_MAX_BELOW = 400  # characters right below a heading or lead-in that it may repeat
_MAX_ABOVE = 1500  # characters above an offer that it may be about
_MAX_ITEMS_TEXT = 6000  # characters below a lead-in in which its items are counted
_MAX_QUESTION = 300  # characters of a question that stand before a short answer
_SHORT_ANSWER = 6  # words of a title that may be the answer itself; three Han characters count as one
_MUCH_NEWS = 5  # words with content from which a heading is judged by itself, not with the sentence below it


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

    repeats   a heading, title or lead-in with no word but those of the question or the text right below it;
              the header of a table, whose names stand in each row
    frames    a heading, title or lead-in with no word but those about the response itself ("Summary", "步骤")
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


def _reason_of_sentence(text: str, question: str) -> Reason | None:
    """Return why a sentence is not judged, by itself, or None."""
    if is_mark(text):
        return "no_words"
    plain = without_marks(text)
    if wording.is_courtesy(plain, question):
        return "courtesy"
    if wording.is_refusal(plain, question):
        return "refusal"
    if is_source(text):
        return "source"
    if is_question(plain) and _asks_only(plain, wording.known_words(question)):
        return "question"
    return None


def is_question(text: str) -> bool:
    """Return whether `text` ends with a question mark that is not of a title: "The film is *Who Is Ann?*"."""
    end = text[-_MAX_NEARBY:]
    if not _QUESTION.search(end):
        return False
    title = _QUESTION_TITLE.search(end)
    return not (title and has_words(end[: title.start()]))


def _asks_only(text: str, known: frozenset[str]) -> bool:
    if not wording.news(text, frozenset(), "function", "reader"):
        return True
    states = wording.states_as_question(text)
    return not states and not wording.news(text, known, "function", "frames", "reader")


@dataclass
class _Unit:
    """A sentence and the lines around it.

    before  the line's text before it, "" where another sentence stands there
    alone   no other sentence is on its line
    above   the last line with words above
    below   the next line with words, "" where none follows
    gap     what stands between it and the next sentence
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
    def ends_line(self) -> bool:
        return "\n" in self.gap

    @property
    def is_title(self) -> bool:
        """Whether it is a line after number signs, or one in bold."""
        return self.alone and bool(_HEADING.match(self.before) or _BOLD.fullmatch(self.text))

    def introduces(self) -> bool:
        """Return whether it is a heading, title or lead-in of the text below, by its form.

        A bold line right above another, and an item of a list unless its own text follows, are none.
        """
        if not self.below or not self.ends_line or self.row:
            return False
        if _LEAD_IN.search(self.text[-_MAX_NEARBY:]):
            return not self._is_list_member()
        if not self.alone or _ENDS_SENTENCE.search(self.text[-_MAX_NEARBY:]):
            return False
        if _HEADING.match(self.before):
            return True
        item = _LIST_ITEM.match(self.before) or _LIST_ITEM.match(self.text)
        if _BOLD.fullmatch(self.text):
            is_next_bold = bool(_BOLD.fullmatch(_without_item_mark(self.below)))
            is_run_of_bold = is_next_bold and not _BLANK_LINE.search(self.gap)
            return not is_run_of_bold and not self._is_list_member()
        if item:
            in_list = any(_LIST_ITEM.match(line) for line in (self.above, self.below))
            return not in_list and bool(_ENDS_SENTENCE.search(self.below))
        return bool(_LIST_ITEM.match(self.below) or _ENDS_SENTENCE.search(self.below))

    def _is_list_member(self) -> bool:
        """Return whether it is an item of a list whose next item follows at the same depth."""
        own, following = _LIST_ITEM.match(self.before), _LIST_ITEM.match(self.below)
        if not own:
            return False
        depth = len(self.before) - len(self.before.lstrip())
        depth_below = len(self.below) - len(self.below.lstrip())
        if following:
            return depth_below <= depth and _kind_of_item(own[0]) == _kind_of_item(following[0])
        above = _LIST_ITEM.match(self.above)
        return bool(above) and depth_below <= depth and bool(_BLANK_LINE.search(self.gap))


def _kind_of_item(mark: str) -> str:
    """Return one letter for a numbered item, else its bullet.

    >>> _kind_of_item("  12. "), _kind_of_item("- ")
    ('n', '-')
    """
    mark = mark.strip()
    return mark if mark in ("-", "+", "•", "*") else "n"


def _without_item_mark(line: str) -> str:
    item = _LIST_ITEM.match(line)
    return line[item.end() if item else 0 :].strip()


@dataclass
class _Heading:
    """A heading or lead-in with news, which waits for the next claim: it is judged together with it.

    adjacent  whether nothing but marks stands between it and the next claim
    """

    sentence: Sentence
    words: str
    adjacent: bool = True


class _Accountant:
    """Makes the account of one text; see `account`."""

    def __init__(self, text: str, question: str) -> None:
        self._text = text
        self._question = question
        self._asked = _shortened(question)
        self._known = wording.known_words(question)
        self._offers_choice = wording.offers_choice(question)
        self._is_closed_question = self._offers_choice or wording.asks_yes_or_no(question)
        may_be_yes_or_no = self._offers_choice or wording.is_polar(question)
        self._may_be_yes_or_no = may_be_yes_or_no and not wording.asks_favour(question)
        self._units = _units(text, question)
        self._titles = sum(unit.is_title for unit in self._units)
        self._claims: list[Claim] = []
        self._unjudged: list[Unjudged] = []
        self._waiting: list[_Heading] = []
        self._in_sources = False
        self._options = wording.lettered_options(question)
        self._marks_seen: set[str] = set()
        self._inner_gaps: list[tuple[int, int]] = []

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

    def _sort(self, unit: _Unit) -> None:
        if unit.row:
            if unit.row.is_header:
                self._skip(unit.sentence, "repeats")
            else:
                self._judge(unit.sentence, unit.row.words)
            return
        if wording.says_only_yes_or_no(unit.text) and not is_mark(unit.text):
            self._sort_yes_or_no(unit)
            return
        if wording.affirms(unit.text, self._question):
            self._judge(unit.sentence, self._with_question(unit.text))
            return
        reason = self._reason(unit)
        self._in_sources = reason == "source" or (reason == "frames" and is_source_heading(unit.text))
        if reason:
            self._skip(unit.sentence, reason)
        elif self._is_answer(unit):
            self._judge(unit.sentence, self._with_question(unit.text))
        elif self._waits(unit):
            self._waiting.append(_Heading(unit.sentence, _plain(unit.text)))
        else:
            self._judge(unit.sentence, one_line(unit.text))

    def _sort_yes_or_no(self, unit: _Unit) -> None:
        """Judge "Yes." with the question; to a question that asks who or when it is a mere courtesy."""
        if not has_words(self._asked):
            if unit.below or unit.gap:
                self._waiting.append(_Heading(unit.sentence, one_line(unit.text)))
            else:
                self._judge(unit.sentence, one_line(unit.text))
        elif self._may_be_yes_or_no:
            self._judge(unit.sentence, self._with_question(unit.text))
        else:
            self._skip(unit.sentence, "courtesy")

    def _reason(self, unit: _Unit) -> Reason | None:
        text = unit.text
        follows = unit.below or unit.gap
        if is_mark(text) or (follows and not self._is_option(text) and self._is_list_mark(text)):
            return "no_words"
        if is_source(text, listed=self._in_sources):
            return "source"
        plain = without_marks(text)
        introduces = unit.introduces()
        if is_question(text):
            known = self._known
            if introduces or unit.below or unit.gap:
                known |= self._words_below(unit)
            if wording.offers_help(plain):
                known |= self._words_above(unit)
            return "question" if _asks_only(_QUESTION_LABEL.sub("", plain, count=1), known) else None
        reason = _reason_of_sentence(text, self._question)
        if reason:
            return reason
        if introduces:
            return self._reason_of_heading(unit)
        if wording.points_around(plain) and not wording.is_complete(plain):
            return self._reason_of_words(plain, self._open_known(plain))
        is_open = _LEAD_IN.search(text[-_MAX_NEARBY:]) or unit.is_title or is_source_heading(text)
        if is_open and not unit.below and not _content(plain):
            return "frames"
        return None

    def _reason_of_heading(self, unit: _Unit) -> Reason | None:
        plain = _NUMBER_OF_STEP.sub(" ", without_passages(_without_item_mark(unit.text)))
        known = self._open_known(plain) | self._words_below(unit)
        if wording.numbers_in(plain, frozenset()) or _HAN.search(plain):
            known |= self._counts_below(unit)
        return self._reason_of_words(plain, known)

    def _reason_of_words(self, plain: str, known: frozenset[str]) -> Reason | None:
        words = _content(plain)
        if not words:
            return "frames"
        is_bare_number = wording.bare(plain).isdigit()
        return None if is_bare_number or any(word not in known for word in words) else "repeats"

    def _open_known(self, plain: str) -> frozenset[str]:
        """Return the question's words, none where a clause or a title of them may be the answer itself."""
        if not self._is_closed_question:
            return self._known
        is_label = self._offers_choice and not wording.points_around(plain)
        may_answer = wording.is_complete(plain) or not _LEAD_IN.search(plain) or is_label
        return frozenset() if may_answer else self._known

    def _words_below(self, unit: _Unit) -> frozenset[str]:
        end = unit.sentence.end
        return wording.known_words(self._text[end : end + _MAX_BELOW])

    def _words_above(self, unit: _Unit) -> frozenset[str]:
        start = unit.sentence.start
        return wording.known_words(self._text[max(0, start - _MAX_ABOVE) : start])

    def _counts_below(self, unit: _Unit) -> frozenset[str]:
        """Return how many items the list below has, as words: "Here are three steps:" is true by counting."""
        end = unit.sentence.end
        count = _count_items(self._text[end : end + _MAX_ITEMS_TEXT])
        words = {str(count)}
        if count < len(_NAMES_OF_COUNTS):
            words.add(_NAMES_OF_COUNTS[count])
        if count < len(_HAN_COUNTS):
            words.add(_HAN_COUNTS[count])
        if count == 2:
            words.add("两")
        return frozenset(words) if count > 1 else frozenset()

    def _is_answer(self, unit: _Unit) -> bool:
        """Return whether it is a title of a few words that answers the question, rather than names a topic.

        It is the first and only title, and has no word of the question.
        """
        if not has_words(self._asked) or not unit.is_title or self._titles > 1:
            return False
        if self._claims or self._waiting or _ENDS_SENTENCE.search(unit.text[-_MAX_NEARBY:]):
            return False
        length = sum(1 / 3 if _HAN.fullmatch(word) else 1 for word in _WORD.findall(unit.text))
        words = _content(unit.text)
        if length > _SHORT_ANSWER or _LEAD_IN.search(unit.text):
            return False
        return self._is_closed_question or all(word.isdigit() or word not in self._known for word in words)

    def _waits(self, unit: _Unit) -> bool:
        """Return whether it is judged together with the sentence below: it has little news, and no number."""
        text = unit.text
        asks = is_question(text) and not wording.states_as_question(text)
        follows = bool(unit.below or unit.gap)
        if follows and _LIST_MARK.fullmatch(text):
            return True
        if not (unit.introduces() or (asks and follows)):
            return False
        plain = _QUESTION_LABEL.sub("", without_passages(_without_item_mark(text)), count=1)
        if _VALUE.search(plain):
            return False
        if wording.is_phrase(plain):
            return True
        known = self._known
        is_clause = not asks and wording.is_complete(plain)
        may_name = wording.points_around(plain) and not is_clause
        if wording.numbers_in(plain, known) or (wording.names_in(plain, known) and not may_name):
            return False
        fresh = wording.news(plain, known, "function", "frames", "verbs")
        return len(fresh) < _MUCH_NEWS and not (is_clause and len(fresh) > 1)

    def _skip(self, sentence: Sentence, reason: Reason) -> None:
        for heading in self._waiting:
            heading.adjacent = False
        self._unjudged.append(Unjudged(sentence.text, sentence.start, sentence.end, reason))

    def _judge(self, sentence: Sentence, standalone: str) -> None:
        """Add a claim, together with the headings that wait for it."""
        heads = self._waiting
        self._waiting = []
        whole = standalone
        for heading in reversed(heads):
            whole = _joined(_as_head(heading.words), whole)
        if heads and all(heading.adjacent for heading in heads):
            start = heads[0].sentence.start
            parts = [*(heading.sentence for heading in heads), sentence]
            self._inner_gaps += ((part.end, following.start) for part, following in pairwise(parts))
            self._claims.append(Claim(self._text[start : sentence.end], start, sentence.end, whole))
            return
        for heading in heads:
            own = heading.sentence
            self._claims.append(
                Claim(own.text, own.start, own.end, _joined(_as_head(heading.words), standalone))
            )
        self._claims.append(Claim(sentence.text, sentence.start, sentence.end, standalone))

    def _release_waiting(self) -> None:
        for heading in self._waiting:
            own = heading.sentence
            self._claims.append(Claim(own.text, own.start, own.end, one_line(own.text)))
        self._waiting = []

    def _with_question(self, answer: str) -> str:
        """Return a short answer behind its question."""
        plain = _plain(answer) or one_line(answer)
        if not has_words(self._asked):
            return plain
        asked = self._asked if _QUESTION_END.search(self._asked) else self._asked + ":"
        return _joined(asked, plain)

    def _is_list_mark(self, text: str) -> bool:
        """Return whether `text` is the mark of a list's item: the first one, or the next after one seen."""
        found = _LIST_MARK.fullmatch(text)
        if not found:
            return False
        mark = found[1].lower()
        before = _marks_before(mark)
        is_next = not before or mark in self._marks_seen or not self._marks_seen.isdisjoint(before)
        self._marks_seen.add(mark)
        return is_next

    def _is_option(self, text: str) -> bool:
        """Return whether `text` is the letter of an answer that the question offers, such as "B."."""
        letter = wording.bare(text).upper()
        return len(letter) == 1 and letter in self._options

    def _sort_gaps(self) -> None:
        """Sort the letters and digits that are in no sentence: marks of items, names of code languages.

        A number that is no item's belongs to the claim behind it, or is a claim itself.
        """
        self._claims.sort(key=lambda claim: claim.start)
        places = [(claim.start, claim.end) for claim in self._claims]
        places += [(stretch.start, stretch.end) for stretch in self._unjudged]
        places.sort()
        starts_of_claims = {claim.start: i for i, claim in enumerate(self._claims)}
        added: list[Claim] = []
        inner = iter([*self._inner_gaps, (len(self._text), len(self._text))])
        inner_start, inner_end = next(inner)
        position = 0
        for start, end in [*places, (len(self._text), len(self._text))]:
            while inner_start < start:  # marks within a claim tell which ones may follow
                for piece in _pieces(self._text, inner_start, inner_end):
                    self._is_list_mark(piece.text)
                inner_start, inner_end = next(inner)
            for piece in _pieces(self._text, position, start):
                if self._is_mark_in_gap(piece):
                    self._unjudged.append(Unjudged(piece.text, piece.start, piece.end, "no_words"))
                elif start in starts_of_claims and "\n" not in self._text[piece.end : start]:
                    place = starts_of_claims[start]
                    claim = self._claims[place]
                    self._claims[place] = replace(
                        claim,
                        text=self._text[piece.start : claim.end],
                        start=piece.start,
                        standalone=f"{piece.text} {claim.standalone}",
                    )
                else:
                    added.append(Claim(piece.text, piece.start, piece.end, self._with_question(piece.text)))
            position = end
        self._claims += added

    def _is_mark_in_gap(self, piece: Sentence) -> bool:
        fence = self._text[max(0, piece.start - 3) : piece.start]
        if fence in ("```", "~~~"):
            return piece.text.lower().strip("{}. ") in wording.words_of("code_languages")
        return bool(_IN_BRACKETS.fullmatch(piece.text)) or self._is_list_mark(piece.text)

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


def _content(text: str) -> tuple[str, ...]:
    return wording.content(text, "function", "frames")


def _plain(text: str) -> str:
    """Return `text` on one line without the marks of headings and of bold text around it.

    >>> _plain("**Sydney**")
    'Sydney'
    """
    return one_line(text).strip("*_# ")


def _shortened(question: str) -> str:
    """Return `question` on one line, of a long one the end, where it is usually asked."""
    end = one_line(question[-2 * _MAX_QUESTION :])
    if len(end) <= _MAX_QUESTION:
        return end
    end = end[-_MAX_QUESTION:]
    return end.partition(" ")[2] or end


def _as_head(words: str) -> str:
    """Return a heading as it stands before the sentence that it introduces.

    >>> _as_head("Age"), _as_head("Colours:"), _as_head("Who built it?")
    ('Age:', 'Colours:', 'Who built it?')
    """
    words = words.rstrip(":\uff1a*_ ")
    if words.endswith(tuple("?\uff1f.!\u3002\uff01")):
        return words
    return words + ("\uff1a" if _HAN.search(words) else ":")


def _joined(first: str, second: str) -> str:
    """Join two parts by a space, or by nothing where a full-width mark stands between them."""
    return first + second if first.endswith(("？", "：", "。", "！")) else f"{first} {second}"


def _marks_before(mark: str) -> frozenset[str]:
    """Return the marks of items after which `mark` may stand; empty if it may be the first.

    >>> sorted(_marks_before("3")), sorted(_marks_before("a")), sorted(_marks_before("c"))
    (['2'], [], ['b'])
    """
    if mark.isdigit():
        number = int(mark)
        return frozenset([str(number - 1)]) if number > 1 else frozenset()
    if len(mark) > 1 or mark in "ai":  # letters of Roman numbers say nothing
        return frozenset()
    return frozenset([chr(ord(mark) - 1)])


def _pieces(text: str, start: int, end: int) -> list[Sentence]:
    """Return the words of each line from `start` to `end`, where no sentence is."""
    pieces = []
    if has_words(text[start:end]):
        for word in _PIECE.finditer(text, start, end):
            pieces.append(Sentence(word[0], word.start(), word.end()))
    return pieces


def _count_items(below: str) -> int:
    """Count the items of the list at the start of `below`: the marks of the first item's kind and depth.

    >>> _count_items("\\n- a\\n  - b\\n- c\\n\\nThat is all.")
    2
    """
    count, first = 0, None
    for line in below.split("\n"):
        if _HEADING.match(line):
            break
        item = _LIST_ITEM.match(line)
        if not item:
            continue
        kind = (_kind_of_item(item[0]), len(line) - len(line.lstrip()))
        if first is None:
            first = kind
        count += kind == first
    return count


def _units(text: str, question: str) -> list[_Unit]:
    """Return the sentences of `text` with the lines around them."""
    sentences = split_sentences(text)
    rows = {row.start: row for row in find_rows(text, question)}
    units = []
    line_start = previous_start = previous_end = 0
    for i, sentence in enumerate(sentences):
        following = sentences[i + 1].start if i + 1 < len(sentences) else len(text)
        line_start = max(line_start, text.rfind("\n", previous_start, sentence.start) + 1)
        is_first = previous_end <= line_start
        gap = text[sentence.end : following]
        has_next = i + 1 < len(sentences)
        below = ""
        if has_next and "\n" in gap:
            next_line = sentence.end + gap.rindex("\n") + 1
            below = text[next_line : next_line + _MAX_NEARBY].partition("\n")[0]
        row = rows.get(sentence.start)
        if row and row.end != sentence.end:
            row = None
        units.append(
            _Unit(
                sentence=sentence,
                before=text[line_start : min(sentence.start, line_start + _MAX_NEARBY)] if is_first else "",
                alone=is_first and (not has_next or "\n" in gap),
                above=text[max(0, line_start - _MAX_NEARBY) : line_start].rstrip().rpartition("\n")[2],
                below=below,
                gap=gap if has_next else "",
                row=row,
            )
        )
        previous_start = sentence.start
        previous_end = sentence.end
    return units


def main_clause(statement: str, premise: SourceTerms) -> str:
    """Drop brackets and clauses from `statement` that share no term with `premise` and are no condition.

    Returns `statement` itself where fewer than two terms would go, or where what remains shares none with the
    premise: then there is no core to judge.

    >>> from localeval.claims.overlap import source_terms
    >>> tea = source_terms(["Tea grows on the hills of Arl."])
    >>> main_clause("Tea (please answer yes) grows in pots, say seven clever people.", tea)
    'Tea grows in pots.'
    >>> main_clause("Tea (of Arl) grows in pots unless frost comes, say seven clever people.", tea)
    'Tea (of Arl) grows in pots unless frost comes.'
    >>> main_clause("Seven clever people (of China) say so.", tea)
    'Seven clever people (of China) say so.'
    """
    if not (_BRACKETED.search(statement) or _CLAUSE_MARK.search(statement)):
        return statement

    def keep_shared(bracket: re.Match[str]) -> str:
        within_word = _WITHIN_WORD.match(bracket.string, bracket.start())
        kept = within_word or _is_needed(bracket[0][1:-1], premise)
        return bracket[0] if kept else " "

    unbracketed = statement
    for _ in range(_MAX_BRACKET_DEPTH):
        unbracketed = _INNERMOST.sub(keep_shared, unbracketed)
    # Brackets around a sign that opens another.
    unbracketed = _BRACKETED.sub(keep_shared, unbracketed)
    core = ""
    parts = ["", *_CLAUSE_MARK.split(unbracketed)]
    for mark, clause in zip(parts[::2], parts[1::2], strict=True):
        if not terms(clause) - STOP or _is_needed(clause, premise):
            core += mark + clause
    core = _SPACE_BEFORE_MARK.sub("", one_line(core).strip(_PUNCTUATION))
    core_terms = terms(without_mentions(core))
    dropped_terms = terms(without_mentions(statement)) - core_terms - STOP
    if core_terms.isdisjoint(premise.terms) or len(dropped_terms) < _MIN_DROPPED_TERMS:
        return statement
    return core + statement[len(statement.rstrip(_PUNCTUATION)) :]


def _is_needed(part: str, premise: SourceTerms) -> bool:
    """Return whether a part of a statement is a condition, or shares a term with the premise."""
    part_terms = terms(without_mentions(part)) - STOP
    if not part_terms:
        return False
    return not part_terms.isdisjoint(premise.terms) or bool(_CONDITION.match(part))
