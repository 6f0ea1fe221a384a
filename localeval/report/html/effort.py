"""What a run took, by the costs that stand beside its judgements, and what its plan had said."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from localeval.judgements.journal.lines import FILE, cost_in
from localeval.report.html.overview import Effort

_ABOUT = 1.1  # of many samples the plan looks at some, and reckons how many judgements there will be


def effort(folder: Path) -> Effort | None:
    """Seconds and rows of all judgements in a run's folder, beside its plan; None where none is told.

    Judgements that a metric no longer reads are counted too: they were made. Where the folder holds more of
    them than the plan is of (other metrics were added later, say), nothing is told as planned.
    """
    seconds, rows, made = 0.0, 0, 0
    try:
        with (folder / FILE).open("rb") as file:
            for line in file:
                try:
                    cost = cost_in(line)
                    seconds, rows, made = seconds + cost["seconds"], rows + cost["rows"], made + 1
                except (ValueError, KeyError, TypeError):
                    continue  # a damaged line: the journal tells of it
    except OSError:
        return None
    return Effort(seconds, rows, *_planned(folder, made)) if seconds else None


def _planned(folder: Path, made: int) -> tuple[float | None, int | None]:
    """Seconds and rows of `plan.json`, if it is of all the judgements that were made.

    None for what is not there, or can't be read: it moves no score.
    """
    try:
        plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
        if plan.get("kept") or made > _ABOUT * plan.get("to_make", made):
            return None, None
        seconds, rows = plan["seconds"], plan["rows"]
        return (float(seconds) if _told(seconds) else None), (int(rows) if _told(rows) else None)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None, None


def _told(number: Any) -> bool:
    return isinstance(number, int | float) and math.isfinite(number) and number > 0
