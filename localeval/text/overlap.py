"""Compare texts by their words and numbers alone: shared terms, closest sentences, omitted content.

A small judge reads numbers badly, and no model is needed to see that the contexts lack a number.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from localeval.text.numbers import (
    DATE,
    DIGITS,
    MONTHS,
    SPACED,
    apply_scale,
    canonical,
    date_parts,
    in_digits,
    joined,
    parse_numbers,
)
from localeval.text.sentences import split_sentences

LEAST_ADDED = 0.15  # share of the weight of a statement's terms that a further sentence must add
# A clause is omitted if at least this many of its words, and more than this share, are in no statement:
# "based on the given passages" has fewer. A pair of Han characters counts less than a word, so that the six
# characters of 根据所给资料 are no omission, and seven are.
_MIN_OMITTED, _OMITTED_SHARE, _HAN_PAIR = 4, 0.6, 0.7

TERM = re.compile(r"[㐀-鿿豈-﫿]+|[^\W㐀-鿿豈-﫿]+")
_FULL_HOUR = re.compile(r":00(?![0-9:])")
_CLAUSE = re.compile(r"[,;:](?!\d)|[，；：、（）()]|\s(?:and|but)\s")
# The number of a passage or a list item, which is not part of the content. After a mere word it has at most
# two digits ("passage 12", and not "documents 1,200 deaths", "sources 40%", "资料2023年").
_SOURCE_NUMBER = r"[0-9]{1,2}(?![0-9%]|,[0-9]{3}|\.[0-9]|\s?[年月%])"
# After four words at most: more may say something of their own.
_FILE_OR_PAGE = (
    r"(?:[^\[\]()【】（）\s]+\s+){0,4}[^\[\]()【】（）\s]*"
    r"(?:\.(?:pdf|docx?|pptx?|xlsx?|html?|md|txt|csv)\b|\bpp?\.\s*[0-9])[0-9\s,;.–p-]*"
)
_MENTION = re.compile(
    r"\[\[?\^?[0-9]{1,3}\]?\]\([^()\s]{1,300}\)"  # a link
    r"|[\[【]\s*(?:(?:citation|ref|source|chunk|doc|id|s)s?[\s:：#_]*)?"  # of a chat model or a RAG system
    r"\^?[0-9][0-9,;、:\s–-]*\^?(?:†[^\]】\n]{0,80})?[\]】]"
    rf"|[\[【(（]\s*(?:{_FILE_OR_PAGE}|(?:sources?|references?|来源|出处|参考)\s*[:：][^\[\]()【】（）\n]{{0,100}})"
    r"[\]】)）]"
    r"|##[0-9]{1,3}\$\$|<sup>[^<>\n]{1,9}</sup>|\{[0-9]{1,2}\}|[⁰¹²³⁴-⁹①-⑳]"
    r"|(?<![A-Za-z0-9_])[(（][0-9]{1,2}[)）](?=\s*[^\W\d_])"  # of an item in a sentence
    rf"|\b(?:passages?|contexts?|docs?|documents?|sources?|paragraphs?|texts?)\s*(?:#\s*)?{_SOURCE_NUMBER}"
    rf"(?:(?:\s*,\s*(?:and\s+)?|\s*(?:and|or|to|&|-|–)\s*){_SOURCE_NUMBER})*"
    rf"|(?:段落|资料|文档|文章|材料|上下文)\s*{_SOURCE_NUMBER}(?:\s*[、,，和与及至-]\s*{_SOURCE_NUMBER})*"
    r"|第\s*[0-9]+\s*(?:段|篇|条资料|份)"
    r"|^\s*(?:\*\*)?\(?[0-9]{1,2}(?:[)、）]|[.．](?=\s|[㐀-鿿]))",
    re.IGNORECASE,
)


class Evidence(BaseModel):
    """One sentence of the contexts: its text, the index of its context, and its offsets there."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    context: int
    start: int
    end: int


def context_sentences(contexts: Sequence[str]) -> tuple[Evidence, ...]:
    """Return every sentence of the contexts, in order."""
    return _sentences(tuple(contexts))


@lru_cache(maxsize=4)  # several judgements of a sample need the sentences of its contexts
def _sentences(contexts: tuple[str, ...]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(text=s.text, context=i, start=s.start, end=s.end)
        for i, text in enumerate(contexts)
        for s in split_sentences(text)
    )


