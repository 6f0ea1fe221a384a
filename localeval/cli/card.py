"""`localeval card` and `localeval fit`: compare a judge with people's labels, and fit a head to them."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from platformdirs import user_cache_path

from localeval.cli.options import JUDGE, JUDGING, THREADS, TIMEOUT, split_options
from localeval.cli.output_files import CARD_PAGE, HEADS, OUTPUT_FILE, check_output_file
from localeval.errors import InputError
from localeval.judge import Judge
from localeval.report.progress import live_line
from localeval.runs.folder import CALIBRATION, CARD
from localeval.samples import Sample, read_samples
from localeval.system.files import atomic_write, writing_to
from localeval.system.terminal import say
from localeval.text.display import escaped_json

if TYPE_CHECKING:
    from localeval.fitted.heads import Head


@click.command("card", params=[*JUDGING, TIMEOUT])
@click.argument("labelled")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="The run's folder; a second call goes on where the first ended.  [default: cards/NAME-METRIC]",
)
@click.option(
    "-n",
    "--number",
    type=click.IntRange(min=0),
    default=0,
    help="Maximum of samples (at least 20), half of each label, or of pairs in each part; 0: all.",
)
@click.option(
    "--sentences",
    is_flag=True,
    help="For context_relevance: compare the needed sentences with sentence_labels.",
)
@click.option(
    "--certify",
    is_flag=True,
    help="Certify the judge by these labels, in each language; exit 1 where it is in none.",
)
@click.option(
    "--minimum",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.7,
    show_default=True,
    help="For --certify: what the lower bounds of sensitivity and specificity must reach.",
)
@click.option("--html", type=OUTPUT_FILE, help="Also write the card as an HTML page.")
@click.option("-q", "--quiet", is_flag=True, help="Show no live line.")
def card_command(
    labelled: str,
    output: Path | None,
    number: int,
    sentences: bool,
    certify: bool,
    minimum: float,
    html: Path | None,
    quiet: bool,
    as_json: bool,
    metrics: list[str] | None,
    timeout: float | None,
    **settings: Any,
) -> None:
    """LABELLED is JSONL, JSON, CSV, TSV or Parquet; - is stdin. A row is a sample with a `label`, 1 (good) or
    0 (bad), or a pair with good_response and bad_response, or with contexts_more_relevant and
    contexts_less_relevant. With --sentences a row has `sentences`, parts of its contexts in order, and
    `sentence_labels`, 1 if the question needs the sentence, else 0. With 40 labels of faithfulness in a
    language, `card` also fits a calibration for --calibration: FOLDER/calibration.json.
    """
    from localeval.analysis import card_render
    from localeval.analysis.card import as_json as json_of_card
    from localeval.analysis.card import dataset_name, make

    check_output_file("html", CARD_PAGE)
    metric, *others = metrics or ["faithfulness"]
    if others:
        raise InputError(f"a card is of one metric, and {1 + len(others)} are named; give one with -m.")
    judge, options = split_options(settings)
    data = read_samples(labelled)
    suffix = "-sentences" if sentences else ""
    folder = output or Path(f"cards/{dataset_name(data)}-{metric}{suffix}")
    with Judge.load(**judge) as loaded, live_line(quiet, "Judging") as progress:
        result = make(
            data,
            metric,
            loaded,
            folder,
            number,
            progress,
            sentences,
            named=output is not None,
            timeout=timeout,
            certify=minimum if certify else None,
            **options,
        )
    if as_json:
        click.echo(escaped_json(json_of_card(result)), nl=False)
    else:
        click.echo(card_render.as_text(result))
    if html is not None:
        with writing_to(html, "card"):
            atomic_write(html, [card_render.as_html(result)])
        say(f"page: {html}")
    say(f"card: {folder / CARD}")
    if result.calibrations:
        say(f"calibration: {folder / CALIBRATION}; use it with --calibration")
    elif (folder / CALIBRATION).exists():
        say(f"calibration: none; {folder / CALIBRATION} is from an earlier card")
    certificate = result.certificate
    if certificate is not None and not any(outcome.certified for outcome in certificate.outcomes):
        sys.exit(1)


@click.command("fit", params=[JUDGE, THREADS])
@click.argument("labelled", nargs=-1, required=True)
@click.option("-o", "--output", required=True, type=OUTPUT_FILE, help="File of the head, for --head.")
@click.option("--layer", type=click.IntRange(min=0), help="Use states after this layer.  [default: at 57 %]")
@click.option("-q", "--quiet", is_flag=True, help="Show no live line.")
def fit_command(
    labelled: tuple[str, ...], output: Path, layer: int | None, quiet: bool, **judge: Any
) -> None:
    """A head decides from the states of the judge's model, without prompts. A sample in LABELLED has a
    `label`, 1 if the contexts support all of its response, else 0. It may have `hallucination_spans`
    ([{"start": 0, "end": 9}], the unsupported parts of the response) and a `group`, which cross-validation
    never splits. 300 answers are needed, 75 of each label; of each language 100 and 25. The states are kept
    in the user's cache folder, about 3 KB a token, so that a second call goes on.
    """
    from localeval.analysis import fit_head, head_states
    from localeval.fitted.files import FittedFor, file_text

    check_output_file("output", HEADS)
    where = ", ".join(labelled)
    answers = head_states.labelled(_read_all(labelled), where)
    cache = user_cache_path("localeval") / "states"
    with Judge.load(**judge) as loaded, live_line(quiet, "Reading") as progress:
        fitted_for = FittedFor(name=loaded.model["name"], sha256=loaded.model["sha256"])
        layer = head_states.layer_of(loaded.engine, layer)
        states = head_states.compute_states(loaded.engine, fitted_for.sha256, layer, answers, cache, progress)
    too_long = len(answers) - len(states)
    if too_long:
        say(f"{where}: {too_long} of {len(answers)} answers are left out, too long with their contexts")
        head_states.check_enough(states, where)
    heads = [head for head in fit_head.fit(states, fitted_for, layer) if _is_useful(head)]
    if not heads:
        raise InputError(f"{where}: no head was written, as none is better than chance; label more answers.")
    with writing_to(output, "head"):
        atomic_write(output, [file_text(heads)])
    say(f"head: {output}; use it with --head")


def _read_all(paths: Sequence[str]) -> list[Sample]:
    """Read the files of labels. Raises InputError for a file that is given twice."""
    if len({os.path.realpath(path) for path in paths}) < len(paths):
        raise InputError("a file of labels is given twice; give each once.")
    # Rows without a group are their own, also where two files number them alike.
    return [
        sample.model_copy(update={"id": f"{sample.id} of {path}"})
        for path in paths
        for sample in _responses(path)
    ]


def _responses(path: str) -> list[Sample]:
    """Read labelled responses without those that who labelled could not tell, and say how many these are.

    Raises InputError for labels of single statements: a head reads whole responses.
    """
    from localeval.analysis.labels import labels_statement, told_rows

    rows = read_samples(path)
    if any(map(labels_statement, rows)):
        raise InputError(
            f"{path}: its labels are of single statements, and a head reads whole responses; "
            "label samples (--unit sample)."
        )
    told = told_rows(rows)
    if len(told) < len(rows):
        untold = len(rows) - len(told)
        say(f"{path}: {untold} of {len(rows)} rows are left out, as who labelled could not tell")
    return told


def _is_useful(head: Head) -> bool:
    """Print a head's figures, and return whether its AUROC is clearly above chance."""
    from localeval.statistics.agreement import Figure

    figures = ", ".join(f"{name} {Figure(*figure)}" for name, figure in head.figures.items())
    click.echo(f"{head.language}: {head.fitted_on['labels']} answers, cross-validated {figures}")
    _, lower_end, _ = head.figures.get("auroc", (0.0, 0.0, 0.0))
    if lower_end > 0.5:
        return True
    say(f"{head.language}: left out, as its AUROC is not clearly above chance; label more answers")
    return False
