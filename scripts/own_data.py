"""Measure how well a judge does on the invented data of tests/data, whose rows say what should come out.

    scripts/own_data SET... -o FOLDER [--judge NAME] [--limit N --seed S] [--lang en|zh] [--threads N]

Prints a table for each set, with counts, shares and their 95 % intervals, then each row that is wrong, with
what the judge decided. Each set is judged as a run in a subfolder of FOLDER: the same call again goes on
where the last one stopped, and asks nothing twice.

Another set is a file NAME.jsonl in tests/data, whose rows have an `id` and a `lang`, a function that judges
its rows, and a line in `SETS`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click
from rich.table import Table
from scipy.stats import spearmanr  # type: ignore[import-untyped]

from localeval import Judge, Result, evaluate, prefer
from localeval.errors import LocalevalError
from localeval.judgements.decision import OF_ANSWER, decided_in
from localeval.metrics.sample_result import SampleResult
from localeval.models.catalog import DEFAULT_EMBEDDER, DEFAULT_JUDGE
from localeval.prompts.criteria import as_criteria
from localeval.report.progress import live_line
from localeval.report.text import new_table, printed
from localeval.samples.selection import draw
from localeval.statistics.intervals import mean_interval
from localeval.statistics.two_means import mean_of_two_interval
from localeval.text.display import one_line, printable, shorten

DATA = Path(__file__).parents[1] / "tests" / "data"
TABLE_WIDTH = 140
MAX_TEXT = 160  # characters of a text that are shown

Row = Mapping[str, Any]
Interval = tuple[float, float]


@dataclass(frozen=True)
class Finding:
    """What came of one row, held against what the row says should.

    id        of the row, or of the one of its texts that was judged
    figure    the column of the table in which it counts
    is_right  whether what came is what should; for a figure that is no share, whether it is near enough
    slices    column -> the row's value, for the lines of the table
    seen      what came and what should, then what the judge decided; a line each
    group     rows of a group, such as statements about the same table, are one unit of the interval
    is_listed whether the row is listed where it is not right; not for what is only told for comparison
    label     what should come, as a number from 0 to 1; used by figures that are no share
    score     what came, as such a number; None where nothing did
    """

    id: str
    figure: str
    is_right: bool
    slices: Mapping[str, str]
    seen: tuple[str, ...] = ()
    group: str = ""
    is_listed: bool = True
    label: float = math.nan
    score: float | None = None


@dataclass(frozen=True)
class Run:
    """By whom a set is judged, and in which folder."""

    judge: Judge
    folder: Path

    def evaluate(self, samples: Sequence[Row], metrics: Sequence[str], **options: Any) -> Result:
        """Judge samples in the folder, and show the progress on stderr."""
        with live_line(title=self.folder.name) as line:
            return evaluate(samples, metrics, self.judge, self.folder, progress=line, **options)

    def inside(self, name: str) -> Run:
        """Return a run in a subfolder, for a set that takes several."""
        return Run(self.judge, self.folder / name)


JudgeRows = Callable[[Sequence[Row], Run], list[Finding]]
Tabulate = Callable[[str, Sequence[Finding]], Table]


def as_sample(row: Row, **other: Any) -> dict[str, Any]:
    """Return the columns of a row that a judge may see, and other ones; never what is expected."""
    shown = ("id", "user_input", "retrieved_contexts", "response")
    return {name: row[name] for name in shown if name in row} | other


def decisions_of(item: SampleResult) -> list[str]:
    """Describe what was decided about the answer, a line each."""
    lines = []
    for listed in item.decisions():
        for one in listed.decisions if listed.kind in OF_ANSWER else ():
            if one.probability is not None:
                reason = f" ({one.reason})" if one.reason else ""
                said = f"{listed.judgement}, {one.label} {one.probability:.2f}{reason}"
                lines.append(f"{said}: {shorten(one_line(one.text), MAX_TEXT)}")
            elif one.unjudged not in ("", "no_words"):
                lines.append(f"not judged, {one.unjudged}: {shorten(one_line(one.text), MAX_TEXT)}")
    return lines


def shown(item: SampleResult, metric: str) -> str:
    """Return a sample's score of a metric in words."""
    score = item.scores[metric]
    return f"{score.status}, {score.reason}" if score.value is None else f"{score.value:.3f}"


