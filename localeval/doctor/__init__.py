"""`localeval doctor`: what of a machine, an installation and its models does not work, and what to do.

A check is a function of what is `Asked`: it returns what it found, raises `Fault` with what is wrong, or
`Absent` where there is nothing to check. The rows, and their order, are in `examine`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from localeval.doctor.asked import Absent, Asked, Fault
from localeval.errors import InputError, LocalevalError
from localeval.text.display import printable, said

Status = Literal["ok", "fault", "absent"]


@dataclass(frozen=True)
class Finding:
    """One row: the check's name, how it went, what was found, what to do, and how long it took."""

    name: str
    status: Status
    found: str
    remedy: str = ""
    seconds: float = 0.0

    def __str__(self) -> str:
        mark = {"ok": "ok   ", "fault": "FAULT", "absent": "-    "}[self.status]
        return printable(f"{mark} {self.name:<13} {self.found}{f'; {self.remedy}' if self.remedy else ''}")

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


Check = Callable[[Asked], str]


def examine(asked: Asked, only: Collection[str] = ()) -> Iterator[Finding]:
    """A finding for each check, or for each of those named in `only`, as it is made.

    Never raises for what it finds; raises InputError for a name that is no check's.

    >>> [f.name for f in examine(Asked("qwen2.5-coder-1.5b")) if f.status == "fault"]    # doctest: +SKIP
    []
    """
    from localeval.doctor import judging, machine, models

    checks: tuple[tuple[str, Check], ...] = (
        ("python", machine.python),
        ("packages", machine.packages),
        ("processor", machine.processor),
        ("disk", machine.disk),
        ("checksums", models.checksums),
        ("splitter", judging.splitter),
        ("memory", machine.memory),  # from here on llama.cpp is in this process, and may end it
        ("judge", judging.judge),
        ("grammar", judging.grammar),
        ("faithfulness", judging.faithfulness),
        ("same bits", judging.same_bits),
        ("embedder", models.embedder),
        ("classifier", models.classifier),
        ("offline", machine.network),  # last: it counts what the others tried
    )
    if unknown := sorted(set(only) - {name for name, _ in checks}):
        names = ", ".join(name for name, _ in checks)
        raise InputError(f"{unknown[0]!r} is no check; choose from: {names}.")
    try:
        for name, check in checks:
            if not only or name in only:
                yield _examined(name, check, asked)
    finally:
        asked.close()


def _examined(name: str, check: Check, asked: Asked) -> Finding:
    start = time.perf_counter()
    status: Status
    try:
        status, found, remedy = "ok", check(asked), ""
    except Absent as error:
        status, found, remedy = "absent", str(error), ""
    except Fault as error:
        status, found, remedy = "fault", str(error), error.remedy
    except LocalevalError as error:  # its sentence holds the remedy
        status, found, remedy = "fault", str(error), ""
    except Exception as error:  # noqa: BLE001 (whatever a broken installation raises is a finding)
        status, found, remedy = "fault", f"the check itself failed ({said(repr(error))})", "install it again"
    return Finding(name, status, found, remedy, round(time.perf_counter() - start, 2))
