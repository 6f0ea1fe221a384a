"""The certificate of a judge, as a judge card keeps it, and whether it holds for a run."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from localeval.errors import InputError, NotCertified
from localeval.judgements.decision import DecisionList
from localeval.judgements.judged_text import language_of, response_of
from localeval.metrics import METRICS
from localeval.metrics.sample_result import SampleResult
from localeval.metrics.signature import Signature, differences
from localeval.metrics.summary import undefined_reason
from localeval.report.view import Stamp
from localeval.samples import Sample
from localeval.system.files import parsing
from localeval.text.display import enumerated
from localeval.text.sentences import has_words

# Labelled samples of the card that were read, or asked about, from which the certificate counts for such.
MIN_OF_PATH = 10
CARD = "card.json"


class CertifiedRate(BaseModel):
    """A rate of the card, and its lower bound; see `localeval.statistics.certification.BoundedRate`."""

    model_config = ConfigDict(frozen=True)

    right: int
    labels: int
    effective: float
    at_least: float


class LanguageOutcome(BaseModel):
    """What the card says of the judge in one language.

    sentence     the outcome in words
    sensitivity  of samples with label 1, the share judged good; specificity: with label 0, judged bad
    test         1 for the first judge that was tried on these labels, 2 for the second
    level        of both bounds
    read, asked  number of labelled samples that a head read, and about which the judge was asked
    """

    model_config = ConfigDict(frozen=True)

    language: str
    certified: bool
    sentence: str
    sensitivity: CertifiedRate
    specificity: CertifiedRate
    test: int
    level: float
    read: int
    asked: int


class Certificate(BaseModel):
    """The outcome of `card --certify`, for one metric and each language of the labels.

    dataset    the name of the labels
    minimum    that both bounds must reach
    unchecked  what could not be checked, a sentence each
    signature  of the card's run; a run that differs in what changes scores is not certified
    """

    model_config = ConfigDict(frozen=True)

    metric: str
    dataset: str
    date: str
    minimum: float
    outcomes: list[LanguageOutcome]
    unchecked: list[str] = []
    signature: Signature

    def lines(self) -> list[str]:
        """Return the outcome in words: a sentence for each language, then what could not be checked."""
        return [*(outcome.sentence for outcome in self.outcomes), *self.unchecked]

    def outcome(self, language: str) -> LanguageOutcome | None:
        """Return the outcome in a language; None where no sample of it was labelled."""
        return next((outcome for outcome in self.outcomes if outcome.language == language), None)


def read_certificate(path: str | os.PathLike[str]) -> Certificate:
    """Read the certificate of a card: its `card.json`, or the folder that has it.

    Raises InputError for a file that is no card, or a card that was made without `--certify`.
    """
    file = Path(path)
    if file.is_dir():
        file /= CARD
    try:
        text = file.read_bytes()
    except OSError as error:
        raise InputError(
            f"{path}: no card can be read there ({error.strerror}); give the card.json that `card` wrote."
        ) from error
    with parsing(f"{path}: this is no card for this version: it", "give the `card` command again."):
        content = json.loads(text)["certificate"]
        certificate = None if content is None else Certificate.model_validate(content)
    if certificate is None:
        raise InputError(f"{path}: this card has no certificate; make it again with `card --certify`.")
    return certificate


def check_planned(
    certificate: Certificate,
    where: str,
    metrics: Sequence[str],
    signature: Signature,
    samples: Sequence[Sample],
) -> None:
    """Check, before a run is judged, that the certificate holds for it, as far as that can be known.

    where  the card's name for messages

    Raises NotCertified with the first reason why it does not.
    """
    metric = certificate.metric
    if metric not in metrics:
        raise NotCertified(f"{where}: this card is of {metric}, which is not computed here; add -m {metric}.")
    counts = Counter(language_of(sample) for sample in samples if _is_judged(sample, metric))
    for language, count in sorted(counts.items()):
        for fault in _faults(certificate, language, count, signature):
            raise NotCertified(f"{where}: {fault}.")


def stamps(
    certificates: Sequence[Certificate], signature: Signature, samples: Sequence[SampleResult]
) -> list[Stamp]:
    """Say of each certificate whether it holds for a judged run, if the run has its metric."""
    return [
        stamp
        for certificate in certificates
        if certificate.metric in signature.metrics
        for stamp in _stamps(certificate, signature, samples)
    ]


def _stamps(
    certificate: Certificate, signature: Signature, samples: Sequence[SampleResult]
) -> Iterator[Stamp]:
    """Yield a stamp for each language of the run's scored samples."""
    scored = [item for item in samples if item.scores[certificate.metric].status == "scored"]
    paths = Counter((language_of(item.sample), _path(item, signature)) for item in scored)
    card = f"card of {certificate.dataset}, {certificate.date}"
    for language in sorted({language for language, _ in paths}):
        read = paths[language, "read"]
        asked = paths[language, "asked"]
        faults = list(_faults(certificate, language, read + asked, signature))
        outcome = certificate.outcome(language)
        if outcome is not None and not faults:
            faults = list(_faults_of_paths(outcome, read, asked))
        if outcome is None or faults:
            text = f"judge not certified for {certificate.metric}, {_named(language)}, here"
            yield Stamp(f"{text}: {'; '.join(faults)} ({card})", holds=False)
        else:
            yield Stamp(f"{outcome.sentence} ({card})", holds=True)


