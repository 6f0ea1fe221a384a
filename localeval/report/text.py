"""A result as a table for the terminal. Text from samples is shown, never interpreted."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from localeval.metrics import METRICS, REASONS
from localeval.scoring import Summary
from localeval.texts import language, listed, printable

if TYPE_CHECKING:
    from pydantic import BaseModel
    from rich.table import Table

    from localeval.result import Result, SampleResult

MOST_ROWS = 50
MOST_COLUMNS = 4
MOST_NAMED = 5


def as_text(result: Result, width: int | None = None) -> str:
    """One row a sample (the first 50), one row a mean, the counts and the signature.

    With more than four metrics one row a metric instead, with its means: the scores of each sample would fit
    no screen. Columns are aligned by display width, so Chinese ids and English ones line up. `width` is what
    is enough for the metrics, at least 100, unless said.
    """
    from rich.console import Console

    wide = len(result.metrics) > MOST_COLUMNS
    out = io.StringIO()
    enough = 100 if wide else max(100, 70 + sum(len(metric) + 10 for metric in result.metrics))
    console = Console(file=out, width=width or enough, color_system=None, legacy_windows=False)
    console.print(_by_metric(result) if wide else _by_sample(result))
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    more = len(result.samples) - MOST_ROWS
    if more > 0 and not wide:
        lines.append(f"... and {more} more samples.")
    if not wide:
        lines += ["", *(_counts(name, result[name]) for name in result.metrics)]
    return "\n".join([*lines, *_strangers(result), *_raw(result), f"signature {result.signature}"])


def _by_sample(result: Result) -> Table:
    from rich.text import Text

    table = _table("sample")
    table.columns[0].overflow, table.columns[0].max_width = "fold", 40
    for metric in result.metrics:
        table.add_column(metric, justify="right")
        table.add_column("soft", justify="right")
    rows = (METRICS[metric] for metric in result.metrics if metric in METRICS)
    counted = any("support" in row.judgements for row in rows)
    if counted:
        table.add_column("statements", justify="right")
    table.add_column("note")
    for sample in result.samples[:MOST_ROWS]:
        cells = [printable(sample.sample.id)]
        for metric in result.metrics:
            cells += [number(sample.scores[metric].value), number(sample.scores[metric].soft)]
        cells += [_statements(sample)] * counted + [_note(sample, result)]
        table.add_row(*map(Text, cells))
    table.add_section()
    means = [result[metric] for metric in result.metrics]
    table.add_row("mean", *(cell for m in means for cell in (number(m.value), number(m.soft))))
    return table


def _by_metric(result: Result) -> Table:
    table = _table("metric")
    for column in ("mean", "soft", "scored", "undefined", "failed"):
        table.add_column(column, justify="right")
    for metric in result.metrics:
        mean = result[metric]
        counts = (str(mean.scored), str(mean.undefined), str(mean.failed))
        table.add_row(metric, number(mean.value), number(mean.soft), *counts)
    return table


def _table(first: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column(first)
    return table


def number(value: float | None) -> str:
    """Three decimals; a dash for none."""
    return "-" if value is None else f"{value:.3f}"


def _statements(sample: SampleResult) -> str:
    support = sample.records.get("support")
    verdicts = getattr(support, "verdicts", None)
    return "" if verdicts is None else str(len(verdicts))


def _note(sample: SampleResult, result: Result) -> str:
    without: dict[str, list[str]] = {}
    for metric in result.metrics:
        if (score := sample.scores[metric]).status != "scored":
            without.setdefault(f"{score.status}: {score.reason}", []).append(metric)
    alone = len(result.metrics) == 1
    notes = [why if alone else f"{', '.join(names)} {why}" for why, names in without.items()]
    made = sample.records.get("statements")
    if getattr(made, "language", "") == "other":
        notes.append("neither English nor Chinese")
    if (calibrated := result.signature.calibration) and getattr(made, "language", "") not in (
        "",
        *calibrated,
    ):
        notes.append("raw probabilities")
    if getattr(made, "thinking_removed", False):
        notes.append("<think> removed")
    if any(s.cut in ("budget", "repetition") for s in getattr(made, "sentences", ())):
        notes.append("statements cut")
    return "; ".join(notes)


def _strangers(result: Result) -> list[str]:
    """A line for each model that read samples in a language that it does not know."""
    foreign = [s for s in result.samples if not _english(s)]
    embedded = result.signature.embedder.get("languages") == ["en"]
    models = {
        "the embedder": [s.sample.id for s in foreign if embedded and "similarity" in s.records],
        "HHEM": [s.sample.id for s in foreign if any(_by_hhem(r) for r in s.records.values())],
    }
    return [
        f"{model} reads English only, and this is another language: {listed(met, MOST_NAMED)}"
        for model, met in models.items()
        if met
    ]


def _raw(result: Result) -> list[str]:
    if not result.signature.raw:
        return []
    return ["probabilities of support are raw: no calibration is in force for this judge and these options"]


def _by_hhem(record: BaseModel) -> bool:
    return getattr(record, "by", "") == "hhem"


def _english(sample: SampleResult) -> bool:
    return language(f"{sample.sample.user_input or ''} {sample.sample.response or ''}") == "en"


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
