"""Fit a head to labelled answers: the judge's states of each are computed once and cached on disk."""

from __future__ import annotations

import datetime
import hashlib
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from localeval.engine.engine import Engine
from localeval.engine.interface import ContextTooLong, States, TreeEngine
from localeval.errors import InputError
from localeval.judgements import heads
from localeval.judgements.context import response_of
from localeval.judgements.grounding import LONG, Places, split_words
from localeval.prompts import LANGUAGES
from localeval.runs.card.agreement import Bootstrap, folds, rounded
from localeval.runs.card.labels import check_groups, extra, group
from localeval.runs.evaluate import Progress
from localeval.samples import Sample
from localeval.system.files import writing_to
from localeval.text.claims import extract_claims
from localeval.text.display import shorten
from localeval.text.language import language
from localeval.text.sentences import Sentence, has_words

# Labelled answers needed: in total, as a head of fewer learns little more than to count shared words; and in
# each language, for which P(all supported) is fitted separately.
FEWEST, FEWEST_OF_EACH = 300, 75
OF_LANGUAGE = 100, 25
DEPTH = 0.57  # the share of its layers after which a judge is read by default: half way up is best
# The inverse of the ridge penalty on the weights, and how much weaker it is on those of an `Overlap`.
STRENGTH, OVERLAP = 3e-4, 3.0
SHARPNESS = (0.5, 1.0, 2.0, 4.0, 8.0)
MOST_WORDS = 60_000

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Labelled:
    """An answer with its label.

    wrong  spans of the response, as (start, end), that people marked as wrong; None where nobody was asked to
    """

    sample: Sample
    label: int
    group: str
    language: str
    wrong: tuple[tuple[int, int], ...] | None

    @property
    def text(self) -> str:
        return response_of(self.sample)

    def sentences(self) -> list[Sentence]:
        return extract_claims(self.text) or [Sentence(self.text, 0, len(self.text))]

    def is_right(self, start: int, end: int) -> int:
        """Return 1 for a span that nobody marked as wrong, else 0."""
        return int(not any(a < end and b > start for a, b in self.wrong or ()))

    def label_of(self, sentence: Sentence, count: int) -> int:
        """Return 1 or 0; -1 where the answer's label does not decide this one of its `count` sentences."""
        if self.label == 1 or self.wrong is not None:
            return self.label or self.is_right(sentence.start, sentence.end)
        return 0 if count == 1 else -1


@dataclass(frozen=True)
class Reading(Labelled):
    """A labelled answer with the judge's states.

    states  (tokens, width), of the response alone
    ends    the offset in the response at which each token ends, in bytes
    """

    states: npt.NDArray[np.float16]
    ends: tuple[int, ...]


def layer_of(engine: TreeEngine, layer: int | None) -> int:
    """Return the layer after which to read, `layer` or the default. Raises InputError if it is too high."""
    if not isinstance(engine, Engine):
        raise InputError("a head is fitted to a model file; load the judge with Judge.load.")
    layers = engine.layers()
    if layer is not None and layer > layers - 2:
        raise InputError(
            f"--layer is {layer}, but the model has {layers} layers; choose at most {layers - 2}."
        )
    return round(DEPTH * layers) - 1 if layer is None else layer


def labelled(samples: Sequence[Sample], labels: Sequence[int], where: str) -> list[Labelled]:
    """Choose the answers in English or Chinese that have contexts to compare them with.

    Raises InputError for an invalid marked span, and for too few answers.
    """
    answers = []
    for sample, label in zip(samples, labels, strict=True):
        text = response_of(sample)
        if has_words(text) and sample.retrieved_contexts and language(text) in LANGUAGES:
            marked = _marked(sample, where)
            if not marked and label == 0:
                marked = None  # wrong, and nobody marked where
            answers.append(Labelled(sample, label, group(sample), language(text), marked))
    for code, fewest, of_each in (("", FEWEST, FEWEST_OF_EACH), *((x, *OF_LANGUAGE) for x in LANGUAGES)):
        members = [answer for answer in answers if code in ("", answer.language)]
        wrong, right = ([x.sample for x in members if x.label == label] for label in (0, 1))
        what = f"answers in {code}" if code else "answers"
        if (members or not code) and (len(members) < fewest or min(len(wrong), len(right)) < of_each):
            raise InputError(
                f"{where}: {len(right)} {what} with label 1 and {len(wrong)} with label 0 are too few "
                "for a head, which would only learn to count shared words; "
                f"label {fewest}, {of_each} of each."
            )
        for label, samples_with in enumerate((wrong, right) if members else ()):
            check_groups(samples_with, f"{what} with label {label}", where)
    return answers


