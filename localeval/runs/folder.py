"""A run's folder, complete in itself: what was judged, with what, and every judgement.

A folder is a run's if it has the `run.json` of one; else it must be empty, or not exist. Its files:
localeval/runs/README.md.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import zip_longest
from pathlib import Path

from localeval.errors import FolderError, InputError
from localeval.judgements import journal
from localeval.judgements.journal import Journal, JournalFile, head_of
from localeval.report import tables
from localeval.runs import config, plan
from localeval.runs.config import RunConfig, find_config
from localeval.runs.plan import Plan
from localeval.runs.result import Result, sample_sha256
from localeval.runs.results_file import FILE, read_results, results_text
from localeval.samples import Sample, Samples, Skipped, read_samples
from localeval.system import files
from localeval.text.display import shorten

LOG = logging.getLogger("localeval")

SAMPLES, RECIPE, RESULTS, REPORT = "samples.jsonl", config.FILE, FILE, "report.html"
SHARD = "shard.json"
_FINISHED = (RESULTS, tables.SCORES, tables.STATEMENTS, REPORT)
FILES = (journal.LOCK, journal.FILE, journal.DAMAGED, RECIPE, SAMPLES, SHARD, plan.FILE, *_FINISHED)
"""Every file of a run."""


def is_run(folder: Path) -> bool:
    """Tell whether a run was made there, by any version. Raises OSError where run.json can't be read."""
    if not (folder / RECIPE).exists():
        return False
    try:
        kept = json.loads((folder / RECIPE).read_bytes())
    except (ValueError, RecursionError):  # damaged: its judgements are still good
        return (folder / journal.FILE).exists()
    return isinstance(kept, dict) and kept.keys() >= {"metrics", "judge", "engine"}


def check(folder: Path, samples: Samples) -> None:
    """Check that a run of these samples may be kept in the folder.

    Raises FolderError for a folder that holds something and is no run's, and InputError where they were read
    from the run's own samples.jsonl, and are only a part of it.
    """
    try:
        there = [] if is_run(folder) or not folder.exists() else folder.iterdir()
        # Empty files do not count, nor hidden ones: a run that ended at once leaves such.
        if any(path.lstat().st_size for path in there if not path.name.startswith(".")):
            raise FolderError(
                f"{folder}: this folder is not empty, and no run's (it has no {RECIPE} of one); choose an "
                "empty or a new one with -o."
            )
    except OSError as error:
        raise FolderError(
            f"{folder}: no run can be kept there ({error.strerror}); choose another folder with -o."
        ) from error
    if is_own(folder, samples) and (had := len(_samples_of(folder))) > len(samples):
        raise InputError(
            f"{samples.file}: this is the run's own file, in which only {len(samples)} of {had} samples "
            "would be left; choose another folder with -o."
        )


def is_own(folder: Path, samples: Samples) -> bool:
    """Tell whether they were read from the run's own file of samples, by whatever path."""
    return samples.file is not None and files.is_same(folder / SAMPLES, samples.file)


def skipped(folder: Path | None, read: Samples) -> list[Skipped]:
    """List the rows left out of the data: of `read` and, where that is the run's own file, before it."""
    own = find_config(folder) if folder is not None and is_own(folder, read) else None
    return [*(own.skipped if own else []), *read.skipped]


def check_default(folder: Path, samples: Sequence[Sample]) -> None:
    """Raise InputError where a folder that nobody chose has a finished run with none of these questions."""
    if not (folder / RESULTS).exists() or not (before := _samples_of(folder)):
        return
    asked = {_question(one) for one in before}
    if not any(_question(one) in asked for one in samples):
        raise InputError(
            f"{folder} holds a finished run of {len(before)} other samples, perhaps of another file of this "
            f"name; name another folder with -o, or give -o {folder} to replace its results."
        )


def _question(sample: Sample) -> str:
    """Give what tells of which data a sample is: its question, or what stands in its place."""
    if sample.user_input or not sample.retrieved_contexts:
        return sample.user_input or sample.reference or sample.response or ""
    return "\n".join(sample.retrieved_contexts)


class Run:
    """A run in its folder while it goes on; without a folder, in memory. Make it with `open`."""

    def __init__(self, folder: Path | None, kept: Journal, config: RunConfig) -> None:
        self.folder, self.journal, self.config = folder, kept, config

    @classmethod
    @contextmanager
    def open(
        cls, folder: Path | None, samples: Sequence[Sample], made: RunConfig, fits: Callable[[], None]
    ) -> Iterator[Run]:
        """Lock the folder, and write run.json and samples.jsonl. Results of other samples or options go.

        Before they go `fits` is called, which raises where the run could make none in their place.
        Raises FolderError where another process writes to the folder, or it can't be written.
        """
        with Journal(folder) as kept:
            if folder is not None:
                before = find_config(folder)
                made = made.after(before) if before else made
                _begin(folder, samples, made, fits)
            yield cls(folder, kept, made)

    def keep_plan(self, planned: Plan) -> None:
        """Write plan.json, unless the run goes on and one tells of its beginning."""
        if self.folder is not None and not (planned.kept and (self.folder / plan.FILE).exists()):
            with files.writing(self.folder):
                files.atomic_write(self.folder / plan.FILE, [json.dumps(planned.to_dict(), indent=1) + "\n"])


