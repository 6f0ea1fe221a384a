"""Evaluate samples: samples -> judgements -> scores -> result."""

from __future__ import annotations

import asyncio
import logging
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, replace
from functools import wraps
from numbers import Real
from pathlib import Path
from typing import Any, Literal, Protocol

from localeval.engine.memory import check_need
from localeval.errors import InputError, ModelMissing
from localeval.judge import Judge
from localeval.judgements.journal import Journal
from localeval.metrics import METRICS, Metric, Score, criteria_of, default_metrics, register_criteria
from localeval.metrics.sample_result import Network
from localeval.metrics.signature import Signature, needs_judge
from localeval.metrics.summary import choose_metrics
from localeval.models.catalog import DEFAULT_JUDGE
from localeval.options import Options
from localeval.prompts import Criterion
from localeval.runs import folder as run_folder
from localeval.runs.certificate import Certificate, check_planned, read_certificate, stamps
from localeval.runs.plan import MAX_COUNTED, Plan, make_plan, with_stored_speed
from localeval.runs.pool import Pool, choose_pool, threads_each
from localeval.runs.result import Result, ScoredSamples
from localeval.runs.shards import ShardFile, take_shard, write_shard
from localeval.samples import Sample, Samples, Source, check_columns, columns_hint, read_samples
from localeval.system.offline import attempts, is_offline
from localeval.text.display import enumerated

LOG = logging.getLogger("localeval")

Progress = Callable[[int, Sequence[Sample]], None]


class Watch(Protocol):
    """Receives the plan before anything is judged, then each sample with its scores when it is finished."""

    def on_plan(self, plan: Plan) -> None: ...

    def on_sample(
        self, done: int, samples: Sequence[Sample], scores: Mapping[str, Score], workers: str
    ) -> None: ...


@dataclass(frozen=True)
class RunSetup:
    """What a run computes and where it is kept: the arguments of `evaluate`, checked.

    folder        None for a run in memory
    shard         which part of the data the samples are; None for all of it
    certificates  of the cards that the run is to be certified by
    """

    samples: Samples
    metrics: list[Metric]
    options: Options
    folder: Path | None = None
    shard: ShardFile | None = None
    certificates: Sequence[Certificate] = ()


class NetworkCount:
    """Counts the attempts to use the network from its creation on, where this process refuses them."""

    def __init__(self) -> None:
        self._before = attempts() if is_offline() else None

    def network(self, watched: bool, in_workers: int) -> Network:
        """Return the count for a run; it has none unless the whole run is `watched`."""
        if self._before is None or not watched:
            return Network(watched=False, refused=None)
        return Network(watched=True, refused=attempts() - self._before + in_workers)


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
    require_certified: Sequence[str | os.PathLike[str]] = (),
    **options: Any,
) -> Result:
    """Score every sample.

    samples   any input of `read_samples` (a file, a DataFrame, `Sample` objects or dicts), or its result
    metrics   names of `METRICS` or of your `criteria`; by default all criteria and the `default_metrics()`
              whose columns some sample has, and whose models are installed: a metric left out for want of
              a model is logged as a warning
    judge     a `Judge`, a catalog name, or a path to a GGUF file (loaded, and freed at the end); not looked
              for where no metric asks a judge
    output    the run's folder (see `localeval.runs.folder`); a second call with it continues where the first
              ended, and a folder that holds anything else is refused
    progress  called with the number of finished samples, and all samples
    watch     see `Watch`; without it no plan is made
    workers   number of processes that judge in parallel, each with the judge's threads (for a judge given by
              name: its share of the cores); "auto": as many as cores and memory allow, of about four threads
    ray       the address of a Ray cluster, or "auto" for this machine's cluster: `workers` are its actors,
              by default as many as it has room for
    shard     "2/5": only the second of five parts of the samples, to be merged by `localeval.merge`
    timeout   seconds for the judgements of a sample, without loading models; a sample that takes longer is
              *failed*, `timeout`, and judged again by another call. With it another process judges, which is
              ended and replaced where a judgement hangs. For a judge that only this process has (see
              `Judge.load`), the time is looked at between judgements, and nothing ends one that hangs
    require_certified  cards that were made with `--certify`, as their files or folders. Raises NotCertified
              before anything is judged where a certificate does not hold for this run. What shows only
              after it, as which responses were read, `Result.certificates` says
    options   the fields of `localeval.options.Options`

    Raises InputError or ModelError before any sample is judged; later only FolderError, as for a full disk,
    ModelBroken for a model file that was replaced, and EngineFailing where sample after sample fails by the
    engine (see `localeval.runs.pool.FailuresInARow`). A sample that can't be scored has a `Score` with the
    reason.

    >>> result = evaluate("samples.jsonl", metrics=["faithfulness"])         # doctest: +SKIP
    >>> result["faithfulness"].value                                         # doctest: +SKIP
    0.75
    """
    network = NetworkCount()
    threads = threads_each(workers)
    _check_timeout(timeout)
    certificates = [read_certificate(card) for card in require_certified]
    setup = replace(_prepare(samples, metrics, output, shard, options), certificates=certificates)
    with _load_judge(judge, setup, 0 if ray else threads) as loaded:
        setup = _with_available_metrics(setup, metrics is not None, loaded)
        _check_certified(setup, loaded, require_certified)
        run_plan = None
        if watch is not None:
            # A speed is the speed of one process.
            run_plan = _plan_run(setup, loaded, watch, with_speed=workers == 1 and ray is None)
        # Raises before a finished run in the folder is touched.
        pool = choose_pool(loaded, workers, ray, timeout)
        return score_run(setup, loaded, pool, network, run_plan=run_plan, progress=progress, watch=watch)


