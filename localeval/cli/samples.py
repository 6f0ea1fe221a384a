"""`localeval samples` and `localeval metrics`: what would be read of a file, and what can be asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from localeval.cli.options import EVALUATE_OPTIONS, JSON, pop_options, print_json
from localeval.cli.reading import READ_OPTIONS, read_file, source_file
from localeval.metrics import METRICS
from localeval.metrics.needs import Overview, needed_columns, needs_of, overview
from localeval.samples import ALIASES, Sample, Samples
from localeval.text.display import join_some, printable, shorten

_SEED = [option for option in EVALUATE_OPTIONS if option.name == "seed"]
_MAX_TEXT = 300  # characters of a text of the first sample
_MAX_CONTEXTS = 5
_MAX_OTHERS = 30


@click.command("samples", params=[*READ_OPTIONS, *_SEED, JSON])
@click.argument("file", required=False)
@click.option("--example", is_flag=True, help="Show the shipped samples instead of FILE.")
def samples_command(file: str | None, example: bool, as_json: bool, seed: int, **values: Any) -> None:
    """FILE is read as `evaluate` reads it; nothing is judged, and no model is needed.

    Names that were guessed and rows that were skipped are said on stderr.
    """
    reading = pop_options(values, READ_OPTIONS)
    samples = read_file(source_file(file, example), seed, **reading)
    found = overview(samples)
    if as_json:
        print_json(_as_dict(samples, found))
        return
    for line in _lines(samples, found):
        click.echo(printable(line))


@click.command("metrics", params=[JSON])
def metrics_command(as_json: bool) -> None:
    """`localeval samples FILE` shows which of them a file has the columns for."""
    if as_json:
        rows = [needs_of(metric) for metric in METRICS.values()]
        print_json(rows)
        return
    table = [["METRIC", "BY DEFAULT", "COLUMNS", "MODELS"]]
    for metric in METRICS.values():
        models = ", ".join(needs_of(metric)["models"]) or "none"
        by_default = "yes" if metric.by_default else ""
        table.append([metric.name, by_default, needed_columns(metric), models])
    for line in _table(table):
        click.echo(line)
    click.echo("")
    for metric in METRICS.values():
        also = f" (also {', '.join(metric.aliases)})" if metric.aliases else ""
        direction = "" if metric.higher_is_better else "; lower is better"
        click.echo(printable(f"{metric.name}{also}: {metric.definition}{direction}"))


def _lines(samples: Samples, found: Overview) -> Iterator[str]:
    skipped = f", {_number(len(samples.skipped), 'row')} skipped" if samples.skipped else ""
    yield f"{_number(len(samples), 'sample')} in {samples.name}{skipped}"
    yield ""
    yield from _table(_field_rows(samples, found))
    others = _other_columns(samples)
    if others:
        yield f"other columns, kept: {shorten(join_some(others, _MAX_OTHERS), 400)}"
    yield ""
    yield from _sample_lines(samples[0])
    yield ""
    yield from _table(_metric_rows(found, len(samples)))


def _field_rows(samples: Samples, found: Overview) -> Iterator[list[str]]:
    yield ["FIELD", "READ FROM", "SAMPLES THAT HAVE IT"]
    for field, number in found.present.items():
        columns = " and ".join(samples.read_from.get(field, ())) or "no column"
        count = f"{number} of {len(samples)}"
        if field == "retrieved_contexts" and found.contexts is not None:
            low, high = found.contexts
            each = _number(high, "context") if low == high else f"{low} to {high} contexts"
            count += f", with {each} each"
        yield [field, shorten(columns, 60), count]


def _metric_rows(found: Overview, total: int) -> Iterator[list[str]]:
    yield ["METRIC", "BY DEFAULT", "SAMPLES", "WHY NOT THE OTHERS"]
    absent = [field for field, number in found.present.items() if number == 0]
    for name, outlook in found.outlooks.items():
        by_default = "yes" if METRICS[name].by_default else ""
        yield [name, by_default, f"{outlook.scorable} of {total}", outlook.why_not(absent)]


def _sample_lines(sample: Sample) -> Iterator[str]:
    """Yield the fields of a sample, each text on one line."""
    yield f"the first sample, {shorten(sample.id)}:"
    for field in ALIASES:
        value = getattr(sample, field)
        if value is None:
            yield f"  {field}: missing"
        elif isinstance(value, str):
            yield f"  {field}: {shorten(value, _MAX_TEXT)}"
        else:
            yield f"  {field}: {_number(len(value), 'id' if field.endswith('_ids') else 'context')}"
            for number, text in enumerate(value[:_MAX_CONTEXTS], 1):
                yield f"    {number}. {shorten(text, _MAX_TEXT)}"
            if len(value) > _MAX_CONTEXTS:
                yield f"    and {len(value) - _MAX_CONTEXTS} more"


def _as_dict(samples: Samples, found: Overview) -> dict[str, Any]:
    """Return what is shown as JSON's values."""
    fields = {
        field: {"columns": list(samples.read_from.get(field, ())), "samples": number}
        for field, number in found.present.items()
    }
    metrics = [
        {**needs_of(METRICS[name]), "scorable": outlook.scorable, "why_not": dict(outlook.reasons)}
        for name, outlook in found.outlooks.items()
    ]
    return {
        "name": samples.name,
        "samples": len(samples),
        "skipped": [skipped._asdict() for skipped in samples.skipped],
        "guesses": samples.guesses,
        "fields": fields,
        "contexts": found.contexts,
        "other_columns": _other_columns(samples),
        "first": samples[0].model_dump(mode="json"),
        "metrics": metrics,
    }


def _other_columns(samples: Samples) -> list[str]:
    """Return the columns that no field is read from, in their order."""
    read = {column for columns in samples.read_from.values() for column in columns}
    return [column for column in samples.columns or () if column not in {*read, *ALIASES, "id"}]


def _table(rows: Any) -> Iterator[str]:
    """Yield the lines of a table whose columns are as wide as their longest cell."""
    table: list[Sequence[str]] = list(rows)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        yield "  ".join(map(str.ljust, row, widths)).rstrip()


def _number(number: int, unit: str) -> str:
    """Write a number with its unit: "1 sample", "2 samples"."""
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"
