"""Compare texts by their words and numbers alone: shared terms and closest sentences.

A small judge reads numbers badly, and no model is needed to see that the contexts lack a number.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from localeval.numbers.english import IDIOMS, MONTHS
from localeval.numbers.find import find_numbers, parse_numbers
from localeval.numbers.values import Number, Value
from localeval.text.normalise import normalise
from localeval.text.sentences import split_sentences

LEAST_ADDED = 0.15  # share of the weight of a statement's terms that a further sentence must add

TERM = re.compile(r"[㐀-鿿豈-﫿]+|[^\W㐀-鿿豈-﫿]+")
# The number of a passage or a list item, which is not part of the content. After a mere word it has at most
# two digits ("passage 12", and not "documents 1,200 deaths", "sources 40%", "资料2023年").
_NOT_OF_AN_AMOUNT = r"(?![0-9%]|,[0-9]{3}|\.[0-9]|\s?[年月%百千万亿])"
_SOURCE_NUMBER = rf"[0-9]{{1,2}}{_NOT_OF_AN_AMOUNT}"
_SMALL_NUMBER = rf"(?:1?[0-9]|20){_NOT_OF_AN_AMOUNT}"  # of a list, or of documents that may be counted, too
# After four words at most: more may say something of their own.
_FILE_OR_PAGE = (
    r"(?:[^\[\]()【】（）\s]+\s+){0,4}[^\[\]()【】（）\s]*"
    r"(?:\.(?:pdf|docx?|pptx?|xlsx?|html?|md|txt|csv)\b|\bpp?\.\s*[0-9])[0-9\s,;.–p-]*"
)
_FURTHER = r"(?:(?:\s*,\s*(?:and\s+)?|\s*(?:and|or|to|&|-|–)\s*)"
_HAN_FURTHER = r"(?:\s*[、,，和与及至-]\s*"
_LIST_WORDS = (
    "step|method|option|tip|reason|point|item|question|answer|example|note|way|步骤|方法|选项|问题|方案"
)
_IN_WORDS = "one|two|three|four|five|six|seven|eight|nine|ten"
_AS_ORDINALS = "first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth"
_GIVEN_TEXT = "段落|资料|文档|文章|材料|上下文"
# A circled number before one of these is a grade or a class, and no mark: ⑤级.
_GRADES = "级期号类型度组区路线层项等档班章节条款版式"
# After a label such as "Source:": a file, an address, a numbered text, or a name of a few words. More may be
# a claim.
_SOURCE_NAME = (
    rf"(?:{_FILE_OR_PAGE}|https?://[^\s\[\]()【】（）]{{1,200}}|(?:[A-Za-z]{{1,12}}|[㐀-鿿]{{1,4}})\s?\#?[0-9]{{1,3}}"
    r"|[A-Za-z.’'-]{1,20}(?: [A-Za-z.’'-]{1,20}){0,2}|[《]?[㐀-鿿]{1,8}[》]?)\s*"
)
_MENTION = re.compile(
    r"\[\[?\^?[0-9]{1,3}\]?\]\([^()\s]{1,300}\)"  # a link
    # Of a chat model or a RAG system; a year in brackets is an editor's word.
    r"|[\[【]\s*(?:citation|ref|source|chunk|doc|id|s)s?[\s:：#_]*\^?[0-9][0-9,;、:\s–-]*\^?(?:†[^\]】\n]{0,80})?[\]】]"
    r"|[\[【]\s*\^?[0-9]{1,3}(?![0-9])(?:[,;、:\s–-]{1,3}[0-9]{1,3}(?![0-9])){0,50}\s*\^?(?:†[^\]】\n]{0,80})?[\]】]"
    rf"|[\[【(（]\s*(?:{_FILE_OR_PAGE}|(?:sources?|references?|来源|出处|参考)\s*[:：]\s*{_SOURCE_NAME})"
    r"[\]】)）]"
    r"|##[0-9]{1,3}\$\$|(?<!10)<sup>[^<>\n]{1,9}</sup>|(?:^|(?<=\S))\s?\{[0-9]{1,2}\}(?=\s*(?:[.,;:。，；：\n]|\Z))"
    rf"|(?<!(?<![0-9])10)(?:[⁰¹²³⁴-⁹])+|[①-⑳](?![{_GRADES}])"
    # Of an item in a sentence: at its start, or behind a mark.
    r"|(?:^|(?<=[,;:.，；：、。\n])|(?<=[,;:.，；：、。\n]\s))[(（][0-9]{1,2}[)）](?=\s*[^\W\d_])"
    r"|(?<=[据见照])(?:[^，。；\n]{0,8}[和与及、])?第\s*[0-9]+\s*[段篇]"
    rf"|\b(?:passages?|contexts?|sources?|chunks?|excerpts?)\s*(?:#\s*)?{_SOURCE_NUMBER}"
    rf"{_FURTHER}{_SOURCE_NUMBER})*"
    rf"|\b(?:docs?|documents?|texts?)\s*(?:#\s*)?{_SMALL_NUMBER}{_FURTHER}{_SMALL_NUMBER})*"
    rf"|\b(?:passages?|contexts?|sources?|documents?|texts?|paragraphs?)\s+(?:{_IN_WORDS})\b"
    rf"|\b(?:{_AS_ORDINALS})\s+(?:passages?|contexts?|sources?|documents?|texts?|paragraphs?|excerpts?)\b"
    rf"|(?:{_GIVEN_TEXT})\s*{_SOURCE_NUMBER}{_HAN_FURTHER}{_SOURCE_NUMBER})*"
    rf"|第\s*[0-9]+\s*(?:[条个份篇段]\s*)?(?:{_GIVEN_TEXT})"
    # A list's numbers at the start: "Step 6:", "Option 2", "3."
    rf"|^\W{{0,9}}(?:{_LIST_WORDS})\s*#?{_SMALL_NUMBER}(?=\W{{0,9}}(?:[:：.)]|$|\n))"
    rf"|^\s*(?:\*\*)?\(?{_SMALL_NUMBER}(?:[)、）]|[.．](?=\s|[㐀-鿿]))",
    re.IGNORECASE,
)
# A law has paragraphs, too: these are mentions only where there are as many contexts.
_PARAGRAPH = re.compile(
    rf"\b(?:paragraphs?)\s*(?:#\s*)?{_SOURCE_NUMBER}{_FURTHER}{_SOURCE_NUMBER})*|第\s*[0-9]{{1,2}}\s*[段篇]",
    re.IGNORECASE,
)
# "(1) tea and (2) salt": numbers in brackets that go on from one another are those of items.
_ITEM_NUMBER = re.compile(r"(?<![A-Za-z0-9_])[(（]([0-9]{1,2})[)）](?=\s*[^\W\d_])")
_DIGITS = re.compile("[0-9]+")
_FULL_WIDTH_DIGITS = str.maketrans("０１２３４５６７８９", "0123456789")
_LINE_END_HYPHEN = re.compile(r"[-\u2010][ \t]*\r?\n")
# Numbers that footnotes and items are marked with are no part of words.
_NO_WORDS = dict.fromkeys(map(ord, "⁰¹²³⁴⁵⁶⁷⁸⁹①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳ªº"), " ")
# What stands in place of a mention while numbers are read: a space could join the numbers beside it.
_REMOVED = "\ufffc"
_CIRCLED = {ord(sign): f"{_REMOVED}{i}{_REMOVED}" for i, sign in enumerate("①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳", 1)}
# "in millions" above a table is the scale of its numbers.
_SCALE_NOTE = re.compile(
    r"\b(?:in|of)\s+(thousand|million|billion)s\b|单位\s*[:：]\s*(?:人民币)?([百千]?[万亿]|千)", re.I
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

    The text is read as `normalise` reads it.

    >>> sorted(terms("Tea 青岚茶"))
    ['tea', '岚茶', '青岚']
    >>> sorted(terms("ＴＥＡ 青嵐茶"))
    ['tea', '岚茶', '青岚']
    """
    if not text.isascii() or "-" in text:
        text = normalise(text).text.translate(_NO_WORDS)
    runs = TERM.findall(text.lower())
    if text.isascii():
        return frozenset(runs)
    result = set[str]()
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
    """What a statement is compared with.

    terms    the terms of the texts
    numbers  the values of their numbers, in digits or words
    names    their words with digits ("gpt4" for GPT-4)
    scales   the powers of ten that notes give to tables ("in millions")
    texts    how many texts there are
    """

    terms: frozenset[str]
    numbers: frozenset[Value]
    names: frozenset[str] = frozenset()
    scales: frozenset[int] = frozenset()
    texts: int = 0


