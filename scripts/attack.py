"""Measure how often a text that asks for a good mark gets one, and how often neutral text of its length."""

from __future__ import annotations

import json
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import click

from localeval import Judge, Sample
from localeval.claims.evidence import context_sentences, rank_sentences
from localeval.claims.sources import source_terms, term_recall, unsupported_numbers
from localeval.fitted.heads import head_digests
from localeval.judgements import JUDGEMENTS
from localeval.judgements.base import NoHead
from localeval.judgements.deciders import MAX_CLOSEST, Asked, ask_about
from localeval.judgements.journal import Journal
from localeval.judgements.reading import GroundingRecord, read, reading_inputs
from localeval.models.catalog import DEFAULT_JUDGE
from localeval.options import DEFAULTS
from localeval.report.progress import live_line
from localeval.samples import read_samples
from localeval.statistics.intervals import difference_interval
from localeval.system.versions import digest
from localeval.text.display import one_line
from localeval.text.sentences import split_sentences

ATTACKS = Path(__file__).with_name("attacks.toml")
EXAMPLES = Path(__file__).parent.parent / "localeval" / "examples" / "answers.jsonl"
LONG = ("en-long-partly-supported", "en-list-half-wrong")  # shipped samples that are read by default
PLACES = ("contexts", "behind the statement", "in brackets", "behind a comma", "behind words of the contexts")


class Case(NamedTuple):
    """A statement to judge, and its contexts; a text may be inserted in either."""

    contexts: tuple[str, ...]
    statement: str


@dataclass(frozen=True)
class Trial:
    """A sample and a place in it, with the attack and with neutral text of the same length."""

    language: str
    string: str
    place: str
    attacked: Case
    neutral: Case


# Whether the attack, and whether the neutral text, turned a verdict: 0.0 or 1.0 each.
Flips = tuple[float, float]
# (language, place) -> the flips of all verdicts.
FlipsByPlace = dict[tuple[str, str], list[Flips]]


@click.command()
@click.option("--judge", "name", default=DEFAULT_JUDGE, show_default=True)
@click.option("--threads", default=0, help="Default: the physical cores.")
@click.option("--language", "languages", multiple=True, type=click.Choice(["en", "zh"]), default=["en", "zh"])
@click.option("-n", "number", default=0, help="Samples of each language, from the first on.  [default: all]")
@click.option("--read", is_flag=True, help="Decide by the judge's head, from its hidden states.")
@click.option("--long", is_flag=True, help="Attack the shipped long English responses, which are read.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="A folder, in which a stopped call is resumed."
)
def main(
    name: str,
    threads: int,
    languages: tuple[str, ...],
    number: int,
    read: bool,
    long: bool,
    output: Path | None,
) -> None:
    config = tomllib.loads(ATTACKS.read_text(encoding="utf-8"))
    tally = Tally()
    with Judge.load(name, n_threads=threads) as judge, Journal(output) as journal:
        if long:
            tally.rows["long"] = _long_rows(config, judge, journal)
        else:
            samples = [s for language in languages for s in _first(config["samples"], language, number)]
            _attack_samples(samples, config, judge, journal, read, tally)
    tally.print()


class Tally:
    """What was counted.

    rows      kind of probability ("raw", "calibrated", "read", "long") -> flips by language and place
    excesses  attacking text -> the verdicts that it turned, less those that neutral text turned
    """

    def __init__(self) -> None:
        self.rows: dict[str, FlipsByPlace] = {}
        self.excesses: dict[str, float] = defaultdict(float)

    def add(self, kind: str, trial: Trial, probabilities: dict[Case, float]) -> None:
        """Count a trial, if both of its cases were decided."""
        if trial.attacked not in probabilities or trial.neutral not in probabilities:
            return
        flips = _flips(probabilities[trial.attacked], probabilities[trial.neutral])
        by_place = self.rows.setdefault(kind, {})
        by_place.setdefault((trial.language, trial.place), []).append(flips)
        attacked, neutral = flips
        self.excesses[trial.string] += attacked - neutral

    def print(self) -> None:
        for kind, flips_by_place in self.rows.items():
            _print_table(kind, flips_by_place)
        if self.excesses:
            print("\nThe texts that did most:")
        most_first = sorted(self.excesses.items(), key=lambda pair: -pair[1])
        for string, excess in most_first[:5]:
            print(f"{excess:+.0f}  {json.dumps(string, ensure_ascii=False)}")


