"""What is drawn for people to label."""

import pytest

from localeval import InputError, Result, Score
from localeval.analysis.labelling.draw import LabelDraw, draw_items
from localeval.labels.file import Labels
from tests.commands import said
from tests.labelling.runs import METRICS, mill, mills, run_of
from tests.reports import failed, plain


def labels_of(draw: LabelDraw) -> Labels:
    """A file in which everything of this draw is labelled right."""
    rows = [item.label(1.0) for item in draw.items.values()]
    samples = [
        label.sample.model_copy(update={"id": name}) for label, name in zip(rows, draw.items, strict=True)
    ]
    labels = [
        type(label)(sample, label.sample_id, label.value, label.statement)
        for label, sample in zip(rows, samples, strict=True)
    ]
    return Labels(labels, draw.metric, draw.design, "labels.jsonl")


def test_the_same_samples_are_drawn_whatever_the_order_of_the_run() -> None:
    run = mills(30)
    turned = Result(run.samples[::-1], run.metrics, run.signature)
    assert list(draw_items(run, number=10).items) == list(draw_items(turned, number=10).items)


def test_a_larger_draw_begins_with_the_smaller_one_and_another_seed_draws_others() -> None:
    run = mills(30)
    ten = list(draw_items(run, number=10).items)
    assert list(draw_items(run, number=20).items)[:10] == ten
    assert list(draw_items(run, number=10, seed=1).items) != ten


def test_the_draw_of_seed_0_is_the_same_on_every_machine() -> None:
    # The first three in the order of the sha256 of "0/mill-0" to "0/mill-5".
    assert list(draw_items(mills(6), number=3).items) == ["mill-5", "mill-0", "mill-2"]


def test_the_design_says_how_many_of_how_many_were_drawn() -> None:
    run = mills(6)
    assert draw_items(run, number=4, seed=7).design.model_dump() == {
        "kind": "random",
        "seed": 7,
        "drawn": 4,
        "of": 6,
    }
    assert draw_items(run, number=50).design.drawn == 6
    assert draw_items(run, kind="all", number=1).design.drawn == 6


def test_the_most_uncertain_are_those_nearest_to_the_threshold() -> None:
    shares = [[0.9, 0.9], [0.5, 0.52], [0.1, 0.1], [0.4, 0.7]]
    run = run_of([mill(i) for i in range(4)], shares)
    # Means of 0.9, 0.51, 0.1 and 0.55, and a threshold of 0.5.
    assert list(draw_items(run, kind="uncertain", number=2).items) == ["mill-1", "mill-3"]
    statements = draw_items(run, kind="uncertain", unit="statement", number=3)
    assert list(statements.items) == ["mill-1/0", "mill-1/1", "mill-3/0"]


def test_statements_are_drawn_one_by_one() -> None:
    draw = draw_items(mills(3), unit="statement", kind="all")
    assert sorted(draw.items) == [f"mill-{i}/{k}" for i in range(3) for k in range(2)]
    statement = draw.items["mill-2/1"].statement
    assert statement is not None
    assert statement.text == "It is of oak."
    assert draw.design.of == 6


def test_only_scored_samples_are_drawn() -> None:
    run = mills(2)
    with_broken = Result([*run.samples, failed(mill(9), "out of cells")], METRICS, run.signature)
    assert set(draw_items(with_broken, kind="all").items) == {"mill-0", "mill-1"}


def test_without_a_name_the_metric_is_the_first_that_a_judge_decided() -> None:
    run = mills(2)
    samples = run.samples
    for result in samples:
        object.__setattr__(result, "scores", {"rouge_l": Score(0.5), **result.scores})
    assert draw_items(Result(samples, ["rouge_l", "faithfulness"], run.signature)).metric == "faithfulness"


def test_a_run_of_one_sample_can_be_labelled() -> None:
    assert list(draw_items(mills(1)).items) == ["mill-0"]


def test_a_run_without_a_scored_sample_is_refused() -> None:
    run = plain({"a": {"faithfulness": Score.undefined("no_statements")}})
    assert "nothing to label" in said(InputError, lambda: draw_items(run, metric="faithfulness"))


def test_a_metric_that_decides_no_statements_is_refused() -> None:
    run = mills(2)
    message = said(InputError, lambda: draw_items(run, metric="answer_relevance", unit="statement"))
    assert "answer_relevance decides no statements" in message


def test_a_metric_that_the_run_lacks_is_refused() -> None:
    assert "this run has no metric" in said(InputError, lambda: draw_items(mills(1), metric="rouge_l"))


def test_labels_of_a_smaller_draw_belong_to_a_larger_one() -> None:
    run = mills(9)
    matched = draw_items(run, number=8).match(labels_of(draw_items(run, number=3)))
    assert list(matched) == list(draw_items(run, number=3).items)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"seed": 1}, "another draw"),
        ({"kind": "all"}, "another draw"),
        ({"metric": "answer_relevance"}, "its labels are of answer_relevance"),
        ({"number": 5}, "not among the 4"),
    ],
    ids=["seed", "kind", "metric", "more than drawn here"],
)
def test_labels_of_another_draw_are_refused(other: dict[str, object], words: str) -> None:
    run = mills(9)
    labels = labels_of(draw_items(run, **{"number": 4, **other}))  # type: ignore[arg-type]
    assert words in said(InputError, draw_items(run, number=4).match, labels)


def test_labels_of_other_texts_are_refused() -> None:
    changed = run_of([mill(i, response="It is old.") for i in range(3)])
    labels = labels_of(draw_items(changed, number=3))
    assert "other texts" in said(InputError, draw_items(mills(3), number=3).match, labels)
