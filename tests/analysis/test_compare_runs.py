"""Several runs of the same samples: each is compared with the first, in one table and on one page."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from localeval import InputError, NotComparable, Result, Sample, Score, compare
from localeval.analysis import compare_page
from localeval.analysis.compare_runs import RunsComparison, compare_runs
from localeval.metrics.corrected import Corrected
from localeval.metrics.sample_result import SampleResult
from tests.commands import localeval, said
from tests.finished_runs import judged, result, scored, signature
from tests.reports import HOSTILE, Page

METRIC = "faithfulness"


def compared(*runs: Result, force: bool = False) -> RunsComparison:
    """Compare runs that lie in the folders runs/1, runs/2 and so on."""
    return compare_runs(runs, [f"runs/{i}" for i in range(1, 1 + len(runs))], force=force)


def answered(responses: Mapping[str, str], softs: Sequence[float]) -> Result:
    """A run with these responses, by id, and their scores."""
    samples = []
    for (name, response), soft in zip(responses.items(), softs, strict=True):
        sample = Sample(id=name, user_input=f"What of {name}?", response=response)
        samples.append(SampleResult(sample, {METRIC: Score(round(soft), soft)}, {}))
    return Result(samples, [METRIC], signature([METRIC]))


def page_of(comparison: RunsComparison) -> str:
    return "".join(compare_page.pieces(comparison))


def test_each_run_has_its_mean_and_its_difference_from_the_first() -> None:
    comparison = compared(result(scored([0.5] * 4)), result(scored([0.75] * 4)), result(scored([0.25] * 4)))
    first, second, third = comparison.metrics[METRIC]
    assert (first.mean.value, second.mean.value, third.mean.value) == (0.5, 0.75, 0.25)
    assert first.difference is None
    assert (second.difference and second.difference.difference) == 0.25
    assert (third.difference and third.difference.difference) == -0.25


def test_p_is_corrected_for_the_number_of_differences() -> None:
    # Of seven pairs that all rise p is 2 / 2 ** 7, and it is the smaller one of two.
    runs = [result(scored(values)) for values in ([0.0] * 7, [1.0] * 7, [0.0] * 6 + [1.0])]
    comparison = compared(*runs)
    _, second, third = comparison.metrics[METRIC]
    assert second.p == pytest.approx(2 * 2 / 2**7)
    assert (third.p, comparison.looks) == (1.0, 2)
    assert (second.finding, third.finding) == ("better", "no difference shown")
    assert "p is corrected for the 2 runs that are compared with the first" in str(comparison)


def test_a_difference_that_is_shown_alone_may_not_be_among_many() -> None:
    # Alone p is 2 / 2 ** 6 = 0.03.
    first, higher = result(scored([0.0] * 6)), result(scored([1.0] * 6))
    assert compared(first, higher).metrics[METRIC][1].finding == "better"
    among_many = compared(first, higher, first, first)
    assert among_many.metrics[METRIC][1].finding == "no difference shown"


def test_the_samples_that_changed_most_are_those_of_any_two_runs() -> None:
    runs = [result(scored([0.5] * 3)), result(scored([0.5, 0.9, 0.5])), result(scored([0.6, 0.1, 0.5]))]
    largest, smaller = compared(*runs).changed
    assert (largest.id, largest.lowest, largest.highest) == ("1", 2, 1)
    assert largest.change == pytest.approx(0.8)
    assert smaller.id == "0"
    assert smaller.change == pytest.approx(0.1)


def test_a_sample_that_a_run_does_not_have_or_did_not_score_has_no_score_there() -> None:
    runs = [
        result({"a": Score(0.0, 0.0), "b": Score(1.0, 1.0)}),
        result({"b": Score.undefined("no_statements")}),
        result({"a": Score(1.0, 1.0), "b": Score(0.5, 0.5)}),
    ]
    a, b = compared(*runs).changed
    assert [in_run.soft for in_run in a.runs] == [0.0, None, 1.0]
    assert [in_run.soft for in_run in b.runs] == [1.0, None, 0.5]


def test_a_run_without_a_sample_of_the_first_is_refused() -> None:
    run = result({"a": Score(0.0, 0.0)})
    message = said(InputError, compared, run, result({"c": Score(1.0, 1.0)}))
    assert message.startswith("1 and 2: the runs have no sample in common")


def test_only_metrics_of_all_runs_are_compared_and_the_others_are_named() -> None:
    first, second = result(scored([0.5] * 3)), result(scored([0.5] * 3))
    for item in second.samples:
        item.scores["full_support"] = Score(1.0, 1.0)  # type: ignore[index]
    second.metrics = [METRIC, "full_support"]
    comparison = compared(first, second, first)
    assert [*comparison.metrics] == [METRIC]
    assert "not compared: full_support of 2" in str(comparison)


def test_a_run_says_its_corrected_number() -> None:
    first, second = result(scored([0.5] * 3)), result(scored([0.5] * 3))
    second.corrected[METRIC] = Corrected(
        method="post-stratified",
        unit="sample",
        number="share right",
        raw=0.5,
        value=0.625,
        interval=(0.25, 0.875),
        labels=50,
    )
    comparison = compared(first, second, first)
    [line] = comparison.corrected
    assert line.startswith("faithfulness of 2, corrected: 0.625 of the samples right")
    assert line in str(comparison).splitlines()
    assert "0.625 of the samples right" in page_of(comparison)


def test_runs_that_were_made_differently_are_refused_by_name() -> None:
    run = result(scored([0.5] * 3))
    other = result(scored([0.5] * 3), options={**signature().options, "threshold": 0.7})
    message = said(NotComparable, compared, run, run, other)
    assert message.startswith("1 and 3: these runs were made differently")
    assert "options.threshold" in compared(run, run, other, force=True).forced[0]


def test_runs_whose_folders_have_the_same_name_are_named_by_their_paths() -> None:
    run = result(scored([0.5] * 3))
    assert compare_runs([run, run], ["a/run", "b/run"]).names == ("a/run", "b/run")


def test_the_table_has_a_row_for_each_run_in_the_order_given() -> None:
    runs = [result(scored([share] * 3)) for share in (0.5, 0.25, 0.75)]
    text = str(compared(*runs))
    means = text.partition("changed most")[0]
    assert re.findall(r"([123]) [123]   (0\.\d{3}) ", means) == [
        ("1", "0.500"),
        ("2", "0.250"),
        ("3", "0.750"),
    ]
    assert text.splitlines()[-3:] == ["1 runs/1", "2 runs/2", "3 runs/3"]


def test_the_page_has_a_plot_of_each_metric_with_a_point_for_each_run() -> None:
    runs = [result(scored([share, share / 2, share])) for share in (0.5, 0.25, 0.75, 0.5)]
    page = Page(page_of(compared(*runs)))
    classes = [attributes.get("class") for _, attributes in page.elements]
    assert classes.count("plot") == 1
    assert classes.count("dot") == 4
    assert classes.count("interval") == 4


def test_points_lie_higher_for_a_higher_mean_and_in_the_order_given() -> None:
    runs = [result(scored([share] * 3)) for share in (0.5, 0.25, 0.75)]
    comparison = compared(*runs)
    points = compare_page.plot(comparison.names, comparison.metrics[METRIC]).points
    first, lower, higher = [point.y or 0.0 for point in points]
    assert higher < first < lower
    assert points[0].x < points[1].x < points[2].x


def test_the_axis_holds_all_intervals() -> None:
    runs = [result(scored(values)) for values in ([1.0] * 5, [0.0, 1.0] * 4)]
    comparison = compared(*runs)
    drawn = compare_page.plot(comparison.names, comparison.metrics[METRIC])
    top = min(y for _, y in drawn.ticks)
    for point in drawn.points:
        assert top <= (point.high or 0) <= (point.low or 0) <= drawn.bottom


def test_of_many_runs_the_plot_shows_numbers_alone_and_the_table_the_names() -> None:
    comparison = compared(*[result(scored([0.5] * 3))] * 20)
    points = compare_page.plot(comparison.names, comparison.metrics[METRIC]).points
    assert [point.name for point in points] == [""] * 20
    assert points[19].number == 20


def test_a_run_without_a_score_has_no_point() -> None:
    runs = [result(scored([0.5] * 3)), result({"0": Score.undefined("no_statements")})]
    comparison = compared(*runs)
    assert comparison.metrics[METRIC][1].finding == "nothing to compare"
    assert compare_page.plot(comparison.names, comparison.metrics[METRIC]).points[1].y is None
    assert "nothing to compare" in page_of(comparison)


def test_two_runs_have_the_p_and_the_finding_of_a_comparison_of_two() -> None:
    runs = [result(scored([0.0] * 6)), result(scored([1.0] * 6))]
    of_two = compare(*runs).metrics[METRIC]
    of_many = compared(*runs).metrics[METRIC][1]
    assert (of_many.p, of_many.finding) == (of_two.value and of_two.value.p, of_two.finding)


def test_the_page_of_two_runs_says_what_difference_could_have_been_seen() -> None:
    runs = [result(scored([0.5] * 16)), result(scored([0.3, 0.7] * 8))]
    assert "could have seen 0.145 or more" in page_of(compared(*runs))


def test_the_page_shows_the_response_of_each_run_once() -> None:
    runs = [
        answered({"a": "Tea is green."}, [0.9]),
        answered({"a": "Tea is red."}, [0.1]),
        answered({"a": "Tea is green."}, [0.8]),
    ]
    text = Page(page_of(compared(*runs))).text
    assert text.count("Tea is green.") == 1
    assert "Tea is red." in text
    assert "the same as in 1" in text


def test_the_page_loads_and_sends_nothing_and_its_texts_are_escaped() -> None:
    runs = [answered({text: text}, [soft]) for text in HOSTILE[:1] for soft in (0.1, 0.9)]
    page = page_of(compare_runs(runs, [f"runs/{HOSTILE[1]}", "runs/after"]))
    parsed = Page(page)
    assert [name for name, _ in parsed.elements].count("script") == 1
    policy = next(a["content"] or "" for _, a in parsed.elements if a.get("http-equiv"))
    assert "default-src 'none'" in policy
    loaded = [a.get("src") or a.get("href") for _, a in parsed.elements if a.get("src") or a.get("href")]
    assert loaded == ["data:,"]
    assert HOSTILE[0] in parsed.text


def test_the_page_is_in_chinese_where_most_samples_are() -> None:
    runs = [answered({"一": "茶是绿色的。"}, [0.9]), answered({"一": "茶是红色的。"}, [0.1])]
    assert '<html lang="zh">' in page_of(compared(*runs))


def test_the_command_compares_three_runs_and_writes_a_page(tmp_path: Path) -> None:
    for name, share in (("one", 0.9), ("two", 0.1), ("three", 0.9)):
        judged(tmp_path / name, [share] * 8)
    done = localeval("compare", "one", "two", "three", "-o", "page.html", cwd=tmp_path)
    assert (done.returncode, done.stderr.strip()) == (0, "page: page.html")
    assert [line.split()[-1] for line in done.stdout.splitlines() if "2 two" in line][:1] == ["worse"]
    assert "<title>Comparison: one, two, three</title>" in (tmp_path / "page.html").read_text("utf-8")
    found = json.loads(localeval("compare", "one", "two", "three", "--json", cwd=tmp_path).stdout)
    assert [row["mean"]["value"] for row in found["metrics"][METRIC]] == [1.0, 0.0, 1.0]
    again = localeval("compare", "one", "two", "-o", "page.html", cwd=tmp_path)
    assert again.returncode == 0
    assert "<title>Comparison: one, two</title>" in (tmp_path / "page.html").read_text("utf-8")


def test_the_page_replaces_no_other_file(tmp_path: Path) -> None:
    judged(tmp_path / "one", [0.9] * 3)
    (tmp_path / "notes.html").write_text("<!doctype html><title>Mine</title>", encoding="utf-8")
    for target in ("notes.html", "one/report.html"):
        refused = localeval("compare", "one", "one", "-o", target, cwd=tmp_path)
        assert refused.returncode == 2
    assert "Mine" in (tmp_path / "notes.html").read_text("utf-8")


@pytest.mark.parametrize("option", [["--by", "source"], ["--fail-on-drop"]])
def test_what_compares_two_runs_is_refused_for_three(tmp_path: Path, option: list[str]) -> None:
    judged(tmp_path / "one", [0.9] * 3)
    refused = localeval("compare", "one", "one", "one", *option, cwd=tmp_path)
    assert (refused.returncode, "compare two runs, and 3 are given" in refused.stderr) == (2, True)


def test_one_run_alone_is_refused(tmp_path: Path) -> None:
    judged(tmp_path / "one", [0.9] * 3)
    refused = localeval("compare", "one", cwd=tmp_path)
    assert (refused.returncode, "takes two runs or more" in refused.stderr) == (2, True)
