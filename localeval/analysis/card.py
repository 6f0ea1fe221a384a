"""The judge card: how far a judge's scores agree with human labels (see README.md in this folder)."""

from __future__ import annotations

import json
import logging
import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from localeval.analysis import certify as certification
from localeval.analysis.card_figures import Part, measure_parts, not_scored
from localeval.analysis.card_kinds import (
    ALL_SUPPORTED,
    CardKindName,
    JudgedSample,
    LabelKind,
    LabelledPairs,
    LabelledSamples,
    LabelledSentences,
)
from localeval.analysis.card_rates import measure_rates
from localeval.analysis.card_refit import refit
from localeval.analysis.labels import are_pairs
from localeval.errors import InputError
from localeval.fitted.files import file_text
from localeval.judge import Judge
from localeval.judgements.calibration import Calibration, calibrations_for
from localeval.judgements.decision import statement_language
from localeval.judgements.journal import JOURNAL, JournalFile
from localeval.labels.fingerprint import Fingerprints
from localeval.metrics import Metric, register_criteria
from localeval.metrics.corrected import JudgeRates
from localeval.metrics.signature import Signature
from localeval.metrics.summary import choose_metrics
from localeval.options import Options
from localeval.runs.certificate import Certificate
from localeval.runs.evaluate import Progress, evaluate
from localeval.runs.folder import CALIBRATION, CARD, check_default
from localeval.runs.result import Result
from localeval.samples import Samples
from localeval.statistics import agreement
from localeval.system.files import atomic_write, is_same, writing

LOG = logging.getLogger("localeval")

Bins = list[tuple[float, float, int]]


class Card(BaseModel):
    """A judge card. `tokens` (read and written by the judge, without prefixes) and `seconds` are medians.

    kind          what was labelled: samples, pairs of a better and a worse side, or sentences
    not_scored    reason -> number of samples without a score
    in_force      language -> what the calibration in force was fitted on; empty where scores are raw
    raw           language -> number of scored samples, where only other languages have a calibration in force
    calibrations  those fitted here; `calibration.json` next to the card holds the same
    cannot_tell   number of rows that are left out, as who labelled could not tell
    reliability   score -> bins of (mean predicted probability, share of label 1, number of samples)
    rates         how often the judge was right, of all labelled samples and by language; none but for samples
    fingerprints  of the labelled samples: no run that has one of them is corrected by this card
    certificate   where one was asked for
    """

    model_config = ConfigDict(frozen=True)

    metric: str
    dataset: str
    kind: CardKindName
    parts: list[Part]
    not_scored: dict[str, int]
    baseline: str
    tokens: float | None
    seconds: float | None
    in_force: dict[str, dict[str, Any]] = {}
    raw: dict[str, int] = {}
    calibrations: list[Calibration] = []
    cannot_tell: int = 0
    reliability: dict[str, Bins] = {}
    rates: list[JudgeRates] = []
    fingerprints: Fingerprints = Fingerprints()
    certificate: Certificate | None = None
    signature: Signature


def dataset_name(data: Samples) -> str:
    """Return the name of the data set in its card: the file's name without suffix, or "stdin"."""
    return data.name if data.file is None or data.name == "stdin" else data.file.stem


def make(
    data: Samples,
    metric: str,
    judge: Judge,
    output: Path,
    number: int = 0,
    progress: Progress | None = None,
    sentences: bool = False,
    *,
    named: bool = True,
    timeout: float | None = None,
    certify: float | None = None,
    **options: Any,
) -> Card:
    """Judge labelled samples and measure how well the scores agree with the labels.

    data       its columns: README.md in this folder
    output     the run's folder, in which a second call resumes. It gets `card.json`, and `calibration.json`
               where there are enough labels of faithfulness; one of an earlier card stays otherwise, as does
               one that is passed as the option `calibration`
    number     the most samples, half of each label, by the seed; for pairs the first ones of each part
    sentences  for context_relevance: compare the needed sentences with those that people marked
    timeout    as in `evaluate`
    named      whether the caller named the folder; another one is refused where results would be lost
    certify    what both bounds must reach for the judge to be certified, as 0.7; None: it is not to be

    Raises InputError for an invalid label, too few of them, or all of one group, and where nobody can be
    certified by these labels; FolderError.
    """
    choices = Options.read(options)
    register_criteria(choices.criteria)
    [row] = choose_metrics([metric])
    dataset = dataset_name(data)
    kind = _label_kind(data, row, number, sentences, choices, dataset)
    chosen = Samples(kind.samples, dataset, data.file)
    if not named:
        check_default(output, chosen)
    unchecked: list[str] = []
    if certify is not None:
        unchecked = _check_certifiable(kind, certify, row, judge, choices, dataset, options)
    result = evaluate(chosen, [row.name], judge, output, progress, timeout=timeout, **options)
    card = _card_of(result, kind, row, judge, choices, dataset, output)
    if certify is not None:
        certificate = certification.certify(result, row, dataset, certify, unchecked)
        card = card.model_copy(update={"certificate": certificate})
    elif isinstance(kind, LabelledSamples):
        _enter_test(result, row)
    with writing(output):
        atomic_write(output / CARD, [as_json(card)])
        if card.calibrations and not is_same(output / CALIBRATION, options.get("calibration", "auto")):
            atomic_write(output / CALIBRATION, [file_text(card.calibrations)])
    return card