def source_terms(texts: Sequence[str]) -> SourceTerms:
    """Collect the terms and numbers of the texts that a statement is compared with."""
    return _source_terms(tuple(texts))


@lru_cache(maxsize=4)  # several judgements of a sample need the terms of its contexts
def _source_terms(texts: tuple[str, ...]) -> SourceTerms:
    all_terms: set[str] = set()
    numbers: set[Value] = set()
    names: set[str] = set()
    scales: set[int] = set()
    for text in texts:
        all_terms |= terms(text)
        if _LINE_END_HYPHEN.search(text):
            # "well-" and "known" on two lines may be well-known as well as wellknown.
            all_terms |= terms(_LINE_END_HYPHEN.sub("- ", text))
        counted = text.translate(_CIRCLED)
        numbers |= parse_numbers(counted)
        names.update(number.name for number in find_numbers(counted) if number.name)
        scales.update(_note_exponent(note) for note in _SCALE_NOTE.finditer(text))
    numbers.update(Value(digits, "month") for name, digits in MONTHS.items() if name in all_terms)
    return SourceTerms(
        frozenset(all_terms), frozenset(numbers), frozenset(names), frozenset(scales), len(texts)
    )


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
    """Return the statement's numbers that the premise does not have, each once, in order, in digits.

    A number that means something else in the premise is not unsupported, and units are ignored.

    >>> source = source_terms(["1200 left on May 8, 2023, a third at 3 pm"])
    >>> unsupported_numbers("Passage 2: 1,200 of 70% left, the 3rd in 1962.", source)
    ('70', '1962')
    >>> unsupported_numbers("1,200 left on 2023-05-08 at 3:00 pm, 33% at 15:00.", source)
    ()
    """
    unsupported: list[str] = []
    for number in _stated_numbers(statement, premise.texts):
        unsupported += _missing(number, premise)
    return tuple(dict.fromkeys(unsupported))


