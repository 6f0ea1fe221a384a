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
FEWEST, FEWEST_OF_EACH = 300, 75
OF_LANGUAGE = 100, 25


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
        text, value = response_of(sample), read_label(sample, where)
        language = language_of(sample)
        if has_words(text) and sample.retrieved_contexts and language in LANGUAGES:
            marked = _marked(sample, where)
            if not marked and value == 0:
                marked = None  # wrong, and nobody marked where
            answers.append(Labelled(sample, value, group(sample), language, marked))
    check_enough(answers, where)
    return answers


def check_enough(answers: Sequence[Labelled], where: str) -> None:
    """Raise InputError for too few answers, in all or in a language, or if a label has a single group."""
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


def _marked(sample: Sample, where: str) -> tuple[tuple[int, int], ...] | None:
    """Return the `hallucination_spans` of the sample, as offsets in the judged part of its response.

    Raises InputError for a span that lies outside of it.
    """
    value, text = user_column(sample, "hallucination_spans"), response_of(sample)
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
    readings, samples = [], [item.sample for item in answers]
    for done, item in enumerate(answers, 1):
        context = heads.context_text(item.sample.retrieved_contexts or [])
        question = heads.question_text(item.sample.user_input)
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
                with writing_to(folder, "judge's states"):
                    replace_bytes(file, save(data))
            readings.append(Reading(**vars(item), states=data["states"], ends=tuple(data["ends"].tolist())))
        if progress is not None:
            progress(done, samples)
    return readings
