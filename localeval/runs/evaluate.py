"""The main path: samples -> judgements -> scores -> result."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel

from localeval.errors import InputError
from localeval.judge import Judge
from localeval.judgements.calibration import Curves
from localeval.judgements.journal import Journal
from localeval.judgements.journal.lines import FILE as JOURNAL
from localeval.judgements.journal.lines import Lines
from localeval.judgements.journal.records import KeptRecords
from localeval.metrics import DEFAULT_METRICS, METRICS, Metric, Score
from localeval.metrics.signature import Signature
from localeval.metrics.summary import choose_metrics, compute, judgements_for, to_judge
from localeval.models.catalog import DEFAULT_JUDGE
from localeval.prompts.options import Options
from localeval.runs import folder as run_folder
from localeval.runs import ownership
from localeval.runs.config import Recipe, recorded
from localeval.runs.dry_run import LOOKED_AT, make_plan
from localeval.runs.network import Tally
from localeval.runs.plan import Plan
from localeval.runs.result import Result, SampleResult
from localeval.samples import Sample, Samples, Skipped, Source, check_columns, read_samples

Progress = Callable[[int, Sequence[Sample]], None]


class Watch(Protocol):
    """Told the plan before anything is judged, then each sample with its scores when it is finished."""

    def begin(self, plan: Plan) -> None: ...

    def took(self, done: int, samples: Sequence[Sample], scores: Mapping[str, Score]) -> None: ...


def evaluate(
    samples: Source,
    metrics: Iterable[str] | None = None,
    judge: Judge | str | os.PathLike[str] = DEFAULT_JUDGE,
    output: str | Path | None = None,
    progress: Progress | None = None,
    watch: Watch | None = None,
    **options: Any,
) -> Result:
    """Score every sample.

    samples   a file, a pandas DataFrame, or an iterable of `Sample` objects or dicts: what `read_samples`
              takes, which has more options, and whose result can be given too
    metrics   names of `METRICS`; by default those of `DEFAULT_METRICS` whose columns some sample has
    judge     a `Judge`, a catalog name, or a path to a GGUF file (loaded, and freed at the end)
    output    the run's folder (see `localeval.runs.folder`); a second call with it goes on where the first
              ended, and files of the caller's with the names of a run's are refused
    progress  called with the number of finished samples, and all samples
    watch     see `Watch`; without it no plan is made
    options   those of `localeval.prompts.options.Options`

    Raises InputError or ModelError before any sample is judged; afterwards a sample that can't be scored
    has a `Score` that says so.

    >>> result = evaluate("samples.jsonl", metrics=["faithfulness"])         # doctest: +SKIP
    >>> result["faithfulness"].value                                         # doctest: +SKIP
    0.75
    """
    choices = Options.read(options)
    read = read_samples(samples)
    folder = _folder(output, samples, read)
    chosen = metrics_for(metrics, read)
    with Journal(folder) as journal, Tally(folder) as tally, _opened(judge) as opened:
        opened.ready(chosen, choices)
        signature = opened.signature(chosen, choices)
        skipped = read.skipped if folder is None else run_folder.skipped(folder, read)
        planned = None
        if watch is not None:
            planned = make_plan(read, chosen, opened, choices, journal, most=LOOKED_AT)
            _check(planned, watch)
        if folder is not None:
            ownership.tell_what_goes(folder, read, [m.name for m in chosen])
            run_folder.write(folder, read, _recipe(opened, chosen, choices, signature, skipped), opened.fits)
        if watch is not None and planned is not None:
            _begin(watch, planned, folder)
        finished, curves = [], opened.curves(choices)
        for sample in read:
            finished.append(_evaluated(sample, chosen, opened, choices, curves, journal))
            tally.take()
            if progress is not None:
                progress(len(finished), read)
            if watch is not None:
                watch.took(len(finished), read, finished[-1].scores)
        names = [m.name for m in chosen]
        result = Result(finished, names, signature, network=tally.take(), skipped=skipped)
        if folder is not None:
            journal.check()
            run_folder.finish(folder, result)
    return result


def plan(
    samples: Source,
    metrics: Iterable[str] | None = None,
    judge: Judge | str | os.PathLike[str] = DEFAULT_JUDGE,
    output: str | Path | None = None,
    **options: Any,
) -> Plan:
    """What `evaluate` would do with these arguments: judgements, rows, time and memory. Nothing is judged.

    The speed of the machine is measured for it with some 3 800 rows, once for a model and its settings.
    `output` is only read: what its journal holds is not to be made again.

    Raises InputError or ModelError where `evaluate` would, before it judges.

    >>> print(plan("samples.jsonl", metrics=["faithfulness"]))               # doctest: +SKIP
    """
    choices = Options.read(options)
    read = read_samples(samples)
    folder = _folder(output, samples, read)
    if folder is not None:
        ownership.check_writable(folder)
    chosen = metrics_for(metrics, read)
    journal = None if folder is None else folder / JOURNAL
    kept = Lines(journal) if journal is not None and journal.exists() else None
    with _opened(judge) as opened:
        opened.ready(chosen, choices)
        return make_plan(read, chosen, opened, choices, kept, measure=True)


async def aevaluate(samples: Source, **arguments: Any) -> Result:
    """`evaluate` in a thread of its own, so that an event loop goes on."""
    return await asyncio.to_thread(evaluate, samples, **arguments)


def _folder(output: str | Path | None, samples: Source, read: Samples) -> Path | None:
    """The run's folder. Raises InputError where the run would take away what is not its own."""
    if output is None:
        return None
    if output == "":
        raise InputError("output is empty; name a folder, or leave it out.")
    folder = Path(output)
    ownership.check(folder, samples if isinstance(samples, str | Path) else read.name, read)
    return folder


