"""Certified judges: what a card certifies, what it refuses, and for which runs the certificate holds."""

import json
import re
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from localeval import InputError, Judge, evaluate, rescore
from localeval.analysis.card import Card, make
from localeval.analysis.card_render import as_html, as_text
from localeval.analysis.compare import compare
from localeval.analysis.ledger import enter, ordinal
from localeval.cli import main
from localeval.engine.interface import EngineError
from localeval.errors import NotCertified
from localeval.fitted.files import file_text
from localeval.labels.fingerprint import Fingerprints
from localeval.prompts import Criterion
from localeval.runs.folder import load
from localeval.runs.shards import _part_of, merge
from localeval.samples import Sample, read_samples
from localeval.testing import FakeEngine, fake_judge
from tests.commands import said
from tests.finished_runs import write_rows
from tests.heads import head

Rows = list[dict[str, Any]]
YES, NO = 0.9, 0.1


@pytest.fixture(autouse=True)
def _own_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALEVAL_LEDGER", str(tmp_path / "data" / "ledger.json"))
    # The card's other figures are no matter here.
    monkeypatch.setattr("localeval.statistics.agreement.DRAWS", 10)


def answers(good: int, bad: int, name: str = "", **more: Any) -> Rows:
    """Answers of one sentence, each to a question of its own: g0, g1, ... with label 1, b0, ... with 0."""
    ids = [(f"{name}g{i}", 1) for i in range(good)] + [(f"{name}b{i}", 0) for i in range(bad)]
    return [
        {"id": key, "label": label, "user_input": f"Which tea is {key}?", "response": f"It is tea {key}."}
        | {"retrieved_contexts": [f"Tea {key} grows."], **more}
        for key, label in ids
    ]


def card(
    folder: Path,
    rows: Rows,
    wrong: Collection[str] = (),
    minimum: float | None = 0.7,
    run: str = "card",
    metric: str = "faithfulness",
    **options: Any,
) -> Card:
    """Make the card of a judge that is right but for the samples `wrong`; only a plain card fits curves."""
    probabilities = [YES if row["label"] == (row["id"] not in wrong) else NO for row in rows]
    judge = fake_judge(FakeEngine([{"verdict": p} for p in probabilities]))
    data = read_samples(write_rows(folder / "tea.jsonl", rows))
    with pytest.MonkeyPatch.context() as patch:
        if minimum is not None:
            patch.setattr("localeval.analysis.card.refit", lambda *_: [])
        return make(data, metric, judge, folder / run, statements="sentences", certify=minimum, **options)


def sentences(of: Card) -> list[str]:
    assert of.certificate is not None
    return of.certificate.lines()


def ids(kind: str, number: int) -> list[str]:
    return [f"{kind}{i}" for i in range(number)]


# What is certified


def test_a_judge_whose_bounds_reach_the_minimum_is_certified(tmp_path: Path) -> None:
    """41 of 50 and 45 of 50 are right; their bounds are 0.7069 and 0.8005 (Clopper and Pearson 1934)."""
    made = card(tmp_path, answers(50, 50), wrong=[*ids("g", 9), *ids("b", 5)])
    expected = (
        "judge certified for faithfulness, en: sensitivity 0.82 (at least 0.70), "
        "specificity 0.90 (at least 0.80), 50 + 50 labels"
    )
    assert sentences(made) == [expected]
    assert expected in as_text(made)
    assert expected in as_html(made)
    stored = json.loads((tmp_path / "card" / "card.json").read_text(encoding="utf-8"))
    assert stored["certificate"]["outcomes"][0]["sensitivity"]["right"] == 41


def test_a_judge_below_the_minimum_is_told_how_many_more_labels_would_do(tmp_path: Path) -> None:
    """The bound of 40 of 50 is 0.684. With 37 more these labels are tested a second time: at level 0.975."""
    made = card(tmp_path, answers(50, 50), wrong=ids("b", 10))
    assert sentences(made) == [
        "not certified for faithfulness, en: specificity 0.80, at least 0.68 < 0.7, and about 37 more wrong "
        "answers would do if it stays so (50 + 50 labels)"
    ]


def test_a_rate_below_the_minimum_is_told_that_no_number_would_do(tmp_path: Path) -> None:
    made = card(tmp_path, answers(20, 20), wrong=ids("g", 7))
    [sentence] = sentences(made)
    assert "sensitivity 0.65, at least 0.44 < 0.7, and no number of labels would do" in sentence


