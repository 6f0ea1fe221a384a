"""From a judged run and labels to the figures of a card, for all samples, by language and by source."""

from __future__ import annotations

import datetime
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from localeval.errors import InputError
from localeval.judge import Judge
from localeval.judgements.calibration import RAW, Calibration, recipe
from localeval.judgements.calibration.fit import curves_across, fit, shares
from localeval.judgements.context import response_of
from localeval.judgements.sentence_relevance import NeededRecord
from localeval.judgements.support import Verdict
from localeval.metrics import Metric
from localeval.metrics.summary import compute
from localeval.prompts import LANGUAGES
from localeval.prompts.options import Options
from localeval.runs.card.agreement import (
    BootstrapWeights,
    Figure,
    auroc,
    bins,
    decided_across,
    decisions,
    f1,
    f1_across,
    folds,
    has_both_labels,
    mean,
    probabilities,
)
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
DECIDED, NEEDED = "needed", "P(needed)"
"""The decisions that `context_relevance` counts, and those at the threshold that was best on other folds."""

ALL_SUPPORTED = "P(all supported) refitted"
FEWEST_OF_A_PART, FEWEST_ROWS_OF_A_PART, FEWEST_OF_A_LABEL = 10, 5, 3
FEWEST_TO_FIT, FEWEST_TO_FIT_OF_EACH = 40, 10

Estimate = tuple[float | None, float | None, float | None]
"""A figure and the ends of its 95 % interval; None where it is not defined."""

Fields = dict[str, Any]
"""What a `localeval.runs.card.Card` says of the scores, by its fields."""


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


@dataclass(frozen=True)
class Scored:
    """A labelled sample with its scores by name, and the verdicts that a calibration is fitted to."""

    sample: Sample
    label: int
    group: str
    language: str
    verdicts: tuple[Verdict, ...]
    scores: dict[str, float]


def estimate(figure: Figure) -> Estimate:
    """Give a figure in JSON values: nan is None."""
    value, low, high = (None if math.isnan(x) else x for x in figure)
    return value, low, high


def oriented_score(metric: Metric, share: float | None) -> float:
    """Turn a score so that more means "rather good"; 0, the worst, for none."""
    if share is None:
        return 0.0
    return share if metric.higher_is_better else 1 - share


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


def label_figures(result: Result, metric: Metric, options: Options, judge: Judge, dataset: str) -> Fields:
    """Give every figure of labelled samples that have a score. Raises InputError for too few."""
    baseline, found = baseline_name(metric.name), list[Scored]()
    for one in result.samples:
        if (score := one.scores[metric.name]).status != "scored":
            continue
        given = {"soft": score.soft, "value": score.value}
        if result.signature.calibration:
            raw = compute(metric, one.records, options, RAW)
            given |= {"soft raw": raw.soft, "value raw": raw.value}
        scores = {name: oriented_score(metric, share) for name, share in given.items()}
        scores[baseline] = baseline_score(one.sample, metric.name)
        made = one.records.get("statements") or one.records.get("grounding")
        support = one.records.get("support")
        asked = metric.name == "faithfulness" and getattr(support, "by", "") == "llm"
        verdicts = getattr(support, "verdicts", ()) if asked else ()
        language = getattr(made, "language", "")
        found.append(Scored(one.sample, label(one.sample), group(one.sample), language, verdicts, scores))
    missing, labels = _not_scored(result, metric.name), [one.label for one in found]
    if min(labels.count(0), labels.count(1)) < FEWEST_OF_EACH:
        raise InputError(
            f"of {len(result.samples)} samples {len(found)} were scored, with fewer than {FEWEST_OF_EACH} "
            f"of a label; the others were {', '.join(missing)}."
        )
    parted = folds(labels, [one.group for one in found], seed=options.seed)
    calibrations = _refit(found, parted, options, judge, dataset) if parted else []
    titles = [
        [f"lang {extra(one.sample, 'lang', one.language)}", *_titles(one.sample, "source")] for one in found
    ]
    parts = [
        _label_part(title, [found[i] for i in own], [parted[i] for i in own] if parted else None, baseline)
        for title, own in _parts(titles, FEWEST_OF_A_PART)
        if FEWEST_OF_A_LABEL <= sum(labels[i] for i in own) <= len(own) - FEWEST_OF_A_LABEL
    ]
    reliability = {
        key: bins([one.scores[key] for one in found], labels)
        for key in ("soft", ALL_SUPPORTED)
        if all(key in one.scores for one in found)
    }
    return {
        "parts": parts,
        "not_scored": missing,
        "baseline": baseline,
        "calibrations": calibrations,
        "reliability": reliability,
    }


