"""From a judged run and labels to the figures of a card, for all samples, by language and by source."""

from __future__ import annotations

import datetime
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, NoReturn

import numpy as np
from pydantic import BaseModel, ConfigDict, PlainSerializer

from localeval.errors import InputError
from localeval.judge import Judge
from localeval.judgements.calibration import RAW, Calibration, recipe
from localeval.judgements.calibration.fit import cross_fitted_curves, fit, full_support_probabilities
from localeval.judgements.context import response_of
from localeval.judgements.heads import FittedFor
from localeval.judgements.sentence_relevance import NeededRecord
from localeval.judgements.support import SupportRecord, Verdict
from localeval.metrics import Metric, Score
from localeval.metrics.summary import compute
from localeval.prompts import LANGUAGES
from localeval.prompts.options import Options
from localeval.runs.card import agreement
from localeval.runs.card.labels import (
    FEWEST_OF_EACH,
    FEWEST_ROWS,
    Sentence,
    extra,
    group,
    judged_column,
    label,
    marked_sentences,
)
from localeval.runs.result import Result
from localeval.samples import Sample
from localeval.text.overlap import terms

MARKED_METRIC = "context_relevance"
# The decisions that `context_relevance` counts, and those at the threshold that was best on other folds.
DECIDED, NEEDED = "needed", "P(needed)"
ALL_SUPPORTED = "P(all supported) refitted"
FEWEST_OF_A_PART, FEWEST_ROWS_OF_A_PART, FEWEST_OF_A_LABEL = 10, 5, 3
FEWEST_TO_FIT, FEWEST_TO_FIT_OF_EACH = 40, 10

# In JSON null stands for what is not defined.
Estimate = Annotated[
    agreement.Figure, PlainSerializer(lambda one: [None if math.isnan(x) else x for x in one])
]


class ScoreFigures(BaseModel):
    """What one score says of the labels: figure -> estimate; see `localeval.runs.card.agreement`.

    gain  its first figure (AUROC, pair accuracy or F1) less that of the baseline, paired
    """

    model_config = ConfigDict(frozen=True)

    figures: dict[str, Estimate]
    gain: Estimate | None = None


class Part(BaseModel):
    """Some of the samples: all of them, those of a language, those of a source.

    good, bad  labels 1 and 0; of pairs, and of rows with labelled sentences, `good` is how many there are
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
    """What figures count as one: a labelled sample, a pair, or a row of labelled sentences.

    scores     by name: of a sample a number where more means "rather good"; of a pair 1 where the better
               side has more, 0.5 for a tie, 0; of a row a number for each sentence
    label      1 or 0 of a sample; of all others 1
    verdicts   of a sample, what a calibration is fitted to, in its `language`; `fold` is its place there
    sentences  of a row, their labels
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
    """Give a score that needs no model, 0 to 1; 0 where there is no word to look for.

    lexical precision  of metrics that hold the response against the contexts: the share of its words (pairs
                       of Han characters) that the contexts have
    question overlap   of all others: the share of the question's words that the response has, or for metrics
                       that read none the contexts
    """
    contexts = "\n".join(sample.retrieved_contexts or [])
    if baseline_name(metric) == "lexical precision":
        return share_of_words(response_of(sample), contexts)
    judged = response_of(sample) if judged_column(metric) == "response" else contexts
    return share_of_words(sample.user_input or "", judged)


def share_of_words(wanted: str, text: str) -> float:
    """Give the share of the words of `wanted` that `text` has.

    >>> share_of_words("Who grows tea?", "Ann grows it.")
    0.3333333333333333
    """
    words = terms(wanted)
    return len(words & terms(text)) / len(words) if words else 0.0


def not_scored(result: Result, metric: str) -> dict[str, int]:
    """Count the samples without a score by reason."""
    scores = [one.scores[metric] for one in result.samples]
    return dict(Counter(score.reason for score in scores if score.status != "scored"))


def _refuse(result: Result, metric: str, fault: str) -> NoReturn:
    reasons = ", ".join(not_scored(result, metric))
    raise InputError(f"of {len(result.samples)} samples {fault}; the others: {reasons}.")


def _oriented(score: Score, metric: Metric) -> dict[str, float]:
    """Say how far a score is from the worst, 0 to 1: more means "rather good", and 0 stands for none."""
    worst = 0.0 if metric.higher_is_better else 1.0
    given = {"soft": score.soft, "value": score.value}
    return {name: abs((worst if share is None else share) - worst) for name, share in given.items()}


