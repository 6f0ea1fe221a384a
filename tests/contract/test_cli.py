"""The command line: data on stdout, talk on stderr, and for every fault one sentence and an exit code."""

from __future__ import annotations

import csv
import io
import json
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from localeval import cli, evaluate
from localeval.testing import FakeEngine, fake_judge
from tests.commands import fault, localeval, process
from tests.runs import judged

GOOD = {"response": "Tea grows. It sings.", "retrieved_contexts": ["Tea grows."]}
ROWS = [{"key": f"s{place}", "q": "Who?", "a": "Tea grows.", "ctx": '["Tea grows."]'} for place in range(30)]
COLUMNS = ("--columns", "id=key,user_input=q", "--columns", "response=a, contexts=ctx")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps({"id": f"s{i}", **GOOD}) + "\n" for i in range(3)))
    return path


def refused(
    arguments: list[str | Path], capsys: pytest.CaptureFixture[str], code: int = 2, out: str = ""
) -> str:
    """What is said last on stderr by a command that ends with this exit code, in this process."""
    with pytest.raises(SystemExit) as ended:
        cli.main([str(argument) for argument in arguments])
    told = capsys.readouterr()
    assert (ended.value.code, told.out) == (code, out)
    return told.err.strip().splitlines()[-1]


# What commands do


