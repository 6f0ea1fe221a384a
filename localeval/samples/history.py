"""The messages before the question of a sample: a column of it, in the forms that people keep them in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from localeval.samples.contexts import list_in_python
from localeval.samples.messages import ASSISTANT, USER, Message, read_messages, spoken

HISTORY = "history"
"""The column in which a conversation's earlier messages are kept."""
COLUMNS = (HISTORY, "chat_history")
_PAIR = 2


def history_of(columns: Mapping[str, Any]) -> tuple[Message, ...]:
    """Return what user and assistant wrote before the question; empty where no column holds messages.

    A list of chat messages, or of pairs of a question and its answer, also written as text. Any other column
    of this name is kept, and read by nobody.

    >>> history_of({"history": [{"role": "user", "content": "Who?"}]})
    (Message(role='user', text='Who?'),)
    >>> [message.text for message in history_of({"chat_history": [["Who?", "Ann."]]})]
    ['Who?', 'Ann.']
    >>> history_of({"history": "bought twice"}), history_of({})
    ((), ())
    """
    for name in COLUMNS:
        messages = _messages(columns.get(name))
        if messages:
            return messages
    return ()


def as_column(messages: Iterable[Message]) -> list[dict[str, str]]:
    """Return messages as a sample keeps them: each with its `role`, "user" or "assistant", and `content`."""
    return [{"role": message.role, "content": message.text} for message in messages]


def messages_in_text(text: str) -> Any:
    """Return the messages that a text is in JSON or Python's form, as ragas writes CSV; else the text."""
    stripped = text.strip()
    if not stripped.startswith("[{"):
        return text
    items: Any = None
    with suppress(ValueError, RecursionError):
        items = json.loads(stripped)
    items = items or list_in_python(stripped)
    return text if read_messages(items) is None else items


def _messages(value: Any) -> tuple[Message, ...]:
    if isinstance(value, str):
        value = messages_in_text(value)
    messages = read_messages(value)
    if messages is None and _are_pairs(value):
        messages = [message for question, answer in value for message in _of_pair(question, answer)]
    return spoken(messages or ())


def _of_pair(question: str | None, answer: str | None) -> tuple[Message, Message]:
    return Message(USER, question or ""), Message(ASSISTANT, answer or "")


def _are_pairs(value: Any) -> bool:
    """Return whether it is a list of pairs of texts, as Gradio keeps a chat."""
    return isinstance(value, list | tuple) and all(map(_is_pair, value))


def _is_pair(value: Any) -> bool:
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != _PAIR:
        return False
    return all(text is None or isinstance(text, str) for text in value)
