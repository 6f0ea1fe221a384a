"""A run's folder, complete in itself: what was judged, with what, and every judgement.

samples.jsonl  the samples as they were read
run.json       the recipe: metrics, options, replaced prompts, judge and engine
plan.json      what the run was to take (see `localeval.plan`), where a plan was made
journal.jsonl  the judgements (see `localeval.journal`)
network.json   attempts to use the network (see `localeval.network`)
results.json   of a finished run: signature, means, and each sample's scores (see `finish`)
scores.csv, statements.csv   the same for spreadsheets (see `localeval.report.tables`)
report.html    the same to look at (see `localeval.report.html`)
"""

from __future__ import annotations

import filecmp
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from localeval.calibration.choice import text_of as calibration_text
from localeval.errors import InputError
from localeval.lines import FILE, Lines
from localeval.metrics import Score
from localeval.network import Network
from localeval.options import Options
from localeval.plan import FILE as PLAN
from localeval.plan import Plan
from localeval.prompts import text_of
from localeval.records import KeptRecords
from localeval.report import tables
from localeval.result import Result, SampleResult
from localeval.samples import Sample, Samples, Skipped, read_samples
from localeval.signature import Signature
from localeval.whole import write_beside, write_whole, writing

SAMPLES, RECIPE, RESULTS, REPORT = "samples.jsonl", "run.json", "results.json", "report.html"
SCHEMA = 1
"""Of `results.json`; another number is another form."""


class Recipe(BaseModel):
    """How a run was made, and so how it can be made again.

    judge     a catalog name, or the path of a GGUF file; embedder and classifier likewise, of a folder
    engine    what of the judge decides a record: model hash, settings, package versions
    options   those of `localeval.options.Options`, prompts as text
    signature what the numbers are made with
    beside    signatures of embedder and classifier, as far as metrics of any call in this folder used them
    skipped   the rows of the data that could not be read and were left out, on demand
    """

    model_config = ConfigDict(frozen=True)

    metrics: list[str]
    judge: str
    embedder: str
    classifier: str
    engine: dict[str, Any]
    options: dict[str, Any]
    signature: dict[str, Any] = {}
    beside: dict[str, dict[str, Any]] = {}
    skipped: list[Skipped] = []


def write(folder: Path, samples: Sequence[Sample], recipe: Recipe) -> None:
    """Write samples and recipe; results of other samples or of another recipe go.

    Raises FolderError when the folder can't be written.
    """
    lines = (json.dumps(sample.model_dump(exclude_none=True)) + "\n" for sample in samples)
    with writing(folder):
        made = json.dumps(_with_what_was_known(folder, recipe).model_dump(), indent=1) + "\n"
        for name, parts in ((SAMPLES, lines), (RECIPE, [made])):
            beside = write_beside(folder / name, parts)
            if (folder / name).exists() and filecmp.cmp(beside, folder / name, shallow=False):
                beside.unlink()
            else:
                for stale in (RESULTS, tables.SCORES, tables.STATEMENTS, REPORT):
                    (folder / stale).unlink(missing_ok=True)  # first: what is there belongs together
                beside.replace(folder / name)


def read(folder: Path) -> tuple[list[Sample], Recipe]:
    """The samples and the recipe of a run. Raises InputError when the folder holds none."""
    try:
        recipe = _recipe(folder)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{folder}: this is no run's folder ({RECIPE} can't be read); give one that `evaluate -o` wrote."
        ) from error
    return read_samples(folder / SAMPLES), recipe


def skipped(folder: Path, read: Samples) -> list[Skipped]:
    """The rows that were left out of the data: of `read`, and where that is the run's own file, before it."""
    try:
        own = Path(read.name).samefile(folder / SAMPLES)
        before = _recipe(folder).skipped if own else []
    except (OSError, ValueError):
        before = []
    return [*before, *read.skipped]


def _recipe(folder: Path) -> Recipe:
    """Raises OSError or ValueError where none can be read."""
    return Recipe.model_validate_json((folder / RECIPE).read_text(encoding="utf-8"))


def _with_what_was_known(folder: Path, recipe: Recipe) -> Recipe:
    """The recipe with the models that an earlier call in this folder used beside the judge."""
    try:
        before = _recipe(folder)
    except (OSError, ValueError):
        return recipe
    same = {
        name: kept for name, kept in before.beside.items() if getattr(before, name) == getattr(recipe, name)
    }
    return recipe.model_copy(update={"beside": same | recipe.beside})


