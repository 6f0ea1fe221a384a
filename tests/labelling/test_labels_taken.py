"""The file of labels is what `card` and `fit` take."""

from pathlib import Path

import pytest

from localeval.analysis.card import make
from localeval.analysis.card_render import as_text
from localeval.analysis.labelling.draw import draw_items
from localeval.analysis.labels import group, told_rows
from localeval.errors import InputError
from localeval.labels.store import LabelStore
from localeval.runs.rescore import rescore
from localeval.samples import read_samples
from tests.commands import localeval, said
from tests.labelling.runs import mills, mills_in
from tests.steady import SteadyEngine, steady_judge


def labels_file(path: Path, number: int, unit: str = "sample") -> Path:
    """All items of a run of mills: right and wrong in turn, and of every fifth one can't tell."""
    draw = draw_items(mills(number), unit=unit, kind="all")  # type: ignore[arg-type]
    store = LabelStore(path, {})
    for index, (row_id, item) in enumerate(draw.items.items()):
        value = None if index % 5 == 4 else float(index % 2)
        store.put(row_id, draw.row(item.label(value, "Ann"), row_id))
    return path


def test_a_card_is_made_of_labels_and_counts_what_one_could_not_tell(tmp_path: Path) -> None:
    data = read_samples(labels_file(tmp_path / "labels.jsonl", 40))
    card = make(data, "faithfulness", steady_judge(SteadyEngine()), tmp_path / "card", statements="sentences")
    # Of 40 every fifth: 8.
    assert card.cannot_tell == 8
    assert card.parts[0].good + card.parts[0].bad == 32
    assert "left out, as who labelled could not tell: 8" in as_text(card)


def test_a_labelled_statement_is_the_response_and_those_of_a_sample_are_one_group(tmp_path: Path) -> None:
    rows = told_rows(read_samples(labels_file(tmp_path / "labels.jsonl", 3, "statement")))
    # Six statements, of which one has no label.
    assert len(rows) == 5
    assert {row.response for row in rows} <= {
        *(f"Mill {i} was built in {1800 + i}." for i in range(3)),
        "It is of oak.",
    }
    assert {group(row) for row in rows} == {"mill-0", "mill-1", "mill-2"}


def test_a_card_of_labelled_statements(tmp_path: Path) -> None:
    data = read_samples(labels_file(tmp_path / "labels.jsonl", 20, "statement"))
    card = make(data, "faithfulness", steady_judge(SteadyEngine()), tmp_path / "card", statements="sentences")
    assert card.parts[0].good + card.parts[0].bad == 32


def test_labels_of_a_metric_that_looks_at_other_texts_are_refused(tmp_path: Path) -> None:
    data = read_samples(labels_file(tmp_path / "labels.jsonl", 40))
    judge = steady_judge(SteadyEngine())
    message = said(InputError, make, data, "context_relevance", judge, tmp_path / "card")
    assert "its labels are of faithfulness" in message


@pytest.mark.parametrize("unit", ["sample", "statement"])
def test_what_was_labelled_in_the_terminal_corrects_the_run(tmp_path: Path, unit: str) -> None:
    run = mills_in(tmp_path / "run", 40)
    answers = "1\n0\n1\n" * 8
    drawn = ("-n", "24", "--unit", unit)
    assert localeval("label", run, "-o", "labels.jsonl", *drawn, cwd=tmp_path, stdin=answers).returncode == 0
    corrected = rescore(run, labels=tmp_path / "labels.jsonl").corrected["faithfulness"]
    assert (corrected.labels, corrected.not_labelled) == (24, 0)
    assert not corrected.claimed_random


@pytest.mark.usefixtures("steady")
def test_a_head_is_not_fitted_to_labels_of_statements(tmp_path: Path) -> None:
    labels = labels_file(tmp_path / "labels.jsonl", 3, "statement")
    run = localeval("fit", labels, "-o", tmp_path / "head.json", cwd=tmp_path)
    assert run.returncode == 2
    assert "its labels are of single statements" in run.stderr


@pytest.mark.usefixtures("steady")
def test_a_head_is_fitted_to_what_one_could_tell(tmp_path: Path) -> None:
    labels = labels_file(tmp_path / "labels.jsonl", 10)
    run = localeval("fit", labels, "-o", tmp_path / "head.json", cwd=tmp_path)
    assert f"{labels}: 2 of 10 rows are left out, as who labelled could not tell" in run.stderr
    # What follows is that eight are too few.
    assert run.returncode == 2
