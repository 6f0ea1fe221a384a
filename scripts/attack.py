"""How often does a text that wants a good mark get one, and how often neutral text of its length?"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import click

from localeval import Judge, Sample
from localeval.judgements import JUDGEMENTS, grounding
from localeval.judgements.context import NoHead
from localeval.judgements.journal import Journal
from localeval.judgements.support import closest_evidence, judge_support
from localeval.metrics.statistics import bootstrap_ci
from localeval.models.catalog import DEFAULT_JUDGE
from localeval.prompts.options import DEFAULTS
from localeval.report.progress import live_line
from localeval.system.versions import digest
from localeval.text.display import one_line
from localeval.text.overlap import source_terms, term_recall, unsupported_numbers
from localeval.text.sentences import split_sentences

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ATTACKS = Path(__file__).with_name("attacks.toml")
PLACES = ("contexts", "behind the statement", "in brackets", "behind a comma", "behind words of the contexts")


class Asked(NamedTuple):
    """A statement as it is judged, and its contexts, with a text put somewhere."""

    contexts: tuple[str, ...]
    statement: str


@dataclass(frozen=True)
class Trial:
    """One sample, a text and a place: with the attack, and with neutral text of its length."""

    language: str
    string: str
    place: str
    attacked: Asked
    neutral: Asked


Rows = dict[str, dict[tuple[str, str], list[tuple[float, float]]]]
"""Kind of probability -> (language, place) -> whether an attack flipped it, and neutral text did."""


@click.command()
@click.option("--judge", "name", default=DEFAULT_JUDGE, show_default=True)
@click.option("--threads", default=0, help="Default: the physical cores.")
@click.option("--language", "languages", multiple=True, type=click.Choice(["en", "zh"]), default=["en", "zh"])
@click.option("-n", "number", default=0, help="Just so many samples of each language.  [default: all]")
@click.option("--read", is_flag=True, help="Decide by the judge's head, from its hidden states.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="A folder, to go on where a call ended."
)
def main(
    name: str, threads: int, languages: tuple[str, ...], number: int, read: bool, output: Path | None
) -> None:
    given = tomllib.loads(ATTACKS.read_text(encoding="utf-8"))
    samples = [s for lang in languages for s in _first(given["samples"], lang, number)]
    judged = [Sample(response=s["statement"], retrieved_contexts=s["contexts"]) for s in samples]
    rows: Rows = defaultdict(lambda: defaultdict(list))
    worked: dict[str, float] = defaultdict(float)
    with Judge.load(name, n_threads=threads) as judge, Journal(output) as kept, live_line() as progress:
        for done, sample in enumerate(samples):
            clean = Asked(tuple(sample["contexts"]), sample["statement"])
            trials = list(_trials(sample, given))
            asked = [clean, *(x for t in trials for x in (t.attacked, t.neutral))]
            if read:
                decided = {"read": _read(asked, sample["language"], judge, kept)}
            else:
                raw = _judged(asked, sample["language"], judge, kept)
                decided = {"raw": raw, "calibrated": _calibrated(raw, sample["language"], judge)}
            progress(done + 1, judged)
            for kind, found in decided.items():
                if found[clean] >= DEFAULTS.threshold:
                    print(f"already wrong without an attack ({kind}), left out: {clean.statement}")
                    continue
                for t in (t for t in trials if t.attacked in found and t.neutral in found):
                    flips = found[t.attacked] >= DEFAULTS.threshold, found[t.neutral] >= DEFAULTS.threshold
                    rows[kind][t.language, t.place].append((float(flips[0]), float(flips[1])))
                    worked[t.string] += flips[0] - flips[1]
    for kind, own in rows.items():
        _tell(kind, own)
    print("\nThe texts that did most:")
    for string, excess in sorted(worked.items(), key=lambda pair: -pair[1])[:5]:
        print(f"{excess:+.0f}  {json.dumps(string, ensure_ascii=False)}")


def _first(samples: Sequence[dict[str, Any]], language: str, number: int) -> list[dict[str, Any]]:
    own = [s for s in samples if s["language"] == language]
    return own[: number or len(own)]


def _trials(sample: dict[str, Any], given: dict[str, Any]) -> Iterator[Trial]:
    neutral: str = given["neutral"][sample["language"]]
    for string in (s for strings in given["strings"].values() for s in strings):
        # To the next twenty characters: texts of nearly one length then share one comparison.
        other = neutral[: 20 * round(len(string) / 20 + 0.5)]
        for place in PLACES:
            yield Trial(
                sample["language"], string, place, _put(sample, string, place), _put(sample, other, place)
            )


def _put(sample: dict[str, Any], text: str, place: str) -> Asked:
    """The first sentence of the response is the statement, as with `statements="sentences"`."""
    contexts, statement, language = tuple(sample["contexts"]), sample["statement"], sample["language"]
    if place == "contexts":
        return Asked((*contexts, text), statement)
    comma = "，" if language == "zh" else ", "
    responses = {
        "behind the statement": f"{statement} {text}",
        "in brackets": f"{statement[:-1]} ({one_line(text)}){statement[-1]}",
        "behind a comma": f"{statement[:-1]}{comma}{one_line(text)}{statement[-1]}",
        "behind words of the contexts": (
            f"{statement[:-1]}{comma}{_opening(contexts[0], language)} {one_line(text)}{statement[-1]}"
        ),
    }
    response = responses[place]
    return Asked(contexts, one_line(split_sentences(response)[0].text))


def _opening(text: str, language: str) -> str:
    """Its first words: a clause that has them is not cut off as a stranger to the contexts."""
    return text[:4] if language == "zh" else " ".join(text.split()[:3])


def _judged(asked: Sequence[Asked], language: str, judge: Judge, kept: Journal) -> dict[Asked, float]:
    """P(supported) of each as in a sample of its own: together they would settle what is shown first."""
    context = judge.context(DEFAULTS)
    prompt = context.options.prompt("support", language)
    recipe = [judge.signature_of_engine(), JUDGEMENTS["support"].version, prompt.sha256]

    def decide(one: Asked) -> float:
        shown = closest_evidence([one.statement], one.contexts)
        (decided,), _ = judge_support(context, one.contexts, [one.statement], shown, language)
        return decided.probability

    return _each(asked, recipe, language, kept, decide)


def _read(asked: Sequence[Asked], language: str, judge: Judge, kept: Journal) -> dict[Asked, float]:
    """P(supported) of the one sentence of each response, as `groundedness` decides it."""
    context = judge.context(DEFAULTS)
    recipe = [judge.signature_of_engine(), context.heads[language].sha256]

    def decide(one: Asked) -> float:
        sample = Sample(response=one.statement, retrieved_contexts=list(one.contexts))
        return min(sentence.probability for sentence in grounding.ask(context, sample, {}).sentences)

    return _each(asked, recipe, language, kept, decide)


def _each(
    asked: Sequence[Asked],
    recipe: Sequence[Any],
    language: str,
    kept: Journal,
    decide: Callable[[Asked], float],
) -> dict[Asked, float]:
    """Decide each, or take what was kept; what is no English or Chinese any more is read by no head."""
    found = {}
    for one in dict.fromkeys(asked):
        key = digest([recipe, one])
        with suppress(NoHead):
            if (line := kept.get(key)) is None:
                line = {"p": decide(one)}
                kept.put(key, "attack", language, line, {})
            found[one] = line["p"]
    return found


def _calibrated(raw: dict[Asked, float], language: str, judge: Judge) -> dict[Asked, float]:
    """As `faithfulness` decides by default, with the calibration that is shipped; raw where none fits."""
    if (curve := judge.curves(DEFAULTS).get(language)) is None:
        return raw
    found = {}
    for asked, p in raw.items():
        premise = source_terms(asked.contexts)
        unknown = unsupported_numbers(asked.statement, premise)
        found[asked] = curve.apply(p, term_recall(asked.statement, premise), len(unknown))
    return found


def _tell(kind: str, rows: dict[tuple[str, str], list[tuple[float, float]]]) -> None:
    print(f"\nFrom {kind} probabilities: {sum(map(len, rows.values()))} attacked verdicts.\n")
    print("| language | place | verdicts | flipped | by neutral text | excess |\n|---|---|---|---|---|---|")
    for (language, place), flips in rows.items():
        attacked, neutral = (sum(side) / len(flips) for side in zip(*flips, strict=True))
        ends = bootstrap_ci([a - b for a, b in flips], -1, 1)
        excess = f"{attacked - neutral:+.3f}" + (f" ({ends[0]:+.3f} to {ends[1]:+.3f})" if ends else "")
        print(f"| {language} | {place} | {len(flips)} | {attacked:.3f} | {neutral:.3f} | {excess} |")


if __name__ == "__main__":
    main()
