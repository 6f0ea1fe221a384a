"""A result as a table for the terminal. Text from samples is shown, never interpreted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from localeval.judgements import most_windows
from localeval.metrics import METRICS
from localeval.metrics.score import explained
from localeval.metrics.summary import Summary
from localeval.report.injection import suspicions
from localeval.report.terminal import new_table, printed
from localeval.text.display import listed, printable, printable_lines
from localeval.text.language import language

if TYPE_CHECKING:
    from pydantic import BaseModel
    from rich.table import Table

    from localeval.runs.result import Network, Result, SampleResult
    from localeval.samples import Skipped

MOST_ROWS = 50
MOST_COLUMNS = 4
MOST_NAMED = 5


def as_text(result: Result, width: int | None = None) -> str:
    """One row a sample (the first 50), the means with their 95 % intervals, the counts and the signature.

    Where samples failed, the counts also tell the means that there would be if these were 0 or 1.

    With more than four metrics one row a metric instead, with its means: the scores of each sample would fit
    no screen. Columns are aligned by display width, so Chinese ids and English ones line up. `width` is what
    is enough for the metrics, at least 100, unless said.
    """
    wide = len(result.metrics) > MOST_COLUMNS
    enough = 100 if wide else max(100, 70 + sum(len(metric) + 10 for metric in result.metrics))
    means = {metric: result[metric] for metric in result.metrics}
    lines = printed(_by_metric(means) if wide else _by_sample(result, means), width or enough)
    more = len(result.samples) - MOST_ROWS
    if more > 0 and not wide:
        lines.append(f"... and {more} more samples.")
    if not wide:
        lines += ["", *(f"{name}: {_counts(mean)}" for name, mean in means.items())]
    unseen = result.samples if wide else result.samples[MOST_ROWS:]
    lines += [*_bounds(means), *_noted(unseen, result), *strangers(result), *_raw(result)]
    lines += _skipped(result.skipped)
    return printable_lines("\n".join([*lines, _network(result.network), f"signature {result.signature}"]))


def _by_sample(result: Result, means: Mapping[str, Summary]) -> Table:
    from rich.text import Text

    table = new_table("sample")
    table.columns[0].overflow, table.columns[0].max_width = "fold", 40
    for metric in result.metrics:
        table.add_column(Text(printable(metric)), justify="right")
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
    both = [(m.value, m.soft, m.interval, m.soft_interval) for m in means.values()]
    table.add_row("mean", *(number(cell) for value, soft, *_ in both for cell in (value, soft)))
    intervals = [interval for *_, hard, soft in both for interval in (hard, soft)]
    if any(intervals):
        for end, label in enumerate(("95 % from", "95 % to")):
            table.add_row(label, *(number(interval and interval[end]) for interval in intervals))
    return table


def _by_metric(means: Mapping[str, Summary]) -> Table:
    from rich.text import Text

    table = new_table("metric")
    for column in ("mean", "95 %", "soft", "95 %", "scored", "undefined", "failed"):
        table.add_column(column, justify="right")
    for metric, mean in means.items():
        shown = (number(mean.value), span(mean.interval), number(mean.soft), span(mean.soft_interval))
        table.add_row(
            Text(printable(metric)), *shown, str(mean.scored), str(mean.undefined), str(mean.failed)
        )
    return table


def number(value: float | None) -> str:
    """Three decimals; a dash for none."""
    return "-" if value is None else f"{value:.3f}"


def span(interval: tuple[float, float] | None) -> str:
    """An interval with three decimals; a dash for none."""
    return "-" if interval is None else f"{number(interval[0])}–{number(interval[1])}"


def _statements(sample: SampleResult) -> str:
    support = sample.records.get("support")
    verdicts = getattr(support, "verdicts", None)
    return "" if verdicts is None else str(len(verdicts))


def _noted(samples: Sequence[SampleResult], result: Result) -> list[str]:
    """A line for each note on samples that have no row of their own."""
    met: dict[str, list[str]] = {}
    for sample in samples:
        for note in _of_the_text(sample, result):
            met.setdefault(note.partition(":")[0], []).append(sample.sample.id)
    return [f"{note}: {listed(ids, MOST_NAMED)}" for note, ids in met.items()]


def _note(sample: SampleResult, result: Result) -> str:
    without: dict[str, list[str]] = {}
    for metric in result.metrics:
        if (score := sample.scores[metric]).status != "scored":
            without.setdefault(f"{score.status}: {score.reason}", []).append(metric)
    alone = len(result.metrics) == 1
    notes = [why if alone else f"{', '.join(names)} {why}" for why, names in without.items()]
    if (parts := most_windows(sample.records)) > 1:
        notes.append(f"contexts read in windows: {parts}")
    return "; ".join([*notes, *_of_the_text(sample, result)])


def _of_the_text(sample: SampleResult, result: Result) -> list[str]:
    """What is to be known of a sample's texts, and of how they were read."""
    notes = []
    made = sample.records.get("statements") or sample.records.get("grounding")
    if getattr(made, "language", "") == "other":
        notes.append("neither English nor Chinese")
    calibrated, by = result.signature.calibration, getattr(sample.records.get("support"), "by", "llm")
    if by == "head" and any(
        "support" in METRICS[name].judgements for name in result.metrics if name in METRICS
    ):
        notes.append("read")
    elif calibrated and getattr(made, "language", "") not in ("", *calibrated):
        notes.append("raw probabilities")
    if getattr(made, "thinking_removed", False):
        notes.append("<think> removed")
    if any(s.cut in ("budget", "repetition") for s in getattr(made, "sentences", ())):
        notes.append("statements cut")
    if columns := dict.fromkeys(found.column for found in suspicions(sample.sample)):
        notes.append(f"reads like an attack on the judge: {', '.join(columns)}")
    return notes


