"""A run that is corrected by labels of a part of it, or by a judge card. Numbers are counted by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from localeval import InputError, Sample, evaluate, read_samples, rescore
from localeval.analysis.card import make
from localeval.labels.file import Design, Label, label_row
from localeval.labels.fingerprint import sample_fingerprint
from localeval.metrics.corrected import JudgeRates
from localeval.runs import folder as run_folder
from localeval.testing import FakeEngine, fake_judge
from tests.commands import localeval
from tests.finished_runs import judged, write_rows
from tests.reports import Page

# Of each ten samples the judge calls eight right; people call one of these wrong, and the two others, too.
PROBABILITIES = [0.9, 0.9, 0.2, 0.9, 0.9, 0.9, 0.9, 0.2, 0.9, 0.9] * 10
RIGHT = [1, 1, 0, 1, 0, 1, 1, 0, 1, 1] * 10
DRAWN = 40


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return judged(tmp_path_factory.mktemp("runs") / "tea", PROBABILITIES)


def sample(number: int, **columns: Any) -> Sample:
    """A sample of `judged`."""
    texts: dict[str, Any] = {
        "user_input": "Tea?",
        "response": f"Tea {number}.",
        "retrieved_contexts": ["Tea."],
    }
    return Sample(id=f"s{number}", **{**texts, **columns})


def random_design(drawn: int = DRAWN, of: int = 100) -> Design:
    return Design(kind="random", drawn=drawn, of=of)


def label_rows(
    values: Mapping[int, float | None],
    design: Design | None = None,
    metric: str = "faithfulness",
    **columns: Any,
) -> list[dict[str, Any]]:
    """Rows of a file of labels: number of the sample -> label."""
    design = design or random_design(len(values))
    return [
        label_row(Label(sample(number, **columns), f"s{number}", value), metric, design)
        for number, value in values.items()
    ]


def first(number: int = DRAWN) -> dict[int, float | None]:
    """The labels of the first samples, which are as good as random ones, as the samples take turns."""
    return dict(enumerate(map(float, RIGHT[:number])))


def without(rows: list[dict[str, Any]], *columns: str) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key not in columns} for row in rows]


def test_the_share_that_people_call_right_stands_beside_the_judge_s(run: Path, tmp_path: Path) -> None:
    labels = write_rows(tmp_path / "labels.jsonl", label_rows(first()))
    corrected = rescore(run, labels=labels).corrected["faithfulness"]
    # The judge calls 8 of 10 right. Of these people call 7 in 8 right, of the others none: 0.8 x 7/8.
    assert corrected.raw == pytest.approx(0.8)
    assert corrected.value == pytest.approx(0.7)
    assert corrected.interval is not None
    assert 0.5 < corrected.interval[0] < 0.7 < corrected.interval[1] < 0.9
    assert (corrected.method, corrected.labels) == ("post-stratified", DRAWN)
    assert corrected.effective_labels is not None
    assert corrected.effective_labels > DRAWN


def test_labels_that_people_could_not_give_are_left_out_and_counted(run: Path, tmp_path: Path) -> None:
    values = first() | {0: None, 1: None}
    labels = write_rows(tmp_path / "labels.jsonl", label_rows(values))
    corrected = rescore(run, labels=labels).corrected["faithfulness"]
    assert (corrected.labels, corrected.cant_tell) == (DRAWN - 2, 2)


def test_samples_that_were_drawn_and_not_labelled_are_counted(run: Path, tmp_path: Path) -> None:
    labels = write_rows(tmp_path / "labels.jsonl", label_rows(first(), random_design(50)))
    assert rescore(run, labels=labels).corrected["faithfulness"].not_labelled == 10


def test_graded_labels_correct_the_mean(run: Path, tmp_path: Path) -> None:
    graded = {number: 0.5 + 0.4 * right for number, right in enumerate(RIGHT[:DRAWN])}
    labels = write_rows(tmp_path / "labels.jsonl", label_rows(graded))
    corrected = rescore(run, labels=labels).corrected["faithfulness"]
    assert (corrected.method, corrected.number) == ("ppi", "mean")
    # 7 of 10 are right, and the labelled ones are as the others.
    assert corrected.value == pytest.approx(0.78)
    # The judge's mean of soft: 0.9 of eight in ten, 0.2 of two.
    assert corrected.raw == pytest.approx(0.76)


def test_too_few_labels_give_no_number_and_the_reason(run: Path, tmp_path: Path) -> None:
    labels = write_rows(tmp_path / "labels.jsonl", label_rows(first(19)))
    corrected = rescore(run, labels=labels).corrected["faithfulness"]
    assert corrected.value is None
    assert corrected.reason == "19 labels are too few; label at least 20"


def test_labels_of_the_least_sure_samples_are_refused(run: Path, tmp_path: Path) -> None:
    design = Design(kind="uncertain", drawn=DRAWN, of=100)
    labels = write_rows(tmp_path / "labels.jsonl", label_rows(first(), design))
    with pytest.raises(InputError, match="least sure"):
        rescore(run, labels=labels)
    with pytest.raises(InputError, match="least sure"):
        rescore(run, labels=labels, labels_are_random=True)


def test_labels_that_do_not_say_how_they_were_chosen_need_the_user_s_word(run: Path, tmp_path: Path) -> None:
    labels = write_rows(tmp_path / "labels.jsonl", without(label_rows(first()), "label_design"))
    with pytest.raises(InputError, match="does not say how"):
        rescore(run, labels=labels)
    corrected = rescore(run, labels=labels, labels_are_random=True).corrected["faithfulness"]
    assert corrected.claimed_random
    assert corrected.value == pytest.approx(0.7)


def test_labels_that_were_drawn_from_fewer_samples_need_the_user_s_word(run: Path, tmp_path: Path) -> None:
    labels = write_rows(tmp_path / "labels.jsonl", label_rows(first(), random_design(of=60)))
    with pytest.raises(InputError, match="were drawn from 60, and 100 are scored"):
        rescore(run, labels=labels)


def test_labels_of_another_text_are_refused(run: Path, tmp_path: Path) -> None:
    labels = write_rows(tmp_path / "labels.jsonl", label_rows(first(), retrieved_contexts=["Coffee."]))
    with pytest.raises(InputError, match="40 labelled samples have another text"):
        rescore(run, labels=labels)


def test_labels_of_samples_that_the_run_lacks_are_refused(run: Path, tmp_path: Path) -> None:
    labels = write_rows(tmp_path / "labels.jsonl", label_rows(first() | {777: 1.0}))
    with pytest.raises(InputError, match=r"1 labelled samples are not in this run \(s777\)"):
        rescore(run, labels=labels)


def test_two_labels_of_one_sample_are_refused(run: Path, tmp_path: Path) -> None:
    rows = label_rows(first())
    labels = write_rows(tmp_path / "labels.jsonl", [*rows, rows[0] | {"id": "again", "label_sample": "s0"}])
    with pytest.raises(InputError, match="s0 is labelled twice"):
        rescore(run, labels=labels)


def test_labels_of_a_metric_that_the_run_lacks_are_refused(run: Path, tmp_path: Path) -> None:
    labels = write_rows(tmp_path / "labels.jsonl", label_rows(first(), metric="context_precision"))
    with pytest.raises(InputError, match="not computed here"):
        rescore(run, labels=labels)


def test_the_user_may_say_which_metric_the_labels_are_of(run: Path, tmp_path: Path) -> None:
    labels = write_rows(tmp_path / "labels.jsonl", without(label_rows(first()), "label_metric"))
    metrics = ["faithfulness", "full_support"]
    with pytest.raises(InputError, match="name one with --label-metric"):
        rescore(run, metrics, labels=labels)
    result = rescore(run, metrics, labels=labels, label_metric="full_support")
    assert list(result.corrected) == ["full_support"]


def test_labels_of_statements_correct_the_share_of_statements(run: Path, tmp_path: Path) -> None:
    rows = [
        label_row(Label(sample(n), f"s{n}", value, f"Tea {n}."), "faithfulness", random_design(), f"s{n}/0")
        for n, value in first().items()
    ]
    labels = write_rows(tmp_path / "labels.jsonl", rows)
    corrected = rescore(run, labels=labels).corrected["faithfulness"]
    assert (corrected.unit, corrected.labels) == ("statement", DRAWN)
    assert corrected.value == pytest.approx(0.7)


def test_answers_of_one_group_count_as_fewer(tmp_path: Path) -> None:
    # Pairs of equal answers: as many samples, half as much knowledge.
    numbers = range(100)
    rows = [sample(n // 2).model_dump(exclude_none=True) | {"id": f"s{n}", "group": n // 2} for n in numbers]
    engine = FakeEngine([{"verdict": PROBABILITIES[n // 2]} for n in numbers])
    write_rows(tmp_path / "tea.jsonl", rows)
    folder = tmp_path / "run"
    samples = read_samples(tmp_path / "tea.jsonl")
    evaluate(samples, ["faithfulness"], fake_judge(engine), folder, statements="sentences")
    labels = [
        label_row(Label(samples[n], f"s{n}", float(RIGHT[n // 2])), "faithfulness", random_design())
        for n in range(DRAWN)
    ]
    corrected = rescore(folder, labels=write_rows(tmp_path / "labels.jsonl", labels)).corrected[
        "faithfulness"
    ]
    assert corrected.groups == 50
    assert corrected.design_effect == pytest.approx(2.0)


def test_a_corrected_number_is_kept_in_results_json(run: Path, tmp_path: Path) -> None:
    labels = write_rows(tmp_path / "labels.jsonl", label_rows(first()))
    own = judged(tmp_path / "run", PROBABILITIES)
    result = rescore(own, labels=labels)
    run_folder.replace_results(own, result)
    assert run_folder.load(own).corrected == result.corrected
    assert (
        json.loads((own / "results.json").read_text("utf-8"))["corrected"]["faithfulness"]["labels"] == DRAWN
    )
    page = Page((own / "report.html").read_text("utf-8"))
    assert f"By {DRAWN} labels; it assumes that these were drawn at random" in page.text


def test_a_run_without_labels_has_no_corrected_number(run: Path) -> None:
    result = rescore(run)
    assert result.corrected == {}
    assert "corrected" not in result.head()


Rescored = Callable[..., CompletedProcess[str]]


@pytest.fixture
def rescored(run: Path, tmp_path: Path) -> Rescored:
    """Give the command with these labels and options."""

    def call(labels: Sequence[Mapping[str, Any]] | None, *options: str) -> CompletedProcess[str]:
        words: list[str | Path] = ["rescore", run, *options]
        if labels is not None:
            words += ["--labels", write_rows(tmp_path / "labels.jsonl", labels)]
        return localeval(*words, cwd=tmp_path)

    return call


def test_a_gate_on_the_corrected_number_is_met(rescored: Rescored) -> None:
    gates = (
        "--fail-under",
        "faithfulness:corrected=0.65",
        "--fail-under",
        "faithfulness:corrected:lower=0.5",
    )
    call = rescored(label_rows(first()), *gates)
    assert call.returncode == 0
    assert "gate met: faithfulness: corrected number at least 0.65" in call.stderr


def test_a_gate_on_the_corrected_number_is_missed(rescored: Rescored) -> None:
    # The judge's own share is 0.8.
    call = rescored(label_rows(first()), "--fail-under", "faithfulness:corrected=0.75")
    assert call.returncode == 1
    assert "gate missed" in call.stderr


def test_a_gate_without_labels_is_missed_with_the_reason(rescored: Rescored) -> None:
    call = rescored(None, "--fail-under", "faithfulness:corrected=0")
    assert call.returncode == 1
    assert "give `rescore` labels (--labels) or a card (--card)" in call.stderr


def test_a_gate_on_a_number_that_could_not_be_corrected_is_missed(rescored: Rescored) -> None:
    call = rescored(label_rows(first(19)), "--fail-under", "faithfulness:corrected=0")
    assert call.returncode == 1
    assert "19 labels are too few" in call.stderr


def test_labels_that_can_t_be_used_end_the_command_in_one_sentence(rescored: Rescored) -> None:
    call = rescored(without(label_rows(first()), "label_design"), "--fail-under", "faithfulness:corrected=0")
    assert call.returncode == 2
    assert len(call.stderr.splitlines()) == 1


@pytest.fixture(scope="module")
def raw_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return judged(tmp_path_factory.mktemp("runs") / "raw", PROBABILITIES, calibration="none")


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A card of samples that are not in the run, judged as that was: of either label, 180 of 200 rightly."""
    folder = tmp_path_factory.mktemp("cards")
    probabilities = ([0.9] * 9 + [0.2] + [0.2] * 9 + [0.9]) * 20
    right = ([1] * 10 + [0] * 10) * 20
    rows = [
        sample(1000 + n).model_dump(exclude_none=True) | {"label": value} for n, value in enumerate(right)
    ]
    data = read_samples(write_rows(folder / "card.jsonl", rows))
    judge = fake_judge(FakeEngine([{"verdict": p} for p in probabilities]))
    make(data, "faithfulness", judge, folder / "card", statements="sentences", calibration="none")
    return folder / "card"


