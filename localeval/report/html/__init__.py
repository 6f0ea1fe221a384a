"""A result as one HTML page that loads nothing and sends nothing.

Every sample's scores are in it, and the texts and verdicts of the worst ones, which can be read without
script: each stands in a `noscript` element. A browser with script takes that for one text, so the page opens
at once, and the page's script parses it when a reader opens the sample.

Text from samples and models is escaped by Jinja where it stands in the page, and where the script reads it by
`shown.for_script`; the script puts that into text nodes only. A content security policy allows the page's own
style and script, by their hashes, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from localeval.report.html import overview
from localeval.report.html.overview import RunCost
from localeval.system.files import write_whole, writing_to

if TYPE_CHECKING:
    from jinja2 import Environment

    from localeval.report.injection import Suspicion
    from localeval.runs.result import Result

__all__ = ["MOST_BYTES", "MOST_DETAILS", "RunCost", "environment", "page", "write"]

MOST_DETAILS = 500
MOST_BYTES = 20_000_000


def write(
    result: Result,
    path: str | Path,
    *,
    title: str = "",
    agreement: Mapping[str, str] | None = None,
    cost: RunCost | None = None,
) -> None:
    """Write the report of `result` to `path`, whole or not at all; at most 20 MB.

    title      stands at its head: the name of the run, say
    agreement  metric -> one sentence of how well the judge agrees with people on it; by default what is known
               of the calibration in force. Of every other metric the page says that no figures are known
    cost       what the run took

    Raises InputError when the file can't be written.
    """
    with writing_to(path, "report"):
        write_whole(Path(path), pieces(result, title, agreement, cost), "replace")


def page(result: Result, **given: Any) -> str:
    """The report as text; `given` as in `write`."""
    return "".join(pieces(result, given.get("title", ""), given.get("agreement"), given.get("cost")))


def pieces(
    result: Result, title: str, agreement: Mapping[str, str] | None, cost: RunCost | None
) -> Iterator[str]:
    """The page in parts, so that a large one is never in memory whole."""
    from localeval.report.html.agreement import known as known_agreement
    from localeval.report.html.order import standing
    from localeval.report.html.rows import lines
    from localeval.report.html.shown import for_script

    known = standing(result)
    agreement = known_agreement(result) if agreement is None else agreement
    differ = overview.disagreements(result)
    rows, reasons, cut_at = lines(result, known.order, known.flagged, {d.sample for d in differ})
    template = environment().get_template("page.html")
    style, script = _file("style.css"), _file("script.js")
    worst = known.order[: min(MOST_DETAILS, len(rows))]
    room = MOST_BYTES - 200_000 - sum(len(row.encode("utf-8", "replace")) + 1 for row in rows)
    details = _details(result, worst, known.flagged, room)
    shared = {
        "result": result,
        "title": title,
        "language": "zh" if known.chinese else "en",
        "cards": overview.cards(result, known, agreement),
        "threshold": result.signature.threshold,
        "cost": cost and {"time": overview.clock(cost.seconds), "rows": f"{cost.rows:,}"},
        "network": overview.network(result),
        "skipped": result.skipped[: overview.MOST_SKIPPED],
        "flagged": len(known.flagged),
        "foreign": known.foreign,
        "strangers": overview.strangers(result, known),
        "differ": differ[: overview.MOST_DISAGREEMENTS],
        "differ_count": len(differ),
        "style": style,
        "script": script,
        "style_hash": _hash(style),
        "script_hash": _hash(script),
        "details": details,
        "detailed": len(worst),
        "cut_at": cut_at,
        "unlisted": len(known.order) - len(rows),
        "data": for_script(
            {
                "metrics": result.metrics,
                "lower": [card.lower for card in overview.cards(result, known, {})],
                "reasons": [list(pair) for pair in reasons],
            }
        ),
        "rows": _between(",\n", rows),
    }
    yield from template.generate(**shared)


def _details(
    result: Result, worst: Sequence[int], flagged: Mapping[int, list[Suspicion]], room: int
) -> Iterator[str]:
    """Each of the worst samples as HTML. What one leaves of its share of the room goes to those after it."""
    from localeval.report.html.detail import ROOMS, at_least, detail

    template = environment().get_template("sample.html")
    limit = result.signature.threshold
    for place, number in enumerate(worst):
        one, share = result.samples[number], room // (len(worst) - place)
        records = dict(one.as_scored())  # each is read once
        for allowed in ROOMS:
            if at_least(one.sample, allowed) > share:
                continue
            seen = detail(one, records, flagged.get(number, []), limit, allowed)
            text = template.render(d=seen, place=place, threshold=limit, metrics=result.metrics)
            if (size := len(text.encode("utf-8", "replace"))) <= share:
                break
        else:
            text, size = template.render(d=None, place=place), 200
        room -= size
        yield text


def _between(mark: str, texts: Sequence[str]) -> Iterator[str]:
    for i, text in enumerate(texts):
        yield mark + text if i else text


def _file(name: str) -> str:
    return resources.files("localeval.report.html").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@lru_cache
def environment() -> Environment:
    """Jinja with the page's own files, words and filters; all that is put into a template is escaped."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    from localeval.report.html import labels
    from localeval.report.html.shown import cut, shown
    from localeval.report.text import number, span

    made = Environment(
        loader=FunctionLoader(_file),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(t=labels.both, words=labels.words, definition=labels.definition, reason=labels.reason)
    made.filters.update(shown=shown, number=number, span=span, cut=cut)
    return made
