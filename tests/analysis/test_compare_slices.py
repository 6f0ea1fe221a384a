"""Two runs by the values of a column, with p-values that are corrected for the number of looks."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from localeval import InputError, Result, Sample, Score
from localeval.analysis.compare_slices import ComparedSlices, compare_slices
from localeval.metrics.sample_result import SampleResult
from tests.commands import localeval, said
from tests.finished_runs import judged, signature, write_rows

METRIC = "faithfulness"


def run_of(sources: Sequence[str | None], scores: Sequence[float]) -> Result:
    samples = []
    for i, (source, score) in enumerate(zip(sources, scores, strict=True)):
        sample = Sample(id=str(i), response="Tea.", source=source)
        samples.append(SampleResult(sample, {METRIC: Score(score, score)}, {}))
    return Result(samples, [METRIC], signature([METRIC]))


def compared(
    sources: Sequence[str | None], before: Sequence[float], after: Sequence[float]
) -> ComparedSlices:
    [sliced] = compare_slices(run_of(sources, before), run_of(sources, after), [METRIC], ["source"])
    return sliced


def test_each_value_has_the_means_of_its_own_pairs() -> None:
    sliced = compared(["web"] * 2 + ["mail"] * 2, [1.0, 0.5, 0.0, 0.0], [0.5, 0.5, 1.0, 0.0])
    web, mail = sliced.rows
    assert web.difference is not None
    assert (web.value, web.pairs, web.difference.a, web.difference.b) == ("web", 2, 0.75, 0.5)
    assert mail.difference is not None
    assert (mail.value, mail.pairs, mail.difference.difference) == ("mail", 2, 0.5)


def test_a_p_value_is_corrected_for_all_slices_that_are_tested() -> None:
    # Each of eight pairs rises: p is 2 / 2 ** 8, and the smaller one of two looks counts twice.
    sliced = compared(["web"] * 8 + ["mail"] * 8, [0.0] * 16, [1.0] * 8 + [0.0] * 8)
    web, mail = sliced.rows
    assert web.p == pytest.approx(2 * 2 / 2**8)
    assert mail.p == 1.0
    assert (web.finding, mail.finding) == ("better", "no difference shown")
    assert sliced.looks == 2
    assert "each p is one of 2 looks, and corrected for that (Holm 1979)" in sliced.lines()


def test_a_difference_that_one_look_would_show_is_not_shown_by_many() -> None:
    # Each of six pairs of a source rises: p is 2 / 2 ** 6 = 0.03 alone, and 0.12 as one of four.
    sources = [f"source {i // 6}" for i in range(24)]
    sliced = compared(sources, [0.0] * 24, [1.0] * 6 + [0.0] * 18)
    assert sliced.rows[0].difference is not None
    assert sliced.rows[0].difference.p == pytest.approx(2 / 2**6)
    assert sliced.rows[0].p == pytest.approx(4 * 2 / 2**6)
    assert sliced.rows[0].finding == "no difference shown"


def test_a_slice_of_fewer_than_five_pairs_is_shown_and_not_tested() -> None:
    sliced = compared(["web"] * 8 + ["mail"] * 4, [0.0] * 12, [1.0] * 12)
    mail = sliced.rows[1]
    assert (mail.pairs, mail.p, mail.finding) == (4, None, None)
    assert sliced.looks == 1
    [row] = [line for line in sliced.lines() if line.startswith("mail")]
    assert row.endswith("too few")


def test_samples_without_a_value_are_a_row_of_their_own() -> None:
    sliced = compared([None, "web"], [0.0, 0.0], [1.0, 0.0])
    assert [row.value for row in sliced.rows] == ["web", None]
    assert any(line.startswith("(missing)") for line in sliced.lines())


def test_rare_values_are_counted_and_not_shown() -> None:
    sources = [f"topic {i}" for i in range(22)] + [f"topic {i}" for i in range(20)]
    sliced = compared(sources, [0.0] * 42, [1.0] * 42)
    assert (len(sliced.rows), sliced.more_values, sliced.more_samples) == (20, 2, 2)


def test_a_column_that_no_sample_has_is_refused() -> None:
    run = run_of(["web"], [1.0])
    assert "did you mean source?" in said(InputError, compare_slices, run, run, [METRIC], ["sorce"])


def test_the_command_prints_slices_behind_the_comparison_and_in_json(tmp_path: Path) -> None:
    before = judged(tmp_path / "before", [0.9] * 6 + [0.1] * 6)
    judged(tmp_path / "after", [0.9] * 12)
    rows = [json.loads(line) for line in (before / "samples.jsonl").read_text("utf-8").splitlines()]
    for i, row in enumerate(rows):
        row["source"] = "web" if i < 6 else "mail"
    write_rows(before / "samples.jsonl", rows)
    plain = localeval("compare", "before", "after", cwd=tmp_path).stdout
    sliced = localeval("compare", "before", "after", "--by", "source", cwd=tmp_path).stdout
    assert sliced.startswith(plain)
    assert "mail" in sliced.removeprefix(plain)
    found = json.loads(
        localeval("compare", "before", "after", "--by", "source", "--json", cwd=tmp_path).stdout
    )
    assert [row["value"] for row in found["slices"][0]["rows"]] == ["web", "mail"]
    assert "slices" not in json.loads(localeval("compare", "before", "after", "--json", cwd=tmp_path).stdout)
