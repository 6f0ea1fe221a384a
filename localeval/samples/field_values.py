"""Read the value of a field in the forms that people have: numbers, lists of one, documents, messages."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any, NamedTuple

from localeval.errors import InputError
from localeval.samples.contexts import list_in_python, read_contexts
from localeval.samples.guesses import Guesses
from localeval.samples.history import messages_in_text
from localeval.samples.messages import Turn, last_answer, last_turn, read_message, read_messages
from localeval.text.display import shorten

TEXT_FIELDS = ("user_input", "response", "reference")
CONTEXT_FIELDS = ("retrieved_contexts", "reference_contexts")
ID_FIELDS = ("retrieved_ids", "reference_ids")
MAX_EXACT_WHOLE = 2**53  # a larger float is no exact whole number
_LIST_OF_ONE = "with a list of one, read as its text"


class FieldValue(NamedTuple):
    """The value of a field, and the turn of a conversation where it was read from one."""

    value: Any
    turn: Turn | None = None


def read_field(field: str, column: str, value: Any, guesses: Guesses) -> FieldValue:
    """Return a cell as the value of its field; what is not understood as it is, to be refused with its type.

    Raises InputError, without the place, for what is understood and can't be the field.
    """
    if hasattr(value, "tolist"):
        # A number or an array of numpy.
        value = value.tolist()
    if field in CONTEXT_FIELDS:
        return FieldValue(_read_contexts(column, value, guesses))
    if field in ID_FIELDS:
        return FieldValue(_read_ids(column, value, guesses))
    if field not in TEXT_FIELDS:
        return FieldValue(value)
    if type(value) in (int, float):
        guesses.count(column, "with a number, read as its text")
        return FieldValue(text_of_number(value))
    if field == "reference":
        return FieldValue(_read_reference(column, value, guesses))
    return _read_messages(field, column, value, guesses)


def _read_contexts(column: str, value: Any, guesses: Guesses) -> Any:
    try:
        contexts = read_contexts(value)
    except ValueError:
        remedy = 'write the list in JSON, as ["first text", "second text"]'
        raise InputError(f"{column} is {shorten(repr(value), 60)}; {remedy}") from None
    for guess in contexts.guesses:
        guesses.count(column, guess)
    return contexts.value


def _read_ids(column: str, value: Any, guesses: Guesses) -> Any:
    """Return ids as a list of texts: a number as its text, and one id alone as a list.

    >>> _read_ids("reference_ids", [7, "b"], Guesses()), _read_ids("reference_ids", 7.0, Guesses())
    (['7', 'b'], ['7'])
    """
    ids = value
    if isinstance(value, str):
        guesses.count(column, "with a text, read as ids")
        ids = _read_contexts(column, value, Guesses())
    if type(ids) in (int, float):
        ids = [ids]
    if not isinstance(ids, list | tuple):
        return ids
    return [text_of_number(one) if type(one) in (int, float) else one for one in ids]


def _read_reference(column: str, value: Any, guesses: Guesses) -> Any:
    """Return the text of a reference, also of a list of one, as ragas 0.0 and Squad keep it."""
    texts = _list_in_text(value) if isinstance(value, str) else value
    message = read_message(texts)
    if message is not None:
        return message.text
    messages = read_messages(texts)
    if messages is not None:
        return last_answer(messages)
    if not isinstance(texts, list | tuple):
        return value
    if not texts:
        return None
    if len(texts) > 1 and all(isinstance(text, str) for text in texts):
        raise InputError(
            f"{column} holds {len(texts)} texts, and a reference is one; keep one of them, or join them"
        )
    return _text_of_one(column, texts, value, guesses)


def _list_in_text(text: str) -> Any:
    """Return the list of texts that a text is in JSON or Python's form; else the text.

    >>> _list_in_text("['Ann.']"), _list_in_text('["Ann."]'), _list_in_text("[1] Ann.")
    (['Ann.'], ['Ann.'], '[1] Ann.')
    """
    stripped = text.strip()
    if stripped[:2] in ('["', "['"):
        items: Any = None
        with suppress(ValueError, RecursionError):
            items = json.loads(stripped)
        items = items or list_in_python(stripped)
        if items is not None and all(isinstance(item, str) for item in items):
            return items
    return text


def _text_of_one(column: str, items: Any, otherwise: Any, guesses: Guesses) -> Any:
    """Return the text of a list of one text; of another list `otherwise`."""
    if len(items) != 1 or not isinstance(items[0], str):
        return otherwise
    guesses.count(column, _LIST_OF_ONE)
    return items[0]


def _read_messages(field: str, column: str, value: Any, guesses: Guesses) -> FieldValue:
    """Return the question or answer of chat messages, of one message, and of a list of one text."""
    if isinstance(value, str):
        value = messages_in_text(value)
    if isinstance(value, str) or value is None:
        return FieldValue(value)
    messages = read_messages(value)
    if messages is not None:
        turn = last_turn(messages)
        if field == "response":
            # The answer is the last one of any conversation.
            turn = turn._replace(response=last_answer(messages))
        guesses.count(column, "with messages, read as their texts")
        return FieldValue(turn.question if field == "user_input" else turn.response, turn)
    if isinstance(value, list | tuple):
        return FieldValue(_text_of_one(column, value, value, guesses))
    message = read_message(value)
    if message is not None:
        guesses.count(column, "with a message, read as its text")
        return FieldValue(message.text)
    return FieldValue(value)


def text_of_number(value: float) -> str:
    """Write a number as its text, and a whole number without a decimal point.

    >>> text_of_number(1820.0), text_of_number(2.5)
    ('1820', '2.5')
    """
    is_whole = value == value // 1 and abs(value) < MAX_EXACT_WHOLE
    return str(int(value)) if is_whole else str(value)
