"""Tables and results as plain text. Text from samples is shown, never interpreted."""

from __future__ import annotations

import io
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from localeval.judgements.decision import (
    DecisionList,
    decided_in,
    is_unsure,
    list_unjudged,
    max_windows,
)
from localeval.judgements.judged_text import language_of
from localeval.metrics import METRICS
from localeval.metrics.sample_result import SampleResult
from localeval.metrics.score import Score, explain
from localeval.metrics.summary import Summary
from localeval.prompts import FENCES
from localeval.report.corrected import corrected_lines
from localeval.report.slices import MIN_SCORED, Slices, more_note, shown_value
from localeval.report.view import RunView
from localeval.text.display import join_some, printable, printable_lines
from localeval.text.injection import find_injections
from localeval.text.language import language
from localeval.text.thoughts import strip_thinking

# The judgement whose statements the table counts.
_COUNTED = "support"
# Reasons why a part of a response is not judged that a reader should know of.
_WORTH_A_LOOK = ("refusal", "question", "source")
# Why the list of a sentence's statements was ended.
_ENDED = ("budget", "repetition")
MAX_ROWS = 50
MAX_COLUMNS = 4
MAX_NAMED = 5
_ASCII_RULES = box.Box(str(box.SIMPLE_HEAD).replace("─", "-"), ascii=True)
# Mean cosine of unrelated questions above which a reader is told.
HIGH_COSINE = 0.5


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


def as_text(run: RunView) -> str:
    """Show a row for each of the first 50 samples, means with 95 % intervals, counts, notes and signature.

    With more than four metrics, show a row for each metric instead: the scores of a sample would not fit.
    """
    has_rows = len(run.metrics) <= MAX_COLUMNS
    lines = [
        *(_lines_by_sample(run) if has_rows else printed(_by_metric(run), 100)),
        *_mean_notes(run),
        *corrected_lines(run),
        *_slice_tables(run),
        *_notes_by_text(run, MAX_ROWS if has_rows else 0),
        *language_warnings(run),
        *scale_notes(run),
        *_abstention_note(run),
        *_raw_note(run),
        *(printable(stamp.text) for stamp in run.certificates),
        *_skipped_rows(run),
        _network_line(run),
        f"signature {run.signature}",
    ]
    return printable_lines("\n".join(lines))


def _lines_by_sample(run: RunView) -> Iterator[str]:
    """Yield the table with a row for each of the first samples, and the counts of each metric."""
    width = max(100, 70 + sum(len(name) + 10 for name in run.metrics))
    yield from printed(_by_sample(run), width)
    more = len(run.samples) - MAX_ROWS
    if more > 0:
        yield f"... and {more} more samples."
    yield ""
    for name in run.metrics:
        mean = run[name]
        yield f"{name}: {mean.scored} scored, {mean.undefined} undefined, {mean.failed} failed"


def _mean_notes(run: RunView) -> Iterator[str]:
    """Yield what a reader should know of the means: the units of their intervals, and their bounds."""
    for name in run.metrics:
        mean = run[name]
        if mean.groups is not None:
            yield (
                f"{name}: its intervals take the {mean.groups} groups of the column group as units, not the "
                f"{mean.scored} samples"
            )
        if mean.failed:
            yield (
                f"{name}: with the {mean.failed} failed, the mean lies between {number(mean.lowest)} (if all "
                f"were 0) and {number(mean.highest)} (if all were 1)"
            )


def _notes_by_text(run: RunView, rows: int) -> Iterator[str]:
    """Yield the notes on the samples after the first `rows`, which have no row, each note with their ids."""
    ids_by_note: dict[str, list[str]] = defaultdict(list)
    for sample_result in islice(run.samples, rows, None):
        for note in notes_on_texts(sample_result, run):
            ids_by_note[note.partition(":")[0]].append(sample_result.sample.id)
    for note, ids in ids_by_note.items():
        yield f"{note}: {join_some(ids, MAX_NAMED)}"