def test_the_minimum_is_an_option_that_the_sentence_names(tmp_path: Path) -> None:
    rows = answers(50, 50)
    made = card(tmp_path, rows, wrong=ids("g", 9), minimum=0.8)
    assert sentences(made)[0].endswith("(50 + 50 labels, minimum 0.8)")
    assert not made.certificate or not made.certificate.outcomes[0].certified


def test_each_language_is_certified_by_its_own_labels(tmp_path: Path) -> None:
    chinese = [
        {**row, "user_input": f"{row['id']}是什么茶？", "response": f"这是茶叶{row['id']}。"}
        for row in answers(6, 6, "z")
    ]
    made = card(tmp_path, [*answers(20, 20), *chinese])
    assert made.certificate is not None
    assert [(one.language, one.certified) for one in made.certificate.outcomes] == [
        ("en", True),
        ("zh", False),
    ]


def test_a_failed_sample_counts_as_judged_wrong(tmp_path: Path) -> None:
    """The engine refuses the last sample, a wrong answer, about which the judge was else right."""
    rows = answers(20, 20)
    replies: list[Any] = [{"verdict": YES if row["label"] else NO} for row in rows[:-1]]
    judge = fake_judge(FakeEngine([*replies, EngineError("refused")]))
    data = read_samples(write_rows(tmp_path / "tea.jsonl", rows))
    made = make(data, "full_support", judge, tmp_path / "card", statements="sentences", certify=0.7)
    assert made.not_scored == {"engine_error": 1}
    assert made.certificate is not None
    specificity = made.certificate.outcomes[0].specificity
    assert (specificity.right, specificity.labels) == (19, 20)


def test_answers_to_one_question_count_as_fewer(tmp_path: Path) -> None:
    """Ten questions with five answers each, of which one question's answers are all wrong."""
    rows = answers(50, 50)
    for place, row in enumerate(rows):
        row["user_input"] = f"Question {place // 5}?"
    made = card(tmp_path, rows, wrong=ids("b", 5))
    [sentence] = sentences(made)
    assert "50 + 50 labels" in sentence
    assert sentence.endswith(", which count as 10 + 10, as several are of one group or question)")


def test_the_column_group_goes_before_the_question(tmp_path: Path) -> None:
    rows = [{**row, "group": place} for place, row in enumerate(answers(20, 20))]
    for row in rows:
        row["user_input"] = "Which tea?"
    assert "count as" not in sentences(card(tmp_path, rows))[0]


# What is refused: labels that something was fitted on


def fitted_calibration(folder: Path, rows: Rows) -> Path:
    """A calibration that a card of these samples fitted."""
    wrong = ["fg0", "fb0"]
    made = card(folder, rows, wrong=wrong, minimum=None, run="fitted", calibration="none")
    assert made.calibrations
    return folder / "fitted" / "calibration.json"


def test_a_calibration_keeps_the_fingerprints_of_what_it_was_fitted_on(tmp_path: Path) -> None:
    rows = answers(20, 20, "f")
    file = fitted_calibration(tmp_path, rows)
    [calibration] = json.loads(file.read_text(encoding="utf-8"))["calibrations"]
    expected = Fingerprints.of([Sample.read(row, "row") for row in rows])
    assert Fingerprints.model_validate(calibration["fingerprints"]) == expected
    assert len(expected.samples) == len(expected.questions) == 40


def test_the_set_that_the_calibration_in_force_was_fitted_on_is_refused(tmp_path: Path) -> None:
    rows = answers(20, 20, "f")
    file = fitted_calibration(tmp_path, rows)
    message = said(InputError, card, tmp_path, rows, calibration=str(file))
    assert message == (
        f"tea: 40 of these 40 samples were used to fit the calibration in force ({file}), and a judge is not "
        "certified on what it was fitted to; leave such samples out, or certify without it (--calibration "
        "none)."
    )


def test_a_set_with_one_row_that_was_fitted_on_is_refused(tmp_path: Path) -> None:
    """Its id, its group and the case of its letters are others."""
    fitted = answers(20, 20, "f")
    file = fitted_calibration(tmp_path, fitted)
    one = {**fitted[0], "id": "new", "group": "new", "response": fitted[0]["response"].upper()}
    message = said(InputError, card, tmp_path, [*answers(30, 30), one], calibration=str(file))
    assert "1 of these 61 samples was used to fit the calibration in force" in message


