"""Write the tables of options and metrics into the pages, from the fields and registrations in the code.

Run it as `scripts/docs`; with `--check` it only names the pages whose tables differ from the code. A page
marks a table's place with `<!-- table of NAME, by scripts/docs -->` and `<!-- end of table -->`; NAME is a
key of `TABLES`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click

from localeval.cli.evaluate import evaluate_command
from localeval.metrics import METRICS
from localeval.options import DEFAULTS, option_fields

ROOT = Path(__file__).parents[1]
_MARKED = re.compile(r"(<!-- table of (.+?), by scripts/docs -->\n).*?(<!-- end of table -->)", re.DOTALL)


def metric_definitions() -> Iterator[list[str]]:
    """Yield the rows of all metrics: definition, source, and when they are undefined."""
    yield ["metric", "definition", "source", "undefined when"]
    for metric in METRICS.values():
        names = [f"`{metric.name}`"]
        if metric.aliases:
            names.append(f"(also {', '.join(f'`{alias}`' for alias in metric.aliases)})")
        definition = metric.definition
        if not metric.higher_is_better:
            definition += "; lower is better"
        reasons = ", ".join(f"`{reason}`" for reason in metric.undefined)
        yield [" ".join(names), definition, metric.source, reasons]


def metric_columns() -> Iterator[list[str]]:
    """Yield the rows of all metrics: definition, and the columns that they need besides the response."""
    yield ["metric", "what it measures", "needs, besides the response"]
    names = {"user_input": "question", "retrieved_contexts": "contexts", "reference": "reference"}
    for metric in METRICS.values():
        columns = [name for column, name in names.items() if column in metric.columns]
        if metric.either:
            columns.append(" or ".join(names.get(column, column) for column in metric.either))
        definition = metric.definition
        if not metric.higher_is_better:
            definition += "; lower is better"
        yield [f"`{metric.name}`", definition, ", ".join(columns)]


def python_options() -> Iterator[list[str]]:
    """Yield the rows of the fields of `Options`."""
    yield ["argument", "", "default"]
    for name, field in option_fields().items():
        default = getattr(DEFAULTS, name)
        shown = f'"{default}"' if isinstance(default, str) else repr(default)
        yield [f"`{name}`", field.description or "", f"`{shown}`"]


def command_options() -> Iterator[list[str]]:
    """Yield the rows of the options of `evaluate`: names, environment variable, help with the default."""
    yield ["option", "variable", ""]
    for param in evaluate_command.params:
        if isinstance(param, click.Option):
            names = ", ".join(f"`{name}`" for name in [*param.opts, *param.secondary_opts])
            variable = f"`{param.envvar}`" if param.envvar else ""
            yield [names, variable, _help(param)]


def _help(param: click.Option) -> str:
    """Return the help of an option, with its choices and its default."""
    text = (param.help or "").replace("  [default:", " [default:")
    if isinstance(param.type, click.Choice):
        text = f"{', '.join(f'`{choice}`' for choice in param.type.choices)}. {text}"
    if param.show_default and not param.is_flag:
        text += f" [default: {param.default}]"
    return text


TABLES: dict[str, Callable[[], Iterator[list[str]]]] = {
    "metrics": metric_definitions,
    "metrics and their columns": metric_columns,
    "options in Python": python_options,
    "options of evaluate": command_options,
}


def table(rows: Iterable[list[str]]) -> str:
    r"""Return rows, the first of which is the heading, as a table in Markdown.

    >>> table([["a", "b"], ["1|2", ""]])
    '| a | b |\n|---|---|\n| 1\\|2 | |\n'
    """
    heading, *others = rows
    lines = [_line(heading), "|" + "---|" * len(heading)]
    lines += [_line(row) for row in others]
    return "\n".join(lines) + "\n"


def _line(cells: list[str]) -> str:
    texts = [cell.replace("|", "\\|") for cell in cells]
    return "|" + "".join(f" {text} |" if text else " |" for text in texts)


def with_tables(page: str) -> str:
    """Return the text of a page with every marked table as the code has it."""

    def replaced(match: re.Match[str]) -> str:
        return f"{match[1]}{table(TABLES[match[2]]())}{match[3]}"

    return _MARKED.sub(replaced, page)


def main(arguments: list[str]) -> int:
    """Write the pages, or with `--check` only compare them; return the exit code."""
    differ = []
    for path in sorted([ROOT / "README.md", *(ROOT / "localeval").glob("**/*.md")]):
        page = path.read_text(encoding="utf-8")
        made = with_tables(page)
        if made != page:
            differ.append(path.relative_to(ROOT))
            if "--check" not in arguments:
                path.write_text(made, encoding="utf-8")
    for path in differ:
        print(path)
    return 1 if differ and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
