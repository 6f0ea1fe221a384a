"""From a judged run and labels to the figures of a card, for all samples, by language and by source."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict

from localeval.errors import InputError
from localeval.judgements.calibration import RAW
from localeval.judgements.context import response_of
from localeval.judgements.sentence_relevance import NeededRecord
from localeval.metrics import Metric
from localeval.metrics.summary import compute
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
    mean,
    probabilities,
)
from localeval.runs.card.fitted import ALL_SUPPORTED, Scored, refitted
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
from localeval.runs.result import Result, SampleResult
from localeval.samples import Sample
from localeval.text.overlap import terms

MARKED_METRIC = "context_relevance"
DECIDED, NEEDED = "needed", "P(needed)"
"""The decisions that `context_relevance` counts, and those at the threshold that was best on other folds."""

FEWEST_OF_A_PART, FEWEST_ROWS_OF_A_PART, FEWEST_OF_A_LABEL = 10, 5, 3

Estimate = tuple[float | None, float | None, float | None]
"""A figure and the ends of its 95 % interval; None where it is not defined."""


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
class Figures:
    """What `localeval.runs.card.Card` says of the scores."""

    parts: list[Part]
    not_scored: dict[str, int]
    baseline: str
    scored: list[Scored] = field(default_factory=list)
    reliability: dict[str, list[tuple[float, float, int]]] = field(default_factory=dict)


def oriented_score(metric: Metric, share: float | None) -> float:
    """Turn a score so that more means "rather good"; 0, the worst, for none."""
    if share is None:
        return 0.0
    return share if metric.higher_is_better else 1 - share


def estimate(figure: Figure) -> Estimate:
    """Give a figure in JSON values: nan is None."""
    value, low, high = (None if math.isnan(x) else x for x in figure)
    return value, low, high


def baseline_name(metric: str) -> str:
    return "lexical precision" if _holds_response(metric) else "question overlap"


def baseline_score(sample: Sample, metric: str) -> float:
    """Give a score that needs no model, 0 to 1; 0 where there is no word to look for.

    lexical precision  of metrics that hold the response against the contexts: the share of its words (pairs
                       of Han characters) that the contexts have
    question overlap   of all others: the share of the question's words that the response has, or for metrics
                       that read none the contexts
    """
    contexts = "\n".join(sample.retrieved_contexts or [])
    if _holds_response(metric):
        return share_of_words(response_of(sample), contexts)
    judged = response_of(sample) if judged_column(metric) == "response" else contexts
    return share_of_words(sample.user_input or "", judged)


def _holds_response(metric: str) -> bool:
    return metric.startswith(("faithfulness", "full_support", "groundedness", "hallucination"))


def share_of_words(wanted: str, text: str) -> float:
    """Give the share of the words of `wanted` that `text` has.

    >>> share_of_words("Who grows tea?", "Ann grows it.")
    0.3333333333333333
    """
    words = terms(wanted)
    return len(words & terms(text)) / len(words) if words else 0.0


def label_figures(result: Result, metric: Metric, options: Options) -> Figures:
    """Give every figure of labelled samples that have a score. Raises InputError for too few."""
    calibrated, lexical = bool(result.signature.calibration), baseline_name(metric.name)
    found = [
        _scored(one, metric, options, calibrated)
        for one in result.samples
        if one.scores[metric.name].status == "scored"
    ]
    missing, labels = _not_scored(result, metric.name), [one.label for one in found]
    if min(labels.count(0), labels.count(1)) < FEWEST_OF_EACH:
        raise InputError(
            f"of {len(result.samples)} samples {len(found)} were scored, with fewer than {FEWEST_OF_EACH} "
            f"of a label; the others were {', '.join(missing)}."
        )
    parted = folds(labels, [one.group for one in found], seed=options.seed)
    for i, own in (refitted(found, parted) if parted else {}).items():
        found[i].scores.update(own)
    columns = [(extra(o.sample, "lang", o.language), extra(o.sample, "source", "")) for o in found]
    titles = [(f"lang {language}", f"source {source}") for language, source in columns]
    parts = [
        _label_part(title, [found[i] for i in own], [parted[i] for i in own] if parted else None, lexical)
        for title, own in _parts(titles, FEWEST_OF_A_PART)
        if FEWEST_OF_A_LABEL <= sum(labels[i] for i in own) <= len(own) - FEWEST_OF_A_LABEL
    ]
    reliability = {
        key: bins([one.scores[key] for one in found], labels)
        for key in ("soft", ALL_SUPPORTED)
        if all(key in one.scores for one in found)
    }
    return Figures(parts, missing, lexical, found, reliability)


def _scored(one: SampleResult, metric: Metric, options: Options, calibrated: bool) -> Scored:
    score = one.scores[metric.name]
    given = {"soft": score.soft, "value": score.value}
    if calibrated:
        raw = compute(metric, one.records, options, RAW)
        given |= {"soft raw": raw.soft, "value raw": raw.value}
    scores = {name: oriented_score(metric, share) for name, share in given.items()}
    scores[baseline_name(metric.name)] = baseline_score(one.sample, metric.name)
    support = one.records.get("support")
    asked = metric.name == "faithfulness" and getattr(support, "by", "") == "llm"
    return Scored(
        one.sample,
        label(one.sample),
        group(one.sample),
        getattr(one.records.get("statements") or one.records.get("grounding"), "language", ""),
        getattr(support, "verdicts", ()) if asked else (),
        scores,
    )


def _label_part(title: str, found: Sequence[Scored], parted: Sequence[int] | None, lexical: str) -> Part:
    """Make a part; without decisions where no threshold can be fitted on other samples of it."""
    labels, groups = [one.label for one in found], [one.group for one in found]
    weights, within = BootstrapWeights(labels, groups), folds(labels, groups)
    others = [one.scores[lexical] for one in found]
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
        gain = None if name == lexical else estimate(auroc(own, labels, weights, apart, less=others))
        scores[name] = ScoreFigures(figures={key: estimate(one) for key, one in made.items()}, gain=gain)
    return Part(name=title, good=sum(labels), bad=len(labels) - sum(labels), scores=scores)


def pair_figures(result: Result, rows: Sequence[Sample], metric: Metric) -> Figures:
    """Give pair accuracy: how often the better side has more; a tie counts as half, and no score as 0."""
    lexical, scores = baseline_name(metric.name), [one.scores[metric.name] for one in result.samples]
    wins = {
        "soft": pairwise_wins([oriented_score(metric, s.soft) for s in scores]),
        "value": pairwise_wins([oriented_score(metric, s.value) for s in scores]),
        lexical: pairwise_wins([baseline_score(one.sample, metric.name) for one in result.samples]),
    }
    titles = [_titles(row, "lang", "tier", "source") for row in rows]
    parts = []
    for title, own in _parts(titles, FEWEST_ROWS_OF_A_PART):
        of_part = {name: {"pair_accuracy": [won[i] for i in own]} for name, won in wins.items()}
        parts.append(_row_part(title, [group(rows[i]) for i in own], of_part, lexical))
    return Figures(parts, _not_scored(result, metric.name), lexical)


def pairwise_wins(scores: Sequence[float]) -> list[float]:
    """Give for each two scores 1 where the first is higher, 0.5 for a tie, else 0.

    >>> pairwise_wins([0.9, 0.2, 0.2, 0.9, 0.5, 0.5])
    [1.0, 0.0, 0.5]
    """
    both = zip(scores[::2], scores[1::2], strict=True)
    return [0.5 + 0.5 * (good > bad) - 0.5 * (good < bad) for good, bad in both]


class _Row(NamedTuple):
    """What is known of the sentences of one row.

    decided  1 for those that the judge takes for needed
    shares   how likely each is needed by the judge, and `lexical` by the baseline
    """

    labels: list[int]
    decided: list[float]
    shares: list[float]
    lexical: list[float]


def sentence_figures(result: Result, rows: Sequence[Sample], options: Options) -> Figures:
    """Give F1 of the needed sentences, and their AUROC, within a row. Raises InputError for too few rows."""
    kept = [i for i, one in enumerate(result.samples) if one.scores[MARKED_METRIC].status == "scored"]
    missing, lexical = _not_scored(result, MARKED_METRIC), baseline_name(MARKED_METRIC)
    if len(kept) < FEWEST_ROWS:
        raise InputError(
            f"of {len(rows)} rows {len(kept)} were scored, too few; the others: {', '.join(missing)}."
        )
    found = [_row(rows[i], result.samples[i].records["needed"], options.threshold) for i in kept]
    groups = [group(rows[i]) for i in kept]
    parts = []
    for title, own in _parts([_titles(rows[i], "lang", "source") for i in kept], FEWEST_ROWS_OF_A_PART):
        these, of_group = [found[i] for i in own], [groups[i] for i in own]
        labels = [row.labels for row in these]
        scores: dict[str, dict[str, list[float] | None]] = {
            DECIDED: {"macro_f1": [float(f1(row.labels, row.decided, [1])[0]) for row in these]}
        }
        for name, shares in ((NEEDED, [row.shares for row in these]), (lexical, [r.lexical for r in these])):
            scores[name] = {
                "macro_f1": f1_across(labels, [*map(_relative, shares)], of_group, options.seed),
                "auroc_within": [_auroc_of_row(*row) for row in zip(shares, labels, strict=True)],
            }
        parts.append(_row_part(title, of_group, scores, lexical))
    return Figures(parts, missing, lexical)


def _row(row: Sample, made: Any, threshold: float) -> _Row:
    sentences = marked_sentences(row)
    decided, shares = made.decided(threshold), [one.probability for one in made.sentences]
    return _Row(
        [s.label for s in sentences],
        [_highest(s, made, decided) for s in sentences],
        [_highest(s, made, shares) for s in sentences],
        [share_of_words(row.user_input or "", s.text) for s in sentences],
    )


def _highest(sentence: Sentence, made: NeededRecord, numbers: Sequence[float]) -> float:
    """Give the highest number of the judge's own sentences that overlap it: they may be cut elsewhere."""
    start, end = sentence.start, sentence.start + len(sentence.text)
    own = (
        number
        for s, number in zip(made.sentences, numbers, strict=True)
        if s.context == sentence.context and s.start < end and start < s.end
    )
    return float(max(own, default=0.0))