def _abstention_note(run: RunView) -> Iterator[str]:
    """Yield a line on both sides of abstention, where the run has its metrics, or on the one that it has."""
    both = run.abstention_balanced
    if both is None or not (both.answerable or both.unanswerable):
        return
    if not both.unanswerable:
        yield "abstention: the contexts answer every question, so no refusal could be right"
    elif not both.answerable:
        yield "abstention: the contexts answer no question, so no refusal could be needless"
    else:
        interval = ""
        if both.interval is not None:
            interval = f" (95 % {number(both.interval[0])} to {number(both.interval[1])})"
        yield (
            f"abstention: of {both.answerable} questions that the contexts answer, {both.answered} are "
            f"answered; of {both.unanswerable} others, {both.refused} are refused; mean of both shares "
            f"{number(both.value)}{interval}"
        )


def _raw_note(run: RunView) -> Iterator[str]:
    if run.signature.raw:
        yield "probabilities of support are raw: no calibration is in force for this judge and these options"


def _skipped_rows(run: RunView) -> Iterator[str]:
    skipped = run.skipped
    if not skipped:
        return
    count = "1 row" if len(skipped) == 1 else f"{len(skipped):,} rows"
    yield f"skipped: {count} of the data that can't be read"
    for row in skipped[:MAX_NAMED]:
        yield f"  {printable(row.reason)}"
    if len(skipped) > MAX_NAMED:
        yield f"  and {len(skipped) - MAX_NAMED:,} more"


def _network_line(run: RunView) -> str:
    network = run.network
    if network.watched:
        return f"network attempts refused: {network.refused}"
    if network.refused is None:
        return "network attempts: not counted (localeval.offline() refuses and counts them)"
    where = "not counted in every process of the run; refused in the others"
    return f"network attempts: {where}: {network.refused}"


def _by_sample(run: RunView) -> Table:
    table = new_table("sample")
    table.columns[0].overflow = "fold"
    table.columns[0].max_width = 40
    for metric in run.metrics:
        table.add_column(Text(printable(metric)), justify="right")
        table.add_column("soft", justify="right")
    if _counts_statements(run):
        table.add_column("statements", justify="right")
    table.add_column("note", overflow="fold")
    for sample_result in islice(run.samples, MAX_ROWS):
        table.add_row(*(Text(printable(cell)) for cell in _sample_row(sample_result, run)))
    table.add_section()
    means = [run[metric] for metric in run.metrics]
    table.add_row("mean", *(number(cell) for mean in means for cell in (mean.value, mean.soft)))
    _add_intervals(table, means)
    return table


def _sample_row(sample_result: SampleResult, run: RunView) -> list[str]:
    """Return the cells of a sample: its id, its scores, the number of its statements, and notes."""
    lists = sample_result.decisions()
    scores = {metric: sample_result.scores[metric] for metric in run.metrics}
    cells = [sample_result.sample.id]
    for score in scores.values():
        cells += [number(score.value), number(score.soft)]
    if _counts_statements(run):
        cells.append(_statement_count(lists))
    notes = _reasons(scores)
    windows = max_windows(lists)
    if windows > 1:
        notes.append(f"contexts read in windows: {windows}")
    notes += _notes(sample_result, lists, run)
    return [*cells, "; ".join(notes)]


def _statement_count(lists: Sequence[DecisionList]) -> str:
    """Return the number of the statements of a response, "" where they were not decided."""
    for listed in lists:
        if listed.judgement == _COUNTED and not listed.failure:
            return str(len(listed.decisions))
    return ""


def _reasons(scores: dict[str, Score]) -> list[str]:
    """Return why scores are missing, each reason with its metrics where there are several metrics."""
    metrics_by_reason: dict[str, list[str]] = defaultdict(list)
    for metric, score in scores.items():
        if score.status != "scored":
            metrics_by_reason[f"{score.status}: {score.reason}"].append(metric)
    if len(scores) == 1:
        return list(metrics_by_reason)
    return [f"{', '.join(names)} {text}" for text, names in metrics_by_reason.items()]


