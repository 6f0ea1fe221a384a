"""Evaluate samples: samples -> judgements -> scores -> result."""

from __future__ import annotations

import asyncio
import logging
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from functools import partial, wraps
from numbers import Real
from pathlib import Path
from typing import Any, Literal, Protocol

from localeval.engine.memory import check_need
from localeval.errors import InputError, ModelMissing
from localeval.judge import Judge
from localeval.metrics import METRICS, Metric, Score, default_metrics
from localeval.metrics.summary import choose_metrics, compute_all, judgements_of_sample
from localeval.models.catalog import DEFAULT_JUDGE
from localeval.options import Options
from localeval.runs import folder as run_folder
from localeval.runs.plan import LOOKED_AT, Plan, make_plan
from localeval.runs.result import Network, Result, ScoredSamples
from localeval.runs.shards import ShardFile, note_shard, take_shard
from localeval.runs.workers import choose_workers, threads_each
from localeval.samples import Sample, Samples, Source, check_columns, columns_hint, read_samples
from localeval.system.offline import attempts, is_offline
from localeval.text.display import enumerated

LOG = logging.getLogger("localeval")

Progress = Callable[[int, Sequence[Sample]], None]


class Watch(Protocol):
    """Receives the plan before anything is judged, then each sample with its scores when it is finished."""

    def begin(self, plan: Plan) -> None: ...

    def took(
        self, done: int, samples: Sequence[Sample], scores: Mapping[str, Score], workers: str
    ) -> None: ...


def evaluate(
    samples: Source,
    metrics: Iterable[str] | None = None,
    judge: Judge | str | os.PathLike[str] = DEFAULT_JUDGE,
    output: str | Path | None = None,
    progress: Progress | None = None,
    watch: Watch | None = None,
    workers: int | Literal["auto"] = 1,
    shard: str | None = None,
    ray: str | None = None,
    timeout: float | None = None,
    **options: Any,
) -> Result:
    """Score every sample.

    samples   any input of `read_samples` (a file, a DataFrame, `Sample` objects or dicts), or its result
    metrics   names of `METRICS`; by default the `default_metrics()` whose columns some sample has, and
              whose models are installed: a metric left out for want of a model is logged as a warning
    judge     a `Judge`, a catalog name, or a path to a GGUF file (loaded, and freed at the end)
    output    the run's folder (see `localeval.runs.folder`); a second call with it continues where the first
              ended, and a folder that holds anything else is refused
    progress  called with the number of finished samples, and all samples
    watch     see `Watch`; without it no plan is made
    workers   number of processes that judge in parallel, each with the judge's threads (for a judge given by
              name: its share of the cores); "auto": as many as cores and memory allow, of about four threads
    ray       the address of a Ray cluster, or "auto" for the one of this machine: `workers` are its actors,
              by default as many as it has room for
    shard     "2/5": only the second of five parts of the samples, to be merged by `localeval.merge`
    timeout   seconds for the judgements of a sample, without loading models; a sample that takes longer is
              *failed*, `timeout`, and judged again by another call. With it another process judges, which is
              ended and replaced where a judgement hangs. For a judge that only this process has (see
              `Judge.load`), the time is looked at between judgements, and nothing ends one that hangs
    options   those of `localeval.options.Options`

    Raises InputError or ModelError before any sample is judged; later only FolderError, as for a full disk,
    ModelBroken for a model file that was replaced, and EngineFailing where sample after sample fails by the
    engine (see `localeval.runs.workers.Brake`). A sample that can't be scored has a `Score` with the
    reason.

    >>> result = evaluate("samples.jsonl", metrics=["faithfulness"])         # doctest: +SKIP
    >>> result["faithfulness"].value                                         # doctest: +SKIP
    0.75
    """
    before = attempts() if is_offline() else None
    threads = threads_each(workers)
    _check_timeout(timeout)
    choices, dataset, shard_file, folder, selected = _prepare(samples, metrics, output, shard, options)
    with _load_judge(judge, 0 if ray else threads) as loaded:
        selected = _available_metrics(selected, metrics is not None, loaded, choices)
        signature, skipped = loaded.signature(selected, choices), run_folder.skipped(folder, dataset)
        config, curves = run_folder.config_of(loaded, choices, signature, skipped), loaded.curves(choices)
        run_plan = None if watch is None else _plan_run(dataset, selected, loaded, choices, folder, watch)
        pool = choose_workers(
            loaded, workers, ray, timeout
        )  # raises before a finished run in the folder goes
        with run_folder.open_run(folder, dataset, config) as (journal, config):
            if folder is not None:
                note_shard(folder, shard_file)
                if run_plan is not None:
                    run_folder.keep_plan(folder, run_plan)
            if watch is not None and run_plan is not None:
                watch.begin(run_plan)
            required = partial(judgements_of_sample, selected, choices)
            scored = ScoredSamples(dataset, journal.lines, signature)
            with closing(pool.judge(dataset, required, choices, journal)) as judged:
                for done, (index, sample, records, keys) in enumerate(judged, 1):
                    scores = compute_all(selected, sample, records, choices, curves)
                    scored.put(index, sample, scores, records, keys)
                    if progress is not None:
                        progress(done, dataset)
                    if watch is not None:
                        watch.took(done, dataset, scores, str(pool))
            refused = None if before is None or not config.watched else attempts() - before + pool.refused
            network = Network(watched=refused is not None, refused=refused)
            result = Result(scored, config.metrics, signature, network=network, skipped=skipped)
            if folder is not None:
                run_folder.finish(folder, result)
    return result


