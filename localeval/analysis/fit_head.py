"""Fit a head to labelled answers and the judge's states of them."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from localeval.analysis.head_states import MIN_OF_EACH_LABEL_OF_LANGUAGE, Reading
from localeval.analysis.labels import user_column
from localeval.engine.interface import TokenValues
from localeval.errors import InputError
from localeval.fitted import heads
from localeval.fitted.files import FittedFor
from localeval.fitted.logits import sigmoid
from localeval.judgements.reading import MIN_LONG_SENTENCES, CharToByteOffsets, split_words
from localeval.labels.fingerprint import Fingerprints
from localeval.statistics.agreement import Bootstrap, folds, rounded
from localeval.text.sentences import Sentence

# Principal components of a word's state.
COMPONENTS = 256
# The ridge penalty on the weights, and the factor by which the numbers of an `Overlap` are scaled up,
# which makes the penalty on their weights a ninth.
RIDGE = 8000
OVERLAP_SCALE = 3.0
# The sharpness of the soft minimum over words, and those that are tried for the soft minimum over sentences.
WORD_SHARPNESS = 2.0
SENTENCE_SHARPNESS = (0.5, 1.0, 2.0, 4.0, 8.0)
# Of an answer's map: labels that turn the order of the sentences teach nothing.
MIN_SLOPE = 0.01

Array = npt.NDArray[Any]


def fit(readings: Sequence[Reading], judge: FittedFor, layer: int) -> list[heads.Head]:
    """Fit a head for each language of the answers, with figures for unseen answers.

    The map of words and sentences is fitted to all answers, as a judge's states are much alike in both
    languages; the soft minimum of an answer, to those in its language. Its slope and bias are given to the
    sentences, whose logit is then that of an answer that consists of it. From there the probability of a
    sentence is calibrated, where people marked what is wrong. The figures are cross-validated: an answer is
    decided by a fit on other groups. Raises InputError if all answers of a label are of one group.
    """
    labels = [answer.label for answer in readings]
    assigned = folds(labels, [answer.group for answer in readings])
    if assigned is None:
        raise InputError("all answers of a label are of one group; a head needs several.")
    fold = np.asarray(assigned)
    pieces, mean, axes = _pieces(readings)
    logits = _held_out_logits(pieces, fold)
    labels_of_sentences = _labels_of_sentences(pieces, len(readings))
    shares = _held_out_shares(readings, logits, labels_of_sentences, fold)
    fitted_map = _fit_map(pieces)
    weights = axes @ fitted_map.word
    word = heads.LinearMap(
        states=rounded_weights(weights), bias=round(fitted_map.bias - float(mean @ weights), 5)
    )
    minimums = _soft_minimums(logits, readings, np.arange(len(readings)))
    # The map of words is fitted to the answers in all languages.
    fingerprints = Fingerprints.of([reading.sample for reading in readings])
    fitted = []
    for language, answer in sorted(minimums.items()):
        members = [i for i, reading in enumerate(readings) if reading.language == language]
        calibration = calibrate_sentences(logits, labels_of_sentences, members, answer)
        sentence = heads.SoftMinimum(
            sharpness=fitted_map.sentence.sharpness,
            slope=answer.slope,
            bias=round(answer.slope * fitted_map.sentence.bias + answer.bias, 5),
        )
        fitted.append(
            heads.Head(
                judge=judge,
                language=language,
                form=heads.FORM,
                layer=layer,
                word=word,
                sentence=sentence,
                overlap=rounded_weights(answer.slope * fitted_map.overlap),
                calibration=_after(answer, calibration),
                answer=heads.SoftMinimum(
                    sharpness=round(answer.sharpness / answer.slope, 5), conjunction=answer.conjunction
                ),
                long_answers=sum(len(logits[i]) >= MIN_LONG_SENTENCES for i in members),
                fitted_on=_fitted_on([readings[i] for i in members], len(readings)),
                figures=_figures([readings[i] for i in members], [shares[i] for i in members]),
                fingerprints=fingerprints,
            )
        )
    return fitted


def _held_out_logits(pieces: Sequence[_Piece], fold: Array) -> list[list[float]]:
    """Return for each answer the logits of its sentences, by a map that was fitted on the other folds."""
    logits: list[list[float]] = [[] for _ in fold]
    for part in np.unique(fold):
        fitted_map = _fit_map([piece for piece in pieces if fold[piece.answer] != part])
        for piece in pieces:
            if fold[piece.answer] == part and not piece.is_whole:
                logits[piece.answer].append(fitted_map.of(piece))
    return logits


def _labels_of_sentences(pieces: Sequence[_Piece], count: int) -> list[list[int]]:
    """Return for each of `count` answers the labels of its sentences."""
    labels: list[list[int]] = [[] for _ in range(count)]
    for piece in pieces:
        if not piece.is_whole:
            labels[piece.answer].append(piece.label)
    return labels


def _held_out_shares(
    readings: Sequence[Reading],
    logits: Sequence[Sequence[float]],
    labels_of_sentences: Sequence[Sequence[int]],
    fold: Array,
) -> list[float]:
    """Return P(all supported) of each answer, by a soft minimum and a calibration of the other folds.

    Raises InputError for a language without answers in these.
    """
    shares = [0.0] * len(readings)
    for part in np.unique(fold):
        others = np.flatnonzero(fold != part)
        minimums = _soft_minimums(logits, readings, others)
        calibrations = {
            language: calibrate_sentences(
                logits,
                labels_of_sentences,
                [i for i in others.tolist() if readings[i].language == language],
                minimum,
            )
            for language, minimum in minimums.items()
        }
        for i in np.flatnonzero(fold == part).tolist():
            language = readings[i].language
            if language not in minimums:
                raise InputError(f"all answers in {language} are of too few groups; a head needs more.")
            least = calibrations[language].of(min(logits[i]))
            shares[i] = sigmoid(min(minimums[language].of(logits[i]), least))
    return shares


def _fitted_on(readings: Sequence[Reading], of_all: int) -> dict[str, Any]:
    """Describe the labels of one language that a head was fitted on, of so many in all languages."""
    return {
        "labels": len(readings),
        "supported": sum(answer.label for answer in readings),
        "sources": dict(Counter(str(user_column(answer.sample, "source", "")) for answer in readings)),
        "of_all": of_all,
        "date": datetime.date.today().isoformat(),
    }


def _figures(readings: Sequence[Reading], shares: Sequence[float]) -> dict[str, tuple[float, float, float]]:
    """Return the figures of P(all supported) of answers by a fit on other groups."""
    draws = Bootstrap([answer.label for answer in readings], [answer.group for answer in readings])
    figures = {"auroc": draws.auroc(shares)}
    figures |= draws.decisions([int(share >= 0.5) for share in shares])
    figures |= draws.probabilities(shares)
    reported = ("auroc", "balanced_accuracy", "f1_0", "calibration_error")
    return rounded({name: figures[name] for name in reported})


@dataclass(frozen=True)
class _Piece:
    """A sentence of an answer, or a wrong answer as a whole where nobody marked what is wrong.

    answer       index of the answer
    label        1 or 0; -1 where the answer's label does not decide it
    words        (words, components), of the words' states
    word_labels  1 or 0; -1 where nobody marked what is wrong
    overlap      its `Overlap`
    """

    answer: int
    label: int
    is_whole: bool
    words: Array
    word_labels: Array
    overlap: Array


@dataclass(frozen=True)
class _Map:
    """A map from the components of words, and from an overlap, to logits; see `heads.Head`."""

    word: Array
    bias: float
    sentence: heads.SoftMinimum
    overlap: Array

    def of(self, piece: _Piece) -> float:
        words = piece.words @ self.word + self.bias
        return self.sentence.of(words.tolist()) + float(piece.overlap @ self.overlap)


def _pieces(readings: Sequence[Reading]) -> tuple[list[_Piece], Array, Array]:
    """Return the pieces of all answers; mean and axes, with which (state - mean) @ axes are the components.

    The components are the principal ones of the scaled states: with `COMPONENTS` of them a head ranks as well
    as with all, and fitting it takes a fraction of the memory.
    """
    pieces = [piece for i, reading in enumerate(readings) for piece in _pieces_of(i, reading)]
    count = sum(len(piece.words) for piece in pieces)
    mean = sum(piece.words.sum(axis=0, dtype=float) for piece in pieces) / count
    covariance = np.zeros((len(mean), len(mean)))
    for piece in pieces:
        centred = (piece.words - mean).astype(np.float32)
        covariance += centred.T @ centred / count
    scale = np.sqrt(np.diag(covariance)) + 1e-6
    # In ascending order of the eigenvalues.
    _, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    axes = vectors[:, -COMPONENTS:] / scale[:, None]
    components = [replace(piece, words=((piece.words - mean) @ axes).astype(np.float32)) for piece in pieces]
    return components, mean, axes


def _pieces_of(index: int, reading: Reading) -> Iterator[_Piece]:
    """Yield the sentences of an answer, then the whole of it where its label decides no sentence."""
    places = CharToByteOffsets(reading.text, 0)
    contexts = heads.Contexts(reading.sample.retrieved_contexts or [])
    token_states = TokenValues(reading.states.astype(np.float32), reading.ends)

    def piece(part: Sentence, label: int, is_whole: bool) -> _Piece:
        words = split_words(part)
        states = [places.mean(token_states, start, end) for start, end in words]
        word_labels = [-1] * len(words)
        if reading.wrong is not None:
            word_labels = [reading.is_right(start, end) for start, end in words]
        return _Piece(
            answer=index,
            label=label,
            is_whole=is_whole,
            words=np.array(states, np.float16),
            word_labels=np.array(word_labels),
            overlap=np.array(contexts.overlap(part.text)),
        )

    sentences = reading.sentences()
    labels = [reading.label_of(sentence, len(sentences)) for sentence in sentences]
    for sentence, label in zip(sentences, labels, strict=True):
        yield piece(sentence, label, is_whole=False)
    if labels[0] < 0:
        yield piece(Sentence(reading.text, 0, len(reading.text)), reading.label, is_whole=True)


def _fit_map(pieces: Sequence[_Piece]) -> _Map:
    """Fit the map that makes the labels of pieces and of words most likely, with a ridge penalty.

    Both labels weigh the same, and all words half as much as all pieces.
    """
    from scipy.optimize import minimize  # type: ignore[import-untyped]

    words = np.concatenate([piece.words for piece in pieces])
    sizes = np.array([len(piece.words) for piece in pieces])
    starts = np.cumsum(sizes) - sizes
    piece_of = np.repeat(np.arange(len(sizes)), sizes)
    labels = np.array([piece.label for piece in pieces])
    word_labels = np.concatenate([piece.word_labels for piece in pieces])
    weights = _balanced(labels)
    word_weights = _balanced(word_labels) / 2
    overlaps = np.array([piece.overlap for piece in pieces])
    overlap_mean = overlaps.mean(axis=0)
    overlap_scale = (overlaps.std(axis=0) + 1e-6) / OVERLAP_SCALE
    overlaps = (overlaps - overlap_mean) / overlap_scale
    width = words.shape[1]
    penalty = RIDGE / (labels >= 0).sum()

    def loss_and_gradient(x: Array) -> tuple[float, Array]:
        logits = (words @ x[:width].astype(np.float32)).astype(float) + x[-1]
        lowest = np.minimum.reduceat(logits, starts)
        spread = np.exp(-WORD_SHARPNESS * (logits - lowest[piece_of]))
        total = np.add.reduceat(spread, starts)
        soft = lowest - np.log(total / sizes) / WORD_SHARPNESS + overlaps @ x[width:-1]
        loss, slopes = _logistic(soft, labels, weights)
        word_loss, word_slopes = _logistic(logits, word_labels, word_weights)
        slopes_of_words = word_slopes + slopes[piece_of] * spread / total[piece_of]
        gradient = [slopes_of_words.astype(np.float32) @ words, slopes @ overlaps, [slopes_of_words.sum()]]
        ridge = penalty * np.append(x[:-1], 0.0)
        return loss + word_loss + float(x @ ridge) / 2, np.concatenate(gradient) + ridge

    x = minimize(loss_and_gradient, np.zeros(width + overlaps.shape[1] + 1), jac=True, method="L-BFGS-B").x
    overlap = x[width:-1] / overlap_scale
    sentence = heads.SoftMinimum(sharpness=WORD_SHARPNESS, bias=round(-float(overlap @ overlap_mean), 5))
    return _Map(x[:width], float(x[-1]), sentence, overlap)


def _balanced(labels: Array) -> Array:
    """Return a weight for each label, half of them in all for 1 and half for 0, and none for -1."""
    weights = np.zeros(len(labels))
    for label in (0, 1):
        weights[labels == label] = 0.5 / max(1, (labels == label).sum())
    return weights


def _logistic(logits: Array, labels: Array, weights: Array) -> tuple[float, Array]:
    """Return the weighted logistic loss, and its derivative by each logit."""
    signs = np.where(labels == 1, 1.0, -1.0)
    losses = np.logaddexp(0, -signs * logits)
    return float(weights @ losses), -weights * signs * (1 - np.exp(-losses))


def rounded_weights(weights: Array) -> tuple[float, ...]:
    """Round to four digits: labels determine no more."""
    return tuple(float(f"{weight:.4g}") for weight in weights)


def _soft_minimums(
    logits: Sequence[Sequence[float]], readings: Sequence[Reading], which: Array
) -> dict[str, heads.SoftMinimum]:
    """Fit for each language the soft minimum that makes the labels of the answers `which` most likely.

    logits  of the sentences of each answer. Only the bias of the minimum depends on the language
    """
    from sklearn.linear_model import LogisticRegression

    languages = sorted({readings[i].language for i in which})
    targets = [readings[i].label for i in which]
    indicators = np.array(
        [[float(readings[i].language == language) for language in languages] for i in which]
    )
    highest = -np.inf
    best: dict[str, heads.SoftMinimum] = {}
    for sharpness in SENTENCE_SHARPNESS:
        minimum = heads.SoftMinimum(sharpness=sharpness, conjunction=True)
        features = np.column_stack([[minimum.of(logits[i]) for i in which], indicators])
        model = LogisticRegression(C=10.0, fit_intercept=False, max_iter=1000).fit(features, targets)
        likelihood = float(model.predict_log_proba(features)[np.arange(len(targets)), targets].mean())
        if likelihood <= highest:
            continue
        highest = likelihood
        slope, *biases = (round(float(weight), 5) for weight in model.coef_[0])
        best = {
            language: heads.SoftMinimum(
                sharpness=sharpness, slope=max(slope, MIN_SLOPE), bias=bias, conjunction=True
            )
            for language, bias in zip(languages, biases, strict=True)
        }
    return best


def calibrate_sentences(
    logits: Sequence[Sequence[float]],
    labels_of_sentences: Sequence[Sequence[int]],
    which: Sequence[int],
    answer: heads.SoftMinimum,
) -> heads.LogitMap:
    """Fit the map that makes the labels of the sentences of the answers `which` most likely.

    Every sentence counts once: most are right, and the probabilities have to say so. Wrong answers of which
    nobody marked the wrong sentences are left out, and the others count for them. Where too few are marked,
    a sentence is as likely as an `answer` that consists of it.
    """
    from sklearn.linear_model import LogisticRegression

    marked = [i for i in which if -1 not in labels_of_sentences[i]]
    wrong = [i for i in marked if 0 in labels_of_sentences[i]]
    unmarked = len(which) - len(marked)
    labels = [label for i in marked for label in labels_of_sentences[i]]
    if min(len(wrong), labels.count(1)) < MIN_OF_EACH_LABEL_OF_LANGUAGE:
        return heads.LogitMap(slope=answer.slope, bias=answer.bias)
    features = [[logit] for i in marked for logit in logits[i]]
    weight_of_wrong = 1 + unmarked / len(wrong)
    weights = [
        weight_of_wrong if 0 in labels_of_sentences[i] else 1.0
        for i in marked
        for _ in labels_of_sentences[i]
    ]
    model = LogisticRegression(C=10.0, max_iter=1000).fit(features, labels, sample_weight=weights)
    slope = max(round(float(model.coef_[0, 0]), 5), MIN_SLOPE)
    return heads.LogitMap(slope=slope, bias=round(float(model.intercept_[0]), 5))


def _after(answer: heads.SoftMinimum, calibration: heads.LogitMap) -> heads.LogitMap:
    """Return the calibration of a logit that already has the slope and the bias of the answer's map."""
    slope = calibration.slope / answer.slope
    return heads.LogitMap(slope=round(slope, 5), bias=round(calibration.bias - slope * answer.bias, 5))
