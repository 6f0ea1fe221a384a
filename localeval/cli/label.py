"""The command `label`: people label the samples, or the statements, of a finished run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import click
from click.core import ParameterSource

from localeval.analysis.labelling.draw import DrawKind, LabelDraw, Unit, draw_items
from localeval.analysis.labelling.page import PageOptions, ShowVerdict, label_page
from localeval.analysis.labelling.people import (
    PEOPLE,
    TwoPeople,
    agreement_text,
    compare_people,
    person,
)
from localeval.analysis.labelling.session import LabelSession
from localeval.cli.output_files import LABEL_PAGE, LABELS, OUTPUT_FILE, check_output_file
from localeval.errors import InputError
from localeval.labels.file import Label, Labels, read_labels
from localeval.labels.store import LabelStore
from localeval.runs import folder
from localeval.runs.result import Result
from localeval.system.files import atomic_write, writing_to
from localeval.system.terminal import say

_PAGE_SUFFIXES = (".html", ".htm")
# Options that the files of two people's labels already say.
_DRAWING = ("unit", "number", "seed", "metric", "draw")


@click.command("label")
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    required=True,
    type=OUTPUT_FILE,
    help="A page (.html) on which to label in a browser; any other name is the file of labels, and then you "
    "label here in the terminal. A file of labels that is there goes on.",
)
@click.option(
    "--metric", help="What the labels are of.  [default: the run's first metric that a judge decided]"
)
@click.option(
    "--unit",
    type=click.Choice(["sample", "statement"]),
    default="sample",
    show_default=True,
    help="Label whole samples, or single statements.",
)
@click.option(
    "-n", "--number", type=click.IntRange(min=1), default=50, show_default=True, help="How many to draw."
)
@click.option(
    "--seed", default=0, show_default=True, help="Seed of the draw; a larger draw holds a smaller one."
)
@click.option(
    "--draw",
    type=click.Choice(["random", "all", "uncertain"]),
    default="random",
    show_default=True,
    help="uncertain: those nearest to the threshold, for fitting; corrected rates need random or all.",
)
@click.option("--by", default="", metavar="NAME", help="Who labels.")
@click.option(
    "--show-verdict",
    type=click.Choice(["after", "always", "never"]),
    default="after",
    show_default=True,
    help="When the judge's verdict is shown; after: once an item is labelled.",
)
@click.option(
    "--labels",
    multiple=True,
    metavar="FILE",
    help="Go on from these labels. Given twice, for two people's labels: show both, what differs first, with "
    "their agreement, and let one decide.",
)
@click.option(
    "--serve",
    is_flag=True,
    help="Show the page at an address of this machine alone, and save each label in the file at once.",
)
def label_command(
    run: Path,
    output: Path,
    metric: str | None,
    unit: Unit,
    number: int,
    seed: int,
    draw: DrawKind,
    by: str,
    show_verdict: ShowVerdict,
    labels: tuple[str, ...],
    serve: bool,
) -> None:
    """RUN is the folder of a finished run; no model is needed. The file of labels is what `card`, `fit` and
    `rescore --labels` take.
    """
    is_page = output.suffix.lower() in _PAGE_SUFFIXES
    check_output_file("output", LABEL_PAGE if is_page else LABELS)
    if is_page and serve:
        raise InputError(
            f"--serve saves labels as they are made; name a file of labels with -o, not {output}."
        )
    result = folder.load(run)
    if len(labels) == PEOPLE:
        drawn, two = _two_people(result, labels)
        known = _decided(two)
        say(agreement_text(two))
    else:
        number_given = click.get_current_context().get_parameter_source("number") != ParameterSource.DEFAULT
        if draw == "all" and number_given:
            raise InputError("--draw all takes every one; leave -n out.")
        drawn = draw_items(result, metric=metric, unit=unit, kind=draw, number=number, seed=seed)
        two = None
        known = _labels_of(labels, drawn)
    options = PageOptions(title=run.resolve().name, by=by, show=show_verdict, known=known, two=two)
    if is_page:
        with writing_to(output, "page"):
            atomic_write(output, label_page(drawn, options), "replace")
        say(f"page: {output}; open it in a browser, and download the labels there")
        return
    _label_into(output, drawn, options, serve)


def _label_into(output: Path, drawn: LabelDraw, options: PageOptions, serve: bool) -> None:
    """Label into a file: in the terminal, or on a page that this program shows."""
    from localeval.cli.label_server import serve_page
    from localeval.cli.label_terminal import label_in_terminal

    store, own = _open_store(output, drawn, options.known or {})
    session = LabelSession(drawn, store, own, options)
    if serve:
        serve_page(session, store)
    else:
        label_in_terminal(session)
    say(f"labels: {output} ({len(store)} of {len(drawn.items)})")


def _labels_of(paths: Sequence[str], drawn: LabelDraw) -> dict[str, Label]:
    if len(paths) > PEOPLE:
        raise InputError(f"--labels names {len(paths)} files; give those of two people at most.")
    return {row_id: label for path in paths for row_id, label in drawn.match(read_labels(path)).items()}


def _two_people(result: Result, paths: Sequence[str]) -> tuple[LabelDraw, TwoPeople]:
    """Return the draw that two files of labels have in common, and their labels."""
    context = click.get_current_context()
    for name in _DRAWING:
        if context.get_parameter_source(name) != ParameterSource.DEFAULT:
            raise InputError(f"the two files of labels say what was drawn; leave --{name} out.")
    one, other = (read_labels(path) for path in paths)
    drawn = _draw_of(result, one, other)
    stems = [Path(path).stem for path in paths]
    people = [person(labels, drawn, stem) for labels, stem in zip((one, other), stems, strict=True)]
    return drawn, compare_people(people[0], people[1], drawn)


def _draw_of(result: Result, one: Labels, other: Labels) -> LabelDraw:
    """Draw what both files label, again."""
    designs = [labels.design for labels in (one, other) if labels.design is not None]
    if one.metric is None or len(designs) < PEOPLE:
        where = one.where if one.metric is None or one.design is None else other.where
        raise InputError(f"{where}: these labels were not made by `label`, or not in one draw.")
    has_statements = any(label.statement is not None for label in one.labels)
    return draw_items(
        result,
        metric=one.metric,
        unit="statement" if has_statements else "sample",
        kind=designs[0].kind,
        number=max(design.drawn for design in designs),
        seed=designs[0].seed,
    )


def _decided(two: TwoPeople) -> dict[str, Label]:
    """Return the labels that two people gave alike, as those of both."""
    names = " & ".join(one.name for one in two.people)
    return {
        row_id: Label(label.sample, label.sample_id, label.value, label.statement, names, label.note)
        for row_id, label in two.agreed.items()
    }


def _open_store(
    path: Path, drawn: LabelDraw, known: Mapping[str, Label]
) -> tuple[LabelStore, dict[str, Label]]:
    """Return the file of labels with those that it has, and with the known ones. Raises InputError."""
    own: dict[str, Label] = {}
    is_other_draw = False
    if path.exists() and path.stat().st_size:
        labels = read_labels(path)
        own = drawn.match(labels)
        is_other_draw = labels.design != drawn.design
    store = LabelStore(path, {row_id: drawn.row(label, row_id) for row_id, label in own.items()})
    store.check_writable()
    every = {**known, **own}
    if every and (is_other_draw or len(every) > len(own)):
        store.replace_all({row_id: drawn.row(label, row_id) for row_id, label in every.items()})
    return store, every
