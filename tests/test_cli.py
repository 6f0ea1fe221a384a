"""The command line: data on stdout, talk on stderr, and for every fault one sentence and an exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from localeval import cli
from localeval.cli.talk import say
from localeval.runs.folder import load
from tests.runs import judged

GOOD = {"response": "Tea grows. It sings.", "retrieved_contexts": ["Tea grows."]}


def localeval(
    *arguments: str | Path, cwd: Path, stdin: str = "", **env: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "localeval", *map(str, arguments)],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        env={**os.environ, "LOCALEVAL_N_CTX": "16384", **env},
    )


def fault(run: subprocess.CompletedProcess[str]) -> str:
    """The last line of stderr, checked to be all that was said beside progress, and no traceback."""
    assert "Traceback" not in run.stderr
    assert run.stdout == ""
    return run.stderr.strip().splitlines()[-1]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps({"id": f"s{i}", **GOOD}) + "\n" for i in range(3)))
    return path


def test_help_and_import_are_quick_and_load_neither_torch_nor_llama_cpp(tmp_path: Path) -> None:
    code = "import sys, localeval, localeval.cli; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "llama_cpp", "outlines", "numpy"} & set(loaded.stdout.split())
    times = []
    for _ in range(3):
        start = time.perf_counter()
        assert "evaluate" in localeval("--help", cwd=tmp_path).stdout
        times.append(time.perf_counter() - start)
    assert min(times) < 1.5  # 0.5 s on a quiet machine; CI machines are not


def test_evaluate_prints_the_table_and_keeps_the_run(tiny_path: Path, data: Path) -> None:
    run = localeval("evaluate", data, "--judge", tiny_path, "-o", "run", cwd=data.parent)
    assert run.returncode == 0, run.stderr
    assert [line.split()[0] for line in run.stdout.splitlines()[2:5]] == ["s0", "s1", "s2"]
    assert "Evaluating: 3/3" in run.stderr
    assert len(json.loads((data.parent / "run" / "results.json").read_text())["samples"]) == 3


def test_json_on_stdout_is_what_the_run_keeps_and_stdin_is_read(tiny_path: Path, data: Path) -> None:
    arguments = ("evaluate", "-", "--judge", tiny_path, "--json", "-q", "-o", "run")
    run = localeval(*arguments, cwd=data.parent, stdin=data.read_text())
    assert run.returncode == 0, run.stderr
    assert run.stdout == load(data.parent / "run").to_json()


def test_score_prints_one_line_a_metric(tiny_path: Path, tmp_path: Path) -> None:
    arguments = ("score", "--judge", tiny_path, "--response", "Tea grows.", "--context", "Tea grows.")
    run = localeval(*arguments, cwd=tmp_path, LOCALEVAL_STATEMENTS="sentences")
    assert run.returncode == 0, run.stderr
    name, value, word, soft = run.stdout.split()
    assert (name, word) == ("faithfulness", "soft")
    arguments = ("score", "--judge", tiny_path, "-m", "context_relevance", "--question", "Tea?")
    asked = localeval(*arguments, "--context", "Tea grows.", cwd=tmp_path)
    assert asked.stdout.startswith("context_relevance "), asked.stderr
    assert 0 <= float(value) <= 1
    assert 0 <= float(soft) <= 1


def test_metrics_may_be_named_one_by_one_with_commas_and_in_the_variable(
    tiny_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LOCALEVAL_N_CTX", "16384")
    given = ["score", "--judge", str(tiny_path), "--response", "Tea.", "--context", "Tea.", "--question", "?"]
    names = ["faithfulness", "context_relevance", "context_precision"]
    ways: list[tuple[list[str], str]] = [
        (["-m", names[0], "-m", names[1], "--metrics", names[2]], ""),
        (["-m", f"{names[0]}, {names[1]}", "-m", names[2]], names[0]),
        ([], ", ".join(names)),
    ]
    for way, variable in ways:
        monkeypatch.setenv("LOCALEVAL_METRICS", variable)
        cli.main([*given, "--statements", "sentences", *way])
        assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == names
    with pytest.raises(SystemExit):
        cli.main(["card", "x", "-m", names[0], "-m", names[1]])
    assert "--metrics names 2" in capsys.readouterr().err
    cli.main(["rescore", str(judged(tmp_path / "run", [0.9])), "-m", names[0], "-m", names[0]])


def test_score_of_nothing_says_why(tiny_path: Path, tmp_path: Path) -> None:
    run = localeval("score", "--judge", tiny_path, "--response", "Tea grows.", cwd=tmp_path)
    assert run.returncode == 0
    assert run.stdout.startswith("faithfulness undefined no_contexts")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"response": "Tea"', "line 1"),
        ('{"response": "Tea", "contexts": ["a"]}\n[1]\n', "line 2"),
        ('{"response": "Tea"}\n', "retrieved_contexts"),
        ('{"response": 3, "contexts": ["a"]}\n', "response"),
        ('{"response": "Tea", "contexts": "a"}\n', "contexts"),
        ("", "data.jsonl"),
        ('{"id": "a", "response": "Tea", "contexts": ["a"]}\n' * 2, "line 2"),
    ],
)
def test_input_that_cannot_be_used_is_exit_2_with_file_and_place(
    tiny_path: Path, data: Path, content: str, said: str
) -> None:
    data.write_text(content)
    run = localeval("evaluate", data, "-m", "faithfulness", "--judge", tiny_path, cwd=data.parent)
    assert run.returncode == 2
    message = fault(run)
    assert "data.jsonl" in message
    assert said in message
    assert message.endswith(".")


def test_a_directory_or_a_missing_file_is_exit_2(tiny_path: Path, tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.jsonl"):
        run = localeval("evaluate", path, "--judge", tiny_path, cwd=tmp_path)
        assert run.returncode == 2
        assert path.name in fault(run)


@pytest.mark.parametrize(
    "arguments", [("evaluate",), ("evaluate", "x", "--threads", "many"), ("nonsense",), ("score",)]
)
def test_wrong_usage_is_exit_2(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    run = localeval(*arguments, cwd=tmp_path)
    assert run.returncode == 2
    assert "Traceback" not in run.stderr


def test_an_unknown_metric_is_exit_2(tiny_path: Path, data: Path) -> None:
    run = localeval("evaluate", data, "-m", "faithfull", "--judge", tiny_path, cwd=data.parent)
    assert run.returncode == 2
    assert "did you mean faithfulness?" in fault(run)


def test_a_model_that_is_missing_is_exit_3_with_the_command_that_fetches_it(
    data: Path, tmp_path: Path
) -> None:
    run = localeval("evaluate", data, cwd=data.parent, LOCALEVAL_MODELS=str(tmp_path / "none"))
    assert run.returncode == 3
    assert "localeval models fetch qwen2.5-coder-1.5b" in fault(run)


def test_an_embedder_that_is_missing_is_exit_3_before_anything_is_judged(
    tiny_path: Path, tmp_path: Path
) -> None:
    data = tmp_path / "asked.jsonl"
    data.write_text('{"question": "What grows?", "answer": "Tea grows.", "contexts": ["Tea grows."]}')
    arguments = ("evaluate", data, "--judge", tiny_path, "-o", "run")
    run = localeval(*arguments, cwd=tmp_path, LOCALEVAL_MODELS=str(tmp_path / "none"))
    assert run.returncode == 3
    for remedy in ("localeval models fetch bge-m3", "--embedder all-minilm-l6-v2", "-m"):
        assert remedy in fault(run)
    assert not (tmp_path / "run").exists()


def test_a_plan_is_refused_for_what_the_run_would_be_refused_for(
    tiny_path: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = json.dumps({"question": "What grows?", **GOOD})
    (tmp_path / "asked.jsonl").write_text(row)
    monkeypatch.setattr("localeval.engine.benchmark.measure", None)  # so that nothing can be measured
    monkeypatch.setenv("LOCALEVAL_MODELS", str(tmp_path / "none"))
    given = [
        "evaluate",
        str(tmp_path / "asked.jsonl"),
        "--judge",
        str(tiny_path),
        "-o",
        str(tmp_path / "run"),
    ]
    for more, code in (
        (["--calibration", "nowhere.json"], 2),
        (["--embedder", "nowhere"], 3),
        (["-m", "faithfulness_hhem"], 3),
        (["-m", "faithfulness", "--fail-under", "context_recall=0"], 2),
    ):
        with pytest.raises(SystemExit) as ended:
            cli.main([*given, *more, "--plan"])
        assert ended.value.code == code
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("damage", ["empty", "magic", "truncated", "directory"])
def test_a_model_that_is_broken_is_exit_3_with_its_path(
    tiny_path: Path, data: Path, tmp_path: Path, damage: str
) -> None:
    path = tmp_path / "broken.gguf"
    whole = tiny_path.read_bytes()
    if damage == "directory":
        path.mkdir()
    else:
        path.write_bytes({"empty": b"", "magic": b"GGML" + whole[4:], "truncated": whole[:-100_000]}[damage])
    run = localeval("evaluate", data, "--judge", path, "-q", cwd=data.parent)
    assert run.returncode == 3
    assert "broken.gguf" in fault(run)


def test_a_context_of_200_000_characters_is_a_failed_sample_and_exit_0(tiny_path: Path, data: Path) -> None:
    long = {"id": "long", "response": "Tea grows.", "retrieved_contexts": ["Tea grows on hills. " * 10_000]}
    data.write_text(json.dumps(long) + "\n" + json.dumps({"id": "short", **GOOD}) + "\n")
    run = localeval(
        "evaluate", data, "--judge", tiny_path, "-q", "--statements", "sentences", cwd=data.parent
    )
    assert run.returncode == 0, run.stderr
    assert "failed: context_too_long" in run.stdout
    assert "1 scored, 0 undefined, 1 failed" in run.stdout


def test_an_interrupt_keeps_what_was_judged_is_exit_130_and_a_second_call_goes_on(
    tiny_path: Path, tmp_path: Path
) -> None:
    data = tmp_path / "many.jsonl"
    rows = [
        {"id": f"s{i}", "response": f"Tea grows, {i}.", "retrieved_contexts": ["Tea."] * 40}
        for i in range(400)
    ]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [
        sys.executable,
        "-m",
        "localeval",
        "evaluate",
        "many.jsonl",
        "--judge",
        str(tiny_path),
        "-o",
        "run",
    ]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Tests that a shell started in the background ignore SIGINT, and so would what they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    journal = tmp_path / "run" / "journal.jsonl"
    deadline = time.monotonic() + 60
    while not (journal.exists() and journal.read_text().count("\n") > 5) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, talk = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in talk
    kept = journal.read_text().splitlines()
    assert len(kept) > 5
    data.write_text("".join(json.dumps(row) + "\n" for row in rows[:20]))
    again = localeval("evaluate", "many.jsonl", "--judge", tiny_path, "-o", "run", cwd=tmp_path)
    assert again.returncode == 0
    assert journal.read_text().splitlines()[: len(kept)] == kept


@pytest.mark.parametrize(
    ("command", "kept"),
    [
        ("evaluate x.jsonl", "What was judged is kept"),
        ("card x.jsonl", "What was judged is kept"),
        ("pack --to x", "What is whole in the folder is kept"),
        ("models fetch x", "What was fetched is kept"),
        ("unpack x", "What was unpacked whole is kept"),
        *((words, "") for words in ("verify x", "score --response x", "rescore x", "compare x y")),
        *((words, "") for words in ("report x", "models verify x", "doctor", "evaluate x --plan", "")),
    ],
)
def test_an_interrupted_command_says_what_it_kept_and_no_other_does(
    command: str, kept: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.commands, "main", stop)
    with pytest.raises(SystemExit) as ended:
        cli.main(command.split())
    assert ended.value.code == 130
    again = f" {kept}; the same command goes on from there: localeval {command}" if kept else ""
    assert capsys.readouterr().err.strip() == f"Interrupted.{again}"


# Wherever stdout goes.

CHINESE = "茶😀"


@pytest.fixture
def chinese(tmp_path: Path) -> Path:
    """A run with a sample that many encodings have no signs for."""
    run = judged(tmp_path / "run", [0.9])
    for name in ("samples.jsonl", "results.json"):
        text = (run / name).read_text("utf-8")
        (run / name).write_text(text.replace('"s0"', json.dumps(CHINESE)), encoding="utf-8")
    return run


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "gb18030"])
def test_signs_that_an_encoding_does_not_have_are_escaped(chinese: Path, encoding: str) -> None:
    def printed(*arguments: str | Path) -> str:
        command = [sys.executable, "-m", "localeval", *map(str, arguments)]
        env = {**os.environ, "PYTHONIOENCODING": encoding}
        done = subprocess.run(command, capture_output=True, env=env, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout.decode("utf-8" if encoding == "ascii" else encoding)  # click's choice for ASCII

    assert ("\\u8336" in printed("report", chinese)) is (encoding == "latin-1")
    assert json.loads(printed("rescore", chinese, "--json"))["samples"][0]["id"] == CHINESE


def test_output_that_finds_no_room_is_exit_2_in_a_sentence(chinese: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    for arguments in (("report", chinese), ("rescore", chinese, "--json"), ("--help",)):
        command = [sys.executable, "-m", "localeval", *map(str, arguments)]
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
        assert done.returncode == 2
        assert done.stderr == (
            "localeval: the output can't be written (No space left on device); make room, "
            "or send it elsewhere.\n"
        )


def test_an_error_of_the_system_that_nobody_expected_is_no_fault_of_the_output(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(cli.commands, "main", fail)
    with pytest.raises(OSError, match="Input/output"):
        cli.main(["report", "x"])


@pytest.mark.parametrize(
    "arguments", [("evaluate", "no\x1b[2J\x9bdata.jsonl"), ("evaluate", "--no\x1b[2Jption")]
)
def test_what_is_told_of_an_argument_has_no_control_characters(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        cli.main([*arguments])
    told = capsys.readouterr().err
    assert "[2J" in told
    assert told.replace("\n", "").isprintable()


def test_a_line_of_talk_keeps_its_ends_and_nothing_that_a_terminal_obeys(
    capsys: pytest.CaptureFixture[str],
) -> None:
    say("a\x1b[31m\r\n  b\x07")
    assert capsys.readouterr().err == "a [31m \n  b \n"
