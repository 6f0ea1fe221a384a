"""Chat messages: of OpenAI, LangChain and ragas. Of a conversation the last question is judged."""

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
    """A question, the last answer to it, and what tools returned. None and [] where there is none.

    history  what user and assistant wrote before the question
    """

    question: str | None
    response: str | None
    contexts: list[str]
    history: tuple[Message, ...] = ()


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


def last_turn(messages: Sequence[Message]) -> Turn:
    """Return the last question of a conversation, what was answered to it, and what was said before.

    What tools returned to earlier questions is left out, and so are instructions to the assistant.

    >>> last_turn([Message("system", "Be brief."), Message("user", "Who?"), Message("assistant", "Ann.")])
    Turn(question='Who?', response='Ann.', contexts=[], history=())
    >>> turn = last_turn([Message("user", "Who?"), Message("assistant", "Ann."), Message("user", "Why?")])
    >>> turn.question, turn.response, [message.text for message in turn.history]
    ('Why?', None, ['Who?', 'Ann.'])
    """
    asked = [i for i, message in enumerate(messages) if message.role == USER]
    start = asked[-1] if asked else 0
    last = messages[start:]
    return Turn(
        messages[start].text if asked else None,
        last_answer(last),
        [message.text for message in last if message.role == TOOL and message.text],
        spoken(messages[:start]),
    )


def spoken(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages that user and assistant wrote, without empty ones."""
    return tuple(
        message for message in messages if message.role in (USER, ASSISTANT) and message.text.strip()
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
