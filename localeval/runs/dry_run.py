"""The plan of a run, found by going through it without a model.

Each judgement is asked of an engine that counts and answers nothing (`localeval.engine.dry_run`), so the rows
of its prompt are those of the run. How long replies will be is estimated; and until statements are written,
each sentence counts as one.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from pydantic import BaseModel

from localeval.engine.dry_run import Tally
from localeval.engine.engine import Engine
from localeval.engine.interface import EngineError, Spent
from localeval.engine.memory import available
from localeval.judge import Judge
from localeval.judgements import Desk, Failure, Judgement, ask, failed_need, in_order
from localeval.judgements.journal.records import as_record, is_believed
from localeval.metrics import Metric
from localeval.metrics.signature import answers
from localeval.metrics.summary import judgements_for, to_judge
from localeval.prompts.options import Options
from localeval.runs.plan import Plan, Work
from localeval.samples import Sample

if TYPE_CHECKING:
    from localeval.engine.benchmark import Speed

LOG = logging.getLogger("localeval")

BEHIND = 1500
"""Tokens that stand before a row on the way: a trunk of worked examples and half a branch."""

LOOKED_AT = 100
"""Samples that are looked at before a run, in one or two seconds; its plan is reckoned from these."""


class Kept(Protocol):
    """`Journal` is such, and `Lines`."""

    def get(self, key: str) -> dict[str, Any] | None: ...


def make_plan(
    samples: Sequence[Sample],
    metrics: Sequence[Metric],
    judge: Judge,
    options: Options,
    kept: Kept | None = None,
    *,
    most: int = 0,
    measure: bool = False,
) -> Plan:
    """The plan of a run of these samples.

    kept     the journal, where there is one
    most     look at this many samples, evenly spread, where there are more; 0 for all
    measure  measure the machine's speed, with some 3 800 rows; else the plan tells no time

    Raises ModelBroken for a file that is no model.
    """
    looked = _spread(samples, most)
    rehearsal = _Rehearsal(judge, options, kept)
    rows = tuple(rehearsal.go_through(sample, metrics) for sample in looked)
    share = len(samples) / max(1, len(looked))
    total = sum(rows) * share
    engine = judge.engine if isinstance(judge.engine, Engine) else None
    memory = engine.memory(rehearsal.trunks()) if total and engine else None
    free = available()
    fits = memory is None or free is None or memory <= free  # measuring loads the model once more
    speed = _speed(engine) if measure and fits and total and engine else None
    return Plan(
        samples=len(samples),
        looked_at=len(looked),
        work=tuple(count.work(share, speed) for count in rehearsal.counts.values()),
        windows=rehearsal.windows,
        too_long=tuple(rehearsal.too_long),
        rows=rows if len(looked) == len(samples) else (),
        speed=speed,
        memory=None if engine and engine.loaded else memory,
        free=free,
    )


def _spread(samples: Sequence[Sample], most: int) -> Sequence[Sample]:
    if not 0 < most < len(samples):
        return samples
    return [samples[i * len(samples) // most] for i in range(most)]


def _speed(engine: Engine) -> Speed | None:
    from localeval.engine.benchmark import measure  # heavy: llama.cpp

    LOG.warning("measuring how fast this machine is with %s; this takes about a minute.", engine.path.name)
    try:
        return measure(engine.path, engine.settings, BEHIND)
    except EngineError:  # the run will meet it too, and say what came of it
        return None


@dataclass
class _Count:
    """What was counted of one judgement."""

    judgement: str
    by: str
    to_make: int = 0
    kept: int = 0
    again: int = 0
    windowed: int = 0
    too_long: int = 0
    asked: list[Spent] = field(default_factory=list)

    def work(self, share: float, speed: Speed | None) -> Work:
        """Each sample that was looked at stands for `share` samples; a trunk is computed once in any run."""
        spent = Spent(*map(sum, zip(Spent(), *self.asked, strict=True)))
        rows = {kind: round(share * rows) for kind, rows in spent._asdict().items() if kind != "trunk"}
        planned = Spent(trunk=spent.trunk, **rows)
        return Work(
            self.judgement,
            self.by,
            round(share * self.to_make),
            round(share * self.kept),
            round(share * self.again),
            round(share * self.windowed),
            round(share * self.too_long),
            planned,
            speed.cost(planned) if speed else None,
        )


class _Rehearsal:
    """Goes through samples one by one, as the run will, and counts."""

    def __init__(self, judge: Judge, options: Options, kept: Kept | None) -> None:
        self._judge, self._options, self._kept = judge, options, kept
        self._desk = judge.desk(options)
        self._tally = Tally(judge.engine)
        heads = self._desk.heads
        self._dry = Desk(self._tally, options, _no_embedder, _Undecided, heads=heads)
        # For what an earlier sample asked already: the engine is not asked again, and stands as it stood.
        self._unheard = Desk(Tally(judge.engine), options, _no_embedder, _Undecided, heads=heads)
        self._asked: set[str] = set()
        self.counts: dict[str, _Count] = {}
        self.windows: dict[str, int] = {}
        self.too_long: list[str] = []

    def go_through(self, sample: Sample, metrics: Sequence[Metric]) -> int:
        """The rows that the sample will take."""
        _, judged = to_judge(metrics, sample)
        records: dict[str, Any] = {}
        invented: set[str] = set()
        rows = 0
        for row in in_order(judgements_for(judged, self._options)):
            if failed := failed_need(row, records):
                records[row.name] = records[failed]
                continue
            count = self.counts.setdefault(row.name, _Count(row.name, answers(row, self._options)))
            key = self._key(row, sample, records, invented)
            if (kept := self._found(row, key)) is not None:
                records[row.name] = kept
                count.kept += 1
                continue
            invented.add(row.name)
            if key in self._asked:
                records[row.name] = ask(row, self._unheard, sample, records)
                count.again += 1
                continue
            records[row.name] = self._ask(row, sample, records, count)
            rows += sum(one.rows for one in self._tally.asked)
            self._asked |= {key} - {""}
        return rows

    def trunks(self) -> int:
        """Tokens of all trunks, whose states the engine keeps."""
        return self._tally.trunks()

    def _key(self, row: Judgement, sample: Sample, records: dict[str, Any], invented: set[str]) -> str:
        """What the record will be kept under, though what it stands on may be invented.

        "" where only an opened embedder or classifier could tell, and the journal can't hold it anyway.
        """
        opens = answers(row, self._options) != "judge"
        if opens and (self._kept is None or invented & set(row.needs)):
            return ""
        return self._judge.key(row, self._desk, sample, records)

    def _found(self, row: Judgement, key: str) -> BaseModel | None:
        """The record that the run will take from the journal."""
        kept = self._kept.get(key) if self._kept is not None and key else None
        return record if kept is not None and is_believed(record := as_record(row, kept)) else None

    def _ask(self, row: Judgement, sample: Sample, records: dict[str, Any], count: _Count) -> Any:
        """What stands in the place of the record that the run will make."""
        count.to_make += 1
        self._tally.asked = []
        if count.by == "embedder":
            return None  # nothing stands on it
        record = ask(row, self._dry, sample, records)
        count.asked += self._tally.asked
        if (windows := getattr(record, "windows", 1)) > 1:
            count.windowed += 1
            self.windows[sample.id] = max(windows, self.windows.get(sample.id, 0))
        if isinstance(record, Failure) and record.failed == "context_too_long":
            count.too_long += 1
            if sample.id not in self.too_long[-1:]:
                self.too_long.append(sample.id)
        return record


class _Undecided:
    """Stands in the classifier's place."""

    def support(self, contexts: Sequence[str], statements: Sequence[str]) -> tuple[list[float], int]:  # noqa: ARG002
        return [0.5] * len(statements), 1

    def signature(self) -> dict[str, Any]:
        return {}


def _no_embedder() -> NoReturn:
    raise AssertionError("a rehearsal embeds nothing")
