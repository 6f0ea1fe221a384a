"""Draw what people label: samples of a finished run, or statements of its responses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from localeval.errors import InputError
from localeval.judgements.decision import Decision, DecisionList
from localeval.labels.file import Design, Label, Labels, label_row
from localeval.labels.fingerprint import sample_fingerprint
from localeval.metrics import METRICS
from localeval.metrics.metric import find_metric
from localeval.metrics.sample_result import SampleResult
from localeval.report.view import RunView
from localeval.samples.selection import draw_key
from localeval.system.versions import digest
from localeval.text.display import shorten

Unit = Literal["sample", "statement"]
DrawKind = Literal["random", "all", "uncertain"]


@dataclass(frozen=True)
class LabelItem:
    """A sample of the run, or one statement of its response, that a person labels.

    row_id     the id of its row in the file of labels; that of the sample where samples are labelled
    result     the sample with its scores and decisions
    statement  what the judge decided about the statement; None where the sample is labelled
    """

    row_id: str
    result: SampleResult
    statement: Decision | None = None

    def label(self, value: float | None, by: str = "", note: str = "") -> Label:
        """Return the label of a person: 1 right, 0 wrong, None can't tell."""
        sample = self.result.sample
        statement = None if self.statement is None else self.statement.text
        return Label(sample, sample.id, value, statement, by, note)


@dataclass(frozen=True)
class LabelDraw:
    """What is to be labelled, in the order in which it is shown.

    After a random draw the order is random, too: the first ones are a random draw of fewer.

    items  by the ids of their rows
    key    of the run, the metric, and how was drawn, apart from how many
    """

    metric: str
    unit: Unit
    design: Design
    items: dict[str, LabelItem]
    key: str

    def row(self, label: Label, row_id: str) -> dict[str, object]:
        """Return the row of the file of labels."""
        return label_row(label, self.metric, self.design, row_id)

    def match(self, labels: Labels) -> dict[str, Label]:
        """Return the labels of a file by the ids of their rows.

        Raises InputError for labels of another metric, run or draw, and for a file that `label` did not make.
        """
        self._check_design(labels)
        matched = {}
        for label in labels.labels:
            item = self.items.get(label.sample.id)
            name = shorten(label.sample.id, 40)
            if item is None:
                raise InputError(
                    f"{labels.where}: {name} is not among the {len(self.items)} that are drawn here; give "
                    "the same run, --unit and --draw, and -n as large as before, or choose another file."
                )
            if not _is_of(label, item):
                raise InputError(
                    f"{labels.where}: {name} has other texts than in this run; give the run that was "
                    "labelled, or choose another file."
                )
            matched[item.row_id] = label
        return matched

    def _check_design(self, labels: Labels) -> None:
        if labels.metric is None or labels.design is None:
            raise InputError(
                f"{labels.where}: these labels were not made by `label`, or not in one draw; "
                "choose another file."
            )
        if labels.metric != self.metric:
            raise InputError(
                f"{labels.where}: its labels are of {shorten(labels.metric, 40)}, and here {self.metric} is "
                f"labelled; give --metric {shorten(labels.metric, 40)}, or choose another file."
            )
        unit: Unit = "sample" if labels.labels[0].statement is None else "statement"
        if unit != self.unit:
            raise InputError(
                f"{labels.where}: its labels are of {unit}s; give --unit {unit}, or choose another file."
            )
        design = labels.design
        if (design.kind, design.seed, design.of) != (self.design.kind, self.design.seed, self.design.of):
            raise InputError(
                f"{labels.where}: its labels are of another draw ({describe(design)}; here: "
                f"{describe(self.design)}); give the same options, or choose another file."
            )


def describe(design: Design) -> str:
    """Say how was drawn.

    >>> describe(Design(kind="random", seed=3, drawn=50, of=213))
    '50 of 213, at random, seed 3'
    """
    words = {"random": "at random", "all": "all", "uncertain": "the most uncertain"}
    return f"{design.drawn} of {design.of}, {words[design.kind]}, seed {design.seed}"


