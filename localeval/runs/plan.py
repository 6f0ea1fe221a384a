"""Estimate the work, time and memory of a run, for the table that `--plan` prints.

Each judgement is made as in the run, by an engine that only counts (`localeval.engine.dry_run`), so the
prompt tokens are those of the run. Reply tokens are estimated, and each sentence counts as one statement.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from localeval.auxiliary.models import AuxiliaryModels
from localeval.engine.dry_run import DryRunEngine
from localeval.engine.engine import Engine
from localeval.engine.interface import EmbeddingModel, EngineError, EntailmentModel, TokenUsage
from localeval.engine.memory import REMEDY, available, fits
from localeval.judge import Judge
from localeval.judgements import JUDGEMENTS, most_windows
from localeval.judgements.journal import JOURNAL, Journal, JournalFile
from localeval.metrics import Metric
from localeval.metrics.summary import judgements_of_sample
from localeval.options import Options
from localeval.report.text import new_table, printed
from localeval.samples import Sample
from localeval.text.display import join_some

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from localeval.engine.benchmark import Speed

LOG = logging.getLogger("localeval")

PLAN = "plan.json"

BEHIND = 1500  # tokens before an average token: a prefix of worked examples and half a context
LOOKED_AT = 100  # samples that are counted before a run, in one or two seconds


@dataclass(frozen=True)
class Work:
    """The work of a run for one kind of judgement.

    by       the model that answers: "judge", "embedder" or "classifier"
    to_make  number of judgements to be made
    kept     number that the journal holds already
    again    number that an earlier sample of the run asks for too
    spent    the judge's tokens: counted for prompts, estimated for replies
    """

    judgement: str
    by: str
    to_make: int = 0
    kept: int = 0
    again: int = 0
    spent: TokenUsage = field(default_factory=TokenUsage)


@dataclass(frozen=True)
class Plan:
    """An estimate of a run before it starts. `print(plan)` shows it.

    looked_at  number of samples, evenly spread, that were counted; everything is estimated from these
    work       one entry for each judgement, in the order in which they are made
    windows    of the counted samples, id -> number of windows in which its contexts are read
    too_long   of the counted samples, ids of those with a judgement that will fail with `context_too_long`
    speed      cost of a token on this machine; None where it was not measured
    memory     bytes that the judge needs; None where no model is to be loaded, or a GPU holds it
    free       bytes of free memory; None where the system does not report them
    """

    samples: int
    looked_at: int
    work: tuple[Work, ...]
    windows: Mapping[str, int] = field(default_factory=dict)
    too_long: tuple[str, ...] = ()
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
        """Tokens of all judgements together."""
        return _sum(work.spent for work in self.work)

    @property
    def seconds(self) -> float | None:
        """Seconds for the judge's tokens, without loading the model; None where the speed is not known."""
        return self._seconds(self.spent) if self.spent.total else 0.0

    @property
    def fits(self) -> bool:
        """Whether the judge fits into the free memory; True where either is not known."""
        return fits(self.memory, self.free)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values: the content of `plan.json`."""
        work = []
        for item in self.work:
            fields = {name: value for name, value in asdict(item).items() if name != "spent"}
            work.append({**fields, "seconds": self._seconds(item.spent), **_usage_fields(item.spent)})
        return {
            "schema": 1,  # another number is another form
            "samples": self.samples,
            "looked_at": self.looked_at,
            "to_make": self.to_make,
            "kept": self.kept,
            **_usage_fields(self.spent),
            "seconds": self.seconds,
            "work": work,
            "windows": dict(self.windows),
            "too_long": list(self.too_long),
            "speed": self.speed._asdict() if self.speed else None,
            "memory": self.memory,
            "free": self.free,
            "fits": self.fits,
        }

    def __str__(self) -> str:
        """Show a row per judgement and one for the total, then time, memory and samples that are too long."""
        table = new_table(
            *("judgement", "to make", "from the journal"),
            *("prompt tokens", "reply tokens, about", "time, about"),
        )

        def row(name: str, to_make: int, kept: int, spent: TokenUsage, by: str = "judge") -> None:
            reply_tokens = spent.decoded + spent.guessed + spent.forced
            cells = [f"{spent.total - reply_tokens:,}", f"{reply_tokens:,}", _time(self._seconds(spent))]
            table.add_row(name, f"{to_make:,}", f"{kept:,}", *(cells if by == "judge" else [f"by the {by}"]))

        for item in self.work:
            row(item.judgement, item.to_make, item.kept + item.again, item.spent, item.by)
        table.add_row()
        row("all", self.to_make, sum(item.kept + item.again for item in self.work), self.spent)
        return "\n".join([*printed(table, 110), "", *self._notes("Not measured.")])

    def summary(self) -> list[str]:
        """Return one to five lines: what is to be judged, how long it takes, and whether it fits."""
        samples = _sample_count(self.samples)
        counted, end = samples, "; no model is asked."
        if self.looked_at < self.samples:
            counted, end = f"the {self.looked_at:,} of {samples} that were looked at", "."
        if not self.to_make and not self.kept:
            return [f"Plan: nothing is to be judged in {counted}{end}"]
        if not self.to_make:
            return [f"Plan: all judgements of {counted} are in the journal{end}"]
        stored = f" ({self.kept:,} more in the journal)" if self.kept else ""
        about = "" if self.looked_at == self.samples else "about "
        tokens = f", about {self.spent.total:,} tokens" if self.spent.total else ""
        return [
            f"Plan: {samples}, {about}{self.to_make:,} judgements to make{stored}{tokens}.",
            *self._notes("shown after the first samples; --plan measures this machine."),
        ]

    def _seconds(self, spent: TokenUsage) -> float | None:
        return self.speed.cost(spent) if self.speed else None

    def _notes(self, unknown: str) -> Iterator[str]:
        """Yield time (`unknown` where it was not measured) and memory, then the samples that are long."""
        time, memory = unknown, ""
        if self.seconds is not None:
            others = sorted({item.by for item in self.work if item.to_make and item.by != "judge"})
            auxiliary = f", and the {' and the '.join(others)} beside" if others else ""
            time = f"about {_time(self.seconds)} and some seconds to load the model{auxiliary}."
        if self.memory is not None:
            free = f", {self.free / 1e9:.1f} GB are free" if self.free is not None else ""
            memory = f" Memory: {self.memory / 1e9:.1f} GB needed{free}{'' if self.fits else f': {REMEDY}'}."
        yield f"Time: {time}{memory}"
        of_counted = "" if self.looked_at == self.samples else f" of {self.looked_at:,}"
        if self.windows:
            what = f"Contexts read in windows (up to {max(self.windows.values())})"
            yield f"{what}: {_sample_count(len(self.windows))}{of_counted} ({join_some([*self.windows], 5)})."
        if self.too_long:
            what = "Too long, and will fail with context_too_long"
            yield f"{what}: {_sample_count(len(self.too_long))}{of_counted} ({join_some(self.too_long, 5)})."
        if of_counted:
            yield f"Estimated from {self.looked_at:,} of the {self.samples:,} samples."


def _sum(spent: Iterable[TokenUsage]) -> TokenUsage:
    return TokenUsage(*map(sum, zip(TokenUsage(), *spent, strict=True)))


def _usage_fields(spent: TokenUsage) -> dict[str, Any]:
    kinds = {kind: tokens for kind, tokens in spent._asdict().items() if kind != "seconds"}
    return {"tokens": spent.total, "tokens_by_kind": kinds}


def _sample_count(n: int) -> str:
    return f"{n:,} sample" if n == 1 else f"{n:,} samples"


def _time(seconds: float | None) -> str:
    """Format a length of time.

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

    most     count at most this many samples, evenly spread; 0 for all
    measure  measure the machine's speed, with some 3,800 tokens; else the plan has no time

    Raises ModelBroken for a file that is no model.
    """
    n = len(samples)
    counted = [samples[i * n // most] for i in range(most)] if 0 < most < n else samples
    counting, dry_run = _counting(judge), _DryRun(JournalFile(folder / JOURNAL) if folder else None)
    windows, too_long = dict[str, int](), list[str]()
    for sample in counted:
        required = judgements_of_sample(metrics, options, sample)
        records = counting.judge(sample, required, options, dry_run)
        if (most_read := most_windows(records)) > 1:
            windows[sample.id] = most_read
        if any(getattr(record, "failed", "") == "context_too_long" for record in records.values()):
            too_long.append(sample.id)
    work = dry_run.work(options, n / max(1, len(counted)))
    engine = judge.engine if isinstance(judge.engine, Engine) and any(w.spent.total for w in work) else None
    plan = Plan(
        samples=n,
        looked_at=len(counted),
        work=work,
        windows=windows,
        too_long=tuple(too_long),
        memory=engine.memory() if engine else None,
        free=available(),
    )
    if engine and measure and plan.fits:  # measuring loads the model once more
        from localeval.engine.benchmark import measure as measure_speed  # heavy: llama.cpp

        LOG.warning("measuring how fast this machine is with %s; it takes about a minute.", engine.path.name)
        engine.check_loadable()
        with suppress(EngineError):  # the run will meet the same error and report it
            plan = replace(plan, speed=measure_speed(engine.path, engine.settings, BEHIND))
    return replace(plan, memory=None) if engine and engine.loaded else plan


class _DryRun(Journal):
    """A journal of judgements that an engine made which only counts them. `stored` is that of the run.

    counts  judgement -> field of `Work` -> number
    spent   judgement -> its tokens; none for what an earlier sample asks for too
    """

    def __init__(self, stored: JournalFile | None) -> None:
        super().__init__()
        self._stored = stored
        self._made: dict[str, str] = {}  # key -> judgement, also where memory holds the record no longer
        self.counts = defaultdict[str, Counter[str]](Counter)
        self.spent = defaultdict[str, TokenUsage](TokenUsage)

    def get(self, key: str) -> dict[str, Any] | None:
        if self._stored and (entry := self._stored.entry(key)):
            self.counts[entry["judgement"]]["kept"] += 1
            return cast("dict[str, Any]", entry["record"])
        if (record := super().get(key)) is not None:
            self.counts[self._made[key]]["again"] += 1
        return record

    def put(
        self, key: str, judgement: str, sample: str, record: dict[str, Any], cost: Mapping[str, Any]
    ) -> None:
        if key in self._made:
            self.counts[judgement]["again"] += 1
        else:
            self.counts[judgement]["to_make"] += 1
            self.spent[judgement] = _sum([self.spent[judgement], TokenUsage(**cost["spent"])])
        self._made[key] = judgement
        super().put(key, judgement, sample, record, cost)

    def work(self, options: Options, share: float) -> tuple[Work, ...]:
        """Scale the counts: a sample stands for `share` samples, and a prefix is computed once in any run."""
        work = []
        for name, counts in self.counts.items():
            spent = self.spent[name]
            scaled = TokenUsage(*(round(share * tokens) for tokens in spent))._replace(prefix=spent.prefix)
            fields = {field: round(share * count) for field, count in counts.items()}
            work.append(Work(name, JUDGEMENTS[name].answered_by(options), **fields, spent=scaled))
        return tuple(work)


class _CountingEmbedder(EmbeddingModel):
    """Has the signature of an embedder, and computes nothing."""

    def __init__(self, models: AuxiliaryModels) -> None:
        self._models = models

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        import numpy as np

        return np.ones((len(texts), 1), np.float32)

    def signature(self) -> dict[str, Any]:
        return self._models.embedder().signature()


class _CountingClassifier(EntailmentModel):
    """Has the signature of a classifier, and computes nothing."""

    def __init__(self, models: AuxiliaryModels) -> None:
        self._models = models

    def support(self, contexts: Sequence[str], statements: Sequence[str]) -> tuple[list[float], int]:  # noqa: ARG002
        return [0.5 for _ in statements], 1

    def signature(self) -> dict[str, Any]:
        return self._models.classifier().signature()


def _counting(judge: Judge) -> Judge:
    """Return a judge that makes every record under the same key, and computes nothing."""
    opened = judge.auxiliary_models
    models = AuxiliaryModels(_CountingEmbedder(opened), _CountingClassifier(opened))
    return Judge(DryRunEngine(judge.engine), judge.model, auxiliary_models=models)
