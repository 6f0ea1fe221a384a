"""Split a text into sentences: pysbd, guarded where it hangs, loses text or breaks inside Chinese quotes.

A text is split into lines, and the lines of a wrapped paragraph are joined (`lines`). Each line is split at
the ends of its sentences (`sentence_ends`; `breaks` for those that pysbd misses), without false ends
(`false_ends`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from localeval.text.breaks import item_starts, missed_ends, without_bullet
from localeval.text.false_ends import drop_false_ends
from localeval.text.letters import has_words as has_words
from localeval.text.lines import find_lines, unwrap
from localeval.text.script import script
from localeval.text.sentence_ends import sentence_ends

# Characters that pysbd may read in one call of `split_sentences`; the rest goes to `_rule_based_ends`. The
# worst known text (nothing but abbreviations, each compiling a regex) costs 0.04 ms a character, prose 0.003.
# Not a time limit, because the same text must give the same sentences on every machine.
BUDGET = 40_000

_BULLET_BEFORE = re.compile(r"[•●▪◦‣■]\s*$")
_LINE_BREAK = re.compile(r"[\n-\r\x1c-\x1e\x85\u2028\u2029]")
_MAX_BULLET = 4  # characters before a line in which a bullet is looked for


@dataclass(frozen=True)
class Sentence:
    """One sentence and its offsets: `original[start:end] == text`, with no white space at either end."""

    text: str
    start: int
    end: int


def split_sentences(text: str) -> list[Sentence]:
    """Split `text` into its sentences, in order and without overlap.

    Every letter and digit of the text is in exactly one sentence, except in Markdown's own marks: the
    number of a list item and the language of a code fence. The end of a line ends a sentence, unless the line
    was wrapped there; a table row and a line of fenced code are one each. Text without letters and digits is
    no sentence. Never raises; the time is linear in the length of any text.

    >>> [s.text for s in split_sentences("# Result\\n1. Dr. Smith won 3.5% more. He left.\\n2. Nobody knew.")]
    ['Result', 'Dr. Smith won 3.5% more.', 'He left.', 'Nobody knew.']
    >>> split_sentences("他说：“我来了。你呢？”然后走了。")[0].text
    '他说：“我来了。你呢？”'
    """
    script_name = script(text)
    budget = BUDGET
    sentences: list[Sentence] = []
    for start, end, is_prose in unwrap(text, find_lines(text), is_han=script_name == "han"):
        line = _LINE_BREAK.sub(" ", text[start:end])
        ends = [len(line)]
        if is_prose:
            ends, budget = sentence_ends(line, script_name, budget)
            ends = sorted({*ends, *missed_ends(line, script_name)})
            if len(ends) > 1:
                ends = drop_false_ends(line, ends, script_name)
            has_bullet = bool(_BULLET_BEFORE.search(text, max(0, start - _MAX_BULLET), start))
            ends = sorted({*ends, *item_starts(line, has_bullet)})
        for left, right in pairwise([0, *ends]):
            part = line[left:right]
            from_words = without_bullet(part) if is_prose else part.lstrip()
            if has_words(from_words):
                offset = start + right - len(from_words)
                end_of_words = offset + len(from_words.rstrip())
                sentences.append(Sentence(text[offset:end_of_words], offset, end_of_words))
    return sentences
