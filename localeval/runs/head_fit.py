"""Fitting a head to labelled answers: what the judge holds of each is read once and kept on the disk."""

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
from localeval.judgements.grounding import LONG, Places, words
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

# Labelled answers: in all, as a head of fewer finds little more than shared words again; and of a language,
# for which P(all supported) is fitted apart.
FEWEST, FEWEST_OF_EACH = 300, 75
OF_LANGUAGE = 100, 25
DEPTH = 0.57  # behind which share of its layers a judge is read, unless told: half way up it tells most
# The inverse of how far weights are drawn to 0, and how much less those of an `Overlap` are.
STRENGTH, OVERLAP = 3e-4, 3.0
SHARPNESS = (0.5, 1.0, 2.0, 4.0, 8.0)
MOST_WORDS = 60_000

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Labelled:
    """An answer with its label.

    wrong  places in the response, as (start, end), that people marked; None where nobody was asked to
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
        """Give 1 for a place that nobody marked, else 0."""
        return int(not any(a < end and b > start for a, b in self.wrong or ()))

    def label_of(self, sentence: Sentence, count: int) -> int:
        """Give 1 or 0; -1 where the answer's label does not say it of this one of `count` sentences."""
        if self.label == 1 or self.wrong is not None:
            return self.label or self.is_right(sentence.start, sentence.end)
        return 0 if count == 1 else -1


@dataclass(frozen=True)
class Reading(Labelled):
    """A labelled answer as the judge holds it.

    states  (tokens, width) of the response alone
    ends    where each token ends in it, in bytes
    """

    states: npt.NDArray[np.float16]
    ends: tuple[int, ...]


def layer_of(engine: TreeEngine, given: int | None) -> int:
    """Choose the layer to read behind. Raises InputError for the last one, and beyond."""
    if not isinstance(engine, Engine):
        raise InputError("a head is fitted to a model file; load the judge with Judge.load.")
    layers = engine.layers()
    if given is not None and given > layers - 2:
        raise InputError(
            f"--layer is {given}, but the model has {layers} layers; choose at most {layers - 2}."
        )
    return round(DEPTH * layers) - 1 if given is None else given


def labelled(samples: Sequence[Sample], labels: Sequence[int], where: str) -> list[Labelled]:
    """Take the answers in English or Chinese that have contexts to be held against.

    Raises InputError for a marked place that is none, and for too few answers.
    """
    found = []
    for sample, label in zip(samples, labels, strict=True):
        text = response_of(sample)
        if has_words(text) and sample.retrieved_contexts and language(text) in LANGUAGES:
            marked = _marked(sample, where)
            if not marked and label == 0:
                marked = None  # wrong, and nobody said where
            found.append(Labelled(sample, label, group(sample), language(text), marked))
    for spoken, fewest, of_each in (("", FEWEST, FEWEST_OF_EACH), *((x, *OF_LANGUAGE) for x in LANGUAGES)):
        own = [one for one in found if spoken in ("", one.language)]
        wrong, right = ([one.sample for one in own if one.label == label] for label in (0, 1))
        answers = f"answers in {spoken}" if spoken else "answers"
        if (own or not spoken) and (len(own) < fewest or min(len(wrong), len(right)) < of_each):
            raise InputError(
                f"{where}: {len(right)} {answers} with label 1 and {len(wrong)} with label 0 are too few "
                "for a head, which would only learn to count shared words; "
                f"label {fewest}, {of_each} of each."
            )
        for label, some in enumerate((wrong, right) if own else ()):
            check_groups(some, f"{answers} with label {label}", where)
    return found


def _marked(sample: Sample, where: str) -> tuple[tuple[int, int], ...] | None:
    """Give the places of `hallucination_spans`, in what is judged of the response.

    Raises InputError for what is no place of it.
    """
    given, text = extra(sample, "hallucination_spans"), response_of(sample)
    before = (sample.response or "").rfind(text)  # what the model thought first
    try:
        places = None if given is None else tuple((x["start"] - before, x["end"] - before) for x in given)
    except (TypeError, KeyError):
        places = ((1, 0),)
    if places and (before < 0 or not all(0 <= start <= end <= len(text) for start, end in places)):
        raise InputError(
            f"{where}: sample {shorten(sample.id, 40)} has the hallucination_spans "
            f'{shorten(repr(given), 60)}; give places in its response, as [{{"start": 0, "end": 9}}], behind '
            "what it may have thought."
        )
    return places