def _check_timeout(timeout: float | None) -> None:
    """Raise InputError for a time limit that is no number above 0."""
    if timeout is None:
        return
    if isinstance(timeout, bool) or not isinstance(timeout, Real) or not 0 < timeout < math.inf:
        raise InputError(f"timeout is {timeout!r}; give a number of seconds above 0, or leave it out.")


def _prepare(
    samples: Source,
    metrics: Iterable[str] | None,
    output: str | Path | None,
    shard: str | None,
    options: dict[str, Any],
) -> tuple[Options, Samples, ShardFile | None, Path | None, list[Metric]]:
    """Check the arguments and the run's folder, before a model is looked for."""
    choices = Options.read(options)
    dataset = samples if isinstance(samples, Samples) else read_samples(samples)
    dataset, shard_file = (dataset, None) if shard is None else take_shard(shard, dataset)
    if output == "":
        raise InputError("output is empty; name a folder, or leave it out.")
    folder = None if output is None else Path(output)
    if folder is not None:
        run_folder.check(folder, dataset)
    selected = metrics_for(metrics, dataset)
    if metrics is None:
        _tell_left_out(selected, dataset)
    return choices, dataset, shard_file, folder, selected


def _plan_run(
    samples: Samples,
    metrics: Sequence[Metric],
    judge: Judge,
    options: Options,
    folder: Path | None,
    watch: Watch,
) -> Plan:
    """Plan the run. Raises InputError, after showing the plan, where the judge does not fit into memory."""
    run_plan = make_plan(samples, metrics, judge, options, folder, most=LOOKED_AT)
    if not run_plan.fits:
        watch.begin(run_plan)
        check_need(str(judge.model["name"]), run_plan.memory, run_plan.free)
    return run_plan


def plan(
    samples: Source,
    metrics: Iterable[str] | None = None,
    judge: Judge | str | os.PathLike[str] = DEFAULT_JUDGE,
    output: str | Path | None = None,
    shard: str | None = None,
    **options: Any,
) -> Plan:
    """Estimate the judgements, tokens, time and memory of `evaluate` with these arguments. Judge nothing.

    Time and memory are those of one process; the speed of the machine is measured with some 3,800 tokens,
    once for a model and its settings. `output` is only read: judgements in its journal are not counted as
    work. Raises InputError or ModelError where `evaluate` would, before it judges.

    >>> print(plan("samples.jsonl", metrics=["faithfulness"]))               # doctest: +SKIP
    """
    choices, dataset, _, folder, selected = _prepare(samples, metrics, output, shard, options)
    with _load_judge(judge) as loaded:
        selected = _available_metrics(selected, metrics is not None, loaded, choices)
        return make_plan(dataset, selected, loaded, choices, folder, measure=True)


