"""Judge a share of a run's samples again, and check that the records come out the same."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

from localeval.errors import InputError
from localeval.judge import Judge
from localeval.judgements.journal import Journal, is_final
from localeval.metrics.sample_result import SampleResult
from localeval.options import Options
from localeval.runs import folder as run_folder
from localeval.runs.evaluate import Progress
from localeval.text.display import shorten


@dataclass(frozen=True)
class Verified:
    """The result of `verify`.

    again       samples that were judged again, of the `judged` in the run
    difference  "" or the first place in which a record is not what it was
    left_out    samples in which the engine failed, not in `judged`: the run's next call judges them again
    """

    again: int
    judged: int
    difference: str = ""
    left_out: int = 0


def verify(
    folder: str | Path,
    share: float = 0.1,
    seed: int = 0,
    judge: Judge | None = None,
    progress: Progress | None = None,
) -> Verified:
    """Judge a random share of a run's samples again, by all judgements of its results, up to a difference.

    share  of the samples, drawn by `seed`, above 0 and up to 1; at least one is judged again
    judge  by default the run's own, loaded with the run's settings; one with an `Embedder` or a `Classifier`
           has to be given

    Raises InputError for a folder without a finished run, a judge with another model, settings or packages
    (other bits are then no fault), and a judgement that can't be repeated under the same conditions; and what
    `Judge.load` raises.

    >>> verify("runs/answers", share=0.2).difference                         # doctest: +SKIP
    ''
    """
    if isinstance(share, bool) or not (isinstance(share, Real) and 0 < share <= 1):
        raise InputError(f"share is {shorten(repr(share))}; choose a number above 0 and up to 1.")
    path = Path(folder)
    samples, config = run_folder.read_run(path)
    results = run_folder.load(path).samples
    options = Options.read(config.options)
    # The caller's judge stays open; one that is loaded here is closed at the end.
    opened = nullcontext(judge) if judge else _load_judge(config)
    with opened as active_judge:
        _check_engine(folder, config, active_judge)
        judged, left_out = _judged(results)
        if not judged:
            raise InputError(
                f"{folder}: there is nothing to verify, as no sample was judged (the engine failed in "
                f"{left_out}); give its `evaluate` command again, or name another run."
            )
        number = math.ceil(share * len(judged))
        selection = random.Random(seed).sample(judged, number)  # noqa: S311
        selected = samples.choose(selection)
        done = 0
        for position in selection:
            change = _change(folder, results[position], active_judge, options)
            done += 1
            if change:
                return Verified(done, len(judged), change, left_out)
            if progress is not None:
                progress(done, selected)
        return Verified(done, len(judged), left_out=left_out)


def _load_judge(config: run_folder.StoredRunConfig) -> Judge:
    """Load the judge of a run with its settings."""
    return Judge.load(
        config.judge or None,
        embedder=config.embedder,
        classifier=config.classifier,
        cache_prefix=False,
        **config.engine.settings,
    )


def _check_engine(folder: str | Path, config: run_folder.StoredRunConfig, judge: Judge) -> None:
    """Raise InputError for a judge with another model, settings or packages than the run's."""
    change = difference(config.engine.model_dump(), judge.record_fingerprint())
    if change:
        raise InputError(
            f"{folder}: the run was made with another engine, so other bits are no fault "
            f"(engine{change}); verify it with the same model, settings and packages."
        )


def _judged(results: Sequence[SampleResult]) -> tuple[list[int], int]:
    """Return the positions of the samples with records, and in how many others the engine failed."""
    judged: list[int] = []
    left_out = 0
    for position, result in enumerate(results):
        if not all(is_final(record) for record in result.records.values()):
            left_out += 1
        elif result.keys:
            judged.append(position)
    return judged, left_out


def _change(folder: str | Path, item: SampleResult, judge: Judge, options: Options) -> str:
    """Judge a sample again, and describe the first record that is not the run's; "" if there is none.

    Raises InputError where a judgement can't be repeated under the same conditions.
    """
    records, keys = judge.judge_with_keys(item.sample, list(item.keys), options, Journal())
    # In this order the judgements that others need come first.
    for name, record in records.items():
        if is_final(record) and keys[name] != item.keys.get(name):
            raise InputError(
                f"{folder}: {name} of sample {item.sample.id} can't be made again as it was: this version of "
                f"localeval or its prompts, the embedder, the classifier or {run_folder.SAMPLES} is not the "
                "run's; verify it with those that it was made with."
            )
        change = difference(item.records[name].model_dump(mode="json"), record.model_dump(mode="json"))
        if change:
            return f"sample {item.sample.id}, {name}{change}"
    return ""


def difference(then: Any, now: Any) -> str:
    """Return the path of the first difference of two JSON values, and both values; "" when they are equal.

    >>> difference({"a": [1, 2]}, {"a": [1, 3]})
    '.a[1]: 2 in the run, 3 now'
    """
    if isinstance(then, dict) and isinstance(now, dict) and then.keys() == now.keys():
        for key, value in then.items():
            rest = difference(value, now[key])
            if rest:
                return f".{key}{rest}"
        return ""
    if isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for index, (old, new) in enumerate(zip(then, now, strict=True)):
            rest = difference(old, new)
            if rest:
                return f"[{index}]{rest}"
        return ""
    return "" if then == now else f": {then!r} in the run, {now!r} now"