def test_another_answer_to_a_question_that_was_fitted_on_is_refused(tmp_path: Path) -> None:
    fitted = answers(20, 20, "f")
    file = fitted_calibration(tmp_path, fitted)
    other = {**fitted[0], "id": "new", "response": "It is quite another tea."}
    message = said(InputError, card, tmp_path, [*answers(30, 30), other], calibration=str(file))
    assert "1 of these 61 samples asks a question on which the calibration in force" in message


def test_a_question_that_was_split_off_by_its_group_is_no_overlap(tmp_path: Path) -> None:
    fitted = [{**row, "group": f"old {row['id']}"} for row in answers(20, 20, "f")]
    file = fitted_calibration(tmp_path, fitted)
    other = {**fitted[0], "id": "new", "response": "It is quite another tea.", "group": "another document"}
    made = card(tmp_path, [*answers(30, 30), other], calibration=str(file))
    assert "judge certified" in sentences(made)[0]


def test_other_samples_are_certified_with_the_calibration(tmp_path: Path) -> None:
    file = fitted_calibration(tmp_path, answers(20, 20, "f"))
    assert "judge certified" in sentences(card(tmp_path, answers(30, 30), calibration=str(file)))[0]


def test_a_calibration_without_fingerprints_is_refused(tmp_path: Path) -> None:
    """It is of an older version."""
    rows = answers(20, 20, "f")
    made = card(tmp_path, rows, wrong=["fg0", "fb0"], minimum=None, run="fitted", calibration="none")
    [calibration] = made.calibrations
    file = tmp_path / "old.json"
    file.write_text(file_text([calibration.model_copy(update={"fingerprints": None})]), encoding="utf-8")
    message = said(InputError, card, tmp_path, answers(30, 30), calibration=str(file))
    assert message.startswith(f"{file}: this file has no list of the samples that it was fitted on")


def test_a_sample_that_a_prompt_shows_as_a_worked_example_is_refused(tmp_path: Path) -> None:
    rows = answers(20, 20)
    kind = Criterion(
        name="kind",
        question="Is the {response} kind?",
        columns=["response"],
        examples=[{"response": rows[3]["response"], "answer": "yes"}],
    )
    message = said(InputError, card, tmp_path, rows, metric="kind", criteria=[kind])
    assert message == (
        "tea: 1 of these 40 samples is shown to the judge as worked examples (the criterion kind), and a "
        "judge is not certified on what it was shown; leave such samples out."
    )


def test_labels_that_were_chosen_by_the_judges_doubt_are_refused(tmp_path: Path) -> None:
    design = {"kind": "uncertain", "seed": 0, "drawn": 40, "of": 900}
    message = said(InputError, card, tmp_path, answers(20, 20, label_design=design))
    assert "40 of these 40 samples were chosen because the judge was uncertain there" in message


def test_pairs_certify_nobody(tmp_path: Path) -> None:
    pairs = [
        {"id": f"p{i}", "user_input": "Tea?", "good_response": "Green.", "bad_response": "Red.", "label": 1}
        for i in range(10)
    ]
    message = said(InputError, card, tmp_path, pairs, metric="answer_relevance")
    assert "a judge is certified by samples with a label, and these rows have pairs" in message


# The ledger


def test_the_second_judge_on_the_same_set_is_told_and_has_its_bounds_at_another_level(tmp_path: Path) -> None:
    rows = answers(50, 50)
    card(tmp_path, rows, wrong=ids("g", 20), run="first", threshold=0.4)
    second = card(tmp_path, rows, wrong=ids("g", 8), run="second")
    assert sentences(second)[0].startswith(
        "judge certified (2nd judge on this set) for faithfulness, en: sensitivity 0.84 (at least 0.70)"
    )
    assert second.certificate is not None
    assert second.certificate.outcomes[0].level == pytest.approx(0.975)


def test_41_of_50_certify_the_first_judge_and_not_the_second(tmp_path: Path) -> None:
    rows = answers(50, 50)
    assert "judge certified for" in sentences(card(tmp_path, rows, ids("g", 9), run="first"))[0]
    second = sentences(card(tmp_path, rows, ids("g", 9), run="second", threshold=0.4))[0]
    assert second.startswith("not certified (2nd judge on this set) for faithfulness, en: sensitivity 0.82")


