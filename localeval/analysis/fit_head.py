"""Fit a head to labelled answers and the judge's states of them."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from localeval.analysis.agreement import Bootstrap, folds, rounded
from localeval.analysis.head_states import Reading
from localeval.analysis.labels import user_column
from localeval.engine.interface import TokenValues
from localeval.errors import InputError
from localeval.fitted import heads
from localeval.fitted.files import FittedFor
from localeval.fitted.logits import sigmoid
from localeval.judgements.reading import MIN_LONG_SENTENCES, Places, split_words
from localeval.text.sentences import Sentence

COMPONENTS = 256  # of a word's state
# The inverse of the ridge penalty on the weights, and how much weaker it is on the weights of an `Overlap`.
STRENGTH, OVERLAP = 1.25e-4, 3.0
WORD_SHARPNESS = 2.0  # of the soft minimum of words
SHARPNESS = (0.5, 1.0, 2.0, 4.0, 8.0)  # of the soft minimum of sentences
LEAST_SLOPE = 0.01  # of an answer's map: labels that turn the order of the sentences teach nothing

Array = npt.NDArray[Any]


def fit(readings: Sequence[Reading], judge: FittedFor, layer: int) -> list[heads.Head]:
    """Fit a head for each language of the answers, with figures for unseen answers.

    The map of words and sentences is fitted to all answers, as a judge's states are much alike in both
    languages; the soft minimum of an answer, to those in its language. Its slope and bias are given to the
    sentences: P(supported) of a sentence is P(all supported) of an answer that consists of it. The figures
    are cross-validated: an answer is decided by a fit on other groups. Raises InputError if all answers of a
    label are of one group.
    """
    labels, groups = [answer.label for answer in readings], [answer.group for answer in readings]
    languages = [answer.language for answer in readings]
    assigned = folds(labels, groups)
    if assigned is None:
        raise InputError("all answers of a label are of one group; a head needs several.")
    fold = np.asarray(assigned)
    pieces, mean, axes = _pieces(readings)
    per_answer: list[list[float]] = [[] for _ in readings]
    for part in np.unique(fold):
        fitted_map = _fit_map([piece for piece in pieces if fold[piece.answer] != part])
        for piece in pieces:
            if fold[piece.answer] == part and not piece.is_whole:
                per_answer[piece.answer].append(fitted_map.of(piece))
    shares = [0.0] * len(readings)
    for part in np.unique(fold):
        minimums = _soft_minimums(per_answer, labels, languages, np.flatnonzero(fold != part))
        for i in np.flatnonzero(fold == part):
            if languages[i] not in minimums:
                raise InputError(f"all answers in {languages[i]} are of too few groups; a head needs more.")
            shares[i] = sigmoid(minimums[languages[i]].of(per_answer[i]))
    fitted_map = _fit_map(pieces)
    weights = axes @ fitted_map.word
    word = heads.LinearMap(states=_rounded(weights), bias=round(fitted_map.bias - float(mean @ weights), 5))
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
                word=word,
                sentence=heads.SoftMinimum(
                    sharpness=fitted_map.sentence.sharpness,
                    slope=answer.slope,
                    bias=round(answer.slope * fitted_map.sentence.bias + answer.bias, 5),
                ),
                overlap=_rounded(answer.slope * fitted_map.overlap),
                answer=heads.SoftMinimum(
                    sharpness=round(answer.sharpness / answer.slope, 5), conjunction=answer.conjunction
                ),
                long_answers=sum(len(per_answer[i]) >= MIN_LONG_SENTENCES for i in members),
                fitted_on={
                    "labels": len(members),
                    "supported": sum(member_labels),
                    "sources": dict(
                        Counter(str(user_column(readings[i].sample, "source", "")) for i in members)
                    ),
                    "of_all": len(readings),
                    "date": datetime.date.today().isoformat(),
                },
                figures=rounded({name: figures[name] for name in reported}),
            )
        )
    return fitted


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
    pieces = []
    for i, reading in enumerate(readings):
        places, contexts = Places(reading.text, 0), heads.Contexts(reading.sample.retrieved_contexts or [])
        token_states, sentences = (
            TokenValues(reading.states.astype(np.float32), reading.ends),
            reading.sentences(),
        )
        parts = [(s, reading.label_of(s, len(sentences)), False) for s in sentences]
        if parts[0][1] < 0:
            parts.append((Sentence(reading.text, 0, len(reading.text)), reading.label, True))
        for part, label, is_whole in parts:
            words, is_marked = split_words(part), reading.wrong is not None
            states = np.array([places.mean(token_states, *word) for word in words], np.float16)
            word_labels = np.array([reading.is_right(*word) if is_marked else -1 for word in words])
            overlap = np.array(contexts.overlap(part.text))
            pieces.append(_Piece(i, label, is_whole, states, word_labels, overlap))
    count = sum(len(piece.words) for piece in pieces)
    mean = sum(piece.words.sum(axis=0, dtype=float) for piece in pieces) / count
    covariance = np.zeros((len(mean), len(mean)))
    for piece in pieces:
        centred = (piece.words - mean).astype(np.float32)
        covariance += centred.T @ centred / count
    scale = np.sqrt(np.diag(covariance)) + 1e-6
    _, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))  # in ascending order
    axes = vectors[:, -COMPONENTS:] / scale[:, None]
    components = (((piece.words - mean) @ axes).astype(np.float32) for piece in pieces)
    return [replace(piece, words=words) for piece, words in zip(pieces, components, strict=True)], mean, axes


def _fit_map(pieces: Sequence[_Piece]) -> _Map:
    """Fit the map that makes the labels of pieces and of words most likely, with a ridge penalty.

    Both labels weigh the same, and all words half as much as all pieces.
    """
    from scipy.optimize import minimize  # type: ignore[import-untyped]

    words, sizes = np.concatenate([x.words for x in pieces]), np.array([len(x.words) for x in pieces])
    starts, piece_of = np.cumsum(sizes) - sizes, np.repeat(np.arange(len(sizes)), sizes)
    labels, word_labels = np.array([x.label for x in pieces]), np.concatenate([x.word_labels for x in pieces])
    weights, word_weights = _balanced(labels), _balanced(word_labels) / 2
    overlaps = np.array([x.overlap for x in pieces])
    overlap_mean, overlap_scale = overlaps.mean(axis=0), (overlaps.std(axis=0) + 1e-6) / OVERLAP
    overlaps = (overlaps - overlap_mean) / overlap_scale
    width, penalty = words.shape[1], 1 / (STRENGTH * (labels >= 0).sum())

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


def _rounded(weights: Array) -> tuple[float, ...]:
    return tuple(float(f"{weight:.4g}") for weight in weights)  # labels determine no more digits


def _soft_minimums(
    logits: Sequence[Sequence[float]], labels: Sequence[int], languages: Sequence[str], which: Array
) -> dict[str, heads.SoftMinimum]:
    """Fit for each language the soft minimum that makes the labels of the answers `which` most likely.

    Only its bias depends on the language.
    """
    from sklearn.linear_model import LogisticRegression

    codes, targets = sorted({languages[i] for i in which}), [labels[i] for i in which]
    indicators = np.array([[float(languages[i] == code) for code in codes] for i in which])
    highest, best = -np.inf, dict[str, heads.SoftMinimum]()
    for sharpness in SHARPNESS:
        minimum = heads.SoftMinimum(sharpness=sharpness, conjunction=True)
        features = np.column_stack([[minimum.of(logits[i]) for i in which], indicators])
        model = LogisticRegression(C=10.0, fit_intercept=False, max_iter=1000).fit(features, targets)
        likelihood = float(model.predict_log_proba(features)[np.arange(len(targets)), targets].mean())
        if likelihood > highest:
            slope, *biases = (round(float(weight), 5) for weight in model.coef_[0])
            highest = likelihood
            best = {
                code: heads.SoftMinimum(
                    sharpness=sharpness, slope=max(slope, LEAST_SLOPE), bias=bias, conjunction=True
                )
                for code, bias in zip(codes, biases, strict=True)
            }
    return best
