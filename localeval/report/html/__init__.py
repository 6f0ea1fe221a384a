"""A result as one HTML page that loads nothing and sends nothing.

The worst samples stand in it in full, each in a `noscript` element: a browser with script parses one only
when a reader opens it. Text from outside is escaped by Jinja, or where the script reads it by `for_script`;
the script puts that into text nodes only. A content security policy allows the page's own style and script.
"""

from __future__ import annotations

import base64
import hashlib
import random
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jinja2 import Environment, FunctionLoader, StrictUndefined

from localeval.prompts import FENCES
from localeval.report.html import shown
from localeval.report.html.detail import LONGEST_STATEMENT, LONGEST_TEXT, detail
from localeval.report.text import number, span
from localeval.system.files import atomic_write, writing_to
from localeval.text.injection import Injection, find_injections
from localeval.text.language import language

if TYPE_CHECKING:
    from localeval.metrics import Score
    from localeval.runs.result import Result

MOST_LISTED = 20_000  # of more samples the worst half of so many, and as many drawn from the others
MOST_DETAILS = 500
MOST_BYTES = 20_000_000
MOST_IN_NOTEBOOK = 20
MOST_NAMED = 100  # disagreements of judge and HHEM, and rows of the data that were left out
LIST_BYTES = 8_000_000  # for the questions and responses that the list shows and searches
LONGEST, LONGEST_ID = 4_000, 240  # bytes of each
FLAGGED, SPLIT = 1, 2  # bits of a row


class RunCost(NamedTuple):
    """What all judgements of a run took: seconds, and rows (tokens put through the model)."""

    seconds: float
    rows: int


def write(result: Result, path: str | Path, **given: Any) -> None:
    """Write the report of `result` to `path`, whole or not at all; `given` is what `pieces` takes beside.

    The page has at most 20 MB, unless the scores alone take more. Raises InputError when it can't be written.
    """
    with writing_to(path, "report"):
        atomic_write(Path(path), pieces(result, **given), "replace")


def notebook(result: Result) -> str:
    """Make the means, the first 20 samples and the signature: HTML without style sheet or script."""
    first = islice(result.samples, MOST_IN_NOTEBOOK)
    more = max(0, len(result.samples) - MOST_IN_NOTEBOOK)
    return _environment().get_template("notebook.html").render(result=result, samples=first, more=more)