# --- The sets ---------------------------------------------------------------------------------------------


def judge_unseen_facts(rows: Sequence[Row], run: Run) -> list[Finding]:
    """Judge twins of which one has a false fact, by the place of the fact."""
    return judge_twins(rows, run, "shape", "{}_fact")


def judge_swapped_in_answers(rows: Sequence[Row], run: Run) -> list[Finding]:
    """Judge twins of which one has a value of something else, by the place of the value."""
    return judge_twins(rows, run, "place", "stated_{}")


def judge_twins(rows: Sequence[Row], run: Run, kind: str, stated: str) -> list[Finding]:
    """Judge the faithfulness of both twins of each row: below 1 for the false one, 1 for the true one.

    kind    the column by which the table tells them apart
    stated  the column of what a twin says, with {} for "false" or "true"
    """
    twins = [(row, twin) for row in rows for twin in ("false", "true")]
    samples = [
        as_sample(row, id=f"{row['id']}-{twin}", response=row[f"response_{twin}"]) for row, twin in twins
    ]
    result = run.evaluate(samples, ["faithfulness"])
    findings = []
    for (row, twin), item in zip(twins, result.samples, strict=True):
        value = item.scores["faithfulness"].value
        is_right = value is not None and (value == 1.0 if twin == "true" else value < 1.0)
        is_read = any(verdict.by == "head" for verdict in decided_in(item.decisions(), "verdict"))
        seen = f"faithfulness {shown(item, 'faithfulness')}; {row[stated.format(twin)]}"
        findings.append(
            Finding(
                item.sample.id,
                "true twin at 1" if twin == "true" else "false twin below 1",
                is_right,
                {"lang": row["lang"], "judged": "read" if is_read else "asked", kind: row[kind]},
                (seen, *decisions_of(item)),
            )
        )
    return findings


def judge_values(rows: Sequence[Row], run: Run) -> list[Finding]:
    """Judge the faithfulness of statements about tables: 1 just where the value is the right one."""
    result = run.evaluate([as_sample(row) for row in rows], ["faithfulness"])
    findings = []
    for row, item in zip(rows, result.samples, strict=True):
        value = item.scores["faithfulness"].value
        is_supported = value == 1.0
        findings.append(
            Finding(
                row["id"],
                "right kept" if row["label"] else "wrong noticed",
                value is not None and is_supported == bool(row["label"]),
                {
                    "lang": row["lang"],
                    "form": row["form"],
                    "wording": row["wording"],
                    "kind": row["kind"],
                    "held out": "yes" if row["held_out"] else "no",
                },
                (
                    f"faithfulness {shown(item, 'faithfulness')}; {row['stated']}, right is {row['right']}",
                    *decisions_of(item),
                ),
                group=row["table"],
            )
        )
    return findings


