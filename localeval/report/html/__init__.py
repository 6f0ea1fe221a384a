"""A result as one HTML page that loads nothing and sends nothing.

The page holds the worst samples in full, each in a `noscript` element: a browser with script parses one only
when a reader opens it. Jinja escapes text from outside, and `for_script` escapes what the script reads; the
script puts it into text nodes only. A content security policy allows the page's own style and script.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, FunctionLoader, StrictUndefined

from localeval.report.html import translations
from localeval.report.html.detail import MAX_STATEMENT, MAX_TEXT, detail
from localeval.report.html.listing import Listing, make_listing
from localeval.report.slices import MIN_SCORED, shown_value
from localeval.report.text import high_cosines, number, samples_in_unsupported_language, span
from localeval.report.view import RunView
from localeval.system.files import atomic_write, writing_to
from localeval.text.display import digits, printable_lines, shorten

MAX_LISTED = 20_000  # samples
MAX_DETAILS = 500  # samples shown with their texts and verdicts
MAX_BYTES = 20_000_000  # of the page
MAX_NOTED = 100  # disagreements of judge and HHEM; also skipped rows of the data
# For all questions and responses that the list shows and searches, and for one of them.
MAX_LIST_BYTES = 8_000_000
MAX_LISTED_TEXT = 4_000
_FRAME_BYTES = 200_000  # of the page without samples
_MARKUP_BYTES = 40  # around a row or a sample


def write(run: RunView, path: str | Path, title: str = "") -> None:
    """Write the report of `run` to `path`, whole or not at all, with `title` as its heading.

    The page has at most 20 MB, unless the scores alone take more. Raises InputError when it can't be written.
    """
    with writing_to(path, "report"):
        atomic_write(Path(path), pieces(run, title), "replace")


def pieces(run: RunView, title: str = "") -> Iterator[str]:
    """Yield the report in parts, so that a large one is never in memory as a whole."""
    both_decide = {"faithfulness", "faithfulness_hhem"} <= set(run.metrics)
    # Otherwise no record need be read.
    differ = run.disagreements() if both_decide else []
    lower = {name: not run.higher_is_better.get(name, True) for name in run.metrics}
    texts = 2 * max(1, min(len(run.samples), MAX_LISTED))
    cut_at = min(MAX_LISTED_TEXT, MAX_LIST_BYTES // texts)
    listed = make_listing(run, lower, {one.sample for one in differ}, MAX_LISTED, cut_at)
    data = {"metrics": run.metrics, "lower": list(lower.values()), "reasons": listed.reasons}
    page = environment().get_template("page.html")
    return page.generate(
        result=run,
        title=title,
        language="zh" if 2 * listed.chinese > len(run.samples) else "en",
        lower=lower,
        agreement=translations.known_agreement(run.signature),
        listed=listed,
        unsupported=samples_in_unsupported_language(run),
        high_cosines=high_cosines(run),
        differ=differ,
        max_noted=MAX_NOTED,
        details=_details(run, listed),
        cut_at=cut_at if listed.is_cut else 0,
        data=translations.for_script(data),
        min_scored=MIN_SCORED,
    )


def _details(run: RunView, listed: Listing) -> list[str]:
    """Return the worst samples in HTML, as many as fit."""
    sample_page = environment().get_template("sample.html")
    bytes_left = MAX_BYTES - _FRAME_BYTES - sum(map(_size, listed.rows))
    details: list[str] = []
    for i in listed.order[:MAX_DETAILS]:
        text = sample_page.render(
            d=detail(run.samples[i], run.signature.threshold),
            attacks=listed.attacks.get(i, []),
            place=len(details),
            threshold=run.signature.threshold,
            metrics=run.metrics,
        )
        bytes_left -= _size(text)
        if bytes_left < 0:
            break
        details.append(text)
    return details


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace")) + _MARKUP_BYTES


def text_digest(text: str) -> str:
    """Return the hash by which a content security policy admits an element with this text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@lru_cache
def environment(**filters: Callable[..., object]) -> Environment:
    """Return Jinja with the words of the report.

    filters  more of them, for another page
    """
    environment = page_environment()
    environment.globals.update(
        t=translations.in_both_languages,
        words=translations.words,
        named=translations.named,
        definition=translations.definition,
        reason=translations.reason,
        spans=translations.spans,
        max_text=MAX_TEXT,
        max_statement=MAX_STATEMENT,
    )
    environment.filters.update(filters)
    return environment


def page_environment() -> Environment:
    """Return Jinja with the files and filters of all pages; every value in a template is escaped.

    A page adds its words: `t` gives them in both languages, `words` as plain text in one.
    """
    environment = Environment(
        loader=FunctionLoader(translations.own_file),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["file"] = translations.own_file
    environment.filters.update(
        shown=printable_lines,
        shorten=shorten,
        number=number,
        span=span,
        digest=text_digest,
        digits=digits,
        shown_value=shown_value,
    )
    return environment
