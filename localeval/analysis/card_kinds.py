"""The three kinds of labelled data of a card: samples, pairs, and sentences of contexts.

Each kind chooses the samples to judge, makes the items that are counted from the judged ones, and measures
the figures of some items.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Generic, Literal

import numpy as np

from localeval.analysis import labels
from localeval.analysis.card_figures import (
    Item,
    LabelledItem,
    PartRule,
    ScoreFigures,
    baseline_score,
    mean_figures,
    oriented,
    refuse,
    share_of_words,
)
from localeval.analysis.labels import (
    MIN_OF_EACH_LABEL,
    MIN_ROWS,
    LabelledSentence,
    group,
    label,
    marked_sentences,
)
from localeval.errors import InputError
from localeval.judgements.calibration import RAW
from localeval.judgements.decision import Decision, decided_in, statement_language
from localeval.judgements.support import SupportRecord, Verdict
from localeval.metrics import Metric
from localeval.metrics.sample_result import SampleResult
from localeval.metrics.summary import compute
from localeval.options import Options
from localeval.runs.result import Result
from localeval.samples import Sample, Samples
from localeval.statistics import agreement

CardKindName = Literal["labels", "pairs", "sentences"]

# Scores under a curve that was fitted on the other folds of the data.
REFITTED = "refitted"
ALL_SUPPORTED = "P(all supported) refitted"

# The metric with labels of sentences; the decisions that it counts, and those at the threshold that was best
# on other folds.
MARKED_METRIC = "context_relevance"
DECIDED = "needed"
NEEDED = "P(needed)"


class LabelKind(ABC, Generic[Item]):
    """Labelled data of one kind, for one metric.

    samples      the samples to judge
    cannot_tell  number of rows that are left out, as who labelled could not tell
    """

    name: ClassVar[CardKindName]
    part_rule: ClassVar[PartRule]
    samples: list[Sample]
    cannot_tell: int = 0

    @abstractmethod
    def items(self, result: Result) -> list[Item]:
        """Make the items from the judged samples. Raises InputError for too few with a score."""

    @abstractmethod
    def measure(self, items: Sequence[Item]) -> dict[str, ScoreFigures]:
        """Measure the figures of these items, by score."""


@dataclass
class JudgedSample(LabelledItem):
    """A labelled sample with its scores.

    scores    name -> a number, a higher one meaning "more likely good"
    verdicts  what a calibration of its `language` is fitted to, outside of its `fold`; empty where the judge
              was not asked
    """

    scores: dict[str, float] = field(default_factory=dict)
    verdicts: tuple[Verdict, ...] = ()
    fold: int = 0


class LabelledSamples(LabelKind[JudgedSample]):
    """Samples with a `label`."""

    name = "labels"
    part_rule = PartRule(("lang", "source"), min_items=10, min_of_each_label=3)

    def __init__(self, data: Samples, metric: Metric, number: int, options: Options, where: str) -> None:
        labels.check_metric(data, metric, where)
        told = labels.told_rows(data)
        self.cannot_tell = len(data) - len(told)
        self.samples = labels.labelled_samples(told, number, options.seed, where)
        self._metric = metric
        self._options = options

    def items(self, result: Result) -> list[JudgedSample]:
        name = self._metric.name
        items = [
            self._item(judged, has_calibration=bool(result.signature.calibration))
            for judged in result.samples
            if judged.scores[name].status == "scored"
        ]
        good = sum(item.label for item in items)
        if min(good, len(items) - good) < MIN_OF_EACH_LABEL:
            refuse(result, name, f"{len(items)} were scored, with fewer than {MIN_OF_EACH_LABEL} of a label")
        return items

    def _item(self, judged: SampleResult, has_calibration: bool) -> JudgedSample:
        metric = self._metric
        scores = oriented(judged.scores[metric.name], metric)
        if has_calibration:
            raw = oriented(compute(metric, judged.sample, judged.records, self._options, RAW), metric)
            scores |= {f"{name} raw": share for name, share in raw.items()}
        scores[metric.baseline] = baseline_score(judged.sample, metric)
        return JudgedSample(
            row=judged.sample,
            label=label(judged.sample),
            language=_language_of(judged),
            scores=scores,
            verdicts=_asked_verdicts(judged) if metric.fits_calibration else (),
        )

    def measure(self, items: Sequence[JudgedSample]) -> dict[str, ScoreFigures]:
        """Leave decisions out where no threshold can be fitted to other samples of the part."""
        item_labels = [item.label for item in items]
        groups = [group(item.row) for item in items]
        draws = agreement.Bootstrap(item_labels, groups)
        fold_numbers = agreement.folds(item_labels, groups)
        names = [name for name in items[0].scores if all(name in item.scores for item in items)]
        baseline = self._metric.baseline
        baseline_scores = [item.scores[baseline] for item in items]
        results = {}
        for name in names:
            scores = [item.scores[name] for item in items]
            # Curves of different folds give no common order, so only pairs within a fold are compared.
            fit_folds = [item.fold for item in items] if name.endswith(REFITTED) else None
            figures = {"auroc": draws.auroc(scores, fit_folds)}
            if fold_numbers is not None:
                decisions = agreement.cross_validated_decisions(scores, item_labels, fold_numbers)
                figures |= draws.decisions(decisions)
            if name in ("soft", ALL_SUPPORTED):
                figures |= draws.probabilities(scores)
            gain = None
            if name != baseline:
                gain = draws.auroc(scores, fit_folds, less=baseline_scores)
            results[name] = ScoreFigures(figures=figures, gain=gain)
        return results


def _language_of(judged: SampleResult) -> str | None:
    """Return the language of the judged response; None where nothing of it was judged or read."""
    lists = judged.decisions()
    read = (listed.language for listed in lists if listed.kind == "sentence")
    return statement_language(lists) or next(read, None)


def _asked_verdicts(judged: SampleResult) -> tuple[Verdict, ...]:
    """Return the verdicts on the statements of the response; none where a head or HHEM decided them."""
    support = judged.records.get("support")
    return support.verdicts if isinstance(support, SupportRecord) and support.by == "llm" else ()


@dataclass
class JudgedPair(LabelledItem):
    """A pair with its outcomes: score -> 1 where the better side has more, 0.5 for a tie, else 0."""

    outcomes: dict[str, float] = field(default_factory=dict)


class LabelledPairs(LabelKind[JudgedPair]):
    """Pairs of a better and a worse side.

    The figure is pair accuracy: how often the better side scores higher. A tie counts as half; a side without
    a score counts as 0.
    """

    name = "pairs"
    part_rule = PartRule(("lang", "tier", "source"), min_items=5)

    def __init__(self, data: Samples, metric: Metric, number: int, where: str) -> None:
        self._pairs = labels.pairs(data, number, where)
        self._metric = metric
        self.samples = labels.sides(self._pairs, metric, where)

    def items(self, result: Result) -> list[JudgedPair]:
        side_scores = []
        for judged in result.samples:
            scores = oriented(judged.scores[self._metric.name], self._metric)
            scores[self._metric.baseline] = baseline_score(judged.sample, self._metric)
            side_scores.append(scores)
        items = []
        for row, good, bad in zip(self._pairs, side_scores[::2], side_scores[1::2], strict=True):
            outcomes = {name: 0.5 + 0.5 * float(np.sign(good[name] - bad[name])) for name in good}
            items.append(JudgedPair(row, outcomes=outcomes))
        return items

    def measure(self, items: Sequence[JudgedPair]) -> dict[str, ScoreFigures]:
        accuracy = {
            name: {"pair_accuracy": [item.outcomes[name] for item in items]} for name in items[0].outcomes
        }
        return mean_figures(items, accuracy, self._metric.baseline)


@dataclass
class JudgedRow(LabelledItem):
    """A row of labelled sentences, with their scores.

    labels  1 or 0 for each sentence
    scores  name -> a number for each sentence, a higher one meaning "more likely needed"
    """

    labels: list[int] = field(default_factory=list)
    scores: dict[str, list[float]] = field(default_factory=dict)


class LabelledSentences(LabelKind[JudgedRow]):
    """Rows with `sentences` and `sentence_labels`, for `context_relevance`."""

    name = "sentences"
    part_rule = PartRule(("lang", "source"), min_items=5)

    def __init__(self, data: Samples, metric: Metric, number: int, options: Options, where: str) -> None:
        if metric.name != MARKED_METRIC:
            raise InputError(f"--sentences does not apply to {metric.name}; give -m {MARKED_METRIC} with it.")
        self.samples = labels.marked_rows(data, number, where)
        self._metric = metric
        self._options = options

    def items(self, result: Result) -> list[JudgedRow]:
        items = [
            self._item(row, judged)
            for row, judged in zip(self.samples, result.samples, strict=True)
            if judged.scores[self._metric.name].status == "scored"
        ]
        if len(items) < MIN_ROWS:
            refuse(result, self._metric.name, f"{len(items)} were scored, too few")
        return items

    def _item(self, row: Sample, judged: SampleResult) -> JudgedRow:
        passages = [
            one
            for one in decided_in(judged.decisions(self._options.threshold), "passage")
            if one.column == "retrieved_contexts"
        ]
        sentences = marked_sentences(row)
        question = row.user_input or ""
        scores = {
            DECIDED: _highest(sentences, passages, [one.is_yes for one in passages]),
            NEEDED: _highest(sentences, passages, [one.probability or 0.0 for one in passages]),
            self._metric.baseline: [share_of_words(question, sentence.text) for sentence in sentences],
        }
        return JudgedRow(row, labels=[sentence.label for sentence in sentences], scores=scores)

    def measure(self, items: Sequence[JudgedRow]) -> dict[str, ScoreFigures]:
        """Measure F1 and AUROC of the needed sentences within a row."""
        decided = [float(agreement.f1(item.labels, item.scores[DECIDED], [1])[0]) for item in items]
        values = {DECIDED: {"macro_f1": decided}}
        for name in (NEEDED, self._metric.baseline):
            scores = [item.scores[name] for item in items]
            values[name] = self._of_scores(items, scores)
        return mean_figures(items, values, self._metric.baseline)

    def _of_scores(self, items: Sequence[JudgedRow], scores: list[list[float]]) -> dict[str, list[float]]:
        row_labels = [item.labels for item in items]
        groups = [group(item.row) for item in items]
        relative = []
        for row in scores:
            # Probabilities depend on the question, and so does the overlap: divide each by the row's highest.
            highest = max(row) or 1
            relative.append([score / highest for score in row])
        return {
            "macro_f1": agreement.cross_validated_f1(row_labels, relative, groups, self._options.seed),
            "auroc_within": [_auroc(labels, row) for labels, row in zip(row_labels, scores, strict=True)],
        }


def _auroc(row_labels: Sequence[int], scores: Sequence[float]) -> float:
    """Return AUROC within a row; nan where all of its sentences have one label."""
    from sklearn.metrics import roc_auc_score

    if not 0 < sum(row_labels) < len(row_labels):
        return math.nan
    return float(roc_auc_score(row_labels, scores))


def _highest(
    sentences: Sequence[LabelledSentence], passages: Sequence[Decision], values: Sequence[float]
) -> list[float]:
    """Return for each labelled sentence the highest value of the decided passages that overlap it."""
    highest = []
    for sentence in sentences:
        end = sentence.start + len(sentence.text)
        overlaps = [
            value
            for passage, value in zip(passages, values, strict=True)
            if passage.context == sentence.context and passage.overlaps(sentence.start, end)
        ]
        highest.append(float(max(overlaps, default=0.0)))
    return highest