def recorded(options: Options) -> dict[str, Any]:
    """`options` as JSON values, every replaced prompt and a calibration file as their texts."""
    prompts = {
        judgement: {language: text_of(given) for language, given in by_language.items()}
        for judgement, by_language in options.prompts.items()
    }
    chosen = options.calibration
    calibration = chosen if chosen in ("auto", "none") else calibration_text(chosen)
    plain: dict[str, Any] = json.loads(
        json.dumps({**vars(options), "prompts": prompts, "calibration": calibration})
    )
    return plain


def keep_plan(folder: Path, plan: Plan) -> None:
    """Write `plan.json` (`Plan.to_dict`), unless the run goes on and one tells of its beginning.

    Raises FolderError when the folder can't be written.
    """
    path = folder / PLAN
    if not (plan.kept and path.exists()):
        with writing(folder):
            write_whole(path, [json.dumps(plan.to_dict(), indent=1) + "\n"])


def finish(path: Path, result: Result) -> None:
    """Write a result that a folder keeps to `path`, its `results.json`; whole or not at all.

    With a `results.json` come its tables (`localeval.report.tables`), all of them or none, and the report.
    In it stands one sample a line, so that it can be read in parts:

    schema     1
    signature  what the numbers were made with, as fields
    metrics    their names, in the order of the table
    summary    metric -> the fields of `localeval.scoring.Summary`; an interval is [low, high] or null
    network    the fields of `localeval.network.Network`. Alone of all fields it tells of the run's processes
               and not of its scores: a run that was interrupted ends in the same bytes where nothing tried
    skipped    place and reason of each row of the data that was left out because it can't be read
    samples    in the order of the input: id; scores, metric -> value, soft, status, reason; and records,
               judgement -> the key of its line in `journal.jsonl`, where the record itself stands

    Raises FolderError when the folder can't be written.
    """
    head = {
        "schema": SCHEMA,
        "signature": result.signature.model_dump(mode="json"),
        "metrics": result.metrics,
        "summary": {name: asdict(result[name]) for name in result.metrics},
        "network": result.network.model_dump(),
        "skipped": [one._asdict() for one in result.skipped],
    }
    files = [*(tables.as_csv(result) if path.name == RESULTS else ()), (path.name, _parts(head, result))]
    made: list[Path] = []
    with writing(path.parent):
        try:
            made += (write_beside(path.with_name(name), parts) for name, parts in files)
        except OSError:
            for beside in made:
                beside.unlink(missing_ok=True)
            raise
        # The results last: they say that all is there.
        for beside, (name, _) in zip(made, files, strict=True):
            beside.replace(path.with_name(name))
    if path.name == RESULTS:
        write_report(path.parent, result, path.with_name(REPORT))


def write_report(folder: Path, result: Result, path: Path) -> None:
    """Write the HTML page of a run, with what it took and what was planned. Raises InputError."""
    from localeval.report import html
    from localeval.report.html.effort import effort

    title = folder.resolve().name
    html.write(result, path, title=title, effort=effort(folder))


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
        network = Network(**kept.get("network", {}))
        skipped = [Skipped(**row) for row in kept.get("skipped", [])]
        signature = Signature(**kept["signature"])
        return Result(found, kept["metrics"], signature, network=network, skipped=skipped)
    except (KeyError, TypeError, AttributeError, ValidationError) as error:
        raise _unreadable(folder, "not of the form that this version writes") from error


def _parts(head: dict[str, Any], result: Result) -> Iterator[str]:
    yield json.dumps(head, ensure_ascii=False, indent=1).removesuffix("\n}") + ',\n "samples": ['
    for i, one in enumerate(result.samples):
        yield (",\n  " if i else "\n  ") + json.dumps(_row(one), ensure_ascii=False)
    yield "\n ]\n}\n"


def _row(one: SampleResult) -> dict[str, Any]:
    at = one.records.at if isinstance(one.records, KeptRecords) else {}
    scores = {name: vars(score) for name, score in one.scores.items()}
    return {"id": one.sample.id, "scores": scores, "records": dict(at)}


def _sample_result(sample: Sample, row: dict[str, Any], lines: Lines) -> SampleResult:
    scores = {name: Score(**score) for name, score in row["scores"].items()}
    return SampleResult(sample, scores, KeptRecords(lines, row["records"]))


def _unreadable(folder: str | Path, why: str) -> InputError:
    return InputError(
        f"{folder}: {RESULTS} can't be used ({why}); give the run's `evaluate` command again, which asks the "
        "model for nothing that is in the journal."
    )
