"""Files of a run that are there, and are not of the form that this version writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import ValidationError

from localeval.errors import InputError
from localeval.texts import said

AGAIN = "give the run's `evaluate` command again, which asks the model for nothing that is in the journal."


def not_of_the_form(what: str, why: str, remedy: str = AGAIN) -> InputError:
    """The error that says so; `what` is the subject of its sentence."""
    return InputError(f"{what} was made by another version or changed by hand ({why}); {remedy}")


@contextmanager
def reading(what: str, remedy: str = AGAIN) -> Iterator[None]:
    """What is read and taken apart in it: what is missing or of another type becomes that error."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise not_of_the_form(what, _why(error), remedy) from error


def _why(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        return said(": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"]))))
    if isinstance(error, KeyError):
        return f"{said(error, 60)} is missing"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return said(error, 120) if isinstance(error, ValueError) else "its parts are of other types"
