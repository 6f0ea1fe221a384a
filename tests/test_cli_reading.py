"""The options of `evaluate` that say what of a file is read, and as what."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
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
    assert said[0].startswith("skipped: data.csv, line 2: ctx is 'Tea.'")
    assert said[20:] == ["skipped: 28 in all, 8 of them not shown"]
    run = localeval(*arguments, cwd=tmp_path)
    assert run.returncode == 2
    assert said[0].removeprefix("skipped: ") in fault(run)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--columns", "q"), "--columns: 'q' is not FIELD=NAME; write user_input=q,response=a."),
        (("--columns", "response=a,response=q"), "--columns: response is named twice; keep one."),
        (
            ("--columns", "response=a,answer=q"),
            "localeval: columns: response is named twice; keep one.",
        ),
        (("--columns", "respons=a"), "columns: respons is no field of a sample; did you mean response?"),
        (
            ("--columns", "id=key,response=anwser"),
            "data.csv: no sample has the column anwser, which was named for",
        ),
        ((*COLUMNS, "--limit", "0"), "localeval: --limit is 0; choose a whole number, at least 1."),
        ((*COLUMNS, "--limit", "-3"), "localeval: --limit is -3; choose a whole number, at least 1."),
        ((*COLUMNS, "--sample", "0"), "localeval: --sample is 0; choose a whole number, at least 1."),
        ((*COLUMNS, "--sample", "-1"), "localeval: --sample is -1; choose a whole number, at least 1."),
        (
            (*COLUMNS, "--sample", "2", "--seed", "-1"),
            "localeval: --seed is -1; choose a whole number from 0 to 4294967295.",
        ),
        (("--threads", "-1"), "localeval: --threads is -1; choose a whole number from 0 to 1024."),
        (("--gpu-layers", "-2"), "localeval: --gpu-layers is -2; choose a whole number from -1 to 1000."),
        (("--threshold", "3"), "localeval: --threshold is 3.0; choose a number from 0 to 1."),
        (
            (*COLUMNS, "--id", "s0", "--id", "s9", "--limit", "1"),
            "localeval: data.csv: no sample up to the limit of 1 has the id s9; raise the limit, or leave",
        ),
        ((*COLUMNS, "--id", "s99x"), "data.csv: no sample has the id s99x; did you mean s"),
        ((*COLUMNS, "--encoding", "klingon"), "encoding klingon is not known; give another one"),
        (("--format", "json"), "data.csv: not JSON"),
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


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("LOCALEVAL_THREADS", "many", "(env var: 'LOCALEVAL_THREADS'): 'many' is not a valid integer."),
        ("LOCALEVAL_EXPLAIN", "perhaps", "(env var: 'LOCALEVAL_EXPLAIN'): 'perhaps' is not a valid boolean."),
        ("LOCALEVAL_VERDICT", "slow", "(env var: 'LOCALEVAL_VERDICT'): 'slow' is not one of"),
        (
            "LOCALEVAL_THREADS",
            "-1",
            "localeval: LOCALEVAL_THREADS is -1; choose a whole number from 0 to 1024.",
        ),
        ("LOCALEVAL_BETA", "0", "localeval: LOCALEVAL_BETA is 0.0; choose a number from 0.01 to 100."),
    ],
)
def test_a_variable_with_a_wrong_value_is_exit_2_and_named(
    tmp_path: Path, variable: str, value: str, message: str
) -> None:
    (tmp_path / "data.csv").write_text(table())
    run = localeval("evaluate", "data.csv", cwd=tmp_path, **{variable: value})
    assert run.returncode == 2
    assert message in fault(run)


@pytest.mark.parametrize(
    ("metric", "option"), [("answer_relevance", "--user-input"), ("context_recall", "--reference")]
)
def test_score_names_the_option_that_a_metric_needs(tmp_path: Path, metric: str, option: str) -> None:
    nowhere = str(tmp_path / "none")
    run = localeval("score", "-m", metric, "--response", "Tea.", cwd=tmp_path, LOCALEVAL_MODELS=nowhere)
    assert run.returncode == 2
    assert fault(run) == f"localeval: {metric} needs {option}; give it, or leave the metric out."


def test_a_stdin_that_the_shell_closed_is_exit_2(tmp_path: Path) -> None:
    command = ["sh", "-c", '"$0" -m localeval evaluate - <&-', sys.executable]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert run.returncode == 2
    assert fault(run).startswith("localeval: stdin: is closed; send the samples there")


def test_an_open_quote_that_takes_the_rest_of_the_file_is_exit_2_with_skip_bad(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text('id,answer\n1,A\n2,"B\n3,C\n4,D\n')
    run = localeval("evaluate", "data.csv", "--skip-bad", cwd=tmp_path)
    assert run.returncode == 2
    assert "data.csv, lines 3 to 5: not CSV" in fault(run)