def _recipe(
    judge: Judge,
    metrics: Sequence[Metric],
    options: Options,
    signature: Signature,
    skipped: Sequence[Skipped],
) -> Recipe:
    return Recipe(
        metrics=[m.name for m in metrics],
        judge=judge.source,
        **judge.companions.sources(),
        engine=judge.signature_of_engine(),
        options=recorded(options),
        signature=signature.model_dump(mode="json"),
        beside={n: m for n in ("embedder", "classifier") if (m := getattr(signature, n))},
        skipped=list(skipped),
    )


def _check(planned: Plan, watch: Watch) -> None:
    """Raises InputError where the judge does not fit into memory, and tells the plan before."""
    if not planned.fits:
        watch.begin(planned)
        planned.check()


def _begin(watch: Watch, planned: Plan, folder: Path | None) -> None:
    """Keep the plan and tell it."""
    if folder is not None:
        run_folder.keep_plan(folder, planned)
    watch.begin(planned)


def _evaluated(
    sample: Sample,
    metrics: Sequence[Metric],
    judge: Judge,
    options: Options,
    curves: Curves,
    journal: Journal,
) -> SampleResult:
    scores, judged = to_judge(metrics, sample)
    wanted = judgements_for(judged, options)
    made = judge.made(sample, wanted, options, journal) if wanted else {}
    records: Mapping[str, BaseModel] = {name: one.record for name, one in made.items()}
    scores |= {m.name: compute(m, records, options, curves) for m in judged}
    if journal.lines is not None:  # a record is read again from there when someone asks for it
        records = KeptRecords(journal.lines, {name: one.key for name, one in made.items()})
    return SampleResult(sample, {m.name: scores[m.name] for m in metrics}, records, curves, options.threshold)


def metrics_for(names: Iterable[str] | None, samples: Samples) -> list[Metric]:
    """The metrics that `evaluate` computes of these samples. Raises InputError where it can compute none."""
    if names is not None:
        chosen = choose_metrics(names)
        for metric in chosen:
            check_columns(samples, metric.columns, metric.name, samples.name)
            _check_either(samples, metric)
        return chosen
    fitting = [
        metric
        for metric in map(METRICS.__getitem__, DEFAULT_METRICS)
        if all(any(getattr(s, column) is not None for s in samples) for column in metric.columns)
    ]
    if not fitting:
        columns = ", ".join(METRICS[DEFAULT_METRICS[0]].columns)
        raise InputError(f"{samples.name}: no metric can be computed; samples need the columns {columns}.")
    return fitting


def _check_either(samples: Samples, metric: Metric) -> None:
    """Raises InputError where no sample has any of the columns of which the metric needs one."""
    if metric.either and all(getattr(s, column, None) is None for s in samples for column in metric.either):
        need = f"{metric.name} needs one of the columns {', '.join(metric.either)}, and no sample has one"
        raise InputError(f"{samples.name}: {need}; add it, or leave the metric out.")


@contextmanager
def _opened(judge: Judge | str | os.PathLike[str]) -> Iterator[Judge]:
    """The judge; one that was loaded here is freed at the end."""
    if isinstance(judge, Judge):
        yield judge
    else:
        with Judge.load(judge) as loaded:
            yield loaded