def test_the_same_judge_again_on_the_same_set_is_no_second_one(tmp_path: Path) -> None:
    rows = answers(50, 50)
    first = sentences(card(tmp_path, rows, run="first"))
    assert sentences(card(tmp_path, rows, run="again")) == first


def test_a_set_that_shares_one_row_is_no_new_set(tmp_path: Path) -> None:
    rows = answers(30, 30)
    card(tmp_path, rows, run="first", threshold=0.4)
    other = [rows[0], *answers(30, 30, "other")]
    assert "(2nd judge on this set)" in sentences(card(tmp_path, other, run="second"))[0]
    fresh = card(tmp_path, answers(30, 30, "fresh"), run="third", threshold=0.6)
    assert "judge certified for" in sentences(fresh)[0]


def test_one_judge_on_a_set_that_grew_is_tested_a_second_time(tmp_path: Path) -> None:
    rows = answers(30, 30)
    card(tmp_path, rows, run="first")
    grown = card(tmp_path, [*rows, *answers(10, 10, "more")], run="grown")
    assert "judge certified (2nd test on labels of this set) for" in sentences(grown)[0]


def test_a_card_without_a_certificate_is_a_test_too(tmp_path: Path) -> None:
    rows = answers(30, 30)
    card(tmp_path, rows, minimum=None, run="first", threshold=0.4)
    assert "(2nd judge on this set)" in sentences(card(tmp_path, rows, run="second"))[0]


def test_another_metric_is_another_test(tmp_path: Path) -> None:
    rows = answers(30, 30)
    card(tmp_path, rows, run="first")
    assert "certified for" in sentences(card(tmp_path, rows, run="second", metric="full_support"))[0]


def test_a_ledger_that_cannot_be_kept_certifies_nobody_and_stops_no_plain_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setenv("LOCALEVAL_LEDGER", str(file / "ledger.json"))
    message = said(InputError, card, tmp_path, answers(20, 20))
    assert "the ledger of judges and labels can't be kept there" in message
    assert card(tmp_path, answers(20, 20), minimum=None).certificate is None


def test_a_ledger_that_was_damaged_is_refused_in_one_sentence(tmp_path: Path) -> None:
    card(tmp_path, answers(20, 20))
    file = tmp_path / "data" / "ledger.json"
    file.write_text(file.read_text(encoding="utf-8")[:-20], encoding="utf-8")
    message = said(InputError, card, tmp_path, answers(20, 20))
    assert "move it away, or set LOCALEVAL_LEDGER to another file" in message


def test_the_ledger_keeps_no_text(tmp_path: Path) -> None:
    card(tmp_path, answers(20, 20))
    text = (tmp_path / "data" / "ledger.json").read_text(encoding="utf-8")
    assert len(json.loads(text)["entries"]) == 1
    assert "tea" not in text


def test_judges_that_are_entered_at_once_get_different_places() -> None:
    def place(number: int) -> int:
        return enter("fake", f"judge {number}", "faithfulness", "en", [("a", 1)], "2026-11-28").test

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(place, range(8))) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_numbers_have_their_endings() -> None:
    assert [ordinal(number) for number in (2, 3, 12, 23)] == ["2nd", "3rd", "12th", "23rd"]


# Runs


def judged_run(folder: Path, cards: Collection[Path | str], samples: Rows, **options: Any) -> Any:
    judge = fake_judge(FakeEngine([{"verdict": YES} for _ in samples]))
    settings = {"statements": "sentences", **options}
    return evaluate(samples, ["faithfulness"], judge, folder, require_certified=[*cards], **settings)


RUN = [{key: row[key] for key in row if key != "label"} for row in answers(3, 0, "run")]


def test_a_run_by_the_certified_judge_names_the_certificate_in_table_page_and_files(tmp_path: Path) -> None:
    made = card(tmp_path, answers(20, 20))
    run = tmp_path / "run"
    result = judged_run(run, [tmp_path / "card"], RUN)
    [stamp] = result.certificates
    assert stamp.holds
    assert stamp.text.startswith(sentences(made)[0])
    assert "(card of tea, " in stamp.text
    assert stamp.text in str(result)
    assert stamp.text in (run / "report.html").read_text(encoding="utf-8")
    assert load(run).certificates == [stamp]
    assert f"A: {stamp.text}" in str(compare(run, run))


def english_words(text: str) -> set[str]:
    return set(re.findall("[A-Za-z_]+", text)) - {"faithfulness", "en", "tea"}


