"""A result as one HTML page that loads nothing and sends nothing.

The page holds the worst samples in full, each in a `noscript` element: a browser with script parses one only
when a reader opens it. Jinja escapes text from outside, and `for_script` escapes what the script reads; the
script puts it into text nodes only. A content security policy allows the page's own style and script.
"""

from __future__ import annotations

import base64
import hashlib
import random
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jinja2 import Environment, FunctionLoader, StrictUndefined

from localeval.prompts import FENCES
from localeval.report.html import translations
from localeval.report.html.detail import LONGEST_STATEMENT, LONGEST_TEXT, detail
from localeval.report.text import high_cosines, misread, number, span
from localeval.system.files import atomic_write, writing_to
from localeval.text.display import digits, printable, printable_lines, shorten
from localeval.text.injection import Injection, find_injections
from localeval.text.script import script

if TYPE_CHECKING:
    from localeval.metrics import Score
    from localeval.runs.result import Result

MOST_LISTED = 20_000  # of more samples, the worst 10,000 and 10,000 drawn from the others
MOST_DETAILS = 500
MOST_BYTES = 20_000_000
MOST_NOTED = 100  # disagreements of judge and HHEM; also skipped rows of the data
LIST_BYTES = 8_000_000  # for all questions and responses that the list shows and searches
LONGEST, LONGEST_ID = 4_000, 120  # bytes of one question or response, and characters of one id
FLAGGED, SPLIT = 1, 2  # bits of a row's flags: reads like an attack; judge and HHEM differ


def write(result: Result, path: str | Path, title: str = "") -> None:
    """Write the report of `result` to `path`, whole or not at all, with `title` as its heading.

    The page has at most 20 MB, unless the scores alone take more. Raises InputError when it can't be written.
    """
    with writing_to(path, "report"):
        atomic_write(Path(path), pieces(result, title), "replace")


def pieces(result: Result, title: str = "") -> Iterator[str]:
    """Yield the report in parts, so that a large one is never in memory as a whole."""
    metrics, threshold = result.metrics, result.signature.threshold
    both = {"faithfulness", "faithfulness_hhem"} <= set(metrics)  # otherwise no record need be read
    differ = result.disagreements() if both else []
    lower = {name: not result.higher_is_better.get(name, True) for name in metrics}
    cut_at = min(LONGEST, LIST_BYTES // (2 * max(1, min(len(result.samples), MOST_LISTED))))
    listed = _listing(result, lower, {d.sample for d in differ}, cut_at)
    bytes_left = MOST_BYTES - 200_000 - sum(map(_size, listed.rows))
    sample, details = _environment().get_template("sample.html"), list[str]()
    for i in listed.order[:MOST_DETAILS]:  # the worst samples, as many as fit
        d = detail(result.samples[i], threshold)
        attacks = listed.attacks.get(i, [])
        text = sample.render(d=d, attacks=attacks, place=len(details), threshold=threshold, metrics=metrics)
        bytes_left -= _size(text)
        if bytes_left < 0:
            break
        details.append(text)
    data = {"metrics": metrics, "lower": list(lower.values()), "reasons": listed.reasons}
    page = _environment().get_template("page.html")
    return page.generate(
        result=result,
        title=title,
        language="zh" if 2 * listed.chinese > len(result.samples) else "en",
        lower=lower,
        agreement=translations.known_agreement(result.signature),
        listed=listed,
        misread=misread(result),
        high_cosines=high_cosines(result),
        differ=differ,
        most_named=MOST_NOTED,
        details=details,
        cut_at=cut_at if listed.is_cut else 0,
        data=translations.for_script(data),
    )


class _Listing(NamedTuple):
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


def _listing(result: Result, lower: Mapping[str, bool], split: Collection[str], cut_at: int) -> _Listing:
    """Examine all samples, and write the rows of the worst, with texts cut at `cut_at` bytes."""
    attacks, chinese = dict[int, list[Injection]](), 0
    tenths = {name: [0] * 10 for name in result.metrics}
    badness = np.empty((len(result.samples), 3))
    for i, sample_result in enumerate(result.samples):
        sample, scores = sample_result.sample, sample_result.scores
        chinese += script(f"{sample.user_input or ''} {sample.response or ''}") == "han"
        if injections := find_injections(sample, FENCES):
            attacks[i] = injections
        for name in result.metrics:
            if (value := scores[name].value) is not None:
                tenths[name][min(int(value * 10 + 1e-9), 9)] += 1
        badness[i] = _badness(scores, lower)
    order: list[int] = np.lexsort(badness.T[::-1]).tolist()
    if len(order) > MOST_LISTED:
        worst = order[: MOST_LISTED // 2]
        drawn = random.Random(0).sample(range(len(worst), len(order)), MOST_LISTED - len(worst))  # noqa: S311
        order = [*worst, *(order[rank] for rank in sorted(drawn))]
    rows, reasons, is_cut = [], dict[tuple[str, str], int](), False
    for i in order:
        sample_result = result.samples[i]
        sample, scores = sample_result.sample, sample_result.scores
        texts = [(text or "").encode("utf-8", "replace") for text in (sample.user_input, sample.response)]
        is_cut |= max(map(len, texts)) > cut_at
        row: list[object] = [i + 1, shorten(sample.id, LONGEST_ID)]
        row += [printable_lines(text[:cut_at].decode("utf-8", "ignore")) for text in texts]
        row.append(FLAGGED * (i in attacks) | SPLIT * (sample.id in split))
        for score in map(scores.__getitem__, result.metrics):
            if score.value is None or score.soft is None:
                row.append(reasons.setdefault((score.status, printable(score.reason)), len(reasons)))
            else:
                row.append([float(number(score.value)), float(number(score.soft))])  # as tables show them
        rows.append(translations.for_script(row))
    return _Listing(order, rows, list(reasons), attacks, chinese, tenths, is_cut)


def _badness(scores: Mapping[str, Score], lower: Mapping[str, bool]) -> tuple[float, float, float]:
    """Return a sort key that is lowest for the worst sample: scored, then failed, then undefined ones.

    Scored samples are ordered by their mean value (1 - value where lower is better), then by their mean soft.
    """
    pairs = [
        (1 - s.value, 1 - s.soft) if lower[name] else (s.value, s.soft)
        for name, s in scores.items()
        if s.value is not None and s.soft is not None
    ]
    if not pairs:
        return 1.0 if any(score.status == "failed" for score in scores.values()) else 2.0, 0.0, 0.0
    value, soft = (sum(column) / len(pairs) for column in zip(*pairs, strict=True))
    return 0.0, value, soft


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace")) + 40  # for the markup around it


def _digest(text: str) -> str:
    """Return the hash by which a content security policy admits an element with this text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@lru_cache
def _environment() -> Environment:
    """Return Jinja with the page's files, words and filters; every value in a template is escaped."""
    environment = Environment(
        loader=FunctionLoader(translations.own_file),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        t=translations.in_both_languages, words=translations.words, definition=translations.definition
    )
    environment.globals.update(reason=translations.reason, file=translations.own_file)
    environment.globals.update(longest_text=LONGEST_TEXT, longest_statement=LONGEST_STATEMENT)
    environment.filters.update(shown=printable_lines, shorten=shorten)
    environment.filters.update(number=number, span=span, digest=_digest, digits=digits)
    return environment
