"""What a run will ask and take, as the table that `--plan` prints.

Each judgement is asked of an engine that counts and answers nothing (`localeval.engine.dry_run`), so the
tokens of its prompt are those of the run. Replies are estimated, and each sentence counts as one statement.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from localeval.engine.dry_run import DryRunEngine
from localeval.engine.engine import Engine
from localeval.engine.interface import EngineError, TokenUsage
from localeval.engine.memory import available
from localeval.judge import Judge
from localeval.judgements import JUDGEMENTS, Failure, JudgeContext, Judgement, ask, make_records
from localeval.judgements.journal import FILE as JOURNAL
from localeval.judgements.journal import JournalFile, find_believed
from localeval.metrics import Metric
from localeval.metrics.signature import answered_by
from localeval.metrics.summary import judgements_of_sample
from localeval.prompts.options import Options
from localeval.report.text import new_table, printed
from localeval.samples import Sample
from localeval.text.display import join_some

if TYPE_CHECKING:
    from localeval.engine.benchmark import Speed

LOG = logging.getLogger("localeval")
Records = dict[str, BaseModel]

FILE = "plan.json"
SCHEMA = 1  # of `plan.json`; another number is another form

SMALLER = "choose a smaller model or a smaller --n-ctx, or close other programs"
BEHIND = 1500  # tokens that stand before another on the way: a prefix of worked examples and half a context
LOOKED_AT = 100  # samples that are looked at before a run, in one or two seconds


@dataclass(frozen=True)
class Work:
    """What there is to do of one judgement.

    by       who answers: "judge", "embedder" or "classifier"
    to_make  judgements that will be asked for
    kept     those that the journal holds
    again    those that an earlier sample of the run asks for too
    spent    the judge's tokens: of prompts as they will be, of replies estimated
    """

    judgement: str
    by: str
    to_make: int = 0
    kept: int = 0
    again: int = 0
    spent: TokenUsage = field(default_factory=TokenUsage)


@dataclass(frozen=True)
class Plan:
    """A run before it starts. `print(plan)` shows it.

    looked_at  how many of the samples, evenly spread, were looked at; all is reckoned from these
    work       for each judgement, in the order in which they are made
    windows    of those looked at, id -> in how many windows its contexts are read
    too_long   of those looked at, ids of which a judgement will fail with `context_too_long`
    tokens     of each sample, where all were looked at; else empty
    speed      what a token costs on this machine; None where it was not measured
    memory     bytes that the judge needs; None where no model is to be loaded, or a GPU holds it
    free       bytes that are there; None where the system does not tell
    """

    samples: int
    looked_at: int
    work: tuple[Work, ...]
    windows: Mapping[str, int] = field(default_factory=dict)
    too_long: tuple[str, ...] = ()
    tokens: tuple[int, ...] = ()
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
        """The tokens of all judgements together."""
        return _sum(work.spent for work in self.work)

    @property
    def seconds(self) -> float | None:
        """Of the judge's tokens; None where the speed is not known. Loading the model takes seconds more."""
        return self._seconds(self.spent) if self.spent.total else 0.0

    @property
    def fits(self) -> bool:
        """Whether the judge fits into the memory that is there; True where either is not known."""
        return self.memory is None or self.free is None or self.memory <= self.free

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain JSON values, as `plan.json` keeps it."""
        work = []
        for one in self.work:
            fields = {name: value for name, value in asdict(one).items() if name != "spent"}
            work.append({**fields, "seconds": self._seconds(one.spent), **_stored(one.spent)})
        return {
            "schema": SCHEMA,
            "samples": self.samples,
            "looked_at": self.looked_at,
            "to_make": self.to_make,
            "kept": self.kept,
            **_stored(self.spent),
            "seconds": self.seconds,
            "work": work,
            "windows": dict(self.windows),
            "too_long": list(self.too_long),
            "rows_by_sample": list(self.tokens),
            "speed": self.speed._asdict() if self.speed else None,
            "memory": self.memory,
            "free": self.free,
            "fits": self.fits,
        }

    def __str__(self) -> str:
        """Show one row a judgement, one for all of them; below it time, memory and what is too long."""
        table = new_table(
            *("judgement", "to make", "from the journal"),
            *("prompt tokens", "reply tokens, about", "time, about"),
        )

        def row(name: str, to_make: int, kept: int, spent: TokenUsage, by: str = "judge") -> None:
            written = spent.decoded + spent.guessed + spent.forced
            cells = [f"{spent.total - written:,}", f"{written:,}", _time(self._seconds(spent))]
            table.add_row(name, f"{to_make:,}", f"{kept:,}", *(cells if by == "judge" else [f"by the {by}"]))

        for one in self.work:
            row(one.judgement, one.to_make, one.kept + one.again, one.spent, one.by)
        table.add_row()
        row("all", self.to_make, sum(one.kept + one.again for one in self.work), self.spent)
        return "\n".join([*printed(table, 110), "", *self._notes("Not measured.")])

    def summary(self) -> list[str]:
        """Say in two or three lines what there is to do, how long it takes, and whether it fits."""
        samples = _samples(self.samples)
        looked, end = samples, "; no model is asked."
        if self.looked_at < self.samples:
            looked, end = f"the {self.looked_at:,} of {samples} that were looked at", "."
        if not self.to_make and not self.kept:
            return [f"Plan: nothing is to be judged in {looked}{end}"]
        if not self.to_make:
            return [f"Plan: all judgements of {looked} are in the journal{end}"]
        kept = f" ({self.kept:,} more in the journal)" if self.kept else ""
        about = "" if self.looked_at == self.samples else "about "
        tokens = f", about {self.spent.total:,} tokens" if self.spent.total else ""
        return [
            f"Plan: {samples}, {about}{self.to_make:,} judgements to make{kept}{tokens}.",
            *self._notes("told after the first samples; --plan measures this machine."),
        ]

    def _seconds(self, spent: TokenUsage) -> float | None:
        return self.speed.cost(spent) if self.speed else None

    def _notes(self, unknown: str) -> Iterator[str]:
        """Say time and memory, with `unknown` in place of a time that was not measured; what is too long."""
        time, memory = unknown, ""
        if self.seconds is not None:
            others = sorted({one.by for one in self.work if one.to_make and one.by != "judge"})
            beside = f", and the {' and the '.join(others)} beside" if others else ""
            time = f"about {_time(self.seconds)} and some seconds to load the model{beside}."
        if self.memory is not None:
            free = f", {self.free / 1e9:.1f} GB are free" if self.free is not None else ""
            memory = f" Memory: {self.memory / 1e9:.1f} GB needed{free}{'' if self.fits else f': {SMALLER}'}."
        yield f"Time: {time}{memory}"
        among = "" if self.looked_at == self.samples else f" of {self.looked_at:,}"
        if self.windows:
            what = f"Contexts read in windows (up to {max(self.windows.values())})"
            yield f"{what}: {_samples(len(self.windows))}{among} ({join_some([*self.windows], 5)})."
        if self.too_long:
            what = "Too long, and will fail with context_too_long"
            yield f"{what}: {_samples(len(self.too_long))}{among} ({join_some(self.too_long, 5)})."
        if among:
            yield f"Reckoned from {self.looked_at:,} of the {self.samples:,} samples."


def _sum(spent: Iterable[TokenUsage]) -> TokenUsage:
    return TokenUsage(*map(sum, zip(TokenUsage(), *spent, strict=True)))


def _stored(spent: TokenUsage) -> dict[str, Any]:
    kinds = {kind: tokens for kind, tokens in spent.stored().items() if kind != "seconds"}
    return {"rows": spent.total, "rows_by_kind": kinds}


def _samples(n: int) -> str:
    return f"{n:,} sample" if n == 1 else f"{n:,} samples"


def _time(seconds: float | None) -> str:
    """Say a length of time in words.

    >>> _time(None), _time(8.2), _time(119.7), _time(200), _time(1300), _time(20000)
    ('-', '8 s', '2 min 0 s', '3 min 20 s', '22 min', '5 h 33 min')
    """
    if seconds is None:
        return "-"
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    if seconds < 599.5:
        return f"{round(seconds) // 60} min {round(seconds) % 60} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def make_plan(
    samples: Sequence[Sample],
    metrics: Sequence[Metric],
    judge: Judge,
    options: Options,
    folder: Path | None = None,
    *,
    most: int = 0,
    measure: bool = False,
) -> Plan:
    """Plan a run of these samples, of which the journal in `folder` may hold judgements.

    most     look at this many samples, evenly spread, where there are more; 0 for all
    measure  measure the machine's speed, with some 3,800 tokens; else the plan tells no time

    Raises ModelBroken for a file that is no model.
    """
    n = len(samples)
    looked = [samples[i * n // most] for i in range(most)] if 0 < most < n else samples
    dry = _DryRun(judge, options, JournalFile(folder / JOURNAL) if folder else None)
    tokens = tuple(dry.count(sample, metrics) for sample in looked)
    engine = judge.engine if isinstance(judge.engine, Engine) and any(tokens) else None
    plan = Plan(
        samples=n,
        looked_at=len(looked),
        work=dry.work(n / max(1, len(looked))),
        windows=dry.windows,
        too_long=tuple(dry.too_long),
        tokens=tokens if len(looked) == n else (),
        memory=engine.memory(dry.engine.prefix_tokens()) if engine else None,
        free=available(),
    )
    if engine and measure and plan.fits:  # measuring loads the model once more
        from localeval.engine.benchmark import measure as measure_speed  # heavy: llama.cpp

        LOG.warning("measuring how fast this machine is with %s; it takes about a minute.", engine.path.name)
        with suppress(EngineError):  # the run will meet it too, and say what came of it
            plan = replace(plan, speed=measure_speed(engine.path, engine.settings, BEHIND))
    return replace(plan, memory=None) if engine and engine.loaded else plan


class _DryRun:
    """Goes through samples one by one, as the run will, and counts.

    windows, too_long  as in `Plan`
    """

    def __init__(self, judge: Judge, options: Options, journal: JournalFile | None) -> None:
        self._judge, self._options, self._journal = judge, options, journal
        self._context = judge.context(options)
        self.engine = DryRunEngine(judge.engine)
        no_embedder: Any = None  # nothing stands on what the embedder makes, so that it is never asked
        classifier: Any = SimpleNamespace(support=lambda _, statements: ([0.5] * len(statements), 1))
        heads = self._context.heads
        self._dry = JudgeContext(self.engine, options, no_embedder, lambda: classifier, heads=heads)
        # For what an earlier sample asked already: the engine is not asked again, and stands as it stood.
        self._repeated = replace(self._dry, engine=DryRunEngine(judge.engine))
        self._asked: set[str] = set()
        self._counts = defaultdict[str, Counter[str]](Counter)  # judgement -> field of Work
        self._spent = defaultdict[str, TokenUsage](TokenUsage)
        self.windows: dict[str, int] = {}
        self.too_long: dict[str, None] = {}

    def count(self, sample: Sample, metrics: Sequence[Metric]) -> int:
        """Count what the sample will take, and return its tokens."""
        invented: set[str] = set()
        tokens = 0

        def make(judgement: Judgement, sample: Sample, records: Records) -> tuple[BaseModel, str] | None:
            nonlocal tokens
            by, count = answered_by(judgement, self._options), self._counts[judgement.name]
            key = ""  # where only an opened model could tell, and the journal can't hold it anyway
            if by == "judge" or (self._journal is not None and not invented & set(judgement.needs)):
                key = self._judge.key(judgement, self._context, sample, records)
            kept = find_believed(self._journal, judgement, key) if self._journal is not None and key else None
            if kept is not None:
                count["kept"] += 1
                return kept, key
            invented.add(judgement.name)
            again = key in self._asked
            count["again" if again else "to_make"] += 1
            self._asked |= {key} - {""}
            if by == "embedder":
                return None
            if again:
                return ask(judgement, self._repeated, sample, records), key
            self.engine.asked = []
            record = ask(judgement, self._dry, sample, records)
            spent = _sum(self.engine.asked)
            self._spent[judgement.name] = _sum([self._spent[judgement.name], spent])
            tokens += spent.total
            if (windows := getattr(record, "windows", 1)) > 1:
                self.windows[sample.id] = max(windows, self.windows.get(sample.id, 0))
            if isinstance(record, Failure) and record.failed == "context_too_long":
                self.too_long[sample.id] = None
            return record, key

        make_records(sample, judgements_of_sample(metrics, self._options, sample), make)
        return tokens

    def work(self, share: float) -> tuple[Work, ...]:
        """Scale the counts: a sample stands for `share` samples, and a prefix is computed once in any run."""
        found = []
        for name, count in self._counts.items():
            spent = self._spent[name]
            scaled = TokenUsage(*(round(share * tokens) for tokens in spent))._replace(prefix=spent.prefix)
            counts = {field: round(share * number) for field, number in count.items()}
            found.append(Work(name, answered_by(JUDGEMENTS[name], self._options), **counts, spent=scaled))
        return tuple(found)