def edited(card: Path, folder: Path, **fields: Any) -> Path:
    """The card with other fields."""
    content = json.loads((card / "card.json").read_text("utf-8"))
    (folder / "card.json").write_text(json.dumps(content | fields), "utf-8")
    return folder


def test_a_card_counts_right_verdicts_of_each_label(card: Path) -> None:
    content = json.loads((card / "card.json").read_text("utf-8"))
    [of_all, of_english] = content["rates"]
    assert (of_all["right_of_good"], of_all["good"]) == (180, 200)
    assert (of_all["right_of_bad"], of_all["bad"]) == (180, 200)
    assert of_english["language"] == "en"
    assert len(content["fingerprints"]["samples"]) == 400


def test_a_card_corrects_a_run_of_other_samples(raw_run: Path, card: Path) -> None:
    corrected = rescore(raw_run, card=card / "card.json").corrected["faithfulness"]
    # (0.8 + 0.9 - 1) / (0.9 + 0.9 - 1)
    assert corrected.value == pytest.approx(0.875)
    assert (corrected.method, corrected.labels) == ("rogan-gladen", 400)
    assert corrected.raw == pytest.approx(0.8)
    assert corrected.effective_labels is not None
    assert corrected.effective_labels < 100


def test_a_small_card_is_too_uncertain_to_correct_by(raw_run: Path, card: Path, tmp_path: Path) -> None:
    rates = JudgeRates(language="en", right_of_good=18, good=20, right_of_bad=18, bad=20)
    small = edited(card, tmp_path, rates=[rates.model_dump()])
    corrected = rescore(raw_run, card=small).corrected["faithfulness"]
    assert corrected.value is None
    assert corrected.reason.startswith("too uncertain to correct: standard error 0.")


