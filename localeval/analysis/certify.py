"""Certify a judge by labelled samples: both of its rates, from below, at the threshold that runs use."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from localeval.analysis import ledger
from localeval.analysis.certify_text import JudgeOnLabels, sentence
from localeval.analysis.labels import label, user_column
from localeval.errors import InputError
from localeval.fitted.files import FittedRow
from localeval.judge import Judge
from localeval.judgements.calibration import calibrations_for
from localeval.judgements.judged_text import language_of
from localeval.labels.fingerprint import (
    Fingerprints,
    normalized,
    question_fingerprint,
    sample_fingerprint,
)
from localeval.metrics import Metric
from localeval.metrics.corrected import is_judged_right
from localeval.metrics.sample_result import SampleResult
from localeval.metrics.signature import Signature, decisive_fields
from localeval.options import Options
from localeval.prompts import LANGUAGES
from localeval.runs.certificate import Certificate, CertifiedRate, LanguageOutcome, path_of, scope
from localeval.runs.result import Result
from localeval.samples import Sample
from localeval.statistics.certification import (
    BoundedRate,
    bound_rate,
    level_of_test,
)
from localeval.system.versions import digest
from localeval.text.display import enumerated, join_some, shorten

# Texts of worked examples that are shorter, as "yes", stand in many samples.
_MIN_TEXT_LENGTH = 8


@dataclass
class _Counted:
    """The labelled samples of one language.

    right, sizes  label -> group -> number of right decisions, and of samples
    labelled      the fingerprint of each sample, and its label
    paths         number of samples that were read, or about which the judge was asked
    """

    right: dict[int, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    sizes: dict[int, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    labelled: list[tuple[str, int]] = field(default_factory=list)
    paths: dict[str, int] = field(default_factory=lambda: {"read": 0, "asked": 0})

    def add(self, sample: Sample, is_right: bool, path: str) -> None:
        value = label(sample)
        group = _group(sample)
        self.right[value][group] = self.right[value].get(group, 0) + int(is_right)
        self.sizes[value][group] = self.sizes[value].get(group, 0) + 1
        self.labelled.append((sample_fingerprint(sample), value))
        self.paths[path] += 1

    def rate(self, value: int, level: float) -> BoundedRate:
        """Return the rate of right decisions on samples with this label."""
        return bound_rate(list(self.right[value].values()), list(self.sizes[value].values()), level)


def check_unused(
    samples: Sequence[Sample],
    where: str,
    signature: Signature,
    judge: Judge,
    options: Options,
    files: Mapping[str, Any],
) -> list[str]:
    """Check that nothing in force was fitted on any of these samples, or shows one as a worked example.

    where  the name of the samples, for messages
    files  option -> the file that the caller gave as `calibration` and `head`

    Returns what could not be checked, a sentence each. Raises InputError for an overlap of one sample or
    question, for labels that were chosen by the judge's own doubt, and for a file without fingerprints.
    """
    _check_designs(samples, where)
    _check_examples(samples, where, signature, options)
    heads = judge.heads(options)
    fitted: dict[str, Mapping[str, FittedRow]] = {}
    if signature.calibration:
        fitted["calibration"] = calibrations_for(judge.model["sha256"], options, heads)
    if signature.heads:
        fitted["head"] = heads
    if signature.reply_heads:
        fitted["head for replies"] = judge.reply_heads(options)
    languages = {language_of(sample) for sample in samples}
    unknown = []
    for kind, rows in fitted.items():
        for row in _distinct(row for row in rows.values() if row.language in languages):
            if row.fingerprints is not None:
                _check_overlap(samples, where, row.fingerprints, kind, _name_of(files, kind))
            elif _is_given(files, kind):
                raise InputError(
                    f"{files[kind]}: this file has no list of the samples that it was fitted on, so a judge "
                    f"can't be certified with it; make it again with `{row.COMMAND}`."
                )
            else:
                unknown.append(f"the {kind} for {row.language} ({_source(row)})")
    if not unknown:
        return []
    return [f"it can't be checked whether any of these samples was used to fit {enumerated(unknown)}"]


def _distinct(rows: Iterable[FittedRow]) -> list[FittedRow]:
    """Return one of the rows that were fitted on the same samples."""
    by_samples = {row.fingerprints or row.language: row for row in rows}
    return list(by_samples.values())


def _is_given(files: Mapping[str, Any], kind: str) -> bool:
    return bool(files.get(kind, "auto") != "auto")


def _name_of(files: Mapping[str, Any], kind: str) -> str:
    """Name the file of a calibration or a head, which may be given as its text."""
    if not _is_given(files, kind):
        return "the shipped one"
    given = str(files[kind])
    return "the given one" if given.lstrip().startswith("{") else given


def _source(row: FittedRow) -> str:
    """Name the data that a calibration or a head was fitted on."""
    sources = row.fitted_on.get("sources") or {}
    return str(row.fitted_on.get("dataset") or join_some([*sources], 2) or "unknown data")


def _check_overlap(
    samples: Sequence[Sample], where: str, fingerprints: Fingerprints, kind: str, file: str
) -> None:
    """Raise InputError where the calibration or head in force was fitted on one of these."""
    overlap = fingerprints.overlap(samples)
    end = (
        "and a judge is not certified on what it was fitted to; leave such samples out, or certify without "
        f"it (--{kind} none)."
    )
    if overlap.samples:
        used = _share(overlap.samples, samples, "was", "were")
        raise InputError(f"{where}: {used} used to fit the {kind} in force ({file}), {end}")
    if overlap.questions:
        asked = _share(overlap.questions, samples, "asks", "ask")
        raise InputError(
            f"{where}: {asked} a question on which the {kind} in force ({file}) was fitted, {end}"
        )


def _share(count: int, samples: Sequence[Sample], one: str, several: str) -> str:
    """Say how many of the samples, with the verb that follows."""
    return f"{count} of these {len(samples)} samples {one if count == 1 else several}"


def _check_designs(samples: Sequence[Sample], where: str) -> None:
    """Raise InputError for labels that were chosen where the judge was in doubt."""
    chosen = [sample for sample in samples if _kind_of_design(sample) == "uncertain"]
    if chosen:
        are_chosen = _share(len(chosen), samples, "was", "were")
        raise InputError(
            f"{where}: {are_chosen} chosen because the judge was uncertain there, so its rates on them are "
            "not its rates on others; label some that were drawn at random."
        )


def _kind_of_design(sample: Sample) -> str:
    design = user_column(sample, "label_design")
    return str(design.get("kind", "")) if isinstance(design, dict) else ""


def _check_examples(samples: Sequence[Sample], where: str, signature: Signature, options: Options) -> None:
    """Raise InputError for a sample that a prompt of the signature shows as a worked example."""
    for name in signature.prompts:
        form, _, language = name.partition("/")
        prompt = options.prompt(form, language)
        shown = [example.model_dump() for example in prompt.examples]
        _check_shown(samples, where, f"the prompt {name}", shown)
    for criterion in options.criteria:
        if criterion.name not in signature.metrics:
            continue
        _check_shown(samples, where, f"the criterion {criterion.name}", criterion.examples)


def _check_shown(samples: Sequence[Sample], where: str, name: str, examples: Sequence[object]) -> None:
    """Raise InputError where a text of these examples is the question, response or a context of a sample."""
    texts = {normalized(text) for example in examples for text in _texts_in(example)}
    texts = {text for text in texts if len(text) >= _MIN_TEXT_LENGTH}
    shown = sum(not texts.isdisjoint(map(normalized, _texts_of(sample))) for sample in samples)
    if shown:
        are_shown = _share(shown, samples, "is", "are")
        raise InputError(
            f"{where}: {are_shown} shown to the judge as worked examples ({name}), and a judge is not "
            "certified on what it was shown; leave such samples out."
        )


def _texts_in(value: object) -> Iterator[str]:
    """Yield all texts in JSON values."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts_in(item)