def strangers(result: Result) -> list[str]:
    """A line for each model that read samples in a language that it does not know."""
    embedded = result.signature.embedder.get("languages") == ["en"]
    if not (embedded or result.signature.classifier):
        return []  # no record is read in vain
    foreign = [s for s in result.samples if not _english(s)]
    models = {
        "the embedder": [s.sample.id for s in foreign if embedded and "similarity" in s.records],
        "HHEM": [s.sample.id for s in foreign if any(_by_hhem(r) for r in s.records.values())],
    }
    return [
        f"{model} reads English only, and this is another language: {listed(met, MOST_NAMED)}"
        for model, met in models.items()
        if met
    ]


def _skipped(rows: Sequence[Skipped]) -> list[str]:
    if not rows:
        return []
    many = "1 row" if len(rows) == 1 else f"{len(rows):,} rows"
    more = [f"  and {len(rows) - MOST_NAMED:,} more"] if len(rows) > MOST_NAMED else []
    named = [f"  {printable(one.reason)}" for one in rows[:MOST_NAMED]]
    return [f"skipped: {many} of the data that can't be read", *named, *more]


def _network(network: Network) -> str:
    if network.watched:
        return f"network attempts refused: {network.refused}"
    if network.refused is None:
        return "network attempts: not watched (localeval.offline() refuses and counts them)"
    return (
        f"network attempts: not watched in every process of the run; refused where it was: {network.refused}"
    )


def _raw(result: Result) -> list[str]:
    if not result.signature.raw:
        return []
    return ["probabilities of support are raw: no calibration is in force for this judge and these options"]


def _by_hhem(record: BaseModel) -> bool:
    return getattr(record, "by", "") == "hhem"


def _english(sample: SampleResult) -> bool:
    return language(f"{sample.sample.user_input or ''} {sample.sample.response or ''}") == "en"


def _counts(summary: Summary) -> str:
    return f"{summary.scored} scored, {summary.undefined} undefined, {summary.failed} failed"


def _bounds(means: Mapping[str, Summary]) -> list[str]:
    """A line for each metric in which samples failed: what they could make of its mean."""
    return [
        f"{name}: with the {mean.failed} failed, the mean lies between {number(mean.lowest)} (if all were 0) "
        f"and {number(mean.highest)} (if all were 1)"
        for name, mean in means.items()
        if mean.failed
    ]


def reasons_told(result: Result) -> list[str]:
    """A line for each reason code in the result, with what it means."""
    codes = {s.reason for sample in result.samples for s in sample.scores.values() if s.reason}
    return [explained(code) for code in sorted(codes)]