def judge_preferences(rows: Sequence[Row], run: Run) -> list[Finding]:
    """Ask which of the two responses is better; tell how often length would be right, and order decides."""
    bad, good = (
        # Runs without a judge: only their responses are read.
        evaluate(
            [as_sample(row, response=row[column], reference=row["good_response"]) for row in rows],
            ["exact_match"],
        )
        for column in ("bad_response", "good_response")
    )
    with live_line(title=run.folder.name) as line:
        preference = prefer(bad, good, run.judge, output=run.folder, progress=line)
    compared = {sample.id: sample for sample in preference.samples}
    findings = []
    for row in rows:
        slices = {"lang": row["lang"], "kind": row["kind"]}
        sample = compared.get(row["id"])
        if sample is None:
            seen: tuple[str, ...] = (f"failed: {preference.failed.get(row['id'], 'left out')}",)
        else:
            seen = (
                f"P(the good one is better) {sample.share:.2f}: {sample.b_first:.2f} where it is shown "
                f"first, {sample.b_second:.2f} where it is shown second",
            )
        is_longer = len(row["good_response"]) > len(row["bad_response"])
        by_order = sample is not None and (sample.b_first > 0.5) != (sample.b_second > 0.5)
        is_right = sample is not None and sample.share > 0.5
        findings += [
            Finding(row["id"], "good one preferred", is_right, slices, seen),
            Finding(row["id"], "right by length alone", is_longer, slices, is_listed=False),
            Finding(row["id"], "decided by order alone", by_order, slices, is_listed=False),
        ]
    return findings


def judge_criteria(rows: Sequence[Row], run: Run) -> list[Finding]:
    """Ask each criterion about its rows; a level is right where the most probable one is the label's."""
    criteria = as_criteria([str(DATA / "criteria.toml")])
    findings = []
    for criterion in criteria:
        own = [row for row in rows if row["criterion"] == criterion.name]
        if not own:
            continue
        name = criterion.name
        samples = [as_sample(row) for row in own]
        result = run.inside(name).evaluate(samples, [name], criteria=[criterion])
        for row, item in zip(own, result.samples, strict=True):
            score = item.scores[name]
            levels = len(criterion.levels_in(row["lang"]))
            label = (row["label"] - 1) / (levels - 1) if levels else float(row["label"])
            findings.append(
                Finding(
                    row["id"],
                    "levels" if levels else "yes or no",
                    score.value is not None and math.isclose(score.value, label),
                    {"criterion": name},
                    (f"{shown(item, name)}; expected {label:.3f}", *decisions_of(item)),
                    label=label,
                    score=score.soft,
                )
            )
    return findings


def judge_abstention(rows: Sequence[Row], run: Run) -> list[Finding]:
    """Judge in which of the six cells of abstention each sample is."""
    metrics = ["abstention_accuracy", "unsupported_answer_rate", "over_refusal_rate"]
    result = run.evaluate([as_sample(row) for row in rows], metrics)
    findings = []
    for row, item in zip(rows, result.samples, strict=True):
        cell = cell_of(item)
        findings.append(
            Finding(
                row["id"],
                "cell as expected",
                cell == row["expected"],
                {"lang": row["lang"], "cell": row["expected"]},
                (f"{cell}; expected {row['expected']}", *decisions_of(item)),
            )
        )
    return findings


def cell_of(item: SampleResult) -> str:
    """Return the cell of a sample, which the last decision on abstention names, or why there is none."""
    for listed in item.decisions():
        for decision in listed.decisions if listed.judgement == "abstention" else ():
            if decision.label == "right":
                return decision.reason
    return shown(item, "abstention_accuracy")


def judge_citations(rows: Sequence[Row], run: Run) -> list[Finding]:
    """Compare citation recall and precision with those that were counted by hand; None for undefined."""
    result = run.evaluate([as_sample(row) for row in rows], ["citation_recall", "citation_precision"])
    findings = []
    for row, item in zip(rows, result.samples, strict=True):
        is_right = {}
        seen = []
        for name in ("recall", "precision"):
            expected = row[f"expected_{name}"]
            is_right[name] = is_same(item.scores[f"citation_{name}"].value, expected)
            told = "undefined" if expected is None else f"{expected:.3f}"
            seen.append(f"{name} {shown(item, f'citation_{name}')}, expected {told}")
        slices = {"lang": row["lang"], "case": row["case"]}
        lines = ("; ".join(seen), *decisions_of(item))
        findings += [
            Finding(row["id"], "both as expected", all(is_right.values()), slices, lines),
            *(Finding(row["id"], name, right, slices, is_listed=False) for name, right in is_right.items()),
        ]
    return findings


