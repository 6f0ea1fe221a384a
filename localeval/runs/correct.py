"""Correct a metric of a run for the judge's errors: by labels of some of its samples, or by a judge card."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel

from localeval.errors import InputError
from localeval.judgements.judged_text import language_of
from localeval.labels.file import Label, Labels, read_labels
from localeval.labels.fingerprint import Fingerprints, sample_fingerprint
from localeval.metrics import METRICS, Metric, find_metric
from localeval.metrics.corrected import Corrected, JudgeRates, Number, is_judged_right, oriented_soft
from localeval.metrics.signature import Signature, differences
from localeval.metrics.summary import GroupNumbers, group_of, shared_groups
from localeval.runs.folder import CARD
from localeval.runs.result import Result
from localeval.system import files
from localeval.text.display import join_some, shorten

MIN_LABELS = 20
"""Fewer labels correct nothing: their interval would be wide, and hold the true number too seldom."""


@dataclass(frozen=True)
class Unit:
    """A scored sample, or a statement of its response.

    sample_id, statement  by which a label finds it
    fingerprint           of the sample's texts
    score                 the judge's, 0 to 1: a higher one means "more likely right"
    is_right              whether the judge calls it right
    group                 number of its group
    """

    sample_id: str
    statement: str | None
    fingerprint: str
    score: float
    is_right: bool
    group: int


def correct_by_labels(
    result: Result, path: str | Path, metric: str | None = None, *, are_random: bool = False
) -> tuple[str, Corrected]:
    """Return the name of the labelled metric, and its corrected number.

    metric      what the labels are of; by default the file says it, or the run has one metric alone
    are_random  the user says that the labels are of a random draw from the run, where the file does not

    Raises InputError for labels that are no random draw, of a metric that the run lacks, or of other texts.
    """
    labels = read_labels(path)
    chosen = _labelled_metric(result, labels, metric)
    is_of_statements = _unit_of(labels)
    units = _statements(result, chosen) if is_of_statements else _samples(result, chosen)
    _check_design(labels, len(units), are_random)
    known = [label for label in labels.labels if label.value is not None]
    pairs = _join(result, labels, known, units)
    drawn = labels.design.drawn if labels.design is not None else len(labels.labels)
    labelled = [unit for unit, _ in pairs]
    corrected = _by_labels(labelled, [value for _, value in pairs], units, chosen)
    return chosen.name, corrected.model_copy(
        update={
            "unit": "statement" if is_of_statements else "sample",
            "source": Path(labels.where).name,
            "claimed_random": labels.design is None or labels.design.of != len(units),
            "cant_tell": len(labels.labels) - len(known),
            "unscored": len(known) - len(pairs),
            "not_labelled": max(0, drawn - len(labels.labels)),
        }
    )


def _labelled_metric(result: Result, labels: Labels, name: str | None) -> Metric:
    """Return the metric that the labels are of. Raises InputError where it is not known, or not computed."""
    name = name or labels.metric
    if name is None:
        if len(result.metrics) > 1:
            raise InputError(
                f"{labels.where} does not say which metric its labels are of; name one with --label-metric "
                f"({', '.join(result.metrics)})."
            )
        name = result.metrics[0]
    metric = find_metric(name)
    if metric.name not in result.metrics:
        raise InputError(
            f"{labels.where}: its labels are of {metric.name}, which is not computed here "
            f"({', '.join(result.metrics)}); add it with -m, or give --label-metric."
        )
    return metric


def _unit_of(labels: Labels) -> bool:
    """Return whether the labels are of statements. Raises InputError where some are and some are not."""
    of_statements = sum(label.statement is not None for label in labels.labels)
    if of_statements not in (0, len(labels.labels)):
        raise InputError(
            f"{labels.where}: {of_statements} of {len(labels.labels)} labels are of statements, the others "
            "of samples; keep one file for each."
        )
    return of_statements > 0


def _check_design(labels: Labels, units: int, are_random: bool) -> None:
    """Raise InputError where the labels are no random draw from the run."""
    design = labels.design
    if design is None:
        if not are_random:
            raise InputError(
                f"{labels.where} does not say how the labelled samples were chosen, and only a random draw "
                "from the run can correct it; draw them with `label`, or say so with --labels-are-random."
            )
        return
    if design.kind == "uncertain":
        raise InputError(
            f"{labels.where}: its samples were chosen as the judge was least sure of them, so they say "
            "nothing of the others; draw some at random with `label`."
        )
    if design.of != units and not are_random:
        raise InputError(
            f"{labels.where}: its samples were drawn from {design.of}, and {units} are scored in this run; "
            "draw from this run, or say with --labels-are-random that they are a random draw from it, too."
        )


def _samples(result: Result, metric: Metric) -> list[Unit]:
    threshold = result.signature.threshold
    groups = GroupNumbers()
    units = []
    for item in result.samples:
        score = item.scores[metric.name]
        # Each sample has its number, also where it has no score.
        group = groups.of(group_of(item.sample))
        if score.status == "scored":
            units.append(
                Unit(
                    sample_id=item.sample.id,
                    statement=None,
                    fingerprint=sample_fingerprint(item.sample),
                    score=oriented_soft(score, metric),
                    is_right=is_judged_right(score, metric, threshold),
                    group=group,
                )
            )
    return units


def _statements(result: Result, metric: Metric) -> list[Unit]:
    """Return the statements whose verdicts make the metric. Those of a sample, or group, are of one group."""
    if not metric.higher_is_better:
        raise InputError(
            f"labels of statements can't correct {metric.name}, of which lower is better; label samples."
        )
    groups = GroupNumbers()
    units = []
    for item in result.samples:
        if item.scores[metric.name].status != "scored":
            continue
        group = groups.of(group_of(item.sample) or f"sample {item.sample.id}")
        fingerprint = sample_fingerprint(item.sample)
        for listed in item.decisions():
            if listed.judgement not in metric.judgements or listed.kind not in ("verdict", "sentence"):
                continue
            for decision in listed.decisions:
                if decision.probability is not None:
                    units.append(
                        Unit(
                            sample_id=item.sample.id,
                            statement=decision.text,
                            fingerprint=fingerprint,
                            score=decision.probability,
                            is_right=decision.is_yes,
                            group=group,
                        )
                    )
    if not units:
        raise InputError(f"{metric.name} decides no statements in this run; label samples.")
    return units


def _join(
    result: Result, labels: Labels, known: Sequence[Label], units: Sequence[Unit]
) -> list[tuple[Unit, float]]:
    """Return the labelled units, each with its label; one without a score is left out.

    Raises InputError for a label of a sample that the run does not have, or of another text, and for two
    labels of one unit.
    """
    by_name: dict[tuple[str, str | None], list[Unit]] = defaultdict(list)
    for unit in units:
        by_name[unit.sample_id, unit.statement].append(unit)
    in_run = {item.sample.id: sample_fingerprint(item.sample) for item in result.samples}
    pairs = []
    labelled = set()
    unknown = []
    changed = []
    for label in known:
        name = (label.sample_id, label.statement)
        if label.sample_id not in in_run:
            unknown.append(label.sample_id)
            continue
        if in_run[label.sample_id] != sample_fingerprint(label.sample):
            changed.append(label.sample_id)
            continue
        if by_name[name]:
            labelled.add(name)
            assert label.value is not None  # noqa: S101
            # A response may make a statement twice.
            pairs.append((by_name[name].pop(0), label.value))
        elif name in labelled:
            raise InputError(
                f"{labels.where}: sample {shorten(label.sample_id, 40)} is labelled twice; keep one label."
            )
        elif label.statement is not None:
            changed.append(label.sample_id)
    if unknown:
        raise InputError(
            f"{labels.where}: {len(unknown)} labelled samples are not in this run ({join_some(unknown, 3)}); "
            "give the labels of this run."
        )
    if changed:
        raise InputError(
            f"{labels.where}: {len(changed)} labelled samples have another text in this run "
            f"({join_some(changed, 3)}), so the labels are not of it; label this run."
        )
    return pairs


def _by_labels(
    labelled: Sequence[Unit],
    values: Sequence[float],
    units: Sequence[Unit],
    metric: Metric,
) -> Corrected:
    """Correct the number of these units by labels of some of them."""
    from localeval.statistics import corrected as statistics

    are_zero_or_one = all(value in (0, 1) for value in values)
    effects = _design_effects(labelled, values, units)
    empty = Corrected(
        method="post-stratified" if are_zero_or_one else "ppi",
        unit="sample",
        number=_number_of(metric, are_zero_or_one),
        raw=_in_direction(_raw(units, are_zero_or_one), metric),
        value=None,
        interval=None,
        labels=len(values),
        groups=effects.groups,
        design_effect=effects.labelled,
    )
    if len(values) < MIN_LABELS:
        reason = f"{len(values)} labels are too few; label at least {MIN_LABELS}"
        return empty.model_copy(update={"reason": reason})
    scores = [unit.score for unit in labelled]
    if are_zero_or_one:
        run_scores = [unit.score for unit in units]
        mean = statistics.post_stratified(values, scores, run_scores, effects.labelled, effects.run)
    else:
        groups = None if effects.groups is None else [unit.group for unit in labelled]
        if groups is not None and len(set(groups)) < 2:
            return empty.model_copy(update={"reason": "all labels are of one group"})
        other_scores = _scores_of_others(units, labelled)
        mean = statistics.ppi_mean(values, scores, other_scores, groups, effects.run)
    return _completed(empty, mean.value, mean.interval, mean.effective_labels, metric)


def _scores_of_others(units: Sequence[Unit], labelled: Sequence[Unit]) -> list[float]:
    """Return the scores of the units that have no label."""
    # By identity: a response may make a statement twice, and one of the two be labelled.
    labelled_ids = set(map(id, labelled))
    return [unit.score for unit in units if id(unit) not in labelled_ids]


class _Effects(NamedTuple):
    """How many samples count as one, among the labelled ones and in the run, as those of a group are alike.

    groups  number of groups in the run; None where no two units share one
    """

    labelled: float
    run: float
    groups: int | None


def _design_effects(labelled: Sequence[Unit], values: Sequence[float], units: Sequence[Unit]) -> _Effects:
    from localeval.statistics.rates import correlation_within, design_effect_by_correlation

    run_groups = shared_groups([unit.group for unit in units])
    if run_groups is None or not labelled:
        return _Effects(1.0, 1.0, None)
    label_groups = [unit.group for unit in labelled]
    # Few labels share a group with another one, and tell little of how alike groups are. The judge's verdicts
    # are many, and less alike than what they judge.
    of_verdicts = correlation_within([float(unit.is_right) for unit in units], run_groups)
    correlation = max(of_verdicts, correlation_within(values, label_groups))
    return _Effects(
        labelled=design_effect_by_correlation(label_groups, correlation),
        run=design_effect_by_correlation(run_groups, correlation),
        groups=len(set(run_groups)),
    )


def _number_of(metric: Metric, are_zero_or_one: bool) -> Number:
    if not are_zero_or_one:
        return "mean"
    return "share right" if metric.higher_is_better else "share wrong"


def _raw(units: Sequence[Unit], are_zero_or_one: bool) -> float:
    """Return what the judge alone says: the share that it calls right, or the mean of its scores."""
    numbers = [float(unit.is_right) if are_zero_or_one else unit.score for unit in units]
    return sum(numbers) / len(numbers)


def _in_direction(share: float, metric: Metric) -> float:
    """Return a share of what is right in the metric's own direction."""
    return share if metric.higher_is_better else 1 - share