def _refit(
    found: Sequence[Scored], parted: Sequence[int], options: Options, judge: Judge, dataset: str
) -> list[Calibration]:
    """Fit a calibration for each language with enough labels.

    Each sample gets scores "refitted", under a curve fitted on the other folds; the calibration's figures
    are of these.
    """
    made = []
    for language in LANGUAGES:
        own = [i for i, one in enumerate(found) if one.language == language]
        labels, verdicts = [found[i].label for i in own], [found[i].verdicts for i in own]
        parts = [parted[i] for i in own]
        enough = len(own) >= FEWEST_TO_FIT and min(map(labels.count, (0, 1))) >= FEWEST_TO_FIT_OF_EACH
        if not enough or not all(verdicts) or not has_both_labels(labels, parts):
            continue
        curves = curves_across(verdicts, labels, parts)
        supported = shares(verdicts, curves)
        for i, curve, whole in zip(own, curves, supported, strict=True):
            p = [curve.apply_to(verdict) for verdict in found[i].verdicts]
            found[i].scores["soft refitted"] = sum(p) / len(p)
            found[i].scores["value refitted"] = sum(share >= 0.5 for share in p) / len(p)
            found[i].scores[ALL_SUPPORTED] = whole
        known = recipe(judge.model["sha256"], options, language, judge.heads(options))
        made.append(
            Calibration(
                judge={"name": str(judge.model["name"]), "sha256": known.pop("model")},
                **known,
                curve=fit(verdicts, labels),
                fitted_on={
                    "metric": "faithfulness",
                    "dataset": dataset,
                    "labels": len(own),
                    "supported": sum(labels),
                    "statements": sum(map(len, verdicts)),
                    "sources": dict(Counter(str(extra(found[i].sample, "source", "")) for i in own)),
                    "date": datetime.date.today().isoformat(),
                },
                figures=rounded(
                    probabilities(supported, labels, BootstrapWeights(labels, [found[i].group for i in own]))
                ),
            )
        )
    return made


def rounded(figures: Mapping[str, Figure]) -> dict[str, tuple[float, float, float]]:
    """Give those that have an interval, to four digits, as calibrations and heads keep them."""
    return {
        name: (round(one.value, 4), round(one.low, 4), round(one.high, 4))
        for name, one in figures.items()
        if not math.isnan(one.value + one.low)
    }


def _label_part(title: str, found: Sequence[Scored], parted: Sequence[int] | None, baseline: str) -> Part:
    """Make a part; without decisions where no threshold can be fitted on other samples of it."""
    labels, groups = [one.label for one in found], [one.group for one in found]
    weights, within = BootstrapWeights(labels, groups), folds(labels, groups)
    others = [one.scores[baseline] for one in found]
    scores = {}
    for name in found[0].scores:
        if not all(name in one.scores for one in found):
            continue
        own = [one.scores[name] for one in found]
        # Curves of different folds give no common order, so only pairs of one fold are held together.
        apart = parted if name.endswith("refitted") else None
        made = {"auroc": auroc(own, labels, weights, apart)}
        if within is not None:
            made |= decisions(decided_across(own, labels, within), labels, weights)
        if name in ("soft", ALL_SUPPORTED):
            made |= probabilities(own, labels, weights)
        gain = None if name == baseline else estimate(auroc(own, labels, weights, apart, less=others))
        scores[name] = ScoreFigures(figures={key: estimate(one) for key, one in made.items()}, gain=gain)
    return Part(name=title, good=sum(labels), bad=len(labels) - sum(labels), scores=scores)


def pair_figures(result: Result, rows: Sequence[Sample], metric: Metric) -> Fields:
    """Give pair accuracy: how often the better side has more; a tie counts as half, and no score as 0."""
    baseline, scores = baseline_name(metric.name), [one.scores[metric.name] for one in result.samples]
    given = {
        "soft": [oriented_score(metric, score.soft) for score in scores],
        "value": [oriented_score(metric, score.value) for score in scores],
        baseline: [baseline_score(one.sample, metric.name) for one in result.samples],
    }
    won = {name: 0.5 + 0.5 * np.sign(np.subtract(own[::2], own[1::2])) for name, own in given.items()}
    titles = [_titles(row, "lang", "tier", "source") for row in rows]
    parts = []
    for title, own in _parts(titles, FEWEST_ROWS_OF_A_PART):
        accuracy = {name: {"pair_accuracy": values[own].tolist()} for name, values in won.items()}
        parts.append(_row_part(title, [group(rows[i]) for i in own], accuracy, baseline))
    return {"parts": parts, "not_scored": _not_scored(result, metric.name), "baseline": baseline}


