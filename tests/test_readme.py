"""What the README shows is what happens."""

import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest

from localeval import Judge, Result, compare, evaluate, plan
from localeval.cli import commands
from localeval.cli.evaluate import evaluate_command, score_command
from localeval.engine.benchmark import Speed
from localeval.metrics import METRICS
from localeval.report.text import as_text
from localeval.samples import read_samples
from localeval.testing import FakeEngine, fake_judge
from scripts import docs

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "localeval" / "examples"
PAGES = {
    path.parent.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for folder in ("", "localeval", "models", "scripts")
    for path in sorted((ROOT / folder).glob("**/README.md" if folder else "README.md"))
}
"""The front page (".") and the pages of the folders, by their place."""


def block(language: str, page: str = ".", nth: int = 0) -> str:
    return str(re.findall(rf"```{language}\n(.*?)```", PAGES[page], re.DOTALL)[nth])


def run_example(page: str = ".", nth: int = 0, **names: Any) -> dict[str, Any]:
    """The names that a block of Python leaves, which begins with these."""
    exec(compile(block("python", page, nth), "README.md", "exec"), names)  # noqa: S102
    return names


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


def test_the_tables_of_metrics_and_options_are_those_of_the_code() -> None:
    """Where a page's table differs, `scripts/docs` writes it anew."""
    assert [page for page, text in PAGES.items() if docs.with_tables(text) != text] == []
    marked = re.findall("<!-- table of (.+?), by scripts/docs -->", "".join(PAGES.values()))
    assert {"metrics", "options in Python", "options of evaluate"} <= set(marked)


def test_every_metric_is_on_the_first_page_and_every_variable_on_the_page_of_the_command_line() -> None:
    assert all(f"`{name}`" in PAGES["."] for name in METRICS)
    variables = {
        option.envvar for command in (evaluate_command, score_command) for option in command.params
    } - {None}
    assert [name for name in variables if f"`{name}`" not in PAGES["localeval/cli"]] == []


def command_lines() -> list[list[str]]:
    """The arguments of every call of localeval in the pages' shell blocks."""
    shells = "".join(re.findall(r"```sh\n(.*?)```", "\n".join(PAGES.values()), re.DOTALL))
    calls = re.findall("scripts/localeval (.*)", shells.replace("\\\n", " "))
    return [shlex.split(arguments, comments=True) for arguments in calls]


@pytest.mark.parametrize("arguments", command_lines(), ids=" ".join)
def test_every_command_line_is_one_that_the_program_takes(arguments: list[str]) -> None:
    command: click.Command = commands
    rest = list(arguments)
    while isinstance(command, click.Group):
        subcommand = command.get_command(click.Context(command), rest.pop(0))
        assert subcommand is not None
        command = subcommand
    with command.make_context("localeval", rest) as context:
        assert context.args == []  # nothing that it does not know


def test_the_runs_that_are_compared_are_those_of_the_shipped_examples() -> None:
    """The first is made by `scripts/start`; in the second seven answers are others, and nothing else is."""
    assert ["compare", "runs/answers", "runs/mended"] in command_lines()
    before, after = (read_samples(EXAMPLES / f"{name}.jsonl") for name in ("answers", "mended"))
    pairs = list(zip(before, after, strict=True))
    assert sum(old.response != new.response for old, new in pairs) == 7
    assert all(old == new.model_copy(update={"response": old.response}) for old, new in pairs)


def test_the_sample_line_is_read_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_text(block("json"), encoding="utf-8")
    assert read_samples(tmp_path / "data.jsonl")[0].id == "42"


def rows(text: str) -> dict[str, list[str]]:
    """The cells of each sample's row, by id, and of the rows of means and of their intervals."""
    lines = re.findall(r"^(mean|95 % (?:from|to)|(?:en|zh)-\S+)(.*)", text, re.MULTILINE)
    return {name: cells.split() for name, cells in lines}


@pytest.mark.model
def test_the_table_is_what_the_shipped_example_gives(shipped: Result) -> None:
    # Values hang on sentences close to the threshold, which another processor may decide otherwise.
    assert differences(rows(block("text")), rows(as_text(shipped))) == []


