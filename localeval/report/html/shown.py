"""Text from outside, made fit to be looked at: what is invisible, or turns what is round it, is shown."""

from __future__ import annotations

import json
from typing import Any

_NAMED = (0x202A, 0x202B, 0x202C, 0x202D, 0x202E, 0x2066, 0x2067, 0x2068, 0x2069, *range(0x80, 0xA0))
_SIGNS: dict[int, str] = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"},
    **{code: f"[U+{code:04X}]" for code in _NAMED},
    **dict.fromkeys(range(0xD800, 0xE000), "\ufffd"),
    0x7F: "\u2421",
    0x0D: "",
    0x2028: "\n",
    0x2029: "\n",
}
_IN_SCRIPT = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def shown(text: str) -> str:
    """`text` with control characters as their signs, and marks of writing direction by their numbers.

    Line ends stay. It is text still: whoever puts it into a page escapes it.

    >>> shown("a\\x00b\\u202ec")
    'a␀b[U+202E]c'
    """
    return text.translate(_SIGNS)


def cut(text: str, room: int) -> str:
    """The beginning of `text`, at most `room` bytes of UTF-8 with the sign that it goes on.

    >>> cut("abcdef", 6), cut("abcdefg", 6), cut("茶茶茶", 8)
    ('abcdef', 'abc…', '茶…')
    """
    data = text.encode("utf-8", "replace")
    if len(data) <= room:
        return text
    return data[: max(0, room - 3)].decode("utf-8", "ignore") + "…"


def for_script(value: Any) -> str:
    """`value` as JSON that can stand inside a script element: it holds no mark that could end one.

    >>> for_script("</script>")
    '"\\\\u003c/script\\\\u003e"'
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_IN_SCRIPT)