def draw_items(
    run: RunView,
    *,
    metric: str | None = None,
    unit: Unit = "sample",
    kind: DrawKind = "random",
    number: int = 50,
    seed: int = 0,
) -> LabelDraw:
    """Draw samples that the metric scored, or statements of their responses, for people to label.

    metric  by default the run's first one that a judge decided
    kind    "random": by the seed, the same on every machine, and a larger draw holds the smaller ones;
            "all": every one, in such an order; "uncertain": those nearest to the threshold

    Raises InputError for a metric that the run lacks, and where there is nothing to draw from.
    """
    chosen = _choose_metric(run, metric)
    scored = [result for result in run.samples if result.scores[chosen].status == "scored"]
    if not scored:
        raise InputError(
            f"no sample of this run was scored by {chosen}, so there is nothing to label; "
            "give another --metric."
        )
    candidates = _statements(scored, chosen) if unit == "statement" else _samples(scored)
    order = _order(candidates, run, chosen, kind, seed)
    drawn = order if kind == "all" else order[:number]
    design = Design(kind=kind, seed=seed, drawn=len(drawn), of=len(candidates))
    return LabelDraw(
        metric=chosen,
        unit=unit,
        design=design,
        items={item.row_id: item for item in drawn},
        key=_key(candidates, chosen, unit, kind, seed),
    )


def _choose_metric(run: RunView, name: str | None) -> str:
    if name is not None:
        known = name if name in run.metrics else find_metric(name).name
        if known not in run.metrics:
            raise InputError(
                f"this run has no metric {shorten(name, 40)!r}; it has: {', '.join(run.metrics)}."
            )
        return known
    for metric in run.metrics:
        if any(deciding_lists(result, metric) for result in run.samples):
            return metric
    raise InputError(
        f"no metric of this run was decided by a judge; name one with --metric: {', '.join(run.metrics)}."
    )


def deciding_lists(result: SampleResult, metric: str) -> list[DecisionList]:
    """Return what the judgements of this metric decided about the sample."""
    if metric not in METRICS:
        return []
    names = METRICS[metric].judgements
    return [
        listed
        for listed in result.decisions()
        if listed.judgement in names and any(one.probability is not None for one in listed.decisions)
    ]


def statements_of(result: SampleResult, metric: str) -> list[Decision]:
    """Return the statements, or read sentences, whose verdicts make the metric's score of the sample.

    Raises InputError where several verdicts are on one statement.
    """
    lists = [one for one in deciding_lists(result, metric) if one.kind in ("verdict", "sentence")]
    if len(lists) > 1:
        raise InputError(
            f"{metric} has several verdicts on a statement; label samples (--unit sample), or the statements "
            "of a metric with one, such as faithfulness."
        )
    return [one for listed in lists for one in listed.decisions if one.probability is not None]


def _is_of(label: Label, item: LabelItem) -> bool:
    """Report whether the texts that were labelled are those of the item."""
    statement = None if item.statement is None else item.statement.text
    same_texts = sample_fingerprint(label.sample) == sample_fingerprint(item.result.sample)
    return same_texts and label.statement == statement and label.sample_id == item.result.sample.id


def _samples(scored: Sequence[SampleResult]) -> list[LabelItem]:
    return [LabelItem(result.sample.id, result) for result in scored]


def _statements(scored: Sequence[SampleResult], metric: str) -> list[LabelItem]:
    items = [
        LabelItem(f"{result.sample.id}/{number}", result, decision)
        for result in scored
        for number, decision in enumerate(statements_of(result, metric))
    ]
    if not items:
        raise InputError(
            f"{metric} decides no statements in this run; label samples (--unit sample), or give another "
            "--metric, such as faithfulness."
        )
    return items


def _order(
    items: Sequence[LabelItem], run: RunView, metric: str, kind: DrawKind, seed: int
) -> list[LabelItem]:
    """Return the items in random order by the seed; "uncertain" ones by their distance from the threshold."""
    shuffled = sorted(items, key=lambda item: draw_key(item.row_id, seed))
    if kind != "uncertain":
        return shuffled
    distance = _distance_from(run.signature.threshold, metric)
    return sorted(shuffled, key=distance)


def _distance_from(threshold: float, metric: str) -> Callable[[LabelItem], float]:
    def distance(item: LabelItem) -> float:
        if item.statement is not None:
            return abs((item.statement.probability or 0.0) - threshold)
        score = item.result.scores[metric].checked()
        return abs((score.soft or 0.0) - threshold)

    return distance


def _key(items: Sequence[LabelItem], metric: str, unit: Unit, kind: DrawKind, seed: int) -> str:
    texts = [
        [item.row_id, sample_fingerprint(item.result.sample), item.statement.text if item.statement else None]
        for item in items
    ]
    return digest([metric, unit, kind, seed, texts])
