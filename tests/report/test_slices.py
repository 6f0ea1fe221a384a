"""A run by the values of a column: in the table, the page and the JSON."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from localeval import InputError, Result, Sample, Score
from localeval.metrics.sample_result import SampleResult
from localeval.report.slices import slices_of
from tests.commands import localeval, said
from tests.finished_runs import judged, signature, write_rows
from tests.reports import Page

METRIC = "faithfulness"


def run_of(values: Sequence[Any], scores: Sequence[float | None], column: str = "source") -> Result:
    """A run with a sample for each value of the column (None: without it) and score (None: undefined)."""
    samples = []
    for i, (value, score) in enumerate(zip(values, scores, strict=True)):
        columns = {"id": str(i), "response": "Tea.", column: value}
        status = Score.undefined("no_statements") if score is None else Score(score, score)
        samples.append(SampleResult(Sample(**columns), {METRIC: status}, {}))
    return Result(samples, [METRIC], signature([METRIC]))


def sliced_table(run: Result, *columns: str) -> str:
    run.slice_by(*columns)
    return str(run)


def row_of(text: str, value: str) -> list[str]:
    return next(line.split() for line in text.splitlines() if line.startswith(value))


def test_each_value_of_a_column_has_its_mean_its_interval_and_its_counts() -> None:
    run = run_of(["web"] * 6 + ["mail"] * 2, [1.0] * 3 + [0.0] * 2 + [None] + [0.5, 1.0])
    web, mail = slices_of(run.samples, run.metrics, "source").slices
    assert (web.value, web.samples, mail.value, mail.samples) == ("web", 6, "mail", 2)
    mean = web.means[METRIC]
    assert (mean.value, mean.scored, mean.undefined) == (3 / 5, 5, 1)
    # Clopper and Pearson 1934 for 3 of 5.
    assert mean.interval == pytest.approx((0.1466, 0.9473), abs=1e-4)
    assert mail.means[METRIC].value == 0.75


def test_the_table_has_a_row_for_each_value() -> None:
    text = sliced_table(run_of(["web"] * 6 + ["mail"] * 5, [1.0] * 6 + [0.0] * 5), "source")
    assert row_of(text, "web")[:4] == ["web", "6", METRIC, "1.000"]
    assert row_of(text, "mail")[:4] == ["mail", "5", METRIC, "0.000"]


def test_a_run_that_is_not_sliced_has_no_such_table() -> None:
    run = run_of(["web"] * 2, [1.0, 0.0])
    assert "web" not in str(run)
    assert "slices" not in run.to_dict()


def test_samples_without_a_value_are_a_row_of_their_own_and_the_last() -> None:
    run = run_of([None, None, None, "web"], [1.0] * 4)
    assert [one.value for one in slices_of(run.samples, run.metrics, "source").slices] == ["web", None]
    assert row_of(sliced_table(run, "source"), "(missing)")[:2] == ["(missing)", "3"]


def test_an_empty_value_is_not_a_missing_one() -> None:
    text = sliced_table(run_of(["", None], [1.0, 0.0]), "source")
    assert row_of(text, "(empty)")[:4] == ["(empty)", "1", METRIC, "1.000"]
    assert row_of(text, "(missing)")[:4] == ["(missing)", "1", METRIC, "0.000"]


@pytest.mark.parametrize(("scored", "is_few"), [(4, True), (5, False)])
def test_a_value_with_fewer_than_five_scored_samples_is_called_too_few(scored: int, is_few: bool) -> None:
    text = sliced_table(run_of(["web"] * 6, [1.0] * scored + [None] * (6 - scored)), "source")
    assert ("too few" in text) == is_few


def test_the_name_of_a_column_is_shown_as_it_is() -> None:
    text = sliced_table(run_of(["web"], [1.0], column="[bold]x[/]"), "[bold]x[/]")
    assert any(line.startswith("[bold]x[/]") for line in text.splitlines())


def test_of_many_values_the_20_most_frequent_are_shown_and_the_others_counted() -> None:
    values = [f"topic {i}" for i in range(25)] + [f"topic {i}" for i in range(5, 25)]
    sliced = slices_of(run_of(values, [1.0] * 45).samples, [METRIC], "source")
    assert {one.value for one in sliced.slices} == {f"topic {i}" for i in range(5, 25)}
    assert (sliced.more_values, sliced.more_samples) == (5, 5)
    text = sliced_table(run_of(values, [1.0] * 45), "source")
    assert "5 more values of source are rarer, and are not shown: 5 samples" in text


def test_a_column_that_no_sample_has_is_refused_with_the_nearest_name() -> None:
    run = run_of(["web"], [1.0])
    message = said(InputError, run.slice_by, "sorce")
    assert message == "no sample has the column sorce; did you mean source?"


def test_the_language_of_the_response_is_found_where_the_data_has_none() -> None:
    run = run_of([None, None], [1.0, 0.0])
    run.samples[1].sample.__dict__["response"] = "茶是绿色的。"
    assert [one.value for one in slices_of(run.samples, run.metrics, "lang").slices] == ["en", "zh"]


def test_the_language_that_the_data_has_is_taken_as_it_is() -> None:
    run = run_of(["de", None], [1.0, 0.0], column="lang")
    assert [one.value for one in slices_of(run.samples, run.metrics, "lang").slices] == ["de", None]


def test_numbers_and_lists_are_values_too() -> None:
    run = run_of([3, 3, ["a", "b"]], [1.0, 0.0, 1.0])
    assert [one.value for one in slices_of(run.samples, run.metrics, "source").slices] == ["3", '["a", "b"]']


def test_a_field_of_the_sample_is_a_column_as_well() -> None:
    run = run_of(["web", "mail"], [1.0, 0.0])
    assert [one.value for one in slices_of(run.samples, run.metrics, "response").slices] == ["Tea."]


def test_the_intervals_of_a_slice_take_groups_as_units() -> None:
    run = run_of(["web"] * 6, [1.0, 1.0, 0.0, 0.0, 1.0, 1.0])
    for i, item in enumerate(run.samples):
        (item.sample.model_extra or {})["group"] = i // 2
    [web] = slices_of(run.samples, run.metrics, "source").slices
    assert web.means[METRIC].groups == 3


def test_the_page_has_a_table_by_value_in_both_languages_with_texts_escaped(tmp_path: Path) -> None:
    run = run_of(["<b>web</b>"] * 5 + [None], [1.0] * 5 + [0.0])
    run.slice_by("source")
    run.to_html(tmp_path / "page.html")
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "<b>web</b>" in page.text
    assert "too few" in page.text
    assert "太少" in page.text


def test_the_page_without_slices_has_no_such_table(tmp_path: Path) -> None:
    run_of(["web"], [1.0]).to_html(tmp_path / "page.html")
    assert 'class="slices"' not in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_command_shows_slices_in_table_page_and_json(tmp_path: Path) -> None:
    run = judged(tmp_path / "run", [0.9] * 5 + [0.1] * 5)
    rows = [json.loads(line) for line in (run / "samples.jsonl").read_text("utf-8").splitlines()]
    for i, row in enumerate(rows):
        row["source"] = "web" if i < 5 else "mail"
    write_rows(run / "samples.jsonl", rows)
    table = localeval("report", "run", "--by", "source", cwd=tmp_path)
    assert row_of(table.stdout, "mail")[:4] == ["mail", "5", METRIC, "0.000"]
    assert 'class="slices"' in (run / "report.html").read_text(encoding="utf-8")
    found = json.loads(localeval("report", "run", "--by", "source", "--json", cwd=tmp_path).stdout)
    [sliced] = found["slices"]
    assert sliced["column"] == "source"
    means = {one["value"]: one["summary"][METRIC]["value"] for one in sliced["values"]}
    assert means == {"web": 1.0, "mail": 0.0}
    refused = localeval("report", "run", "--by", "sauce", cwd=tmp_path)
    assert (refused.returncode, "no sample has the column sauce" in refused.stderr) == (2, True)
