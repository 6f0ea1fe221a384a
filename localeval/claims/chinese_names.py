"""Find names in Chinese prose, where no capital tells them: people, places, organisations, titles in 《》.

A tagger (rjieba: a dictionary and a hidden Markov model) cuts the text into words and says which of them are
names. It takes a microsecond a character, misses names, and takes other words for some: good enough to
propose what is compared, not to judge by.
"""

from __future__ import annotations

import re

from localeval.text.display import encodable
from localeval.text.script import IDEOGRAPHS

_HAN = re.compile(f"[{IDEOGRAPHS}]")
_TITLE = re.compile(r"《[^《》\n]{1,40}》")
_MIDDLE_DOTS = frozenset("·•・‧")  # between the parts of a foreign name
# The tagger's marks of people, places and other names, of organisations, and of nouns.
_NAME_TAGS = frozenset({"nr", "nrt", "nrfg", "ns", "nz"})
_ORGANISATION_TAG = "nt"
_NOUN_TAGS = frozenset({"n", "ng"})
# A name in words of these kinds, one letter each: "N" a name, "O" an organisation, "n" a noun, "h" another
# Chinese word, "d" a middle dot. Parts with dots between, or names, and the noun behind the last: 临溪|大学.
_NAME_OF_KINDS = re.compile(r"[NO]*[NOnh](?:d[NOnh][NO]*)+|[NO]*(?:O|Nn(?![NOd])|N)")
_MIN_LENGTH = 2


def has_han(text: str) -> bool:
    """Return whether a text has a Han character."""
    return bool(_HAN.search(text))


def title_spans(text: str) -> list[tuple[int, int]]:
    """Return where titles stand, with their brackets.

    >>> text = "他写了《雾港来信》。"
    >>> [text[start:end] for start, end in title_spans(text)]
    ['《雾港来信》']
    """
    return [match.span() for match in _TITLE.finditer(text)]


def name_spans(text: str) -> list[tuple[int, int]]:
    """Return where names stand, in order.

    >>> text = "馆长埃尔文·哈特曼来自临溪大学。"
    >>> [text[start:end] for start, end in name_spans(text)]
    ['埃尔文·哈特曼', '临溪大学']
    """
    if not has_han(text):
        return []
    import rjieba  # a second for its dictionary, which a run without Chinese does without

    words = rjieba.tag(encodable(text))
    starts = [0]
    for word, _ in words:
        starts.append(starts[-1] + len(word))
    kinds = "".join(_kind(word, tag) for word, tag in words)
    spans = [(starts[match.start()], starts[match.end()]) for match in _NAME_OF_KINDS.finditer(kinds)]
    return [(start, end) for start, end in spans if end - start >= _MIN_LENGTH]


def _kind(word: str, tag: str) -> str:
    """Return the letter of a word's kind, for `_NAME_OF_KINDS`."""
    if word in _MIDDLE_DOTS:
        return "d"
    if not has_han(word):
        return "-"
    if tag in _NAME_TAGS:
        return "N"
    if tag == _ORGANISATION_TAG:
        return "O"
    return "n" if tag in _NOUN_TAGS else "h"
