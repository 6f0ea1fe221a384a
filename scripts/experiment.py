"""Compare variants of the support judgement on the same statements of the same samples."""

from __future__ import annotations

import statistics
import time
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast
from unittest import mock

import click
from pydantic import create_model

from localeval import Judge, Sample, read_samples
from localeval.analysis.labels import balanced, label
from localeval.engine.interface import ContextTooLong, Reply
from localeval.judgements import JUDGEMENTS, Choices, Failure, Models, deciders, windows
from localeval.judgements.journal import Journal
from localeval.models.catalog import DEFAULT_JUDGE
from localeval.options import Options
from localeval.statistics.agreement import Bootstrap
from localeval.system.versions import digest


@dataclass(frozen=True)
class Variant:
    """A name, and what differs: engine settings, options, the judge, built-in prompts.

    edits     judgement -> language -> [text in the built-in prompt, its replacement] pairs
    prompts   judgement -> language -> a prompt file next to the plan, instead of the built-in one
    verdicts  the possible verdicts, instead of yes and no; the first one counts as yes
    passages  the judge is asked about each context separately, and the highest probability counts
    """

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    edits: dict[str, dict[str, list[list[str]]]] = field(default_factory=dict)
    prompts: dict[str, dict[str, str]] = field(default_factory=dict)
    verdicts: tuple[str, ...] = ()
    passages: bool = False
    judge: str = DEFAULT_JUDGE

    def choices(self, folder: Path) -> Options:
        prompts: dict[str, dict[str, str | Path]] = {
            judgement: {
                language: edited(judgement, language, pairs) for language, pairs in by_language.items()
            }
            for judgement, by_language in self.edits.items()
        }
        for judgement, files in self.prompts.items():
            prompts[judgement] = {language: folder / name for language, name in files.items()}
        return Options.read({**self.options, "prompts": prompts})

    @contextmanager
    def asked(self) -> Iterator[None]:
        """Make the support judgement ask for this variant's own verdicts, if it has any."""
        if not self.verdicts:
            yield
            return
        verdict: tuple[Any, Any] = (Literal[tuple(self.verdicts)], ...)
        reply = create_model("OwnReply", verdict=verdict)

        def first(reply: Reply[Any]) -> float:
            return reply.probabilities["verdict"][self.verdicts[0]]

        with (
            mock.patch.object(deciders, "YesOrNo", reply),
            mock.patch.object(deciders, "probability_of_yes", first),
            mock.patch.object(windows, "probability_of_yes", first),
            mock.patch.dict(cast("dict[str, Any]", deciders.ASKED_PROMPT.replies), verdict=reply),
        ):
            yield


def edited(judgement: str, language: str, pairs: list[list[str]]) -> str:
    text = (resources.files("localeval.prompts") / language / f"{judgement}.toml").read_text("utf-8")
    for old, new in pairs:
        if old not in text:
            raise click.ClickException(f"{judgement} ({language}) does not contain {old!r}")
        text = text.replace(old, new)
    return text


class Judged(NamedTuple):
    """One sample: the probabilities of its statements, and the seconds and tokens that they took."""

    probabilities: list[float]
    seconds: float
    tokens: int


# Sample id -> what was judged.
Outcome = dict[str, Judged]


