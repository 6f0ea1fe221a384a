"""One variant of the support judgement after the other, on the same statements of the same samples."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import click

from localeval import Judge, Sample, read_samples
from localeval.agreement import auroc, auroc_gain
from localeval.card.labels import balanced, label
from localeval.journal import Journal
from localeval.judgements import JUDGEMENTS
from localeval.options import Options
from localeval.signature import digest
from localeval.store.catalog import DEFAULT_JUDGE

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class Variant:
    """A name, and what is changed: engine settings, options, the judge, built-in prompts.

    `edits` maps judgement -> language -> [text in the built-in prompt, text in its place] pairs.
    """

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    edits: dict[str, dict[str, list[list[str]]]] = field(default_factory=dict)
    judge: str = DEFAULT_JUDGE

    def choices(self) -> Options:
        prompts = {
            judgement: {
                language: edited(judgement, language, pairs) for language, pairs in by_language.items()
            }
            for judgement, by_language in self.edits.items()
        }
        return Options.read({**self.options, "prompts": prompts})


def edited(judgement: str, language: str, pairs: list[list[str]]) -> str:
    text = (resources.files("localeval.prompts") / language / f"{judgement}.toml").read_text("utf-8")
    for old, new in pairs:
        if old not in text:
            raise click.ClickException(f"{judgement} ({language}) does not contain {old!r}")
        text = text.replace(old, new)
    return text


Found = dict[str, tuple[list[float], float, int]]
"""Sample id -> (probabilities of its statements, seconds, rows)."""


@click.command()
@click.argument("plan", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Kept between calls.")
@click.option("-n", "number", default=60, show_default=True, help="Samples of each file, half of each label.")
@click.option("--seed", default=0, show_default=True)
@click.option("--only", multiple=True, help="Just this variant, and the first one. May be repeated.")
def main(
    plan: Path, files: tuple[str, ...], output: Path, number: int, seed: int, only: tuple[str, ...]
) -> None:
    variants = [Variant(**row) for row in tomllib.loads(plan.read_text(encoding="utf-8"))["variant"]]
    chosen = [v for i, v in enumerate(variants) if not only or i == 0 or v.name in only]
    for file in files:
        samples = balanced(read_samples(file), number, seed)
        print(f"\n{Path(file).stem}: {len(samples)} samples\n\n{HEAD}")
        first: Found = {}
        for variant in chosen:
            found = decided(variant, samples, made_statements(variant, samples, output), output)
            first = first or found
            print(row(variant.name, found, first, samples), flush=True)


def made_statements(variant: Variant, samples: list[Sample], output: Path) -> dict[str, Any]:
    """The same for all variants that take them from the judge: made with its own settings and prompts."""
    options = Options(statements=variant.options.get("statements", "llm"))
    with Judge.load() as judge, Journal(output / "statements") as journal:
        return {s.id: judge.judge(s, ["statements"], options, journal)["statements"] for s in samples}


def decided(variant: Variant, samples: list[Sample], statements: dict[str, Any], output: Path) -> Found:
    found: Found = {}
    options, ask = variant.choices(), JUDGEMENTS["support"].ask
    with Judge.load(variant.judge, **variant.settings) as judge, Journal(output / variant.name) as journal:
        desk = judge.desk(options)
        recipe = [judge.signature_of_engine(), [options.prompt("support", x).sha256 for x in ("en", "zh")]]
        for sample in samples:
            made = statements[sample.id]
            if not made.flat():
                continue
            key = digest([recipe, variant.options, sample.id, made.model_dump(mode="json")])
            if (kept := journal.get(key)) is None:
                before, start = judge.engine.spent, time.perf_counter()
                verdicts = ask(desk, sample, {"statements": made}).verdicts  # type: ignore[attr-defined]
                spent = judge.engine.spent.since(before)
                seconds = time.perf_counter() - start
                kept = {
                    "p": [v.probability for v in verdicts],
                    "s": seconds,
                    "rows": spent.rows - spent.trunk,
                }
                journal.put(key, "support", sample.id, kept, {})
            found[sample.id] = (kept["p"], kept["s"], kept["rows"])
    return found


HEAD = (
    "| variant | rows | seconds | AUROC of the mean P | change | of the share | of the least P |\n"
    "|---|---|---|---|---|---|---|"
)


def row(name: str, found: Found, first: Found, samples: list[Sample]) -> str:
    """A table line: rows and seconds are of the support judgement alone, medians, without the trunk."""
    ids = [s.id for s in samples if s.id in found and s.id in first]
    labels = [label(s) for s in samples if s.id in found and s.id in first]
    mean = [sum(found[i][0]) / len(found[i][0]) for i in ids]
    change = auroc_gain(mean, [sum(first[i][0]) / len(first[i][0]) for i in ids], labels)
    share = [sum(p >= 0.5 for p in found[i][0]) / len(found[i][0]) for i in ids]
    cells = (
        name,
        f"{sorted(found[i][2] for i in ids)[len(ids) // 2]}",
        f"{sorted(found[i][1] for i in ids)[len(ids) // 2]:.1f}",
        str(auroc(mean, labels)),
        f"{change[0]:+.3f} ({change[1]:+.3f} to {change[2]:+.3f})",
        str(auroc(share, labels)),
        str(auroc([min(found[i][0]) for i in ids], labels)),
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