def _texts_of(sample: Sample) -> list[str]:
    return [sample.user_input or "", sample.response or "", *(sample.retrieved_contexts or [])]


def _group(sample: Sample) -> str:
    """Return what a sample is counted with: its `group`, or all samples with its question."""
    value = user_column(sample, "group")
    if value is not None:
        return f"group {value}"
    return question_fingerprint(sample) or sample_fingerprint(sample)


def enter_test(result: Result, metric: Metric) -> dict[str, ledger.Place]:
    """Enter into the ledger that this judge was compared with these labels; return language -> its place.

    Raises InputError for a ledger that can't be read or written.
    """
    counted = _count(result, metric)
    return {language: _enter(result, metric, language, of) for language, of in counted.items()}


def _enter(result: Result, metric: Metric, language: str, counted: _Counted) -> ledger.Place:
    signature = result.signature
    judge = digest(decisive_fields(scope(signature, language)))
    model = signature.judge or signature.classifier or signature.embedder
    name = str(model.get("name", "no model"))
    return ledger.enter(name, judge, metric.name, language, counted.labelled, _today())


def certify(
    result: Result, metric: Metric, dataset: str, minimum: float, unchecked: Sequence[str]
) -> Certificate:
    """Certify the judge of a run of labelled samples, for each language of them.

    unchecked  of `check_unused`

    Raises InputError for a ledger that can't be read or written.
    """
    counted = _count(result, metric)
    places = enter_test(result, metric)
    outcomes = [
        _outcome(metric, language, of, places[language], minimum) for language, of in sorted(counted.items())
    ]
    others = sum(language_of(item.sample) not in LANGUAGES for item in result.samples)
    notes = list(unchecked)
    if others:
        notes.append(f"{others} samples in other languages count for none; a judge is certified in each")
    return Certificate(
        metric=metric.name,
        dataset=dataset,
        date=_today(),
        minimum=minimum,
        outcomes=outcomes,
        unchecked=notes,
        signature=result.signature,
    )


