"""Make a share of a run's judgements again, and demand the same records."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from localeval.engine.companions import is_own
from localeval.errors import InputError
from localeval.judge import Judge
from localeval.judgements import Desk, Failure, Judgement, in_order
from localeval.judgements.journal.lines import FILE, Lines
from localeval.judgements.journal.records import KeptRecords, is_believed, record_under
from localeval.metrics import Metric
from localeval.metrics.signature import models_used
from localeval.metrics.summary import choose_metrics, judgements_for, to_judge
from localeval.prompts.options import Options
from localeval.runs import folder as run_folder
from localeval.runs.config import Recipe
from localeval.runs.evaluate import Progress
from localeval.runs.rescore import keys_of_results
from localeval.samples import Sample
from localeval.system.arguments import real


@dataclass(frozen=True)
class Verified:
    """What `verify` found.

    again       judgements made again
    judged      judgements that the run holds
    difference  "" or the first place in which a record is not what the run holds, or a line of its journal
                not what was written
    left_out    judgements in which the engine failed, beside `judged`: the next call of the run makes them
    """

    again: int
    judged: int
    difference: str = ""
    left_out: int = 0


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

    Raises InputError for a folder without a run, for a metric of it that is not registered here, for a judge
    whose model, settings or packages are other ones (then other bits are no fault), and for a finished run of
    which some judgement can't be asked again as it was, and what `Judge.load` raises.

    >>> verify("runs/answers", share=0.2).difference                         # doctest: +SKIP
    ''
    """
    if real("share", share, 0, 1) == 0:
        raise InputError(f"share is {share}; choose a number above 0 and up to 1.")
    samples, recipe = run_folder.read(Path(folder))
    options, metrics = Options.read(recipe.options), choose_metrics(recipe.metrics)
    lines = Lines(Path(folder) / FILE)
    if lines.damaged:
        return Verified(0, 0, f"{FILE}, line {lines.damaged[0]}: not what was written")
    shelf = _Shelf(Path(folder), lines, metrics, options)
    own = judge or _judge_of(recipe, shelf.models(samples), folder)
    try:
        _same_engine(recipe.engine, own.signature_of_engine(), folder)
        desk = own.desk(options)
        for sample in samples:
            shelf.look(sample, own, desk)
        shelf.check()
        kept = shelf.kept
        chosen = random.Random(seed).sample(kept, math.ceil(share * len(kept)))  # noqa: S311
        drawn = [one.sample for one in chosen]
        for done, one in enumerate(chosen, 1):
            fresh = own.again(one.row, desk, one.sample, one.records)
            if where := difference(_plain(one.record), _plain(fresh)):
                told = f"sample {one.sample.id}, {one.row.name}{where}"
                return Verified(done, len(kept), told, shelf.left_out)
            if progress is not None:
                progress(done, drawn)
        return Verified(len(chosen), len(kept), left_out=shelf.left_out)
    finally:
        if judge is None:
            own.close()


class _Shelf:
    """What a run's folder holds: all that its results name; of an unfinished run, what its journal has.

    kept      the judgements that can be made again
    left_out  in how many the engine failed
    other     judgement -> how many of it have another key here than in the results
    """

    def __init__(self, folder: Path, lines: Lines, metrics: Sequence[Metric], options: Options) -> None:
        self._folder, self._lines, self._metrics, self._options = folder, lines, metrics, options
        self._finished = (folder / run_folder.RESULTS).exists()
        self._at = keys_of_results(folder) if self._finished else {}
        self.kept: list[_Kept] = []
        self.left_out = 0
        self.other: Counter[str] = Counter()

    def models(self, samples: Sequence[Sample]) -> set[str]:
        """Those that answered: "judge", "embedder", "classifier"."""
        rows = {row.name: row for sample in samples for row in self._rows(sample)}
        return models_used(list(rows.values()), self._options)

    def look(self, sample: Sample, judge: Judge, desk: Desk) -> None:
        """Sort the judgements of a sample. Raises InputError where the results name a line that is gone."""
        at = self._at.get(sample.id, {})
        records: dict[str, BaseModel] = {}
        for row in self._rows(sample):
            if any(name not in records or isinstance(records[name], Failure) for name in row.needs):
                continue
            key = judge.key(row, desk, sample, records)
            named = row.name in at
            record = KeptRecords(self._lines, at)[row.name] if named else record_under(self._lines, row, key)
            if record is None:
                continue
            if not is_believed(record):
                self.left_out += 1
            elif at.get(row.name, key) != key:
                self.other[row.name] += 1
            else:
                self.kept.append(_Kept(row, sample, dict(records), record))
            records[row.name] = record

    def check(self) -> None:
        """Raises InputError where something can't be made again as it was made, or nothing is there."""
        if self.other:
            told = ", ".join(f"{count} of {name}" for name, count in self.other.items())
            raise InputError(
                f"{self._folder}: {self.other.total()} judgements of the run can't be made again as they "
                f"were ({told}): this version of localeval or its prompts, the embedder, the classifier or "
                f"{run_folder.SAMPLES} is not the run's; verify it with those that it was made with."
            )
        if self.kept:
            return
        if self.left_out:
            what = (
                f"the engine failed in all that was judged ({self.left_out}); give the run's `evaluate` "
                "command again, it makes that anew."
            )
        elif self._finished:
            what = "nothing of this run was to be judged, so there is nothing to verify; name another run."
        else:
            what = "the run holds no judgement yet; let `evaluate` go on first."
        raise InputError(f"{self._folder}: {what}")

    def _rows(self, sample: Sample) -> list[Judgement]:
        """Of the run's metrics, and of others whose scores may stand in its results since a `rescore`."""
        _, judged = to_judge(self._metrics, sample)
        return in_order([*self._at.get(sample.id, {}), *judgements_for(judged, self._options)])


def _judge_of(recipe: Recipe, used: Collection[str], folder: str | Path) -> Judge:
    """The run's own judge. A model beside it that is not used may be any."""
    beside: dict[str, Any] = {}
    for kind, source in (("embedder", recipe.embedder), ("classifier", recipe.classifier)):
        if not is_own(source):
            beside[kind] = source
        elif kind in used:
            raise InputError(
                f"{folder}: the run's {kind} {source} was an object in Python, which no name finds again; "
                f"call `localeval.runs.verify.verify` and give judge= with that {kind}."
            )
    return Judge.load(recipe.judge, **beside, **recipe.engine["settings"], keep_trunks=False)


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