def _begin(folder: Path, samples: Sequence[Sample], made: RunConfig, fits: Callable[[], None]) -> None:
    def lines() -> Iterator[str]:
        return (json.dumps(sample.model_dump(exclude_none=True)) + "\n" for sample in samples)

    # The configuration first: where it stands, the folder is a run's.
    texts: dict[str, Callable[[], Iterable[str]]] = {RECIPE: made.lines, SAMPLES: lines}
    with files.writing(folder):
        changed = [name for name, text in texts.items() if not _holds(folder / name, text())]
        finished = [path for path in map(folder.joinpath, _FINISHED) if path.exists()]
        if changed and finished:
            fits()
            before, kept = find_config(folder), _samples_of(folder)
            texts_now = {sample_sha256(one) for one in samples}
            gone = sum(sample_sha256(one) not in texts_now for one in kept)
            lost = [name for name in before.metrics if name not in made.metrics] if before else []
            if gone or lost:
                what = ", ".join([f"{gone} of its {len(kept)} samples"] * (gone > 0) + lost)
                LOG.warning(
                    "%s: the run's results of %s go; all judgements stay in its journal.", folder, what
                )
        written = [(files.write_temporary(folder / name, texts[name]()), folder / name) for name in changed]
        for path in [*finished, folder / plan.FILE] if changed else []:
            path.unlink(missing_ok=True)  # first: what is there belongs together
        for beside, path in written:
            beside.replace(path)


def _holds(path: Path, lines: Iterable[str]) -> bool:
    """Tell whether the file holds just these lines."""
    if not path.exists():
        return False
    with path.open("rb") as file:
        return all(kept == (line and line.encode()) for kept, line in zip_longest(file, lines))


def _samples_of(folder: Path) -> Sequence[Sample]:
    """Read the samples of the run there; none where they can't be read."""
    with suppress(InputError):
        return read_samples(folder / SAMPLES)
    return []


def finish(folder: Path, result: Result) -> None:
    """Write results.json and the tables, whole or none of them, then the report. Raises FolderError."""
    with files.writing(folder):
        # The results last: they say that all is there.
        files.write_together(folder, [*tables.as_csv(result), (RESULTS, results_text(result))])
    write_report(folder, result, folder / REPORT)


def write_results(path: Path, result: Result) -> None:
    """Write a result of a run's folder to any file, in the form of its results.json. Raises InputError."""
    with files.writing_to(path, "scores"):
        files.atomic_write(path, results_text(result))


def write_report(folder: Path, result: Result, path: Path) -> None:
    """Write the HTML page of a run, with what all judgements in its journal took. Raises InputError."""
    from localeval.report import html

    seconds, rows = 0.0, 0
    with suppress(OSError), (folder / journal.FILE).open("rb") as file:
        for line in file:
            with suppress(ValueError, KeyError, TypeError):  # a damaged line: the journal tells of it
                cost = head_of(line)["cost"]
                seconds, rows = seconds + cost["seconds"], rows + cost["rows"]
    cost = html.RunCost(seconds, rows) if seconds else None
    html.write(result, path, title=folder.resolve().name, cost=cost)


def read(folder: Path) -> tuple[Samples, RunConfig]:
    """Read the samples and the configuration of a run. Raises InputError for what is none."""
    made = config.load_config(folder)
    return read_samples(folder / SAMPLES), made


def load(folder: str | Path) -> Result:
    """Read the result of a finished run, with no model; its records are read when they are asked for.

    Raises InputError for a folder without a finished run.

    >>> load("runs/answers")["faithfulness"].value                           # doctest: +SKIP
    0.610
    """
    path = Path(folder)
    try:
        if not (path / RECIPE).exists():
            raise InputError(
                f"{folder}: this is no run's folder (no {RECIPE}); give one that `evaluate -o` wrote."
            )
        if not (path / RESULTS).exists():
            raise InputError(
                f"{folder}: the run is not finished (no {RESULTS}); give its `evaluate` command again."
            )
        samples = read_samples(path / SAMPLES)
        with (
            (path / RESULTS).open(encoding="utf-8") as lines,
            files.parsing(f"{folder}: {RESULTS} can't be used: it"),
        ):
            return read_results(lines, samples, JournalFile(path / journal.FILE))
    except OSError as error:
        raise FolderError(
            f"{shorten(path / RESULTS)}: can't be read ({error.strerror}); make it a file that you may read."
        ) from error