def rank_sentences(
    statements: Sequence[str], sentences: Sequence[Evidence], number: int
) -> list[tuple[Evidence, ...]]:
    """Return for each statement up to `number` sentences that together share most with it, closest first.

    The closest has the greatest weight of shared terms (rare terms weigh more); ties go to the first. Each
    further sentence adds the greatest weight of terms that those before it lack; ties go to the one that
    shares most, and it must add `LEAST_ADDED` of the weight of the statement's terms. Sharing terms does not
    prove support; a statement that shares none has no sentence.

    >>> tea = context_sentences(["Tea grows on hills. Coffee grows too. Tea needs rain."])
    >>> ranked = rank_sentences(["Tea on hills needs rain.", "Tea grows.", "Zebras!"], tea, 2)
    >>> [[sentence.text for sentence in closest] for closest in ranked]
    [['Tea grows on hills.', 'Tea needs rain.'], ['Tea grows on hills.'], []]
    """
    if not statements:
        return []  # no index is needed
    stated = frozenset[str]().union(*map(terms, statements))
    positions = defaultdict[str, list[int]](list)
    for i, sentence in enumerate(sentences):
        for term in terms(sentence.text) & stated:
            positions[term].append(i)
    weight = {term: math.log(1 + len(sentences) / len(indices)) for term, indices in positions.items()}
    unknown_weight = math.log(1 + len(sentences))  # the weight of a term in one sentence

    def shared_weight(required: frozenset[str]) -> list[float]:
        """Return for each sentence the weight of the terms of `required` that it has, 0 for none."""
        shares = [0.0] * len(sentences)
        for term in sorted(required & positions.keys()):  # sorted, so that a sum always has the same bits
            share = weight[term]
            for i in positions[term]:
                shares[i] += share
        return shares

    first_of_equals = range(0, -len(sentences), -1)  # falling, for `max`
    results = []
    for statement in statements:
        uncovered, chosen = terms(statement), list[int]()
        min_gain = LEAST_ADDED * math.fsum(weight.get(term, unknown_weight) for term in uncovered)
        shared = shared_weight(uncovered)
        while len(chosen) < number:
            gains = shared_weight(uncovered) if chosen else shared
            gain, share, place = max(zip(gains, shared, first_of_equals, strict=True), default=(0.0, 0.0, 0))
            if not share or (chosen and gain < min_gain):
                break
            chosen.append(-place)
            shared[-place] = 0.0
            uncovered -= terms(sentences[-place].text)
        results.append(tuple(sentences[i] for i in chosen))
    return results


@lru_cache(maxsize=256)  # several judgements look at one sentence
def terms(text: str) -> frozenset[str]:
    """Return the words in lower case; Han text as pairs of adjacent characters, a lone one as itself.

    >>> sorted(terms("Tea 青岚茶"))
    ['tea', '岚茶', '青岚']
    """
    result, runs = set[str](), TERM.findall(text.lower())
    if text.isascii():
        return frozenset(runs)
    for run in runs:
        if len(run) > 1 and "㐀" <= run[0] <= "﫿":
            result.update(map("".join, pairwise(run)))
        else:
            result.add(run)
    return frozenset(result)


STOP = terms(
    "a an and are as at be been but by can for from had has have he her his if in into is it its not of on "
    "or she so such than that the their them then there these they this those to was were which while who "
    "will with 的 了 是 在 和 与 也 有 为 于"
)


class SourceTerms(NamedTuple):
    """The terms of some texts, and their numbers in digits or words."""

    terms: frozenset[str]
    numbers: frozenset[str]


def source_terms(texts: Sequence[str]) -> SourceTerms:
    """Collect the terms and numbers of the texts that a statement is compared with."""
    return _source_terms(tuple(texts))


@lru_cache(maxsize=4)  # several judgements of a sample need the terms of its contexts
def _source_terms(texts: tuple[str, ...]) -> SourceTerms:
    empty = frozenset[str]()
    return SourceTerms(empty.union(*map(terms, texts)), empty.union(*map(parse_numbers, texts)))