def _check_certifiable(
    kind: LabelKind[Any],
    minimum: float,
    metric: Metric,
    judge: Judge,
    options: Options,
    dataset: str,
    given: Mapping[str, Any],
) -> list[str]:
    """Check that a judge can be certified by these labels; return what could not be checked.

    given  the options as the caller gave them, with files as paths
    """
    if not isinstance(kind, LabelledSamples):
        raise InputError(
            f"{dataset}: a judge is certified by samples with a label, and these rows have {kind.name}; give "
            "labelled samples, or leave --certify out."
        )
    certification.check_minimum(minimum)
    signature = judge.signature([metric], options, kind.samples)
    return certification.check_unused(kind.samples, dataset, signature, judge, options, given)


def _enter_test(result: Result, metric: Metric) -> None:
    """Enter a card without a certificate into the ledger, too: who makes ten chooses the best of ten."""
    try:
        certification.enter_test(result, metric)
    except InputError as error:
        LOG.warning("%s", error)


def _label_kind(
    data: Samples, metric: Metric, number: int, sentences: bool, options: Options, dataset: str
) -> LabelKind[Any]:
    """Choose the kind of the labels, and the samples to judge."""
    if sentences:
        return LabelledSentences(data, metric, number, options, dataset)
    if are_pairs(data, metric):
        return LabelledPairs(data, metric, number, dataset)
    return LabelledSamples(data, metric, number, options, dataset)


def _card_of(
    result: Result,
    kind: LabelKind[Any],
    metric: Metric,
    judge: Judge,
    options: Options,
    dataset: str,
    folder: Path,
) -> Card:
    """Make the card of a judged run."""
    items = kind.items(result)
    calibrations: list[Calibration] = []
    reliability: dict[str, Bins] = {}
    rates: list[JudgeRates] = []
    if isinstance(kind, LabelledSamples):
        # Before the parts are measured: it adds the refitted scores.
        calibrations = refit(items, metric.name, options, judge, dataset)
        reliability = _reliability(items)
        rates = measure_rates(result, metric)
    tokens, seconds = _costs(folder, result)
    in_force: dict[str, Calibration] = {}
    if result.signature.calibration:
        in_force = calibrations_for(judge.model["sha256"], options, judge.heads(options))
    return Card(
        metric=metric.name,
        dataset=dataset,
        kind=kind.name,
        parts=measure_parts(items, kind.part_rule, kind.measure),
        not_scored=not_scored(result, metric.name),
        baseline=metric.baseline,
        tokens=tokens,
        seconds=seconds,
        in_force={language: calibration.fitted_on for language, calibration in in_force.items()},
        raw=_raw_languages(result, metric.name, in_force) if result.signature.calibration else {},
        calibrations=calibrations,
        cannot_tell=kind.cannot_tell,
        reliability=reliability,
        rates=rates,
        fingerprints=Fingerprints.of(kind.samples),
        signature=result.signature,
    )


def _reliability(items: list[JudgedSample]) -> dict[str, Bins]:
    labels = [item.label for item in items]
    return {
        name: agreement.bins([item.scores[name] for item in items], labels)
        for name in ("soft", ALL_SUPPORTED)
        if all(name in item.scores for item in items)
    }


def _raw_languages(result: Result, metric: str, in_force: dict[str, Calibration]) -> dict[str, int]:
    """Count the scored samples in each language without a calibration in force."""
    scored = [sample for sample in result.samples if sample.scores[metric].status == "scored"]
    counts = Counter(statement_language(sample.decisions()) or "" for sample in scored)
    return {language: counts[language] for language in sorted(counts) if language not in in_force}


def as_json(card: Card) -> str:
    return json.dumps(card.model_dump(mode="json"), ensure_ascii=False, indent=1) + "\n"


def _costs(folder: Path, result: Result) -> tuple[float | None, float | None]:
    """Return median tokens and seconds per sample, from the run's journal; None where it has no judgement.

    Only judgements that the scores depend on count: the folder may hold others, of other metrics or options.
    """
    journal = JournalFile(folder / JOURNAL)
    costs = defaultdict[str, list[dict[str, Any]]](list)
    used = result.signature.judgements
    keys = [key for sample in result.samples for name, key in sample.keys.items() if name in used]
    # Samples with the same texts share a judgement.
    for key in dict.fromkeys(keys):
        entry = journal.entry(key)
        # What nobody was asked, as its worker was lost or its time was over, has no tokens.
        if entry is not None and "spent" in entry["cost"]:
            costs[entry["sample"]].append(entry["cost"])
    if not costs:
        return None, None
    tokens = [sum(cost["tokens"] - cost["spent"]["prefix"] for cost in sample) for sample in costs.values()]
    seconds = [sum(cost["seconds"] for cost in sample) for sample in costs.values()]
    return statistics.median(tokens), statistics.median(seconds)