def _completed(
    corrected: Corrected,
    value: float,
    interval: tuple[float, float],
    effective_labels: float,
    metric: Metric,
) -> Corrected:
    """Fill in the estimate, in the metric's own direction."""
    low, high = sorted(_in_direction(end, metric) for end in interval)
    return corrected.model_copy(
        update={
            "value": _in_direction(value, metric),
            "interval": (low, high),
            "effective_labels": effective_labels,
        }
    )


class CardRates(BaseModel):
    """What a correction reads of card.json.

    rates         of all samples, and by language; none in a card of pairs or sentences, or an older one
    fingerprints  of the labelled samples
    """

    metric: str
    dataset: str
    signature: Signature
    rates: list[JudgeRates] = []
    fingerprints: Fingerprints = Fingerprints()


def correct_by_card(result: Result, path: str | Path) -> tuple[str, Corrected]:
    """Return the name of the card's metric, and the run's corrected share of samples that are right.

    path  a card.json, or its folder

    Raises InputError for a card of another judge or metric, or made otherwise, and where the run has samples
    of the card.
    """
    from localeval.statistics.rates import JudgeCounts, corrected_share

    card, where = read_card(Path(path))
    metric = _metric_of_card(result, card, where)
    units = _samples(result, metric)
    _check_apart(units, card, where)
    rates = _rates_for(result, card, metric, where)
    of_good, of_bad = rates.design_effects
    counts = JudgeCounts(
        rates.right_of_good / of_good, rates.good / of_good, rates.right_of_bad / of_bad, rates.bad / of_bad
    )
    judged_right = sum(unit.is_right for unit in units)
    effects = _design_effects(units, [float(unit.is_right) for unit in units], units)
    share = corrected_share(judged_right / effects.run, len(units) / effects.run, counts)
    low, high = sorted(_in_direction(end, metric) for end in share.interval)
    empty = Corrected(
        method="rogan-gladen",
        unit="sample",
        number=_number_of(metric, are_zero_or_one=True),
        raw=_in_direction(judged_right / len(units), metric),
        value=None,
        interval=(low, high),
        labels=rates.good + rates.bad,
        reason=share.reason,
        source=card.dataset,
        groups=effects.groups,
        design_effect=effects.run,
    )
    if share.value is None:
        return metric.name, empty
    # How many labels of the run alone would have the posterior's variance.
    mean = float(share.draws.mean())
    effective = mean * (1 - mean) / float(share.draws.var())
    return metric.name, _completed(empty, share.value, share.interval, effective, metric)


