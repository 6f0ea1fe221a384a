"""Text from outside made fit to be shown: printable, on one line, cut."""

from __future__ import annotations

import difflib
from collections.abc import Sequence


def printable(text: str) -> str:
    """Replace control characters (a terminal would obey them) and line ends by spaces."""
    return "".join(c if c.isprintable() else " " for c in text)


def printable_lines(text: str) -> str:
    """Do as `printable`, but keep line ends."""
    return "\n".join(map(printable, text.split("\n")))


def one_line(text: str) -> str:
    """Replace every run of white space by one space, and drop it at both ends."""
    return " ".join(text.split())


def shorten(text: object, limit: int = 200) -> str:
    """Make what something outside said fit for a message: printable, on one line, cut at `limit`.

    >>> shorten("a\\x1b[31m\\nb")
    'a [31m b'
    """
    line = one_line(printable(str(text)))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def suggested(name: str, known: Sequence[str]) -> str:
    """Suggest what to give in place of a name that is not among those known.

    >>> suggested("faithfullness", ["faithfulness", "answer_relevance"])
    'did you mean faithfulness?'
    """
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]}?" if near else f"choose from: {', '.join(known)}."


def digits(number: float, limit: float) -> str:
    """Show four decimals, or all where four would lie on another side of the limit.

    >>> digits(0.75996, 0.8), digits(0.79996, 0.8)
    ('0.7600', '0.79996')
    """
    four = round(number, 4)
    alike = (four < limit, four > limit) == (number < limit, number > limit)
    return f"{number:.4f}" if alike else str(number)


def join_some(names: Sequence[str], most: int) -> str:
    """Join the first `most` names, printable, by commas, and say how many more there are.

    >>> join_some(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(printable, names[:most])) + more
