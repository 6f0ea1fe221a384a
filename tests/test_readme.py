"""What the README shows is what happens."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest

from localeval import Judge, Result, compare, evaluate, plan
from localeval.cli import commands
from localeval.cli.evaluate import evaluate as evaluate_command
from localeval.cli.evaluate import score
from localeval.engine.benchmark import Speed
from localeval.metrics import METRICS
from localeval.report.text import as_text
from localeval.samples import read_samples
from localeval.testing import FakeEngine, fake_judge
from tests.conftest import SHIPPED_METRICS

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "localeval" / "examples"
PAGES = {
    path.parent.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for folder in ("", "localeval", "models", "scripts")
    for path in sorted((ROOT / folder).glob("**/README.md" if folder else "README.md"))
}
"""The front page (".") and those of the folders, by their place."""


def block(language: str, page: str = ".", nth: int = 0) -> str:
    return str(re.findall(rf"```{language}\n(.*?)```", PAGES[page], re.DOTALL)[nth])


def test_every_link_leads_to_something_that_is_there() -> None:
    links = [
        (page, link.partition("#")[0])
        for page, text in PAGES.items()
        for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text)
    ]
    assert len(links) > 20
    assert [(page, link) for page, link in links if not (ROOT / page / link).exists()] == []


def test_the_commands_of_the_first_screen_are_scripts_of_the_checkout() -> None:
    scripts = re.findall(r"^(scripts/\w+)", block("sh"), re.MULTILINE)
    assert scripts == ["scripts/start", "scripts/test"]
    for script in (*scripts, "scripts/localeval", "scripts/check", ".ci/run"):
        assert (ROOT / script).stat().st_mode & 0o111


def test_every_metric_and_every_option_is_in_its_table() -> None:
    assert all(f"| `{name}`" in PAGES["localeval/metrics"] for name in METRICS)
    assert all(f"`{name}`" in PAGES["."] for name in METRICS)
    for command in (evaluate_command, score):
        for option in command.params:
            variable = option.envvar
            if variable:
                assert f"`{variable}`" in PAGES["localeval/cli"], variable


def command_lines() -> list[list[str]]:
    """The arguments of every call of localeval in the pages' shell blocks."""
    found = []
    for shell in re.findall(r"```sh\n(.*?)```", "\n".join(PAGES.values()), re.DOTALL):
        for line in shell.replace("\\\n", " ").splitlines():
            _, call, arguments = line.partition("scripts/localeval ")
            if call:
                found.append(shlex.split(arguments, comments=True))
    return found


@pytest.mark.parametrize("arguments", command_lines(), ids=" ".join)
def test_every_command_line_is_one_that_the_program_takes(arguments: list[str]) -> None:
    command: click.Command = commands
    rest = list(arguments)
    while isinstance(command, click.Group):
        found = command.get_command(click.Context(command), rest.pop(0))
        assert found is not None
        command = found
    with command.make_context("localeval", rest) as context:
        assert context.args == []  # nothing that it does not know


def test_the_runs_that_are_compared_are_those_of_the_shipped_examples() -> None:
    """The first is made by `scripts/start`; in the second seven answers are others, and nothing else is."""
    assert ["compare", "runs/answers", "runs/mended"] in command_lines()
    before, after = (read_samples(EXAMPLES / f"{name}.jsonl") for name in ("answers", "mended"))
    pairs = list(zip(before, after, strict=True))
    assert sum(one.response != other.response for one, other in pairs) == 7
    assert all(one == other.model_copy(update={"response": one.response}) for one, other in pairs)


def test_the_sample_line_is_read_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_text(block("json"), encoding="utf-8")
    assert read_samples(tmp_path / "data.jsonl")[0].id == "42"


def rows(text: str) -> dict[str, list[str]]:
    """The cells of each sample's row, by id, and of the rows of means and of their intervals."""
    found = {}
    for line in text.splitlines():
        if named := re.match(r"mean|95 % (from|to)|(en|zh)-\S+", line):
            found[named[0]] = line[named.end() :].split()
    return found


@pytest.mark.model
def test_the_table_of_the_first_screen_is_what_the_shipped_example_gives(shipped: Result) -> None:
    alone = Result(shipped.samples, shipped.metrics[:3], shipped.signature)
    # Values hang on sentences close to the threshold, which another processor may decide otherwise.
    assert differences(rows(block("text")), rows(as_text(alone))) == []


@pytest.mark.model
def test_the_table_of_other_metrics_is_what_the_shipped_example_gives(shipped: Result) -> None:
    others = Result(shipped.samples, shipped.metrics[1:], shipped.signature)
    assert differences(rows(block("text", "localeval/metrics")), rows(as_text(others))) == []