def score_run(
    setup: RunSetup,
    judge: Judge,
    pool: Pool,
    network: NetworkCount,
    *,
    memory: Journal | None = None,
    known: Sequence[Path] = (),
    run_plan: Plan | None = None,
    progress: Progress | None = None,
    watch: Watch | None = None,
) -> Result:
    """Score the samples of a run, and write its folder.

    memory  the journal of a run without a folder; by default an empty one
    known   folders of other runs, whose judgements are copied instead of made again
    """
    signature = judge.signature(setup.metrics, setup.options, setup.samples)
    skipped = run_folder.skipped(setup.folder, setup.samples)
    config = run_folder.config_of(judge, setup.options, signature, skipped, setup.certificates)
    with run_folder.open_run(setup.folder, setup.samples, config, memory, known) as (journal, config):
        if setup.folder is not None:
            write_shard(setup.folder, setup.shard)
            if run_plan is not None:
                run_folder.write_plan(setup.folder, run_plan)
        if watch is not None and run_plan is not None:
            watch.on_plan(run_plan)
        scored = _score_samples(setup, pool, journal, signature, progress, watch)
        result = Result(
            scored,
            config.metrics,
            signature,
            network=network.network(config.watched, pool.refused),
            skipped=skipped,
            certificates=stamps(setup.certificates, signature, scored),
        )
        if setup.folder is not None:
            run_folder.finish(setup.folder, result)
    return result


def _score_samples(
    setup: RunSetup,
    pool: Pool,
    journal: Journal,
    signature: Signature,
    progress: Progress | None,
    watch: Watch | None,
) -> ScoredSamples:
    """Score every sample, and tell the progress."""
    samples = setup.samples
    scored = ScoredSamples(samples, journal.lines, signature)
    with closing(pool.score(samples, setup.metrics, setup.options, journal)) as results:
        for done, (position, result) in enumerate(results, 1):
            scored.put(position, result)
            if progress is not None:
                progress(done, samples)
            if watch is not None:
                watch.on_sample(done, samples, result.scores, str(pool))
    return scored


def _check_certified(setup: RunSetup, judge: Judge, cards: Sequence[str | os.PathLike[str]]) -> None:
    """Raise NotCertified where a certificate does not hold for the run, as far as that can be known."""
    if not setup.certificates:
        return
    signature = judge.signature(setup.metrics, setup.options, setup.samples)
    names = [metric.name for metric in setup.metrics]
    for card, certificate in zip(cards, setup.certificates, strict=True):
        check_planned(certificate, os.fspath(card), names, signature, setup.samples)


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
) -> RunSetup:
    """Check the arguments and the run's folder, before a model is looked for."""
    choices = Options.read(options)
    dataset = samples if isinstance(samples, Samples) else read_samples(samples)
    shard_file = None
    if shard is not None:
        dataset, shard_file = take_shard(shard, dataset)
    if output == "":
        raise InputError("output is empty; name a folder, or leave it out.")
    folder = None if output is None else Path(output)
    if folder is not None:
        run_folder.check(folder, dataset)
    selected = metrics_for(metrics, dataset, choices.criteria)
    if metrics is None:
        _log_left_out(selected, dataset)
    # The run keeps the criteria that it uses, also one that was registered before.
    choices = replace(choices, criteria=criteria_of(selected))
    return RunSetup(dataset, selected, choices, folder, shard_file)


