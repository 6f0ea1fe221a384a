"""A plan as a table for the terminal, and in the few lines that stand before a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from localeval.report.terminal import new_table, printed
from localeval.text.display import listed

if TYPE_CHECKING:
    from localeval.runs.plan import Plan, Work

MOST_NAMED = 5


def as_text(plan: Plan) -> str:
    """One row a judgement, one for all of them; below it time, memory and what is too long."""
    table = new_table("judgement")
    for column in ("to make", "from the journal", "prompt rows", "reply rows, about", "time, about"):
        table.add_column(column, justify="right")
    for work in plan.work:
        table.add_row(work.judgement, *_cells(work))
    spent = plan.spent
    written = spent.decoded + spent.guessed + spent.forced
    table.add_row()
    kept = sum(work.kept + work.again for work in plan.work)
    whole = (plan.to_make, kept, spent.rows - written, written)
    table.add_row("all", *(f"{number:,}" for number in whole), _time(plan.seconds))
    return "\n".join([*printed(table, 110), "", *_told(plan, "Not measured.")])


def before_a_run(plan: Plan) -> list[str]:
    """Two or three lines: what there is to do, how long it takes, whether it fits."""
    if not plan.to_make and not plan.kept:
        return [f"Plan: nothing is to be judged in {_samples(plan.samples)}; no model is asked."]
    if not plan.to_make:
        return [f"Plan: all judgements of {_samples(plan.samples)} are in the journal; no model is asked."]
    kept = f" ({plan.kept:,} more in the journal)" if plan.kept else ""
    about = "" if plan.looked_at == plan.samples else "about "
    work = f"{_samples(plan.samples)}, {about}{plan.to_make:,} judgements to make{kept}"
    rows = f", about {plan.spent.rows:,} rows" if plan.spent.rows else ""
    return [
        f"Plan: {work}{rows}.",
        *_told(plan, "told after the first samples; --plan measures this machine."),
    ]


def _told(plan: Plan, unknown: str) -> Iterator[str]:
    beside = sorted({work.by for work in plan.work if work.to_make and work.by != "judge"})
    without = f", and the {' and the '.join(beside)} beside" if beside else ""
    known = f"about {_time(plan.seconds)} and some seconds to load the model{without}."
    time = known if plan.seconds is not None else unknown
    yield f"Time: {time}" + (f" {memory}" if (memory := _memory(plan)) else "")
    if plan.windows:
        most = max(plan.windows.values())
        yield f"Contexts read in windows (up to {most}): {_named(plan, list(plan.windows))}."
    if plan.too_long:
        yield f"Too long, and will fail with context_too_long: {_named(plan, plan.too_long)}."
    if plan.looked_at < plan.samples:
        yield f"Reckoned from {plan.looked_at:,} of the {plan.samples:,} samples."


def _cells(work: Work) -> Iterator[str]:
    yield f"{work.to_make:,}"
    yield f"{work.kept + work.again:,}"
    if work.by == "judge":
        written = work.spent.decoded + work.spent.guessed + work.spent.forced
        yield f"{work.spent.rows - written:,}"
        yield f"{written:,}"
        yield _time(work.seconds)
    else:
        yield f"by the {work.by}"


def _memory(plan: Plan) -> str:
    if plan.memory is None:
        return ""
    free = f", {plan.free / 1e9:.1f} GB are free" if plan.free is not None else ""
    enough = "" if plan.fits else ": choose a smaller model or a smaller --n-ctx, or close other programs"
    return f"Memory: {plan.memory / 1e9:.1f} GB needed{free}{enough}."


def _named(plan: Plan, ids: list[str] | tuple[str, ...]) -> str:
    among = "" if plan.looked_at == plan.samples else f" of {plan.looked_at:,}"
    return f"{_samples(len(ids))}{among} ({listed(ids, MOST_NAMED)})"


def _samples(n: int) -> str:
    return f"{n:,} sample" if n == 1 else f"{n:,} samples"


def _time(seconds: float | None) -> str:
    """A length of time as one would say it.

    >>> _time(None), _time(8.2), _time(119.7), _time(200), _time(1300), _time(20000)
    ('-', '8 s', '2 min 0 s', '3 min 20 s', '22 min', '5 h 33 min')
    """
    if seconds is None:
        return "-"
    whole = round(seconds)
    if whole < 100:
        return f"{whole} s"
    if whole < 600:
        return f"{whole // 60} min {whole % 60} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
