"""Which of two runs answers better? A judge is shown both responses to each question, in both orders."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from rich.text import Text

from localeval.errors import InputError
from localeval.judge import Judge
from localeval.judgements import Failure, Records
from localeval.judgements.judged_text import response_of
from localeval.judgements.preference import OTHER_RESPONSE, QUESTION, PreferenceRecord
from localeval.metrics import Metric, Score, register
from localeval.metrics.sample_result import SampleResult
from localeval.metrics.summary import SIGNIFICANT, GroupNumbers, group_of, shared_groups
from localeval.models.catalog import DEFAULT_JUDGE
from localeval.options import Options
from localeval.report.text import MAX_NAMED, new_table, number, printed
from localeval.runs.evaluate import Progress, evaluate
from localeval.runs.folder import load
from localeval.runs.result import Result
from localeval.samples import Sample, read_samples
from localeval.samples.history import HISTORY, as_column
from localeval.statistics.intervals import paired_permutation_test
from localeval.statistics.mirrored import mean_share, mean_share_interval
from localeval.text.display import digits, join_some, printable, shorten

METRIC = "preference"
MAX_DECIDED = 5
TABLE_WIDTH = 110

Finding = Literal["B is preferred", "A is preferred", "no preference shown"]
Side = Literal["a", "b", "tie"]
# Side -> its name in the table.
_SHOWN: dict[Side, str] = {"b": "B", "tie": "neither", "a": "A"}


def _preferred_side(share: float) -> Side:
    """Return whose response is preferred, by P(the response of B is better)."""
    if share == 0.5:
        return "tie"
    return "b" if share > 0.5 else "a"


def _preference(records: Records, options: Options) -> Score:  # noqa: ARG001
    """1 if the response is preferred to the other one, 0 if the other is, 0.5 for a tie; `soft` is P."""
    share = records[METRIC].share
    value = 0.5 if share == 0.5 else float(share > 0.5)
    return Score(value, share)


# It is known where two runs are compared, and not among the metrics of one run.
PREFERENCE = Metric(
    name=METRIC,
    version="1",
    columns=("user_input", "response", OTHER_RESPONSE),
    judgements=(METRIC,),
    compute=_preference,
    definition="1 if the response is preferred to other_response, 0 if that is, 0.5 for a tie; soft is P",
    definition_zh="回答优于 other_response 时为 1，反之为 0，不分高下为 0.5；soft 为概率",
    source="pairwise LLM judge in both orders (Zheng et al. 2023)",
)


@dataclass(frozen=True)
class Share:
    """How far the responses of B are preferred, 0 to 1; for A it is exactly 1 minus this.

    interval  95 %, for questions of this kind; None for one sample or group
    """

    value: float
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class ComparedSample:
    """A sample of both runs, and P(the response of B is better).

    share            by both orders
    b_first          as the judge said where the response of B was shown first
    b_second         where it was shown second
    rule             why the judge was not asked: "equal", "both_empty", "empty_a", "empty_b"; else ""
    """

    id: str
    share: float
    b_first: float
    b_second: float
    rule: str = ""


@dataclass(frozen=True)
class Preference:
    """The result of `prefer`; `print(preference)` shows a table. Swapping the runs mirrors it exactly.

    win_rate       of B: a sample counts 1 if the response of B is preferred, 0.5 for a tie, else 0
    soft           mean of P(the response of B is better)
    p              two-sided, of "neither is preferred"; 1.0 where all are ties
    finding        for `win_rate`, at p < 0.05
    position_bias  mean over the asked samples of P(B is better) where B is shown first, less the same where
                   it is shown second, -1 to 1: above 0 the judge likes what it reads first; None if none was
    order_flips    of the asked samples, number of those in which the order decides which one is preferred
    samples        sorted by id
    failed         id -> why the judge gave no answer
    other_question number of samples with the same id and another question, which are left out
    no_question    number of samples without a question, which are left out
    no_response    number of samples without the column `response` in A or B, which are left out
    other_contexts number of samples whose contexts differ: the judge was shown those of both
    groups         number of groups, which interval and p take as units; None where no two samples share one
    """

    a: str
    b: str
    question: str
    win_rate: Share
    soft: Share
    p: float
    finding: Finding
    position_bias: float | None
    order_flips: int
    asked: int
    samples: tuple[ComparedSample, ...]
    failed: Mapping[str, str]
    only_a: int
    only_b: int
    other_question: int
    no_question: int
    no_response: int
    other_contexts: int
    groups: int | None
    signature: str

    def count(self, side: Side) -> int:
        """Count the samples in which the response of A or of B is preferred, or neither."""
        return sum(_preferred_side(sample.share) == side for sample in self.samples)

    def most_decided(self) -> list[ComparedSample]:
        """Return the samples that were asked and decided most clearly, at most five, the clearest first."""
        asked = [sample for sample in self.samples if not sample.rule and sample.share != 0.5]
        return sorted(asked, key=lambda sample: -abs(sample.share - 0.5))[:MAX_DECIDED]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values."""
        counts = {side: self.count(side) for side in _SHOWN}
        # Another number is another form.
        return {"schema": 1, "preferred": counts, **asdict(self)}

    def __str__(self) -> str:
        """Show the counts and the win rate, the most decided samples, and what a reader must know."""
        table = new_table(self.question if len(self.question) <= 60 else "preferred", "samples", "share")
        table.columns[0].overflow = "fold"
        total = len(self.samples)
        for side, label in _SHOWN.items():
            table.add_row(label, str(self.count(side)), number(self.count(side) / total))
        lines = [*printed(table, TABLE_WIDTH), "", *self._figures(), ""]
        lines += [*self._table_of_decided(), "", *self._notes(), f"A {self.a}", f"B {self.b}"]
        return "\n".join(printable(line) for line in lines)

    def _figures(self) -> Iterator[str]:
        p = digits(self.p, SIGNIFICANT)
        yield f"win rate of B {_with_interval(self.win_rate)}; p {p}: {self.finding}"
        yield f"mean P(B is better) {_with_interval(self.soft)}"
        if self.position_bias is not None:
            yield (
                f"position bias {self.position_bias:+.3f}: P(B is better) where B is shown first, less where "
                f"it is shown second; the order decides {self.order_flips} of {self.asked} samples"
            )

    def _table_of_decided(self) -> list[str]:
        decided = self.most_decided()
        if not decided:
            return []
        table = new_table("most decided", "P(B is better)", "B first", "B second")
        table.columns[0].overflow = "fold"
        table.columns[0].max_width = 40
        for sample in decided:
            shares = (sample.share, sample.b_first, sample.b_second)
            table.add_row(Text(printable(sample.id)), *map(number, shares))
        return printed(table, TABLE_WIDTH)

    def _notes(self) -> Iterator[str]:
        yield f"asked: {self.question}"
        yield (
            f"{len(self.samples)} samples compared; {self.only_a} only in A, {self.only_b} only in B; "
            f"{len(self.failed)} failed"
        )
        yield from self._notes_on_rules()
        left_out = (
            (self.other_question, "ask another question in each run"),
            (self.no_question, "have no question"),
            (self.no_response, "have no response in one of the runs"),
        )
        for count, reason in left_out:
            if count:
                yield f"left out: {count} that {reason}"
        if self.other_contexts:
            yield f"{self.other_contexts} have other contexts in each run: the judge was shown those of both"
        if self.groups is not None:
            yield f"interval and p take the {self.groups} groups of the column group as units"
        for sample_id, reason in [*self.failed.items()][:MAX_NAMED]:
            yield f"failed: {sample_id}: {reason}"

    def _notes_on_rules(self) -> Iterator[str]:
        """Yield how many samples no judge was asked about, and why."""
        reasons = {
            "equal": "equal responses are a tie",
            "both_empty": "two empty responses are a tie",
            "empty_a": "the response of A is empty, so that of B is preferred",
            "empty_b": "the response of B is empty, so that of A is preferred",
        }
        for rule, reason in reasons.items():
            ids = [sample.id for sample in self.samples if sample.rule == rule]
            if ids:
                yield f"not asked: {len(ids)}, as {reason} ({join_some(ids, MAX_NAMED)})"