def term_recall(statement: str, premise: SourceTerms) -> float:
    """Return the share of the statement's terms, without stop words, that the premise has, 0 to 1.

    1 for a statement without such terms: nothing can be missing.

    >>> term_recall("The tea of Arl grows in pots.", source_terms(["Tea grows.", "Arl is a hill."]))
    0.75
    >>> term_recall("大桥有桥墩。", source_terms(["大桥有二十个桥墩。"]))  # 大桥, 桥有 and 桥墩, not 有桥
    0.75
    >>> term_recall("...", source_terms(["Tea grows."]))
    1.0
    """
    statement_terms = terms(statement) - STOP
    return len(statement_terms & premise.terms) / len(statement_terms) if statement_terms else 1.0


def unsupported_numbers(statement: str, premise: SourceTerms) -> tuple[str, ...]:
    """Return the statement's numbers in digits that the premise does not have, each once, in order.

    A number that means something else in the premise is not unsupported, and units are ignored.

    >>> source = source_terms(["1200 left on May 8, 2023, a third at 3 pm"])
    >>> unsupported_numbers("Passage 2: 1,200 of 70% left, the 3rd in 1962.", source)
    ('70', '1962')
    >>> unsupported_numbers("1,200 left on 2023-05-08 at 3:00 pm.", source)
    ()
    """
    text = _FULL_HOUR.sub("", statement.translate(DIGITS))
    by_scale = apply_scale(text)
    unsupported = []
    if DATE.search(text):
        known = premise.numbers | {number for name, number in MONTHS.items() if name in premise.terms}
        text = DATE.sub(lambda match: "" if known.issuperset(date_parts(match[0])) else match[0], text)
    # "10 000" is one number if the premise has it, else two, as in "on May 12 300 came".
    text = SPACED.sub(lambda match: "" if joined(match[0]) in premise.numbers else match[0], text)
    for number in dict.fromkeys(numbers(text)):
        if premise.numbers.isdisjoint({canonical(number), *by_scale.get(number, ())}):
            unsupported.append(number)
    return tuple(unsupported)


@lru_cache(maxsize=256)  # several judgements look at one statement
def numbers(text: str) -> tuple[str, ...]:
    """Return the numbers of `text` as `in_digits` does, without those of passages and of a list item.

    >>> numbers("1. In ２０２１-05, 1,200 to 1,500.5 people (passages 1, 2 and 3)")
    ('2021', '5', '1200', '1500.5')
    """
    return tuple(in_digits(without_mentions(text.translate(DIGITS))))


@lru_cache(maxsize=256)  # several rules look at one text
def without_mentions(text: str) -> str:
    """Drop mentions of numbered passages from `text`, and a list item's number at its start."""
    return _MENTION.sub(" ", text)


def omits_content(sentence: str, statements: Sequence[str]) -> bool:
    """Return whether a number of the sentence, or most of one of its clauses, is in no statement.

    The number of a passage may be left out; a lead-in ("Based on the passages, it appears that ...") is short
    enough to pass.

    >>> omits_content("Yes, within 7 days.", ["It can be returned."])
    True
    >>> omits_content("Ann Lee, who once trained the horses of the circus, left.", ["Ann Lee left."])
    True
    >>> omits_content("According to passage 2, Ann Lee left.", ["Ann Lee left."])
    False
    """
    stated = " ".join(statements)
    if not set(numbers(stated)).issuperset(numbers(sentence)):
        return True
    stated_terms = terms(stated)
    for clause in _CLAUSE.split(sentence):
        clause_terms = terms(clause)
        missing = _content_weight(clause_terms - stated_terms)
        if missing >= _MIN_OMITTED and missing > _OMITTED_SHARE * _content_weight(clause_terms):
            return True
    return False


def _content_weight(words: Collection[str]) -> float:
    """Sum the weights of words, sorted for the same bits. Most short words in Latin letters have no content.

    >>> _content_weight({"the", "horse", "青岚"})
    1.7
    """
    content = (word for word in sorted(words) if len(word) > 3 or not word.isascii())
    return sum(1 if word.isascii() else _HAN_PAIR for word in content)


def long_numbers(text: str) -> frozenset[str]:
    """Return the `numbers` of two digits or more: a single digit may count passages or list items.

    >>> sorted(long_numbers("Passage 12: 1,200 to 1,500 people, 35% of 7"))
    ['1200', '1500', '35']
    """
    return frozenset(number for number in numbers(text) if len(number) > 1)
