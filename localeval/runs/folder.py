"""Read and write the folder of a run: its samples, its configuration, every judgement, and the results.

A folder belongs to a run if it has the `run.json` of one; else it must be empty, or not exist. Its files are
listed in localeval/runs/README.md.

A finished run stays whole until another one in its folder is finished, too. Until then the inputs of the
other run (run.json, samples.jsonl, plan.json, shard.json) are in the subfolder NEXT. A folder without results
has no such subfolder: its inputs are written in place.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, field_validator

from localeval.errors import FolderError, InputError
from localeval.judge import Judge
from localeval.judgements.journal import JOURNAL, LOCK, LOCK_NOTE, Journal, JournalFile
from localeval.metrics import register_criteria
from localeval.metrics.sample_result import sample_sha256
from localeval.metrics.signature import Signature
from localeval.options import Options
from localeval.report import formats
from localeval.runs.certificate import Certificate
from localeval.runs.plan import PLAN, Plan
from localeval.runs.result import Result
from localeval.runs.results_file import read_results, results_text
from localeval.samples import Sample, Samples, Skipped, read_samples
from localeval.system import files
from localeval.system.offline import is_offline
from localeval.text.display import join_some, shorten

LOG = logging.getLogger("localeval")

CONFIG = "run.json"
SAMPLES = "samples.jsonl"
RESULTS = "results.json"
REPORT = formats.REPORT.file
SHARD = "shard.json"
CARD = "card.json"
CALIBRATION = "calibration.json"


def finished_files() -> list[str]:
    """Return the files that a finished run has: its results, and one for each output format."""
    return [RESULTS, *formats.file_names()]


FILES = (LOCK, LOCK_NOTE, JOURNAL, CONFIG, SAMPLES, SHARD, PLAN, *finished_files(), CARD, CALIBRATION)
"""All files of a run and of a card."""
NEXT = ".next"
_INPUTS = (CONFIG, SAMPLES, SHARD, PLAN)

M = TypeVar("M", bound=BaseModel)


class EngineConfig(BaseModel):
    """What determines a record: the sha256 of the judge's model, settings, package versions."""

    model_config = ConfigDict(extra="allow", frozen=True)

    model: str
    settings: dict[str, Any]


class StoredRunConfig(BaseModel):
    """The content of run.json.

    judge      a catalog name, or the path of a GGUF file; embedder and classifier likewise, of a folder
    options    the fields of `localeval.options.Options`, files as their text
    signature  what the scores depend on
    auxiliary_signatures  signature of the embedder and of the classifier, where metrics of any call in this
               folder used them
    skipped    the rows of the data that could not be read and were left out, on request
    certificates  of the cards that the run was to be certified by
    watched    whether every process that judged here refused the network and counted the attempts
    """

    model_config = ConfigDict(frozen=True)

    metrics: list[str]
    judge: str
    embedder: str
    classifier: str
    engine: EngineConfig
    options: dict[str, Any]
    signature: Signature
    auxiliary_signatures: dict[str, dict[str, Any]] = {}
    skipped: list[Skipped] = []
    certificates: list[Certificate] = []
    watched: bool = True

    @field_validator("options")
    @classmethod
    def _options_of_this_version(cls, options: dict[str, Any]) -> dict[str, Any]:
        try:
            Options.check_stored(options)
            Options.read(options)
        except InputError as error:
            raise ValueError(error) from error
        return options

    def after(self, before: StoredRunConfig) -> StoredRunConfig:
        """Merge in what still holds of an earlier call in the same folder."""
        signatures = {
            kind: signature
            for kind, signature in before.auxiliary_signatures.items()
            if getattr(before, kind) == getattr(self, kind)
        }
        return self.model_copy(
            update={
                "auxiliary_signatures": signatures | self.auxiliary_signatures,
                "watched": self.watched and before.watched,
            }
        )


def config_of(
    judge: Judge,
    options: Options,
    signature: Signature,
    skipped: Sequence[Skipped],
    certificates: Sequence[Certificate] = (),
) -> StoredRunConfig:
    """Return the configuration of a run that begins now."""
    auxiliary = {"embedder": signature.embedder, "classifier": signature.classifier}
    return StoredRunConfig(
        metrics=list(signature.metrics),
        judge=judge.source,
        **judge.auxiliary_models.sources(),
        engine=EngineConfig(**judge.record_fingerprint()),
        options=vars(options),
        signature=signature,
        auxiliary_signatures={kind: model for kind, model in auxiliary.items() if model},
        skipped=list(skipped),
        certificates=list(certificates),
        watched=is_offline(),
    )


