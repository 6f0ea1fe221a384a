"""`localeval fit`: a head for a judge, from labelled answers."""

from __future__ import annotations

import click
from platformdirs import user_cache_path

from localeval.cli.options import judge_options, opened
from localeval.cli.places import place_of
from localeval.cli.talk import say
from localeval.system.files import write_whole, writing_to


@click.command()
@click.argument("labelled", nargs=-1, required=True)
@judge_options
@click.option("-o", "--output", required=True, type=click.Path(), help="The file of the head, for --head.")
@click.option("--layer", type=click.IntRange(min=0), help="Read behind this layer.  [default: 57 % up]")
@click.option("-q", "--quiet", is_flag=True, help="No live line.")
def fit(
    labelled: tuple[str, ...],
    output: str,
    layer: int | None,
    quiet: bool,
    judge: str,
    threads: int,
) -> None:
    """Fit a head to the answers in LABELLED (JSONL files): the judge then reads instead of being asked.

    A sample has a `label`, 1 where the contexts support all of its response, else 0, and may have
    `hallucination_spans` ([{"start": 0, "end": 9}], what of the response is not supported) and a `group`,
    which is never parted in cross-validation. 300 answers are needed, 75 of each label, and of a language 100
    and 25. What the judge holds of an answer is kept in the user's cache folder, some 3 KB a token, so that a
    second call goes on.
    """
    from localeval.judgements.heads import write
    from localeval.report.progress import live_line
    from localeval.runs import head_fit
    from localeval.runs.card.agreement import Figure
    from localeval.runs.card.labels import label
    from localeval.samples import read_samples

    place = place_of(output, "--output", "head.json")
    samples = [sample for path in labelled for sample in read_samples(path)]
    where = ", ".join(labelled)
    answers = head_fit.labelled(samples, [label(sample, where) for sample in samples], where)
    cache = user_cache_path("localeval") / "states"
    with opened({"model": judge, "n_threads": threads}) as loaded, live_line(quiet, "Reading") as progress:
        named = {"name": str(loaded.model["name"]), "sha256": str(loaded.model["sha256"])}
        behind = head_fit.layer_of(loaded.engine, layer)
        read = head_fit.read(loaded.engine, named["sha256"], behind, answers, cache, progress)
    heads = head_fit.fit(read, named, behind)
    with writing_to(place, "head"):
        write_whole(place, [write(heads)])
    for head in heads:
        figures = ", ".join(f"{name} {Figure(*figure)}" for name, figure in head.figures.items())
        click.echo(f"{head.language}: {head.fitted_on['labels']} answers, cross-validated {figures}")
    say(f"head: {place}; use it with --head")