@pytest.mark.model
def test_the_plan_is_that_of_the_shipped_example(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted with the model's own tokenizer, to the row; only the time is the machine's."""
    monkeypatch.setattr("localeval.engine.benchmark.measure", lambda *_: Speed(0.01, 0.02, 0.05))
    with Judge.load("qwen2.5-coder-1.5b", embedder="all-minilm-l6-v2", cache_prefix=False) as judge:
        text = str(plan(str(EXAMPLES / "answers.jsonl"), judge=judge))

    def counts(text: str) -> list[list[str]]:
        lines = text.partition("\n\nTime:")[0].splitlines()[2:]
        return [line.split()[:5] for line in lines if line.strip()]

    page = block("text", "localeval/runs")
    assert counts(page) == counts(text)
    assert re.findall(r"Memory: [0-9.]+ GB needed", page)[0] in text


@pytest.mark.model
def test_the_comparison_is_that_of_the_two_shipped_examples(judge: Judge, shipped: Result) -> None:
    """A sample has the same records in any run, so that only what was mended is judged here."""
    before = Result(shipped.samples, ["faithfulness"], shipped.signature)
    samples = read_samples(EXAMPLES / "mended.jsonl")
    mended = [new for new, old in zip(samples, shipped.samples, strict=True) if new != old.sample]
    judged = {result.sample.id: result for result in evaluate(mended, ["faithfulness"], judge).samples}
    joined = [judged.get(result.sample.id, result) for result in shipped.samples]
    after = Result(joined, ["faithfulness"], shipped.signature)
    lines = str(compare(before, after)).splitlines()[:-2]  # then the runs' places
    for expected, line in zip(block("text", "localeval/runs", 1).splitlines()[:-2], lines, strict=True):
        words = zip(_words(expected), _words(line), strict=True)
        assert [pair for pair in words if not _agree(*pair, any_number=False)] == [], line


def _words(line: str) -> list[str]:
    """The words of a line, without a sample's two values: they hang on sentences close to the threshold."""
    return re.sub(r"((?:en|zh)-\S+)\s+\S+\s+\S+", r"\1", line).replace("+", "").split()


def differences(page: dict[str, list[str]], run: dict[str, list[str]]) -> list[tuple[str, str, str]]:
    """(row, cell of the page, cell of the run) where text differs, or a number of a soft column by over 0.1.

    Another type of processor moves the bits, and with them the last decimals. In the value columns any number
    will do.
    """
    assert page.keys() == run.keys()
    return [
        (name, expected, cell)
        for name, cells in page.items()
        for column, (expected, cell) in enumerate(zip(cells, run[name], strict=True))
        if not _agree(expected, cell, column % 2 == 0)
    ]


def _agree(expected: str, cell: str, any_number: bool) -> bool:
    if not re.fullmatch(r"[\d.]+", expected):
        return cell == expected
    if any_number:
        return bool(re.fullmatch(r"[\d.]+", cell))
    return float(cell) == pytest.approx(float(expected), abs=0.1)


@pytest.mark.model
def test_the_python_example_runs_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    run_example()
    stdout = capsys.readouterr().out
    assert "faithfulness: 1 scored, 0 undefined, 0 failed" in stdout
    assert "The mill was built in 1820." in stdout


def test_the_metric_of_ones_own_scores_what_its_definition_says() -> None:
    run_example("localeval")
    judge = fake_judge(FakeEngine([{"verdict": 0.9}, {"verdict": 0.2}]))
    sample = {"response": "Tea is green. It sings a song.", "retrieved_contexts": ["Tea is green."]}
    try:
        score = judge.score("longest_unsupported", sample, statements="sentences")
    finally:
        METRICS.pop("longest_unsupported")
    assert score.value == len("It sings a song.") / 1000


def test_the_assertion_in_a_test_suite_fails_as_it_is_shown() -> None:
    test = run_example("localeval", 1)["test_the_answer_says_what_the_documents_say"]
    statements = [{"statements": ["Tea is green."]}, {"statements": ["It sings."]}]
    verdicts = [{"verdict": share} for share in (0.9, 0.2)]
    with pytest.raises(AssertionError) as caught:
        test(fake_judge(FakeEngine([*statements, *verdicts, *verdicts])))
    assert f"{caught.value}\n" == block("text", "localeval")


@pytest.mark.model
def test_the_example_with_the_original_names_runs_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.jsonl").write_text(block("json"), encoding="utf-8")
    assert 0 <= run_example("localeval/compat")["score"] <= 1
    line = r"\{'faithfulness': [01]\.\d{4}, 'answer_relevance': [01]\.\d{4}\}\n"
    assert re.fullmatch(line, capsys.readouterr().out)