def load_config(folder: Path) -> StoredRunConfig:
    """Read the configuration of a run. Raises InputError where there is none, or one of another form."""
    return read_model(folder / CONFIG, StoredRunConfig, "run's folder", "evaluate -o")


def read_model(path: Path, model: type[M], kind: str, command: str) -> M:
    """Read the JSON file that marks a folder as a `kind`, as `command` writes it. Raises InputError."""
    folder = path.parent
    try:
        text = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{folder}: this is no {kind} ({path.name} can't be read); give one that `{command}` wrote."
        ) from error
    subject = f"{folder}: this is no {kind} for this version: its {path.name}"
    with files.parsing(subject, "give the run's `evaluate` command again."):
        # Not model_validate_json, which refuses a path that is not UTF-8.
        return model.model_validate(json.loads(text))


def find_config(folder: Path) -> StoredRunConfig | None:
    """Read the configuration of a run; None where there is none of this version."""
    with suppress(InputError):
        return load_config(folder)
    return None


def is_run(folder: Path) -> bool:
    """Return whether the folder has a run, of any version. Raises OSError where run.json can't be read."""
    if not (folder / CONFIG).exists():
        return False
    try:
        content = json.loads((folder / CONFIG).read_bytes())
    except (ValueError, RecursionError):
        # run.json is damaged, but the judgements are still good.
        return (folder / JOURNAL).exists()
    return isinstance(content, dict) and content.keys() >= {"metrics", "judge", "engine"}


def check(folder: Path, samples: Samples) -> None:
    """Check that the folder can hold a run of these samples.

    Raises FolderError for a folder that is not empty and has no run, and InputError where the samples are
    only a part of the run's own samples.jsonl.
    """
    try:
        if not is_run(folder) and _has_files(folder):
            raise FolderError(
                f"{folder}: this folder is not empty, and no run's (it has no {CONFIG} of one); choose an "
                "empty or a new one with -o."
            )
    except OSError as error:
        raise FolderError(
            f"{folder}: no run can be kept there ({error.strerror}); choose another folder with -o."
        ) from error
    if is_own(folder, samples):
        total = len(_read_stored(folder))
        if total > len(samples):
            raise InputError(
                f"{samples.file}: this is the run's own file, in which only {len(samples)} of {total} "
                "samples would be left; choose another folder with -o."
            )


def _has_files(folder: Path) -> bool:
    """Return whether the folder has files. Empty and hidden ones, which any run leaves, do not count."""
    if not folder.exists():
        return False
    shown = [path for path in folder.iterdir() if not path.name.startswith(".")]
    return any(path.lstat().st_size for path in shown)


def is_own(folder: Path, samples: Samples) -> bool:
    """Return whether the samples were read from the run's own samples.jsonl, by whatever path."""
    return samples.file is not None and files.is_same(folder / SAMPLES, samples.file)


def skipped(folder: Path | None, read: Samples) -> list[Skipped]:
    """List the rows that were left out: of `read` and, where that is the run's own file, of the run."""
    if folder is not None and is_own(folder, read):
        previous = find_config(folder)
        if previous is not None:
            return [*previous.skipped, *read.skipped]
    return list(read.skipped)


def check_default(folder: Path, samples: Samples, metrics: Sequence[str] | None = None) -> None:
    """Check that a run in a folder that nobody named replaces no results but with the same and more.

    metrics  names of the metrics to compute; None where each folder has one metric

    Raises InputError where the folder has a finished run with a sample that is not in `samples`, or has other
    texts there, or with a metric that is not computed now. Raises FolderError as `check` does.
    """
    check(folder, samples)
    if not (folder / RESULTS).exists():
        return
    stored = _read_stored(folder)
    if not stored:
        return
    lost = _lost_samples(stored, samples) or _lost_metrics(folder, metrics)
    if lost:
        raise InputError(
            f"{folder} holds a finished run of {lost}; name another folder with -o, or give -o {folder} to "
            "replace its results."
        )


