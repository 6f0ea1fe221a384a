"""Cut a statement down to its main clause: what stands beside it can't better its verdict."""

from __future__ import annotations

import re
from functools import lru_cache

from localeval.claims.mentions import without_mentions
from localeval.claims.sources import SourceTerms
from localeval.claims.terms import STOP, terms
from localeval.text.display import one_line
from localeval.text.word_lists import read_lists

_BRACKETED = re.compile(r"\([^()]*\)|（[^（）]*）|\[[^\[\]]*\]|【[^【】]*】")
_INNERMOST = re.compile(r"[(（\[【][^()（）\[\]【】]*[)）\]】]")
# In "f(x)" and "person(s)" the bracket is part of the word.
_WITHIN_WORD = re.compile(r"(?<=[A-Za-z0-9])[(\[]\w{1,2}[)\]]")
_CLAUSE_MARK = re.compile(r"([,;:](?!\d)|[.!?](?=\s)|[，；：、。！？—–])")
_PUNCTUATION = ",;:.!?，；：、。！？—– "
_SPACE_BEFORE_MARK = re.compile(r" (?=[,;:.!?，；：、。！？])")
_MAX_BRACKET_DEPTH = 4  # of nested brackets that are removed
_MIN_DROPPED_TERMS = 2  # "for example," has fewer


def main_clause(statement: str, premise: SourceTerms) -> str:
    """Drop brackets and clauses from `statement` that share no term with `premise` and are no condition.

    Returns `statement` itself where fewer than two terms would go, or where what remains shares none with the
    premise: then there is no core to judge.

    >>> from localeval.claims.sources import source_terms
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

    core = _without_asides(_without_brackets(statement, premise), premise)
    core = _SPACE_BEFORE_MARK.sub("", one_line(core).strip(_PUNCTUATION))
    core_terms = terms(without_mentions(core))
    if core_terms.isdisjoint(premise.terms):
        return statement
    dropped_terms = terms(without_mentions(statement)) - core_terms - STOP
    if len(dropped_terms) < _MIN_DROPPED_TERMS:
        return statement
    end_marks = statement[len(statement.rstrip(_PUNCTUATION)) :]
    return core + end_marks


def _without_brackets(statement: str, premise: SourceTerms) -> str:
    """Replace brackets that are not needed by a space, the innermost first."""

    def replacement(bracket: re.Match[str]) -> str:
        is_in_word = _WITHIN_WORD.match(bracket.string, bracket.start())
        is_kept = is_in_word or _is_needed(bracket[0][1:-1], premise)
        return bracket[0] if is_kept else " "

    for _ in range(_MAX_BRACKET_DEPTH):
        statement = _INNERMOST.sub(replacement, statement)
    # Brackets around a sign that opens another.
    return _BRACKETED.sub(replacement, statement)


def _without_asides(statement: str, premise: SourceTerms) -> str:
    """Drop clauses with words of their own that are not needed, each with the mark before it."""
    kept = ""
    marks_and_clauses = ["", *_CLAUSE_MARK.split(statement)]
    for mark, clause in zip(marks_and_clauses[::2], marks_and_clauses[1::2], strict=True):
        says_nothing = not terms(clause) - STOP
        if says_nothing or _is_needed(clause, premise):
            kept += mark + clause
    return kept


def _is_needed(part: str, premise: SourceTerms) -> bool:
    """Return whether a part of a statement is a condition, or shares a term with the premise."""
    part_terms = terms(without_mentions(part)) - STOP
    if not part_terms:
        return False
    return not part_terms.isdisjoint(premise.terms) or bool(_condition().match(part))


@lru_cache
def _condition() -> re.Pattern[str]:
    """Return a pattern of what begins a condition or an exception."""
    english = "|".join(read_lists("claims", "en")["conditions"])
    chinese = "|".join(read_lists("claims", "zh")["conditions"])
    return re.compile(rf"\W*(?:(?:and|or|but)\s+)?(?:(?:{english})\b|{chinese})", re.IGNORECASE)