def label_figures(
    result: Result, metric: Metric, options: Options, judge: Judge, dataset: str
) -> dict[str, Any]:
    """Give every figure of labelled samples that have a score. Raises InputError for too few."""
    baseline, units = baseline_name(metric.name), list[Unit]()
    for one in result.samples:
        if one.scores[metric.name].status != "scored":
            continue
        scores = _oriented(one.scores[metric.name], metric)
        if result.signature.calibration:
            raw = _oriented(compute(metric, one.records, options, RAW), metric)
            scores |= {f"{name} raw": share for name, share in raw.items()}
        scores[baseline] = baseline_score(one.sample, metric.name)
        made = one.records.get("statements") or one.records.get("grounding")
        unit = Unit(one.sample, scores, label(one.sample), getattr(made, "language", ""))
        support = one.records.get("support")
        if metric.name == "faithfulness" and isinstance(support, SupportRecord) and support.by == "llm":
            unit.verdicts = support.verdicts
        units.append(unit)
    labels = [unit.label for unit in units]
    if min(labels.count(0), labels.count(1)) < FEWEST_OF_EACH:
        _refuse(result, metric.name, f"{len(units)} were scored, with fewer than {FEWEST_OF_EACH} of a label")
    calibrations = _refit(units, options, judge, dataset)

    def measured(own: list[Unit]) -> dict[str, ScoreFigures]:
        """Leave decisions out where no threshold can be fitted on other samples of the part."""
        labels, groups = [unit.label for unit in own], [group(unit.row) for unit in own]
        draws, within = agreement.Bootstrap(labels, groups), agreement.folds(labels, groups)
        others = [unit.scores[baseline] for unit in own]
        found = {}
        for name in own[0].scores:
            if not all(name in unit.scores for unit in own):
                continue
            scores = [unit.scores[name] for unit in own]
            # Curves of different folds give no common order, so only pairs of one fold are held together.
            apart = [unit.fold for unit in own] if name.endswith("refitted") else None
            made = {"auroc": draws.auroc(scores, apart)}
            if within is not None:
                made |= draws.decisions(agreement.cross_validated_decisions(scores, labels, within))
            if name in ("soft", ALL_SUPPORTED):
                made |= draws.probabilities(scores)
            gain = None if name == baseline else draws.auroc(scores, apart, less=others)
            found[name] = ScoreFigures(figures=made, gain=gain)
        return found

    return {
        "parts": _parts(units, ("lang", "source"), measured, FEWEST_OF_A_PART, FEWEST_OF_A_LABEL),
        "calibrations": calibrations,
        "reliability": {
            name: agreement.bins([unit.scores[name] for unit in units], labels)
            for name in ("soft", ALL_SUPPORTED)
            if all(name in unit.scores for unit in units)
        },
    }


def _refit(units: Sequence[Unit], options: Options, judge: Judge, dataset: str) -> list[Calibration]:
    """Fit a calibration for each language with enough labels.

    Each sample gets scores "refitted", under a curve fitted on the other folds; the calibration's figures
    are of these.
    """
    labels, groups = [unit.label for unit in units], [group(unit.row) for unit in units]
    parted = agreement.folds(labels, groups, seed=options.seed)
    if parted is None:
        return []
    for unit, fold in zip(units, parted, strict=True):
        unit.fold = fold
    made = []
    for language in LANGUAGES:
        own = [unit for unit in units if unit.language == language]
        labels, verdicts = [unit.label for unit in own], [unit.verdicts for unit in own]
        parts = [unit.fold for unit in own]
        enough = len(own) >= FEWEST_TO_FIT and min(map(labels.count, (0, 1))) >= FEWEST_TO_FIT_OF_EACH
        if not enough or not all(verdicts) or not agreement.has_both_labels(labels, parts):
            continue
        curves = cross_fitted_curves(verdicts, labels, parts)
        supported = full_support_probabilities(verdicts, curves)
        for unit, curve, whole in zip(own, curves, supported, strict=True):
            p = [curve.apply_to(verdict) for verdict in unit.verdicts]
            unit.scores["soft refitted"] = sum(p) / len(p)
            unit.scores["value refitted"] = sum(share >= 0.5 for share in p) / len(p)
            unit.scores[ALL_SUPPORTED] = whole
        known = recipe(judge.model["sha256"], options, language, judge.heads(options))
        draws = agreement.Bootstrap(labels, [group(unit.row) for unit in own])
        made.append(
            Calibration(
                judge=FittedFor(name=judge.model["name"], sha256=known.pop("model")),
                **known,
                curve=fit(verdicts, labels),
                fitted_on={
                    "metric": "faithfulness",
                    "dataset": dataset,
                    "labels": len(own),
                    "supported": sum(labels),
                    "statements": sum(map(len, verdicts)),
                    "sources": dict(Counter(str(extra(unit.row, "source", "")) for unit in own)),
                    "date": datetime.date.today().isoformat(),
                },
                figures=agreement.rounded(draws.probabilities(supported)),
            )
        )
    return made