def _add_intervals(table: Table, means: Sequence[Summary]) -> None:
    """Add a row for each end of the 95 % intervals, where there is any."""
    intervals = [interval for mean in means for interval in (mean.interval, mean.soft_interval)]
    if not any(intervals):
        return
    for end, label in enumerate(("95 % from", "95 % to")):
        table.add_row(label, *(number(interval and interval[end]) for interval in intervals))


def _by_metric(run: RunView) -> Table:
    table = new_table("metric", "mean", "95 %", "soft", "95 %", "scored", "undefined", "failed")
    for metric in run.metrics:
        mean = run[metric]
        table.add_row(
            Text(printable(metric)),
            number(mean.value),
            span(mean.interval),
            number(mean.soft),
            span(mean.soft_interval),
            str(mean.scored),
            str(mean.undefined),
            str(mean.failed),
        )
    return table


def _slice_tables(run: RunView) -> Iterator[str]:
    """Yield a table for each column by which the run is sliced."""
    for sliced in run.slices:
        yield ""
        yield from printed(_by_value(sliced), 110)
        yield from more_note(sliced.column, sliced.more_values, sliced.more_samples)
    if run.slices:
        yield ""


def _by_value(sliced: Slices) -> Table:
    """Make a table with a row for each value of a column and each metric."""
    table = new_table("", "samples")
    table.columns[0].header = Text(printable(sliced.column))
    table.columns[0].overflow = "fold"
    table.add_column("metric")
    for heading in ("mean", "95 %", "soft", "scored", "undefined", "failed"):
        table.add_column(heading, justify="right")
    table.add_column("note")
    for one in sliced.slices:
        first_cells = [shown_value(one.value), f"{one.samples:,}"]
        for metric, mean in one.means.items():
            cells = [*first_cells, printable(metric), number(mean.value), span(mean.interval)]
            cells += [number(mean.soft), str(mean.scored), str(mean.undefined), str(mean.failed)]
            cells.append("too few" if mean.scored < MIN_SCORED else "")
            table.add_row(*map(Text, cells))
            # Only the first row of a value has it.
            first_cells = ["", ""]
    return table


def number(value: float | None) -> str:
    """Format a number with three decimals; None as a dash."""
    return "-" if value is None else f"{value:.3f}"


def span(interval: tuple[float, float] | None) -> str:
    """Format an interval with three decimals; None as a dash."""
    return "-" if interval is None else f"{number(interval[0])}–{number(interval[1])}"


def _counts_statements(run: RunView) -> bool:
    return any(_COUNTED in METRICS[name].judgements for name in run.metrics if name in METRICS)


def notes_on_texts(sample_result: SampleResult, run: RunView) -> list[str]:
    """List what a reader should know of the sample's texts, and of how they were read."""
    return _notes(sample_result, sample_result.decisions(), run)


def _notes(sample_result: SampleResult, lists: Sequence[DecisionList], run: RunView) -> list[str]:
    return [
        *_language_notes(sample_result, lists, run),
        *_judging_notes(sample_result, lists),
        *_unjudged_note(lists),
        *_attack_note(sample_result),
    ]


def _language_notes(
    sample_result: SampleResult, lists: Sequence[DecisionList], run: RunView
) -> Iterator[str]:
    """Yield notes on the language of the response, and on what its probabilities are."""
    language_code = language_of(sample_result.sample)
    calibrated = run.signature.calibration
    has_support = _COUNTED in sample_result.records
    if language_code == "other":
        yield "neither English nor Chinese"
    by_head = any(verdict.by == "head" for verdict in decided_in(lists, "verdict"))
    if by_head and _counts_statements(run):
        yield "read"
    elif has_support and calibrated and language_code not in calibrated:
        yield "raw probabilities"