def _relative(shares: Sequence[float]) -> list[float]:
    """Give each as a share of the highest: probabilities rise and fall with the question, and so do words."""
    highest = max(shares)
    return [share / highest if highest else 0.0 for share in shares]


def _auroc_of_row(shares: Sequence[float], labels: Sequence[int]) -> float:
    """Give nan where a label does not occur."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(labels, shares)) if 0 < sum(labels) < len(labels) else math.nan


def _row_part(
    title: str, groups: Sequence[str], scores: Mapping[str, Mapping[str, list[float] | None]], lexical: str
) -> Part:
    """Make a part of figures that are means over rows; nan is a row that a figure leaves out."""
    made = {}
    for name, own in scores.items():
        figures = {key: _mean(values, groups) for key, values in own.items() if values is not None}
        gain, first = None, next(iter(own))
        values, others = own[first], scores[lexical][first]
        if name != lexical and values is not None and others is not None:
            gain = _mean([a - b for a, b in zip(values, others, strict=True)], groups, lowest=-1)
        made[name] = ScoreFigures(figures=figures, gain=gain)
    return Part(name=title, good=len(groups), scores=made)


def _mean(values: Sequence[float], groups: Sequence[str], lowest: float = 0.0) -> Estimate:
    kept = [i for i, value in enumerate(values) if not math.isnan(value)]
    if not kept:
        return None, None, None
    return estimate(mean([values[i] for i in kept], [groups[i] for i in kept], lowest))


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
