"""Judge samples one by one and compare the time with the cost of their tokens on this machine."""

from __future__ import annotations

import json
import platform
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table

from localeval import Judge, read_samples
from localeval.engine.benchmark import Speed, measure
from localeval.engine.interface import TokenUsage
from localeval.engine.probe import probe_model
from localeval.engine.settings import EngineSettings
from localeval.models import resolve
from localeval.models.catalog import DEFAULT_JUDGE
from localeval.runs.evaluate import evaluate

# Tokens that typically precede another one: a prefix of worked examples and half a context.
BEHIND = 1500


@dataclass(frozen=True)
class Line:
    """One sample, or several together: name, tokens computed, and wall time in seconds."""

    name: str
    spent: TokenUsage
    wall: float

    def figures(self, speed: Speed) -> dict[str, Any]:
        tokens = self.spent.total - self.spent.prefix
        floor = speed.cost(self.spent._replace(guessed=0))
        return {
            "sample": self.name,
            **self.spent._asdict(),
            "tokens_without_prefix": tokens,
            "wall": self.wall,
            "floor": floor,
            "floor_of_wall": floor / self.wall,
            "wall_of_cost": self.wall / speed.cost(self.spent),
            "overhead": 1 - self.spent.seconds / self.wall,
        }


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("-n", "number", default=20, show_default=True, help="Samples, from the first on.")
@click.option("-m", "--metrics", default="faithfulness", show_default=True)
@click.option("--judge", "name", default=DEFAULT_JUDGE, show_default=True)
@click.option("--statements", default="llm", show_default=True)
@click.option("--set", "changes", multiple=True, help="An engine setting: --set width=16. May be repeated.")
@click.option("--json", "as_json", is_flag=True)
def main(
    file: str, number: int, metrics: str, name: str, statements: str, changes: tuple[str, ...], as_json: bool
) -> None:
    settings = _settings(changes)
    files = resolve(name, kind="judge")
    probe_model(files, settings)
    speed = measure(files.path, settings)
    behind = measure(files.path, settings, BEHIND)
    lines = []
    with Judge.load(name, cache_prefix=False, **vars(settings)) as judge:
        for sample in read_samples(file)[:number]:
            before = judge.engine.spent
            start = time.perf_counter()
            evaluate([sample], metrics.split(","), judge, statements=statements)
            lines.append(Line(sample.id, judge.engine.spent.since(before), time.perf_counter() - start))
    lines = [line for line in lines if line.spent.total]
    if not lines:
        raise click.ClickException(f"{file}: the first {number} samples gave the judge nothing to do.")
    # The first sample also loads the model and computes the prefixes, which a run does once.
    first = lines[0]
    rest = lines[1:] or lines
    total = _sum(rest)
    report = {
        "machine": f"{platform.processor() or platform.machine()}, {settings.n_threads} threads",
        "settings": vars(settings),
        "seconds_a_token": speed._asdict(),
        f"seconds_a_token_behind_{BEHIND}": behind._asdict(),
        "peak_bytes": peak_memory(),
        "first": first.figures(speed),
        "samples": [line.figures(speed) for line in rest],
        "total": total.figures(speed),
        f"total_behind_{BEHIND}": total.figures(behind),
        "median_tokens_without_prefix": statistics.median(x.spent.total - x.spent.prefix for x in rest),
        "median_seconds": statistics.median(x.wall for x in rest),
    }
    print(json.dumps(report, indent=1) if as_json else as_table(report))


def _settings(changes: Sequence[str]) -> EngineSettings:
    """Read engine settings, each as "width=16"; the value is JSON."""
    values: dict[str, Any] = {}
    for change in changes:
        name, _, value = change.partition("=")
        values[name] = json.loads(value)
    return EngineSettings(**values)


def _sum(lines: Sequence[Line]) -> Line:
    """Return the tokens and the time of all samples together."""
    columns = zip(*(line.spent for line in lines), strict=True)
    tokens = TokenUsage(*(sum(column) for column in columns))
    return Line("total", tokens, sum(line.wall for line in lines))


def peak_memory() -> int:
    """Return the peak resident memory of this process (VmHWM), in bytes; 0 where the system lacks it."""
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    return int(status.read_text().split("VmHWM:")[1].split()[0]) * 1024


COLUMNS = (
    "prefix",
    "context",
    "items",
    "forced",
    "decoded",
    "guessed",
    "wall",
    "floor",
    "floor_of_wall",
    "wall_of_cost",
)


def as_table(report: dict[str, Any]) -> str:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    table.add_column("sample")
    for column in COLUMNS:
        table.add_column(column.replace("_of_", " / "), justify="right")
    for line in (report["first"], *report["samples"], report["total"]):
        cells = [_format(line[column]) for column in COLUMNS]
        table.add_row(line["sample"], *cells)
    console = Console(width=120)
    with console.capture() as capture:
        console.print(table)
    speed = report["seconds_a_token"]
    behind = report[f"seconds_a_token_behind_{BEHIND}"]
    behind_total = report[f"total_behind_{BEHIND}"]
    return (
        f"{capture.get()}\n"
        f"{report['machine']}; ms a token: {_describe(speed)}\n"
        f"behind {BEHIND} tokens, as is typical here: {_describe(behind)}; by these, "
        f"floor / wall {behind_total['floor_of_wall']:.2f}, wall / cost {behind_total['wall_of_cost']:.2f}\n"
        f"median: {report['median_tokens_without_prefix']:.0f} tokens without prefixes, "
        f"{report['median_seconds']:.1f} s a sample (but for the first, which pays for load and prefixes)\n"
        f"outside llama_decode: {100 * report['total']['overhead']:.1f} % of the time; "
        f"peak memory {report['peak_bytes'] / 1e9:.2f} GB"
    )


def _format(value: float) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _describe(speed: dict[str, float]) -> str:
    prompt, token, step = (1000 * speed[name] for name in ("prefill", "token", "step"))
    return f"{prompt:.1f} in a prompt, {token:.1f} at 32 texts, {step:.1f} alone"


if __name__ == "__main__":
    main()
