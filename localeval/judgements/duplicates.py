"""Leave out the statements of a text that say nothing new."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations

from localeval.claims.tokens import Token, tokens
from localeval.claims.word_roles import words
from localeval.numbers.find import counts

_ARTICLES = frozenset(("the", "a", "an"))
_MAX_OTHER_ED = 4  # letters of "need", "seed", "feed", which end like a past and are none


def without_duplicates(sentences: Sequence[str], lists: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return the statements of each sentence, without those that say nothing new.

    In the list of one sentence, a statement goes that another repeats, or that another makes more exact. What
    an earlier sentence says is repeated only by a statement that names its subject, or by the same sentence
    right after it: "It has 300,000 inhabitants." may be said of two towns.

    >>> two = ["Arl is old. It is in Assam.", "So Arl is old."]
    >>> without_duplicates(two, [["Arl is old.", "Arl is old"], ["Arl is old."]])
    [('Arl is old.',), ()]
    >>> towns = ["Arl is far.", "It is old.", "Bonn is near.", "It is old."]
    >>> without_duplicates(towns, [[town] for town in towns])[3]
    ('It is old.',)
    """
    names = _names(sentences)
    seen: set[str] = set()
    unique = []
    previous = ""
    for sentence, texts in zip(sentences, lists, strict=True):
        is_repeated = sentence == previous
        previous = sentence
        by_key: dict[str, str] = {}
        for text in texts:
            by_key.setdefault(_comparable(text), text)
        new = []
        for key, text in by_key.items():
            is_said = key in seen and (is_repeated or _names_its_subject(text, sentence, names))
            if not is_said:
                new.append(text)
        seen.update(by_key)
        unique.append(tuple(_without_subsumed(new)))
    return unique


def _without_subsumed(texts: Sequence[str]) -> list[str]:
    """Leave out each text that another one makes more exact."""
    subsumed = {text for text, other in permutations(texts, 2) if _is_subsumed(text, other)}
    return [text for text in texts if text not in subsumed]


def _comparable(text: str) -> str:
    """Return a text in the form in which it is compared: capitals matter only in "US" and the like.

    >>> _comparable("Tea is liked in the US."), _comparable("tea is liked in the us")
    ('tea is liked in the US', 'tea is liked in the us')
    """
    parts = text.rstrip(".。 ").split()
    return " ".join(part if part.isupper() and len(part) > 1 else part.casefold() for part in parts)


def _names(sentences: Sequence[str]) -> frozenset[str]:
    """Return the words that have a capital where not every word has one: not at the start of a sentence."""
    of_all = [token for sentence in sentences for token in tokens(sentence)]
    return frozenset(token.word for token in of_all if token.is_name and not token.initial)


def _names_its_subject(statement: str, sentence: str, names: frozenset[str]) -> bool:
    """Return whether a statement begins with a name, so that it says the same wherever it stands.

    In Chinese no capital tells what a name is. But a beginning that the sentence does not have was put there
    by the judge, in place of a pronoun.
    """
    of_statement = tokens(statement)
    if not of_statement:
        return False
    first = of_statement[0]
    if first.is_han:
        return statement[:2] not in sentence and first.word not in words().pronouns
    subject = of_statement[1] if first.word in _ARTICLES and len(of_statement) > 1 else first
    return subject.word in names and subject.is_name


@dataclass(frozen=True)
class _Addition:
    """A run of words that one statement has and another has not, with the words around it.

    before, after    the words of both statements on either side, "" at the ends
    is_apposition    whether it stands between marks: ", the mayor,"
    """

    added: tuple[Token, ...]
    before: str
    after: str
    is_apposition: bool


