"""Labelled answers for a head, and the judge's states of each: computed once, and cached on disk."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from localeval.analysis.labels import check_groups, group, user_column
from localeval.analysis.labels import label as read_label
from localeval.claims.account import extract_claims
from localeval.engine.engine import Engine
from localeval.engine.interface import ContextTooLong, TreeEngine
from localeval.errors import InputError
from localeval.fitted import heads
from localeval.judgements.judged_text import language_of, response_of
from localeval.prompts import LANGUAGES
from localeval.runs.evaluate import Progress
from localeval.samples import Sample
from localeval.system.files import replace_bytes, writing_to
from localeval.text.display import shorten
from localeval.text.sentences import Sentence, has_words

# Labelled answers needed: in total, as a head of fewer learns little more than to count shared words; and in
# each language, for which P(all supported) is fitted separately.
MIN_ANSWERS = 300
MIN_OF_EACH_LABEL = 75
MIN_ANSWERS_OF_LANGUAGE = 100
MIN_OF_EACH_LABEL_OF_LANGUAGE = 25


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

    def sentences(self) -> Sequence[Sentence]:
        return extract_claims(self.text, self.sample.user_input or "") or [
            Sentence(self.text, 0, len(self.text))
        ]

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
    """Return the layer after which to read, `layer` or the architecture's default.

    Raises InputError if it is too high, or the model can't be read.
    """
    if not isinstance(engine, Engine):
        raise InputError("a head is fitted to a model file; load the judge with Judge.load.")
    engine.check_readable()
    layers = engine.layers()
    if layer is not None and layer > layers - 2:
        raise InputError(
            f"--layer is {layer}, but the model has {layers} layers; choose at most {layers - 2}."
        )
    return engine.architecture.default_layer(layers) if layer is None else layer


def labelled(samples: Sequence[Sample], where: str) -> list[Labelled]:
    """Choose the answers in English or Chinese that have contexts to compare them with.

    Raises InputError for an invalid label or marked span, and for too few answers.
    """
    answers = []
    for sample in samples:
        value = read_label(sample, where)
        text = response_of(sample)
        language = language_of(sample)
        if has_words(text) and sample.retrieved_contexts and language in LANGUAGES:
            marked = _marked(sample, where)
            if not marked and value == 0:
                # It is wrong, and nobody marked where.
                marked = None
            answers.append(Labelled(sample, value, group(sample), language, marked))
    check_enough(answers, where)
    return answers


def check_enough(answers: Sequence[Labelled], where: str) -> None:
    """Raise InputError for too few answers, in all or in a language, or if a label has a single group."""
    _check_number(answers, "answers", MIN_ANSWERS, MIN_OF_EACH_LABEL, where)
    for language in LANGUAGES:
        members = [answer for answer in answers if answer.language == language]
        if members:
            name = f"answers in {language}"
            _check_number(members, name, MIN_ANSWERS_OF_LANGUAGE, MIN_OF_EACH_LABEL_OF_LANGUAGE, where)


def _check_number(answers: Sequence[Labelled], what: str, minimum: int, min_of_each: int, where: str) -> None:
    """Raise InputError for too few answers, in all or with a label, or if a label has a single group."""
    wrong = [answer.sample for answer in answers if answer.label == 0]
    right = [answer.sample for answer in answers if answer.label == 1]
    if len(answers) < minimum or min(len(wrong), len(right)) < min_of_each:
        raise InputError(
            f"{where}: {len(right)} {what} with label 1 and {len(wrong)} with label 0 are too few "
            "for a head, which would only learn to count shared words; "
            f"label {minimum}, {min_of_each} of each."
        )
    check_groups(wrong, f"{what} with label 0", where)
    check_groups(right, f"{what} with label 1", where)


def _span_of(mark: object) -> tuple[int, int] | None:
    """Return the start and end of a mark; None where it is no object with both as whole numbers."""
    if not isinstance(mark, dict):
        return None
    start = mark.get("start")
    end = mark.get("end")
    # Not isinstance: True is no place of a text.
    if type(start) is not int or type(end) is not int:
        return None
    return start, end


def _marked(sample: Sample, where: str) -> tuple[tuple[int, int], ...] | None:
    """Return the `hallucination_spans` of the sample, as offsets in the judged part of its response.

    Raises InputError for a span that lies outside of it.
    """
    value = user_column(sample, "hallucination_spans")
    if value is None:
        return None
    text = response_of(sample)
    # The length of the model's reasoning, which is not judged.
    offset = (sample.response or "").rfind(text)
    marks = value if isinstance(value, list) else [value]
    in_response = [span for span in map(_span_of, marks) if span is not None]
    spans = tuple((start - offset, end - offset) for start, end in in_response)
    is_inside = offset >= 0 and all(0 <= start <= end <= len(text) for start, end in spans)
    if len(spans) < len(marks) or (spans and not is_inside):
        raise InputError(
            f"{where}: sample {shorten(sample.id, 40)} has the hallucination_spans "
            f'{shorten(repr(value), 60)}; give spans of its response, as [{{"start": 0, "end": 9}}], after '
            "any reasoning in it."
        )
    return spans


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
    folder = cache / f"{model_sha256[:16]}-{heads.READING}-{layer}"
    with writing_to(folder, "judge's states"):
        folder.mkdir(parents=True, exist_ok=True)
    samples = [answer.sample for answer in answers]
    readings = []
    for done, answer in enumerate(answers, 1):
        with suppress(ContextTooLong):
            states, ends = _states_of(engine, layer, answer, folder)
            readings.append(Reading(**vars(answer), states=states, ends=ends))
        if progress is not None:
            progress(done, samples)
    return readings


def _states_of(
    engine: TreeEngine, layer: int, answer: Labelled, folder: Path
) -> tuple[npt.NDArray[np.float16], tuple[int, ...]]:
    """Return the states of the response's tokens, and where each token ends, from the cache or the engine.

    Raises ContextTooLong.
    """
    context = heads.context_text(answer.sample.retrieved_contexts or [])
    question = heads.question_text(answer.sample.user_input)
    text = "\0".join((context, question, answer.text))
    key = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    file = folder / f"{key[:32]}.safetensors"
    try:
        data = load_file(file)
    except (OSError, SafetensorError):
        result = engine.read(context, question + answer.text, layer)
        offset = len(question.encode("utf-8", "replace"))
        first = result.tokens(offset, offset + 1).start
        states = np.ascontiguousarray(result.values[first:].astype(np.float16))
        data = {"states": states, "ends": np.array(result.ends[first:]) - offset}
        with writing_to(folder, "judge's states"):
            replace_bytes(file, save(data))
    return data["states"], tuple(data["ends"].tolist())
