"""Compute the figures of a card from a judged run and labels: overall, by language and by source."""

from __future__ import annotations

import datetime
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, NoReturn

import numpy as np
from pydantic import BaseModel, ConfigDict, PlainSerializer

from localeval.analysis import agreement
from localeval.analysis.fit_curve import cross_fitted_curves, fit, full_support_probabilities
from localeval.analysis.labels import (
    FEWEST_OF_EACH,
    FEWEST_ROWS,
    LabelledSentence,
    extra,
    group,
    judged_column,
    label,
    marked_sentences,
)
from localeval.claims.overlap import terms
from localeval.errors import InputError
from localeval.fitted.files import FittedFor
from localeval.judge import Judge
from localeval.judgements.calibration import RAW, Calibration, conditions
from localeval.judgements.context import response_of
from localeval.judgements.needed_sentences import NeededRecord
from localeval.judgements.support import SupportRecord, Verdict
from localeval.metrics import Metric, Score
from localeval.metrics.summary import compute
from localeval.options import Options
from localeval.prompts import LANGUAGES
from localeval.runs.result import Result
from localeval.samples import Sample

MARKED_METRIC = "context_relevance"
# The decisions that `context_relevance` counts, and those at the threshold that was best on other folds.
DECIDED, NEEDED = "needed", "P(needed)"
ALL_SUPPORTED = "P(all supported) refitted"
FEWEST_OF_A_PART, FEWEST_ROWS_OF_A_PART, FEWEST_OF_A_LABEL = 10, 5, 3
FEWEST_TO_FIT, FEWEST_TO_FIT_OF_EACH = 40, 10

# In JSON null stands for an undefined value.
Estimate = Annotated[
    agreement.Figure, PlainSerializer(lambda figure: [None if math.isnan(x) else x for x in figure])
]


class ScoreFigures(BaseModel):
    """Agreement of one score with the labels: figure -> estimate; see `localeval.analysis.agreement`.

    gain  its first figure (AUROC, pair accuracy or F1) minus that of the baseline, paired
    """

    model_config = ConfigDict(frozen=True)

    figures: dict[str, Estimate]
    gain: Estimate | None = None


class Part(BaseModel):
    """A part of the samples: all of them, those of a language, or those of a source.

    good, bad  numbers of labels 1 and 0; for pairs and rows with labelled sentences, `good` is their number
    scores     "soft" and "value" as the judge gives them; "... raw" without the calibration in force;
               "... refitted" with one fitted on the other folds of this data; and the baseline
    """

    model_config = ConfigDict(frozen=True)

    name: str
    good: int
    bad: int = 0
    scores: dict[str, ScoreFigures]


@dataclass
class Unit:
    """What a figure counts: a labelled sample, a pair, or a row of labelled sentences.

    scores     by name: for a sample a number, a higher one meaning "more likely good"; for a pair 1 where
               the better side has more, 0.5 for a tie, else 0; for a row a number per sentence
    label      1 or 0 for a sample; 1 for all others
    verdicts   for a sample, what a calibration of its `language` is fitted to, outside of its `fold`
    sentences  for a row, the labels of its sentences
    """

    row: Sample
    scores: dict[str, Any]
    label: int = 1
    language: str | None = None
    verdicts: tuple[Verdict, ...] = ()
    fold: int = 0
    sentences: list[int] = field(default_factory=list)


def baseline_name(metric: str) -> str:
    of_response = metric.startswith(("faithfulness", "full_support", "groundedness", "hallucination"))
    return "lexical precision" if of_response else "question overlap"


def baseline_score(sample: Sample, metric: str) -> float:
    """Return a score that needs no model, 0 to 1; 0 where there is no word to look for.

    lexical precision  for metrics that compare the response with the contexts: the share of its words (pairs
                       of Han characters) that the contexts have
    question overlap   for all others: the share of the question's words that the response has, or the
                       contexts, for metrics that read no response
    """
    contexts = "\n".join(sample.retrieved_contexts or [])
    if baseline_name(metric) == "lexical precision":
        return share_of_words(response_of(sample), contexts)
    judged = response_of(sample) if judged_column(metric) == "response" else contexts
    return share_of_words(sample.user_input or "", judged)


