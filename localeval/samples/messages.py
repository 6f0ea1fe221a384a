"""Chat messages: of OpenAI, LangChain and ragas. A conversation of one turn is read as that turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

USER = "user"
ASSISTANT = "assistant"
TOOL = "tool"
_ROLES = {
    "user": USER,
    "human": USER,
    "humanmessage": USER,
    "assistant": ASSISTANT,
    "ai": ASSISTANT,
    "aimessage": ASSISTANT,
    "aimessagechunk": ASSISTANT,
    "tool": TOOL,
    "function": TOOL,
    "toolmessage": TOOL,
    "system": "system",
    "systemmessage": "system",
    "developer": "system",
}


class Message(NamedTuple):
    """A message: who wrote it, and its text."""

    role: str
    text: str


class Turn(NamedTuple):
    """A question, the last answer to it, and what tools returned. None and [] where there is none."""

    question: str | None
    response: str | None
    contexts: list[str]


def read_messages(value: Any) -> list[Message] | None:
    """Return the messages of a list; None for anything else, and for an empty list.

    >>> read_messages([{"role": "user", "content": "Who?"}, {"type": "ai", "content": "Ann."}])
    [Message(role='user', text='Who?'), Message(role='assistant', text='Ann.')]
    >>> read_messages(["Who?"]), read_messages([])
    (None, None)
    """
    if not isinstance(value, list | tuple) or not value:
        return None
    messages = [read_message(item) for item in value]
    found = [message for message in messages if message is not None]
    return found if len(found) == len(messages) else None


def read_message(item: Any) -> Message | None:
    """Return a message, an object of JSON or of Python; None for anything else."""
    if isinstance(item, str | int | float | list | tuple):
        return None
    # LangChain keeps the fields in "kwargs" (`dumpd`) or "data" (`messages_to_dict`).
    inner = _member(item, "kwargs") or _member(item, "data")
    role = _role(_member(item, "role")) or _role(_member(item, "type"))
    if role is None:
        path = _member(item, "id")
        if isinstance(inner, Mapping) and isinstance(path, Sequence) and path:
            role = _role(path[-1])
    text = _text(_member(item, "content"))
    if text is None and isinstance(inner, Mapping):
        text = _text(inner.get("content"))
    if role is None or text is None:
        return None
    return Message(role, text)


def turn_of(messages: Sequence[Message]) -> Turn:
    """Return the only turn of a conversation. Raises ValueError where the user asks more than once.

    >>> turn_of([Message("system", "Be brief."), Message("user", "Who?"), Message("assistant", "Ann.")])
    Turn(question='Who?', response='Ann.', contexts=[])
    """
    questions = [message.text for message in messages if message.role == USER]
    if len(questions) > 1:
        raise ValueError(
            f"is a conversation with {len(questions)} questions; write a row for each turn, with its "
            "user_input, response and retrieved_contexts"
        )
    return Turn(
        questions[0] if questions else None,
        last_answer(messages),
        [message.text for message in messages if message.role == TOOL and message.text],
    )


def last_answer(messages: Sequence[Message]) -> str | None:
    """Return the last text of the assistant; None without one."""
    answers = [message.text for message in messages if message.role == ASSISTANT and message.text]
    return answers[-1] if answers else None


def _role(name: Any) -> str | None:
    return _ROLES.get(name.lower()) if isinstance(name, str) else None


def _text(content: Any) -> str | None:
    """Return the text of a message's content: a text, or a list of parts of which some have a text."""
    if isinstance(content, str):
        return content
    if content is None or not isinstance(content, list | tuple):
        return None
    parts = [part if isinstance(part, str) else _member(part, "text") for part in content]
    return "\n".join(part for part in parts if isinstance(part, str))


def _member(item: Any, key: str) -> Any:
    return item.get(key) if isinstance(item, Mapping) else getattr(item, key, None)
