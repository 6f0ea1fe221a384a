"""Every sample as one short line of JSON, for the list that the page's script shows a part of at a time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from localeval.report.html.shown import cut, for_script, shown

if TYPE_CHECKING:
    from localeval.runs.result import Result, SampleResult

ROOM = 8_000_000  # bytes, for all lines together
MOST = 12_000_000
LONGEST, SHORTEST = 4_000, 24  # bytes of a question or a response
LONGEST_ID = 240
FLAGGED, SPLIT = 1, 2

Reasons = dict[tuple[str, str], int]


def lines(
    result: Result, order: Sequence[int], flagged: Collection[int], split: Collection[str]
) -> tuple[list[str], Reasons, int]:
    """A line each, in `order`, as many as have room; (status, reason) -> its number in the lines; and the
    bytes at which questions and responses are cut, 0 where there is room for long ones.

    [place in the input, id, question, response, flags, then for each metric [value, soft] or a number of
    `Reasons`]. Long texts are cut, the shorter the more samples there are.
    """
    each = min(LONGEST, max(SHORTEST, (ROOM // max(1, len(order)) - 60 - 16 * len(result.metrics)) // 2))
    reasons: Reasons = {}
    made: list[str] = []
    size = 0
    for number in order:
        one = result.samples[number]
        flags = FLAGGED * (number in flagged) | SPLIT * (one.sample.id in split)
        line = for_script(
            [
                number + 1,
                cut(shown(one.sample.id), LONGEST_ID),
                cut(shown(one.sample.user_input or ""), each),
                cut(shown(one.sample.response or ""), each),
                flags,
                *(_score(one, metric, reasons) for metric in result.metrics),
            ]
        )
        size += len(line.encode("utf-8", "replace"))
        if size > MOST:
            break
        made.append(line)
    return made, reasons, each if each < LONGEST else 0


def _score(one: SampleResult, metric: str, reasons: Reasons) -> list[float] | int:
    score = one.scores[metric]
    if score.value is None or score.soft is None:
        return reasons.setdefault((score.status, score.reason), len(reasons))
    return [round(score.value, 4), round(score.soft, 4)]