def _is_subsumed(text: str, other: str) -> bool:
    """Return whether `other` says all that `text` says, and more: then `text` need not be judged.

    It has the same words in the same order. What it adds is a word that changes nothing ("officially"), an
    apposition between commas ("Ann Lee, the mayor, left"), or the time or place of something that is past.
    When in doubt both stay: "Tea is safe" is not said by "Tea is safe in small doses".

    >>> _is_subsumed("Ann Lee left.", "Ann Lee, the mayor, left in May.")
    True
    >>> _is_subsumed("It was opened on 12 May.", "It was opened on 12 May 1962.")
    True
    >>> _is_subsumed("Ann left Bob.", "In May Bob left Ann."), _is_subsumed("Bob left.", "Bob nearly left.")
    (False, False)
    >>> _is_subsumed("Tea is safe.", "Tea is safe in Assam."), _is_subsumed("三日到访。", "十三日到访。")
    (False, False)
    >>> _is_subsumed("桥于5月通车。", "桥于5月正式通车。"), _is_subsumed("王明是经理。", "王明是副经理。")
    (True, False)
    """
    additions = _additions(tokens(text), tokens(other))
    return bool(additions) and all(_is_harmless(addition, tokens(text)) for addition in additions)


def _additions(short: Sequence[Token], long: Sequence[Token]) -> list[_Addition]:
    """Return the runs of words that `long` adds to `short`; none where it has not all words in order."""
    runs: list[list[Token]] = [[]]  # before, between and after the words of `short`
    begins_after_mark = [False]  # of the word of `short` behind each run
    for token in long:
        position = len(runs) - 1
        if position < len(short) and token.word == short[position].word:
            runs.append([])
            begins_after_mark.append(token.after_mark)
        else:
            runs[-1].append(token)
    if len(runs) <= len(short):
        return []
    begins_after_mark.append(False)
    additions = []
    for i, run in enumerate(runs):
        if not run:
            continue
        before = short[i - 1].word if i else ""
        after = short[i].word if i < len(short) else ""
        is_apposition = bool(before) and run[0].after_mark and begins_after_mark[i + 1]
        additions.append(_Addition(tuple(run), before, after, is_apposition))
    return additions


def _is_harmless(addition: _Addition, text: Sequence[Token]) -> bool:
    """Return whether a statement with the addition says all that it says without.

    text  the statement without it
    """
    added = addition.added
    if _has_qualifier(added) or _continues_number(addition):
        return False
    written = "".join(token.word for token in added)
    if written in words().harmless:
        return True
    if addition.is_apposition:
        return added[0].word in _ARTICLES
    # What did not happen in May may have happened in June.
    if _has_qualifier(text) or not _is_past(text):
        return False
    return _is_time(addition) or _is_adverbial(addition)


def _has_qualifier(part: Sequence[Token]) -> bool:
    """Return whether a part of a statement negates or qualifies."""
    return any(token.negates or "qualifier" in token.labels for token in part)


def _continues_number(addition: _Addition) -> bool:
    """Return whether a number stands next to a number: 2 becomes 2.1, 三 becomes 十三.

    A year after "12 May" stands next to a word.
    """
    if not any(token.is_number for token in addition.added):
        return False
    neighbours = [word for word in (addition.before, addition.after) if word]
    return any(counts(word) for word in neighbours)


def _is_time(addition: _Addition) -> bool:
    """Return whether the addition is a time: "1962年" anywhere, and the year that follows a month."""
    times = words().times
    if not all(token.is_number or token.word in times for token in addition.added):
        return False
    return addition.added[0].is_han or addition.before in times


def _is_adverbial(addition: _Addition) -> bool:
    """Return whether the addition is an adverbial of place or time at the end: "in Torn", "in May 1962"."""
    is_at_end = not addition.after
    preposition, *places_and_times = addition.added
    if not is_at_end or not places_and_times:
        return False
    if preposition.word not in words().place_words:
        return False
    return all(token.is_number or token.is_name or token.word in words().times for token in places_and_times)


def _is_past(text: Sequence[Token]) -> bool:
    """Return whether a statement tells what happened: what holds at one time may not hold at another."""
    lists = words()
    if any(token.word in lists.present and not token.is_name for token in text):
        return False
    written = "".join(token.word for token in text)
    if any(event in written for event in lists.events):
        return True
    return any(token.word in lists.past or _ends_like_past(token) for token in text)


def _ends_like_past(token: Token) -> bool:
    is_verb = not (token.is_name or token.is_number)
    return is_verb and token.word.endswith("ed") and len(token.word) > _MAX_OTHER_ED