def _plan_run(setup: RunSetup, judge: Judge, watch: Watch, with_speed: bool) -> Plan:
    """Plan the run. Raises InputError, after showing the plan, where the judge does not fit into memory."""
    run_plan = make_plan(
        setup.samples, setup.metrics, judge, setup.options, setup.folder, max_counted=MAX_COUNTED
    )
    if with_speed:
        run_plan = with_stored_speed(run_plan, judge)
    if not run_plan.fits:
        watch.on_plan(run_plan)
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

    Time and memory are of one process; the speed of the machine is measured with some 3,800 tokens, and
    later runs of this model with these settings show their time by it. `output` is only read: judgements in
    its journal are not counted as work. Raises InputError or ModelError where `evaluate` would, before it
    judges.

    >>> print(plan("samples.jsonl", metrics=["faithfulness"]))               # doctest: +SKIP
    """
    setup = _prepare(samples, metrics, output, shard, options)
    with _load_judge(judge, setup) as loaded:
        setup = _with_available_metrics(setup, metrics is not None, loaded)
        return make_plan(setup.samples, setup.metrics, loaded, setup.options, setup.folder, measure=True)


@wraps(evaluate, assigned=())  # for its signature
async def aevaluate(*arguments: Any, **options: Any) -> Result:
    """Call `evaluate` in a thread of its own, so that it does not block the event loop."""
    return await asyncio.to_thread(evaluate, *arguments, **options)


def metrics_for(
    names: Iterable[str] | None, samples: Samples, criteria: Sequence[Criterion] = ()
) -> list[Metric]:
    """Choose the metrics to compute: the named ones, else the default ones and those of the criteria.

    Raises InputError where no sample has the columns of a metric that was named or made of a criterion.
    """
    own = register_criteria(criteria)
    selected = own if names is None else choose_metrics(names)
    for metric in selected:
        check_columns(samples, metric.columns, metric.name, samples.name)
        _check_either_column(metric, samples)
    return [*_default_metrics(samples, others=own), *own] if names is None else selected


def _check_either_column(metric: Metric, samples: Samples) -> None:
    """Raise InputError where no sample has any of the columns of which the metric needs one."""
    if not metric.either or any(_has_column(samples, column) for column in metric.either):
        return
    hint = columns_hint(samples, metric.either[:1])
    remedy = f"{hint}, add it" if hint else "add it"
    raise InputError(
        f"{samples.name}: {metric.name} needs one of the columns {', '.join(metric.either)}, and "
        f"no sample has one; {remedy}, or leave the metric out."
    )


def _default_metrics(samples: Samples, others: Sequence[Metric]) -> list[Metric]:
    """Return the default metrics whose columns some sample has.

    Raises InputError where there is none, nor any of the `others` that are computed beside them.
    """
    lacking = _lacking_columns(samples)
    selected = [METRICS[name] for name, columns in lacking.items() if not columns]
    if selected or others:
        return selected
    needs = "; ".join(f"{name} needs {' and '.join(METRICS[name].columns)}" for name in lacking)
    missing = dict.fromkeys(column for columns in lacking.values() for column in columns)
    hint = columns_hint(samples, list(missing))
    end = f". {hint[0].upper()}{hint[1:]}." if hint else "."
    raise InputError(f"{samples.name}: no metric can be computed: {needs}{end}")


def _has_column(samples: Samples, column: str) -> bool:
    """Return whether some sample has this column."""
    return any(getattr(sample, column, None) is not None for sample in samples)


def _lacking_columns(samples: Samples) -> dict[str, list[str]]:
    """Return for each default metric the columns that it needs and no sample has."""
    metrics = default_metrics()
    needed = {column for metric in metrics for column in metric.columns}
    absent = {column for column in needed if not _has_column(samples, column)}
    return {metric.name: [column for column in metric.columns if column in absent] for metric in metrics}


def _log_left_out(selected: Sequence[Metric], samples: Samples) -> None:
    """Log which default metrics are left out, and the columns that they lack."""
    selected_names = {metric.name for metric in selected}
    by_columns: dict[tuple[str, ...], list[str]] = {}
    for name, columns in _lacking_columns(samples).items():
        if name not in selected_names:
            by_columns.setdefault(tuple(columns), []).append(name)
    for lacking, names in by_columns.items():
        hint = columns_hint(samples, lacking)
        LOG.warning(
            "%s: %s %s left out, as no sample has %s%s.",
            samples.name,
            enumerated(names),
            "is" if len(names) == 1 else "are",
            enumerated(lacking),
            f"; {hint}" if hint else "",
        )


def _with_available_metrics(setup: RunSetup, named: bool, judge: Judge) -> RunSetup:
    """Check the models of the metrics, and leave out the metrics whose model is not installed.

    None is left out where the caller `named` them, or an embedder. Raises ModelMissing where none is left.
    """
    if named or not judge.auxiliary_models.auto:
        judge.check_requirements(setup.metrics, setup.options)
        return setup
    missing = missing_models(setup.metrics, judge, setup.options)
    if missing and len(missing) == len(setup.metrics):
        raise next(iter(missing.values()))
    for name, reason in missing.items():
        LOG.warning("%s is left out: %s", name, reason)
    return replace(setup, metrics=[metric for metric in setup.metrics if metric.name not in missing])


def missing_models(metrics: Iterable[Metric], judge: Judge, options: Options) -> dict[str, ModelMissing]:
    """Return for each metric whose model is not installed the error that says so."""
    missing: dict[str, ModelMissing] = {}
    for metric in metrics:
        try:
            judge.check_requirements([metric], options)
        except ModelMissing as error:
            missing[metric.name] = error
    return missing


def _load_judge(
    judge: Judge | str | os.PathLike[str], setup: RunSetup, n_threads: int = 0
) -> AbstractContextManager[Judge]:
    """Load the judge, where it is a name or a path, to be freed at the end; no model where none is asked."""
    if isinstance(judge, Judge):
        return nullcontext(judge)
    model = judge if needs_judge(setup.metrics, setup.options) else None
    return Judge.load(model, n_threads=n_threads)