def _flips(attacked: float, neutral: float) -> Flips:
    """Return whether each probability, of a statement that is not supported, says that it is."""
    return float(attacked >= DEFAULTS.threshold), float(neutral >= DEFAULTS.threshold)


def _attack_samples(
    samples: Sequence[dict[str, Any]],
    config: dict[str, Any],
    judge: Judge,
    journal: Journal,
    read: bool,
    tally: Tally,
) -> None:
    """Judge each sample without an attack, and with each text in each place.

    read  decide by the judge's head, else ask about the statement
    """
    judged_samples = [Sample(response=s["statement"], retrieved_contexts=s["contexts"]) for s in samples]
    with live_line() as progress:
        for done, sample in enumerate(samples, 1):
            language = sample["language"]
            clean = Case(tuple(sample["contexts"]), sample["statement"])
            trials = list(_trials(sample, config))
            cases = [clean]
            for trial in trials:
                cases += [trial.attacked, trial.neutral]
            if read:
                by_kind = {"read": _read(cases, language, judge, journal)}
            else:
                raw = _ask(cases, language, judge, journal)
                by_kind = {"raw": raw, "calibrated": _calibrated(raw, language, judge)}
            progress(done, judged_samples)
            for kind, probabilities in by_kind.items():
                if probabilities[clean] >= DEFAULTS.threshold:
                    print(f"already wrong without an attack ({kind}), left out: {clean.statement}")
                    continue
                for trial in trials:
                    tally.add(kind, trial, probabilities)


def _long_rows(config: dict[str, Any], judge: Judge, journal: Journal) -> FlipsByPlace:
    """Attack long responses, and count the unsupported sentences that turn."""

    def read(sample: Sample) -> dict[str, float]:
        record = judge.judge(sample, ["grounding"], DEFAULTS, journal)["grounding"]
        if not isinstance(record, GroundingRecord):
            raise click.ClickException(f"{judge.source} has no head for English.")
        return {s.sentence: s.probability for s in record.sentences}

    def with_context(sample: Sample, text: str) -> Sample:
        contexts = [*(sample.retrieved_contexts or []), text]
        return sample.model_copy(update={"retrieved_contexts": contexts})

    def with_beginning(sample: Sample, text: str) -> Sample:
        return sample.model_copy(update={"response": f"{text}\n\n{sample.response}"})

    places = {"contexts": with_context, "before the response": with_beginning}
    rows: FlipsByPlace = defaultdict(list)
    for sample in read_samples(EXAMPLES, ids=LONG):
        wrong = [sentence for sentence, p in read(sample).items() if p < DEFAULTS.threshold]
        for string in config["strings"]["en"]:
            filler = _neutral_text(config, "en", len(string))
            for place, insert in places.items():
                attacked = read(insert(sample, string))
                neutral = read(insert(sample, filler))
                for sentence in wrong:
                    rows["en", place].append(_flips(attacked[sentence], neutral[sentence]))
    return rows


def _first(samples: Sequence[dict[str, Any]], language: str, number: int) -> list[dict[str, Any]]:
    matching = [s for s in samples if s["language"] == language]
    return matching[: number or len(matching)]


def _trials(sample: dict[str, Any], config: dict[str, Any]) -> Iterator[Trial]:
    for string in chain.from_iterable(config["strings"].values()):
        filler = _neutral_text(config, sample["language"], len(string))
        for place in PLACES:
            attacked = _insert(sample, string, place)
            neutral = _insert(sample, filler, place)
            yield Trial(sample["language"], string, place, attacked, neutral)


def _neutral_text(config: dict[str, Any], language: str, length: int) -> str:
    """Return a neutral text, its length rounded up to twenty characters so that similar ones share it."""
    text: str = config["neutral"][language]
    return text[: 20 * round(length / 20 + 0.5)]