def _with_interval(share: Share) -> str:
    if share.interval is None:
        return number(share.value)
    low, high = share.interval
    return f"{number(share.value)} ({number(low)} to {number(high)})"


def prefer(
    a: str | Path | Result,
    b: str | Path | Result,
    judge: Judge | str | os.PathLike[str] = DEFAULT_JUDGE,
    question: str | None = None,
    output: str | Path | None = None,
    progress: Progress | None = None,
) -> Preference:
    """Ask a judge, for each sample of both runs, which of the two responses is better, in both orders.

    a, b      runs (their folders, or results), paired by id
    question  what is asked of the two, as "Which of the two is more polite?"; by default, which answers the
              question better, given the contexts
    output    a run's folder that keeps the judgements; a second call with it asks nothing again

    Raises InputError where the runs have no sample in common that can be compared, and where the judge
    answered about none; and what `evaluate` raises.

    >>> prefer("runs/before", "runs/after").win_rate.value                   # doctest: +SKIP
    0.62
    """
    asked = _checked_question(question)
    first = a if isinstance(a, Result) else load(a)
    second = b if isinstance(b, Result) else load(b)
    paired = _Pairs(first, second, asked)
    register(PREFERENCE)
    samples = read_samples(paired.samples)
    samples.name = "A and B"
    result = evaluate(samples, [METRIC], judge, output, progress)
    return _summarised(
        result,
        paired,
        a="A" if isinstance(a, Result) else str(a),
        b="B" if isinstance(b, Result) else str(b),
    )


