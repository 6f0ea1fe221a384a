"""What the judgements of a run cost: time and tokens, which the journal has beside each record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from localeval.judgements.journal import JOURNAL, JournalFile
from localeval.report.text import new_table, printed
from localeval.runs.folder import load


@dataclass
class JudgementCost:
    """The cost of all records of one judgement.

    seconds  in which they were made, without loading models
    tokens   that the judge's model read and wrote for them
    """

    number: int = 0
    seconds: float = 0.0
    tokens: int = 0

    def add(self, other: JudgementCost) -> None:
        self.number += other.number
        self.seconds += other.seconds
        self.tokens += other.tokens


def judgement_costs(folder: Path) -> dict[str, JudgementCost]:
    """Return the cost of each judgement of a finished run; a record of several samples counts once.

    Raises InputError for a folder without a finished run.
    """
    journal = JournalFile(folder / JOURNAL)
    costs: dict[str, JudgementCost] = {}
    seen: set[str] = set()
    for result in load(folder).samples:
        for key in result.keys.values():
            if key in seen:
                continue
            seen.add(key)
            entry = journal.entry(key)
            if entry is not None:
                cost = entry["cost"]
                one = JudgementCost(1, float(cost["seconds"]), int(cost["tokens"]))
                costs.setdefault(entry["judgement"], JudgementCost()).add(one)
    return costs


def cost_table(costs: Mapping[str, JudgementCost]) -> str:
    """Show a row per judgement, and one for the total.

    >>> print(cost_table({"statements": JudgementCost(2, 3.2, 1200), "support": JudgementCost(4, 6.5, 800)}))
    judgement    number   seconds   tokens
    ──────────────────────────────────────
    statements        2       3.2    1,200
    support           4       6.5      800
    <BLANKLINE>
    all               6       9.7    2,000
    """
    table = new_table("judgement", "number", "seconds", "tokens")
    total = JudgementCost()
    for name, cost in costs.items():
        total.add(cost)
        table.add_row(name, *_cells(cost))
    table.add_row()
    table.add_row("all", *_cells(total))
    return "\n".join(printed(table, 110))


def _cells(cost: JudgementCost) -> list[str]:
    return [f"{cost.number:,}", f"{cost.seconds:,.1f}", f"{cost.tokens:,}"]
