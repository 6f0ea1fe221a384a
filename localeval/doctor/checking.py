"""What a check is, and how all of them are made.

A check takes a `CheckContext`. It returns a description, or raises `Fault` with what is wrong, or
`NotApplicable` where there is nothing to check.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import BaseModel

from localeval.errors import InputError, LocalevalError
from localeval.judge import Judge
from localeval.models.catalog import DEFAULT_CLASSIFIER, DEFAULT_EMBEDDER
from localeval.prompts import PromptPrefix
from localeval.system.offline import attempts
from localeval.text.display import printable, shorten

CheckStatus = Literal["ok", "fault", "absent"]
_MARKS: dict[CheckStatus, str] = {"ok": "ok   ", "fault": "FAULT", "absent": "-    "}


class Fault(Exception):
    """Something is wrong; `remedy` says what to do about it."""

    def __init__(self, description: str, remedy: str) -> None:
        super().__init__(description)
        self.remedy = remedy


class NotApplicable(Exception):
    """There is nothing to check, which need not be a fault."""


def require(condition: bool, description: str, remedy: str) -> str:
    """Return the description; raise it as a Fault if the condition is false."""
    if not condition:
        raise Fault(description, remedy)
    return description


@dataclass(frozen=True)
class Finding:
    """The result of a check: its name and status, what was found, what to do, and the seconds it took."""

    name: str
    status: CheckStatus
    found: str
    remedy: str = ""
    seconds: float = 0.0

    def __str__(self) -> str:
        line = f"{_MARKS[self.status]} {self.name:<13} {self.found}"
        if self.remedy:
            line += f"; {self.remedy}"
        return printable(line)


class FirstReply(BaseModel):
    """The reply that is asked for to see whether the judge replies at all."""

    word: str
    verdict: Literal["yes", "no"]


@dataclass
class CheckContext:
    """What to check: models, threads, and the folder of runs. The judge is loaded once, for all checks."""

    judge_name: str
    embedder: str = DEFAULT_EMBEDDER
    classifier: str = DEFAULT_CLASSIFIER
    threads: int = 0
    folder: Path = Path()
    only: Collection[str] = ()  # names of the checks to make; all for none
    attempts_before: int = field(default_factory=attempts)

    @cached_property
    def loaded(self) -> Judge | LocalevalError:
        """The judge after a first reply, which reads its weights, or the error that loading it raised."""
        try:
            judge = Judge.load(
                self.judge_name, embedder=self.embedder, n_threads=self.threads, cache_prefix=False
            )
            prefix = PromptPrefix("", ())
            judge.engine.generate(prefix, "Tea grows on hills.", ["A word?"], FirstReply, budget=8)
        except LocalevalError as error:
            return error
        return judge

    @property
    def judge(self) -> Judge:
        """The judge. Raises the reason if it can't be loaded; NotApplicable where its own check does."""
        if isinstance(self.loaded, LocalevalError):
            if self.only and "judge" not in self.only:
                raise self.loaded
            raise NotApplicable("the judge can't be loaded: see the check judge")
        return self.loaded

    def close(self) -> None:
        """Close the judge, if it was loaded."""
        judge = vars(self).get("loaded")
        if isinstance(judge, Judge):
            judge.close()


Check: TypeAlias = Callable[[CheckContext], str]

# The checks by name, in the order in which they are made.
CHECKS: dict[str, Check] = {}
_LAST = "offline"  # it counts the attempts of the others


def check(function: Check) -> Check:
    """Register a check under the name of its function, with spaces for underscores."""
    CHECKS[function.__name__.replace("_", " ")] = function
    if _LAST in CHECKS:
        CHECKS[_LAST] = CHECKS.pop(_LAST)
    return function


def examine(context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each check. Raises InputError for an unknown name in `context.only`."""
    unknown = sorted(set(context.only) - CHECKS.keys())
    if unknown:
        raise InputError(f"{unknown[0]!r} is no check; choose from: {', '.join(CHECKS)}.")
    try:
        for name, function in CHECKS.items():
            if not context.only or name in context.only:
                yield _find(name, function, context)
    finally:
        context.close()


def _find(name: str, function: Check, context: CheckContext) -> Finding:
    """Make one check; whatever it raises is a finding."""
    start = time.perf_counter()
    status: CheckStatus = "fault"
    remedy = ""
    try:
        found = function(context)
        status = "ok"
    except NotApplicable as error:
        found = str(error)
        status = "absent"
    except Fault as error:
        found = str(error)
        remedy = error.remedy
    except LocalevalError as error:
        found = str(error)
    except Exception as error:  # noqa: BLE001 (a broken installation may raise anything)
        found = f"the check itself failed ({shorten(repr(error))})"
        remedy = "install it again"
    seconds = time.perf_counter() - start
    return Finding(name, status, found, remedy, round(seconds, 2))
