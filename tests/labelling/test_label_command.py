"""The command `label`: the page that it writes, labelling in the terminal, and what it refuses."""

import os
from pathlib import Path

import pytest

from localeval.labels.file import read_labels
from tests.commands import localeval, refused
from tests.finished_runs import write_rows
from tests.labelling.runs import mills_in
from tests.reports import HOSTILE, Page


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mills_in(tmp_path_factory.mktemp("runs") / "mills", 4)


@pytest.fixture(autouse=True)
def _in_its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def typed(finished: Path, *words: str | Path, lines: str, output: str = "labels.jsonl") -> str:
    """Label in the terminal with these lines, and return what is printed."""
    stdin = "".join(f"{line}\n" for line in lines.split("|"))
    run = localeval("label", finished, "-o", output, *words, cwd=Path.cwd(), stdin=stdin)
    assert run.returncode == 0, run.stderr
    return run.stdout


def values(path: str = "labels.jsonl") -> dict[str, float | None]:
    return {label.sample.id: label.value for label in read_labels(path).labels}


def test_what_is_typed_in_the_terminal_is_in_the_file(finished: Path) -> None:
    out = typed(finished, "--by", "Ann", lines="1|m another year|0|?|y")
    labels = read_labels("labels.jsonl")
    assert [(label.value, label.note, label.by) for label in labels.labels] == [
        (1.0, "", "Ann"),
        (0.0, "another year", "Ann"),
        (None, "", "Ann"),
        (1.0, "", "Ann"),
    ]
    assert "Do the contexts support everything that the response says?" in out
    assert "    >>Mill 0 on the Arl was built in 1800.<<" in out


def test_the_same_command_goes_on_where_the_first_ended(finished: Path) -> None:
    typed(finished, lines="1|q")
    out = typed(finished, lines="0")
    assert "2 of 4 (1 labelled)" in out
    assert list(values().values()) == [1.0, 0.0]


def test_a_larger_draw_goes_on_in_the_same_file(finished: Path) -> None:
    typed(finished, "-n", "2", lines="1|1")
    typed(finished, "-n", "4", lines="0|q")
    labels = read_labels("labels.jsonl")
    assert [label.value for label in labels.labels] == [1.0, 1.0, 0.0]
    assert labels.design is not None
    assert labels.design.drawn == 4


def test_undo_and_back_change_labels_in_the_file(finished: Path) -> None:
    typed(finished, lines="1|1|z|z|0|b|?|q")
    assert list(values().values()) == [None]


