"""What every judgement works with, and what stands in a record's place when it could not be made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict

from localeval.engine.interface import TreeEngine
from localeval.options import Options
from localeval.samples import Sample
from localeval.texts import language, strip_thinking


class Record(BaseModel):
    """Root of the records: stable values that the journal keeps as JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Failure(Record):
    """A judgement that could not be made: a reason code, and where it is not enough, what was seen."""

    failed: Literal["context_too_long", "engine_error"]
    detail: str = ""


@dataclass(frozen=True)
class Desk:
    engine: TreeEngine
    options: Options


def response_of(sample: Sample) -> str:
    """The response as it is judged: without `<think>...</think>`."""
    return strip_thinking(sample.response or "")[0]


def prompt_language(sample: Sample) -> str:
    """The language of the response, which the prompts follow: "en", "zh" or "other"."""
    return language(response_of(sample))
