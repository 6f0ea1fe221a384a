"""What is read from a question before its answer is sorted into claims."""

from __future__ import annotations

import re
from dataclasses import dataclass

from localeval.text import question_types
from localeval.text.content_words import bare, known_words
from localeval.text.display import one_line
from localeval.text.sentences import has_words

_MAX_SHOWN = 300  # characters of a question that stand before a short answer
_QUESTION_END = re.compile(r"[.?!:。？！：]\Z")
# Behind these marks no space stands before the next sentence.
_FULL_WIDTH_ENDS = ("？", "：", "。", "！")


@dataclass(frozen=True)
class AskedQuestion:
    """A question, and what kind of answer it asks for.

    text               as it is given
    shown              on one line, of a long one the end, where it is usually asked
    known              its words, as `known_words` has them
    offers_choice      whether it names answers to choose from
    is_closed          whether it offers a choice, or a clause of it asks for yes or no
    may_be_yes_or_no   whether "yes" may answer it
    options            the letters of its options
    """

    text: str
    shown: str
    known: frozenset[str]
    offers_choice: bool
    is_closed: bool
    may_be_yes_or_no: bool
    options: frozenset[str]

    @property
    def has_words(self) -> bool:
        return has_words(self.shown)

    def with_answer(self, answer: str) -> str:
        """Return a short answer behind its question.

        >>> read_question("Is it safe?").with_answer("Yes.")
        'Is it safe? Yes.'
        >>> read_question("桥安全吗？").with_answer("安全。")
        '桥安全吗？安全。'
        """
        if not self.has_words:
            return answer
        asked = self.shown if _QUESTION_END.search(self.shown) else self.shown + ":"
        return join_sentences(asked, answer)

    def is_option(self, text: str) -> bool:
        """Return whether `text` is the letter of an answer that the question offers, such as "B."."""
        letter = bare(text).upper()
        return len(letter) == 1 and letter in self.options


def read_question(question: str) -> AskedQuestion:
    """Return what kind of answer a question asks for; "" asks for none."""
    offers_choice = question_types.offers_choice(question)
    may_be_yes_or_no = offers_choice or question_types.is_polar(question)
    return AskedQuestion(
        text=question,
        shown=_shortened(question),
        known=known_words(question),
        offers_choice=offers_choice,
        is_closed=offers_choice or question_types.asks_yes_or_no(question),
        may_be_yes_or_no=may_be_yes_or_no and not question_types.asks_favour(question),
        options=question_types.lettered_options(question),
    )


def _shortened(question: str) -> str:
    end = one_line(question[-2 * _MAX_SHOWN :])
    if len(end) <= _MAX_SHOWN:
        return end
    end = end[-_MAX_SHOWN:]
    return end.partition(" ")[2] or end


def join_sentences(first: str, second: str) -> str:
    """Join two parts by a space, or by nothing where a full-width mark stands between them.

    >>> join_sentences("Age:", "It is old."), join_sentences("年龄：", "它很旧。")
    ('Age: It is old.', '年龄：它很旧。')
    """
    separator = "" if first.endswith(_FULL_WIDTH_ENDS) else " "
    return first + separator + second
