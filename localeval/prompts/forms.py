"""The prompts of all judgements: what each must hold, and its built-in text in each language."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from pydantic import BaseModel

from localeval.errors import InputError, PromptError
from localeval.prompts.template import Prompt, parse_prompt
from localeval.text.display import shorten, suggested

LANGUAGES = ("en", "zh")


@dataclass(frozen=True, eq=False)
class PromptForm:
    """A prompt that a judgement uses, declared with the judgement.

    name      by which the option `prompts` and signatures know it
    replies   kind of item -> schema of the reply that its worked examples show; the first is the usual kind
    texts     language ("en", "zh") -> the prompt file, as its path or its text; one language at least. Left
              out for a prompt of this package, which has files in both
    optional  kind of item -> placeholders that a caller's own prompt may have or not
    """

    name: str
    replies: Mapping[str, type[BaseModel]]
    texts: Mapping[str, str | Traversable] = field(default_factory=dict)
    optional: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Find the files of a prompt of this package. Raises InputError without a text in a language."""
        if not self.texts:
            package = resources.files("localeval.prompts")
            files = {code: package / code / f"{self.name}.toml" for code in LANGUAGES}
            object.__setattr__(self, "texts", {code: file for code, file in files.items() if file.is_file()})
        if not self.texts:
            raise InputError(
                f"the prompt {self.name} has no text; give its file in one language at least, as "
                'texts={"en": "my_prompt.toml"}.'
            )
        for language in self.texts:
            if language not in LANGUAGES:
                raise InputError(
                    f"the prompt {self.name} has a text in {shorten(repr(language))}; "
                    f"choose from: {', '.join(LANGUAGES)}."
                )

    def language_for(self, language: str) -> str:
        """Return the language of the prompt for a text in `language`: its own, else English, else the first.

        >>> PromptForm("tone", {}, {"zh": "..."}).language_for("en")
        'zh'
        >>> PromptForm("needed", {}).language_for("other")
        'en'
        """
        for choice in (language, "en"):
            if choice in self.texts:
                return choice
        return next(iter(self.texts))

    def optional_names(self) -> set[str]:
        return {name for names in self.optional.values() for name in names}

    def see(self, language: str) -> str:
        """Name the file from which a caller can copy, for the end of a message."""
        text = self.texts[self.language_for(language)]
        return f"the prompt {self.name}" if isinstance(text, str) and is_prompt_text(text) else str(text)


PROMPTS: dict[str, PromptForm] = {}
"""Name -> form, of the prompts of all registered judgements."""


def find_form(name: str) -> PromptForm:
    """Return the form of a prompt. Raises PromptError for an unknown name."""
    if name not in PROMPTS:
        raise PromptError(f"there is no prompt {shorten(repr(name))}; {suggested(name, list(PROMPTS))}")
    return PROMPTS[name]


@lru_cache(maxsize=64)
def built_in_prompt(form: PromptForm, language: str) -> Prompt:
    """Load the prompt in the language that `language_for` chooses. Raises PromptError for a wrong file."""
    code = form.language_for(language)
    prompt = form.texts[code]
    where = f"{form.name}.toml ({code})"
    if isinstance(prompt, str | os.PathLike):
        return parse_prompt(text_of(prompt), where)
    # A file of an installed package has no path where the package is in a zip archive.
    return parse_prompt(prompt.read_text(encoding="utf-8"), where)


def is_prompt_text(value: str) -> bool:
    """Return whether it is the text of a prompt file, and not a path: a text has several lines."""
    return "\n" in value


def text_of(prompt: str | os.PathLike[str]) -> str:
    """Return the text of a prompt file, given as its text or its path. Raises PromptError if unreadable."""
    if isinstance(prompt, str) and is_prompt_text(prompt):
        return prompt
    return read_file(prompt, "give a TOML file, as its path or its text", PromptError)


def read_file(path: str | os.PathLike[str], remedy: str, failure: type[InputError] = InputError) -> str:
    """Read a file that an option names; a byte-order mark is left out. Raises `failure` if unreadable."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise failure(f"{shorten(path)}: this file can't be read ({shorten(error)}); {remedy}.") from error
