"""Text from outside made fit to be shown: printable, on one line, cut."""

from __future__ import annotations

import difflib
from collections.abc import Sequence


def printable(text: str) -> str:
    """`text` with control characters (a terminal would obey them) and line ends as spaces."""
    return "".join(c if c.isprintable() else " " for c in text)


def printable_lines(text: str) -> str:
    """`printable`, but line ends stay.

    >>> printable_lines("a\\x1b[31m\\nb")
    'a [31m\\nb'
    """
    return "\n".join(map(printable, text.split("\n")))


def one_line(text: str) -> str:
    """`text` with every run of white space as one space.

    >>> one_line(" a\\n b ")
    'a b'
    """
    return " ".join(text.split())


def shorten(text: object, limit: int = 200) -> str:
    """What something outside said, fit for a message: printable, on one line, cut at `limit`.

    >>> shorten("a\\x1b[31m\\nb")
    'a [31m b'
    """
    line = one_line(printable(str(text)))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def suggested(name: str, known: Sequence[str]) -> str:
    """What to give in place of a name that is not among those known.

    >>> suggested("faithfullness", ["faithfulness", "answer_relevance"])
    'did you mean faithfulness?'
    """
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]}?" if near else f"choose from: {', '.join(known)}."


def digits(number: float, limit: float) -> str:
    """Four digits behind the point, or all of them where four would lie on another side of the limit.

    >>> digits(0.75996, 0.8), digits(0.79996, 0.8)
    ('0.7600', '0.79996')
    """
    four = round(number, 4)
    alike = (four < limit, four > limit) == (number < limit, number > limit)
    return f"{number:.4f}" if alike else str(number)


def join_some(names: Sequence[str], most: int) -> str:
    """The first `most` names, printable, with commas between, and how many more there are.

    >>> join_some(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(printable, names[:most])) + more