@click.command()
@click.argument("plan", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Kept between calls.")
@click.option("-n", "number", default=60, show_default=True, help="Samples of each file, half of each label.")
@click.option("--seed", default=0, show_default=True)
@click.option("--only", multiple=True, help="Only this variant, and the first one. May be repeated.")
def main(
    plan: Path, files: tuple[str, ...], output: Path, number: int, seed: int, only: tuple[str, ...]
) -> None:
    variants = [Variant(**row) for row in tomllib.loads(plan.read_text(encoding="utf-8"))["variant"]]
    chosen = [v for i, v in enumerate(variants) if not only or i == 0 or v.name in only]
    for file in files:
        samples = balanced(read_samples(file), number, seed)
        print(f"\n{Path(file).stem}: {len(samples)} samples\n\n{HEAD}")
        first: Outcome = {}
        for variant in chosen:
            statements = make_statements(variant, samples, output)
            with variant.asked():
                outcome = judge_support(variant, variant.choices(plan.parent), samples, statements, output)
            first = first or outcome
            print(row(variant.name, outcome, first, samples), flush=True)


def make_statements(variant: Variant, samples: list[Sample], output: Path) -> dict[str, Any]:
    """Make the statements with the default judge and prompts, so that they are the same for all variants."""
    options = Options(statements=variant.options.get("statements", "llm"))
    with Judge.load() as judge, Journal(output / "statements") as journal:
        return {s.id: judge.judge(s, ["statements"], options, journal)["statements"] for s in samples}


def judge_support(
    variant: Variant, options: Options, samples: list[Sample], statements: dict[str, Any], output: Path
) -> Outcome:
    outcome: Outcome = {}
    with Judge.load(variant.judge, **variant.settings) as judge, Journal(output / variant.name) as journal:
        choices = judge.choices(["support"], options)
        changed = [variant.options, variant.verdicts, variant.passages]
        prompts = [options.prompt("support", x).sha256 for x in ("en", "zh")]
        fingerprint = [judge.record_fingerprint(), JUDGEMENTS["support"].version, prompts]
        for sample in samples:
            record = statements[sample.id]
            if isinstance(record, Failure) or not record.flat():
                continue
            key = digest([fingerprint, changed, sample.id, record.model_dump(mode="json")])
            entry = journal.get(key)
            if entry is None:
                before = judge.engine.spent
                start = time.perf_counter()
                try:
                    probabilities = ask(judge, choices, sample, record, variant.passages)
                except ContextTooLong:
                    continue
                spent = judge.engine.spent.since(before)
                seconds = time.perf_counter() - start
                entry = {
                    "p": probabilities,
                    "s": seconds,
                    "tokens": spent.total - spent.prefix,
                }
                journal.put(key, "support", sample.id, entry, {})
            outcome[sample.id] = Judged(entry["p"], entry["s"], entry["tokens"])
    return outcome


def ask(judge: Judge, choices: Choices, sample: Sample, statements: Any, passages: bool) -> list[float]:
    """Return the probability of each statement."""
    parts = [[text] for text in sample.retrieved_contexts or []] if passages else [sample.retrieved_contexts]
    models = Models(judge.engine, judge.auxiliary_models)
    by_premise = []
    for part in parts:
        changed = sample.model_copy(update={"retrieved_contexts": part})
        inputs = JUDGEMENTS["support"].inputs(changed, {"statements": statements}, choices)
        record = JUDGEMENTS["support"].ask(inputs, models)
        by_premise.append([verdict.probability for verdict in record.verdicts])
    return [max(probabilities) for probabilities in zip(*by_premise, strict=True)]


HEAD = (
    "| variant | tokens | seconds | AUROC of the mean P | change | of the share | of the least P |\n"
    "|---|---|---|---|---|---|---|"
)


def row(name: str, outcome: Outcome, first: Outcome, samples: list[Sample]) -> str:
    """Return a line of the table; tokens and seconds are medians of this judgement, without the prefix.

    The first variant has no change: an interval around 0 would mean nothing.
    """
    shared = [sample for sample in samples if sample.id in outcome and sample.id in first]
    rows = [outcome[sample.id] for sample in shared]
    draws = Bootstrap([label(sample) for sample in shared])
    means = [_mean(row.probabilities) for row in rows]
    change = ""
    if outcome is not first:
        means_of_first = [_mean(first[sample.id].probabilities) for sample in shared]
        gain = draws.auroc(means, less=means_of_first)
        change = f"{gain.value:+.3f} ({gain.low:+.3f} to {gain.high:+.3f})"
    shares = [_mean(p >= 0.5 for p in row.probabilities) for row in rows]
    cells = (
        name,
        f"{statistics.median_high(row.tokens for row in rows)}",
        f"{statistics.median_high(row.seconds for row in rows):.1f}",
        str(draws.auroc(means)),
        change,
        str(draws.auroc(shares)),
        str(draws.auroc([min(row.probabilities) for row in rows])),
    )
    return f"| {' | '.join(cells)} |"


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers)


if __name__ == "__main__":
    main()
