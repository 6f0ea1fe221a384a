"""The list of all samples that the page's script shows, worst first."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from localeval.metrics.sample_result import SampleResult
from localeval.metrics.score import Score
from localeval.prompts import FENCES
from localeval.report.html.translations import for_script
from localeval.report.text import number
from localeval.report.view import RunView
from localeval.text.display import printable, printable_lines, shorten
from localeval.text.injection import Injection, find_injections
from localeval.text.script import script

MAX_ID = 120  # characters
# Bits of a row's flags.
FLAGGED = 1  # reads like an attack
SPLIT = 2  # judge and HHEM differ

Row = list[object]


class Listing(NamedTuple):
    """Facts about all samples, and the rows of those that the page lists.

    order    indices of the listed samples (from 0), worst first
    rows     JSON of each listed sample for the page's script: [position in the input (from 1), id, question,
             response, flags, then for each metric [value, soft] or an index into `reasons`]
    reasons  the different (status, reason) of scores without a value
    attacks  index of a sample -> passages that read like an attack
    chinese  number of samples in Chinese
    tenths   metric -> number of its values in each tenth of 0 to 1
    is_cut   whether a question or a response in a row is not whole
    """

    order: list[int]
    rows: list[str]
    reasons: list[tuple[str, str]]
    attacks: dict[int, list[Injection]]
    chinese: int
    tenths: dict[str, list[int]]
    is_cut: bool


def make_listing(
    run: RunView, lower: Mapping[str, bool], split: Collection[str], max_listed: int, max_bytes: int
) -> Listing:
    """Examine all samples, and write the rows of the worst.

    lower       metric -> whether lower is better
    split       ids of the samples about which judge and HHEM differ
    max_listed  rows; of more samples, half are the worst and half are drawn from the others
    max_bytes   of each question and response in a row; what is longer is cut
    """
    chinese = 0
    attacks: dict[int, list[Injection]] = {}
    tenths = {name: [0] * 10 for name in run.metrics}
    keys = np.empty((len(run.samples), 3))
    for i, sample_result in enumerate(run.samples):
        sample = sample_result.sample
        if script(f"{sample.user_input or ''} {sample.response or ''}") == "han":
            chinese += 1
        if injections := find_injections(sample, FENCES):
            attacks[i] = injections
        for name, counts in tenths.items():
            _count_tenth(counts, sample_result.scores[name])
        keys[i] = _sort_key(sample_result.scores, lower)
    order = _worst_and_drawn(np.lexsort(keys.T[::-1]).tolist(), max_listed)
    reasons: dict[tuple[str, str], int] = {}
    rows = []
    is_cut = False
    for i in order:
        sample_result = run.samples[i]
        texts = _encoded(sample_result)
        is_cut = is_cut or max(map(len, texts)) > max_bytes
        row: Row = [
            i + 1,
            shorten(sample_result.sample.id, MAX_ID),
            *(printable_lines(text[:max_bytes].decode("utf-8", "ignore")) for text in texts),
            _flags(is_attack=i in attacks, is_split=sample_result.sample.id in split),
            *(_score_cell(sample_result.scores[name], reasons) for name in run.metrics),
        ]
        rows.append(for_script(row))
    return Listing(order, rows, list(reasons), attacks, chinese, tenths, is_cut)


def _flags(*, is_attack: bool, is_split: bool) -> int:
    flags = 0
    if is_attack:
        flags |= FLAGGED
    if is_split:
        flags |= SPLIT
    return flags


def _count_tenth(counts: list[int], score: Score) -> None:
    """Count the score's value in its tenth of 0 to 1."""
    if score.value is not None:
        # 0.3 is a bit less than three tenths.
        tenth = int(score.value * 10 + 1e-9)
        counts[min(tenth, 9)] += 1


def _worst_and_drawn(order: list[int], most: int) -> list[int]:
    """Return at most so many of the samples: half the worst, half drawn from the others, in order."""
    if len(order) <= most:
        return order
    worst = order[: most // 2]
    ranks_of_others = range(len(worst), len(order))
    drawn = random.Random(0).sample(ranks_of_others, most - len(worst))  # noqa: S311
    return [*worst, *(order[rank] for rank in sorted(drawn))]


def _encoded(sample_result: SampleResult) -> Sequence[bytes]:
    """Return the question and the response in UTF-8."""
    sample = sample_result.sample
    return [(text or "").encode("utf-8", "replace") for text in (sample.user_input, sample.response)]


def _score_cell(score: Score, reasons: dict[tuple[str, str], int]) -> object:
    """Return [value, soft] as the tables show them, or the number of the reason, which is added if new."""
    if score.value is None or score.soft is None:
        return reasons.setdefault((score.status, printable(score.reason)), len(reasons))
    return [float(number(score.value)), float(number(score.soft))]


def _sort_key(scores: Mapping[str, Score], lower: Mapping[str, bool]) -> tuple[float, float, float]:
    """Return a key that is lowest for the worst sample: scored, then failed, then undefined ones.

    Scored samples are ordered by their mean value (1 - value where lower is better), then by their mean soft.
    """
    values = []
    softs = []
    for name, score in scores.items():
        if score.value is not None and score.soft is not None:
            values.append(1 - score.value if lower[name] else score.value)
            softs.append(1 - score.soft if lower[name] else score.soft)
    if values:
        return 0.0, sum(values) / len(values), sum(softs) / len(softs)
    has_failed = any(score.status == "failed" for score in scores.values())
    return (1.0, 0.0, 0.0) if has_failed else (2.0, 0.0, 0.0)
