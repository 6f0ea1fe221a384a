"""Find the thoughts that a model wrote before or within its answer, and strip them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

# The marks around a model's thought: of Qwen, DeepSeek, Mistral, Kimi, and the channels of gpt-oss.
_MARK = re.compile(
    r"<(?P<end_tag>/?)(?P<tag>think|thinking|thoughts?|reasoning)>"
    r"|\[(?P<end_bracket>/?)THINK\]"
    r"|\u25c1(?P<end_triangle>/?)think\u25b7"
    r"|(?P<channel><\|channel\|>\s{0,9}(?:analysis|commentary)[^<]{0,40}<\|message\|>)"
    r"|(?P<end_channel><\|end\|>(?:<\|start\|>assistant)?(?:<\|channel\|>\s{0,9}final[^<]{0,40}<\|message\|>)?"
    r"|<\|channel\|>\s{0,9}final[^<]{0,40}<\|message\|>)",
    re.IGNORECASE,
)
_END_OF_LINE = re.compile(r"[ \t]*(?:\n|\Z)")
_QUOTES = frozenset("`'\"\u201c\u201d\u2018\u2019")
# A thought that began in the prompt ends on a line of its own, or right after a sentence.
_THOUGHT_END = re.compile(r"(?:\A|\n[ \t]*|[.!?\u3002\uff01\uff1f\u2026][ \t]*)\Z")
_MAX_BEFORE_MARK = 80  # characters before a closing mark that are looked at


def strip_thinking(text: str) -> tuple[str, bool]:
    """Drop the model's thoughts (see `find_thoughts`); return the text, and whether there was one.

    >>> strip_thinking("<think>Hm.</think>Paris.")
    ('Paris.', True)
    """
    thoughts = find_thoughts(text)
    if not thoughts:
        return text, False
    return "".join(_outside(text, thoughts, len(text))).strip(), True


@lru_cache(maxsize=4)  # each judgement of a sample asks for the thoughts of its response
def find_thoughts(text: str) -> tuple[tuple[int, int], ...]:
    """Return (start, end) of each thought of a model with its marks, such as `<think>...</think>`, in order.

    An unclosed thought reaches to the end if nothing stands before it: the model ran out of tokens while
    thinking. If the opening mark was in the prompt, the text starts inside the thought: a lone closing mark
    ends it, on a line of its own or at the end of a line that ends a sentence. A mark in quotes, or within a
    sentence, is only mentioned.

    >>> find_thoughts("<think>Hm.</think>Paris.")
    ((0, 18),)
    >>> find_thoughts("Use </think>\\nto close it.")
    ()
    """
    thoughts: list[tuple[int, int]] = []
    opened: tuple[int, str] | None = None
    is_first = True
    for mark in _MARK.finditer(text):
        if _is_quoted(text, mark.start(), mark.end()):
            continue
        kind, closes = _kind_of_mark(mark)
        if opened is None and not closes:
            opened = (mark.start(), kind)
        elif opened is not None and closes and kind == opened[1]:
            thoughts.append((opened[0], mark.end()))
            opened = None
        elif opened is None and is_first and kind != "channel" and _ends_lone_thought(text, mark):
            thoughts.append((0, mark.end()))
        is_first = False
    if opened is not None:
        start = opened[0]
        answer = "".join(_outside(text, thoughts, start)).strip()
        if not answer:
            thoughts.append((start, len(text)))
    return tuple(thoughts)


def _outside(text: str, thoughts: Sequence[tuple[int, int]], end: int) -> list[str]:
    """Return the parts of `text[:end]` that are in no thought."""
    parts = []
    position = 0
    for thought_start, thought_end in thoughts:
        parts.append(text[position:thought_start])
        position = thought_end
    parts.append(text[position:end])
    return parts


def _kind_of_mark(mark: re.Match[str]) -> tuple[str, bool]:
    """Return which kind of thought a mark belongs to, and whether it closes one."""
    if mark["tag"]:
        return mark["tag"].lower(), mark["end_tag"] == "/"
    if mark["end_bracket"] is not None:
        return "bracket", mark["end_bracket"] == "/"
    if mark["end_triangle"] is not None:
        return "triangle", mark["end_triangle"] == "/"
    return "channel", mark["end_channel"] is not None


def _is_quoted(text: str, start: int, end: int) -> bool:
    return text[start - 1 : start] in _QUOTES and text[end : end + 1] in _QUOTES


def _ends_lone_thought(text: str, mark: re.Match[str]) -> bool:
    """Return whether a closing mark, the first mark of the text, ends a thought that began in the prompt."""
    if not _END_OF_LINE.match(text, mark.end()):
        return False
    before = text[max(0, mark.start() - _MAX_BEFORE_MARK) : mark.start()]
    return bool(_THOUGHT_END.search(before))
