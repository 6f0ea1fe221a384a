"""`localeval criteria`: check a file of criteria before a run, and show what the judge will be asked."""

from __future__ import annotations

import click

from localeval.metrics import register_criteria
from localeval.options import DEFAULTS
from localeval.prompts.criteria import (
    ORDERS,
    Criterion,
    criterion_prefix,
    read_criteria,
    render_question,
    render_texts,
)
from localeval.text.display import printable


@click.group("criteria")
def criteria_command() -> None:
    """A criterion is a question of your own that the judge answers about each sample; see
    localeval/metrics/README.md. Use a file of them with `evaluate --criteria FILE`.
    """


@criteria_command.command("check")
@click.argument("file")
def check(file: str) -> None:
    """Check a file, and show each prompt as the judge reads it.

    Exit code 2, and a sentence on what is wrong, for a file that can't be used.
    """
    criteria = read_criteria(file)
    register_criteria(criteria)
    for number, criterion in enumerate(criteria):
        if number:
            click.echo()
        click.echo(printable(_described(criterion)))
        for code in criterion.languages:
            click.echo(_prompt_text(criterion, code))


def _described(criterion: Criterion) -> str:
    """Return a line on a criterion: its name, the kind of its answer, and the columns that it shows."""
    code = criterion.languages[0]
    answer = f"{len(criterion.levels_in(code))} levels" if criterion.is_scale else "yes or no"
    if not criterion.higher_is_better:
        answer += ", a yes is bad"
    return f"{criterion.name}: {answer}; shows {', '.join(criterion.columns)}"


def _prompt_text(criterion: Criterion, code: str) -> str:
    """Return the prompt as the judge reads it, with the name of each column in place of its text."""
    template = DEFAULTS.prompt("criterion", code)
    prefix = criterion_prefix(criterion, template, code)
    parts = [f"--- {code}: instruction", prefix.system]
    for user, reply in prefix.examples:
        parts += ["--- example", user, "--- its answer", reply]
    context = render_texts(criterion, template, [f"({column})" for column in criterion.columns])
    first, second = (render_question(criterion, template, code, order) for order in ORDERS)
    parts += ["--- a sample", (context + first).lstrip("\n"), "--- asked again, as", second.lstrip("\n")]
    return "\n".join(parts)
