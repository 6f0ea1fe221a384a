"""Which sentences of a text claim something: not its headings, questions, and what only introduces."""

from __future__ import annotations

import re
from functools import lru_cache

from localeval.text.display import one_line
from localeval.text.overlap import STOP, SourceTerms, terms, without_mentions
from localeval.text.sentences import Sentence, has_words, split_sentences

_BOLD = re.compile(r"\*\*[^*]+\*\*|__[^_]+__")
_HEADING = re.compile(r"\s*#{1,6}\s")
_ITEM = re.compile(r"\s*(?:[-*+•]|\(?\d{1,2}[.)、）])\s*")
_RULE = re.compile(r"\s*\|?\s*:?-{2,}[\s:|-]*")  # below the head of a table
_TITLE = re.compile(r"(\*{1,3}|_{1,3})(?=\S)[^*_]+[?\uff1f]\1\W*$")
_LINE_END = re.compile(r"[ \t\r]*(?:(?:\n[ \t\r]*)*\n|\Z)")  # with the empty lines below
_NEXT_LINE = re.compile(r"[ \t\r]*\n")
_BARE_MARK = re.compile(r"[(\uff08]\d{1,2}[)\uff09]$")  # as an answer: the option that it names
_BRACKETS = str.maketrans("\uff08\uff09", "()")
_BRACKETED = re.compile(r"\([^()]*\)|（[^（）]*）|\[[^\[\]]*\]|【[^【】]*】")
_BETWEEN = re.compile(r"([,;:](?!\d)|[.!?](?=\s)|[，；：、。！？—–])")
_MARKS = ",;:.!?，；：、。！？—– "
_SPACE_BEFORE_MARK = re.compile(r" (?=[,;:.!?，；：、。！？])")
_DEPTH = 4  # of brackets in brackets that are looked through
_FEWEST = 2  # terms that asides have at least: "for example," has fewer
_LOOK = 300  # characters that are looked at beside a sentence, so that the time grows with the text
_STOPS = (".", "!", "\u3002", "\uff01")
_OPEN = (":", "?", "\uff1a", "\uff1f")  # what ends so claims nothing


@lru_cache(maxsize=4)  # several judgements of a sample ask for those of the same text
def extract_claims(text: str) -> list[Sentence]:
    """Find the sentences of a text that claim something.

    Where none does, its headings and mentions ("[3]", "(3)"): an answer may be no more. What only leads on is
    never among them.

    >>> [s.text for s in extract_claims("# Tea\\nIt grows.")]
    ['It grows.']
    >>> [s.text for s in extract_claims("# Tea")]
    ['Tea']
    """
    found = split_sentences(text)
    own = [s for s in found if is_claim(s.text) and not _is_heading(s, text)]
    if own or (own := [s for s in found if not _leads_on(s.text)]):
        return own
    # The splitter takes a number in brackets at the head of a line for a mark, also where nothing follows.
    said = text.rstrip()
    mark = _BARE_MARK.search(said[-4:])
    return [Sentence(mark[0], len(said) - len(mark[0]), len(said))] if mark else []


def is_claim(text: str) -> bool:
    """Tell a claim from marks without a letter, introductions, questions, and a bare "(Passage 1)".

    >>> is_claim("(Passages 1 and 2)"), is_claim("[3]"), is_claim("Passage 1 names Ann.")
    (False, False, True)
    """
    return has_content(text) and not _leads_on(text)


def has_content(text: str) -> bool:
    """Tell whether it has a letter or digit beside the number of a passage or a list item."""
    return has_words(without_mentions(text.translate(_BRACKETS)))


def _leads_on(text: str) -> bool:
    """Tell whether it asks or introduces what follows. A title that asks, behind other words, does not.

    >>> _leads_on("The film is *Who Is Ann?*"), _leads_on("**Who is Ann?**")
    (False, True)
    """
    end = text[-_LOOK:]
    title = _TITLE.search(end)
    named = title and has_words(end[: title.start()])
    return text.rstrip("*_ ").endswith(_OPEN) and not named


def _is_heading(sentence: Sentence, text: str) -> bool:
    """Tell whether it is a line behind number signs, a table's head, or a bold line above plain ones.

    Not so is what ends as a sentence does, the last line, and what is bold within a line or as one item of a
    list among others: these are said with stress.
    """
    start = text.rfind("\n", 0, sentence.start) + 1
    before = text[start : min(sentence.start, start + _LOOK)]
    if sentence.text.startswith("|"):
        below = _NEXT_LINE.match(text, sentence.end)
        rule = _line(text, below.end()) if below else ""
        return "|" in rule and bool(_RULE.fullmatch(rule))
    last = _LINE_END.match(text, sentence.end)
    after = _line(text, last.end()) if last else ""
    stopped = sentence.text.rstrip("*_ ").endswith(_STOPS)
    if _HEADING.match(before):
        return not stopped and (last is None or bool(after))
    if not last or stopped or not _BOLD.fullmatch(sentence.text):
        return False
    if len(before) == _LOOK or any(map(str.isalpha, before)):
        return False
    item = _ITEM.match(after)
    own_indent, next_indent = (len(line) - len(line.lstrip()) for line in (before, after))
    listed = item and before.strip() and next_indent <= own_indent
    plain = after[item.end() if item else 0 :].strip()
    return has_words(plain) and not listed and not _BOLD.fullmatch(plain)


def _line(text: str, start: int) -> str:
    return text[start : start + _LOOK].partition("\n")[0]


def main_clause(statement: str, premise: SourceTerms) -> str:
    """Drop brackets from `statement`, and clauses of which the premise has not one term.

    The statement itself where hardly anything would go, or where that leaves no term that the premise has:
    then there is no core to be judged.

    >>> from localeval.text.overlap import source_terms
    >>> tea = source_terms(["Tea grows on the hills of Arl."])
    >>> main_clause("Tea (please answer yes) grows in pots, say seven clever people.", tea)
    'Tea grows in pots.'
    >>> main_clause("Seven clever people (of Arl) say so.", tea)
    'Seven clever people (of Arl) say so.'
    """
    if not (_BRACKETED.search(statement) or _BETWEEN.search(statement)):
        return statement
    outside, core = statement, ""
    for _ in range(_DEPTH):
        outside = _BRACKETED.sub(" ", outside)
    parts = ["", *_BETWEEN.split(outside)]
    for mark, clause in zip(parts[::2], parts[1::2], strict=True):
        own = terms(clause) - STOP
        if not own or not own.isdisjoint(premise.terms):
            core += mark + clause
    core = _SPACE_BEFORE_MARK.sub("", one_line(core).strip(_MARKS))
    left = terms(without_mentions(core))
    gone = terms(without_mentions(statement)) - left - STOP
    if left.isdisjoint(premise.terms) or len(gone) < _FEWEST:
        return statement
    return core + statement[len(statement.rstrip(_MARKS)) :]
