"""What a judgement is: typed inputs, whose digest is the key of its record, and the question to a model."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict

from localeval.auxiliary.models import AuxiliaryModels
from localeval.engine.interface import EmbeddingModel, EntailmentModel, TreeEngine
from localeval.errors import InputError
from localeval.fitted.curves import Curve, Curves
from localeval.fitted.heads import Head
from localeval.fitted.reply_heads import ReplyHeads
from localeval.judgements.decision import Decision, DecisionContext, Kind
from localeval.options import Options
from localeval.prompts import PromptForm, register_prompt
from localeval.samples import Sample
from localeval.system.versions import digest
from localeval.text.display import shorten, suggested

AnsweredBy = Literal["judge", "embedder", "classifier"]
Records = Mapping[str, Any]
"""Judgement -> its record, or the `Failure` that is in its place."""


class Record(BaseModel):
    """Base of the records: frozen values that the journal stores as JSON.

    decides   what its decisions are about
    texts_of  the sample's field of which they decide texts; "" for several, or none
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    decides: ClassVar[Kind] = "other"
    texts_of: ClassVar[str] = ""

    def calibrated(self, curve: Curve) -> Self:  # noqa: ARG002 (for subclasses)
        """Return the record with calibrated probabilities; by default they stay as they are."""
        return self

    def decisions(self, context: DecisionContext) -> tuple[Decision, ...]:  # noqa: ARG002 (for subclasses)
        """List what was decided, in the form that every report reads; by default nothing."""
        return ()

    def column(self, judgement: str) -> str:  # noqa: ARG002 (for subclasses)
        """Return the sample's field of which the judgement of this name decides texts; see `texts_of`."""
        return self.texts_of

    def failure(self) -> str:
        """Return why the judgement failed, or ""."""
        return ""


class Failure(Record):
    """A judgement that could not be made: a reason code, and details where the code is not enough."""

    failed: Literal["context_too_long", "engine_error", "no_head", "timeout", "worker_lost"]
    detail: str = ""

    def failure(self) -> str:
        return self.detail or self.failed


class NoHead(Exception):
    """Raised when a judgement needs a head and none was fitted for the judge in that language."""


class Inputs(BaseModel):
    """All that can change the answer of a judgement, and nothing else. Their digest is in the record's key.

    A prompt counts by the sha256 of its file, and a head by its own: see `PromptBySha256`, `HeadBySha256`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    def sha256(self) -> str:
        """Return the digest of all fields.

        >>> class Question(Inputs):
        ...     text: str
        >>> Question(text="Tea?").sha256() == Question(text="Tee?").sha256()
        False
        """
        return digest(self.model_dump(mode="json"))


@dataclass(frozen=True)
class Choices:
    """What inputs are chosen by, besides the sample. No model is among it: a key needs none.

    heads                 language -> the head that was fitted for this judge; often none
    reply_heads           "prompt/language" -> the head for this judge's replies; often none
    curves                language -> the curve that calibrates this judge; often none
    embedder, classifier  signatures of the auxiliary models; empty where no judgement at hand asks them
    """

    options: Options
    heads: Mapping[str, Head] = field(default_factory=dict)
    reply_heads: ReplyHeads = field(default_factory=dict)
    curves: Curves = field(default_factory=dict)
    embedder: Mapping[str, Any] = field(default_factory=dict)
    classifier: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Models:
    """The models that a judgement may ask; embedder and classifier are loaded when they are first asked."""

    engine: TreeEngine
    auxiliary: AuxiliaryModels

    @property
    def embedder(self) -> EmbeddingModel:
        """The embedder. Raises ModelMissing or ModelBroken."""
        return self.auxiliary.embedder()

    @property
    def classifier(self) -> EntailmentModel:
        """The classifier. Raises ModelMissing or ModelBroken."""
        return self.auxiliary.classifier()


InputsT = TypeVar("InputsT", bound=Inputs)
RecordT = TypeVar("RecordT", bound=Record)


class Judgement(ABC, Generic[InputsT, RecordT]):
    """A question about one sample that is put to a model once, and its answer, which is stored.

    name     by which metrics name it, and under which the journal has its records
    version  to be raised when the same inputs may get another answer
    needs    judgements whose records `inputs` reads
    record   the type of the answer
    prompts  that it may use

    calibrated_by_language_of  the judgement whose record has the language of the curve that calibrates this
                               one's; "" where no curve is fitted to it
    """

    name: str
    version: str
    needs: tuple[str, ...] = ()
    record: type[RecordT]
    prompts: tuple[PromptForm, ...] = ()
    calibrated_by_language_of: str = ""

    @abstractmethod
    def inputs(self, sample: Sample, records: Records, choices: Choices) -> InputsT:
        """Collect all that can change the answer. Cheap; asks no model.

        records  of the judgements in `needs`; none of them is a failure
        """

    @abstractmethod
    def ask(self, inputs: InputsT, models: Models) -> RecordT:
        """Make the record from the inputs alone: neither sample nor options are at hand.

        Raises EngineError where the engine can't answer, and NoHead.
        """

    def answered_by(self, options: Options) -> AnsweredBy:  # noqa: ARG002 (for subclasses)
        """Return the model that answers."""
        return "judge"

    def needs_head(self, options: Options) -> bool:  # noqa: ARG002 (for subclasses)
        """Return whether it can't be made without a head that was fitted for the judge."""
        return False

    def may_use_head(self, options: Options) -> bool:
        """Return whether a head, if there is one, may decide. The signature names the heads then."""
        return self.needs_head(options)


AnyJudgement = Judgement[Any, Any]
J = TypeVar("J", bound=AnyJudgement)

JUDGEMENTS: dict[str, AnyJudgement] = {}
"""The judgements by name, a caller's own included; each after the judgements that it needs."""


def register_judgement(judgement: J) -> J:
    """Add a judgement, so that metrics can name it, and replace one of the same name.

    Raises InputError for a name that is no word, for a need that does not exist, for a record with a field
    `failed`, by which the journal knows failures, and PromptError for a prompt that lacks a part.
    """
    name = judgement.name
    if not re.fullmatch(r"[\w.-]+", name):
        raise InputError(f"{shorten(repr(name))} can't be a judgement's name; choose a word.")
    for needed in judgement.needs:
        if needed not in JUDGEMENTS:
            raise InputError(f"{name} needs the judgement {needed!r}; {suggested(needed, [*JUDGEMENTS])}")
    if "failed" in judgement.record.model_fields:
        raise InputError(
            f"the record of {name} has a field `failed`, as failures have; give it another name."
        )
    for form in judgement.prompts:
        register_prompt(form)
    JUDGEMENTS[name] = judgement
    return judgement


def own_judgements() -> list[AnyJudgement]:
    """Return the registered judgements that are a caller's own, for another process to register.

    Raises InputError for one whose class another process can't find.
    """
    own = [judgement for judgement in JUDGEMENTS.values() if not _is_built_in(judgement)]
    for judgement in own:
        if "<locals>" in type(judgement).__qualname__:
            raise InputError(
                f"workers can't make the judgement {judgement.name}, as its class stands in a function; move "
                "it to the top of its module, or judge without workers."
            )
    return own


def _is_built_in(judgement: AnyJudgement) -> bool:
    return type(judgement).__module__.startswith("localeval.")