def _marked(sample: Sample, where: str) -> tuple[tuple[int, int], ...] | None:
    """Return the `hallucination_spans` of the sample, as offsets in the judged part of its response.

    Raises InputError for a span that lies outside of it.
    """
    value, text = extra(sample, "hallucination_spans"), response_of(sample)
    if value is None:
        return None
    offset = (sample.response or "").rfind(text)  # the length of the model's reasoning, which is not judged
    marks = value if isinstance(value, list) else [value]
    pairs = [(x.get("start"), x.get("end")) for x in marks if isinstance(x, dict)]
    spans = tuple((a - offset, b - offset) for a, b in pairs if type(a) is type(b) is int)
    is_inside = offset >= 0 and all(0 <= a <= b <= len(text) for a, b in spans)
    if len(spans) < len(marks) or (spans and not is_inside):
        raise InputError(
            f"{where}: sample {shorten(sample.id, 40)} has the hallucination_spans "
            f'{shorten(repr(value), 60)}; give spans of its response, as [{{"start": 0, "end": 9}}], after '
            "any reasoning in it."
        )
    return spans


def fit(readings: Sequence[Reading], judge: heads.FittedFor, layer: int) -> list[heads.Head]:
    """Fit a head for each language of the answers, with figures for unseen answers.

    The probes of sentences and words are fitted to all answers, as a judge's states are much alike in both
    languages; the soft minimum of an answer, to those in its language. The figures are cross-validated: an
    answer is decided by a fit on other groups. Raises InputError if all answers of a label are of one group.
    """
    labels, groups = [answer.label for answer in readings], [answer.group for answer in readings]
    languages = [answer.language for answer in readings]
    assigned = folds(labels, groups)
    if assigned is None:
        raise InputError("all answers of a label are of one group; a head needs several.")
    fold = np.asarray(assigned)
    states, overlaps, sentence_labels, answer_of, is_whole = _sentences(readings)
    logits = np.zeros(len(answer_of))
    for part in np.unique(fold):
        held_out = fold[answer_of] == part
        probe = _probe(states[~held_out], sentence_labels[~held_out], overlaps[~held_out])
        lexical = overlaps[held_out] @ np.asarray(probe.overlap)
        logits[held_out] = states[held_out].astype(float) @ np.asarray(probe.states) + lexical + probe.bias
    per_answer = [logits[(answer_of == i) & ~is_whole] for i in range(len(readings))]
    shares = [0.0] * len(readings)
    for part in np.unique(fold):
        minimums = _soft_minimums(per_answer, labels, languages, np.flatnonzero(fold != part))
        for i in np.flatnonzero(fold == part):
            if languages[i] not in minimums:
                raise InputError(f"all answers in {languages[i]} are of too few groups; a head needs more.")
            shares[i] = heads.sigmoid(minimums[languages[i]].of(per_answer[i].tolist()))
    sentence, token = _probe(states, sentence_labels, overlaps), _token_probe(readings)
    fitted = []
    for code, answer in sorted(_soft_minimums(per_answer, labels, languages, np.arange(len(labels))).items()):
        members = [i for i, language in enumerate(languages) if language == code]
        member_labels, p = [labels[i] for i in members], [shares[i] for i in members]
        draws = Bootstrap(member_labels, [groups[i] for i in members])
        figures = {"auroc": draws.auroc(p), **draws.decisions([int(share >= 0.5) for share in p])}
        figures |= draws.probabilities(p)
        reported = ("auroc", "balanced_accuracy", "f1_0", "calibration_error")
        fitted.append(
            heads.Head(
                judge=judge,
                language=code,
                form=heads.FORM,
                layer=layer,
                sentence=sentence,
                token=token,
                answer=answer,
                long_answers=sum(len(per_answer[i]) >= LONG for i in members),
                fitted_on={
                    "labels": len(members),
                    "supported": sum(member_labels),
                    "sources": dict(Counter(str(extra(readings[i].sample, "source", "")) for i in members)),
                    "of_all": len(readings),
                    "date": datetime.date.today().isoformat(),
                },
                figures=rounded({name: figures[name] for name in reported}),
            )
        )
    return fitted


def _sentences(readings: Sequence[Reading]) -> tuple[Array, ...]:
    """Return, per row, states, overlap, label (-1 if unknown), index of the answer, and `is_whole`.

    A row is a sentence; a wrong answer of several unmarked sentences has one more, for its whole text.
    """
    rows = []
    for i, reading in enumerate(readings):
        places, contexts = Places(reading.text, 0), heads.Contexts(reading.sample.retrieved_contexts or [])
        token_states, sentences = States(reading.states.astype(np.float32), reading.ends), reading.sentences()
        pieces = [(s, reading.label_of(s, len(sentences)), False) for s in sentences]
        if pieces[0][1] < 0:
            pieces.append((Sentence(reading.text, 0, len(reading.text)), reading.label, True))
        for piece, label, is_whole in pieces:
            state = places.mean(token_states, piece.start, piece.end)
            rows.append((state, np.array(contexts.overlap(piece.text)), label, i, is_whole))
    return tuple(map(np.array, zip(*rows, strict=True)))