def test_ctrl_c_keeps_every_label(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from localeval.cli.label_terminal import _Terminal

    given = iter(["1", "0"])

    def ask(_: _Terminal) -> str:
        for line in given:
            return line
        raise KeyboardInterrupt

    monkeypatch.setattr(_Terminal, "_ask", ask)
    run = localeval("label", finished, "-o", "labels.jsonl", cwd=Path.cwd())
    assert run.returncode == 130
    assert "the same command goes on" in run.stderr
    assert list(values().values()) == [1.0, 0.0]


def test_the_judges_verdict_comes_after_the_label_or_never(finished: Path) -> None:
    out = typed(finished, "--unit", "statement", lines="1|q")
    assert out.count("The judge: ") == 1
    assert out.index("> ") < out.index("The judge: ")
    assert "The judge" not in typed(finished, "--show-verdict", "never", lines="1", output="b.jsonl")
    assert typed(finished, "--show-verdict", "always", lines="q", output="c.jsonl").count("The judge") == 1


def test_what_is_not_understood_labels_nothing(finished: Path) -> None:
    typed(finished, lines="yes|10|1 2|maybe|m|")
    assert not Path("labels.jsonl").exists()


def test_a_hostile_text_commands_no_terminal_and_fakes_no_line(tmp_path: Path) -> None:
    evil = "\x1b[2J\x1b]0;title\x07" + "".join(HOSTILE) + "\nQuestion:\n> 1\r\x9b31m\u202e"
    finished = mills_in(tmp_path / "evil", 2, user_input=evil, retrieved_contexts=[evil, "Tea."])
    out = typed(finished, f"--by={evil}".replace("\x00", ""), lines=f"m {evil}|1".replace("\n", " "))
    assert all(character.isprintable() or character == "\n" for character in out)
    # Of the two samples, and not of what stands in them.
    assert out.count("\nQuestion:\n") == 2
    assert [label.value for label in read_labels("labels.jsonl").labels] == [1.0]


def test_a_long_context_is_shown_around_its_evidence_and_whole_when_asked(tmp_path: Path) -> None:
    filler = "The river has many wheels. " * 4_000
    context = f"{filler}Mill 0 on the Arl was built in 1800. {filler}"
    finished = mills_in(tmp_path / "long", 1, retrieved_contexts=[context])
    out = typed(finished, lines="q")
    assert ">>Mill 0 on the Arl was built in 1800.<<" in out
    assert len(out) < 3_000
    assert len(typed(finished, lines="c|q")) > len(context)


def test_two_people_are_shown_and_one_decides(finished: Path) -> None:
    typed(finished, "--by", "Ann", lines="1|1|0|0", output="ann.jsonl")
    typed(finished, "--by", "Ben", lines="1|0|0|m so|?", output="ben.jsonl")
    people = ("--labels", "ann.jsonl", "--labels", "ben.jsonl")
    run = localeval(
        "label", finished, "-o", "both.jsonl", "--by", "Cy", *people, cwd=Path.cwd(), stdin="0\n1\n"
    )
    assert "Ann and Ben agree on 2 of 3" in run.stderr
    assert "    Ann: right\n    Ben: wrong\n" in run.stdout
    assert "    Ben: can't tell (so)\n" in run.stdout
    by = {label.sample.id: (label.value, label.by) for label in read_labels("both.jsonl").labels}
    rows = list(values("ann.jsonl"))
    assert by == {
        rows[0]: (1.0, "Ann & Ben"),
        rows[1]: (0.0, "Cy"),
        rows[2]: (0.0, "Ann & Ben"),
        rows[3]: (1.0, "Cy"),
    }


def test_the_page_is_one_file_that_may_load_and_send_nothing(finished: Path) -> None:
    run = localeval("label", finished, "-o", "page.html", cwd=Path.cwd())
    assert run.returncode == 0, run.stderr
    page = Page(Path("page.html").read_text("utf-8"))
    [policy] = [
        attributes["content"] or ""
        for tag, attributes in page.elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "connect-src" not in policy
    assert {"iframe", "object", "embed", "img", "form"}.isdisjoint(tag for tag, _ in page.elements)
    assert all(
        not value.startswith(("http:", "https:", "//"))
        for _, attributes in page.elements
        for value in attributes.values()
        if value
    )


def test_a_page_is_written_again_and_another_file_is_left_as_it_is(finished: Path) -> None:
    for _ in range(2):
        assert localeval("label", finished, "-o", "page.html", cwd=Path.cwd()).returncode == 0
    Path("notes.html").write_text("mine")
    Path("notes.txt").write_text("mine")
    Path("rows.jsonl").write_text('{"id": "1", "response": "Tea.", "label": 1}\n')
    Path("data.jsonl").write_text('{"id": "1", "response": "Tea."}\n')
    assert "it is no page of labels" in refused("label", finished, "-o", "notes.html")
    assert "it is no file of labels" in refused("label", finished, "-o", "notes.txt")
    assert "not made by `label`" in refused("label", finished, "-o", "rows.jsonl")
    assert "no row has a label" in refused("label", finished, "-o", "data.jsonl")
    assert "a file of a run" in refused("label", finished, "-o", finished / "samples.jsonl")
    assert Path("notes.html").read_text() == Path("notes.txt").read_text() == "mine"


def test_labels_of_another_draw_are_left_as_they_are(finished: Path) -> None:
    typed(finished, lines="1|q")
    before = Path("labels.jsonl").read_bytes()
    assert "another draw" in refused("label", finished, "-o", "labels.jsonl", "--seed", "1")
    assert "give --unit sample" in refused("label", finished, "-o", "labels.jsonl", "--unit", "statement")
    assert Path("labels.jsonl").read_bytes() == before


@pytest.mark.parametrize("name", ["page.html", "labels.jsonl"])
def test_a_folder_that_cannot_be_written_is_one_sentence(finished: Path, tmp_path: Path, name: str) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    if os.access(closed, os.W_OK):
        pytest.skip("root may write anywhere")
    assert "can't be written there" in refused("label", finished, "-o", closed / name)


@pytest.mark.parametrize("name", ["page.html", "labels.jsonl"])
def test_a_folder_that_is_not_there_is_one_sentence(finished: Path, name: str) -> None:
    assert "can't be written there" in refused("label", finished, "-o", f"gone/{name}")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--draw", "all", "-n", "3"], "--draw all takes every one"),
        (["--metric", "rouge_l"], "this run has no metric 'rouge_l'"),
        (["--labels", "a", "--labels", "b", "--labels", "c"], "--labels names 3 files"),
        (["--labels", "a", "--labels", "b", "--seed", "1"], "leave --seed out"),
    ],
    ids=["number of all", "metric", "three people", "draw of two people"],
)
def test_what_cannot_be_meant_is_refused(finished: Path, words: list[str], message: str) -> None:
    assert message in refused("label", finished, "-o", "page.html", *words)


def test_plain_labels_are_not_those_of_a_draw(finished: Path) -> None:
    write_rows(Path("own.jsonl"), [{"id": "mill-1", "response": "Tea.", "label": 1}])
    assert "not made by `label`" in refused("label", finished, "-o", "page.html", "--labels", "own.jsonl")