def pair_figures(result: Result, metric: Metric, rows: Sequence[Sample]) -> dict[str, Any]:
    """Give pair accuracy: how often the better side has more; a tie counts as half, and no score as 0."""
    baseline, sides = baseline_name(metric.name), []
    for one in result.samples:
        scores = _oriented(one.scores[metric.name], metric)
        sides.append(scores | {baseline: baseline_score(one.sample, metric.name)})
    units = [
        Unit(row, {name: 0.5 + 0.5 * float(np.sign(good[name] - bad[name])) for name in good})
        for row, good, bad in zip(rows, sides[::2], sides[1::2], strict=True)
    ]

    def measured(own: list[Unit]) -> dict[str, ScoreFigures]:
        names = own[0].scores
        won = {name: {"pair_accuracy": [unit.scores[name] for unit in own]} for name in names}
        return _means(own, won, baseline)

    return {"parts": _parts(units, ("lang", "tier", "source"), measured, FEWEST_ROWS_OF_A_PART)}


def sentence_figures(result: Result, rows: Sequence[Sample], options: Options) -> dict[str, Any]:
    """Give F1 of the needed sentences, and their AUROC, within a row. Raises InputError for too few rows."""
    from sklearn.metrics import roc_auc_score

    baseline, units = baseline_name(MARKED_METRIC), list[Unit]()
    for row, one in zip(rows, result.samples, strict=True):
        if one.scores[MARKED_METRIC].status != "scored":
            continue
        made: Any = one.records["needed"]
        sentences = marked_sentences(row)
        scores = {
            DECIDED: _highest(sentences, made, made.decided(options.threshold)),
            NEEDED: _highest(sentences, made, [own.probability for own in made.sentences]),
            baseline: [share_of_words(row.user_input or "", sentence.text) for sentence in sentences],
        }
        units.append(Unit(row, scores, sentences=[sentence.label for sentence in sentences]))
    if len(units) < FEWEST_ROWS:
        _refuse(result, MARKED_METRIC, f"{len(units)} were scored, too few")

    def measured(own: list[Unit]) -> dict[str, ScoreFigures]:
        labels, groups = [unit.sentences for unit in own], [group(unit.row) for unit in own]
        decided = [float(agreement.f1(unit.sentences, unit.scores[DECIDED], [1])[0]) for unit in own]
        values = {DECIDED: {"macro_f1": decided}}
        for name in (NEEDED, baseline):
            p = [unit.scores[name] for unit in own]
            # Probabilities rise and fall with the question, and so do words: each is a share of the highest.
            relative = [[share / (max(of) or 1) for share in of] for of in p]
            values[name] = {
                "macro_f1": agreement.cross_validated_f1(labels, relative, groups, options.seed),
                "auroc_within": [
                    float(roc_auc_score(y, of)) if 0 < sum(y) < len(y) else math.nan
                    for y, of in zip(labels, p, strict=True)
                ],
            }
        return _means(own, values, baseline)

    return {"parts": _parts(units, ("lang", "source"), measured, FEWEST_ROWS_OF_A_PART)}


def _highest(sentences: Sequence[Sentence], made: NeededRecord, numbers: Sequence[float]) -> list[float]:
    """Give the highest number of the judge's own sentences that overlap each: they may be cut elsewhere."""
    found = []
    for sentence in sentences:
        end = sentence.start + len(sentence.text)
        overlaps = (
            number
            for own, number in zip(made.sentences, numbers, strict=True)
            if own.context == sentence.context and own.start < end and sentence.start < own.end
        )
        found.append(float(max(overlaps, default=0.0)))
    return found


def _parts(
    units: list[Unit],
    columns: Sequence[str],
    measured: Callable[[list[Unit]], dict[str, ScoreFigures]],
    fewest: int,
    fewest_of_a_label: int = 0,
) -> list[Part]:
    """Measure all units, then those of each language and source where they are enough, and not all."""
    titled: dict[str, list[Unit]] = defaultdict(list)
    for unit in units:
        given = {} if unit.language is None else {"lang": unit.language}
        given |= unit.row.model_extra or {}
        for column in columns:
            if column in given:
                titled[f"{column} {given[column]}"].append(unit)
    parts = []
    for title, own in [("all", units), *sorted(titled.items())]:
        good = sum(unit.label for unit in own)
        bad = len(own) - good
        enough = fewest <= len(own) < len(units) and min(good, bad) >= fewest_of_a_label
        if own is units or enough:
            parts.append(Part(name=title, good=good, bad=bad, scores=measured(own)))
    return parts


def _means(
    units: list[Unit], values: Mapping[str, Mapping[str, list[float]]], baseline: str
) -> dict[str, ScoreFigures]:
    """Give the means over the units of each score's values: score -> figure -> a value for each unit."""
    groups, found = [group(unit.row) for unit in units], {}
    for name, own in values.items():
        first = next(iter(own))
        over = np.subtract(own[first], values[baseline][first]).tolist()
        found[name] = ScoreFigures(
            figures={key: agreement.mean(each, groups) for key, each in own.items()},
            gain=None if name == baseline else agreement.mean(over, groups, lowest=-1),
        )
    return found