@wraps(evaluate, assigned=())  # for its signature
async def aevaluate(*arguments: Any, **options: Any) -> Result:
    """Call `evaluate` in a thread of its own, so that it does not block the event loop."""
    return await asyncio.to_thread(evaluate, *arguments, **options)


def metrics_for(names: Iterable[str] | None, samples: Samples) -> list[Metric]:
    """Choose the metrics to compute. Raises InputError where no sample has the columns of a named metric."""
    if names is not None:
        selected = choose_metrics(names)
        for metric in selected:
            check_columns(samples, metric.columns, metric.name, samples.name)
            if metric.either and all(getattr(s, c, None) is None for s in samples for c in metric.either):
                hint = columns_hint(samples, metric.either[:1])
                remedy = f"{hint}, add it" if hint else "add it"
                raise InputError(
                    f"{samples.name}: {metric.name} needs one of the columns {', '.join(metric.either)}, and "
                    f"no sample has one; {remedy}, or leave the metric out."
                )
        return selected
    lacking = _lacking_columns(samples)
    selected = [METRICS[name] for name, columns in lacking.items() if not columns]
    if not selected:
        needs = "; ".join(f"{name} needs {' and '.join(METRICS[name].columns)}" for name in lacking)
        missing = dict.fromkeys(column for columns in lacking.values() for column in columns)
        hint = columns_hint(samples, list(missing))
        end = f". {hint[0].upper()}{hint[1:]}." if hint else "."
        raise InputError(f"{samples.name}: no metric can be computed: {needs}{end}")
    return selected


def _lacking_columns(samples: Samples) -> dict[str, list[str]]:
    """Return for each default metric the columns that it needs and no sample has."""
    metrics = default_metrics()
    needed = {column for metric in metrics for column in metric.columns}
    absent = {column for column in needed if all(getattr(s, column) is None for s in samples)}
    return {metric.name: [column for column in metric.columns if column in absent] for metric in metrics}


def _tell_left_out(selected: Sequence[Metric], samples: Samples) -> None:
    """Log which default metrics are left out, and the columns that they lack."""
    by_columns: dict[tuple[str, ...], list[str]] = {}
    for name, columns in _lacking_columns(samples).items():
        if all(metric.name != name for metric in selected):
            by_columns.setdefault(tuple(columns), []).append(name)
    for lacking, names in by_columns.items():
        hint = columns_hint(samples, lacking)
        LOG.warning(
            "%s: %s left out, as no sample has %s%s.",
            samples.name,
            f"{enumerated(names)} {'is' if len(names) == 1 else 'are'}",
            enumerated(lacking),
            f"; {hint}" if hint else "",
        )


def _available_metrics(metrics: list[Metric], named: bool, judge: Judge, options: Options) -> list[Metric]:
    """Check the models of the metrics, and leave out the metrics whose model is not installed.

    None is left out where the caller `named` them, or an embedder. Raises ModelMissing where none is left.
    """
    if named or not judge.auxiliary_models.auto:
        judge.check_requirements(metrics, options)
        return metrics
    missing = missing_models(metrics, judge, options)
    if missing and len(missing) == len(metrics):
        raise next(iter(missing.values()))
    for name, reason in missing.items():
        LOG.warning("%s is left out: %s", name, reason)
    return [metric for metric in metrics if metric.name not in missing]


def missing_models(metrics: Iterable[Metric], judge: Judge, options: Options) -> dict[str, ModelMissing]:
    """Return for each metric whose model is not installed the error that says so."""
    missing: dict[str, ModelMissing] = {}
    for metric in metrics:
        try:
            judge.check_requirements([metric], options)
        except ModelMissing as error:
            missing[metric.name] = error
    return missing


def _load_judge(judge: Judge | str | os.PathLike[str], n_threads: int = 0) -> AbstractContextManager[Judge]:
    """Load the judge, where it is a name or a path, to be freed at the end."""
    return nullcontext(judge) if isinstance(judge, Judge) else Judge.load(judge, n_threads=n_threads)
