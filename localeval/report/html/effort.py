"""What a run took, by the costs that stand beside its judgements in the journal."""

from __future__ import annotations

import json
from pathlib import Path

from localeval.lines import FILE
from localeval.report.html.overview import Effort


def effort(folder: Path) -> Effort | None:
    """Seconds and rows of all judgements in a run's folder; None where none is told.

    Judgements that a metric no longer reads are counted too: they were made.
    """
    seconds, rows = 0.0, 0
    try:
        with (folder / FILE).open("rb") as file:
            for line in file:
                try:
                    cost = json.loads(line)["cost"]
                    seconds, rows = seconds + cost["seconds"], rows + cost["rows"]
                except (ValueError, KeyError, TypeError):
                    continue  # a damaged line: the journal tells of it
    except OSError:
        return None
    return Effort(seconds=seconds, rows=rows) if seconds else None
