"""What a caller may choose about the judging, beside the model."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from localeval.errors import InputError
from localeval.prompts import LANGUAGES, Prompt, load, text_of
from localeval.system.arguments import real, whole
from localeval.text.display import said, suggested

StatementsBy = Literal["llm", "sentences"]
VerdictForm = Literal["direct", "reasoned"]
SupportBy = Literal["auto", "llm", "head", "hhem"]
Relevance = Literal["question", "draws", "ragas"]
Mode = Literal["f1", "precision", "recall"]

_FORMS: Mapping[str, Any] = {
    "statements": StatementsBy,
    "verdict": VerdictForm,
    "support_by": SupportBy,
    "relevance": Relevance,
    "mode": Mode,
}
_WHOLE = {"seed": (0, 2**32 - 1), "questions": (1, 100)}
_REAL: Mapping[str, tuple[float, float]] = {"threshold": (0, 1), "temperature": (0, 2), "beta": (0.01, 100)}


@dataclass(frozen=True)
class Options:
    """Keyword arguments of `evaluate` and `Judge.score`.

    statements  "llm" breaks each sentence of the response into statements; "sentences" takes the
                sentences as they are, which is faster
    verdict     "direct" reads the probability at once; "reasoned" lets the model write a reason first,
                which is slower and has other probabilities
    explain     adds a reason to each verdict of the response on the contexts, as faithfulness counts them;
                changes no value and no probability
    support_by  "llm" asks the judge whether a statement is supported, "hhem" the classifier HHEM-2.1-Open;
                with "head" the response is read with the contexts, and each of its sentences is decided by
                a head, which is faster; "auto" does so where a head was fitted to many long responses, and
                this one has three sentences or more and no reference, and else asks the judge
    threshold   the probability from which a verdict counts as yes, 0 to 1
    seed        of every draw, 0 to 2**32 - 1
    questions   how many questions answer_relevance draws from the response, 1 to 100
    temperature of these draws, 0 to 2; at 0 all are the same
    relevance   whose sufficiency counts in answer_relevance: the real "question", each of the "draws", or as
                in "ragas" any draw (which draws three `questions`)
    mode, beta  of factual_correctness: "f1" (F-beta, beta above 0), "precision" or "recall"
    prompts     judgement -> language ("en", "zh") -> a prompt file, as text or path
    calibration "auto" takes the shipped one that was fitted on just this judge, its prompts and options, else
                probabilities stay raw; "none"; or a file that `localeval card` wrote, as path or text
    head        "auto" takes the shipped one that was fitted for just this judge; "none" lets nothing be
                decided by reading; or a file that `localeval fit` wrote, as path or text
    """

    statements: StatementsBy = "llm"
    verdict: VerdictForm = "direct"
    explain: bool = False
    support_by: SupportBy = "auto"
    threshold: float = 0.5
    seed: int = 0
    questions: int = 10
    temperature: float = 0.5
    relevance: Relevance = "question"
    mode: Mode = "f1"
    beta: float = 1.0
    prompts: Mapping[str, Mapping[str, str | Path]] = field(default_factory=dict)
    calibration: str | Path = "auto"
    head: str | Path = "auto"

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Options:
        """Options from keyword arguments. Raises InputError for an unknown name, or a value out of range."""
        known = [f.name for f in fields(cls)]
        if unknown := sorted(set(given) - set(known)):
            raise InputError(f"{unknown[0]} is not an option; {suggested(unknown[0], known)}")
        options = cls(**given)
        for name, form in _FORMS.items():
            if getattr(options, name) not in get_args(form):
                raise InputError(
                    f"{name} is {getattr(options, name)!r}; choose one of: {', '.join(get_args(form))}."
                )
        numbers: dict[str, Any] = {
            name: whole(name, getattr(options, name), *bounds) for name, bounds in _WHOLE.items()
        }
        numbers |= {name: real(name, getattr(options, name), *bounds) for name, bounds in _REAL.items()}
        if not isinstance(options.explain, bool):
            raise InputError(f"explain is {options.explain!r}; choose True or False.")
        files: dict[str, Any] = {name: file_text(name, getattr(options, name)) for name in _FILES}
        return replace(options, prompts=_as_texts(options), **files, **numbers)

    def prompt(self, judgement: str, language: str) -> Prompt:
        """The prompt to use: the caller's, else the built-in one. Other languages use the English one."""
        language = language if language in LANGUAGES else "en"
        return load(judgement, language, self.prompts.get(judgement, {}).get(language))


class FileText(str):
    """The text of a file, which messages name by its path."""

    path: str


def file_text(option: str, given: Any) -> str:
    """A calibration, or heads, as the file is now: its text; "auto", "none" and a text as they are.

    Raises InputError.
    """
    if not isinstance(given, str | os.PathLike):
        raise InputError(
            f'{option} is {given!r}; choose "auto", "none" or a file that '
            f"`localeval {_FILES[option]}` wrote, as its path or its text."
        )
    if isinstance(given, FileText):
        return given
    if isinstance(given, str) and (given in ("auto", "none") or given.lstrip().startswith("{")):
        return given
    try:
        text = FileText(Path(given).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{said(given)}: no {option} can be read there; give the file that "
            f"`localeval {_FILES[option]}` wrote, auto or none."
        ) from error
    text.path = said(given)
    return text


def _as_texts(options: Options) -> dict[str, dict[str, str | Path]]:
    """The caller's prompts as they are now: a file that is edited later changes nothing of these options."""
    found: dict[str, dict[str, str | Path]] = {}
    for judgement, by_language in _of_mapping("prompts", options.prompts):
        for language, given in _of_mapping(f"the prompt for {judgement}", by_language):
            if judgement not in PROMPTED or language not in LANGUAGES:
                raise InputError(
                    f"there is no prompt for {judgement!r} in {language!r}; "
                    f"judgements: {', '.join(PROMPTED)}; languages: {', '.join(LANGUAGES)}."
                )
            if not isinstance(given, str | os.PathLike):
                raise InputError(
                    f"the prompt given for {judgement} ({language}) is {said(repr(given), 60)}; "
                    "give a prompt file, as its path or its text."
                )
            options.prompt(judgement, language)
            found.setdefault(judgement, {})[language] = text_of(given)
    return found


def _of_mapping(name: str, given: Any) -> Iterable[tuple[Any, Any]]:
    if not isinstance(given, Mapping):
        raise InputError(
            f"{name} is {said(repr(given), 60)}; give prompt files by judgement and language, "
            'as {"support": {"en": "my-prompt.toml"}}.'
        )
    return given.items()


DEFAULTS = Options()
_FILES = {"calibration": "card", "head": "fit"}
"""Options that are a file, and the command that writes it."""

ARITHMETIC = ("threshold", "relevance", "mode", "beta", "calibration")
"""Those that move scores and no judgement that a score is computed from."""
PROMPTED = ("statements", "support", "support_reasoned", "questions", "needed", "useful")
