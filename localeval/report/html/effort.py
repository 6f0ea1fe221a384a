"""What a run took, by the costs that stand beside its judgements, and what its plan had said."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from localeval.journal.lines import FILE, cost_in
from localeval.plan import FILE as PLAN
from localeval.report.html.overview import Effort


def effort(folder: Path) -> Effort | None:
    """Seconds and rows of all judgements in a run's folder, beside its plan; None where none is told.

    Judgements that a metric no longer reads are counted too: they were made.
    """
    seconds, rows = 0.0, 0
    try:
        with (folder / FILE).open("rb") as file:
            for line in file:
                try:
                    cost = cost_in(line)
                    seconds, rows = seconds + cost["seconds"], rows + cost["rows"]
                except (ValueError, KeyError, TypeError):
                    continue  # a damaged line: the journal tells of it
    except OSError:
        return None
    return Effort(seconds, rows, *_planned(folder)) if seconds else None


def _planned(folder: Path) -> tuple[float | None, int | None]:
    """Seconds and rows of `plan.json`; None for what is not there, or can't be read: it moves no score."""
    try:
        plan = json.loads((folder / PLAN).read_text(encoding="utf-8"))
        seconds, rows = plan["seconds"], plan["rows"]
        return (float(seconds) if _told(seconds) else None), (int(rows) if _told(rows) else None)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None, None


def _told(number: Any) -> bool:
    return isinstance(number, int | float) and math.isfinite(number) and number > 0
