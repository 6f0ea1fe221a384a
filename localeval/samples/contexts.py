"""Read contexts in the forms that people have: lists, documents, arrays, and lists written as text."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from localeval.samples.documents import text_of_document

MAX_LITERAL = (
    200_000  # characters of a list of objects in Python's form; Python's parser needs far more memory
)

_ONE_CONTEXT = "without a list, each read as one context"
_LIST_OF_PYTHON = "with a list in Python's form"

# Lists of texts, of objects, and of documents as Python prints them.
_LIKE_A_LIST = re.compile(
    r"(?:array\()?[\[(]\s*(?:['\"\])]|None\b|nan\b|\{\s*['\"]|(?:Document|NodeWithScore|TextNode)\()"
)
_LIKE_OBJECTS = re.compile(r"[\[(]\s*\{")
# A text in quotes as Python's repr writes it. Between two of them there is a comma, or in the form of numpy
# only space; Python itself would read the latter two as one text.
_ESCAPED = r"""\\(?:['"\\nrt]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})"""
_QUOTED = re.compile(rf"""'(?:[^'\\\n]|{_ESCAPED})*'|"(?:[^"\\\n]|{_ESCAPED})*\"""")
_BETWEEN = re.compile(r"\s*,\s*|\s+")


class ReadContexts(NamedTuple):
    """Contexts, a list of texts if they could be read so, and what was done: a line for each."""

    value: Any
    guesses: tuple[str, ...] = ()


def read_contexts(value: Any) -> ReadContexts:
    """Return a value as contexts: a list, one document, or a text with a list in it, or without.

    Another value is returned as it is. Raises ValueError for a text that begins like a list and is none.

    >>> read_contexts([{"text": "b"}, "c"])
    ReadContexts(value=['b', 'c'], guesses=('with documents, read as their text',))
    """
    guesses: list[str] = []
    if isinstance(value, str):
        value, guess = _contexts_of_text(value)
        if guess:
            guesses.append(guess)
    if isinstance(value, Mapping):
        value = [value]
        if text_of_document(value[0]) is None:
            return ReadContexts(value[0], tuple(guesses))
    if not isinstance(value, list | tuple):
        return ReadContexts(value, tuple(guesses))
    texts: list[Any] = []
    keys: dict[str, None] = {}
    for item in value:
        document = text_of_document(item)
        if document is None:
            texts.append(item)
        else:
            texts.append(document.text)
            keys[document.key] = None
    guesses += [f"with documents, read as their {key}" for key in keys]
    return ReadContexts(texts, tuple(guesses))


def _contexts_of_text(text: str) -> tuple[Any, str]:
    """Return the contexts in a text, and what was done if it is no list in JSON.

    The text may be a list in JSON or in Python's form, as pandas writes it; another text is one context.
    Raises ValueError for a text that begins like a list and is none.

    >>> _contexts_of_text('["b", "c"]'), _contexts_of_text("['b', 'c']")[0], _contexts_of_text("Tea.")[0]
    ((['b', 'c'], ''), ['b', 'c'], ['Tea.'])
    """
    stripped = text.strip()
    if stripped in ("", "null"):
        return None, ""
    if stripped[0] in '[{"':
        with suppress(ValueError, RecursionError):
            value = json.loads(stripped)
            if isinstance(value, str):
                return [value], _ONE_CONTEXT
            return value, ""
    items = list_in_python(stripped)
    if items is not None:
        return items, _LIST_OF_PYTHON
    if _LIKE_A_LIST.match(stripped):
        raise ValueError("it begins like a list, and is none")
    return [text], _ONE_CONTEXT


def list_in_python(text: str) -> list[Any] | None:
    """Return the texts, or the objects, of a list or tuple as Python or numpy prints it; None for another.

    >>> list_in_python("['b', 'c']"), list_in_python("['b' 'c']"), list_in_python("['b', None]")
    (['b', 'c'], ['b', 'c'], None)
    >>> list_in_python("[{'page_content': 'b'}]")
    [{'page_content': 'b'}]
    """
    if text[:1] + text[-1:] not in ("[]", "()"):
        return None
    if _LIKE_OBJECTS.match(text):
        return _objects_in_python(text)
    items = text[1:-1].strip()
    texts: list[str] = []
    position = 0
    while position < len(items):
        quoted = _QUOTED.match(items, position)
        if quoted is None:
            return None
        try:
            texts.append(ast.literal_eval(quoted[0]))
        except (ValueError, SyntaxError):  # an escape beyond the last character
            return None
        position = quoted.end()
        if position < len(items):
            between = _BETWEEN.match(items, position)
            if between is None:
                return None
            position = between.end()
    return texts


def _objects_in_python(text: str) -> list[Any] | None:
    """Return the objects of a list as Python prints it; None for another text, and for a long one."""
    if len(text) > MAX_LITERAL:
        return None
    try:
        with warnings.catch_warnings():
            # An escape that Python does not know stays as it is.
            warnings.simplefilter("ignore")
            value = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return list(value) if isinstance(value, list | tuple) else None
