"""Prompts as TOML files, and how outside text is put into their templates."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    PrivateAttr,
    ValidationError,
)

from localeval.errors import PromptError
from localeval.system.arguments import describe
from localeval.text.display import shorten

FENCES = ("documents", "question", "answer", "reference")
_FENCE = re.compile(rf"<(?=\s*/?\s*(?:{'|'.join(FENCES)})\b)", re.IGNORECASE)
PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class PromptPrefix:
    """The part that is the same for a whole run: the instruction, and examples as (user, assistant) turns."""

    system: str
    examples: tuple[tuple[str, str], ...]


class Example(BaseModel, extra="allow"):
    """A worked example: its items, and as further fields the texts of the context, contexts as a list."""

    __pydantic_extra__: dict[str, str | list[str]]
    items: list[dict[str, Any]]

    def texts(self) -> dict[str, str]:
        """Return the texts of the context by their names; several contexts are joined."""
        extra = self.model_extra or {}
        return {name: join(text) if isinstance(text, list) else text for name, text in extra.items()}


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
        context = self.render_context(**example.texts())
        turns = []
        for item in example.items:
            kind = item.get("item", usual)
            user = (context + self.render_item(kind, **item)).lstrip("\n")
            reply = {name: item[name] for name in fields[kind]}
            turns.append((user, json.dumps(reply, ensure_ascii=False, separators=(",", ":"))))
            if self.context_once:
                context = ""
        return turns

    def placeholders(self) -> dict[str, set[str]]:
        """Return the names that each template has places for: "context" and "items.KIND" -> names."""
        templates = {"context": self.context}
        templates |= {f"items.{kind}": template for kind, template in self.items.items()}
        return {name: set(PLACEHOLDER.findall(template)) for name, template in templates.items()}


PromptBySha256 = Annotated[Prompt, PlainSerializer(lambda prompt: prompt.sha256)]
"""A prompt in the inputs of a judgement, whose digest has the sha256 of the prompt's file."""


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
    return PLACEHOLDER.sub(lambda match: fence(texts[match[1]]), template)


def parse_prompt(text: str, where: str) -> Prompt:
    """Parse the text of a prompt file. Raises PromptError, which names the file by `where`."""
    try:
        sha256 = hashlib.sha256(text.encode()).hexdigest()
        return Prompt.model_validate({**tomllib.loads(text), "sha256": sha256})
    except ValidationError as error:
        raise PromptError(f"{where}: {describe(error)}; copy a built-in one and change it.") from error
    except (ValueError, RecursionError) as error:  # no TOML, or no Unicode, or too deep
        raise PromptError(f"{where}: this is not a TOML prompt file ({shorten(error)}).") from error
