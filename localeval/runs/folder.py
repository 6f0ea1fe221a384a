"""A run's folder, complete in itself: what was judged, with what, and every judgement.

samples.jsonl  the samples as they were read
run.json       the recipe: metrics, options, replaced prompts, judge and engine
plan.json      what the run was to take (see `localeval.runs.plan`), where a plan was made
journal.jsonl  the judgements (see `localeval.judgements.journal`)
network.json   attempts to use the network (see `localeval.runs.network`)
results.json   of a finished run: signature, means, each sample's scores (see `localeval.runs.results_file`)
scores.csv, statements.csv   the same for spreadsheets (see `localeval.report.tables`)
report.html    the same to look at (see `localeval.report.html`)
"""

from __future__ import annotations

import contextlib
import filecmp
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from localeval.errors import FolderError, InputError
from localeval.judgements.journal.lines import FILE, Lines, cost_in
from localeval.report import tables
from localeval.runs import config, results_file
from localeval.runs.config import Recipe
from localeval.runs.plan import FILE as PLAN
from localeval.runs.plan import Plan
from localeval.runs.result import Result
from localeval.samples import Sample, Samples, Skipped, read_samples
from localeval.system.files import (
    is_same,
    move,
    reading,
    refuse_links,
    write_beside,
    write_together,
    write_whole,
    writing,
    writing_to,
)

if TYPE_CHECKING:
    from localeval.report import html

SAMPLES, RECIPE, RESULTS, REPORT = "samples.jsonl", config.FILE, results_file.FILE, "report.html"
_FINISHED = (RESULTS, tables.SCORES, tables.STATEMENTS, REPORT)


def write(
    folder: Path, samples: Sequence[Sample], recipe: Recipe, fits: Callable[[], None] = lambda: None
) -> None:
    """Write samples and recipe; results of other samples or of another recipe go.

    Before any of these goes `fits` is called, which raises where the run could make none in their place.
    Raises FolderError when the folder can't be written.
    """
    lines = (json.dumps(sample.model_dump(exclude_none=True)) + "\n" for sample in samples)
    with writing(folder):
        made = json.dumps(_with_what_was_known(folder, recipe).model_dump(), indent=1) + "\n"
        # The recipe first: where it stands, the samples beside it are the run's (`localeval.runs.ownership`).
        for name, parts in ((RECIPE, [made]), (SAMPLES, lines)):
            beside = write_beside(folder / name, parts)
            if (folder / name).exists() and filecmp.cmp(beside, folder / name, shallow=False):
                beside.unlink()
            else:
                _take_away(folder, beside, fits)
                move(beside, folder / name)


def _take_away(folder: Path, beside: Path, fits: Callable[[], None]) -> None:
    """Remove what no longer goes with the file that is `beside`, and will be moved into its place."""
    if stale := [path for path in map(folder.joinpath, _FINISHED) if path.exists()]:
        try:
            fits()
        except BaseException:
            beside.unlink()
            raise
    for path in stale:
        path.unlink()  # first: what is there belongs together


def read(folder: Path) -> tuple[list[Sample], Recipe]:
    """The samples and the recipe of a run, to make something by them. Raises InputError for what is none."""
    recipe = config.usable(folder)
    return read_samples(folder / SAMPLES), recipe


def skipped(folder: Path, read: Samples) -> list[Skipped]:
    """The rows that were left out of the data: of `read`, and where that is the run's own file, before it."""
    before: list[Skipped] = []
    with contextlib.suppress(OSError, ValueError):
        if is_own(folder, read.name):
            before = config.noted(folder).skipped
    return [*before, *read.skipped]


def is_own(folder: Path, source: str | Path) -> bool:
    """Whether this is the file of the run's samples, by whatever path."""
    return is_same(folder / SAMPLES, source)


def _with_what_was_known(folder: Path, recipe: Recipe) -> Recipe:
    """The recipe with the models that an earlier call in this folder used beside the judge."""
    try:
        before = config.noted(folder)
    except (OSError, ValueError):
        return recipe
    same = {
        name: kept for name, kept in before.beside.items() if getattr(before, name) == getattr(recipe, name)
    }
    return recipe.model_copy(update={"beside": same | recipe.beside})


def keep_plan(folder: Path, plan: Plan) -> None:
    """Write `plan.json` (`Plan.to_dict`), unless the run goes on and one tells of its beginning.

    Raises FolderError when the folder can't be written.
    """
    path = folder / PLAN
    if not (plan.kept and path.exists()):
        with writing(folder):
            write_together(folder, [(PLAN, [json.dumps(plan.to_dict(), indent=1) + "\n"])])


def finish(folder: Path, result: Result) -> None:
    """Write the result of a run into its folder: results.json (`results_file`), tables, report.

    All files but the report are there whole, or none of them is. Raises FolderError when the folder can't be
    written.
    """
    with writing(folder):
        # The results last: they say that all is there.
        write_together(folder, [*tables.as_csv(result), (RESULTS, results_file.written(result))])
    write_report(folder, result, folder / REPORT)


def write_results(path: Path, result: Result) -> None:
    """Write a result of a run's folder to any file, in the form of its results.json. Raises InputError."""
    with writing_to(path, "scores"):
        write_whole(path, results_file.written(result))


def write_report(folder: Path, result: Result, path: Path) -> None:
    """Write the HTML page of a run, with what it took. Raises InputError."""
    from localeval.report import html

    if path == folder / REPORT:  # any other place is the caller's, who may have a link there
        refuse_links(folder, [REPORT])
    title = folder.resolve().name
    html.write(result, path, title=title, cost=_cost(folder))


def _cost(folder: Path) -> html.RunCost | None:
    """The sum of all judgements that were made, also of those that no metric reads now; None for none."""
    from localeval.report import html

    seconds, rows = 0.0, 0
    with suppress(OSError), (folder / FILE).open("rb") as file:
        for line in file:
            with suppress(ValueError, KeyError, TypeError):  # a damaged line: the journal tells of it
                cost = cost_in(line)
                seconds, rows = seconds + cost["seconds"], rows + cost["rows"]
    return html.RunCost(seconds, rows) if seconds else None


def load(folder: str | Path) -> Result:
    """The result of a finished run, read from its folder with no model; records when they are asked for.

    Raises InputError for a folder without a finished run.

    >>> load("runs/answers")["faithfulness"].value                           # doctest: +SKIP
    0.610
    """
    path = Path(folder)
    config.read(path)
    samples = read_samples(path / SAMPLES)
    try:
        with reading(f"{folder}: {RESULTS} can't be used: it"):
            kept = json.loads((path / RESULTS).read_text(encoding="utf-8"))
            return results_file.taken(kept, samples, Lines(path / FILE))
    except FileNotFoundError as error:
        raise InputError(
            f"{folder}: the run is not finished (no {RESULTS}); give its `evaluate` command again."
        ) from error
    except OSError as error:
        raise FolderError(
            f"{path / RESULTS}: can't be read ({error.strerror}); make it a file that you may read."
        ) from error
