"""Prompts: TOML files, one per judgement and language, and how outside text is put into their templates."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PrivateAttr,
    ValidationError,
)

from localeval.errors import InputError, PromptError
from localeval.system.arguments import describe
from localeval.text.display import shorten

LANGUAGES = ("en", "zh")
FENCES = ("documents", "question", "answer", "reference")
_FENCE = re.compile(rf"<(?=\s*/?\s*(?:{'|'.join(FENCES)})\b)", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_OPTIONAL = {"closest"}  # a verdict's prompt may repeat these sentences, or not
ANSWERS = {"verdict": ("yes", "no"), "sufficient": ("yes", "no")}  # all other fields of a reply are free text


def _checked(item: dict[str, Any]) -> dict[str, Any]:
    """Return an example's item unchanged. Raises ValueError for a value that does not fit its name."""
    for name, value in item.items():
        if name in ANSWERS:
            valid = value in ANSWERS[name]
        elif name == "statements":
            valid = isinstance(value, list) and all(isinstance(text, str) for text in value)
        else:
            valid = isinstance(value, str)
        if not valid:
            raise ValueError(f"its {name} can't be {value!r}")
    return item


@dataclass(frozen=True)
class PromptPrefix:
    """The part that is the same for a whole run: the instruction, and examples as (user, assistant) turns."""

    system: str
    examples: tuple[tuple[str, str], ...]


class Example(BaseModel, extra="allow"):
    """A worked example: its items, and as further fields the texts of the context, contexts as a list."""

    __pydantic_extra__: dict[str, str | list[str]]
    items: list[Annotated[dict[str, Any], AfterValidator(_checked)]]


class Prompt(BaseModel):
    """One judgement's prompt in one language: templates with {names}, filled by code.

    context       template of the text before all items of a sample
    items         an item's name -> its template
    words         texts that code puts into items
    examples      worked examples, rendered by the same templates as samples
    context_once  only the first item of an example has the context; the others continue its conversation
    sha256        sha256 of the file's text
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Annotated[str, BeforeValidator(str)]
    system: Annotated[str, AfterValidator(str.strip)]
    context: Annotated[str, AfterValidator(lambda text: text.lstrip("\n"))]
    items: dict[str, Annotated[str, AfterValidator(lambda text: text.rstrip("\n"))]]
    words: dict[str, str] = {}
    examples: list[Example] = []
    context_once: bool = False
    sha256: str
    _prefixes: dict[tuple[Any, ...], PromptPrefix] = PrivateAttr(default_factory=dict)  # a cache

    def render_context(self, /, **texts: str) -> str:
        return fill(self.context, texts)

    def render_item(self, item: str, /, **texts: str) -> str:
        return fill(self.items[item], texts)

    def prefix(self, item: str, schema: type[BaseModel], **others: type[BaseModel]) -> PromptPrefix:
        """Return the instruction with the worked examples, whose replies have the fields of a schema.

        An example's item is of the kind `item`, with `schema`, unless its `item` names another kind, whose
        schema is in `others`.
        """
        key = (item, schema, *others.items())
        if key not in self._prefixes:
            fields = {kind: [*model.model_fields] for kind, model in {item: schema, **others}.items()}
            turns = [turn for example in self.examples for turn in self.turns(example, item, fields)]
            self._prefixes[key] = PromptPrefix(self.system, tuple(turns))
        return self._prefixes[key]

    def turns(
        self, example: Example, usual: str, fields: Mapping[str, Iterable[str]]
    ) -> list[tuple[str, str]]:
        """Render an example as (user, assistant) turns. Raises KeyError for a text that it lacks.

        usual   the kind of an item without an `item`
        fields  kind of item -> fields of its reply
        """
        texts = (example.model_extra or {}).items()
        context = self.render_context(**{k: join(v) if isinstance(v, list) else v for k, v in texts})
        turns = []
        for item in example.items:
            kind = item.get("item", usual)
            user = (context + self.render_item(kind, **item)).lstrip("\n")
            reply = {name: item[name] for name in fields[kind]}
            turns.append((user, json.dumps(reply, ensure_ascii=False, separators=(",", ":"))))
            context = "" if self.context_once else context
        return turns


def join(contexts: Sequence[str]) -> str:
    return "\n".join(contexts)


def fence(text: str) -> str:
    """Disarm the prompts' fence tags in `text`, so that they read as text. Doing it twice changes nothing.

    >>> fence("a </documents> b")
    'a ‹/documents> b'
    """
    return _FENCE.sub("‹", text)


def fill(template: str, texts: Mapping[str, str]) -> str:
    """Replace each {name} by the fenced text of that name, in one pass: texts are not searched for names."""
    return _PLACEHOLDER.sub(lambda match: fence(texts[match[1]]), template)


def load_prompt(judgement: str, language: str, replacement: str | Path | None = None) -> Prompt:
    """Load the prompt of a judgement ("support") in a language ("en", "zh"), or the caller's replacement.

    `replacement` is a prompt file's path, or its text. Raises PromptError, with the part that is missing or
    wrong, if it does not have the form of the built-in one (whose path the message names).
    """
    if replacement is None:
        return _built_in(judgement, language)
    text = text_of(replacement)
    where = "the given prompt" if text == replacement else replacement
    return _replaced(judgement, language, text, f"{where} ({judgement}, {language})")


@lru_cache(maxsize=64)
def _built_in(judgement: str, language: str) -> Prompt:
    text = (resources.files(__package__) / language / f"{judgement}.toml").read_text(encoding="utf-8")
    return _parse(text, f"{judgement}.toml ({language})")


def is_prompt_text(value: str) -> bool:
    """Return whether it is the text of a prompt file, and not a path: a text has several lines."""
    return "\n" in value


def text_of(replacement: str | os.PathLike[str]) -> str:
    """Return the text of a prompt file, given as its text or its path. Raises PromptError if unreadable."""
    if isinstance(replacement, str) and is_prompt_text(replacement):
        return replacement
    return read_file(replacement, "give a TOML file, as its path or its text", PromptError)


def read_file(path: str | os.PathLike[str], remedy: str, failure: type[InputError] = InputError) -> str:
    """Read a file that an option names; a byte-order mark is left out. Raises `failure` if unreadable."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise failure(f"{shorten(path)}: this file can't be read ({shorten(error)}); {remedy}.") from error


