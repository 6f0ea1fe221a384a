"""What is said of input that can't be used."""

from __future__ import annotations

from collections.abc import Mapping

from localeval.errors import InputError

HUGE = 10**40  # a number beyond is not shown, and is no id: Python prints none of more than 4300 digits


def wrong(where: str, name: str, expected: str, value: object, remedy: str) -> InputError:
    """The error for a value of the wrong type: its type in JSON's words, and at most 40 characters of it."""
    found = f"a {type(value).__name__}"
    if value is None or isinstance(value, bool):
        found = {None: "null", True: "true", False: "false"}[value]
    elif isinstance(value, str):
        found = f'a string "{shown(value, 40)}"'
    elif isinstance(value, (int, float)):
        found = "a huge number" if abs(value) >= HUGE else f"a number {shown(str(value), 40)}"
    elif isinstance(value, (list, tuple)):
        found = f"a list of {len(value)}"
    elif isinstance(value, Mapping):
        found = "an object"
    return InputError(f"{where}: {shown(name)}: expected {expected}, found {found}; {remedy}.")


def shown(text: str, limit: int = 200) -> str:
    """The text fit for a message: no control, format or half characters, and no more than `limit`."""
    short = text if len(text) <= limit else text[: limit - 1] + "…"
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in short)