def _today() -> str:
    return datetime.date.today().isoformat()


def _count(result: Result, metric: Metric) -> dict[str, _Counted]:
    """Count the judge's right decisions, by language. A failed sample is a wrong one; undefined, none."""
    counted: dict[str, _Counted] = defaultdict(_Counted)
    for item in result.samples:
        language = language_of(item.sample)
        score = item.scores[metric.name]
        if language in LANGUAGES and score.status != "undefined":
            is_right = score.status == "scored" and _agrees(item, metric, result.signature.threshold)
            path = path_of(item.decisions()) if result.signature.heads else "asked"
            counted[language].add(item.sample, is_right, path)
    return counted


def _agrees(item: SampleResult, metric: Metric, threshold: float) -> bool:
    """Report whether the judge decides a scored sample as its label does."""
    return is_judged_right(item.scores[metric.name], metric, threshold) == bool(label(item.sample))


def _outcome(
    metric: Metric, language: str, counted: _Counted, place: ledger.Place, minimum: float
) -> LanguageOutcome:
    level = level_of_test(place.test)
    tested = JudgeOnLabels(
        metric=metric,
        language=language,
        place=place,
        minimum=minimum,
        sensitivity=counted.rate(1, level),
        specificity=counted.rate(0, level),
        read=counted.paths["read"],
        asked=counted.paths["asked"],
    )
    return LanguageOutcome(
        language=language,
        certified=tested.is_certified,
        sentence=sentence(tested, "en"),
        sentence_zh=sentence(tested, "zh"),
        sensitivity=_stored(tested.sensitivity),
        specificity=_stored(tested.specificity),
        test=place.test,
        level=level,
        read=tested.read,
        asked=tested.asked,
    )


def _stored(rate: BoundedRate) -> CertifiedRate:
    return CertifiedRate(
        right=rate.right,
        labels=rate.labels,
        effective=round(rate.effective, 2),
        at_least=round(rate.at_least, 6),
    )


def check_minimum(minimum: float) -> None:
    """Raise InputError for a minimum that no judge, or any judge, would reach."""
    if not 0 < minimum < 1:
        shown = shorten(repr(minimum), 40)
        raise InputError(f"the minimum is {shown}; give a number above 0 and below 1, as 0.7.")
