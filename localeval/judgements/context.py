"""What every judgement works with, and what stands in a record's place when it could not be made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict

from localeval.engine.interface import EmbeddingModel, EntailmentModel, TreeEngine
from localeval.prompts.options import Options
from localeval.samples import Sample
from localeval.text.language import language, strip_thinking

if TYPE_CHECKING:
    from localeval.judgements.heads import Head

TextOf = Callable[[Sample], str]


class Record(BaseModel):
    """Root of the records: stable values that the journal keeps as JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Failure(Record):
    """A judgement that could not be made: a reason code, and where it is not enough, what was seen."""

    failed: Literal["context_too_long", "engine_error", "no_head", "worker_lost"]
    detail: str = ""


class NoHead(Exception):
    """A judgement is decided by a head, and none was fitted for the judge in that language."""


@dataclass(frozen=True)
class JudgeContext:
    """The models, the options. Embedder and classifier are opened when a judgement first uses them.

    as_scored    the records as metrics read them: with calibrated probabilities, where a calibration acts
    calibration  that calibration in JSON values, by language
    heads        those that were fitted for this judge, by language
    """

    engine: TreeEngine
    options: Options
    open_embedder: Callable[[], EmbeddingModel]
    open_classifier: Callable[[], EntailmentModel]
    as_scored: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda records: records
    calibration: Mapping[str, Any] = field(default_factory=dict)
    heads: Mapping[str, Head] = field(default_factory=dict)

    @cached_property
    def embedder(self) -> EmbeddingModel:
        return self.open_embedder()

    @cached_property
    def classifier(self) -> EntailmentModel:
        return self.open_classifier()


def response_of(sample: Sample) -> str:
    """Give the response as it is judged: without `<think>...</think>`."""
    return strip_thinking(sample.response or "")[0]


def reference_of(sample: Sample) -> str:
    return sample.reference or ""


def prompt_language(sample: Sample) -> str:
    """Tell the language of the response, which the prompts follow: "en", "zh" or "other"."""
    return language(response_of(sample))