def is_same(value: float | None, expected: float | None) -> bool:
    """Return whether a score is the expected one; both may be undefined."""
    if value is None or expected is None:
        return value is expected
    return math.isclose(value, expected)


# --- Tables -----------------------------------------------------------------------------------------------


def tabulate_shares(title: str, findings: Sequence[Finding]) -> Table:
    """Return a line for all findings and one for each value of each slice, with the share of each figure."""
    figures = list(dict.fromkeys(finding.figure for finding in findings))
    table = new_table(title, *figures)
    table.add_row("all", *(share_of(findings, figure) for figure in figures))
    for column in findings[0].slices:
        for value in sorted({finding.slices[column] for finding in findings}):
            part = [finding for finding in findings if finding.slices[column] == value]
            table.add_row(f"{column}: {value}", *(share_of(part, figure) for figure in figures))
    return table


def share_of(findings: Sequence[Finding], figure: str) -> str:
    """Return how many of a figure are right, of how many, and the share with its 95 % interval."""
    own = [finding for finding in findings if finding.figure == figure]
    if not own:
        return "-"
    right = sum(finding.is_right for finding in own)
    return f"{right} of {len(own)}  {with_interval(right / len(own), interval_of(own))}"


def interval_of(findings: Sequence[Finding]) -> Interval | None:
    """Return the 95 % interval of the share of right ones; None for a single row, or a single group."""
    names = list(dict.fromkeys(finding.group for finding in findings))
    groups = [names.index(finding.group) for finding in findings] if any(names) else None
    return mean_interval([float(finding.is_right) for finding in findings], groups=groups)


def with_interval(value: float, interval: Interval | None) -> str:
    if interval is None:
        return f"{value:.2f}"
    low, high = interval
    return f"{value:.2f} ({low:.2f} to {high:.2f})"


def tabulate_criteria(title: str, findings: Sequence[Finding]) -> Table:
    """Return a line for each criterion: balanced accuracy, or the agreement of levels.

    Balanced accuracy is the mean of the shares of yes and of no that are right. Of levels it is Spearman's
    rank correlation of `soft` with the label, and how far `soft` is from it on average, both on 0 to 1.
    """
    table = new_table(title, "rows", "balanced accuracy", "rank correlation", "mean distance")
    for name in dict.fromkeys(finding.slices["criterion"] for finding in findings):
        own = [finding for finding in findings if finding.slices["criterion"] == name]
        scored = [(finding.label, finding.score) for finding in own if finding.score is not None]
        distance = "-"
        if scored:
            distance = f"{sum(abs(label - score) for label, score in scored) / len(scored):.2f}"
        if own[0].figure == "levels":
            figures = ["-", rank_correlation(scored), distance]
        else:
            figures = [balanced_accuracy(own), "-", distance]
        table.add_row(name, str(len(own)), *figures)
    return table


def rank_correlation(pairs: Sequence[tuple[float, float]]) -> str:
    """Return Spearman's correlation; "-" where all labels or all scores are equal."""
    labels, scores = zip(*pairs, strict=True) if pairs else ((), ())
    if len(set(labels)) < 2 or len(set(scores)) < 2:
        return "-"
    return f"{spearmanr(labels, scores).statistic:.2f}"


def balanced_accuracy(findings: Sequence[Finding]) -> str:
    """Return the mean of the shares of both labels with its interval; "-" where a label has no row."""
    shares = []
    intervals = []
    for label in (1.0, 0.0):
        own = [finding for finding in findings if finding.label == label]
        if not own:
            return "-"
        shares.append(sum(finding.is_right for finding in own) / len(own))
        intervals.append(interval_of(own))
    of_yes, of_no = intervals
    interval = None
    if of_yes is not None and of_no is not None:
        interval = mean_of_two_interval(shares[0], of_yes, shares[1], of_no)
    return with_interval(sum(shares) / 2, interval)


