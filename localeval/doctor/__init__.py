"""`localeval doctor`: check a machine, an installation and its models, and say what to do about each fault.

A check is one function, registered by `@check`: see `checking.py`.
"""

from localeval.doctor import machine_checks, model_checks  # noqa: F401 (they register their checks)
from localeval.doctor.checking import (
    CHECKS,
    CheckContext,
    Fault,
    Finding,
    NotApplicable,
    check,
    examine,
    require,
)

__all__ = [
    "CHECKS",
    "CheckContext",
    "Fault",
    "Finding",
    "NotApplicable",
    "check",
    "examine",
    "require",
]