def _faults(certificate: Certificate, language: str, count: int, signature: Signature) -> Iterator[str]:
    """Yield why the certificate does not hold for `count` samples in this language."""
    outcome = certificate.outcome(language)
    if outcome is None:
        known = enumerated([outcome.language for outcome in certificate.outcomes])
        yield f"{_number(count)} in {_named(language)}, and the labels of the card are in {known} alone"
        return
    if not outcome.certified:
        yield outcome.sentence
        return
    decisive, _ = differences(scope(certificate.signature, language), scope(signature, language))
    if decisive:
        yield f"the card was made with another judge or other settings: {'; '.join(decisive)}"


def _faults_of_paths(outcome: LanguageOutcome, read: int, asked: int) -> Iterator[str]:
    """Yield why the certificate does not hold for responses that were read, or asked about."""
    if read and outcome.read < MIN_OF_PATH:
        yield (
            f"a head read {_share(read)} in {outcome.language}, and on the card {outcome.read} of "
            f"{outcome.read + outcome.asked}"
        )
    if asked and outcome.asked < MIN_OF_PATH:
        yield (
            f"the judge was asked about {_share(asked)} in {outcome.language}, and on the card about "
            f"{outcome.asked} of {outcome.read + outcome.asked}"
        )


def _named(language: str) -> str:
    return "another language" if language == "other" else language


def _share(count: int) -> str:
    return "1 sample" if count == 1 else f"{count} samples"


def _number(count: int) -> str:
    return "1 sample is" if count == 1 else f"{count} samples are"


def _is_judged(sample: Sample, metric: str) -> bool:
    """Report whether the sample has the columns that the metric needs, and words in its response."""
    definition = METRICS[metric]
    if "response" in definition.columns and not has_words(response_of(sample)):
        return False
    return undefined_reason(definition, sample) is None


def _path(item: SampleResult, signature: Signature) -> str:
    """Return how the sample was judged: "read" by a head, or "asked"."""
    # Without a head nothing is read, and no record has to be.
    return path_of(item.decisions()) if signature.heads else "asked"


def path_of(lists: Sequence[DecisionList]) -> str:
    """Return how a sample was judged by its decisions: "read" by a head, or "asked"."""
    by_head = any(decision.by == "head" for listed in lists for decision in listed.decisions)
    return "read" if by_head else "asked"


def scope(signature: Signature, language: str) -> Signature:
    """Return the signature of what judges a language: no prompt, calibration or head of another one."""
    own = {name.partition("/")[0] for name in signature.prompts if name.endswith(f"/{language}")}
    prompts = {
        name: sha256
        for name, sha256 in signature.prompts.items()
        # A prompt without a text in the language is used in another one.
        if name.endswith(f"/{language}") or name.partition("/")[0] not in own
    }
    return signature.model_copy(
        update={
            "prompts": prompts,
            "calibration": {code: curve for code, curve in signature.calibration.items() if code == language},
            "heads": {code: sha256 for code, sha256 in signature.heads.items() if code == language},
        }
    )
