"""What a caller may choose about the judging, beside the model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic.dataclasses import dataclass

from localeval.errors import InputError
from localeval.prompts import LANGUAGES, Prompt, load, text_of
from localeval.system.arguments import STRICT, Number, Settings, Whole
from localeval.text.display import shorten

StatementsBy = Literal["llm", "sentences"]
VerdictForm = Literal["direct", "reasoned"]
SupportBy = Literal["auto", "llm", "head", "hhem"]
Relevance = Literal["question", "draws", "ragas"]
Mode = Literal["f1", "precision", "recall"]
_Prompted = Literal["statements", "support", "support_reasoned", "questions", "needed", "useful"]
PROMPTED = get_args(_Prompted)
"""The judgements with a prompt."""

_WRITTEN_BY = {"calibration": "card", "head": "fit"}
"""Options that are a file, and the command that writes it."""


class FileText(str):
    """The text of a file, which messages name by its path."""

    path: str


def file_text(option: str, given: str | os.PathLike[str]) -> str:
    """Read a calibration, or heads, as the file is now; "auto", "none" and a text stay as they are.

    Raises InputError.
    """
    if isinstance(given, FileText):
        return given
    if isinstance(given, str) and (given in ("auto", "none") or given.lstrip().startswith("{")):
        return given
    try:
        text = FileText(Path(given).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{shorten(given)}: no {option} can be read there; give the file that "
            f"`localeval {_WRITTEN_BY[option]}` wrote, auto or none."
        ) from error
    text.path = shorten(given)
    return text


def _prompt_texts(given: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """Read the caller's prompts as they are now: a file that is edited later changes nothing here."""
    texts: dict[str, dict[str, str]] = {}
    for judgement, by_language in given.items():
        texts[judgement] = {}
        for language, prompt in by_language.items():
            load(judgement, language, prompt)  # raises PromptError, which names the file
            texts[judgement][language] = text_of(prompt)
    return texts


def _fspath(given: Any) -> Any:
    return os.fspath(given) if isinstance(given, os.PathLike) else given


_Prompts = Mapping[_Prompted, Mapping[Literal["en", "zh"], Annotated[str, BeforeValidator(_fspath)]]]
_Calibration = Annotated[str, BeforeValidator(_fspath), AfterValidator(partial(file_text, "calibration"))]
_Head = Annotated[str, BeforeValidator(_fspath), AfterValidator(partial(file_text, "head"))]


@dataclass(frozen=True, config=STRICT)
class Options(Settings):
    """Keyword arguments of `evaluate` and `Judge.score`, and options of the command line.

    Each is declared here once: its default, its bounds, and what it means.
    """

    statements: Annotated[
        StatementsBy,
        Field(
            description="llm breaks each sentence of the response into statements; sentences takes them as "
            "they are, which is faster."
        ),
    ] = "llm"
    verdict: Annotated[
        VerdictForm,
        Field(
            description="direct reads the probability at once; reasoned lets the model write a reason first, "
            "which is slower and has other probabilities."
        ),
    ] = "direct"
    explain: Annotated[
        bool,
        Field(
            description="Add a reason to each verdict of the response on the contexts, as faithfulness "
            "counts them; changes no value and no probability."
        ),
    ] = False
    support_by: Annotated[
        SupportBy,
        Field(
            description="Who decides whether a statement is supported: llm is asked; hhem is the classifier "
            "HHEM-2.1-Open; with head the response is read with the contexts, and a head decides each of its "
            "sentences, which is faster; auto reads where a head was fitted to many long responses, and this "
            "one has three sentences or more and no reference, and else asks."
        ),
    ] = "auto"
    threshold: Annotated[
        Number, Field(ge=0, le=1, description="Probability from which a verdict counts as yes.")
    ] = 0.5
    seed: Annotated[Whole, Field(ge=0, le=2**32 - 1, description="Of every draw.")] = 0
    questions: Annotated[
        Whole, Field(ge=1, le=100, description="Questions that answer_relevance draws from the response.")
    ] = 10
    temperature: Annotated[
        Number, Field(ge=0, le=2, description="Of these draws; at 0 all are the same.")
    ] = 0.5
    relevance: Annotated[
        Relevance,
        Field(
            description="Whose sufficiency counts in answer_relevance: the real question's, each of the "
            "draws', or as in ragas that of any draw (which draws three questions)."
        ),
    ] = "question"
    mode: Annotated[Mode, Field(description="Of factual_correctness; f1 is F-beta.")] = "f1"
    beta: Annotated[
        Number, Field(ge=0.01, le=100, description="Of factual_correctness: above 1, recall weighs more.")
    ] = 1.0
    prompts: Annotated[
        _Prompts,
        AfterValidator(_prompt_texts),
        Field(description="Judgement -> language -> a prompt file, as its path or its text."),
    ] = Field(default_factory=dict)
    calibration: Annotated[
        _Calibration,
        Field(
            description="auto (the shipped one that was fitted on just this judge, its prompts and options; "
            "else probabilities stay raw), none, or a file that `localeval card` wrote."
        ),
    ] = "auto"
    head: Annotated[
        _Head,
        Field(
            description="auto (the shipped one that was fitted for just this judge), none (nothing is "
            "decided by reading), or a file that `localeval fit` wrote."
        ),
    ] = "auto"

    def prompt(self, judgement: str, language: str) -> Prompt:
        """Load the prompt to use: the caller's, else the built-in one, in English for other languages."""
        language = language if language in LANGUAGES else "en"
        replaced: Any = self.prompts
        return load(judgement, language, replaced.get(judgement, {}).get(language))


DEFAULTS = Options()

ARITHMETIC = ("threshold", "relevance", "mode", "beta", "calibration")
"""Those that move scores and no judgement that a score is computed from."""
