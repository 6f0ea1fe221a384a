"""What a run will ask, compute and take, found by a dry run, and as the table that `--plan` prints.

Each judgement is asked of an engine that counts and answers nothing (`localeval.engine.dry_run`), so the rows
of its prompt are those of the run. How long replies will be is estimated; and until statements are written,
each sentence counts as one.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from localeval.engine.dry_run import DryRunEngine
from localeval.engine.engine import Engine
from localeval.engine.interface import EngineError, TokenUsage
from localeval.engine.memory import available
from localeval.errors import InputError
from localeval.judge import Judge
from localeval.judgements import Failure, JudgeContext, ask, failed_need, in_order
from localeval.judgements.journal import JournalFile, find, is_believed
from localeval.metrics import Metric
from localeval.metrics.signature import answers
from localeval.metrics.summary import judgements_for, split_scorable
from localeval.prompts.options import Options
from localeval.report.terminal import new_table, printed
from localeval.samples import Sample
from localeval.text.display import join_some

if TYPE_CHECKING:
    from localeval.engine.benchmark import Speed

LOG = logging.getLogger("localeval")

FILE = "plan.json"
SCHEMA = 1
"""Of `plan.json`; another number is another form."""

_KINDS = ("trunk", "branch", "leaves", "forced", "decoded", "guessed")
_SMALLER = "choose a smaller model or a smaller --n-ctx, or close other programs"

BEHIND = 1500
"""Tokens that stand before a row on the way: a trunk of worked examples and half a branch."""

LOOKED_AT = 100
"""Samples that are looked at before a run, in one or two seconds; its plan is reckoned from these."""


@dataclass(frozen=True)
class Work:
    """What there is to do of one judgement.

    by        who answers: "judge", "embedder" or "classifier". Rows and seconds are the judge's
    to_make   judgements that will be asked for
    kept      those that the journal holds
    again     those that an earlier sample of the run has the answer of, since it asks for the same
    windowed  those of `to_make` whose contexts are cut into windows
    too_long  those of `to_make` that will fail with `context_too_long`
    spent     rows: of trunk, branch and leaves as they will be; forced, decoded and guessed estimated
    seconds   estimated; None where the speed of the machine is not known
    """

    judgement: str
    by: str
    to_make: int = 0
    kept: int = 0
    again: int = 0
    windowed: int = 0
    too_long: int = 0
    spent: TokenUsage = field(default_factory=TokenUsage)
    seconds: float | None = None

    @property
    def written(self) -> int:
        """Rows of replies; the others are of prompts."""
        return self.spent.decoded + self.spent.guessed + self.spent.forced


@dataclass(frozen=True)
class Plan:
    """A run before it starts. `print(plan)` shows it.

    samples    how many there are
    looked_at  how many of them, evenly spread, were looked at; what is told of all is reckoned from these
    work       for each judgement, in the order in which they are made
    windows    ids of samples whose contexts are read in windows -> how many windows, of those looked at
    too_long   ids of samples of which a judgement will fail with `context_too_long`, of those looked at
    rows       of each sample, where all were looked at; else empty
    speed      what a row costs on this machine; None where it was not measured
    memory     bytes that the judge needs with the states of the trunks; None where no model is to be loaded,
               or a GPU holds it
    free       bytes that are there; None where the system does not tell
    """

    samples: int
    looked_at: int
    work: tuple[Work, ...]
    windows: Mapping[str, int] = field(default_factory=dict)
    too_long: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()
    speed: Speed | None = None
    memory: int | None = None
    free: int | None = None

    @property
    def to_make(self) -> int:
        return sum(work.to_make for work in self.work)

    @property
    def kept(self) -> int:
        return sum(work.kept for work in self.work)

    @property
    def spent(self) -> TokenUsage:
        """The rows of all judgements together."""
        return _sum(work.spent for work in self.work)

    @property
    def seconds(self) -> float | None:
        """Of the judge's rows; None where the speed is not known. Loading the model takes seconds more."""
        if self.speed is None:
            return None if self.spent.rows else 0.0
        return sum(work.seconds or 0.0 for work in self.work)

    @property
    def fits(self) -> bool:
        """Whether the judge fits into the memory that is there; True where either is not known."""
        return self.memory is None or self.free is None or self.memory <= self.free

    def check(self) -> None:
        """Raise InputError where the judge does not fit."""
        if self.memory is not None and self.free is not None and not self.fits:
            raise InputError(
                f"the judge needs about {self.memory / 1e9:.1f} GB of memory, and {self.free / 1e9:.1f} GB "
                f"are free; {_SMALLER}."
            )

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain JSON values, as `plan.json` keeps it:

        schema                       1
        samples, looked_at, windows, too_long, speed, memory, free, fits   as above
        to_make, kept, rows, rows_by_kind, seconds                         of all judgements
        work                         a dict for each judgement: the fields of `Work`, rows and rows_by_kind
        rows_by_sample               `rows` of the plan
        """
        own = {name: getattr(self, name) for name in ("samples", "looked_at", "to_make", "kept")}
        memory = {name: getattr(self, name) for name in ("memory", "free", "fits")}
        return {
            "schema": SCHEMA,
            **own,
            **_rows(self),
            "seconds": self.seconds,
            "work": [
                {n: v for n, v in asdict(one).items() if n != "spent"} | _rows(one) for one in self.work
            ],
            "windows": dict(self.windows),
            "too_long": list(self.too_long),
            "rows_by_sample": list(self.rows),
            "speed": self.speed._asdict() if self.speed else None,
            **memory,
        }

    def __str__(self) -> str:
        """Show one row a judgement, one for all of them; below it time, memory and what is too long."""
        table = new_table("judgement")
        for column in ("to make", "from the journal", "prompt rows", "reply rows, about", "time, about"):
            table.add_column(column, justify="right")
        for one in self.work:
            cells = [f"by the {one.by}"]
            if one.by == "judge":
                cells = [f"{one.spent.rows - one.written:,}", f"{one.written:,}", _time(one.seconds)]
            table.add_row(one.judgement, f"{one.to_make:,}", f"{one.kept + one.again:,}", *cells)
        kept, written = sum(one.kept + one.again for one in self.work), sum(one.written for one in self.work)
        whole = (self.to_make, kept, self.spent.rows - written, written)
        table.add_row()
        table.add_row("all", *(f"{number:,}" for number in whole), _time(self.seconds))
        return "\n".join([*printed(table, 110), "", *self._notes("Not measured.")])

    def summary(self) -> list[str]:
        """Say in two or three lines what there is to do, how long it takes, and whether it fits."""
        samples = _samples(self.samples)
        if not self.to_make and not self.kept:
            return [f"Plan: nothing is to be judged in {samples}; no model is asked."]
        if not self.to_make:
            return [f"Plan: all judgements of {samples} are in the journal; no model is asked."]
        kept = f" ({self.kept:,} more in the journal)" if self.kept else ""
        about = "" if self.looked_at == self.samples else "about "
        rows = f", about {self.spent.rows:,} rows" if self.spent.rows else ""
        return [
            f"Plan: {samples}, {about}{self.to_make:,} judgements to make{kept}{rows}.",
            *self._notes("told after the first samples; --plan measures this machine."),
        ]

    def _notes(self, unknown: str) -> Iterator[str]:
        beside = sorted({one.by for one in self.work if one.to_make and one.by != "judge"})
        without = f", and the {' and the '.join(beside)} beside" if beside else ""
        known = f"about {_time(self.seconds)} and some seconds to load the model{without}."
        memory = ""
        if self.memory is not None:
            free = f", {self.free / 1e9:.1f} GB are free" if self.free is not None else ""
            remedy = "" if self.fits else f": {_SMALLER}"
            memory = f" Memory: {self.memory / 1e9:.1f} GB needed{free}{remedy}."
        yield f"Time: {unknown if self.seconds is None else known}{memory}"
        if self.windows:
            most = max(self.windows.values())
            yield f"Contexts read in windows (up to {most}): {self._named([*self.windows])}."
        if self.too_long:
            yield f"Too long, and will fail with context_too_long: {self._named(self.too_long)}."
        if self.looked_at < self.samples:
            yield f"Reckoned from {self.looked_at:,} of the {self.samples:,} samples."

    def _named(self, ids: Sequence[str]) -> str:
        among = "" if self.looked_at == self.samples else f" of {self.looked_at:,}"
        return f"{_samples(len(ids))}{among} ({join_some(ids, 5)})"


def _sum(spent: Iterable[TokenUsage]) -> TokenUsage:
    return TokenUsage(*map(sum, zip(TokenUsage(), *spent, strict=True)))


def _rows(of: Plan | Work) -> dict[str, Any]:
    return {"rows": of.spent.rows, "rows_by_kind": {kind: getattr(of.spent, kind) for kind in _KINDS}}


def _samples(n: int) -> str:
    return f"{n:,} sample" if n == 1 else f"{n:,} samples"


def _time(seconds: float | None) -> str:
    """Say a length of time in words.

    >>> _time(None), _time(8.2), _time(119.7), _time(200), _time(1300), _time(20000)
    ('-', '8 s', '2 min 0 s', '3 min 20 s', '22 min', '5 h 33 min')
    """
    if seconds is None:
        return "-"
    whole = round(seconds)
    if whole < 100:
        return f"{whole} s"
    if whole < 600:
        return f"{whole // 60} min {whole % 60} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def make_plan(
    samples: Sequence[Sample],
    metrics: Sequence[Metric],
    judge: Judge,
    options: Options,
    journal: JournalFile | None = None,
    *,
    most: int = 0,
    measure: bool = False,
) -> Plan:
    """Plan a run of these samples.

    most     look at this many samples, evenly spread, where there are more; 0 for all
    measure  measure the machine's speed, with some 3 800 rows; else the plan tells no time

    Raises ModelBroken for a file that is no model.
    """
    looked = samples
    if 0 < most < len(samples):
        looked = [samples[i * len(samples) // most] for i in range(most)]
    dry = _DryRun(judge, options, journal)
    rows = tuple(dry.go_through(sample, metrics) for sample in looked)
    engine = judge.engine if isinstance(judge.engine, Engine) and any(rows) else None
    memory = engine.memory(dry.engine.trunks()) if engine else None
    free = available()
    fits = memory is None or free is None or memory <= free  # measuring loads the model once more
    speed = _speed(engine) if measure and fits and engine else None
    return Plan(
        samples=len(samples),
        looked_at=len(looked),
        work=dry.work(len(samples) / max(1, len(looked)), speed),
        windows=dry.windows,
        too_long=tuple(dry.too_long),
        rows=rows if len(looked) == len(samples) else (),
        speed=speed,
        memory=None if engine and engine.loaded else memory,
        free=free,
    )


def _speed(engine: Engine) -> Speed | None:
    from localeval.engine.benchmark import measure  # heavy: llama.cpp

    LOG.warning("measuring how fast this machine is with %s; this takes about a minute.", engine.path.name)
    try:
        return measure(engine.path, engine.settings, BEHIND)
    except EngineError:  # the run will meet it too, and say what came of it
        return None


class _DryRun:
    """Goes through samples one by one, as the run will, and counts."""

    def __init__(self, judge: Judge, options: Options, journal: JournalFile | None) -> None:
        self._judge, self._options, self._journal = judge, options, journal
        self._context = judge.context(options)
        self.engine = DryRunEngine(judge.engine)
        heads = self._context.heads
        self._dry = JudgeContext(self.engine, options, _no_embedder, _Undecided, heads=heads)
        # For what an earlier sample asked already: the engine is not asked again, and stands as it stood.
        self._repeated = JudgeContext(
            DryRunEngine(judge.engine), options, _no_embedder, _Undecided, heads=heads
        )
        self._asked: set[str] = set()
        self._counts: dict[tuple[str, str], Counter[str]] = {}  # judgement and who answers -> field of Work
        self._calls: dict[str, list[TokenUsage]] = defaultdict(list)
        self.windows: dict[str, int] = {}
        self.too_long: dict[str, None] = {}

    def go_through(self, sample: Sample, metrics: Sequence[Metric]) -> int:
        """Count what the sample will take, and return its rows."""
        _, judged = split_scorable(metrics, sample)
        records: dict[str, Any] = {}
        invented: set[str] = set()
        rows = 0
        for row in in_order(judgements_for(judged, self._options)):
            if failed := failed_need(row, records):
                records[row.name] = records[failed]
                continue
            by = answers(row, self._options)
            count = self._counts.setdefault((row.name, by), Counter())
            key = ""  # where only an opened model could tell, and the journal can't hold it anyway
            if by == "judge" or (self._journal is not None and not invented & set(row.needs)):
                key = self._judge.key(row, self._context, sample, records)
            kept = find(self._journal, row, key) if self._journal is not None and key else None
            if kept is not None and is_believed(kept):
                records[row.name] = kept
                count["kept"] += 1
                continue
            invented.add(row.name)
            if key in self._asked:
                records[row.name] = ask(row, self._repeated, sample, records)
                count["again"] += 1
                continue
            count["to_make"] += 1
            self._asked |= {key} - {""}
            if by != "embedder":  # nothing stands on what the embedder makes
                self.engine.asked = []
                records[row.name] = record = ask(row, self._dry, sample, records)
                self._calls[row.name] += self.engine.asked
                rows += sum(one.rows for one in self.engine.asked)
                if (windows := getattr(record, "windows", 1)) > 1:
                    count["windowed"] += 1
                    self.windows[sample.id] = max(windows, self.windows.get(sample.id, 0))
                if isinstance(record, Failure) and record.failed == "context_too_long":
                    count["too_long"] += 1
                    self.too_long[sample.id] = None
        return rows

    def work(self, share: float, speed: Speed | None) -> tuple[Work, ...]:
        """Scale the counts: a sample stands for `share` samples, and a trunk is computed once in any run."""
        found = []
        for (name, by), count in self._counts.items():
            spent = _sum(self._calls[name])
            rows = {kind: round(share * rows) for kind, rows in spent._asdict().items() if kind != "trunk"}
            planned = TokenUsage(trunk=spent.trunk, **rows)
            counts = {field: round(share * number) for field, number in count.items()}
            seconds = speed.cost(planned) if speed else None
            found.append(Work(name, by, **counts, spent=planned, seconds=seconds))
        return tuple(found)


class _Undecided:
    """Stands in the classifier's place."""

    def support(self, contexts: Sequence[str], statements: Sequence[str]) -> tuple[list[float], int]:  # noqa: ARG002
        return [0.5] * len(statements), 1

    def signature(self) -> dict[str, Any]:
        return {}


def _no_embedder() -> NoReturn:
    raise AssertionError("a dry run embeds nothing")
