"""The options of `evaluate` that say what of a file is read, and as what."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.test_cli import fault, localeval

ROWS = [{"key": f"s{place}", "q": "Who?", "a": "Tea grows.", "ctx": '["Tea grows."]'} for place in range(30)]
COLUMNS = ("--columns", "id=key,user_input=q", "--columns", "response=a, contexts=ctx")


def table(rows: list[dict[str, str]] = ROWS) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def ids(folder: Path) -> list[str]:
    return [json.loads(line)["id"] for line in (folder / "samples.jsonl").read_text().splitlines()]


def test_a_csv_on_stdin_is_read_with_its_own_columns_and_a_choice_of_its_samples(
    tiny_path: Path, tmp_path: Path
) -> None:
    chosen = ("--format", "csv", *COLUMNS, "--limit", "10", "--sample", "3", "--seed", "5")
    arguments = (
        "evaluate",
        "-",
        "-m",
        "faithfulness",
        "--judge",
        tiny_path,
        "-q",
        "--statements",
        "sentences",
    )
    run = localeval(*arguments, *chosen, "-o", "run", cwd=tmp_path, stdin=table())
    assert run.returncode == 0, run.stderr
    drawn = ids(tmp_path / "run")
    assert len(drawn) == 3
    assert set(drawn) < {f"s{place}" for place in range(10)}
    assert localeval(*arguments, *chosen, "-o", "2", cwd=tmp_path, stdin=table()).returncode == 0
    assert ids(tmp_path / "2") == drawn


def test_skip_bad_lists_twenty_of_what_was_skipped_on_stderr_and_goes_on(
    tiny_path: Path, tmp_path: Path
) -> None:
    rows = [row if place in (3, 4) else {**row, "ctx": "Tea."} for place, row in enumerate(ROWS)]
    (tmp_path / "data.csv").write_text(table(rows))
    options = ("--judge", tiny_path, "-q", "-m", "faithfulness", "--statements", "sentences")
    arguments = ("evaluate", "data.csv", *COLUMNS, *options)
    run = localeval(*arguments, "--skip-bad", "--id", "s4", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert ids(tmp_path / "runs" / "data") == ["s4"]
    said = [line for line in run.stderr.splitlines() if line.startswith("skipped: ")]
    assert said[0].startswith("skipped: data.csv, line 2: ctx: expected a list of strings in JSON, found a")
    assert said[20:] == ["skipped: 28 in all, 8 of them not shown"]
    run = localeval(*arguments, cwd=tmp_path)
    assert run.returncode == 2
    assert said[0].removeprefix("skipped: ") in fault(run)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--columns", "q"), "--columns: 'q' is not FIELD=NAME; write user_input=q,response=a."),
        (("--columns", "response=a,response=q"), "--columns: response is named twice; keep one."),
        (("--columns", "respons=a"), "columns: respons is no field of a sample; choose response."),
        (
            ("--columns", "id=key,response=anwser"),
            "data.csv: no sample has the column anwser, which was named for",
        ),
        ((*COLUMNS, "--limit", "0"), "limit is 0; choose at least 1."),
        ((*COLUMNS, "--id", "s99x"), "data.csv: no sample has the id s99x; did you mean s"),
        ((*COLUMNS, "--encoding", "klingon"), "encoding klingon is not known; give another one"),
        (("--format", "json"), "data.csv, line 1: no list begins here; write a list of objects"),
        (("--format", "xlsx"), "Error: Invalid value for '--format'"),
    ],
)
def test_options_that_do_not_fit_are_exit_2_before_a_model_is_looked_for(
    tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    (tmp_path / "data.csv").write_text(table())
    run = localeval("evaluate", "data.csv", *options, cwd=tmp_path, LOCALEVAL_MODELS=str(tmp_path / "none"))
    assert run.returncode == 2
    assert message in fault(run)