def _checked_question(question: str | None) -> str:
    """Return the question without white space around it; "" for the default one."""
    if question is None:
        return ""
    if not isinstance(question, str) or not question.strip():
        raise InputError(
            f"the question is {shorten(repr(question), 60)}; write what the judge is to be asked of two "
            "responses, or leave it out."
        )
    return question.strip()


class _Pairs:
    """The samples of both runs as pairs, each a sample with the response of B beside the one of A.

    counts  how many samples are left out, by reason, and how many have other contexts
    """

    def __init__(self, first: Result, second: Result, question: str) -> None:
        self.samples: list[Sample] = []
        self.counts = {"other_question": 0, "no_question": 0, "no_response": 0, "other_contexts": 0}
        places = {item.sample.id: place for place, item in enumerate(second.samples)}
        in_both = 0
        for item in first.samples:
            place = places.get(item.sample.id)
            if place is None:
                continue
            in_both += 1
            self._add(item.sample, second.samples[place].sample, question)
        self.only_a = len(first.samples) - in_both
        self.only_b = len(second.samples) - in_both
        if not in_both:
            raise InputError("the runs have no sample in common: no id of the first is in the second.")
        if not self.samples:
            raise InputError(
                f"none of the {in_both} samples in both runs can be compared: each needs the same question "
                "(user_input) and a response in both."
            )

    def _add(self, a: Sample, b: Sample, question: str) -> None:
        """Add the pair, unless something that it needs is missing."""
        missing = _why_left_out(a, b)
        if missing:
            self.counts[missing] += 1
            return
        contexts = _contexts_of_both(a, b)
        self.counts["other_contexts"] += a.retrieved_contexts != b.retrieved_contexts
        columns: dict[str, Any] = {
            "id": a.id,
            "user_input": a.user_input,
            "response": b.response,
            OTHER_RESPONSE: a.response,
            "retrieved_contexts": contexts,
        }
        earlier = a.earlier_messages()
        if earlier:
            columns[HISTORY] = as_column(earlier)
        group = _common_group(a, b)
        if group is not None:
            columns["group"] = group
        if question:
            columns[QUESTION] = question
        self.samples.append(Sample(**columns))


