"""Compare a question with an answer: does one have content words that the other lacks?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from localeval.claims.question_words import content_words, plain_letters, question_words, without_long_words
from localeval.claims.sources import source_terms, unsupported_numbers
from localeval.claims.terms import TERM, terms
from localeval.claims.vocabulary import Vocabulary, vocabulary_of
from localeval.text.script import begins_with_han

_MIN_HAN_NAME = 3  # characters: of two, many a word is said in others
# Latin words count as two, as many as the characters of most Chinese words.
_LATIN_SIZE = 2
_FIRST_WORD = re.compile(r"\W{0,9}(\w{1,9})[,.!;:，。！；：]")
_QUESTION_END = re.compile(r"[?？][\s\"'”’»」』）)\]*_]*$")


def foreign_word(question: str, response: str, examples: frozenset[str], *, brief: bool = False) -> str:
    """Return a word which shows that `question` was not made from `response`; "" where there is none.

    examples  `content_terms` of the worked examples that a model saw: it may have taken a word from there
    brief     whether the response is so short that a question must have words of its own

    Foreign is a word of the examples, a name or a number that the response lacks. So is the first missing
    word where the response lacks more than half of the content words: one of two or more may be said in other
    words. In Chinese, where names have no capital letters, three adjacent characters are foreign of which
    none is in the response, and two where such characters are more than half. To a brief response only words
    of the examples are foreign.

    >>> foreign_word("When was the mill built?", "The mill was built in 1820.", frozenset())
    ''
    >>> from localeval.claims.question_words import content_terms
    >>> foreign_word("How is green tea made?", "Mix flour and water.", content_terms(("How is tea made?",)))
    'tea'
    >>> foreign_word("Where is Skell?", "The ferry leaves at nine.", frozenset())
    'Skell'
    """
    known = vocabulary_of(response)
    words = content_words(question)
    copied = next(_copied(words, known, examples), "")
    if copied or brief:
        return copied
    missing = [part for word in words for part in _missing_parts(word, known)]
    names = [word for word in missing if _is_name(word, question)]
    if names:
        return names[0]
    numbers = unsupported_numbers(without_long_words(question), source_terms([response]))
    if numbers:
        return numbers[0]
    return missing[0] if 2 * _size(missing) > _size(words) else ""


def _copied(words: Sequence[str], known: Vocabulary, examples: frozenset[str]) -> Iterator[str]:
    """Yield the words that the response lacks and the examples have; of a Chinese one such a pair."""
    for word in words:
        if begins_with_han(word):
            yield from (pair for pair in known.unknown_pairs(word) if pair in examples)
        elif word.lower() in examples and _missing_parts(word, known):
            yield word


def _missing_parts(word: str, known: Vocabulary) -> list[str]:
    """Return what the response lacks of a content word: of a Chinese one its unknown parts."""
    if begins_with_han(word):
        return known.missing_parts(word)
    is_known = known.has(word.lower()) or known.abbreviates(word)
    return [] if is_known else [word]


def _size(words: Sequence[str]) -> int:
    return sum(len(word) if begins_with_han(word) else _LATIN_SIZE for word in words)


def _is_name(word: str, question: str) -> bool:
    """Return whether a word has a capital letter that does not begin the question, or three characters.

    >>> [_is_name(word, "Open today, is Skell?") for word in ("Open", "today", "Skell")]
    [False, False, True]
    """
    if begins_with_han(word):
        return len(word) >= _MIN_HAN_NAME
    return word != word.lower() and not plain_letters(question).lstrip("\"'“‘*_ ").startswith(word)


def only_repeats(text: str, question: str) -> bool:
    """Return whether a text says nothing but what the question says.

    It may ask the same, in other words of questions; or it has no word or number of its own, and the question
    asks for something that it does not name itself. An answer to "Is it old?", or to "Is A or B older?", can
    have all its words from the question.

    >>> question = "When was the mill on the Arl built?"
    >>> [only_repeats(text, question) for text in ("The mill was built.", "In which year was it built?")]
    [True, True]
    >>> [only_repeats(text, question) for text in ("The mill was not built.", "It was built in 1820.")]
    [False, False]
    >>> only_repeats("The Arl is longer.", "Which is longer, the Arl or the Orrin?")
    False
    >>> question = "望澜桥是什么时候通车的？"
    >>> only_repeats("望澜桥通车了。", question), only_repeats("1962年通车。", question)
    (True, False)
    """
    known = vocabulary_of(question)
    words = question_words()
    if _QUESTION_END.search(text):
        own = content_words(text)
    elif _is_open(question):
        tokens = TERM.findall(words.han_empty.sub(" ", plain_letters(text)))
        own = [token for token in tokens if token.lower() not in words.empty]
    else:
        return False
    if any(_is_new(word, known) for word in dict.fromkeys(own)):
        return False
    return not unsupported_numbers(text, source_terms([question]))


def _is_new(word: str, known: Vocabulary) -> bool:
    if begins_with_han(word):
        return not all(known.covered(word))
    return not known.has(word.lower())


def decision_of(answer: str) -> str:
    """Return the "Yes" or "No" with which an answer begins, with the mark behind it; "" without one.

    >>> decision_of("No, it is not."), decision_of("Nobody knows."), decision_of("不是。是木头。")
    ('No,', '', '不是。')
    """
    start = _FIRST_WORD.match(answer)
    return start[0].strip() if start and start[1].lower() in question_words().decides else ""


def _is_open(question: str) -> bool:
    """Return whether the question can't be answered by yes or no, nor by a choice of what it names.

    >>> [_is_open(question) for question in ("Who built it?", "Is it old?", "Which is older, A or B?")]
    [True, False, False]
    >>> [_is_open(question) for question in ("桥有多长？", "桥很长吗？", "桥和塔哪个高？")]
    [True, False, False]
    """
    words = question_words()
    asked = terms(question)
    is_open = not asked.isdisjoint(words.open) or words.han_open.search(question)
    offers_choice = not asked.isdisjoint(words.choice) or words.han_choice.search(question)
    return bool(is_open) and not offers_choice
