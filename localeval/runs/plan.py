"""Estimate the work, time and memory of a run, for the table that `--plan` prints.

Each judgement is made as in the run, by an engine that only counts (`localeval.engine.dry_run`), so the
prompt tokens are as in the run. Reply tokens are estimated, and each sentence counts as one statement.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from localeval.runs.speed import load_speed, store_speed
from localeval.samples import Sample
from localeval.text.display import join_some

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from localeval.engine.benchmark import Speed

LOG = logging.getLogger("localeval")

PLAN = "plan.json"

TOKENS_BEFORE = 1500
"""Tokens before an average token: a prefix of worked examples and half a context."""

MAX_COUNTED = 100
"""Samples that are counted before a run, in one or two seconds."""


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
        return _sum_usage(work.spent for work in self.work)

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
            "judgement",
            "to make",
            "from the journal",
            "prompt tokens",
            "reply tokens, about",
            "time, about",
        )
        for item in self.work:
            counts = self._counts(item.judgement, item.to_make, item.kept + item.again)
            if item.by == "judge":
                table.add_row(*counts, *self._tokens_and_time(item.spent))
            else:
                table.add_row(*counts, f"by the {item.by}")
        table.add_row()
        stored = sum(item.kept + item.again for item in self.work)
        table.add_row(*self._counts("all", self.to_make, stored), *self._tokens_and_time(self.spent))
        return "\n".join([*printed(table, 110), "", *self._notes("Not measured.")])

    def _counts(self, name: str, to_make: int, stored: int) -> list[str]:
        """Return the first three cells of a row."""
        return [name, f"{to_make:,}", f"{stored:,}"]

    def _tokens_and_time(self, spent: TokenUsage) -> list[str]:
        """Return the last three cells of a row: tokens of prompts and of replies, and their time."""
        reply_tokens = spent.decoded + spent.guessed + spent.forced
        prompt_tokens = spent.total - reply_tokens
        return [f"{prompt_tokens:,}", f"{reply_tokens:,}", format_seconds(self._seconds(spent))]

    def summary(self) -> list[str]:
        """Return one to five lines: what is to be judged, how long it takes, and whether it fits."""
        samples = _sample_count(self.samples)
        is_whole = self.looked_at == self.samples
        counted = samples if is_whole else f"the {self.looked_at:,} of {samples} that were looked at"
        end = "; no model is asked." if is_whole else "."
        if not self.to_make and not self.kept:
            return [f"Plan: nothing is to be judged in {counted}{end}"]
        if not self.to_make:
            return [f"Plan: all judgements of {counted} are in the journal{end}"]
        about = "" if is_whole else "about "
        stored = f" ({self.kept:,} more in the journal)" if self.kept else ""
        tokens = f", about {self.spent.total:,} tokens" if self.spent.total else ""
        return [
            f"Plan: {samples}, {about}{self.to_make:,} judgements to make{stored}{tokens}.",
            *self._notes("shown after the first samples; --plan measures this machine."),
        ]

    def _seconds(self, spent: TokenUsage) -> float | None:
        return self.speed.cost(spent) if self.speed else None

    def _notes(self, unknown: str) -> Iterator[str]:
        """Yield time (`unknown` where it was not measured) and memory, then the samples that are long."""
        yield f"Time: {self._time_note() or unknown}{self._memory_note()}"
        is_whole = self.looked_at == self.samples
        of_counted = "" if is_whole else f" of {self.looked_at:,}"
        if self.windows:
            what = f"Contexts read in windows (up to {max(self.windows.values())})"
            ids = join_some(list(self.windows), 5)
            yield f"{what}: {_sample_count(len(self.windows))}{of_counted} ({ids})."
        if self.too_long:
            what = "Too long, and will fail with context_too_long"
            ids = join_some(self.too_long, 5)
            yield f"{what}: {_sample_count(len(self.too_long))}{of_counted} ({ids})."
        if not is_whole:
            yield f"Estimated from {self.looked_at:,} of the {self.samples:,} samples."

    def _time_note(self) -> str:
        """Say how long the run takes; "" where that is not known."""
        if self.seconds is None:
            return ""
        others = sorted({item.by for item in self.work if item.to_make and item.by != "judge"})
        auxiliary = f", and the {' and the '.join(others)} beside" if others else ""
        return f"about {format_seconds(self.seconds)} and some seconds to load the model{auxiliary}."

    def _memory_note(self) -> str:
        """Say how much memory the judge needs; "" where it needs no more."""
        if self.memory is None:
            return ""
        free = "" if self.free is None else f", {self.free / 1e9:.1f} GB are free"
        remedy = "" if self.fits else f": {REMEDY}"
        return f" Memory: {self.memory / 1e9:.1f} GB needed{free}{remedy}."


def _stored_usage(cost: Mapping[str, Any]) -> TokenUsage:
    """Return the tokens of a judgement by the `cost` of its entry in a journal."""
    return TokenUsage(**cost["spent"])


def _sum_usage(spent: Iterable[TokenUsage]) -> TokenUsage:
    """Return the sum of each kind of token."""
    return TokenUsage(*map(sum, zip(TokenUsage(), *spent, strict=True)))


def _usage_fields(spent: TokenUsage) -> dict[str, Any]:
    kinds = {kind: tokens for kind, tokens in spent._asdict().items() if kind != "seconds"}
    return {"tokens": spent.total, "tokens_by_kind": kinds}


def _sample_count(n: int) -> str:
    return f"{n:,} sample" if n == 1 else f"{n:,} samples"


def format_seconds(seconds: float | None) -> str:
    """Format a length of time.

    >>> [format_seconds(seconds) for seconds in (None, 8.2, 119.7, 200, 1300, 20000)]
    ['-', '8 s', '2 min 0 s', '3 min 20 s', '22 min', '5 h 33 min']
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
    max_counted: int = 0,
    measure: bool = False,
) -> Plan:
    """Plan a run of these samples, of which the journal in `folder` may hold judgements.

    max_counted  count at most this many samples, evenly spread; 0 for all
    measure      measure the machine's speed, with some 3,800 tokens; else the plan has no time

    Raises ModelBroken for a file that is no model.
    """
    counted = _spread(samples, max_counted)
    dry_judge = _dry_run_judge(judge)
    journal = _DryRunJournal(JournalFile(folder / JOURNAL) if folder else None)
    windows: dict[str, int] = {}
    too_long: list[str] = []
    for sample in counted:
        required = judgements_of_sample(metrics, options, sample)
        records = dry_judge.judge(sample, required, options, journal)
        number_of_windows = most_windows(records)
        if number_of_windows > 1:
            windows[sample.id] = number_of_windows
        if any(getattr(record, "failed", "") == "context_too_long" for record in records.values()):
            too_long.append(sample.id)
    plan = Plan(
        samples=len(samples),
        looked_at=len(counted),
        work=journal.work(options, len(samples) / max(1, len(counted))),
        windows=windows,
        too_long=tuple(too_long),
        free=available(),
    )
    if not isinstance(judge.engine, Engine) or not plan.spent.total:
        return plan
    return _with_engine(plan, judge, judge.engine, measure)


