"""Sentence ends and quotation marks: what a splitter for Chinese gets wrong inside and behind quotations."""

from __future__ import annotations

_PAIRS = {"”": "“", "」": "「", "』": "『", "》": "《", "）": "（", ")": "(", '"': '"'}
_SHORT = 120  # a longer quotation is several sentences, not a part of one
_GOES_ON = frozenset("，、；：,;:")
_MORE = frozenset("。．！？!?…")
_BEFORE_SPEECH = _GOES_ON | _MORE | frozenset(" \u3000")


def mended(line: str, ends: list[int]) -> list[int]:
    """The ends, less those inside short quotations; closing marks go to the sentence before them."""
    opening_of = _pairs(line)
    # Of nested pairs the outer one counts.
    inside = bytearray(len(line) + 1)
    for close, first in opening_of.items():
        if close - first <= _SHORT:
            inside[first + 1 : close + 1] = b"\1" * (close - first)
    kept: list[int] = []
    for end in ends[:-1]:
        moved = end
        while moved in opening_of or line[moved : moved + 1] in _MORE:
            moved += 1
        goes_on = inside[moved] or line[moved : moved + 1] in _GOES_ON
        if moved - 1 in opening_of:
            goes_on |= _embedded(line, opening_of[moved - 1], moved)
        if not goes_on and moved < len(line) and moved > (kept[-1] if kept else 0):
            kept.append(moved)
    return [*kept, len(line)]


def _embedded(line: str, first: int, end: int) -> bool:
    """Whether its sentence goes on after a quotation: yes for 问了“走吗？”就走, no for 他说：“走吧。”就走."""
    within = first > 0 and line[first - 1] not in _BEFORE_SPEECH
    return line[first] == "《" or (within and end - first <= _SHORT)


def _pairs(line: str) -> dict[int, int]:
    """The place of each closing mark, with its opening one's; one stack a kind keeps it linear."""
    pairs: dict[int, int] = {}
    opened: dict[str, list[int]] = {}
    for place, sign in enumerate(line):
        if opened.get(_PAIRS.get(sign, "")):
            pairs[place] = opened[_PAIRS[sign]].pop()
        elif sign in _PAIRS.values():
            opened.setdefault(sign, []).append(place)
    return pairs