@pytest.mark.model
def test_the_plan_is_that_of_the_shipped_example(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted with the model's own tokenizer, to the row; only the time is the machine's."""
    monkeypatch.setattr("localeval.engine.benchmark.measure", lambda *_: Speed(0.01, 0.02, 0.05))
    with Judge.load("qwen2.5-coder-1.5b", embedder="all-minilm-l6-v2", cache_prefix=False) as unasked:
        told = plan(str(EXAMPLES / "answers.jsonl"), SHIPPED_METRICS, unasked)

    def counted(text: str) -> list[list[str]]:
        lines = [line.split() for line in text.partition("\n\nTime:")[0].splitlines()[2:]]
        return [cells[:5] for cells in lines if cells]

    assert counted(block("text", "localeval/runs")) == counted(str(told))
    memory = re.search(r"Memory: [0-9.]+ GB needed", block("text", "localeval/runs"))
    assert memory is not None
    assert memory[0] in str(told)


@pytest.mark.model
def test_the_comparison_is_that_of_the_two_shipped_examples(judge: Judge, shipped: Result) -> None:
    """A sample has the same records in any run, so that only what was mended is judged here."""
    before = Result(shipped.samples, ["faithfulness"], shipped.signature)
    samples = read_samples(EXAMPLES / "mended.jsonl")
    others = [one for one, then in zip(samples, shipped.samples, strict=True) if one != then.sample]
    made = {one.sample.id: one for one in evaluate(others, ["faithfulness"], judge).samples}
    joined = [made.get(one.sample.id, one) for one in shipped.samples]
    after = Result(joined, ["faithfulness"], shipped.signature)
    told = str(compare(before, after))
    shown = block("text", "localeval/runs", 1)
    pairs = list(zip(shown.splitlines()[:-2], told.splitlines()[:-2], strict=True))  # then the runs' places
    for here, there in pairs:
        words = zip(here.replace("+", "").split(), there.replace("+", "").split(), strict=True)
        assert [pair for pair in words if not _agree(*pair, any_number=False)] == [], there


def differences(shown: dict[str, list[str]], found: dict[str, list[str]]) -> list[tuple[str, str, str]]:
    """(row, cell shown, cell found) where text differs, or a number of a soft column by more than 0.1.

    Another type of processor moves the bits, and with them the last decimals. In the value columns any number
    will do.
    """
    assert shown.keys() == found.keys()
    return [
        (name, here, there)
        for name, cells in shown.items()
        for place, (here, there) in enumerate(zip(cells, found[name], strict=True))
        if not _agree(here, there, place % 2 == 0)
    ]


def _agree(here: str, there: str, any_number: bool) -> bool:
    if not re.fullmatch(r"[\d.]+", here):
        return there == here
    if any_number:
        return bool(re.fullmatch(r"[\d.]+", there))
    return float(there) == pytest.approx(float(here), abs=0.1)


@pytest.mark.model
def test_the_python_example_runs_as_it_stands() -> None:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(block("python"), "README.md", "exec"), {})  # noqa: S102
    said = out.getvalue()
    assert "faithfulness: 1 scored, 0 undefined, 0 failed" in said
    assert "The mill was built in 1820." in said


def test_the_metric_of_ones_own_scores_what_its_definition_says() -> None:
    exec(compile(block("python", "localeval"), "README.md", "exec"), {})  # noqa: S102
    name = "longest_unsupported"
    try:
        engine = FakeEngine([{"verdict": 0.9}, {"verdict": 0.2}])
        sample = {"response": "Tea is green. It sings a song.", "retrieved_contexts": ["Tea is green."]}
        score = fake_judge(engine).score(name, sample, statements="sentences")
    finally:
        METRICS.pop(name)
    assert score.value == len("It sings a song.") / 1000


def test_the_assertion_in_a_test_suite_fails_as_it_is_shown() -> None:
    names: dict[str, Any] = {}
    exec(compile(block("python", "localeval", 1), "README.md", "exec"), names)  # noqa: S102
    stated = [{"statements": ["Tea is green."]}, {"statements": ["It sings."]}]
    verdicts = [{"verdict": share} for share in (0.9, 0.2)]
    given = fake_judge(FakeEngine([*stated, *verdicts, *verdicts]))
    with pytest.raises(AssertionError) as caught:
        names["test_the_answer_says_what_the_documents_say"](given)
    assert f"{caught.value}\n" == block("text", "localeval")


def test_the_chain_of_langchain_runs_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("langchain_core")

    class Agreeing(FakeEngine):
        def generate(self, *args: Any, **how: Any) -> Any:
            _, _, items, schema = args
            stated = {"statements": ["The mill was built in 1820."]}
            self._answers = [stated if "statements" in schema.model_fields else {"verdict": 0.9}] * len(items)
            return super().generate(*args, **how)

    names = {"judge": fake_judge(Agreeing([]))}
    exec(compile(block("python", "localeval/compat", 1), "README.md", "exec"), names)  # noqa: S102
    assert capsys.readouterr().out == "{'faithful': 1.0, 'relevant': 1.0}\n" * 2


@pytest.mark.model
def test_the_example_with_the_original_names_runs_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.jsonl").write_text(block("json"), encoding="utf-8")
    out, names = io.StringIO(), dict[str, float]()
    with contextlib.redirect_stdout(out):
        exec(compile(block("python", "localeval/compat"), "README.md", "exec"), names)  # noqa: S102
    assert re.fullmatch(r"\{'faithfulness': [01]\.\d{4}, 'answer_relevance': [01]\.\d{4}\}\n", out.getvalue())
    assert 0 <= names["score"] <= 1
