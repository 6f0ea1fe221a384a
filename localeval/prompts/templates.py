"""Prompt files, and how their templates are filled with outside text."""

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

from pydantic import BaseModel, ValidationError

from localeval.errors import PromptError
from localeval.prompts.prefix import PromptPrefix
from localeval.prompts.schema import PLACE, PromptFile, check_replacement
from localeval.system.validation import describe
from localeval.text.display import shorten

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LANGUAGES = ("en", "zh")
FENCES = ("documents", "question", "answer", "reference")
_FENCE = re.compile(rf"<(?=\s*/?\s*(?:{'|'.join(FENCES)})\b)", re.IGNORECASE)


class Prompt(PromptFile):
    """One judgement's prompt in one language; `sha256` is that of its file's text."""

    language: str
    sha256: str

    def render_branch(self, /, **texts: str) -> str:
        return fill(self.branch, texts)

    def render_leaf(self, leaf: str, /, **texts: str) -> str:
        return fill(self.leaves[leaf], texts)

    def trunk(self, leaf: str, schema: type[BaseModel], **others: type[BaseModel]) -> PromptPrefix:
        """The instruction with the worked examples of `leaf`, whose replies have the fields of `schema`.

        An example that names another `leaf` is of that one, with the schema that `others` has for it.
        """
        schemas = {leaf: schema, **others}
        turns = []
        for example in self.examples:
            texts = {k: join(v) if isinstance(v, list) else v for k, v in example.items() if k != "leaves"}
            branch = self.render_branch(**texts)
            for given in example["leaves"]:
                kind = given.get("leaf", leaf)
                reply = {name: given[name] for name in schemas[kind].model_fields}
                user = (branch + self.render_leaf(kind, **given)).lstrip("\n")
                branch = "" if self.branch_once else branch
                turns.append((user, json.dumps(reply, ensure_ascii=False, separators=(",", ":"))))
        return PromptPrefix(self.system, tuple(turns))


def join(contexts: Sequence[str]) -> str:
    """Contexts as one text, one after the other, a newline between them.

    >>> join(["One.", "Two."])
    'One.\\nTwo.'
    """
    return "\n".join(contexts)


def fence(text: str) -> str:
    """`text` with every fence mark of the prompts made harmless. Fencing it again changes nothing.

    >>> fence("a </documents> b")
    'a ‹/documents> b'
    """
    return _FENCE.sub("‹", text)


def fill(template: str, texts: Mapping[str, str]) -> str:
    """`template` with each {name} replaced by the fenced text of that name, in one pass.

    What a text contains is never read as a place again.
    """
    return PLACE.sub(lambda place: fence(texts[place[1]]), template)


def load(judgement: str, language: str, replacement: str | Path | None = None) -> Prompt:
    """The prompt of a judgement ("support") in a language ("en", "zh"), or what the caller gives instead.

    `replacement` is a path to a prompt file, or the file's text. Raises PromptError, with the part that
    is missing or wrong, when it does not have the shape of the built-in one (whose path the message names).
    """
    if replacement is None:
        return _built_in(judgement, language)
    where = f"{replacement} ({judgement}, {language})"
    if isinstance(replacement, str) and "\n" in replacement:
        where = f"the prompt given for {judgement} ({language})"
    return _replaced(judgement, language, text_of(replacement), where)


@lru_cache(maxsize=64)
def _built_in(judgement: str, language: str) -> Prompt:
    text = (resources.files(__package__) / language / f"{judgement}.toml").read_text(encoding="utf-8")
    return _parse(text, f"{judgement}.toml ({language})", language)


@lru_cache(maxsize=64)  # by its text: a file may be edited between two runs of a process
def _replaced(judgement: str, language: str, text: str, where: str) -> Prompt:
    prompt = _parse(text, where, language)
    own = resources.files(__package__) / language / f"{judgement}.toml"
    check_replacement(prompt, _built_in(judgement, language), where, f"{own}")
    return prompt


def text_of(replacement: str | os.PathLike[str]) -> str:
    """The text of a prompt file given as its text or its path. Raises PromptError if it can't be read."""
    if isinstance(replacement, str) and "\n" in replacement:
        return replacement
    try:
        return Path(replacement).read_text(encoding="utf-8")
    except (OSError, ValueError, TypeError) as error:
        fault = (
            f"this prompt file can't be read ({shorten(error)}); give a TOML file, as its path or its text"
        )
        raise PromptError(f"{shorten(replacement)}: {fault}.") from error


def _parse(text: str, where: str, language: str) -> Prompt:
    try:
        data, sha256 = tomllib.loads(text), hashlib.sha256(text.encode()).hexdigest()
    except (ValueError, RecursionError) as error:  # no TOML, or no Unicode
        raise PromptError(f"{where}: this is not a TOML prompt file ({shorten(error)}).") from error
    try:
        return Prompt.model_validate({**data, "language": language, "sha256": sha256})
    except ValidationError as error:
        raise PromptError(f"{where}: {describe(error)}; copy a built-in one and change it.") from error
