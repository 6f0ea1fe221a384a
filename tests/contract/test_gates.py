"""Gates at the command line: missed ones are exit 1, on stderr and in JUnit's XML; the run is kept."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.commands import localeval, refused
from tests.runs import judged


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps({"response": "Tea grows. It sings.", "contexts": ["Tea grows."]}) + "\n")
    return path


@pytest.mark.usefixtures("steady")
def test_a_missed_gate_is_exit_1_with_the_run_kept_and_named_on_stderr_and_in_junit(data: Path) -> None:
    gates = ("--fail-under", "faithfulness:soft=1", "--fail-under", "faithfulness=0", "--junit", "out.xml")
    run = localeval("evaluate", data, "-o", "run", *gates, cwd=data.parent)
    assert run.returncode == 1
    assert "gate missed: faithfulness: soft mean at least 1: 0." in run.stderr
    assert "gate met: faithfulness: mean at least 0" in run.stderr
    assert "faithfulness: 1 scored" in run.stdout
    cases = ElementTree.parse(data.parent / "out.xml").findall(".//testcase")  # noqa: S314
    assert [case.find("failure") is not None for case in cases] == [True, False]
    again = localeval("evaluate", data, "-o", "run", "--fail-on-drop", "run", cwd=data.parent)
    assert again.returncode == 0


@pytest.mark.usefixtures("steady")
@pytest.mark.parametrize(
    ("gates", "message"),
    [
        (["--fail-under", "context_recall=0.8"], "context_recall, which is not computed here (faithfulness)"),
        (["--fail-on-drop", "nowhere"], "nowhere"),
        (["--junit", "out.xml"], "--fail-under"),
    ],
)
def test_a_faulty_gate_is_exit_2_and_nothing_is_judged(data: Path, gates: list[str], message: str) -> None:
    assert message in refused("evaluate", data, "-o", data.parent / "run", *gates)
    assert not (data.parent / "run").exists()


def test_compare_refuses_with_exit_1_and_bad_folders_with_exit_2(tmp_path: Path) -> None:
    before = judged(tmp_path / "before", [0.9, 0.8])
    other = judged(tmp_path / "other", [0.9, 0.8], threshold=0.7)
    assert "options.threshold (0.5 and 0.7)" in refused("compare", before, other, code=1)
    assert localeval("compare", before, other, "--force", cwd=tmp_path).returncode == 0
    assert "evaluate -o" in refused("compare", before, tmp_path)


def test_gates_are_checked_on_a_finished_run_with_no_model(tmp_path: Path) -> None:
    before = judged(tmp_path / "before", [0.9] * 8)
    now = judged(tmp_path / "now", [0.9] * 2 + [0.1] * 6)
    run = localeval("rescore", now, "--fail-on-drop", before, "--junit", "out.xml", cwd=tmp_path)
    assert run.returncode == 1
    # 6 equal differences: 2 of 2 ** 6 choices of signs are as far from 0, none is further
    drop = "worse over 8 of 8 samples (1.0000 before, 0.2500 now, p = 0.0156)"
    assert f"gate missed: faithfulness: no drop from {before}: {drop}" in run.stderr
    assert 'failures="1"' in (tmp_path / "out.xml").read_text("utf-8")
    assert localeval("rescore", before, "--fail-on-drop", now, cwd=tmp_path).returncode == 0
