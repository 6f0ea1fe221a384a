"""In a test suite: `assert_score` on fakes, and the fixture `localeval_judge` in a pytest of its own."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from localeval import Judge
from localeval.testing import FakeEngine, assert_score, fake_judge
from tests.commands import said

SAMPLE = {"response": "Tea is grown in Assam. It sings.", "retrieved_contexts": ["Tea is grown in Assam."]}
WORDS: dict[str, Any] = {"statements": "sentences"}


def refused(judge: Judge, sample: dict[str, Any], **bounds: float) -> str:
    """What `assert_score` says of the faithfulness of a sample that does not pass."""
    return said(AssertionError, assert_score, judge, "faithfulness", sample, **bounds, **WORDS)


def judge(*verdicts: float, **how: Any) -> Judge:
    return fake_judge(FakeEngine([{"verdict": share} for share in verdicts], **how))


def test_a_score_within_its_bounds_is_returned() -> None:
    assert assert_score(judge(1, 0.8), "faithfulness", SAMPLE, at_least=1.0, **WORDS).value == 1.0


def test_a_score_on_its_bounds_is_within_them() -> None:
    assert assert_score(judge(0.9, 0.2), "faithfulness", SAMPLE, at_least=0.5, at_most=0.5, **WORDS)


def test_a_score_just_below_its_bound_is_not_shown_as_the_bound() -> None:
    three = {**SAMPLE, "response": f"{SAMPLE['response']} It rains."}
    message = refused(judge(0.9, 0.9, 0.1), three, at_least=0.667)
    assert "0.6667; expected at least 0.667." in message


def test_a_response_without_a_statement_is_told_as_undefined() -> None:
    assert "undefined (no_statements" in refused(judge(), {**SAMPLE, "response": ""})


def test_a_sample_that_can_not_be_judged_is_told_as_failed() -> None:
    assert "failed (context_too_long" in refused(judge(n_ctx=2048), SAMPLE)


def test_an_unsupported_statement_is_told_with_its_probability_and_evidence() -> None:
    _, line = refused(judge(0.3, 0.9), SAMPLE, at_least=1.0).splitlines()
    evidence = 'evidence: "Tea is grown in Assam."'
    assert line == f'not supported (support, 0.30): "Tea is grown in Assam."; {evidence}'


def test_where_lower_is_better_the_statements_that_count_are_told() -> None:
    sample = {**SAMPLE, "reference": "Coffee is grown in Kodagu."}
    # Two verdicts by the contexts, then two by the reference.
    noisy = judge(0.9, 0.9, 0.9, 0.1)
    message = said(AssertionError, assert_score, noisy, "noise_sensitivity", sample, at_most=0.1, **WORDS)
    _, line = message.splitlines()
    assert line == 'not supported (response_in_reference, 0.10): "It sings."; no evidence'


def test_what_a_terminal_would_obey_is_not_printed() -> None:
    sample = {"response": "It\x1b[31m sings\u202e.", "retrieved_contexts": ["It\x1b[2J\nrests."]}
    lines = said(AssertionError, assert_score, judge(0.1), "faithfulness", sample, at_least=1.0, **WORDS)
    assert [line.isprintable() for line in lines.splitlines()] == [True, True]


SUITE = """
import sys
import pytest

JUDGES = []

def test_nothing_of_localeval_is_imported_before_the_fixture_is_asked_for():
    assert not {"numpy", "pydantic"} & sys.modules.keys()
    assert [name for name in sys.modules if name.startswith("localeval.")] == ["localeval.pytest_plugin"]

@pytest.fixture(scope="session")
def faked(request):
    import localeval
    from localeval.testing import FakeEngine, fake_judge
    if request.config.getoption("--localeval-model"):
        localeval.Judge.load = lambda model: print(model) or fake_judge(FakeEngine([{"verdict": 0.9}]))

def test_the_judge_answers(faked, localeval_judge):
    from localeval.testing import assert_score
    sample = {"response": "Tea grows.", "retrieved_contexts": ["Tea grows."]}
    assert_score(localeval_judge, "faithfulness", sample, at_least=1, statements="sentences")
    JUDGES.append(localeval_judge)

def test_it_is_one_for_the_session(localeval_judge):
    assert JUDGES == [localeval_judge]
"""
CONFTEST = """
def pytest_unconfigure(config):
    from test_suite import JUDGES
    try:
        JUDGES[0].score("faithfulness", {"response": "T.", "retrieved_contexts": ["T."]})
    except Exception as error:
        print(error)
"""


def run(folder: Path, *arguments: str, **variables: str) -> str:
    """Run SUITE in a pytest of its own, which finds the plugin as it finds one that is installed."""
    (folder / "test_suite.py").write_text(SUITE, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "localeval.pytest_plugin", "-q", *arguments]
    environment = {**os.environ, **variables, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    return done.stdout + done.stderr


def test_the_fixture_loads_one_judge_when_asked_and_closes_it_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    output = run(tmp_path, "-s", "--localeval-model", "mine.gguf", LOCALEVAL_MODEL="nowhere.gguf")
    assert "3 passed" in output, output
    assert output.count("mine.gguf") == 1
    assert "this judge was closed" in output


def test_a_missing_model_is_named_by_the_test_that_asked_for_it(tmp_path: Path) -> None:
    output = run(tmp_path, LOCALEVAL_MODEL="nowhere.gguf")
    assert "1 passed, 2 errors" in output, output
    assert "nowhere.gguf" in output