def _judging_notes(sample_result: SampleResult, lists: Sequence[DecisionList]) -> Iterator[str]:
    """Yield notes on how the response was judged."""
    if strip_thinking(sample_result.sample.response or "")[1]:
        yield "<think> removed"
    statements = decided_in(lists, "statement")
    if any(one.cut in _ENDED for one in statements if one.column == "response"):
        yield "statements cut"
    if is_unsure(lists):
        yield "neither yes nor no likely"
    foreign = sum(question.foreign_word != "" for question in decided_in(lists, "question"))
    if foreign:
        yield f"drawn questions with a word that the response lacks: {foreign}"


def _attack_note(sample_result: SampleResult) -> Iterator[str]:
    columns = dict.fromkeys(match.column for match in find_injections(sample_result.sample, FENCES))
    if columns:
        yield f"reads like an attack on the judge: {', '.join(columns)}"


def _unjudged_note(lists: Sequence[DecisionList]) -> Iterator[str]:
    """Yield a note that counts the parts of a response that are not judged, if one is worth a look.

    Courtesies, headings and marks are not counted, nor a response of which nothing is judged: its score has
    the reason.
    """
    statements = [*decided_in(lists, "statement"), *decided_in(lists, "sentence")]
    if not any(one.column == "response" and not one.unjudged for one in statements):
        return
    counts = Counter(one.unjudged for one in list_unjudged(lists))
    parts = [f"{counts[reason]} {reason}" for reason in _WORTH_A_LOOK if reason in counts]
    if parts:
        yield f"not judged: {', '.join(parts)}"


def language_warnings(run: RunView) -> list[str]:
    """List the samples that a model read without knowing their language; a line for each model."""
    names = {"embedder": "the embedder", "hhem": "HHEM"}
    return [
        f"{names[model]} reads English only, and this is another language: {join_some(ids, MAX_NAMED)}"
        for model, ids in samples_in_unsupported_language(run).items()
    ]


def scale_notes(run: RunView) -> list[str]:
    """Say how alike the embedder takes unrelated questions, where that is high; a line or none."""
    names = {"en": "English", "zh": "Chinese"}
    figures = [f"{cosine:.2f} in {names[code]}" for code, cosine in high_cosines(run).items()]
    if not figures:
        return []
    return [
        f"answer_relevance: by this embedder unrelated questions have a mean cosine of "
        f"{' and '.join(figures)}; value counts cosines from 0, soft from there"
    ]


def high_cosines(run: RunView) -> dict[str, float]:
    """Map the languages that the embedder reads to its mean cosine of unrelated questions, if it is high."""
    embedder = run.signature.embedder
    unrelated = embedder.get("unrelated") or {}
    readable = embedder.get("languages") or []
    return {
        code: unrelated[code]
        for code in ("en", "zh")
        if unrelated.get(code, 0) > HIGH_COSINE and (code in readable or "multilingual" in readable)
    }


def samples_in_unsupported_language(run: RunView) -> dict[str, list[str]]:
    """Map "embedder" and "hhem" to the ids of the samples that they read without knowing their language."""
    embeds_english = run.signature.embedder.get("languages") == ["en"]
    # Looked at before any record is read.
    if not (embeds_english or run.signature.classifier):
        return {}
    ids: dict[str, list[str]] = defaultdict(list)
    for sample_result in run.samples:
        sample = sample_result.sample
        if language(f"{sample.user_input or ''} {sample.response or ''}") == "en":
            continue
        lists = sample_result.decisions()
        if embeds_english and any(one.cosine is not None for one in decided_in(lists, "question")):
            ids["embedder"].append(sample.id)
        if any(one.by == "hhem" for one in decided_in(lists, "verdict")):
            ids["hhem"].append(sample.id)
    return ids


def explain_reasons(run: RunView) -> list[str]:
    """Explain the reason codes in the result, a line each."""
    codes = {score.reason for item in run.samples for score in item.scores.values() if score.reason}
    return [explain(code) for code in sorted(codes)]