def _spread(samples: Sequence[Sample], most: int) -> Sequence[Sample]:
    """Return at most so many of the samples, evenly spread; all for 0."""
    if not 0 < most < len(samples):
        return samples
    return [samples[number * len(samples) // most] for number in range(most)]


def _with_engine(plan: Plan, judge: Judge, engine: Engine, measure: bool) -> Plan:
    """Add the memory that a model needs where it is not loaded yet, and its speed where that is measured."""
    needing = replace(plan, memory=engine.memory())
    # Measuring loads the model once more.
    speed = _measure(judge, engine) if measure and needing.fits else None
    return replace(plan if engine.loaded else needing, speed=speed)


def with_stored_speed(plan: Plan, judge: Judge) -> Plan:
    """Add the speed that `--plan` measured last with this model and these settings, if it did."""
    if not isinstance(judge.engine, Engine) or not plan.spent.total:
        return plan
    return replace(plan, speed=load_speed(judge))


def _measure(judge: Judge, engine: Engine) -> Speed | None:
    """Measure the speed, and remember it; None where the engine fails, as the run itself will report."""
    from localeval.engine import benchmark  # heavy: llama.cpp

    LOG.warning("measuring how fast this machine is with %s; it takes about a minute.", engine.path.name)
    engine.check_loadable()
    try:
        speed = benchmark.measure(engine.path, engine.settings, TOKENS_BEFORE)
    except EngineError:
        return None
    store_speed(judge, speed)
    return speed


class _DryRunJournal(Journal):
    """A journal of judgements that an engine made which only counts them. `stored` is the run's journal.

    counts  judgement -> field of `Work` -> number
    spent   judgement -> its tokens; none for what an earlier sample asks for too
    """

    def __init__(self, stored: JournalFile | None) -> None:
        super().__init__()
        self._stored = stored
        # Key -> judgement, also where memory holds the record no longer.
        self._made: dict[str, str] = {}
        self.counts = defaultdict[str, Counter[str]](Counter)
        self.spent = defaultdict[str, TokenUsage](TokenUsage)

    def get(self, key: str) -> dict[str, Any] | None:
        entry = self._stored.entry(key) if self._stored else None
        if entry is not None:
            self.counts[entry["judgement"]]["kept"] += 1
            return cast("dict[str, Any]", entry["record"])
        record = super().get(key)
        if record is not None:
            self.counts[self._made[key]]["again"] += 1
        return record

    def put(
        self, key: str, judgement: str, sample: str, record: dict[str, Any], cost: Mapping[str, Any]
    ) -> None:
        if key in self._made:
            self.counts[judgement]["again"] += 1
        else:
            self.counts[judgement]["to_make"] += 1
            self.spent[judgement] = _sum_usage([self.spent[judgement], _stored_usage(cost)])
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


class _DryRunEmbedder(EmbeddingModel):
    """An embedder that computes nothing, with the signature of the judge's."""

    def __init__(self, models: AuxiliaryModels) -> None:
        self._models = models

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        import numpy as np

        return np.ones((len(texts), 1), np.float32)

    def signature(self) -> dict[str, Any]:
        return self._models.embedder().signature()


class _DryRunClassifier(EntailmentModel):
    """A classifier that computes nothing, with the signature of the judge's."""

    def __init__(self, models: AuxiliaryModels) -> None:
        self._models = models

    def support(self, contexts: Sequence[str], statements: Sequence[str]) -> tuple[list[float], int]:  # noqa: ARG002
        return [0.5 for _ in statements], 1

    def signature(self) -> dict[str, Any]:
        return self._models.classifier().signature()


def _dry_run_judge(judge: Judge) -> Judge:
    """Return a judge that makes every record under the same key, and computes nothing."""
    models = judge.auxiliary_models
    dry_models = AuxiliaryModels(_DryRunEmbedder(models), _DryRunClassifier(models))
    return Judge(DryRunEngine(judge.engine), judge.model, auxiliary_models=dry_models)