def test_the_chinese_page_names_the_certificate_in_chinese(tmp_path: Path) -> None:
    card(tmp_path, answers(20, 20))
    run = tmp_path / "run"
    [stamp] = judged_run(run, [tmp_path / "card"], RUN).certificates
    assert english_words(stamp.text_zh) == set()
    assert f'lang="zh">{stamp.text_zh}</span>' in (run / "report.html").read_text(encoding="utf-8")


def test_the_sentence_on_a_judge_is_also_in_chinese_with_all_its_numbers(tmp_path: Path) -> None:
    rows = [{**row, "group": i // 5} for i, row in enumerate(answers(50, 50))]
    card(tmp_path, rows, run="first", threshold=0.4)
    made = card(tmp_path, rows, wrong=[*ids("g", 12), *ids("b", 20)], minimum=0.8, run="second")
    assert made.certificate is not None
    [outcome] = made.certificate.outcomes
    assert english_words(outcome.sentence_zh) == set()
    numbers = r"\d+(?:\.\d+)?"
    assert sorted(re.findall(numbers, outcome.sentence_zh)) == sorted(re.findall(numbers, outcome.sentence))


def test_the_card_may_be_named_by_its_file(tmp_path: Path) -> None:
    card(tmp_path, answers(20, 20))
    assert judged_run(tmp_path / "run", [tmp_path / "card" / "card.json"], RUN).certificates[0].holds


def test_a_run_at_another_threshold_is_refused_before_anything_is_judged(tmp_path: Path) -> None:
    card(tmp_path, answers(20, 20))
    folder = tmp_path / "card"
    message = said(NotCertified, judged_run, tmp_path / "run", [folder], RUN, threshold=0.6)
    assert message == (
        f"{folder}: the card was made with another judge or other settings: options.threshold (0.5 and 0.6)."
    )
    assert not (tmp_path / "run").exists()


def test_a_run_with_another_calibration_is_refused(tmp_path: Path) -> None:
    file = fitted_calibration(tmp_path, answers(20, 20, "f"))
    card(tmp_path, answers(20, 20))
    message = said(
        NotCertified, judged_run, tmp_path / "run", [tmp_path / "card"], RUN, calibration=str(file)
    )
    assert "calibration (" in message


def test_a_run_with_an_answer_in_another_language_is_refused(tmp_path: Path) -> None:
    card(tmp_path, answers(20, 20))
    chinese = {**RUN[0], "id": "zh", "user_input": "这是什么茶？", "response": "这是绿茶。"}
    message = said(NotCertified, judged_run, tmp_path / "run", [tmp_path / "card"], [*RUN, chinese])
    assert message.endswith("1 sample is in zh, and the labels of the card are in en alone.")


def test_a_run_by_a_judge_that_was_not_certified_is_refused_with_the_reason(tmp_path: Path) -> None:
    card(tmp_path, answers(20, 20), wrong=ids("g", 7))
    message = said(NotCertified, judged_run, tmp_path / "run", [tmp_path / "card"], RUN)
    assert "not certified for faithfulness, en: sensitivity 0.65" in message


def test_a_card_without_a_certificate_is_named(tmp_path: Path) -> None:
    card(tmp_path, answers(20, 20), minimum=None)
    message = said(InputError, judged_run, tmp_path / "run", [tmp_path / "card"], RUN)
    assert message.endswith("this card has no certificate; make it again with `card --certify`.")


def test_a_certificate_is_lost_by_rescoring_at_another_threshold_and_kept_otherwise(tmp_path: Path) -> None:
    card(tmp_path, answers(20, 20))
    run = tmp_path / "run"
    judged_run(run, [tmp_path / "card"], RUN)
    [same] = rescore(run).certificates
    [other] = rescore(run, threshold=0.6).certificates
    assert same.holds
    assert not other.holds
    assert other.text.startswith("judge not certified for faithfulness, en, here: ")
    assert "options.threshold (0.5 and 0.6)" in other.text


def test_the_certificate_of_shards_is_that_of_the_merged_run(tmp_path: Path) -> None:
    card(tmp_path, answers(20, 20))
    samples = [{key: row[key] for key in row if key != "label"} for row in answers(12, 0, "run")]
    parts = [tmp_path / "first", tmp_path / "second"]
    for number, part in enumerate(parts, 1):
        share = [sample for sample in samples if _part_of(sample["id"], 2) == number]
        judge = fake_judge(FakeEngine([{"verdict": YES} for _ in share]))
        evaluate(
            samples,
            ["faithfulness"],
            judge,
            part,
            shard=f"{number}/2",
            statements="sentences",
            require_certified=[tmp_path / "card"],
        )
    [stamp] = merge(parts, tmp_path / "whole").certificates
    assert stamp.holds


def test_a_run_without_a_certificate_says_nothing_of_it(tmp_path: Path) -> None:
    run = tmp_path / "run"
    result = judged_run(run, [], RUN)
    assert result.certificates == []
    assert "certificate" not in (run / "run.json").read_text(encoding="utf-8")
    assert "certificates" not in (run / "results.json").read_text(encoding="utf-8")


def test_responses_that_a_head_read_are_certified_only_where_the_card_has_such(tmp_path: Path) -> None:
    """The head reads responses of three sentences, and the card's have one."""
    reader = head("en", long_answers=1000).model_copy(update={"fingerprints": Fingerprints()})
    settings: dict[str, Any] = {"head": file_text([reader])}
    made = card(tmp_path, answers(20, 20), **settings)
    assert made.certificate is not None
    assert (made.certificate.outcomes[0].read, made.certificate.outcomes[0].asked) == (0, 40)
    [stamp] = judged_run(tmp_path / "short", [tmp_path / "card"], RUN, **settings).certificates
    assert stamp.holds
    long = {**RUN[0], "response": "It is tea rung0. It grows there. It grows in the hills."}
    judge = fake_judge(FakeEngine([]))
    result = evaluate(
        [long],
        ["faithfulness"],
        judge,
        statements="sentences",
        require_certified=[tmp_path / "card"],
        **settings,
    )
    [stamp] = result.certificates
    assert not stamp.holds
    assert "a head read 1 sample in en, and on the card 0 of 40" in stamp.text
    assert english_words(stamp.text_zh) == set()


def test_a_head_that_was_fitted_on_the_set_is_refused(tmp_path: Path) -> None:
    rows = answers(20, 20)
    fitted_on = Fingerprints.of([Sample.read(row, "row") for row in rows[:1]])
    reader = head("en", long_answers=1000).model_copy(update={"fingerprints": fitted_on})
    message = said(InputError, card, tmp_path, rows, head=file_text([reader]))
    assert "1 of these 40 samples was used to fit the head in force (the given one)" in message


def test_the_commands_certify_a_judge_and_require_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 0 for a judge that is certified, and 1 for a run at another threshold."""
    monkeypatch.chdir(tmp_path)
    rows = answers(20, 20)
    write_rows(tmp_path / "tea.jsonl", rows)
    write_rows(tmp_path / "run.jsonl", RUN)
    right = [{"verdict": YES if row["label"] else NO} for row in rows]
    monkeypatch.setattr(Judge, "load", lambda *_, **__: fake_judge(FakeEngine(right)))
    main(["card", "tea.jsonl", "--certify", "--statements", "sentences", "-q", "-o", "card"])
    assert "judge certified for faithfulness, en: sensitivity 1.00 (at least 0.86)" in capsys.readouterr().out
    evaluate_run = "evaluate run.jsonl -m faithfulness --statements sentences -q --require-certified card"
    monkeypatch.setattr(Judge, "load", lambda *_, **__: fake_judge(FakeEngine(right[:3])))
    main(evaluate_run.split())
    assert "judge certified for faithfulness, en" in capsys.readouterr().out
    monkeypatch.setattr(Judge, "load", lambda *_, **__: fake_judge(FakeEngine([])))
    with pytest.raises(SystemExit) as ended:
        main([*evaluate_run.split(), "--threshold", "0.7"])
    assert ended.value.code == 1
    assert "options.threshold (0.5 and 0.7)" in capsys.readouterr().err


def test_the_command_ends_with_1_where_the_judge_is_not_certified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "tea.jsonl", answers(20, 20))
    always_yes = [{"verdict": YES} for _ in range(40)]
    monkeypatch.setattr(Judge, "load", lambda *_, **__: fake_judge(FakeEngine(always_yes)))
    with pytest.raises(SystemExit) as ended:
        main(
            [
                "card",
                "tea.jsonl",
                "-m",
                "full_support",
                "--certify",
                "--statements",
                "sentences",
                "-q",
                "-o",
                "card",
            ]
        )
    assert ended.value.code == 1
    assert "specificity 0.00, at least 0.00 < 0.7, and no number of labels" in capsys.readouterr().out
