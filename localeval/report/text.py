"""Tables and results as plain text. Text from samples is shown, never interpreted."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from localeval.judgements import most_windows
from localeval.judgements.context import count_unjudged, language_of
from localeval.judgements.support import would_write_otherwise
from localeval.metrics import METRICS
from localeval.metrics.score import explain
from localeval.prompts import FENCES
from localeval.text.display import join_some, printable, printable_lines
from localeval.text.injection import find_injections
from localeval.text.language import language
from localeval.text.thoughts import strip_thinking

if TYPE_CHECKING:
    from localeval.runs.result import Result, SampleResult

# Reasons why a part of a response is not judged that a reader should know of.
_WORTH_A_LOOK = ("refusal", "question", "source")
MOST_ROWS = 50
MOST_COLUMNS = 4
MOST_NAMED = 5
_ASCII_RULES = box.Box(str(box.SIMPLE_HEAD).replace("─", "-"), ascii=True)
HIGH_COSINE = 0.5  # of unrelated questions, above which a reader is told


def new_table(first: str, *numbers: str) -> Table:
    """Return a table with a first column, and columns of `numbers`, aligned right."""
    table = Table(box=_rules(), show_edge=False, pad_edge=False)
    table.add_column(first)
    for column in numbers:
        table.add_column(column, justify="right")
    return table


def _rules() -> box.Box:
    """Return the rules of a table: of ASCII where stdout has no others, as a console of Windows may not."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        str(box.SIMPLE_HEAD).encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return _ASCII_RULES
    return box.SIMPLE_HEAD


def printed(table: Table, width: int) -> list[str]:
    """Return the lines of `table`, at most `width` wide, without trailing space."""
    out = io.StringIO()
    # In Jupyter, rich would display the table and write nothing.
    Console(file=out, width=width, color_system=None, legacy_windows=False, force_jupyter=False).print(table)
    return [line.rstrip() for line in out.getvalue().splitlines()]


def as_text(result: Result) -> str:
    """Show a row for each of the first 50 samples, means with 95 % intervals, counts, notes and signature.

    With more than four metrics, show a row for each metric instead: the scores of a sample would not fit.
    """
    means = [(name, result[name]) for name in result.metrics]
    if len(means) > MOST_COLUMNS:
        rows, lines = 0, printed(_by_metric(result), 100)
    else:
        rows, width = MOST_ROWS, max(100, 70 + sum(len(name) + 10 for name in result.metrics))
        lines = printed(_by_sample(result), width)
        more = len(result.samples) - rows
        lines += [f"... and {more} more samples."] * (more > 0) + [""]
        for name, mean in means:
            lines.append(f"{name}: {mean.scored} scored, {mean.undefined} undefined, {mean.failed} failed")
    for name, mean in means:
        if mean.groups is not None:
            lines.append(
                f"{name}: its intervals take the {mean.groups} groups of the column group as units, not the "
                f"{mean.scored} samples"
            )
        if mean.failed:
            lines.append(
                f"{name}: with the {mean.failed} failed, the mean lies between {number(mean.lowest)} (if all "
                f"were 0) and {number(mean.highest)} (if all were 1)"
            )
    notes: dict[str, list[str]] = {}
    for sample_result in islice(result.samples, rows, None):  # those without a row
        for note in notes_on_texts(sample_result, result):
            notes.setdefault(note.partition(":")[0], []).append(sample_result.sample.id)
    lines += [f"{note}: {join_some(ids, MOST_NAMED)}" for note, ids in notes.items()]
    lines += language_warnings(result)
    lines += scale_notes(result)
    if result.signature.raw:
        lines.append(
            "probabilities of support are raw: no calibration is in force for this judge and these options"
        )
    if skipped := result.skipped:
        count = "1 row" if len(skipped) == 1 else f"{len(skipped):,} rows"
        lines.append(f"skipped: {count} of the data that can't be read")
        lines += [f"  {printable(row.reason)}" for row in skipped[:MOST_NAMED]]
        lines += [f"  and {len(skipped) - MOST_NAMED:,} more"] * (len(skipped) > MOST_NAMED)
    network = result.network
    if network.watched:
        lines.append(f"network attempts refused: {network.refused}")
    elif network.refused is None:
        lines.append("network attempts: not counted (localeval.offline() refuses and counts them)")
    else:
        where = "not counted in every process of the run; refused in the others"
        lines.append(f"network attempts: {where}: {network.refused}")
    return printable_lines("\n".join([*lines, f"signature {result.signature}"]))


def _by_sample(result: Result) -> Table:
    table = new_table("sample")
    table.columns[0].overflow, table.columns[0].max_width = "fold", 40
    for metric in result.metrics:
        table.add_column(Text(printable(metric)), justify="right")
        table.add_column("soft", justify="right")
    show_statements = _uses_support(result)
    if show_statements:
        table.add_column("statements", justify="right")
    table.add_column("note", overflow="fold")
    for sample_result in islice(result.samples, MOST_ROWS):
        cells, reasons = [sample_result.sample.id], dict[str, list[str]]()
        for metric in result.metrics:
            score = sample_result.scores[metric]
            cells += [number(score.value), number(score.soft)]
            if score.status != "scored":
                reasons.setdefault(f"{score.status}: {score.reason}", []).append(metric)
        if show_statements:
            verdicts = getattr(sample_result.records.get("support"), "verdicts", None)
            cells.append("" if verdicts is None else str(len(verdicts)))
        single = len(result.metrics) == 1
        notes = [text if single else f"{', '.join(names)} {text}" for text, names in reasons.items()]
        if (windows := most_windows(sample_result.records)) > 1:
            notes.append(f"contexts read in windows: {windows}")
        notes += notes_on_texts(sample_result, result)
        table.add_row(*(Text(printable(cell)) for cell in [*cells, "; ".join(notes)]))
    table.add_section()
    means = [result[metric] for metric in result.metrics]
    table.add_row("mean", *(number(cell) for mean in means for cell in (mean.value, mean.soft)))
    intervals = [interval for mean in means for interval in (mean.interval, mean.soft_interval)]
    if any(intervals):
        for end, label in enumerate(("95 % from", "95 % to")):
            table.add_row(label, *(number(interval and interval[end]) for interval in intervals))
    return table