def fit(readings: Sequence[Reading], judge: heads.FittedFor, layer: int) -> list[heads.Head]:
    """Fit a head for each language of the answers, with figures of what it does to unseen ones.

    What tells a sentence is fitted to all of them, as what a judge holds is much the same in both languages;
    what tells a whole answer, to those of the language. The figures are cross-validated: an answer is decided
    by what was fitted on other groups. Raises InputError where all answers of a label are of one group.
    """
    labels, groups = [one.label for one in readings], [one.group for one in readings]
    languages = [one.language for one in readings]
    parted = folds(labels, groups)
    if parted is None:
        raise InputError("all answers of a label are of one group; a head needs several.")
    fold = np.asarray(parted)
    states, overlaps, known, of, whole = _sentences(readings)
    unseen = np.zeros(len(of))
    for part in np.unique(fold):
        held = fold[of] == part
        probe = _probe(states[~held], known[~held], overlaps[~held])
        lexical = overlaps[held] @ np.asarray(probe.overlap)
        unseen[held] = states[held].astype(float) @ np.asarray(probe.states) + lexical + probe.bias
    per_answer = [unseen[(of == i) & ~whole] for i in range(len(readings))]
    shares = [0.0] * len(readings)
    for part in np.unique(fold):
        made = _answers(per_answer, labels, languages, np.flatnonzero(fold != part))
        for i in np.flatnonzero(fold == part):
            if languages[i] not in made:
                raise InputError(f"all answers in {languages[i]} are of too few groups; a head needs more.")
            shares[i] = heads.sigmoid(made[languages[i]].of(per_answer[i].tolist()))
    sentence, token = _probe(states, known, overlaps), _token_probe(readings)
    fitted = []
    for tongue, answer in sorted(_answers(per_answer, labels, languages, np.arange(len(labels))).items()):
        own = [i for i, one in enumerate(languages) if one == tongue]
        of_own, p = [labels[i] for i in own], [shares[i] for i in own]
        draws = Bootstrap(of_own, [groups[i] for i in own])
        figures = {"auroc": draws.auroc(p), **draws.decisions([int(share >= 0.5) for share in p])}
        figures |= draws.probabilities(p)
        told = ("auroc", "balanced_accuracy", "f1_0", "calibration_error")
        fitted.append(
            heads.Head(
                judge=judge,
                language=tongue,
                form=heads.FORM,
                layer=layer,
                sentence=sentence,
                token=token,
                answer=answer,
                long_answers=sum(len(per_answer[i]) >= LONG for i in own),
                fitted_on={
                    "labels": len(own),
                    "supported": sum(of_own),
                    "sources": dict(Counter(str(extra(readings[i].sample, "source", "")) for i in own)),
                    "of_all": len(readings),
                    "date": datetime.date.today().isoformat(),
                },
                figures=rounded({name: figures[name] for name in told}),
            )
        )
    return fitted


def _sentences(readings: Sequence[Reading]) -> tuple[Array, ...]:
    """Give states, overlaps, labels (-1 where nobody knows), answers' numbers and `whole`, a row a sentence.

    Where an answer is wrong and nobody knows which of its sentences is, a row of its `whole` stands beside.
    """
    rows = []
    for i, one in enumerate(readings):
        places, contexts = Places(one.text, 0), heads.Contexts(one.sample.retrieved_contexts or [])
        held, sentences = States(one.states.astype(np.float32), one.ends), one.sentences()
        pieces = [(s, one.label_of(s, len(sentences)), False) for s in sentences]
        if pieces[0][1] < 0:
            pieces.append((Sentence(one.text, 0, len(one.text)), one.label, True))
        for piece, label, is_whole in pieces:
            state = places.mean(held, piece.start, piece.end)
            rows.append((state, np.array(contexts.overlap(piece.text)), label, i, is_whole))
    return tuple(map(np.array, zip(*rows, strict=True)))


