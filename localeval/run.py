"""A run's folder, complete in itself: what was judged, with what, and every judgement.

samples.jsonl  the samples as they were read
run.json       the recipe: metrics, options, replaced prompts, judge and engine
journal.jsonl  the judgements (see `localeval.journal`)
results.json   of a finished run: signature, means, and each sample's scores (see `finish`)
scores.csv, statements.csv   the same for spreadsheets (see `localeval.report.tables`)
report.html    the same to look at (see `localeval.report.html`)
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from localeval.errors import InputError
from localeval.journal import FILE, Lines
from localeval.metrics import Score
from localeval.options import Options
from localeval.prompts import text_of
from localeval.records import KeptRecords
from localeval.report import tables
from localeval.result import Result, SampleResult
from localeval.samples import Sample, read_samples
from localeval.signature import Signature

SAMPLES, RECIPE, RESULTS, REPORT = "samples.jsonl", "run.json", "results.json", "report.html"
SCHEMA = 1
"""Of `results.json`; another number is another form."""


class Recipe(BaseModel):
    """How a run was made, and so how it can be made again.

    judge     a catalog name, or the path of a GGUF file; embedder and classifier likewise, of a folder
    engine    what of the judge decides a record: model hash, settings, package versions
    options   those of `localeval.options.Options`, prompts as text
    """

    model_config = ConfigDict(frozen=True)

    metrics: list[str]
    judge: str
    embedder: str
    classifier: str
    engine: dict[str, Any]
    options: dict[str, Any]


def write(folder: Path, samples: Sequence[Sample], recipe: Recipe) -> None:
    """Write samples and recipe. Raises InputError when the folder can't be written."""
    lines = [json.dumps(sample.model_dump(exclude_none=True)) + "\n" for sample in samples]
    try:
        (folder / SAMPLES).write_text("".join(lines), encoding="utf-8")
        (folder / RECIPE).write_text(json.dumps(recipe.model_dump(), indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder}: the run can't be written there ({error.strerror}).") from error


def read(folder: Path) -> tuple[list[Sample], Recipe]:
    """The samples and the recipe of a run. Raises InputError when the folder holds none."""
    try:
        recipe = Recipe.model_validate_json((folder / RECIPE).read_text(encoding="utf-8"))
    except (OSError, ValueError, ValidationError) as error:
        raise InputError(
            f"{folder}: this is no run's folder ({RECIPE} can't be read); give one that `evaluate -o` wrote."
        ) from error
    return read_samples(folder / SAMPLES), recipe


def recorded(options: Options) -> dict[str, Any]:
    """`options` as JSON values, every replaced prompt as its text."""
    prompts = {
        judgement: {language: text_of(given) for language, given in by_language.items()}
        for judgement, by_language in options.prompts.items()
    }
    plain: dict[str, Any] = json.loads(json.dumps({**vars(options), "prompts": prompts}))
    return plain


def finish(folder: Path, result: Result) -> None:
    """Write the tables, then `results.json`, whole or not at all, and the report of it. One sample a line:

    schema     1
    signature  what the numbers were made with, as fields
    metrics    their names, in the order of the table
    summary    metric -> the fields of `localeval.scoring.Summary`; an interval is [low, high] or null
    samples    in the order of the input: id; scores, metric -> value, soft, status, reason; and records,
               judgement -> the key of its line in `journal.jsonl`, where the record itself stands

    Raises InputError when the folder can't be written.
    """
    head = {
        "schema": SCHEMA,
        "signature": result.signature.model_dump(mode="json"),
        "metrics": result.metrics,
        "summary": {name: asdict(result[name]) for name in result.metrics},
    }
    beside = folder / f".{RESULTS}.part"
    try:
        tables.write(folder, result)
        with beside.open("w", encoding="utf-8", errors="surrogatepass") as file:
            file.write(
                json.dumps(head, ensure_ascii=False, indent=1).removesuffix("\n}") + ',\n "samples": ['
            )
            for i, one in enumerate(result.samples):
                file.write((",\n  " if i else "\n  ") + json.dumps(_row(one), ensure_ascii=False))
            file.write("\n ]\n}\n")
            file.flush()
            os.fsync(file.fileno())
        beside.replace(folder / RESULTS)
    except OSError as error:
        raise InputError(f"{folder}: the results can't be written there ({error.strerror}).") from error
    write_report(folder, result, folder / REPORT)


def write_report(folder: Path, result: Result, path: Path) -> None:
    """Write the HTML page of a run, with what it took by its journal. Raises InputError."""
    from localeval.report import html
    from localeval.report.html.effort import effort

    html.write(result, path, title=folder.resolve().name, effort=effort(folder))


def load(folder: str | Path) -> Result:
    """The result of a finished run, read from its folder with no model; records when they are asked for.

    Raises InputError for a folder without a finished run.

    >>> load("runs/answers")["faithfulness"].value                           # doctest: +SKIP
    0.606
    """
    path = Path(folder)
    samples, _ = read(path)
    try:
        kept = json.loads((path / RESULTS).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"{folder}: the run is not finished (no {RESULTS}); give its `evaluate` command again."
        ) from error
    except ValueError as error:
        raise _unreadable(folder, str(error)) from error
    try:
        if kept["schema"] != SCHEMA:
            raise _unreadable(folder, f"its schema is {kept['schema']!r}, not {SCHEMA}")
        if [row["id"] for row in kept["samples"]] != [sample.id for sample in samples]:
            raise _unreadable(folder, f"its samples are not those of {SAMPLES}")
        lines = Lines(path / FILE)
        found = [_sample_result(s, r, lines) for s, r in zip(samples, kept["samples"], strict=True)]
        return Result(found, kept["metrics"], Signature(**kept["signature"]))
    except (KeyError, TypeError, AttributeError, ValidationError) as error:
        raise _unreadable(folder, "not of the form that this version writes") from error


def _row(one: SampleResult) -> dict[str, Any]:
    at = one.records.at if isinstance(one.records, KeptRecords) else {}
    scores = {name: asdict(score) for name, score in one.scores.items()}
    return {"id": one.sample.id, "scores": scores, "records": dict(at)}


def _sample_result(sample: Sample, row: dict[str, Any], lines: Lines) -> SampleResult:
    scores = {name: Score(**score) for name, score in row["scores"].items()}
    return SampleResult(sample, scores, KeptRecords(lines, row["records"]))


def _unreadable(folder: str | Path, why: str) -> InputError:
    return InputError(
        f"{folder}: {RESULTS} can't be used ({why}); give the run's `evaluate` command again, which asks the "
        "model for nothing that is in the journal."
    )
