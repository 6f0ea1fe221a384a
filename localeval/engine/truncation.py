"""Where an unfinished JSON text can be cut, so that what is left can be closed legally."""

from __future__ import annotations

import re

_PART = re.compile(rb'"(?:[^"\\]|\\.)*"|["\[\]{}:,]', re.DOTALL)


def trim_incomplete(text: bytes) -> bytes:
    """Drop what is unfinished at the end: half a character or escape, an open item of a list.

    An open string that is a field's value is kept as far as it goes.

    >>> trim_incomplete(b'{"s":["a","b')
    b'{"s":["a"'
    >>> trim_incomplete(b'{"reason":"half a wo')
    b'{"reason":"half a wo'
    """
    text = text.decode("utf-8", "ignore").encode()
    lists, last = _scan(text)
    opened = text.find(b'"', last)
    if opened < 0:
        return text
    if lists and text[:opened].endswith((b"[", b",")):
        return text[:opened].rstrip(b",")
    backslashes = len(text) - len(text.rstrip(b"\\"))
    return text[:-1] if backslashes % 2 else text


def trim_repetition(text: bytes) -> bytes | None:
    """Drop the last item of an open list, when it stood in the list before; else None.

    >>> trim_repetition(b'{"s":["a","b","a"')
    b'{"s":["a","b"'
    >>> trim_repetition(b'{"s":["a","b"') is None
    True
    """
    lists, _ = _scan(text)
    seen: set[bytes] = set()
    for start, end in lists[-1] if lists else ():
        item = text[start:end].lower()
        if item in seen:
            return text[:start].rstrip(b",")
        seen.add(item)
    return None


def _scan(text: bytes) -> tuple[list[list[tuple[int, int]]], int]:
    """(the finished strings of each list that is still open, outermost first; where the last part ends)."""
    lists: list[list[tuple[int, int]]] = []
    last = 0
    for match in _PART.finditer(text):
        part = match.group()
        if part == b'"':  # an open string: what is in it is text
            break
        last = match.end()
        if part == b"[":
            lists.append([])
        elif part == b"]":
            lists.pop()
        elif part.startswith(b'"') and lists and text[: match.start()].endswith((b"[", b",")):
            lists[-1].append(match.span())
    return lists, last