def _lost_samples(stored: Sequence[Sample], samples: Samples) -> str:
    """Describe which of the `stored` samples are not in `samples`, or have other texts there."""
    now = {sample.id: sample_sha256(sample) for sample in samples}
    lost = [sample for sample in stored if now.get(sample.id) != sample_sha256(sample)]
    if not lost:
        return ""
    questions = set(map(_question, samples))
    if not any(_question(sample) in questions for sample in stored):
        return f"{len(stored)} other samples, perhaps of another file of this name"
    changed = [sample.id for sample in lost if sample.id in now]
    if changed:
        return (
            f"other answers, perhaps of another file of this name ({len(changed)} of its {len(stored)} "
            f"samples have other texts: {join_some(changed, 3)})"
        )
    ids = join_some([sample.id for sample in lost], 3)
    return f"more samples ({len(lost)} of its {len(stored)} are not read now: {ids})"


def _lost_metrics(folder: Path, metrics: Sequence[str] | None) -> str:
    """Name the metrics of the finished run in the folder that are not computed now."""
    previous = find_config(folder)
    if metrics is None or previous is None:
        return ""
    lost = [name for name in previous.metrics if name not in metrics]
    if not lost:
        return ""
    names = ",".join([*previous.metrics, *(name for name in metrics if name not in previous.metrics)])
    return f"the same samples with other metrics ({join_some(lost, 3)}); give -m {names} to have all of them"


def _question(sample: Sample) -> str:
    """Return the question of a sample, or its contexts, reference or response where it has none."""
    if sample.user_input or not sample.retrieved_contexts:
        return sample.user_input or sample.reference or sample.response or ""
    return "\n".join(sample.retrieved_contexts)


@contextmanager
def open_run(
    folder: Path | None,
    samples: Sequence[Sample],
    config: StoredRunConfig,
    memory: Journal | None = None,
    known: Sequence[Path] = (),
) -> Iterator[tuple[Journal, StoredRunConfig]]:
    """Lock the folder, and write run.json and samples.jsonl; a finished run stays as it is until `finish`.

    memory  the journal of a run without a folder; by default an empty one
    known   folders of other runs, whose judgements are copied when they are asked for

    Yields the journal, and the configuration after earlier calls in the folder.
    Raises FolderError where another process writes to the folder, or it can't be written.
    """
    if folder is None:
        yield Journal() if memory is None else memory, config
        return
    with Journal(folder, [JournalFile(other / JOURNAL) for other in known]) as journal:
        for place in (folder, folder / NEXT):
            previous = find_config(place)
            if previous is not None:
                config = config.after(previous)
        _write_inputs(folder, samples, config)
        yield journal, config


def _write_inputs(folder: Path, samples: Sequence[Sample], config: StoredRunConfig) -> None:
    """Write run.json and samples.jsonl, unless the folder has them already.

    They go into NEXT where a finished run with other inputs is in the folder.
    """
    exclude = None if config.certificates else {"certificates"}
    config_text = json.dumps(config.model_dump(exclude=exclude), indent=1) + "\n"

    def lines() -> Iterator[str]:
        return (json.dumps(sample.model_dump(exclude_none=True)) + "\n" for sample in samples)

    # The configuration first: with it, the folder belongs to a run.
    contents: dict[str, Callable[[], Iterable[str]]] = {CONFIG: lambda: [config_text], SAMPLES: lines}

    def changed_in(place: Path) -> list[str]:
        return [name for name, parts in contents.items() if not _has_parts(place / name, parts())]

    with files.writing(folder):
        place = folder
        changed = changed_in(folder)
        if changed and (folder / RESULTS).exists():
            LOG.warning(
                "%s: its earlier results are replaced when this run is finished; all judgements stay in its "
                "journal.",
                folder,
            )
            place = folder / NEXT
            place.mkdir(exist_ok=True)
            changed = changed_in(place)
        else:
            _remove_next(folder)
        outdated: list[Path] = []
        if changed:
            # A plan and tables of other inputs, the latter of a run that was killed when it ended.
            outdated = [place / name for name in (PLAN, *finished_files())]
        files.write_together(place, [(name, contents[name]()) for name in changed], outdated=outdated)


def _inputs_of(folder: Path) -> Path:
    """Return where the inputs of the run that is open in the folder are: in it, or in NEXT."""
    return folder / NEXT if (folder / NEXT / CONFIG).exists() else folder


def _remove_next(folder: Path) -> None:
    """Remove the inputs of a run that did not end."""
    place = folder / NEXT
    if place.is_dir():
        for name in _INPUTS:
            (place / name).unlink(missing_ok=True)
        # Where something else is in it, too, it stays.
        with suppress(OSError):
            place.rmdir()


