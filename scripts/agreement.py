"""AUROC of `soft` and `value` against people's labels, the whole way from response to score."""

from __future__ import annotations

import time

import click
from labelled import balanced, label, told

from localeval import evaluate
from localeval.judge import DEFAULT_JUDGE
from localeval.report.progress import live_line


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("-n", "number", default=60, show_default=True, help="Samples, half of each label.")
@click.option("--seed", default=0, show_default=True)
@click.option("-o", "--output", help="A run folder, to go on where an earlier call ended.")
@click.option("--judge", default=DEFAULT_JUDGE, show_default=True)
@click.option("--statements", default="llm", show_default=True)
@click.option("--verdict", default="direct", show_default=True)
def main(
    file: str, number: int, seed: int, output: str | None, judge: str, statements: str, verdict: str
) -> None:
    chosen = balanced(file, number, seed)
    start = time.monotonic()
    with live_line() as progress:
        result = evaluate(
            chosen, ["faithfulness"], judge, output, progress, statements=statements, verdict=verdict
        )
    seconds = time.monotonic() - start
    scored = [
        (scores["faithfulness"], label(sample))
        for scores, sample in zip(result.scores, chosen, strict=True)
        if scores["faithfulness"].status == "scored"
    ]
    labels = [label for _, label in scored]
    for name in ("soft", "value"):
        print(f"{name}: AUROC {told([getattr(score, name) for score, _ in scored], labels)}")
    print(
        f"{sum(labels)} supported, {len(labels) - sum(labels)} not; not scored: {len(chosen) - len(scored)}"
    )
    print(f"{seconds / len(chosen):.1f} s a sample in this call\nsignature {result.signature}")


if __name__ == "__main__":
    main()