def test_a_card_of_another_language_is_refused(raw_run: Path, card: Path, tmp_path: Path) -> None:
    rates = JudgeRates(language="zh", right_of_good=180, good=200, right_of_bad=180, bad=200)
    with pytest.raises(InputError, match=r"no labelled samples in the run's language \(en\)"):
        rescore(raw_run, card=edited(card, tmp_path, rates=[rates.model_dump()]))


def test_a_card_of_the_run_s_own_samples_is_refused(raw_run: Path, card: Path, tmp_path: Path) -> None:
    own = edited(card, tmp_path, fingerprints={"samples": [sample_fingerprint(sample(99))]})
    with pytest.raises(InputError, match=r"1 samples of this run are the card's own \(s99\)"):
        rescore(raw_run, card=own)


def test_a_card_at_another_threshold_is_refused(raw_run: Path, card: Path) -> None:
    with pytest.raises(InputError, match="made otherwise than this run"):
        rescore(raw_run, card=card, threshold=0.7)


def test_a_card_of_another_metric_is_refused(raw_run: Path, card: Path) -> None:
    with pytest.raises(InputError, match="a card of faithfulness, which is not computed here"):
        rescore(raw_run, ["full_support"], card=card)


def test_a_card_without_rates_is_refused(raw_run: Path, card: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no rates of right verdicts"):
        rescore(raw_run, card=edited(card, tmp_path, rates=[]))


def test_a_file_that_is_no_card_is_refused(raw_run: Path, tmp_path: Path) -> None:
    (tmp_path / "card.json").write_text("{}", "utf-8")
    with pytest.raises(InputError, match="no card for this version"):
        rescore(raw_run, card=tmp_path)
    with pytest.raises(InputError, match="can't be read"):
        rescore(raw_run, card=tmp_path / "none.json")


def test_labels_and_a_card_at_once_are_refused(raw_run: Path) -> None:
    with pytest.raises(InputError, match="labels and a card"):
        rescore(raw_run, labels="labels.jsonl", card="card.json")


def test_the_table_tells_what_the_corrected_number_rests_on(
    rescored: Rescored,
) -> None:
    out = rescored(label_rows(first())).stdout
    assert "faithfulness, corrected: 0.700 of the samples right (95 % " in out
    assert "it assumes that these samples were drawn at random, as the file says they are." in out
    assert "The judge was worth" in out