def _by_metric(result: Result) -> Table:
    table = new_table("metric", "mean", "95 %", "soft", "95 %", "scored", "undefined", "failed")
    for metric in result.metrics:
        mean = result[metric]
        cells = (number(mean.value), span(mean.interval), number(mean.soft), span(mean.soft_interval))
        counts = map(str, (mean.scored, mean.undefined, mean.failed))
        table.add_row(Text(printable(metric)), *cells, *counts)
    return table


def number(value: float | None) -> str:
    """Format a number with three decimals; None as a dash."""
    return "-" if value is None else f"{value:.3f}"


def span(interval: tuple[float, float] | None) -> str:
    """Format an interval with three decimals; None as a dash."""
    return "-" if interval is None else f"{number(interval[0])}–{number(interval[1])}"


def _uses_support(result: Result) -> bool:
    return any("support" in METRICS[name].judgements for name in result.metrics if name in METRICS)


def notes_on_texts(sample_result: SampleResult, result: Result) -> list[str]:
    """List what a reader should know of the sample's texts, and of how they were read."""
    notes, records, calibrated = [], sample_result.records, result.signature.calibration
    thinks = strip_thinking(sample_result.sample.response or "")[1]
    if language_of(sample_result.sample) == "other":
        notes.append("neither English nor Chinese")
    support = records.get("support")
    if getattr(support, "by", "llm") == "head" and _uses_support(result):
        notes.append("read")
    elif support and calibrated and language_of(sample_result.sample) not in calibrated:
        notes.append("raw probabilities")
    if thinks:
        notes.append("<think> removed")
    if any(s.cut in ("budget", "repetition") for s in getattr(records.get("statements"), "sentences", ())):
        notes.append("statements cut")
    if would_write_otherwise(records):
        notes.append("neither yes nor no likely")
    foreign = sum(bool(draw.foreign) for draw in getattr(records.get("questions"), "draws", ()))
    if foreign:
        notes.append(f"drawn questions with a word that the response lacks: {foreign}")
    if left_out := unjudged_note(records):
        notes.append(left_out)
    if columns := dict.fromkeys(match.column for match in find_injections(sample_result.sample, FENCES)):
        notes.append(f"reads like an attack on the judge: {', '.join(columns)}")
    return notes


def unjudged_note(records: Mapping[str, Any]) -> str:
    """Return a note that counts the parts of a response that are not judged, "" where none is worth a look.

    Courtesies, headings and marks are not counted, nor a response of which nothing is judged: its score has
    the reason.
    """
    if not any(getattr(records.get(name), "sentences", ()) for name in ("statements", "grounding")):
        return ""
    counts = count_unjudged(records)
    parts = [f"{counts[reason]} {reason}" for reason in _WORTH_A_LOOK if reason in counts]
    return f"not judged: {', '.join(parts)}" if parts else ""


def language_warnings(result: Result) -> list[str]:
    """List the samples that a model read without knowing their language; a line for each model."""
    names = {"embedder": "the embedder", "hhem": "HHEM"}
    return [
        f"{names[model]} reads English only, and this is another language: {join_some(ids, MOST_NAMED)}"
        for model, ids in misread(result).items()
    ]


def scale_notes(result: Result) -> list[str]:
    """Say how alike the embedder takes unrelated questions, where that is high; a line or none."""
    names = {"en": "English", "zh": "Chinese"}
    figures = [f"{cosine:.2f} in {names[code]}" for code, cosine in high_cosines(result).items()]
    if not figures:
        return []
    return [
        f"answer_relevance: by this embedder unrelated questions have a mean cosine of "
        f"{' and '.join(figures)}; value counts cosines from 0, soft from there"
    ]


def high_cosines(result: Result) -> dict[str, float]:
    """Map the languages that the embedder reads to its mean cosine of unrelated questions, if it is high."""
    embedder = result.signature.embedder
    unrelated = embedder.get("unrelated") or {}
    readable = embedder.get("languages") or []
    return {
        code: unrelated[code]
        for code in ("en", "zh")
        if unrelated.get(code, 0) > HIGH_COSINE and (code in readable or "multilingual" in readable)
    }


def misread(result: Result) -> dict[str, list[str]]:
    """Map "embedder" and "hhem" to the ids of the samples that they read without knowing their language."""
    embedded = result.signature.embedder.get("languages") == ["en"]
    if not (embedded or result.signature.classifier):
        return {}  # before any record is read
    ids: dict[str, list[str]] = {}
    for sample_result in result.samples:
        sample, records = sample_result.sample, sample_result.records
        if language(f"{sample.user_input or ''} {sample.response or ''}") == "en":
            continue
        if embedded and "similarity" in records:
            ids.setdefault("embedder", []).append(sample.id)
        if any(getattr(record, "by", "") == "hhem" for record in records.values()):
            ids.setdefault("hhem", []).append(sample.id)
    return ids


def reasons_told(result: Result) -> list[str]:
    """Explain the reason codes in the result, a line each."""
    codes = {score.reason for item in result.samples for score in item.scores.values() if score.reason}
    return [explain(code) for code in sorted(codes)]
