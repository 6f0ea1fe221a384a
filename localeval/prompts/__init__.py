"""Prompts: texts as TOML files per judgement and language, and how outside text is put into their templates.

A file has names of its own for two parts: `branch` is the context, and `leaves` are the items.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    ValidationError,
)

from localeval.errors import PromptError
from localeval.prompts.prefix import PromptPrefix
from localeval.system.validation import describe
from localeval.text.display import shorten

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LANGUAGES = ("en", "zh")
FENCES = ("documents", "question", "answer", "reference")
_FENCE = re.compile(rf"<(?=\s*/?\s*(?:{'|'.join(FENCES)})\b)", re.IGNORECASE)
_PLACE = re.compile(r"\{(\w+)\}")
_OPTIONAL = {"closest"}  # of a verdict: a prompt may show these sentences again, or not
ANSWERS = {"verdict": ("yes", "no"), "sufficient": ("yes", "no")}  # all other fields of a reply are free


class Example(BaseModel, extra="allow"):
    """A worked example: its items, and as further fields the texts of the context, contexts one by one."""

    __pydantic_extra__: dict[str, str | list[str]]
    items: list[dict[str, Any]] = Field(alias="leaves")


class Prompt(BaseModel):
    """One judgement's prompt in one language: templates with {names}, filled by code.

    context       what stands before all items of a sample
    items         an item's name -> its template
    words         texts that code puts into items
    examples      worked ones, rendered by the same templates as the real thing
    context_once  only the first item of an example shows the context; the others go on its conversation
    sha256        that of the file's text
    """

    model_config = ConfigDict(frozen=True)

    version: Annotated[str, BeforeValidator(str)]
    system: Annotated[str, AfterValidator(str.strip)]
    context: Annotated[str, AfterValidator(lambda text: text.lstrip("\n"))] = Field(alias="branch")
    items: dict[str, Annotated[str, AfterValidator(lambda text: text.rstrip("\n"))]] = Field(alias="leaves")
    words: dict[str, str] = {}
    examples: list[Example] = []
    context_once: StrictBool = Field(default=False, alias="branch_once")
    language: str
    sha256: str

    def render_context(self, /, **texts: str) -> str:
        return fill(self.context, texts)

    def render_item(self, item: str, /, **texts: str) -> str:
        return fill(self.items[item], texts)

    def prefix(self, item: str, schema: type[BaseModel], **others: type[BaseModel]) -> PromptPrefix:
        """Give the instruction with the worked examples, whose replies have the fields of a schema.

        An item of an example is of `item`, with `schema`, unless it names another one (its `leaf`), whose
        schema is in `others`.
        """
        schemas = {item: schema, **others}
        turns = []
        for example in self.examples:
            texts = (example.model_extra or {}).items()
            context = self.render_context(**{k: join(v) if isinstance(v, list) else v for k, v in texts})
            for given in example.items:
                kind = given.get("leaf", item)
                reply = {name: given[name] for name in schemas[kind].model_fields}
                user = (context + self.render_item(kind, **given)).lstrip("\n")
                context = "" if self.context_once else context
                turns.append((user, json.dumps(reply, ensure_ascii=False, separators=(",", ":"))))
        return PromptPrefix(self.system, tuple(turns))


def join(contexts: Sequence[str]) -> str:
    """Join contexts to one text, a newline between them.

    >>> join(["One.", "Two."])
    'One.\\nTwo.'
    """
    return "\n".join(contexts)


def fence(text: str) -> str:
    """Make every fence mark of the prompts in `text` harmless. Fencing it again changes nothing.

    >>> fence("a </documents> b")
    'a ‹/documents> b'
    """
    return _FENCE.sub("‹", text)


def fill(template: str, texts: Mapping[str, str]) -> str:
    """Replace each {name} by the fenced text of that name, in one pass.

    What a text contains is never read as a place again.
    """
    return _PLACE.sub(lambda place: fence(texts[place[1]]), template)


def load(judgement: str, language: str, replacement: str | Path | None = None) -> Prompt:
    """Load the prompt of a judgement ("support") in a language ("en", "zh"), or what the caller gave for it.

    `replacement` is a prompt file's path, or its text. Raises PromptError, with the part that is missing or
    wrong, when it does not have the shape of the built-in one (whose path the message names).
    """
    if replacement is None:
        return _built_in(judgement, language)
    text = text_of(replacement)
    where = "the given prompt" if text == replacement else replacement
    return _replaced(judgement, language, text, f"{where} ({judgement}, {language})")


@lru_cache(maxsize=64)
def _built_in(judgement: str, language: str) -> Prompt:
    text = (resources.files(__package__) / language / f"{judgement}.toml").read_text(encoding="utf-8")
    return _parse(text, f"{judgement}.toml ({language})", language)


def text_of(replacement: str | os.PathLike[str]) -> str:
    """Read a prompt file given as its text or its path. Raises PromptError if that can't be done."""
    if isinstance(replacement, str) and "\n" in replacement:
        return replacement
    try:
        return Path(replacement).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise PromptError(
            f"{shorten(replacement)}: this prompt file can't be read ({shorten(error)}); give a TOML file, "
            "as its path or its text."
        ) from error