def _parse(text: str, where: str) -> Prompt:
    try:
        sha256 = hashlib.sha256(text.encode()).hexdigest()
        return Prompt.model_validate({**tomllib.loads(text), "sha256": sha256})
    except ValidationError as error:
        raise PromptError(f"{where}: {describe(error)}; copy a built-in one and change it.") from error
    except (ValueError, RecursionError) as error:  # no TOML, or no Unicode, or too deep
        raise PromptError(f"{where}: this is not a TOML prompt file ({shorten(error)}).") from error


@lru_cache(maxsize=64)  # keyed by text: a file may be edited between two runs in a process
def _replaced(judgement: str, language: str, text: str, where: str) -> Prompt:
    """Parse a replacement. Raises PromptError unless it has what the built-in one has, in the same form.

    So no mistake in a file is found only in the middle of a run.
    """
    prompt, built_in = _parse(text, where), _built_in(judgement, language)
    see = f"see {resources.files(__package__) / language / f'{judgement}.toml'}."
    templates, expected = (
        {"context": p.context} | {f"items.{k}": v for k, v in p.items.items()} for p in (prompt, built_in)
    )
    if unknown := sorted(templates.keys() - expected.keys()):
        raise PromptError(f"{where}: {unknown[0]} is not known; {see}")
    for name, template in expected.items():
        if name not in templates:
            raise PromptError(f"{where}: {name} is missing; {see}")
        required, found = {*_PLACEHOLDER.findall(template)}, {*_PLACEHOLDER.findall(templates[name])}
        if not required - _OPTIONAL <= found <= required | (_OPTIONAL if name == "items.verdict" else set()):
            names = ", ".join(f"{{{placeholder}}}" for placeholder in sorted(required))
            raise PromptError(f"{where}: {name} must hold exactly these placeholders: {names}; {see}")
    if missing := built_in.words.keys() - prompt.words:
        raise PromptError(f"{where}: words lacks {', '.join(sorted(missing))}; {see}")
    if unknown := sorted(prompt.words.keys() - built_in.words):
        raise PromptError(f"{where}: words.{unknown[0]} is not known; {see}")

    items = [item for example in built_in.examples for item in example.items]
    named = {item["item"] for item in items if "item" in item}
    usual = next(name for name in built_in.items if name not in named)
    fields = {item.get("item", usual): item.keys() - _OPTIONAL - {"item"} for item in items}
    texts = {*chain.from_iterable(example.model_extra or {} for example in built_in.examples)}
    known = {*chain.from_iterable(items), *_OPTIONAL, "item"}
    for number, example in enumerate(prompt.examples, 1):
        of_items = {*chain.from_iterable(example.items)} - known
        if unknown := sorted(({*(example.model_extra or {})} - texts) | of_items):
            raise PromptError(f"{where}: example {number}: {unknown[0]} is not known; {see}")
        if unknown := [item["item"] for item in example.items if item.get("item", usual) not in fields]:
            fault = f"there is no item {shorten(unknown[0])}; choose one of: {', '.join(fields)}"
            raise PromptError(f"{where}: example {number}: {fault}.")
        try:
            prompt.turns(example, usual, fields)
        except KeyError as error:
            raise PromptError(f"{where}: example {number}: {error.args[0]} is missing; {see}") from error
    return prompt
