"""What texts share, by their words and numbers alone: terms, the closest sentences, what is left out.

A small judge reads numbers badly. That a number is nowhere in the contexts needs no model to be seen.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from localeval.text.numbers import DIGITS, SPACED, apply_scale, canonical, in_digits, joined, parse_numbers
from localeval.text.sentences import split_sentences

LEAST_ADDED = 0.15  # of the weight of a statement's terms, what a further sentence adds at least
# A clause is left out where this many of its words, and more than this share, stand in no statement: "based
# on the given passages" has fewer. A pair of Han characters counts for less, so that the six characters of
# 根据所给资料 are no clause, and seven are.
_FEWEST_LEFT_OUT, _SHARE_LEFT_OUT, _HAN_PAIR = 4, 0.6, 0.7

TERM = re.compile(r"[㐀-鿿豈-﫿]+|[^\W㐀-鿿豈-﫿]+")
_CLAUSE = re.compile(r"[,;:](?!\d)|[，；：、（）()]|\s(?:and|but)\s")
# A number that counts passages or list items, and says nothing of what they tell: of two digits at most where
# only a word tells it ("passage 12", and not "documents 1,200 deaths", "sources 40%", "资料2023年").
_PLACE = r"[0-9]{1,2}(?![0-9%]|,[0-9]{3}|\.[0-9]|\s?[年月%])"
_MENTION = re.compile(
    r"[\[【]\^?[0-9][0-9,、\s–-]*[\]】]"
    rf"|\b(?:passages?|contexts?|docs?|documents?|sources?|paragraphs?|texts?)\s*(?:#\s*)?{_PLACE}"
    rf"(?:(?:\s*,\s*(?:and\s+)?|\s*(?:and|or|to|&|-|–)\s*){_PLACE})*"
    rf"|(?:段落|资料|文档|文章|材料|上下文)\s*{_PLACE}(?:\s*[、,，和与及至-]\s*{_PLACE})*"
    r"|第\s*[0-9]+\s*(?:段|篇|条资料|份)"
    r"|^\s*(?:\*\*)?\(?[0-9]{1,2}(?:[)、）]|[.．](?=\s|[㐀-鿿]))",
    re.IGNORECASE,
)


class Evidence(BaseModel):
    """One sentence of the contexts: its text, the number of its context, and its place there."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    context: int
    start: int
    end: int


def context_sentences(contexts: Sequence[str]) -> tuple[Evidence, ...]:
    """List every sentence of the contexts, in order."""
    return _sentences(tuple(contexts))


@lru_cache(maxsize=4)  # several judgements of a sample ask for those of the same contexts
def _sentences(contexts: tuple[str, ...]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(text=s.text, context=i, start=s.start, end=s.end)
        for i, text in enumerate(contexts)
        for s in split_sentences(text)
    )


def rank_sentences(
    statements: Sequence[str], sentences: Sequence[Evidence], number: int
) -> list[tuple[Evidence, ...]]:
    """Find for each statement up to `number` sentences that together share most with it, closest first.

    The closest is the one whose shared terms weigh most (rare terms more), the first of equals. Each further
    one adds most of what those before it lack, of equals the one that shares most, and is taken only where
    that is `LEAST_ADDED` of the weight of the statement's terms. Sharing terms does not prove support; a
    statement that shares none has no sentence.

    >>> tea = context_sentences(["Tea grows on hills. Coffee grows too. Tea needs rain."])
    >>> found = rank_sentences(["Tea on hills needs rain.", "Tea grows."], tea, 2)
    >>> [[one.text for one in own] for own in found]
    [['Tea grows on hills.', 'Tea needs rain.'], ['Tea grows on hills.']]
    """
    if not statements:
        return []  # nothing is asked, so nothing is indexed
    places = term_positions([terms(s.text) for s in sentences])
    weight = {term: math.log(1 + len(sentences) / len(where)) for term, where in places.items()}
    of_unknown = math.log(1 + len(sentences))  # as of a term that one sentence has
    found = []
    for statement in statements:
        wanted, chosen = terms(statement), list[int]()
        least = LEAST_ADDED * math.fsum(weight.get(term, of_unknown) for term in wanted)
        shares = shared_weight(wanted, len(sentences), places, weight)
        sharing = [i for i, share in enumerate(shares) if share > 0]
        while sharing and len(chosen) < number:
            new = shared_weight(wanted, len(sentences), places, weight) if chosen else shares
            ranked = {i: (new[i], shares[i]) for i in sharing}
            best = max(sharing, key=ranked.__getitem__)  # the first of equals
            if chosen and new[best] < least:
                break
            sharing.remove(best)
            chosen.append(best)
            wanted -= terms(sentences[best].text)
        found.append(tuple(sentences[i] for i in chosen))
    return found


def term_positions(terms_of: Sequence[frozenset[str]]) -> dict[str, list[int]]:
    """Term -> the numbers of the sentences that have it, in order."""
    places: dict[str, list[int]] = {}
    for i, own in enumerate(terms_of):
        for term in own:
            places.setdefault(term, []).append(i)
    return places