def _probe(states: Array, labels: Array, overlaps: Array) -> heads.Probe:
    """Fit a ridge logistic regression on scaled numbers, as a map of these as they are."""
    from sklearn.linear_model import LogisticRegression

    both = np.hstack([states, overlaps])[labels >= 0]
    middle, width = both.mean(axis=0), both.std(axis=0) + 1e-6
    width[states.shape[1] :] /= OVERLAP
    fitted = LogisticRegression(C=STRENGTH, class_weight="balanced", max_iter=1000)
    fitted.fit((both - middle) / width, labels[labels >= 0])
    weights = fitted.coef_[0] / width
    bias = round(float(fitted.intercept_[0] - weights @ middle), 5)
    rounded = tuple(float(f"{weight:.4g}") for weight in weights)  # labels can tell no more
    return heads.Probe(states=rounded[: states.shape[1]], overlap=rounded[states.shape[1] :], bias=bias)


def _answers(
    logits: Sequence[Array], labels: Sequence[int], languages: Sequence[str], which: Array
) -> dict[str, heads.SoftMinimum]:
    """Fit by language the soft minimum under which the labels of whole answers (`which`) are likeliest.

    Only its bias is of the language alone.
    """
    from sklearn.linear_model import LogisticRegression

    known, wanted = sorted({languages[i] for i in which}), [labels[i] for i in which]
    of = np.array([[float(languages[i] == own) for own in known] for i in which])
    best, found = -np.inf, dict[str, heads.SoftMinimum]()
    for sharpness in SHARPNESS:
        plain = heads.SoftMinimum(sharpness=sharpness)
        seen = np.column_stack([[plain.of(logits[i].tolist()) for i in which], of])
        fitted = LogisticRegression(C=10.0, fit_intercept=False, max_iter=1000).fit(seen, wanted)
        likely = float(fitted.predict_log_proba(seen)[np.arange(len(wanted)), wanted].mean())
        if likely > best:
            slope, *biases = (round(float(weight), 5) for weight in fitted.coef_[0])
            best = likely
            found = {
                own: heads.SoftMinimum(sharpness=sharpness, slope=slope, bias=bias)
                for own, bias in zip(known, biases, strict=True)
            }
    return found


def _token_probe(readings: Sequence[Reading]) -> heads.Probe | None:
    """Fit P(supported) of a word, where people marked places, to so many words as fit into memory."""
    states: list[npt.NDArray[np.float32]] = []
    labels: list[int] = []
    for i in np.random.default_rng(0).permutation(len(readings)):
        one = readings[i]
        if one.wrong is None or len(labels) >= MOST_WORDS:
            continue
        places, held = Places(one.text, 0), States(one.states, one.ends)
        for sentence in one.sentences():
            for start, end in words(sentence):
                states.append(places.mean(held, start, end).astype(np.float32))
                labels.append(one.is_right(start, end))
    if len(set(labels)) < 2:
        return None
    return _probe(np.array(states), np.array(labels), np.zeros((len(labels), 0)))


def read(
    engine: TreeEngine,
    model_sha256: str,
    layer: int,
    answers: Sequence[Labelled],
    cache: Path,
    progress: Progress | None = None,
) -> list[Reading]:
    """Read every labelled answer with its contexts, or find it in `cache` where it was read before.

    An answer that is too long for the judge's context is left out.
    """
    folder = cache / f"{model_sha256[:16]}-{heads.FORM}-{layer}"
    with writing_to(folder, "judge's states"):
        folder.mkdir(parents=True, exist_ok=True)
    found, samples = [], [one.sample for one in answers]
    for done, one in enumerate(answers, 1):
        context = heads.context_text(one.sample.retrieved_contexts or [])
        asked = heads.question_text(one.sample.user_input or "") + " "
        key = hashlib.sha256("\0".join((context, asked, one.text)).encode("utf-8", "replace")).hexdigest()
        file = folder / f"{key[:32]}.safetensors"
        with suppress(ContextTooLong):
            try:
                held = load_file(file)
            except (OSError, SafetensorError):
                read = engine.read(context, asked + one.text, layer)
                before = len(asked.encode("utf-8", "replace"))
                first = read.tokens(before, before + 1).start
                states = np.ascontiguousarray(read.values[first:].astype(np.float16))
                held = {"states": states, "ends": np.array(read.ends[first:]) - before}
                with writing_to(file, "judge's states"):
                    save_file(held, part := file.with_suffix(".part"))
                    part.replace(file)  # whole or not at all
            found.append(Reading(**vars(one), states=held["states"], ends=tuple(held["ends"].tolist())))
        if progress is not None:
            progress(done, samples)
    return found