def share_of_words(expected: str, text: str) -> float:
    """Return the share of the words of `expected` that `text` has.

    >>> share_of_words("Who grows tea?", "Ann grows it.")
    0.3333333333333333
    """
    words = terms(expected)
    return len(words & terms(text)) / len(words) if words else 0.0


def not_scored(result: Result, metric: str) -> dict[str, int]:
    """Count the samples without a score, by reason."""
    scores = [sample.scores[metric] for sample in result.samples]
    return dict(Counter(score.reason for score in scores if score.status != "scored"))


def _refuse(result: Result, metric: str, fault: str) -> NoReturn:
    reasons = ", ".join(not_scored(result, metric))
    raise InputError(f"of {len(result.samples)} samples {fault}; the others: {reasons}.")


def _oriented(score: Score, metric: Metric) -> dict[str, float]:
    """Return how far a score is from the worst, 0 to 1: higher is "more likely good"; 0 without a score."""
    worst = 0.0 if metric.higher_is_better else 1.0
    scores = {"soft": score.soft, "value": score.value}
    return {name: abs((worst if value is None else value) - worst) for name, value in scores.items()}


def label_figures(
    result: Result, metric: Metric, options: Options, judge: Judge, dataset: str
) -> dict[str, Any]:
    """Compute every figure of the labelled samples that have a score. Raises InputError for too few."""
    baseline, units = baseline_name(metric.name), list[Unit]()
    for judged in result.samples:
        if judged.scores[metric.name].status != "scored":
            continue
        scores = _oriented(judged.scores[metric.name], metric)
        if result.signature.calibration:
            raw = _oriented(compute(metric, judged.records, options, RAW), metric)
            scores |= {f"{name} raw": share for name, share in raw.items()}
        scores[baseline] = baseline_score(judged.sample, metric.name)
        record = judged.records.get("statements") or judged.records.get("grounding")
        unit = Unit(judged.sample, scores, label(judged.sample), getattr(record, "language", None))
        support = judged.records.get("support")
        if metric.name == "faithfulness" and isinstance(support, SupportRecord) and support.by == "llm":
            unit.verdicts = support.verdicts
        units.append(unit)
    labels = [unit.label for unit in units]
    if min(labels.count(0), labels.count(1)) < FEWEST_OF_EACH:
        _refuse(result, metric.name, f"{len(units)} were scored, with fewer than {FEWEST_OF_EACH} of a label")
    calibrations = _refit(units, options, judge, dataset)

    def measure(members: list[Unit]) -> dict[str, ScoreFigures]:
        """Leave decisions out where no threshold can be fitted to other samples of the part."""
        labels, groups = [unit.label for unit in members], [group(unit.row) for unit in members]
        draws, fold_numbers = agreement.Bootstrap(labels, groups), agreement.folds(labels, groups)
        baseline_scores = [unit.scores[baseline] for unit in members]
        results = {}
        for name in members[0].scores:
            if not all(name in unit.scores for unit in members):
                continue
            scores = [unit.scores[name] for unit in members]
            # Curves of different folds give no common order, so only pairs within a fold are compared.
            fit_folds = [unit.fold for unit in members] if name.endswith("refitted") else None
            figures = {"auroc": draws.auroc(scores, fit_folds)}
            if fold_numbers is not None:
                figures |= draws.decisions(agreement.cross_validated_decisions(scores, labels, fold_numbers))
            if name in ("soft", ALL_SUPPORTED):
                figures |= draws.probabilities(scores)
            gain = None if name == baseline else draws.auroc(scores, fit_folds, less=baseline_scores)
            results[name] = ScoreFigures(figures=figures, gain=gain)
        return results

    return {
        "parts": _parts(units, ("lang", "source"), measure, FEWEST_OF_A_PART, FEWEST_OF_A_LABEL),
        "calibrations": calibrations,
        "reliability": {
            name: agreement.bins([unit.scores[name] for unit in units], labels)
            for name in ("soft", ALL_SUPPORTED)
            if all(name in unit.scores for unit in units)
        },
    }


