"""A result as a table for the terminal. Text from samples is shown, never interpreted."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from localeval.metrics import REASONS, Score
from localeval.scoring import Summary
from localeval.texts import language, printable

if TYPE_CHECKING:
    from localeval.result import Result, SampleResult

MOST_ROWS = 50


def as_text(result: Result, width: int | None = None) -> str:
    """One row a sample (the first 50), one row a mean, the counts and the signature.

    Columns are aligned by display width, so Chinese ids and English ones line up. `width` is what is enough
    for the metrics, at least 100, unless said.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("sample", overflow="fold", max_width=40)
    for metric in result.metrics:
        table.add_column(metric, justify="right")
        table.add_column("soft", justify="right")
    table.add_column("statements", justify="right")
    table.add_column("note")
    for sample in result.samples[:MOST_ROWS]:
        cells = [printable(sample.sample.id)]
        for metric in result.metrics:
            cells += [number(sample.scores[metric].value), number(sample.scores[metric].soft)]
        table.add_row(*(Text(cell) for cell in (*cells, _statements(sample), _note(sample, result))))
    table.add_section()
    means = [result[metric] for metric in result.metrics]
    table.add_row("mean", *(cell for m in means for cell in (number(m.value), number(m.soft))), "", "")
    out = io.StringIO()
    enough = max(100, 70 + sum(len(metric) + 10 for metric in result.metrics))
    console = Console(file=out, width=width or enough, color_system=None, legacy_windows=False)
    console.print(table)
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    if (more := len(result.samples) - MOST_ROWS) > 0:
        lines.append(f"... and {more} more samples.")
    lines += ["", *(_counts(name, result[name]) for name in result.metrics), f"signature {result.signature}"]
    return "\n".join(lines)


def number(value: float | None) -> str:
    """Three decimals; a dash for none."""
    return "-" if value is None else f"{value:.3f}"


def _statements(sample: SampleResult) -> str:
    support = sample.records.get("support")
    verdicts = getattr(support, "verdicts", None)
    return "" if verdicts is None else str(len(verdicts))


def _note(sample: SampleResult, result: Result) -> str:
    scores = dict.fromkeys(sample.scores[metric] for metric in result.metrics)
    notes = [_why(score) for score in scores if score.status != "scored"]
    embedder = result.signature.embedder
    made = sample.records.get("statements")
    if getattr(made, "language", "") == "other":
        notes.append("neither English nor Chinese")
    if getattr(made, "thinking_removed", False):
        notes.append("<think> removed")
    spoken = language(f"{sample.sample.user_input or ''} {sample.sample.response or ''}")
    if spoken != "en" and any(getattr(r, "by", "") == "hhem" for r in sample.records.values()):
        notes.append("HHEM reads English only")
    if spoken != "en" and "similarity" in sample.records and embedder.get("languages") == ["en"]:
        notes.append("the embedder reads English only")
    if any(s.cut in ("budget", "repetition") for s in getattr(made, "sentences", ())):
        notes.append("statements cut")
    return "; ".join(notes)


def _why(score: Score) -> str:
    return f"{score.status}: {score.reason}"


def _counts(name: str, summary: Summary) -> str:
    counted = f"{summary.scored} scored, {summary.undefined} undefined, {summary.failed} failed"
    return f"{name}: {counted}"


def reasons_told(result: Result) -> list[str]:
    """A line for each reason code in the result, with what it means."""
    codes = {s.reason for sample in result.samples for s in sample.scores.values() if s.reason}
    told = []
    for code in sorted(codes):
        missing = f"the sample has no {code.removeprefix('missing_')}"
        told.append(f"{code}: {REASONS.get(code, missing)}")
    return told