def test_help_import_and_reading_are_quick_and_load_no_library_of_tables_or_models(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("key,answer\n1,Tea.\n")
    code = "import sys, localeval, localeval.cli; localeval.read_samples('data.csv', columns={'id': 'key'})"
    command = [sys.executable, "-c", f"{code}; print(*sys.modules)"]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout.split()
    assert not {"torch", "llama_cpp", "outlines", "numpy", "pandas", "pyarrow", "pysbd"} & set(loaded)
    times = []
    for _ in range(2):
        start = time.perf_counter()
        assert "evaluate" in process("--help", cwd=tmp_path).stdout
        times.append(time.perf_counter() - start)
    assert min(times) < 1.5  # 0.5 s on a quiet machine; CI machines are not


def test_every_option_of_judging_is_an_option_of_the_command_with_its_default() -> None:
    made = {option.name: option.default for option in cli.commands.commands["evaluate"].params}
    result = evaluate([{**GOOD, "response": ""}], ["faithfulness"], fake_judge(FakeEngine([])))
    options = result.to_dict()["signature"]["options"]
    assert {name: made[name] for name in options} == options


def test_evaluate_prints_a_table_or_as_json_what_the_run_keeps_and_reads_stdin(
    tiny_path: Path, data: Path
) -> None:
    run = localeval("evaluate", data, "--judge", tiny_path, "-o", "run", cwd=data.parent)
    assert run.returncode == 0, run.stderr
    assert [line.split()[0] for line in run.stdout.splitlines()[2:5]] == ["s0", "s1", "s2"]
    assert "Evaluating: 3/3" in run.stderr
    arguments = ("evaluate", "-", "--judge", tiny_path, "--json", "-q", "-o", "run")
    again = localeval(*arguments, cwd=data.parent, stdin=data.read_text())
    assert again.returncode == 0, again.stderr
    kept = json.loads((data.parent / "run" / "results.json").read_text())
    assert json.loads(again.stdout)["summary"] == kept["summary"]
    assert len(kept["samples"]) == 3


def test_score_prints_one_line_a_metric_and_metrics_are_named_in_any_way(
    tiny_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LOCALEVAL_N_CTX", "16384")
    monkeypatch.setenv("LOCALEVAL_STATEMENTS", "sentences")
    score = ["score", "--judge", str(tiny_path), "--response", "Tea grows."]
    cli.main(score)
    assert capsys.readouterr().out.startswith("faithfulness undefined no_contexts")
    names = ["faithfulness", "context_relevance", "context_precision"]
    ways: list[tuple[list[str], str]] = [
        (["-m", names[0], "-m", names[1], "--metrics", names[2]], ""),
        (["-m", f"{names[0]}, {names[1]}", "-m", names[2]], names[0]),
        ([], ", ".join(names)),
    ]
    for way, variable in ways:
        monkeypatch.setenv("LOCALEVAL_METRICS", variable)
        cli.main([*score, "--context", "Tea.", "--question", "?", *way])
        lines = [line.split() for line in capsys.readouterr().out.splitlines()]
        assert [line[0] for line in lines] == names
    _, value, word, soft = lines[0]
    assert (0 <= float(value) <= 1, word, 0 <= float(soft) <= 1) == (True, "soft", True)
    assert "2 are named" in refused(["card", "x", "-m", names[0], "-m", names[1]], capsys)
    cli.main(["rescore", str(judged(tmp_path / "run", [0.9])), "-m", names[0], "-m", names[0]])


def test_a_context_of_200_000_characters_is_a_failed_sample_and_exit_0(tiny_path: Path, data: Path) -> None:
    long = {"id": "long", "response": "Tea grows.", "retrieved_contexts": ["Tea grows on hills. " * 10_000]}
    data.write_text(json.dumps(long) + "\n" + json.dumps({"id": "short", **GOOD}) + "\n")
    arguments = ("evaluate", data, "--judge", tiny_path, "-q", "--statements", "sentences")
    run = localeval(*arguments, cwd=data.parent)
    assert run.returncode == 0, run.stderr
    assert "failed: context_too_long" in run.stdout
    assert "1 scored, 0 undefined, 1 failed" in run.stdout


# Which samples are read


@pytest.mark.usefixtures("steady")
def test_the_shipped_samples_are_scored_without_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cli.main(["evaluate", "--example", "--limit", "1", "-m", "context_precision", "-q"])
    assert len(ids(Path("runs/example"))) == 1


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
    how = ("-m", "faithfulness", "--judge", tiny_path, "-q", "--statements", "sentences", "-o", "run")
    chosen = ("--format", "csv", *COLUMNS, "--limit", "10", "--sample", "3", "--seed", "5")
    run = localeval("evaluate", "-", *how, *chosen, cwd=tmp_path, stdin=table())
    assert run.returncode == 0, run.stderr
    drawn = ids(tmp_path / "run")
    assert len(drawn) == 3
    assert set(drawn) < {f"s{place}" for place in range(10)}


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
    assert said[0].startswith("skipped: data.csv, line 2: ctx")
    assert said[20:] == ["skipped: 28 in all, 8 of them not shown"]
    run = localeval(*arguments, cwd=tmp_path)
    assert run.returncode == 2
    assert said[0].removeprefix("skipped: ") in fault(run)


# What can't be used


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"response": "Tea"', "line 1"),
        ('{"response": "Tea"}\n', "retrieved_contexts"),
        (None, "data.jsonl"),
    ],
)
def test_input_that_cannot_be_used_is_exit_2_with_file_and_place(
    data: Path, content: str | None, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    data.unlink() if content is None else data.write_text(content)
    message = refused(["evaluate", data, "-m", "faithfulness", "--judge", "none.gguf"], capsys)
    assert "data.jsonl" in message
    assert said in message
    assert message.endswith(".")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--columns", "q"), "--columns: 'q' is not FIELD=NAME"),
        (("--columns", "response=a,response=q"), "response is named twice"),
        (("--columns", "id=key,response=anwser"), "no sample has the column anwser"),
        ((*COLUMNS, "--sample", "-1"), "'--sample'"),
        ((*COLUMNS, "--sample", "2", "--seed", "-1"), "'--seed'"),
        (("--threads", "many"), "'--threads'"),
        (("--n-ctx", "10"), "'--n-ctx'"),
        (("--gpu-layers", "-2"), "'--gpu-layers'"),
        (("--threshold", "3"), "'--threshold'"),
        (("-m", "faithfull"), "did you mean faithfulness?"),
        (("-m", " , "), "no metric is named"),
        ((*COLUMNS, "--id", "s99x"), "no sample has the id s99x"),
        (("--format", "xlsx"), "'--format'"),
        (("--nonsense",), "--nonsense"),
        ((*COLUMNS, "-o", ""), "-o is empty"),
    ],
)
def test_options_that_do_not_fit_are_exit_2_before_a_model_is_looked_for(
    tmp_path: Path,
    options: tuple[str, ...],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("LOCALEVAL_MODELS", str(tmp_path / "none"))
    (tmp_path / "data.csv").write_text(table())
    assert message in refused(["evaluate", tmp_path / "data.csv", *options], capsys)


@pytest.mark.parametrize(("name", "value"), [("THREADS", "many"), ("EXPLAIN", "perhaps"), ("BETA", "0")])
def test_a_variable_with_a_wrong_value_is_exit_2_and_named(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(f"LOCALEVAL_{name}", value)
    assert f"(env var: 'LOCALEVAL_{name}')" in refused(["evaluate", "data.csv"], capsys)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["evaluate"], "--example"),
        (["evaluate", "mine.jsonl", "--example"], "--example"),
        (["nonsense"], "nonsense"),
        (["score"], "--response"),
        (["score", "-m", "answer_relevance", "--response", "Tea."], "--user-input"),
        (["score", "-m", "context_recall", "--response", "Tea."], "--reference"),
    ],
)
def test_wrong_usage_is_exit_2_and_names_what_is_needed(
    arguments: list[str | Path], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in refused(arguments, capsys)


def test_a_stdin_that_the_shell_closed_is_exit_2(tmp_path: Path) -> None:
    command = ["sh", "-c", '"$0" -m localeval evaluate - <&-', sys.executable]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert run.returncode == 2
    assert fault(run).startswith("localeval: stdin")


@pytest.mark.parametrize("place", ["folder", "nowhere/x.html", "run/journal.jsonl"])
def test_a_file_that_can_not_or_may_not_be_written_is_exit_2_and_stays(
    place: str, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(data.parent)
    judged(Path("run"), [0.9])
    Path("folder").mkdir()
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    for command in (
        f"report run --html {place}",
        f"rescore run -o {place}",
        f"rescore run --fail-under faithfulness=0 --junit {place}",
        f"evaluate data.jsonl --fail-under faithfulness=0 --junit {place}",
    ):
        assert place.partition("/")[0] in refused([*command.split()], capsys)
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


# Models


def test_a_model_that_is_missing_is_exit_3_with_the_command_that_fetches_it(
    tiny_path: Path,
    tmp_path: Path,
    data: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("LOCALEVAL_MODELS", str(tmp_path / "none"))
    monkeypatch.setenv("LOCALEVAL_N_CTX", "16384")
    monkeypatch.chdir(tmp_path)
    assert "localeval models fetch qwen2.5-coder-1.5b" in refused(["evaluate", data], capsys, 3)
    data.write_text('{"question": "What grows?", "answer": "Tea grows.", "contexts": ["Tea grows."]}')
    metric = ["-m", "answer_relevance"]
    told = refused(["evaluate", data, *metric, "--judge", tiny_path, "-o", "run"], capsys, 3)
    for remedy in ("localeval models fetch multilingual-e5-small", "--embedder", "-m"):
        assert remedy in told
    assert not any(path.stat().st_size for path in tmp_path.glob("run/journal.jsonl"))


@pytest.mark.parametrize(
    ("more", "code"),
    [
        (["--calibration", "nowhere.json"], 2),
        (["--embedder", "nowhere"], 3),
        (["-m", "faithfulness_hhem"], 3),
        (["-m", "faithfulness", "--fail-under", "context_recall=0"], 2),
    ],
)
def test_a_plan_is_refused_for_what_the_run_would_be_refused_for(
    more: list[str],
    code: int,
    tiny_path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    data, run = tmp_path / "asked.jsonl", tmp_path / "run"
    data.write_text(json.dumps({"question": "What grows?", **GOOD}))
    monkeypatch.setenv("LOCALEVAL_MODELS", str(tmp_path / "none"))
    refused(["evaluate", data, "--judge", tiny_path, "-o", run, *more, "--plan"], capsys, code)
    assert not run.exists()


def test_a_model_that_is_broken_is_exit_3_with_its_path(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = data.parent / "broken.gguf"
    path.write_bytes(b"GGML")
    assert "broken.gguf" in refused(["evaluate", data, "--judge", path, "-q", "-o", "run"], capsys, 3)


# Interrupted


def test_an_interrupt_keeps_what_was_judged_is_exit_130_and_a_second_call_goes_on(
    tiny_path: Path, tmp_path: Path
) -> None:
    data, journal = tmp_path / "many.jsonl", tmp_path / "run" / "journal.jsonl"
    lines = [
        json.dumps({"response": f"Tea grows, {i}.", "contexts": ["Tea."] * 40}) + "\n" for i in range(400)
    ]
    data.write_text("".join(lines))
    words = "evaluate many.jsonl -q --statements sentences -o run --judge"
    arguments = [*words.split(), str(tiny_path)]
    process = subprocess.Popen(
        [sys.executable, "-m", "localeval", *arguments],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Tests that a shell started in the background ignore SIGINT, and so would what they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 60
    while not (journal.exists() and journal.read_text().count("\n") > 5) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, talk = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in talk
    kept = journal.read_text().splitlines()
    assert len(kept) > 5
    data.write_text("".join(lines[:8]))
    assert localeval(*arguments, cwd=tmp_path).returncode == 0
    assert journal.read_text().splitlines()[: len(kept)] == kept


GO_ON = ("evaluate x.jsonl", "card x", "pack --to x", "models fetch x", "unpack x")
ENDED = ("verify x", "rescore x", "models verify x", "doctor", "evaluate x --plan", "")


@pytest.mark.parametrize("command", [*GO_ON, *ENDED])
def test_an_interrupted_command_says_whether_it_goes_on(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.commands, "main", stop)
    told = refused([*command.split()], capsys, 130)
    assert told.startswith("Interrupted.")
    assert told.endswith(f"goes on from there: localeval {command}") is (command in GO_ON)


# Wherever stdout goes


@pytest.mark.parametrize("encoding", ["latin-1", "gb18030"])
def test_signs_that_an_encoding_does_not_have_are_escaped(
    encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def printed(*arguments: str | Path) -> str:
        with io.TextIOWrapper(io.BytesIO(), encoding=encoding) as out:
            monkeypatch.setattr(sys, "stdout", out)
            cli.main([str(one) for one in arguments])
            out.seek(0)
            return out.read()

    run = judged(tmp_path / "run", [0.9])
    for name in ("samples.jsonl", "results.json"):
        text = (run / name).read_text("utf-8")
        (run / name).write_text(text.replace('"s0"', '"茶"'), encoding="utf-8")
    assert ("\\u8336" in printed("report", run)) is (encoding == "latin-1")
    assert json.loads(printed("rescore", run, "--json"))["samples"][0]["id"] == "茶"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", [["rescore", "run", "--json"], ["--help"]])
def test_output_that_finds_no_room_is_exit_2_in_a_sentence(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    judged(Path("run"), [0.9])
    with suppress(OSError), Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        told = refused(arguments, capsys)  # type: ignore[arg-type]
    assert told.startswith("localeval: the output can't be written (No space left on device)")


def test_an_error_of_the_system_that_nobody_expected_is_no_fault_of_the_output(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(cli.commands, "main", fail)
    with pytest.raises(OSError, match="Input/output"):
        cli.main(["report", "x"])


@pytest.mark.parametrize("argument", ["no\x1b[2J\x9bdata.jsonl", "--no\x1b[2Jption"])
def test_what_is_told_of_an_argument_has_no_control_characters(
    argument: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = refused(["evaluate", argument], capsys)
    assert "[2J" in told
    assert told.isprintable()
