"""Prepare text from outside for display: printable, on one line, shortened."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from unicodedata import category

# Characters that are not printable and belong to a text: the joiners of Persian and Indic words and of emoji,
# and the soft hyphen of text from a PDF. A terminal obeys none of them.
_KEPT = frozenset("\u200c\u200d\u00ad")
# Unicode's categories of control and format characters, and of two line ends.
_ESCAPED = ("Cc", "Cf", "Zl", "Zp")


def printable(text: str) -> str:
    """Replace control characters (which a terminal would obey), direction marks and line ends with spaces.

    Joiners and soft hyphens stay: without them words and emoji are torn.

    >>> printable("a\\u202eb"), printable("co\\u00adoperate") == "co\\u00adoperate"
    ('a b', True)
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in _KEPT else " " for c in text)


def printable_lines(text: str) -> str:
    """Replace control characters as `printable` does, but keep line ends."""
    return "\n".join(map(printable, text.split("\n")))


def escaped_json(text: str) -> str:
    """Escape what a terminal would obey in the text of a JSON document; it means the same to a reader.

    These are control and format characters (direction marks too), and line ends other than a line feed.

    >>> escaped_json('["\\u202e", "\\u8336"]') == '["\\\\u202e", "\\u8336"]'
    True
    """
    return "\n".join(line if line.isprintable() else _escaped(line) for line in text.split("\n"))


def _escaped(line: str) -> str:
    return "".join(json.dumps(c)[1:-1] if category(c) in _ESCAPED else c for c in line)


def encodable(text: str) -> str:
    """Replace lone surrogates, which JSON can hold and a tokenizer can't, with question marks."""
    return text.encode("utf-8", "replace").decode()


def one_line(text: str) -> str:
    """Replace each run of white space with one space, and strip both ends."""
    return " ".join(text.split())


def shorten(text: object, limit: int = 200) -> str:
    """Prepare text from outside for a message: printable, on one line, at most `limit` characters.

    >>> shorten("a\\x1b[31m\\nb"), shorten("tea leaf", 6)
    ('a [31m b', 'tea l…')
    """
    line = one_line(printable(str(text)))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def suggested(name: str, options: Sequence[str]) -> str:
    """Return a hint for a `name` that is not in `options`: the closest option, or all of them.

    >>> suggested("faithfullness", ["faithfulness", "answer_relevance"])
    'did you mean faithfulness?'
    """
    matches = difflib.get_close_matches(name, options)
    if matches:
        return f"did you mean {matches[0]}?"
    return f"choose from: {', '.join(options)}."


def digits(number: float, limit: float, decimals: int = 4) -> str:
    """Format `number` with so many decimals, or with as many as show on which side of `limit` it is.

    >>> digits(0.75996, 0.8), digits(0.79996, 0.8), digits(0.496, 0.5, 2)
    ('0.7600', '0.79996', '0.496')
    """
    while _side(round(number, decimals), limit) != _side(number, limit):
        decimals += 1
    return f"{number:.{decimals}f}"


def _side(number: float, limit: float) -> int:
    """Return -1 for a number below `limit`, 1 above it, 0 at it."""
    if number < limit:
        return -1
    return 1 if number > limit else 0


def enumerated(names: Sequence[str]) -> str:
    """Join names as a sentence lists them.

    >>> enumerated(["a"]), enumerated(["a", "b"]), enumerated(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    *others, last = names
    if not others:
        return last
    return f"{', '.join(others)} and {last}"


def join_some(names: Sequence[str], most: int) -> str:
    """Join the first `most` names with commas, made printable, and append how many more there are.

    >>> join_some(["a", "b", "c"], 2), join_some(["a", "b"], 2)
    ('a, b and 1 more', 'a, b')
    """
    joined = ", ".join(map(printable, names[:most]))
    if len(names) <= most:
        return joined
    return f"{joined} and {len(names) - most} more"
