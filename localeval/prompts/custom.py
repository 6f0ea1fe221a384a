"""Check a caller's own prompt file, so that no mistake in it is found only in the middle of a run."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from localeval.errors import PromptError
from localeval.prompts.forms import PROMPTS, PromptForm, built_in_prompt, find_form, text_of
from localeval.prompts.template import Example, Prompt, parse_prompt
from localeval.text.display import shorten


def register_prompt(form: PromptForm) -> PromptForm:
    """Make a prompt known by its name. Raises PromptError for a text of its own that lacks a part."""
    for language, text in form.texts.items():
        if isinstance(text, str):
            _check_examples(built_in_prompt(form, language), form, f"the prompt {form.name} ({language})")
    PROMPTS[form.name] = form
    return form


def load_prompt(name: str, language: str, replacement: str | Path | None = None) -> Prompt:
    """Load a prompt ("support") in a language ("en", "zh"), or the caller's replacement.

    `replacement` is a prompt file's path, or its text. Raises PromptError, with the part that is missing or
    wrong, if it does not have the form of the built-in one (whose path the message names).
    """
    form = find_form(name)
    if replacement is None:
        return built_in_prompt(form, language)
    text = text_of(replacement)
    where = "the given prompt" if text == replacement else replacement
    return _checked(form, language, text, f"{where} ({name}, {language})")


@lru_cache(maxsize=64)  # keyed by text: a file may be edited between two runs in a process
def _checked(form: PromptForm, language: str, text: str, where: str) -> Prompt:
    """Parse a replacement. Raises PromptError unless it has what the built-in one has, in the same form."""
    prompt = parse_prompt(text, where)
    _check_templates(prompt, form, language, where)
    _check_words(prompt, form, language, where)
    _check_examples(prompt, form, where, language)
    return prompt


def _check_templates(prompt: Prompt, form: PromptForm, language: str, where: str) -> None:
    """Raise PromptError unless the prompt has just the templates of the built-in one, with its places."""
    see = f"see {form.see(language)}."
    expected = built_in_prompt(form, language).placeholders()
    found = prompt.placeholders()
    if unknown := sorted(found.keys() - expected.keys()):
        raise PromptError(f"{where}: {unknown[0]} is not known; {see}")
    for name, required in expected.items():
        if name not in found:
            raise PromptError(f"{where}: {name} is missing; {see}")
        optional = set(form.optional.get(name.removeprefix("items."), ()))
        if not required - optional <= found[name] <= required | optional:
            names = ", ".join(f"{{{placeholder}}}" for placeholder in sorted(required))
            raise PromptError(f"{where}: {name} must hold exactly these placeholders: {names}; {see}")


def _check_words(prompt: Prompt, form: PromptForm, language: str, where: str) -> None:
    """Raise PromptError unless the prompt has just the words of the built-in one."""
    see = f"see {form.see(language)}."
    expected = built_in_prompt(form, language).words
    if missing := expected.keys() - prompt.words:
        raise PromptError(f"{where}: words lacks {', '.join(sorted(missing))}; {see}")
    if unknown := sorted(prompt.words.keys() - expected):
        raise PromptError(f"{where}: words.{unknown[0]} is not known; {see}")


def _check_examples(prompt: Prompt, form: PromptForm, where: str, language: str = "en") -> None:
    """Raise PromptError for a worked example that can't be rendered, or whose reply is not possible."""
    if not form.replies:
        return
    see = f"see {form.see(language)}."
    usual = next(iter(form.replies))
    fields = {kind: list(schema.model_fields) for kind, schema in form.replies.items()}
    places = built_in_prompt(form, language).placeholders()
    context_names = places.pop("context")
    item_names = {"item", *form.optional_names()}
    item_names.update(*places.values(), *fields.values())
    for number, example in enumerate(prompt.examples, 1):
        unknown_texts = (example.model_extra or {}).keys() - context_names
        unknown_fields = {name for item in example.items for name in item} - item_names
        if unknown := sorted(unknown_texts | unknown_fields):
            raise PromptError(f"{where}: example {number}: {unknown[0]} is not known; {see}")
        for item in example.items:
            kind = item.get("item", usual)
            if kind not in fields:
                kinds = ", ".join(fields)
                raise PromptError(
                    f"{where}: example {number}: there is no item {shorten(kind)}; choose one of: {kinds}."
                )
        _check_values(example, form, f"{where}: example {number}", see)
        try:
            prompt.turns(example, usual, fields)
        except KeyError as error:
            raise PromptError(f"{where}: example {number}: {error.args[0]} is missing; {see}") from error


def _check_values(example: Example, form: PromptForm, where: str, see: str) -> None:
    """Raise PromptError for a value of an item that is no text, or that no reply may have in its field."""
    types = {
        name: field.annotation
        for schema in form.replies.values()
        for name, field in schema.model_fields.items()
    }
    for item in example.items:
        for name, value in item.items():
            if not _is_possible(value, types.get(name, str)):
                raise PromptError(f"{where}: its {name} can't be {shorten(repr(value), 60)}; {see}")


def _is_possible(value: Any, kind: Any) -> bool:
    """Return whether a value is of a field's type: one of its options, a list of texts, or a text.

    >>> _is_possible("no", Literal["yes", "no"]), _is_possible("maybe", Literal["yes", "no"])
    (True, False)
    >>> _is_possible(["Tea grows."], list[str]), _is_possible("Tea grows.", list[str])
    (True, False)
    """
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if get_origin(kind) is list:
        return isinstance(value, list) and all(isinstance(text, str) for text in value)
    return isinstance(value, str)
