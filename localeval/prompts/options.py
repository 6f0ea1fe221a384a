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

_Prompted = Literal["statements", "support", "support_reasoned", "questions", "needed", "useful"]
PROMPTED = get_args(_Prompted)  # the judgements with a prompt


def _file_text(command: str, given: str) -> str:
    """Read what `localeval COMMAND` wrote, as the file is now; "auto", "none" and a text stay as they are."""
    if given in ("auto", "none") or given.lstrip().startswith("{"):
        return given
    try:
        return Path(given).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError(
            f"{shorten(given)}: this file can't be read ({shorten(error)}); give one that "
            f"`localeval {command}` wrote, auto or none."
        ) from error


def _prompt_texts(given: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """Check the caller's prompts, and read their files as they are now."""
    for judgement, by_language in given.items():
        for language, prompt in by_language.items():
            load(judgement, language, prompt)
    return {name: {own: text_of(prompt) for own, prompt in texts.items()} for name, texts in given.items()}


_Path = Annotated[
    str, BeforeValidator(lambda given: os.fspath(given) if isinstance(given, os.PathLike) else given)
]
_Prompts = Mapping[_Prompted, Mapping[Literal["en", "zh"], _Path]]


@dataclass(frozen=True, config=STRICT)
class Options(Settings):
    """Keyword arguments of `evaluate` and `Judge.score`, and options of the command line, declared once."""

    statements: Literal["llm", "sentences"] = Field(
        default="llm",
        description="llm breaks each sentence of the response into statements; sentences takes them as they "
        "are, which is faster.",
    )
    verdict: Literal["direct", "reasoned"] = Field(
        default="direct",
        description="direct reads the probability at once; reasoned lets the model write a reason first, "
        "which is slower and has other probabilities.",
    )
    explain: bool = Field(
        default=False,
        description="Add a reason to each verdict of the response on the contexts, as faithfulness counts "
        "them; changes no value and no probability.",
    )
    support_by: Literal["auto", "llm", "head", "hhem"] = Field(
        default="auto",
        description="Who decides whether a statement is supported: llm is asked; hhem is the classifier "
        "HHEM-2.1-Open; with head the response is read with the contexts, and a head decides each of its "
        "sentences, which is faster; auto reads where a head was fitted to many long responses, and this one "
        "has three sentences or more and no reference, and else asks.",
    )
    threshold: Number = Field(
        default=0.5, ge=0, le=1, description="Probability from which a verdict counts as yes."
    )
    seed: Whole = Field(default=0, ge=0, le=2**32 - 1, description="Of every draw.")
    questions: Whole = Field(
        default=10, ge=1, le=100, description="Questions that answer_relevance draws from the response."
    )
    temperature: Number = Field(default=0.5, ge=0, le=2, description="Of these draws; at 0 all are the same.")
    relevance: Literal["question", "draws", "ragas"] = Field(
        default="question",
        description="Whose sufficiency counts in answer_relevance: the real question's, each of the draws', "
        "or as in ragas that of any draw; ragas draws three (--questions 3).",
    )
    mode: Literal["f1", "precision", "recall"] = Field(
        default="f1", description="Of factual_correctness; f1 is F-beta."
    )
    beta: Number = Field(
        default=1.0, ge=0.01, le=100, description="Of factual_correctness: above 1, recall weighs more."
    )
    prompts: Annotated[_Prompts, AfterValidator(_prompt_texts)] = Field(
        default_factory=dict, description="Judgement -> language -> a prompt file, as its path or its text."
    )
    calibration: Annotated[_Path, AfterValidator(partial(_file_text, "card"))] = Field(
        default="auto",
        description="auto (the shipped one that was fitted on just this judge, its prompts and options; else "
        "probabilities stay raw), none, or a file that `localeval card` wrote.",
    )
    head: Annotated[_Path, AfterValidator(partial(_file_text, "fit"))] = Field(
        default="auto",
        description="auto (the shipped one that was fitted for just this judge), none (nothing is decided by "
        "reading), or a file that `localeval fit` wrote.",
    )

    def prompt(self, judgement: str, language: str) -> Prompt:
        """Load the prompt to use: the caller's, else the built-in one, in English for other languages."""
        language = language if language in LANGUAGES else "en"
        replaced: Any = self.prompts
        return load(judgement, language, replaced.get(judgement, {}).get(language))


DEFAULTS = Options()

# Those that move scores, and no judgement that a score is computed from.
ARITHMETIC = ("threshold", "relevance", "mode", "beta", "calibration")
