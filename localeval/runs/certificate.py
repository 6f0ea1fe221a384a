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
from localeval.report.html.translations import PAGE_LANGUAGES, counted, words
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

    sentence     the outcome in words, in English; sentence_zh: in Chinese
    sensitivity  of samples with label 1, the share judged good; specificity: with label 0, judged bad
    test         1 for the first judge that was tried on these labels, 2 for the second
    level        of both bounds
    read, asked  number of labelled samples that a head read, and about which the judge was asked
    """

    model_config = ConfigDict(frozen=True)

    language: str
    certified: bool
    sentence: str
    sentence_zh: str
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
        for fault in _faults(certificate, language, count, signature, "en"):
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
    for language in sorted({language for language, _ in paths}):
        read = paths[language, "read"]
        asked = paths[language, "asked"]
        texts = {}
        for page in PAGE_LANGUAGES:
            faults = list(_faults(certificate, language, read + asked, signature, page))
            faults = faults or list(_faults_of_paths(certificate, language, read, asked, page))
            texts[page] = _stamp_text(certificate, language, faults, page)
        yield Stamp(texts["en"], texts["zh"], holds=not faults)


def _stamp_text(certificate: Certificate, language: str, faults: Sequence[str], page: str) -> str:
    """Say in a language of the pages that the certificate holds, or why it does not."""
    outcome = certificate.outcome(language)
    if outcome is None or faults:
        faults_text = words("and", page).join(faults)
        code = _named(language, page)
        text = words("stamp_fails", page, metric=certificate.metric, code=code, faults=faults_text)
    else:
        text = _sentence(outcome, page)
    return text + words("stamp_card", page, dataset=certificate.dataset, date=certificate.date)


def _faults(
    certificate: Certificate, language: str, count: int, signature: Signature, page: str
) -> Iterator[str]:
    """Yield why the certificate does not hold for `count` samples in this language.

    page  language of the pages in which that is said
    """
    outcome = certificate.outcome(language)
    if outcome is None:
        codes = [outcome.language for outcome in certificate.outcomes]
        known = enumerated(codes) if page == "en" else "、".join(codes)
        yield counted("stamp_language", count, page, code=_named(language, page), known=known)
        return
    if not outcome.certified:
        yield _sentence(outcome, page)
        return
    decisive, _ = differences(scope(certificate.signature, language), scope(signature, language))
    if decisive:
        yield words("stamp_settings", page, fields=words("and", page).join(decisive))


def _faults_of_paths(
    certificate: Certificate, language: str, read: int, asked: int, page: str
) -> Iterator[str]:
    """Yield why the certificate does not hold for responses that were read, or asked about."""
    outcome = certificate.outcome(language)
    if outcome is None:
        return
    labelled = outcome.read + outcome.asked
    for key, count, on_card in (("stamp_read", read, outcome.read), ("stamp_asked", asked, outcome.asked)):
        if count and on_card < MIN_OF_PATH:
            samples = counted("samples", count, page)
            yield words(key, page, samples=samples, code=language, on_card=on_card, labelled=labelled)


def _sentence(outcome: LanguageOutcome, page: str) -> str:
    return outcome.sentence if page == "en" else outcome.sentence_zh


def _named(language: str, page: str) -> str:
    return words("stamp_other", page) if language == "other" else language


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
            "reply_heads": {
                name: sha256
                for name, sha256 in signature.reply_heads.items()
                if name.endswith(f"/{language}")
            },
        }
    )