def pieces(result: Result, title: str = "", cost: RunCost | None = None) -> Iterator[str]:
    """Make the report in parts, so that a large one is never in memory whole.

    title  stands at its head: the name of the run, say
    cost   what the run took
    """
    metrics, threshold = result.metrics, result.signature.threshold
    both = {"faithfulness", "faithfulness_hhem"} <= set(metrics)  # else no record is read in vain
    differ = result.disagreements(threshold) if both else []
    lower = {name: not result.higher_is_better.get(name, True) for name in metrics}
    cut_at = min(LONGEST, LIST_BYTES // (2 * max(1, min(len(result.samples), MOST_LISTED))))
    listed = _listed(result, lower, {d.sample for d in differ}, cut_at)
    room = MOST_BYTES - 200_000 - sum(map(_size, listed.rows))
    sample, details = _environment().get_template("sample.html"), list[str]()
    for i in listed.order[:MOST_DETAILS]:  # the worst samples, as many as fit
        d = detail(result.samples[i], threshold)
        attacks = listed.attacks.get(i, [])
        text = sample.render(d=d, attacks=attacks, place=len(details), threshold=threshold, metrics=metrics)
        room -= _size(text)
        if room < 0:
            break
        details.append(text)
    data = {"metrics": metrics, "lower": list(lower.values()), "reasons": listed.reasons}
    page = _environment().get_template("page.html")
    return page.generate(
        result=result,
        title=title,
        language="zh" if 2 * listed.languages["zh"] > len(result.samples) else "en",
        lower=lower,
        agreement=shown.known_agreement(result.signature),
        cost=cost,
        listed=listed,
        foreign=len(result.samples) - listed.languages["en"],
        differ=differ,
        most_named=MOST_NAMED,
        details=details,
        cut_at=cut_at if cut_at < LONGEST else 0,
        data=shown.for_script(data),
    )


class _Listed(NamedTuple):
    """What the page says of all samples, and the rows of those that it lists.

    order    numbers of the samples that are listed (from 0), worst first
    rows     of each of these the JSON that the page's script shows: [place in the input, id, question,
             response, flags, then for each metric [value, soft] or the number of one of `reasons`]
    reasons  (status, reason) of every score without a value
    attacks  number of a sample -> what in it reads like an attack
    tenths   metric -> how many of its values lie in each tenth of 0 to 1
    """

    order: list[int]
    rows: list[str]
    reasons: list[tuple[str, str]]
    attacks: dict[int, list[Injection]]
    languages: Counter[str]
    tenths: dict[str, list[int]]


def _listed(result: Result, lower: Mapping[str, bool], split: Collection[str], cut_at: int) -> _Listed:
    """Look over the samples, and write the rows of the worst. Texts are cut at `cut_at` bytes."""
    attacks, languages = dict[int, list[Injection]](), Counter[str]()
    tenths = {name: [0] * 10 for name in result.metrics}
    badness = np.empty((len(result.samples), 3))
    for i, one in enumerate(result.samples):
        sample = one.sample
        languages[language(f"{sample.user_input or ''} {sample.response or ''}")] += 1
        if found := find_injections(sample, FENCES):
            attacks[i] = found
        for name in result.metrics:
            if (value := one.scores[name].value) is not None:
                tenths[name][min(int(value * 10 + 1e-9), 9)] += 1
        badness[i] = _badness(one.scores, lower)
    order: list[int] = np.lexsort(badness.T[::-1]).tolist()
    if len(order) > MOST_LISTED:
        worst = order[: MOST_LISTED // 2]
        drawn = random.Random(0).sample(range(len(worst), len(order)), MOST_LISTED - len(worst))  # noqa: S311
        order = [*worst, *(order[at] for at in sorted(drawn))]
    rows, reasons = [], dict[tuple[str, str], int]()
    for i in order:
        one = result.samples[i]
        texts = ((one.sample.id, LONGEST_ID), (one.sample.user_input, cut_at), (one.sample.response, cut_at))
        cut = (shown.truncate(shown.show_controls(text or ""), most) for text, most in texts)
        row: list[object] = [i + 1, *cut, FLAGGED * (i in attacks) | SPLIT * (one.sample.id in split)]
        for score in map(one.scores.__getitem__, result.metrics):
            if score.value is None or score.soft is None:
                row.append(reasons.setdefault((score.status, score.reason), len(reasons)))
            else:
                row.append([round(score.value, 4), round(score.soft, 4)])
        rows.append(shown.for_script(row))
    return _Listed(order, rows, list(reasons), attacks, languages, tenths)


def _badness(scores: Mapping[str, Score], lower: Mapping[str, bool]) -> tuple[float, float, float]:
    """Rank a sample, the worst lowest: scored ones first, then those that failed, then undefined ones.

    Scored ones by the mean of the values, turned round where lower is better, and equal ones by that of soft.
    """
    turned = [
        (1 - s.value, 1 - s.soft) if lower[name] else (s.value, s.soft)
        for name, s in scores.items()
        if s.value is not None and s.soft is not None
    ]
    if not turned:
        return 1.0 if any(score.status == "failed" for score in scores.values()) else 2.0, 0.0, 0.0
    value, soft = (sum(column) / len(turned) for column in zip(*turned, strict=True))
    return 0.0, value, soft


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace")) + 40  # and what stands round it


def _digest(text: str) -> str:
    """Return what the content security policy knows an element's text by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@lru_cache
def _environment() -> Environment:
    """Return Jinja with the page's files, words and filters; all that is put into a template is escaped."""
    made = Environment(
        loader=FunctionLoader(shown.own_file),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(t=shown.in_both_languages, words=shown.words, definition=shown.definition)
    made.globals.update(reason=shown.reason, file=shown.own_file)
    made.globals.update(longest_text=LONGEST_TEXT, longest_statement=LONGEST_STATEMENT)
    made.filters.update(shown=shown.show_controls, cut=shown.truncate, clock=shown.clock)
    made.filters.update(number=number, span=span, digest=_digest)
    return made
