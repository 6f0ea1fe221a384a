"""The main path: samples -> judgements -> scores -> result."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from localeval import run
from localeval.calibration import Curves
from localeval.errors import InputError
from localeval.journal import Journal
from localeval.judge import DEFAULT_JUDGE, Judge
from localeval.metrics import DEFAULT_METRICS, METRICS, Metric
from localeval.options import Options
from localeval.result import Result, SampleResult
from localeval.samples import Sample, check_columns, read_samples
from localeval.scoring import choose_metrics, compute, judgements_for, nothing_to_judge

Source = str | Path | Iterable[Sample | Mapping[str, Any]]
Progress = Callable[[int, Sequence[Sample]], None]


def evaluate(
    samples: Source,
    metrics: Sequence[str] | None = None,
    judge: Judge | str | os.PathLike[str] = DEFAULT_JUDGE,
    output: str | Path | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Result:
    """Score every sample.

    samples   a JSONL file ("-" is stdin), or an iterable of `Sample` objects or dicts
    metrics   names of `METRICS`; by default those of `DEFAULT_METRICS` whose columns some sample has
    judge     a `Judge`, a catalog name, or a path to a GGUF file (loaded, and freed at the end)
    output    the run's folder (see `localeval.run`); a second call with it goes on where the first ended
    progress  called with the number of finished samples, and all samples
    options   those of `localeval.options.Options`

    Raises InputError or ModelError before any sample is judged; afterwards a sample that can't be scored
    has a `Score` that says so.

    >>> result = evaluate("samples.jsonl", metrics=["faithfulness"])         # doctest: +SKIP
    >>> result["faithfulness"].value                                         # doctest: +SKIP
    0.75
    """
    choices = Options.read(options)
    where = str(samples) if isinstance(samples, str | Path) else "the samples"
    read = read_samples(samples)
    chosen = _metrics(metrics, read, where)
    with Journal(Path(output) if output is not None else None) as journal, _opened(judge) as opened:
        opened.ready(chosen, choices)
        if output is not None:
            engine = opened.signature_of_engine()
            recipe = run.Recipe(
                metrics=[m.name for m in chosen],
                judge=opened.source,
                **opened.companions.sources(),
                engine=engine,
                options=run.recorded(choices),
            )
            run.write(Path(output), read, recipe)
        finished, curves = [], opened.curves(choices)
        for sample in read:
            finished.append(_evaluated(sample, chosen, opened, choices, curves, journal))
            if progress is not None:
                progress(len(finished), read)
        result = Result(finished, [m.name for m in chosen], opened.signature(chosen, choices))
        if output is not None:
            result.to_json(Path(output) / run.RESULTS)
    return result


async def aevaluate(samples: Source, **arguments: Any) -> Result:
    """`evaluate` in a thread of its own, so that an event loop goes on."""
    return await asyncio.to_thread(evaluate, samples, **arguments)


def _evaluated(
    sample: Sample,
    metrics: Sequence[Metric],
    judge: Judge,
    options: Options,
    curves: Curves,
    journal: Journal,
) -> SampleResult:
    scores = {m.name: s for m in metrics if (s := nothing_to_judge(m, sample)) is not None}
    judged = [m for m in metrics if m.name not in scores]
    wanted = judgements_for(judged, options)
    records = judge.judge(sample, wanted, options, journal) if wanted else {}
    scores |= {m.name: compute(m, records, options, curves) for m in judged}
    return SampleResult(sample, {m.name: scores[m.name] for m in metrics}, records)


def _metrics(names: Sequence[str] | None, samples: Sequence[Sample], where: str) -> list[Metric]:
    if names is not None:
        chosen = choose_metrics(names)
        for metric in chosen:
            check_columns(samples, metric.columns, metric.name, where)
        return chosen
    fitting = [
        metric
        for metric in map(METRICS.__getitem__, DEFAULT_METRICS)
        if all(any(getattr(s, column) is not None for s in samples) for column in metric.columns)
    ]
    if not fitting:
        columns = ", ".join(METRICS[DEFAULT_METRICS[0]].columns)
        raise InputError(f"{where}: no metric can be computed; the samples need the columns {columns}.")
    return fitting


@contextmanager
def _opened(judge: Judge | str | os.PathLike[str]) -> Iterator[Judge]:
    """The judge; one that was loaded here is freed at the end."""
    if isinstance(judge, Judge):
        yield judge
    else:
        with Judge.load(judge) as loaded:
            yield loaded