def shared_weight(
    wanted: frozenset[str], number: int, places: Mapping[str, Sequence[int]], weight: Mapping[str, float]
) -> list[float]:
    """Weigh in each of `number` sentences the terms of `wanted` that it has; 0 where it has none."""
    shares = [0.0] * number
    for term in sorted(wanted & places.keys()):  # in one order, so that a sum has always the same bits
        for i in places[term]:
            shares[i] += weight[term]
    return shares


@lru_cache(maxsize=256)  # a sentence is looked at by several judgements
def terms(text: str) -> frozenset[str]:
    """Words in lower case; Han text as pairs of neighbouring characters, a lone one as itself.

    >>> sorted(terms("Tea 青岚茶"))
    ['tea', '岚茶', '青岚']
    """
    found = set[str]()
    for run in TERM.findall(text.lower()):
        if len(run) > 1 and "㐀" <= run[0] <= "﫿":
            found.update(map("".join, pairwise(run)))
        else:
            found.add(run)
    return frozenset(found)


STOP = terms(
    "a an and are as at be been but by can for from had has have he her his if in into is it its not of on "
    "or she so such than that the their them then there these they this those to was were which while who "
    "will with 的 了 是 在 和 与 也 有 为 于"
)


class SourceTerms(NamedTuple):
    """The terms of some texts, and the numbers that they name in digits or in words."""

    terms: frozenset[str]
    numbers: frozenset[str]


def source_terms(texts: Sequence[str]) -> SourceTerms:
    """Collect what a statement is looked for in."""
    return _source_terms(tuple(texts))


@lru_cache(maxsize=4)  # several judgements of a sample ask for that of the same contexts
def _source_terms(texts: tuple[str, ...]) -> SourceTerms:
    none = frozenset[str]()
    return SourceTerms(none.union(*map(terms, texts)), none.union(*map(parse_numbers, texts)))


def term_recall(statement: str, premise: SourceTerms) -> float:
    """Give the share of the statement's terms, stop words aside, that the premise has, 0 to 1.

    1 where the statement has no such term: there is nothing that could be missing.

    >>> term_recall("The tea of Arl grows in pots.", source_terms(["Tea grows.", "Arl is a hill."]))
    0.75
    """
    own = terms(statement) - STOP
    return len(own & premise.terms) / len(own) if own else 1.0


def unsupported_numbers(statement: str, premise: SourceTerms) -> tuple[str, ...]:
    """Find the statement's numbers in digits that the premise names nowhere, each once, in order.

    One that stands in the premise for something else is no unknown one, and units are not looked at.

    >>> source = source_terms(["1200 left, a third"])
    >>> unsupported_numbers("Passage 2: 1,200 of 70% left, the 3rd in 1962.", source)
    ('70', '1962')
    """
    text = statement.translate(DIGITS)
    by_scale = apply_scale(text)
    unknown = []
    # "10 000" is one number where the premise has it, and else two, as in "on May 12 300 came".
    text = SPACED.sub(lambda spaced: "" if joined(spaced[0]) in premise.numbers else spaced[0], text)
    for number in dict.fromkeys(numbers(text)):
        parts = [part.lstrip("0") or "0" for part in number.split(".")]  # of a date, where there are three
        dated = len(parts) > 2 and premise.numbers.issuperset(parts)
        if not dated and premise.numbers.isdisjoint({canonical(number), *by_scale.get(number, ())}):
            unknown.append(number)
    return tuple(unknown)


@lru_cache(maxsize=256)  # a statement is looked at by several judgements
def numbers(text: str) -> tuple[str, ...]:
    """Find its numbers as `in_digits` does, less those of passages and of a list item before it.

    >>> numbers("1. In ２０２１-05, 1,200 to 1,500.5 people (passages 1, 2 and 3)")
    ('2021', '5', '1200', '1500.5')
    """
    return tuple(in_digits(without_mentions(text.translate(DIGITS))))


def without_mentions(text: str) -> str:
    """Drop mentions of numbered passages from `text`, and the number of a list item before it."""
    return _MENTION.sub(" ", text)


def omits_content(sentence: str, statements: Sequence[str]) -> bool:
    """Tell whether a number of the sentence, or most of a clause, is in none of the statements.

    What only introduces ("Based on the passages, it appears that ...") is short enough to be let pass.

    >>> omits_content("It opened in 1962.", ["The bridge opened."])
    True
    >>> omits_content("Ann Lee, who once trained the horses of the circus, left.", ["Ann Lee left."])
    True
    >>> omits_content("According to passage 2, Ann Lee left.", ["Ann Lee left."])
    False
    """
    said = " ".join(statements)
    if long_numbers(sentence) - long_numbers(said):
        return True
    known = terms(said)
    for clause in _CLAUSE.split(sentence):
        # Most of the short words of alphabets carry no content.
        words = {term for term in terms(clause) if len(term) > 3 or not term.isascii()}
        whole, missing = (
            sum(1 if word.isascii() else _HAN_PAIR for word in some) for some in (words, words - known)
        )
        if missing >= _FEWEST_LEFT_OUT and missing > _SHARE_LEFT_OUT * whole:
            return True
    return False


def long_numbers(text: str) -> frozenset[str]:
    """Find its `numbers` of two digits and more: a single digit may count passages or list items.

    >>> sorted(long_numbers("Passage 12: 1,200 to 1,500 people, 3.5% of 7"))
    ['1200', '1500', '3.5']
    """
    return frozenset(number for number in numbers(text) if len(number) > 1)