def _probe(states: Array, labels: Array, overlaps: Array) -> heads.Probe:
    """Fit a ridge logistic regression to scaled features, and return it as a map of the unscaled ones."""
    from sklearn.linear_model import LogisticRegression

    features = np.hstack([states, overlaps])[labels >= 0]
    mean, scale = features.mean(axis=0), features.std(axis=0) + 1e-6
    scale[states.shape[1] :] /= OVERLAP
    model = LogisticRegression(C=STRENGTH, class_weight="balanced", max_iter=1000)
    model.fit((features - mean) / scale, labels[labels >= 0])
    weights = model.coef_[0] / scale
    bias = round(float(model.intercept_[0] - weights @ mean), 5)
    values = tuple(float(f"{weight:.4g}") for weight in weights)  # labels determine no more digits
    return heads.Probe(states=values[: states.shape[1]], overlap=values[states.shape[1] :], bias=bias)


def _soft_minimums(
    logits: Sequence[Array], labels: Sequence[int], languages: Sequence[str], which: Array
) -> dict[str, heads.SoftMinimum]:
    """Fit for each language the soft minimum that makes the labels of the answers `which` most likely.

    Only its bias depends on the language.
    """
    from sklearn.linear_model import LogisticRegression

    codes, targets = sorted({languages[i] for i in which}), [labels[i] for i in which]
    indicators = np.array([[float(languages[i] == code) for code in codes] for i in which])
    highest, best = -np.inf, dict[str, heads.SoftMinimum]()
    for sharpness in SHARPNESS:
        minimum = heads.SoftMinimum(sharpness=sharpness)
        features = np.column_stack([[minimum.of(logits[i].tolist()) for i in which], indicators])
        model = LogisticRegression(C=10.0, fit_intercept=False, max_iter=1000).fit(features, targets)
        likelihood = float(model.predict_log_proba(features)[np.arange(len(targets)), targets].mean())
        if likelihood > highest:
            slope, *biases = (round(float(weight), 5) for weight in model.coef_[0])
            highest = likelihood
            best = {
                code: heads.SoftMinimum(sharpness=sharpness, slope=slope, bias=bias)
                for code, bias in zip(codes, biases, strict=True)
            }
    return best


def _token_probe(readings: Sequence[Reading]) -> heads.Probe | None:
    """Fit P(supported) of a word to the answers in which people marked spans, up to about `MOST_WORDS`."""
    states: list[npt.NDArray[np.float32]] = []
    labels: list[int] = []
    for i in np.random.default_rng(0).permutation(len(readings)):
        reading = readings[i]
        if reading.wrong is None or len(labels) >= MOST_WORDS:
            continue
        places, token_states = Places(reading.text, 0), States(reading.states, reading.ends)
        for sentence in reading.sentences():
            for start, end in split_words(sentence):
                states.append(places.mean(token_states, start, end).astype(np.float32))
                labels.append(reading.is_right(start, end))
    if len(set(labels)) < 2:
        return None
    return _probe(np.array(states), np.array(labels), np.zeros((len(labels), 0)))


def compute_states(
    engine: TreeEngine,
    model_sha256: str,
    layer: int,
    answers: Sequence[Labelled],
    cache: Path,
    progress: Progress | None = None,
) -> list[Reading]:
    """Compute the judge's states of every labelled answer, or load them from `cache`.

    An answer that is too long for the judge's context is left out.
    """
    folder = cache / f"{model_sha256[:16]}-{heads.FORM}-{layer}"
    with writing_to(folder, "judge's states"):
        folder.mkdir(parents=True, exist_ok=True)
    readings, samples = [], [item.sample for item in answers]
    for done, item in enumerate(answers, 1):
        context = heads.context_text(item.sample.retrieved_contexts or [])
        question = heads.question_text(item.sample.user_input or "") + " "
        key = hashlib.sha256("\0".join((context, question, item.text)).encode("utf-8", "replace")).hexdigest()
        file = folder / f"{key[:32]}.safetensors"
        with suppress(ContextTooLong):
            try:
                data = load_file(file)
            except (OSError, SafetensorError):
                result = engine.read(context, question + item.text, layer)
                offset = len(question.encode("utf-8", "replace"))
                first = result.tokens(offset, offset + 1).start
                states = np.ascontiguousarray(result.values[first:].astype(np.float16))
                data = {"states": states, "ends": np.array(result.ends[first:]) - offset}
                with writing_to(file, "judge's states"):
                    save_file(data, temporary := file.with_suffix(".part"))
                    temporary.replace(file)  # atomic: a file in the cache is complete
            readings.append(Reading(**vars(item), states=data["states"], ends=tuple(data["ends"].tolist())))
        if progress is not None:
            progress(done, samples)
    return readings
