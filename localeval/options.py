"""What a caller may choose about the judging, beside the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

from localeval.errors import InputError
from localeval.prompts import LANGUAGES, Prompt, load

StatementsBy = Literal["llm", "sentences"]
VerdictForm = Literal["direct", "reasoned"]


@dataclass(frozen=True)
class Options:
    """Keyword arguments of `evaluate` and `Judge.score`.

    statements  "llm" breaks each sentence of the response into statements; "sentences" takes the
                sentences as they are, which is faster
    verdict     "direct" reads the probability at once; "reasoned" lets the model write a reason first,
                which is slower and has other probabilities
    explain     adds a reason to each verdict; changes no value and no probability
    threshold   the probability from which a statement counts as supported, 0 to 1
    seed        of every draw
    prompts     judgement -> language ("en", "zh") -> a prompt file, as text or path
    """

    statements: StatementsBy = "llm"
    verdict: VerdictForm = "direct"
    explain: bool = False
    threshold: float = 0.5
    seed: int = 0
    prompts: Mapping[str, Mapping[str, str | Path]] = field(default_factory=dict)

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Options:
        """Options from keyword arguments. Raises InputError for an unknown name or a value out of range."""
        known = {f.name for f in fields(cls)}
        if unknown := sorted(set(given) - known):
            raise InputError(f"{unknown[0]} is not an option; choose from: {', '.join(sorted(known))}.")
        options = cls(**given)
        for name, form in (("statements", StatementsBy), ("verdict", VerdictForm)):
            if getattr(options, name) not in get_args(form):
                raise InputError(
                    f"{name} is {getattr(options, name)!r}; choose one of: {', '.join(get_args(form))}."
                )
        if not 0 <= options.threshold <= 1:
            raise InputError(f"threshold is {options.threshold}; choose a probability from 0 to 1.")
        for judgement, by_language in options.prompts.items():
            for language in by_language:
                if judgement not in PROMPTED or language not in LANGUAGES:
                    raise InputError(
                        f"there is no prompt for {judgement!r} in {language!r}; "
                        f"judgements: {', '.join(PROMPTED)}; languages: {', '.join(LANGUAGES)}."
                    )
                options.prompt(judgement, language)
        return options

    def prompt(self, judgement: str, language: str) -> Prompt:
        """The prompt to use: the caller's, else the built-in one. Other languages use the English one."""
        language = language if language in LANGUAGES else "en"
        return load(judgement, language, self.prompts.get(judgement, {}).get(language))


PROMPTED = ("statements", "support", "support_reasoned")
