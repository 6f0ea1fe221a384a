"""A result as two small tables for notebooks: HTML without style sheet or script, every text escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from localeval.runs.result import Result

MOST_ROWS = 20


def as_html(result: Result) -> str:
    """The means, the first 20 samples and the signature, as a notebook shows them."""
    from localeval.report.html import environment

    return environment().get_template("notebook.html").render(result=result, most=MOST_ROWS)
