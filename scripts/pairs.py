"""Pair accuracy of a metric: rows hold a better and a worse answer, or better and worse contexts."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import click

from localeval import Judge, Sample, evaluate, read_samples
from localeval.agreement import mean_interval
from localeval.companions import DEFAULT_EMBEDDER
from localeval.judge import DEFAULT_JUDGE
from localeval.judgements.evidence import terms
from localeval.report.progress import live_line

SIDES = {
    "response": ("good_response", "bad_response"),
    "retrieved_contexts": ("contexts_more_relevant", "contexts_less_relevant"),
}


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("-m", "--metric", required=True)
@click.option("-n", "number", default=0, help="Pairs of each part, the first ones.  [default: all]")
@click.option("-o", "--output", help="A run folder, to go on where an earlier call ended.")
@click.option("--judge", "name", default=DEFAULT_JUDGE, show_default=True)
@click.option("--embedder", default=DEFAULT_EMBEDDER, show_default=True)
@click.option("--questions", default=10, show_default=True)
def main(
    file: str, metric: str, number: int, output: str | None, name: str, embedder: str, questions: int
) -> None:
    column = "retrieved_contexts" if metric.startswith("context") else "response"
    rows = _first([r.model_extra | {"sample": r} for r in read_samples(file) if r.model_extra], number)
    samples = [_side(row, column, side) for row in rows for side in (0, 1)]
    with Judge.load(name, embedder=embedder) as judge, live_line() as progress:
        result = evaluate(samples, [metric], judge, output, progress, questions=questions)
    softs = [scores[metric].soft for scores in result.scores]
    values = [scores[metric].value for scores in result.scores]
    overlaps = [_overlap(sample, column) for sample in samples]
    won: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for i, row in enumerate(rows):
        pair = (_won(softs, i), _won(values, i), _won(overlaps, i))
        for part in ("all", row["sample"].model_extra["lang"], _part(row)):
            won[part].append(pair)
    for part, pairs in won.items():
        told = [
            f"{what} {_told([p[k] for p in pairs])}" for k, what in enumerate(("soft", "value", "overlap"))
        ]
        gain = _told([p[0] - p[2] for p in pairs])
        print(f"{part}: {len(pairs)} pairs; {'; '.join(told)}; soft over overlap {gain}")
    print(f"signature {result.signature}")


def _first(rows: list[dict[str, Any]], number: int) -> list[dict[str, Any]]:
    """The first `number` rows of each part; all for 0."""
    seen: dict[str, int] = defaultdict(int)
    kept = []
    for row in rows:
        seen[_part(row)] += 1
        if not number or seen[_part(row)] <= number:
            kept.append(row)
    return kept


def _part(row: dict[str, Any]) -> str:
    return " ".join(str(row[key]) for key in ("lang", "tier", "source") if key in row)[:60]


def _side(row: dict[str, Any], column: str, side: int) -> Sample:
    sample: Sample = row["sample"]
    own = {"id": f"{sample.id}/{side}", column: row[SIDES[column][side]]}
    return Sample(user_input=sample.user_input, **{"response": sample.response, **own})


def _won(scores: list[float | None], i: int) -> float:
    """1 where the better side has more, 0.5 for a tie. What has no score counts as 0."""
    good, bad = scores[2 * i] or 0.0, scores[2 * i + 1] or 0.0
    return 0.5 + 0.5 * ((good > bad) - (good < bad))


def _overlap(sample: Sample, column: str) -> float | None:
    """The baseline without a model: the share of the question's words that the text has."""
    text = sample.response or "" if column == "response" else "\n".join(sample.retrieved_contexts or [])
    asked = terms(sample.user_input or "")
    return len(asked & terms(text)) / len(asked) if asked else None


def _told(values: list[float]) -> str:
    low, high = mean_interval(values)
    return f"{sum(values) / len(values):.3f} ({low:.3f} to {high:.3f})"


if __name__ == "__main__":
    main()