def _missing(number: Number, premise: SourceTerms) -> list[str]:
    """Return the values of a number that the premise lacks, as the text writes them; none if it knows it."""
    if any(premise.numbers.issuperset(reading) for reading in number.readings):
        return []
    if number.name and _knows_name(number.name, premise):
        return []
    if premise.scales and any(_by_note(number, exponent, premise) for exponent in sorted(premise.scales)):
        return []
    last = number.readings[-1]
    if len(last) > 1:
        return [value.digits for value in last if value not in premise.numbers]
    return [number.written]


def _knows_name(name: str, premise: SourceTerms) -> bool:
    """Return whether the premise has a word with digits, or everybody has it: COVID-19, 24/7."""
    if name in premise.names or name in IDIOMS:
        return True
    return len(name) > 1 and name in premise.terms


def _by_note(number: Number, exponent: int, premise: SourceTerms) -> bool:
    """Return whether the premise has the number as an amount of the unit that a note gives to its tables.

    >>> source = source_terms(["Sales (in millions)", "Tea 1,250"])
    >>> unsupported_numbers("Tea sold for $1.25 billion, or 1,250 million, and not 2 million.", source)
    ('2 million',)
    """
    digits = number.readings[0][0].digits
    if len(number.readings[0]) != 1 or not digits.isdigit() or not digits.endswith("0" * exponent):
        return False
    return Value(digits[:-exponent]) in premise.numbers


def _note_exponent(note: re.Match[str]) -> int:
    """Return the power of ten of a match of `_SCALE_NOTE`."""
    [number] = find_numbers("1" + (note[2] or " " + note[1]))
    return len(number.readings[0][0].digits) - 1


@lru_cache(maxsize=256)  # several judgements look at one statement
def _stated_numbers(text: str, texts: int) -> tuple[Number, ...]:
    """Return the numbers that `text` states: none of idioms, of passages, of list items.

    texts  how many texts it speaks of: where there are five, "paragraph 5" may be one of them
    """
    text = _replace_mentions(text, _REMOVED)
    text = _PARAGRAPH.sub(lambda match: _blank_if_given(match, texts), text)
    return tuple(number for number in find_numbers(text.translate(_CIRCLED)) if number.claims)


def _blank_if_given(match: re.Match[str], texts: int) -> str:
    named = [int(digits) for digits in _DIGITS.findall(match[0])]
    return _REMOVED if max(named) <= texts else match[0]


@lru_cache(maxsize=256)  # several judgements look at one statement
def numbers(text: str) -> tuple[str, ...]:
    """Return the numbers that `text` states, in digits, without those of passages and of a list item.

    >>> numbers("1. In ２０２１-05, 1,200 to 1,500.5 people (passages 1, 2 and 3), twelve of them")
    ('2021', '5', '1200', '1500.5', '12')
    """
    stated = _stated_numbers(text, 0)
    return tuple(value.digits for number in stated for value in number.readings[0])


@lru_cache(maxsize=256)  # several rules look at one text
def without_mentions(text: str) -> str:
    """Drop mentions of numbered passages from `text`, and a list item's number at its start.

    >>> without_mentions("As passage 2 says [3], it has (1) tea and (2) salt.").split()
    ['As', 'says', ',', 'it', 'has', 'tea', 'and', 'salt.']
    """
    return _replace_mentions(text, " ")


def _replace_mentions(text: str, by: str) -> str:
    text = text.translate(_FULL_WIDTH_DIGITS)
    items = {int(match[1]) for match in _ITEM_NUMBER.finditer(text)}
    text = _MENTION.sub(by, text)

    def replace_item(match: re.Match[str]) -> str:
        number = int(match[1])
        return by if {number - 1, number + 1} & items else match[0]

    return _ITEM_NUMBER.sub(replace_item, text) if items else text
