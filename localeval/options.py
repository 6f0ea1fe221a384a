"""What a caller may choose about the judging, except the model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass as plain_dataclass
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic.dataclasses import dataclass
from pydantic.fields import FieldInfo

from localeval.errors import InputError
from localeval.prompts import Prompt, find_form, is_prompt_text, load_prompt, read_file, text_of
from localeval.prompts.criteria import Criterion, as_criteria
from localeval.system.arguments import STRICT, Int, Number, Settings
from localeval.text.display import shorten


def _is_text_of_file(value: str) -> bool:
    return value in ("auto", "none") or value.lstrip().startswith("{")


# Command -> what is in the file that it writes for an option.
_WRITTEN_BY = {"card": "calibrations", "fit": "heads"}


def _file_text(command: str, value: str) -> str:
    """Read a file that `localeval COMMAND` wrote; "auto", "none" and a file's text stay as they are.

    Raises InputError for a file that can't be read, and for a text that is no JSON object.
    """
    if _is_text_of_file(value):
        return value
    remedy = f"give one that `localeval {command}` wrote, auto or none"
    text = read_file(value, remedy)
    # Options are read again where one of them is replaced: what is taken here must be a file's text there.
    if not text.lstrip().startswith("{"):
        raise InputError(f"{shorten(value)}: this is no file of {_WRITTEN_BY[command]}; {remedy}.")
    return text


def _prompt_texts(prompts: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """Check the caller's prompts, and replace paths by the texts of the files."""
    texts: dict[str, dict[str, str]] = {}
    for name, by_language in prompts.items():
        texts[name] = {}
        for language, prompt in by_language.items():
            load_prompt(name, language, prompt)
            texts[name][language] = text_of(prompt)
    return texts


def _path_text(value: object) -> object:
    return os.fspath(value) if isinstance(value, os.PathLike) else value


_Criteria = Annotated[tuple[Criterion, ...], BeforeValidator(as_criteria)]
_Path = Annotated[str, BeforeValidator(_path_text)]
_Prompts = Mapping[str, Mapping[Literal["en", "zh"], _Path]]


def _check_stored_prompt(judgement: str, text: object) -> None:
    """Raise InputError where the prompt that was stored with a run is not the text of a prompt file."""
    if not isinstance(text, str) or not is_prompt_text(text):
        shown = shorten(repr(text), 60)
        raise InputError(f"the prompt of {shorten(judgement)} is {shown}, and not its text")


@plain_dataclass(frozen=True)
class Use:
    """Where an option counts, as a part of its field's type.

    only_arithmetic  it changes scores, but no judgement from which a score is computed: `rescore` takes it
    in_signature     the signature has it; else other fields of the signature cover it, or it changes no score
    on_command_line  the commands that judge have it
    """

    only_arithmetic: bool = False
    in_signature: bool = True
    on_command_line: bool = True


_ONLY_ARITHMETIC = Use(only_arithmetic=True)
_NOT_IN_SIGNATURE = Use(in_signature=False)


@dataclass(frozen=True, config=STRICT)
class Options(Settings):
    """Keyword arguments of `evaluate` and `Judge.score`.

    An option is declared here alone: the commands' options, the tables of the pages, what `rescore` takes and
    what a signature has are made from these fields (see `Use`).
    """

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
    explain: Annotated[bool, _NOT_IN_SIGNATURE] = Field(
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
    threshold: Annotated[Number, _ONLY_ARITHMETIC] = Field(
        default=0.5, ge=0, le=1, description="Probability from which a verdict counts as yes."
    )
    seed: Int = Field(default=0, ge=0, le=2**32 - 1, description="Seed of all draws.")
    questions: Int = Field(
        default=10, ge=1, le=100, description="Questions that answer_relevance draws from the response."
    )
    temperature: Number = Field(
        default=0.5, ge=0, le=2, description="Temperature of these draws; at 0 they are all equal."
    )
    relevance: Annotated[Literal["question", "draws", "ragas"], _ONLY_ARITHMETIC] = Field(
        default="question",
        description="Whose sufficiency counts in answer_relevance: the real question's, each drawn one's, or "
        "the highest of the drawn ones as in ragas, which draws three (--questions 3).",
    )
    mode: Annotated[Literal["f1", "precision", "recall"], _ONLY_ARITHMETIC] = Field(
        default="f1", description="Kind of factual_correctness; f1 is F-beta."
    )
    beta: Annotated[Number, _ONLY_ARITHMETIC] = Field(
        default=1.0, ge=0.01, le=100, description="Beta of factual_correctness: above 1, recall weighs more."
    )
    retrieval_k: Annotated[Int, _ONLY_ARITHMETIC] = Field(
        default=5,
        ge=1,
        le=1000,
        description="Retrieved texts that count in the metrics of retrieval but map.",
    )
    pairs: Int = Field(
        default=30,
        ge=1,
        description="Pairs of responses that response_consistency compares: with more, each response is "
        "compared with fewer others, but with one at least.",
    )
    prompts: Annotated[
        _Prompts, AfterValidator(_prompt_texts), Use(in_signature=False, on_command_line=False)
    ] = Field(
        default_factory=dict, description="Judgement -> language -> a prompt file, as its path or its text."
    )
    criteria: Annotated[_Criteria, _NOT_IN_SIGNATURE] = Field(
        default=(),
        description="TOML file of questions of your own, each of which makes a metric; may be given several "
        "times.",
    )
    calibration: Annotated[
        _Path,
        AfterValidator(partial(_file_text, "card")),
        Use(only_arithmetic=True, in_signature=False),
    ] = Field(
        default="auto",
        description="auto (the shipped one that was fitted for exactly this judge, its prompts and options; "
        "else probabilities stay raw), none, or a file that `localeval card` wrote.",
    )
    head: Annotated[_Path, AfterValidator(partial(_file_text, "fit")), _NOT_IN_SIGNATURE] = Field(
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
        for name in ("calibration", "head"):
            text = options.get(name, "auto")
            if not isinstance(text, str) or not _is_text_of_file(text):
                raise InputError(f"{name} is {shorten(repr(text), 60)}, and not the text of a file")
        for criterion in options.get("criteria") or ():
            if isinstance(criterion, str):
                raise InputError(f"a criterion is {shorten(repr(criterion), 60)}, and not its fields")
        for judgement, by_language in (options.get("prompts") or {}).items():
            for text in by_language.values():
                _check_stored_prompt(judgement, text)

    def prompt(self, name: str, language: str) -> Prompt:
        """Load the prompt to use for texts in a language: the caller's, else the built-in one.

        English for a language in which there is none. Raises PromptError for an unknown name.
        """
        code = find_form(name).language_for(language)
        replacements: Any = self.prompts
        return load_prompt(name, code, replacements.get(name, {}).get(code))


DEFAULTS = Options()


def option_fields() -> dict[str, FieldInfo]:
    """Return name -> field, with type, default and description, in the order of their declaration."""
    fields: dict[str, FieldInfo] = vars(Options)["__pydantic_fields__"]
    return fields


def use_of(name: str) -> Use:
    """Return where the option counts.

    >>> use_of("calibration")
    Use(only_arithmetic=True, in_signature=False, on_command_line=True)
    """
    uses = [item for item in option_fields()[name].metadata if isinstance(item, Use)]
    return uses[0] if uses else Use()


ARITHMETIC = tuple(name for name in option_fields() if use_of(name).only_arithmetic)
"""The options that change scores, but no judgement from which a score is computed."""
