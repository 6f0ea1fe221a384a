"""Make a share of a run's judgements again, and demand the same records."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from localeval import run
from localeval.errors import InputError
from localeval.evaluate import Progress
from localeval.journal.lines import FILE, Lines
from localeval.journal.records import as_record
from localeval.judge import Judge
from localeval.judgements import Desk, Failure, Judgement, in_order
from localeval.metrics import Metric
from localeval.options import Options
from localeval.samples import Sample
from localeval.scoring import choose_metrics, judgements_for, nothing_to_judge


@dataclass(frozen=True)
class Verified:
    """What `verify` found.

    again       judgements made again
    judged      judgements that the run holds
    difference  "" or the first place in which a record is not what the run holds, or a line of its journal
                not what was written
    """

    again: int
    judged: int
    difference: str = ""


@dataclass(frozen=True)
class _Kept:
    """One judgement of the run: what it stands on, and the record that the journal holds."""

    row: Judgement
    sample: Sample
    records: dict[str, BaseModel]
    record: BaseModel


def verify(
    folder: str | Path,
    share: float = 0.1,
    seed: int = 0,
    judge: Judge | None = None,
    progress: Progress | None = None,
) -> Verified:
    """Judge a seeded share of a run again; stops at the first difference.

    share  of the judgements, above 0 and up to 1; at least one is made
    judge  by default the run's own, loaded with the run's settings

    Raises InputError for a folder without a run, for a metric of it that is not registered here, or a judge
    whose model, settings or packages are other ones (then other bits are no fault), and what `Judge.load`
    raises.

    >>> verify("runs/answers", share=0.2).difference                         # doctest: +SKIP
    ''
    """
    if not 0 < share <= 1:
        raise InputError(f"share is {share}; choose a number above 0 and up to 1.")
    samples, recipe = run.read(Path(folder))
    options, metrics = Options.read(recipe.options), choose_metrics(recipe.metrics)
    lines = Lines(Path(folder) / FILE)
    if lines.damaged:
        return Verified(0, 0, f"{FILE}, line {lines.damaged[0]}: not what was written")
    own = judge or Judge.load(
        recipe.judge, embedder=recipe.embedder, classifier=recipe.classifier, **recipe.engine["settings"]
    )
    try:
        _same_engine(recipe.engine, own.signature_of_engine(), folder)
        desk = own.desk(options)
        kept = [k for s in samples for k in _kept(s, metrics, own, desk, lines)]
        if not kept:
            raise InputError(f"{folder}: the run holds no judgement yet; let `evaluate` go on first.")
        chosen = random.Random(seed).sample(kept, math.ceil(share * len(kept)))  # noqa: S311
        for done, one in enumerate(chosen, 1):
            fresh = own.again(one.row, desk, one.sample, one.records)
            if where := difference(_plain(one.record), _plain(fresh)):
                return Verified(done, len(kept), f"sample {one.sample.id}, {one.row.name}{where}")
            if progress is not None:
                progress(done, [one.sample for one in chosen])
        return Verified(len(chosen), len(kept))
    finally:
        if judge is None:
            own.close()


def _kept(sample: Sample, metrics: Sequence[Metric], judge: Judge, desk: Desk, lines: Lines) -> list[_Kept]:
    """The judgements of a sample that the journal holds, each with the records that it stands on."""
    judged = [metric for metric in metrics if nothing_to_judge(metric, sample) is None]
    found: list[_Kept] = []
    records: dict[str, BaseModel] = {}
    for row in in_order(judgements_for(judged, desk.options)):
        if any(name not in records or isinstance(records[name], Failure) for name in row.needs):
            continue
        line = lines.get(judge.key(row, desk, sample, records))
        if line is not None:
            found.append(_Kept(row, sample, dict(records), as_record(row, line)))
            records[row.name] = found[-1].record
    return found


def _same_engine(then: dict[str, Any], now: dict[str, Any], folder: str | Path) -> None:
    if where := difference(then, now):
        raise InputError(
            f"{folder}: the run was made with another engine, so other bits are no fault (engine{where}); "
            "verify it with the same model, settings and packages."
        )


def difference(then: Any, now: Any) -> str:
    """The first place where two JSON values differ, and both values there; "" when they are equal.

    >>> difference({"a": [1, 2]}, {"a": [1, 3]})
    '.a[1]: 2 in the run, 3 now'
    """
    if isinstance(then, dict) and isinstance(now, dict) and then.keys() == now.keys():
        return next((f".{k}{where}" for k in then if (where := difference(then[k], now[k]))), "")
    if isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        pairs = enumerate(zip(then, now, strict=True))
        return next((f"[{i}]{where}" for i, (a, b) in pairs if (where := difference(a, b))), "")
    return "" if then == now else f": {then!r} in the run, {now!r} now"


def _plain(record: BaseModel) -> Any:
    return record.model_dump(mode="json")