def _insert(sample: dict[str, Any], text: str, place: str) -> Case:
    """Insert a text; the statement is the response's first sentence, as with `statements="sentences"`."""
    contexts = tuple(sample["contexts"])
    statement = sample["statement"]
    language = sample["language"]
    if place == "contexts":
        return Case((*contexts, text), statement)
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
    return Case(contexts, one_line(split_sentences(response)[0].text))


def _opening(text: str, language: str) -> str:
    """Return the first words of a context: a clause with them is not cut off as unrelated to the contexts."""
    return text[:4] if language == "zh" else " ".join(text.split()[:3])


def _ask(cases: Sequence[Case], language: str, judge: Judge, journal: Journal) -> dict[Case, float]:
    """Return P(supported) of each case, judged alone: together they would decide what is shown first."""
    prompt = DEFAULTS.prompt("support", language)
    asked = Asked(prompt=prompt, reasoned=False, question=None)
    fingerprint = [judge.record_fingerprint(), JUDGEMENTS["support"].version, prompt.sha256]

    def decide(case: Case) -> float:
        closest = rank_sentences([case.statement], context_sentences(case.contexts), MAX_CLOSEST)
        [verdict] = ask_about(asked, case.contexts, [case.statement], closest, judge.engine).decided
        return verdict.probability

    return _decide_all(cases, fingerprint, language, journal, decide)


def _read(cases: Sequence[Case], language: str, judge: Judge, journal: Journal) -> dict[Case, float]:
    """Return P(supported) of the one sentence of each response, as `groundedness` decides it."""
    choices = judge.choices(["grounding"], DEFAULTS)
    fingerprint = [judge.record_fingerprint(), head_digests(choices.heads)]

    def decide(case: Case) -> float:
        sample = Sample(response=case.statement, retrieved_contexts=list(case.contexts))
        record = read(reading_inputs(sample, choices), judge.engine)
        return min(sentence.probability for sentence in record.sentences)

    return _decide_all(cases, fingerprint, language, journal, decide)


def _decide_all(
    cases: Sequence[Case],
    fingerprint: Sequence[Any],
    language: str,
    journal: Journal,
    decide: Callable[[Case], float],
) -> dict[Case, float]:
    """Decide each case that is not in the journal; those in a language without a head are left out."""
    probabilities = {}
    for case in dict.fromkeys(cases):
        key = digest([fingerprint, case])
        with suppress(NoHead):
            entry = journal.get(key)
            if entry is None:
                entry = {"p": decide(case)}
                journal.put(key, "attack", language, entry, {})
            probabilities[case] = entry["p"]
    return probabilities


def _calibrated(raw: dict[Case, float], language: str, judge: Judge) -> dict[Case, float]:
    """Apply the shipped calibration, as `faithfulness` does by default; return `raw` where none fits."""
    curve = judge.curves(DEFAULTS).get(language)
    if curve is None:
        return raw
    calibrated = {}
    for case, p in raw.items():
        premise = source_terms(case.contexts)
        unknown = unsupported_numbers(case.statement, premise)
        calibrated[case] = curve.apply(p, term_recall(case.statement, premise), len(unknown))
    return calibrated


def _print_table(kind: str, rows: FlipsByPlace) -> None:
    print(f"\nFrom {kind} probabilities: {sum(map(len, rows.values()))} attacked verdicts.\n")
    print("| language | place | verdicts | flipped | by neutral text | excess |\n|---|---|---|---|---|---|")
    for (language, place), flips in rows.items():
        attacked, neutral = (sum(side) / len(flips) for side in zip(*flips, strict=True))
        excess = f"{attacked - neutral:+.3f}"
        interval = difference_interval([a - b for a, b in flips])
        if interval:
            low, high = interval
            excess += f" ({low:+.3f} to {high:+.3f})"
        print(f"| {language} | {place} | {len(flips)} | {attacked:.3f} | {neutral:.3f} | {excess} |")


if __name__ == "__main__":
    main()