def _refit(units: Sequence[Unit], options: Options, judge: Judge, dataset: str) -> list[Calibration]:
    """Fit a calibration for each language with enough labels.

    Each sample gets "refitted" scores, under a curve fitted on the other folds; the calibration's figures
    are those of these scores.
    """
    labels, groups = [unit.label for unit in units], [group(unit.row) for unit in units]
    folds = agreement.folds(labels, groups, seed=options.seed)
    if folds is None:
        return []
    for unit, fold in zip(units, folds, strict=True):
        unit.fold = fold
    calibrations = []
    for language in LANGUAGES:
        members = [unit for unit in units if unit.language == language]
        labels, verdicts = [unit.label for unit in members], [unit.verdicts for unit in members]
        member_folds = [unit.fold for unit in members]
        enough = len(members) >= FEWEST_TO_FIT and min(map(labels.count, (0, 1))) >= FEWEST_TO_FIT_OF_EACH
        if not enough or not all(verdicts) or not agreement.has_both_labels(labels, member_folds):
            continue
        curves = cross_fitted_curves(verdicts, labels, member_folds)
        probabilities = full_support_probabilities(verdicts, curves)
        for unit, curve, probability in zip(members, curves, probabilities, strict=True):
            p = [verdict.calibrated(curve).probability for verdict in unit.verdicts]
            unit.scores["soft refitted"] = sum(p) / len(p)
            unit.scores["value refitted"] = sum(share >= options.threshold for share in p) / len(p)
            unit.scores[ALL_SUPPORTED] = probability
        fields = conditions(judge.model["sha256"], options, language, judge.heads(options))
        draws = agreement.Bootstrap(labels, [group(unit.row) for unit in members])
        calibrations.append(
            Calibration(
                judge=FittedFor(name=judge.model["name"], sha256=fields.pop("model")),
                **fields,
                curve=fit(verdicts, labels),
                fitted_on={
                    "metric": "faithfulness",
                    "dataset": dataset,
                    "labels": len(members),
                    "supported": sum(labels),
                    "statements": sum(map(len, verdicts)),
                    "sources": dict(Counter(str(extra(unit.row, "source", "")) for unit in members)),
                    "date": datetime.date.today().isoformat(),
                },
                figures=agreement.rounded(draws.probabilities(probabilities)),
            )
        )
    return calibrations


def pair_figures(result: Result, metric: Metric, rows: Sequence[Sample]) -> dict[str, Any]:
    """Compute pair accuracy: how often the better side scores higher; a tie is half, no score counts as 0."""
    baseline, sides = baseline_name(metric.name), []
    for judged in result.samples:
        scores = _oriented(judged.scores[metric.name], metric)
        sides.append(scores | {baseline: baseline_score(judged.sample, metric.name)})
    units = [
        Unit(row, {name: 0.5 + 0.5 * float(np.sign(good[name] - bad[name])) for name in good})
        for row, good, bad in zip(rows, sides[::2], sides[1::2], strict=True)
    ]

    def measure(members: list[Unit]) -> dict[str, ScoreFigures]:
        names = members[0].scores
        accuracy = {name: {"pair_accuracy": [unit.scores[name] for unit in members]} for name in names}
        return _means(members, accuracy, baseline)

    return {"parts": _parts(units, ("lang", "tier", "source"), measure, FEWEST_ROWS_OF_A_PART)}