def read_card(path: Path) -> tuple[CardRates, str]:
    """Read a card.json, or that of a folder, and return its place, too. Raises InputError for no rates."""
    file = path / CARD if path.is_dir() else path
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InputError(
            f"{file}: this card can't be read ({error.strerror}); give the {CARD} that `card` wrote."
        ) from error
    with files.parsing(f"{file}: this is no card for this version: it", "make it again with `card`."):
        card = CardRates.model_validate(json.loads(content))
    if not card.rates:
        raise InputError(
            f"{file}: this card has no rates of right verdicts; make it again with `card`, from samples with "
            "a label."
        )
    return card, str(file)


def _metric_of_card(result: Result, card: CardRates, where: str) -> Metric:
    """Return the card's metric. Raises InputError unless the run has it, and was made as the card was."""
    metric = METRICS.get(card.metric)
    if metric is None or metric.name not in result.metrics:
        raise InputError(
            f"{where} is a card of {shorten(card.metric, 40)}, which is not computed here "
            f"({', '.join(result.metrics)}); add it with -m, or give another card."
        )
    decisive, _ = differences(card.signature, result.signature)
    if decisive:
        raise InputError(
            f"{where}: the card was made otherwise than this run, so its rates are not those of this judge: "
            f"{'; '.join(decisive)}. Make a card as the run was made."
        )
    return metric


def _check_apart(units: Sequence[Unit], card: CardRates, where: str) -> None:
    """Raise InputError where the run has samples of the card."""
    if not units:
        raise InputError("no sample of this run is scored, so there is nothing to correct.")
    of_card = set(card.fingerprints.samples)
    shared = [unit.sample_id for unit in units if unit.fingerprint in of_card]
    if shared:
        raise InputError(
            f"{where}: {len(shared)} samples of this run are the card's own ({join_some(shared, 3)}), so it "
            "can't say how the judge errs on others; correct the run by their labels, with --labels."
        )


def _rates_for(result: Result, card: CardRates, metric: Metric, where: str) -> JudgeRates:
    """Return the rates in the run's language, or of all where both have several languages."""
    scored = [item for item in result.samples if item.scores[metric.name].status == "scored"]
    languages = {language_of(item.sample) for item in scored}
    by_language = {rates.language: rates for rates in card.rates}
    unknown = sorted(languages - by_language.keys())
    if unknown:
        raise InputError(
            f"{where}: the card has no labelled samples in the run's language ({', '.join(unknown)}); give a "
            "card that has some."
        )
    return by_language[languages.pop()] if len(languages) == 1 else by_language[""]