@dataclass(frozen=True)
class OwnSet:
    """A set of rows in tests/data.

    judge     judges its rows in a run's folder, and holds what comes against what they say
    tabulate  makes the table of its findings
    """

    judge: JudgeRows
    tabulate: Tabulate = tabulate_shares


SETS: dict[str, OwnSet] = {
    "unseen_facts": OwnSet(judge_unseen_facts),
    "unseen_facts_held_out": OwnSet(judge_unseen_facts),
    "swapped_in_answers": OwnSet(judge_swapped_in_answers),
    "swapped_values": OwnSet(judge_values),
    "preferences": OwnSet(judge_preferences),
    "criteria": OwnSet(judge_criteria, tabulate_criteria),
    "abstention": OwnSet(judge_abstention),
    "abstention_held_out": OwnSet(judge_abstention),
    "citations": OwnSet(judge_citations),
}
"""Name of a file in tests/data -> how it is measured."""


def read_rows(name: str, *, limit: int | None, seed: int, lang: str | None) -> list[Row]:
    """Read the rows of a set, or so many of them, drawn by the seed and their ids.

    Raises ClickException where there is no such row.
    """
    path = DATA / f"{name}.jsonl"
    if not path.is_file():
        raise click.ClickException(f"there is no {path}.")
    rows: list[Row] = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if lang in (None, row["lang"])]
    if not rows:
        raise click.ClickException(f"{path}: no row has the language {lang}.")
    if limit is not None:
        rows = [rows[index] for index in draw(range(len(rows)), [row["id"] for row in rows], limit, seed)]
    return rows


def report(name: str, findings: Sequence[Finding]) -> list[str]:
    """Return the lines of a set: its table, then each row that is wrong."""
    lines = printed(SETS[name].tabulate(name, findings), TABLE_WIDTH)
    wrong = [finding for finding in findings if finding.is_listed and not finding.is_right]
    lines += ["", f"wrong: {len(wrong)}"]
    for finding in wrong:
        slices = ", ".join(finding.slices.values())
        first, *others = finding.seen or ("",)
        lines += [f"  {finding.id} ({slices}): {first}", *(f"      {line}" for line in others)]
    return [printable(line) for line in lines]


@click.command()
@click.argument("names", metavar="SET...", nargs=-1, required=True, type=click.Choice([*SETS]))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help="A folder with a run's folder for each set, in which a stopped call goes on.",
)
@click.option("--judge", "judge_name", default=DEFAULT_JUDGE, show_default=True)
@click.option("--embedder", default=DEFAULT_EMBEDDER, show_default=True, help="For sets that compare texts.")
@click.option("--limit", type=click.IntRange(min=1), help="Rows of each set, drawn at random.")
@click.option("--seed", default=0, show_default=True, help="Of that draw.")
@click.option("--lang", type=click.Choice(["en", "zh"]), help="Only the rows in this language.")
@click.option("--threads", default=0, help="Default: the physical cores.")
def main(
    names: tuple[str, ...],
    output: Path,
    judge_name: str,
    embedder: str,
    limit: int | None,
    seed: int,
    lang: Literal["en", "zh"] | None,
    threads: int,
) -> None:
    """Measure a judge on sets of invented rows, each of which says what should come out."""
    sets = {name: read_rows(name, limit=limit, seed=seed, lang=lang) for name in dict.fromkeys(names)}
    try:
        with Judge.load(judge_name, embedder=embedder, n_threads=threads) as judge:
            for name, rows in sets.items():
                findings = SETS[name].judge(rows, Run(judge, output / name))
                print("\n".join([*report(name, findings), ""]), flush=True)
    except LocalevalError as error:
        raise click.ClickException(str(error)) from error
    print(f"records, pages and signatures: {output}")


if __name__ == "__main__":
    main()