def sentence_figures(result: Result, rows: Sequence[Sample], options: Options) -> dict[str, Any]:
    """Compute F1 and AUROC of the needed sentences within a row. Raises InputError for too few rows."""
    from sklearn.metrics import roc_auc_score

    baseline, units = baseline_name(MARKED_METRIC), list[Unit]()
    for row, judged in zip(rows, result.samples, strict=True):
        if judged.scores[MARKED_METRIC].status != "scored":
            continue
        record: Any = judged.records["needed"]
        sentences = marked_sentences(row)
        scores = {
            DECIDED: _highest(sentences, record, record.decided(options.threshold)),
            NEEDED: _highest(sentences, record, [sentence.probability for sentence in record.sentences]),
            baseline: [share_of_words(row.user_input or "", sentence.text) for sentence in sentences],
        }
        units.append(Unit(row, scores, sentences=[sentence.label for sentence in sentences]))
    if len(units) < FEWEST_ROWS:
        _refuse(result, MARKED_METRIC, f"{len(units)} were scored, too few")

    def measure(members: list[Unit]) -> dict[str, ScoreFigures]:
        labels, groups = [unit.sentences for unit in members], [group(unit.row) for unit in members]
        decided = [float(agreement.f1(unit.sentences, unit.scores[DECIDED], [1])[0]) for unit in members]
        values = {DECIDED: {"macro_f1": decided}}
        for name in (NEEDED, baseline):
            p = [unit.scores[name] for unit in members]
            # Probabilities depend on the question, and so does the overlap: divide each by the row's highest.
            relative = [[share / (max(row) or 1) for share in row] for row in p]
            values[name] = {
                "macro_f1": agreement.cross_validated_f1(labels, relative, groups, options.seed),
                "auroc_within": [
                    float(roc_auc_score(y, row)) if 0 < sum(y) < len(y) else math.nan
                    for y, row in zip(labels, p, strict=True)
                ],
            }
        return _means(members, values, baseline)

    return {"parts": _parts(units, ("lang", "source"), measure, FEWEST_ROWS_OF_A_PART)}


def _highest(
    sentences: Sequence[LabelledSentence], record: NeededRecord, values: Sequence[float]
) -> list[float]:
    """Return for each labelled sentence the highest value of the judge's sentences that overlap it."""
    highest = []
    for sentence in sentences:
        end = sentence.start + len(sentence.text)
        overlaps = (
            value
            for judged, value in zip(record.sentences, values, strict=True)
            if judged.context == sentence.context and judged.start < end and sentence.start < judged.end
        )
        highest.append(float(max(overlaps, default=0.0)))
    return highest


def _parts(
    units: list[Unit],
    columns: Sequence[str],
    measure: Callable[[list[Unit]], dict[str, ScoreFigures]],
    fewest: int,
    fewest_of_a_label: int = 0,
) -> list[Part]:
    """Measure all units, then those of each value of `columns` that has enough of them, but not all."""
    units_by_title: dict[str, list[Unit]] = defaultdict(list)
    for unit in units:
        for column in columns:
            value = extra(unit.row, column, unit.language if column == "lang" else None)
            if value is not None:
                units_by_title[f"{column} {value}"].append(unit)
    parts = []
    for title, members in [("all", units), *sorted(units_by_title.items())]:
        good = sum(unit.label for unit in members)
        bad = len(members) - good
        enough = fewest <= len(members) < len(units) and min(good, bad) >= fewest_of_a_label
        if members is units or enough:
            parts.append(Part(name=title, good=good, bad=bad, scores=measure(members)))
    return parts


def _means(
    units: list[Unit], values: Mapping[str, Mapping[str, list[float]]], baseline: str
) -> dict[str, ScoreFigures]:
    """Average each score's figures over the units; `values`: score -> figure -> a value per unit."""
    groups, means = [group(unit.row) for unit in units], {}
    for name, figures in values.items():
        first = next(iter(figures))
        gains = np.subtract(figures[first], values[baseline][first]).tolist()
        means[name] = ScoreFigures(
            figures={key: agreement.mean(numbers, groups) for key, numbers in figures.items()},
            gain=None if name == baseline else agreement.mean(gains, groups, lowest=-1),
        )
    return means