def sentence_figures(result: Result, rows: Sequence[Sample], options: Options) -> Fields:
    """Give F1 of the needed sentences, and their AUROC, within a row. Raises InputError for too few rows."""
    from sklearn.metrics import roc_auc_score

    pairs = zip(rows, result.samples, strict=True)
    kept: list[tuple[Sample, Any]] = [
        (row, one.records["needed"]) for row, one in pairs if one.scores[MARKED_METRIC].status == "scored"
    ]
    missing, baseline = _not_scored(result, MARKED_METRIC), baseline_name(MARKED_METRIC)
    if len(kept) < FEWEST_ROWS:
        raise InputError(
            f"of {len(rows)} rows {len(kept)} were scored, too few; the others: {', '.join(missing)}."
        )
    labels, found = list[list[int]](), dict[str, list[list[float]]]({DECIDED: [], NEEDED: [], baseline: []})
    for row, made in kept:
        sentences = marked_sentences(row)
        labels.append([sentence.label for sentence in sentences])
        found[DECIDED].append(_highest(sentences, made, made.decided(options.threshold)))
        found[NEEDED].append(_highest(sentences, made, [one.probability for one in made.sentences]))
        found[baseline].append([share_of_words(row.user_input or "", s.text) for s in sentences])
    parts = []
    for title, own in _parts([_titles(row, "lang", "source") for row, _ in kept], FEWEST_ROWS_OF_A_PART):
        y, groups = [labels[i] for i in own], [group(kept[i][0]) for i in own]
        decided = [float(f1(labels[i], found[DECIDED][i], [1])[0]) for i in own]
        scores = {DECIDED: {"macro_f1": decided}}
        for name in (NEEDED, baseline):
            p = [found[name][i] for i in own]
            # Probabilities rise and fall with the question, and so do words: each is a share of the highest.
            relative = [[share / (max(of) or 1) for share in of] for of in p]
            scores[name] = {
                "macro_f1": f1_across(y, relative, groups, options.seed),
                "auroc_within": [
                    float(roc_auc_score(a, b)) if 0 < sum(a) < len(a) else math.nan
                    for a, b in zip(y, p, strict=True)
                ],
            }
        parts.append(_row_part(title, groups, scores, baseline))
    return {"parts": parts, "not_scored": missing, "baseline": baseline}


def _highest(sentences: Sequence[Sentence], made: NeededRecord, numbers: Sequence[float]) -> list[float]:
    """Give the highest number of the judge's own sentences that overlap each: they may be cut elsewhere."""
    own = [*zip(made.sentences, numbers, strict=True)]

    def of(sentence: Sentence) -> float:
        end = sentence.start + len(sentence.text)
        overlaps = (
            n for s, n in own if s.context == sentence.context and s.start < end and sentence.start < s.end
        )
        return float(max(overlaps, default=0.0))

    return [of(sentence) for sentence in sentences]


def _row_part(
    title: str, groups: Sequence[str], scores: Mapping[str, Mapping[str, list[float]]], baseline: str
) -> Part:
    """Make a part of figures that are means over rows; nan is a row that a figure leaves out."""

    def estimated(values: Sequence[float], lowest: float = 0.0) -> Estimate:
        kept = [(value, of) for value, of in zip(values, groups, strict=True) if not math.isnan(value)]
        if not kept:
            return None, None, None
        return estimate(mean([value for value, _ in kept], [of for _, of in kept], lowest))

    made = {}
    for name, own in scores.items():
        first = next(iter(own))
        over = [a - b for a, b in zip(own[first], scores[baseline][first], strict=True)]
        made[name] = ScoreFigures(
            figures={key: estimated(values) for key, values in own.items()},
            gain=None if name == baseline else estimated(over, -1),
        )
    return Part(name=title, good=len(groups), scores=made)


def _titles(row: Sample, *columns: str) -> list[str]:
    """Name the parts that a row is in, by the columns that it has."""
    return [f"{key} {extra(row, key)}" for key in columns if key in (row.model_extra or {})]


def _parts(titles: Sequence[Sequence[str]], fewest: int) -> list[tuple[str, list[int]]]:
    """Give ("all", places), then each title's places where they are enough, and not all."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, own in enumerate(titles):
        for title in own:
            places[title].append(place)
    kept = [(title, own) for title, own in sorted(places.items()) if fewest <= len(own) < len(titles)]
    return [("all", list(range(len(titles)))), *kept]


def _not_scored(result: Result, metric: str) -> dict[str, int]:
    scores = [one.scores[metric] for one in result.samples]
    return dict(Counter(score.reason for score in scores if score.status != "scored"))