def _has_parts(path: Path, parts: Iterable[str]) -> bool:
    """Return whether the file consists of exactly these parts."""
    if not path.exists():
        return False
    with path.open("rb") as file:
        for part in parts:
            expected = part.encode()
            if file.read(len(expected)) != expected:
                return False
        return not file.read(1)


def _read_stored(folder: Path) -> Sequence[Sample]:
    """Read the samples of the run in the folder; none where they can't be read."""
    with suppress(InputError):
        return read_samples(folder / SAMPLES)
    return []


def write_plan(folder: Path, run_plan: Plan) -> None:
    """Write plan.json, unless the run continues and has the plan of its beginning."""
    place = _inputs_of(folder)
    if not (run_plan.kept and (place / PLAN).exists()):
        with files.writing(folder):
            files.atomic_write(place / PLAN, [json.dumps(run_plan.to_dict(), indent=1) + "\n"])


def write_shard_text(folder: Path, text: str | None) -> None:
    """Write shard.json into the folder of an open run; None removes it. Raises FolderError."""
    place = _inputs_of(folder)
    with files.writing(folder):
        if text is None:
            (place / SHARD).unlink(missing_ok=True)
        else:
            files.atomic_write(place / SHARD, [text])


def finish(folder: Path, result: Result) -> None:
    """Write results.json and the tables, all or none of them, then the report. Raises FolderError.

    The inputs of the run come with them where an earlier run's stayed in place until now.
    """
    place = _inputs_of(folder)
    with files.writing(folder):
        if place == folder:
            _write_results(folder, result)
        else:
            # No file of the earlier run may stay next to one of this run. But run.json is never away: without
            # it, the folder would be no run's.
            _write_results(folder, result, outdated=(SHARD, PLAN, *finished_files()), moved_from=place)
            _remove_next(folder)
    formats.write_pages(result, folder, title=folder.resolve().name)


def replace_results(folder: Path, result: Result) -> None:
    """Write results.json, the tables and the report of a run that was scored again. Raises FolderError."""
    with files.writing(folder):
        _write_results(folder, result)
    formats.write_pages(result, folder, title=folder.resolve().name)


def _write_results(
    folder: Path, result: Result, outdated: Sequence[str] = (), moved_from: Path | None = None
) -> None:
    """Write the tables and results.json, all or none, with the inputs that are in `moved_from`."""
    inputs: list[Path] = []
    if moved_from is not None:
        inputs = [moved_from / name for name in _INPUTS if (moved_from / name).exists()]
    files.write_together(
        folder,
        # The results last: they mark the run as finished.
        [*formats.table_parts(result, folder.resolve().name), (RESULTS, results_text(result))],
        outdated=[folder / name for name in outdated],
        moved=inputs,
    )


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes from writing to a run's folder. Raises InputError where there is no run."""
    load_config(folder)
    with Journal(folder):
        yield


def register_criteria_of(folder: Path) -> None:
    """Make the criteria of a run known, without which its metrics and judgements can't be found.

    Does nothing for a folder without a run.
    """
    config = find_config(folder)
    if config is not None:
        register_criteria(Options.read(config.options).criteria)


def read_run(folder: Path) -> tuple[Samples, StoredRunConfig]:
    """Read the samples and the configuration of a run. Raises InputError for a folder without a run."""
    run_config = load_config(folder)
    register_criteria_of(folder)
    return read_samples(folder / SAMPLES), run_config


def load(folder: str | Path) -> Result:
    """Load the result of a finished run, with no model; a record is read when it is accessed.

    Raises InputError for a folder without a finished run.

    >>> load("runs/answers")["faithfulness"].value                           # doctest: +SKIP
    0.600
    """
    path = Path(folder)
    try:
        if not (path / CONFIG).exists():
            raise InputError(
                f"{folder}: this is no run's folder (no {CONFIG}); give one that `evaluate -o` wrote."
            )
        if not (path / RESULTS).exists():
            raise InputError(
                f"{folder}: the run is not finished (no {RESULTS}); give its `evaluate` command again."
            )
        samples = read_samples(path / SAMPLES)
        register_criteria_of(path)
        with (
            (path / RESULTS).open(encoding="utf-8") as lines,
            files.parsing(f"{folder}: {RESULTS} can't be used: it"),
        ):
            return read_results(lines, samples, JournalFile(path / JOURNAL))
    except OSError as error:
        raise FolderError(
            f"{shorten(path / RESULTS)}: can't be read ({error.strerror}); make it a file that you may read."
        ) from error
