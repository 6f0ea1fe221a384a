"""The terms by which texts are compared: words in lower case, and pairs of Chinese characters."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from localeval.text.normalise import normalise
from localeval.text.script import HAN, begins_with_han
from localeval.text.word_lists import read_lists

TERM = re.compile(rf"[{HAN}]+|[^\W{HAN}]+")
# Signs that footnotes and items are marked with are no part of words.
_NO_WORDS = dict.fromkeys(map(ord, "⁰¹²³⁴⁵⁶⁷⁸⁹①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳ªº"), " ")


@lru_cache(maxsize=4096)  # several judgements look at one sentence, and each at those of long contexts
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
        if len(run) > 1 and begins_with_han(run):
            result.update(map("".join, pairwise(run)))
        else:
            result.add(run)
    return frozenset(result)


# Terms that say nothing of what a text is about.
STOP = terms(f"{read_lists('claims', 'en')['stop']} {read_lists('claims', 'zh')['stop']}")