def _parse(text: str, where: str, language: str) -> Prompt:
    try:
        data, sha256 = tomllib.loads(text), hashlib.sha256(text.encode()).hexdigest()
        return Prompt.model_validate({**data, "language": language, "sha256": sha256})
    except ValidationError as error:
        raise PromptError(f"{where}: {describe(error)}; copy a built-in one and change it.") from error
    except (ValueError, RecursionError) as error:  # no TOML, or no Unicode, or too deep
        raise PromptError(f"{where}: this is not a TOML prompt file ({shorten(error)}).") from error


@lru_cache(maxsize=64)  # by its text: a file may be edited between two runs of a process
def _replaced(judgement: str, language: str, text: str, where: str) -> Prompt:
    """Read a replaced prompt. Raises PromptError unless it has what the built-in one has, in the same form.

    So no slip in a file is met first in the middle of a run.
    """
    prompt, built_in = _parse(text, where, language), _built_in(judgement, language)
    see = f"see {resources.files(__package__) / language / f'{judgement}.toml'}."
    given, wanted = (
        {"branch": p.context} | {f"leaves.{k}": v for k, v in p.items.items()} for p in (prompt, built_in)
    )
    for name, template in wanted.items():
        if name not in given:
            raise PromptError(f"{where}: {name} is missing; {see}")
        places, found = {*_PLACE.findall(template)}, {*_PLACE.findall(given[name])}
        if not places - _OPTIONAL <= found <= places | (_OPTIONAL if name == "leaves.verdict" else set()):
            listed = ", ".join(f"{{{place}}}" for place in sorted(places))
            raise PromptError(f"{where}: {name} must hold just these places: {listed}; {see}")
    if missing := built_in.words.keys() - prompt.words:
        raise PromptError(f"{where}: words lacks {', '.join(sorted(missing))}; {see}")

    shown = [item for example in built_in.examples for item in example.items]
    named = {item["leaf"] for item in shown if "leaf" in item}
    usual = next(name for name in built_in.items if name not in named)  # what an item is unless it says so
    fields: dict[str, set[str]] = {}  # by kind of item: those that its template or its reply shows
    for item in shown:
        kind = item.get("leaf", usual)
        fields[kind] = {*_PLACE.findall(prompt.items[kind])} | (item.keys() - _OPTIONAL - {"leaf"})
    for number, example in enumerate(prompt.examples, 1):
        at = f"{where}: example {number}"
        if lacking := {*_PLACE.findall(prompt.context)} - (example.model_extra or {}).keys():
            raise PromptError(f"{at}: {min(lacking)} is missing; {see}")
        for place, item in enumerate(example.items, 1):
            at = f"{where}: example {number}, leaf {place}"
            if (kind := item.get("leaf", usual)) not in [*fields]:
                listed = ", ".join(fields)
                raise PromptError(f"{at}: leaf is {shorten(repr(kind), 60)}; choose one of: {listed}.")
            for name in sorted(fields[kind]):
                if not _fits(name, item.get(name)):
                    raise PromptError(f"{at}: {name} is {shorten(repr(item.get(name)), 60)}; {see}")
    return prompt


def _fits(name: str, value: Any) -> bool:
    """Tell whether an example's item may hold the value under that name."""
    if name in ANSWERS:
        return value in ANSWERS[name]
    if name == "statements":
        return isinstance(value, list) and all(isinstance(text, str) for text in value)
    return isinstance(value, str)
