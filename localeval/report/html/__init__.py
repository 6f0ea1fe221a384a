"""A result as one HTML page that loads nothing and sends nothing.

Every sample's scores are in it, and the texts and verdicts of the worst ones, each in a `noscript` element:
they can be read without script, and a browser with script parses one only when a reader opens it.

Text from samples and models is escaped by Jinja where it stands in the page, and where the script reads it by
`for_script`; the script puts that into text nodes only. A content security policy allows the page's own style
and script, by their hashes, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from localeval.report.html import overview, shown
from localeval.report.html.detail import LONGEST_STATEMENT, LONGEST_TEXT, detail
from localeval.report.text import number, span
from localeval.system.files import atomic_write, writing_to

if TYPE_CHECKING:
    from localeval.runs.result import Result

MOST_DETAILS = 500
MOST_BYTES = 20_000_000
LIST_BYTES = 8_000_000  # for the questions and responses that the list shows and searches
LONGEST, LONGEST_ID = 4_000, 240  # bytes of each
FLAGGED, SPLIT = 1, 2  # bits of a row


@dataclass(frozen=True)
class RunCost:
    """What all judgements of a run took: seconds, and rows (tokens put through the model)."""

    seconds: float
    rows: int


def write(result: Result, path: str | Path, **given: Any) -> None:
    """Write the report of `result` to `path`, whole or not at all; `given` is what `pieces` takes beside.

    The page has at most 20 MB, unless the scores alone take more. Raises InputError when it can't be written.
    """
    with writing_to(path, "report"):
        atomic_write(Path(path), pieces(result, **given), "replace")


def page(result: Result, **given: Any) -> str:
    """Return the report as text; `given` is what `pieces` takes beside."""
    return "".join(pieces(result, **given))


def notebook(result: Result) -> str:
    """Make the means, the first 20 samples and the signature: HTML without style sheet or script."""
    return environment().get_template("notebook.html").render(result=result, most=20)


def pieces(
    result: Result,
    title: str = "",
    agreement: Mapping[str, str] | None = None,
    cost: RunCost | None = None,
) -> Iterator[str]:
    """Make the report in parts, so that a large one is never in memory whole.

    title      stands at its head: the name of the run, say
    agreement  metric -> one sentence of how well the judge agrees with people on it; by default what is known
               of the calibration in force. Of every other metric the page says that no figures are known
    cost       what the run took
    """
    seen = overview.look_over(result)
    cards = overview.cards(result, overview.known_agreement(result) if agreement is None else agreement)
    both = {"faithfulness", "faithfulness_hhem"} <= set(result.metrics)  # else no record is read in vain
    differ = result.disagreements(result.signature.threshold) if both else []
    cut_at = min(LONGEST, LIST_BYTES // (2 * max(1, len(result.samples))))
    rows, reasons = _rows(result, seen, {d.sample for d in differ}, cut_at)
    room, threshold = MOST_BYTES - 200_000 - sum(map(_size, rows)), result.signature.threshold
    sample, details = environment().get_template("sample.html"), list[str]()
    for i in seen.order[:MOST_DETAILS]:  # the worst samples, as many as fit
        d = detail(result.samples[i], seen.flagged.get(i, []), threshold)
        text = sample.render(d=d, place=len(details), threshold=threshold, metrics=result.metrics)
        room -= _size(text)
        if room < 0:
            break
        details.append(text)
    style, script = _file("style.css"), _file("script.js")
    data = {"metrics": result.metrics, "lower": [card["lower"] for card in cards], "reasons": reasons}
    return (
        environment()
        .get_template("page.html")
        .generate(
            result=result,
            title=title,
            language="zh" if seen.chinese else "en",
            cards=cards,
            cost=cost,
            skipped=result.skipped[: overview.MOST_SKIPPED],
            flagged=len(seen.flagged),
            foreign=seen.foreign,
            differ=differ[: overview.MOST_DISAGREEMENTS],
            differ_count=len(differ),
            style=style,
            script=script,
            style_hash=_hash(style),
            script_hash=_hash(script),
            details=details,
            cut_at=cut_at if cut_at < LONGEST else 0,
            data=shown.for_script(data),
            rows=rows,
        )
    )


def _rows(
    result: Result, seen: overview.Overview, split: Collection[str], cut_at: int
) -> tuple[list[str], list[tuple[str, str]]]:
    """Make a line of JSON for every sample, worst first, which the page's script shows a part of at a time.

    [place in the input, id, question, response, flags, then for each metric [value, soft] or the number of a
    (status, reason), which are returned beside]. Questions and responses are cut at `cut_at` bytes.
    """
    cut, plain = shown.cut, shown.shown
    reasons: dict[tuple[str, str], int] = {}
    rows = []
    for i in seen.order:
        one = result.samples[i]
        flags = FLAGGED * (i in seen.flagged) | SPLIT * (one.sample.id in split)
        row: list[object] = [i + 1, cut(plain(one.sample.id), LONGEST_ID)]
        row += [cut(plain(text or ""), cut_at) for text in (one.sample.user_input, one.sample.response)]
        row.append(flags)
        for score in map(one.scores.__getitem__, result.metrics):
            if score.value is None or score.soft is None:
                row.append(reasons.setdefault((score.status, score.reason), len(reasons)))
            else:
                row.append([round(score.value, 4), round(score.soft, 4)])
        rows.append(shown.for_script(row))
    return rows, [*reasons]


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace")) + 40  # and what stands round it


def _file(name: str) -> str:
    return resources.files("localeval.report.html").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@lru_cache
def environment() -> Environment:
    """Return Jinja with the page's files, words and filters; all that is put into a template is escaped."""
    made = Environment(
        loader=FunctionLoader(_file),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(t=shown.both, words=shown.words, definition=shown.definition, reason=shown.reason)
    made.globals.update(longest_text=LONGEST_TEXT, longest_statement=LONGEST_STATEMENT)
    made.filters.update(shown=shown.shown, cut=shown.cut, number=number, span=span, clock=overview.clock)
    return made
