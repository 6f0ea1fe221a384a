"""What a caller may choose about the judging, except the model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic.dataclasses import dataclass

from localeval.errors import InputError
from localeval.prompts import Prompt, find_form, is_prompt_text, load_prompt, read_file, text_of
from localeval.system.arguments import STRICT, Number, Settings, Whole
from localeval.text.display import shorten


def _is_text_of_file(value: str) -> bool:
    return value in ("auto", "none") or value.lstrip().startswith("{")


def _file_text(command: str, value: str) -> str:
    """Read a file that `localeval COMMAND` wrote; "auto", "none" and a file's text stay as they are."""
    if _is_text_of_file(value):
        return value
    return read_file(value, f"give one that `localeval {command}` wrote, auto or none")


def _prompt_texts(prompts: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """Check the caller's prompts, and replace paths by the texts of the files."""
    texts: dict[str, dict[str, str]] = {}
    for name, by_language in prompts.items():
        texts[name] = {}
        for language, prompt in by_language.items():
            load_prompt(name, language, prompt)
            texts[name][language] = text_of(prompt)
    return texts


_Path = Annotated[
    str, BeforeValidator(lambda value: os.fspath(value) if isinstance(value, os.PathLike) else value)
]
_Prompts = Mapping[str, Mapping[Literal["en", "zh"], _Path]]


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
        "which is slower and gives other probabilities.",
    )
    explain: bool = Field(
        default=False,
        description="Add a reason to each verdict on a statement of the response that faithfulness counts; "
        "changes no value and no probability.",
    )
    support_by: Literal["auto", "llm", "head", "hhem"] = Field(
        default="auto",
        description="What decides whether a statement is supported: llm asks the judge; hhem uses the "
        "classifier HHEM-2.1-Open; head reads the response with the contexts, and a head decides each of its "
        "sentences, which is faster; auto reads if a head was fitted to many long responses and this one has "
        "three sentences or more and no reference, and else asks.",
    )
    threshold: Number = Field(
        default=0.5, ge=0, le=1, description="Probability from which a verdict counts as yes."
    )
    seed: Whole = Field(default=0, ge=0, le=2**32 - 1, description="Seed of all draws.")
    questions: Whole = Field(
        default=10, ge=1, le=100, description="Questions that answer_relevance draws from the response."
    )
    temperature: Number = Field(default=0.5, ge=0, le=2, description="Of the draws; at 0 they are all equal.")
    relevance: Literal["question", "draws", "ragas"] = Field(
        default="question",
        description="Whose sufficiency counts in answer_relevance: the real question's, each drawn one's, or "
        "the highest of the drawn ones as in ragas, which draws three (--questions 3).",
    )
    mode: Literal["f1", "precision", "recall"] = Field(
        default="f1", description="Kind of factual_correctness; f1 is F-beta."
    )
    beta: Number = Field(
        default=1.0, ge=0.01, le=100, description="Beta of factual_correctness: above 1, recall weighs more."
    )
    prompts: Annotated[_Prompts, AfterValidator(_prompt_texts)] = Field(
        default_factory=dict, description="Judgement -> language -> a prompt file, as its path or its text."
    )
    calibration: Annotated[_Path, AfterValidator(partial(_file_text, "card"))] = Field(
        default="auto",
        description="auto (the shipped one that was fitted for exactly this judge, its prompts and options; "
        "else probabilities stay raw), none, or a file that `localeval card` wrote.",
    )
    head: Annotated[_Path, AfterValidator(partial(_file_text, "fit"))] = Field(
        default="auto",
        description="auto (the shipped one that was fitted for exactly this judge), none (nothing is decided "
        "by reading), or a file that `localeval fit` wrote.",
    )

    @classmethod
    def check_stored(cls, options: Mapping[str, Any]) -> None:
        """Check options that were stored with a run, in which files stand as their texts.

        Raises InputError for the path of a file: whoever wrote a run's folder may name any file, and a reader
        of the folder would open it.

        >>> Options.check_stored({"calibration": "none", "head": "auto"})
        """
        texts = {name: options.get(name, "auto") for name in ("calibration", "head")}
        for name, text in texts.items():
            if not isinstance(text, str) or not _is_text_of_file(text):
                raise InputError(f"{name} is {shorten(repr(text), 60)}, and not the text of a file")
        prompts = options.get("prompts") or {}
        for judgement, by_language in prompts.items():
            for text in by_language.values():
                if not isinstance(text, str) or not is_prompt_text(text):
                    shown = shorten(repr(text), 60)
                    raise InputError(f"the prompt of {shorten(judgement)} is {shown}, and not its text")

    def prompt(self, name: str, language: str) -> Prompt:
        """Load the prompt to use for texts in a language: the caller's, else the built-in one.

        English for a language in which there is none. Raises PromptError for an unknown name.
        """
        code = find_form(name).language_for(language)
        replacements: Any = self.prompts
        return load_prompt(name, code, replacements.get(name, {}).get(code))


DEFAULTS = Options()

# Options that change scores, but no judgement from which a score is computed.
ARITHMETIC = ("threshold", "relevance", "mode", "beta", "calibration")