def _why_left_out(a: Sample, b: Sample) -> str:
    """Return the key of `_Pairs.counts` under which a pair is left out, or ""."""
    if not a.asks_the_same(b):
        return "other_question"
    if not (a.user_input or "").strip():
        return "no_question"
    return "no_response" if a.response is None or b.response is None else ""


def _contexts_of_both(a: Sample, b: Sample) -> list[str]:
    """Return the contexts, each once, in an order that does not depend on which run is A."""
    first, second = sorted((a, b), key=lambda sample: (response_of(sample), sample.retrieved_contexts or []))
    return [*dict.fromkeys([*(first.retrieved_contexts or []), *(second.retrieved_contexts or [])])]


def _common_group(a: Sample, b: Sample) -> str | None:
    """Return the group of the sample; of two that differ the one that sorts first."""
    groups = [group for group in (group_of(a), group_of(b)) if group is not None]
    return min(groups, default=None)


def _summarised(result: Result, pairs: _Pairs, *, a: str, b: str) -> Preference:
    """Compute the figures from the records of the pairs."""
    failed: dict[str, str] = {}
    compared: list[ComparedSample] = []
    groups = GroupNumbers()
    numbers: list[int] = []
    asked: list[PreferenceRecord] = []
    question = ""
    # In the order of the ids, which is the same whichever run is A.
    for item in sorted(result.samples, key=lambda item: item.sample.id):
        record: Any = item.records[METRIC]
        if isinstance(record, Failure):
            failed[item.sample.id] = record.failure()
            continue
        question = question or record.question
        compared.append(_compared(item, record))
        numbers.append(groups.of(group_of(item.sample)))
        if not record.rule:
            asked.append(record)
    if not compared:
        reason = next(iter(failed.values()))
        raise InputError(f"the judge gave no answer about any of {len(failed)} samples: {shorten(reason)}.")
    return _preference_of(
        compared,
        asked,
        shared_groups(numbers),
        a=a,
        b=b,
        question=question,
        failed=failed,
        only_a=pairs.only_a,
        only_b=pairs.only_b,
        signature=str(result.signature),
        **pairs.counts,
    )


def _compared(item: SampleResult, record: PreferenceRecord) -> ComparedSample:
    """Return a sample whose response is that of B."""
    rules = {"empty_response": "empty_b", "empty_other": "empty_a"}
    if record.rule:
        rule = rules.get(record.rule, record.rule)
        return ComparedSample(item.sample.id, record.share, record.share, record.share, rule)
    b_first, b_second = record.shares
    return ComparedSample(item.sample.id, record.share, b_first, b_second)


def _preference_of(
    compared: Sequence[ComparedSample],
    asked: Sequence[PreferenceRecord],
    groups: Sequence[int] | None,
    **fields: Any,
) -> Preference:
    """Compute the win rate, its interval and test, and the position bias."""
    shares = [sample.share for sample in compared]
    wins = [0.5 if share == 0.5 else float(share > 0.5) for share in shares]
    win_rate = Share(mean_share(wins), mean_share_interval(wins, groups))
    p = paired_permutation_test([2 * win - 1 for win in wins], groups)
    return Preference(
        win_rate=win_rate,
        soft=Share(mean_share(shares), mean_share_interval(shares, groups)),
        p=p,
        finding=_finding(win_rate.value, p),
        position_bias=_position_bias(asked),
        order_flips=sum(record.depends_on_order for record in asked),
        asked=len(asked),
        samples=tuple(compared),
        groups=None if groups is None else len(set(groups)),
        **fields,
    )


def _finding(win_rate: float, p: float) -> Finding:
    if p >= SIGNIFICANT or win_rate == 0.5:
        return "no preference shown"
    return "B is preferred" if win_rate > 0.5 else "A is preferred"


def _position_bias(asked: Sequence[PreferenceRecord]) -> float | None:
    """Return how much likelier a response is preferred where it is shown first, on average."""
    if not asked:
        return None
    # The mean of numbers from -1 to 1, exact on both sides as that of shares is.
    differences = [(first - second) / 2 + 0.5 for first, second in (record.shares for record in asked)]
    return 2 * (mean_share(differences) - 0.5)
