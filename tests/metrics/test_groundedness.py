"""Groundedness: what a head makes of a response that is read, from the answer to the score."""

from math import exp, log
from pathlib import Path
from typing import Any

import pytest

from localeval import InputError, Sample, Score, evaluate, plan, rescore
from localeval.fitted.files import file_text
from localeval.fitted.heads import LogitMap
from localeval.testing import FakeClassifier, FakeEngine, fake_judge
from tests.heads import head

MILL = Sample(
    id="mill",
    user_input="When was the mill built?",
    response="The mill was built in 1820. It is made of oak.",
    retrieved_contexts=["The mill on the Arl was built in 1820, of brick."],
)
BURNED = "The mill was built in 1820. It burned in 1931."
LONG = MILL.model_copy(update={"response": f"{BURNED} It was built of brick."})
SHORT_HEAD = file_text([head(unknown=-3.0)])
LONG_HEAD = file_text([head(unknown=-3.0, long_answers=100)])


def sigmoid(logit: float) -> float:
    return 1 / (1 + exp(-logit))


def record_of(result: Any, number: int = 0, name: str = "grounding") -> Any:
    return result.samples[number].records[name]


def test_a_sentence_has_the_probability_of_the_head_and_the_answer_that_of_its_least(tmp_path: Path) -> None:
    (file := tmp_path / "head.json").write_text(SHORT_HEAD, encoding="utf-8")
    wrong = MILL.model_copy(update={"id": "b", "response": BURNED})
    result = evaluate([MILL, wrong], ["groundedness"], fake_judge(FakeEngine([])), head=file)
    good, bad = record_of(result).sentences, record_of(result, 1).sentences
    # the bias, and less for a number that the contexts lack
    assert [s.probability for s in bad] == pytest.approx([sigmoid(1.0), sigmoid(1.0 - 3.0)])
    assert [scores["groundedness"].value for scores in result.scores] == [1.0, 0.0]
    assert result.scores[1]["groundedness"].soft == pytest.approx(sigmoid(-2), abs=0.001)
    assert [s.sentence for s in good] == ["The mill was built in 1820.", "It is made of oak."]
    assert good[0].evidence.text == "The mill on the Arl was built in 1820, of brick."
    rows = [line.split()[:2] for line in str(result).splitlines() if line[:2] in ("mi", "b ")]
    assert rows == [["mill", "1.000"], ["b", "0.000"]]


class _Doubting(FakeEngine):
    """The state of "oak" takes 9 from a head's logit."""

    def read(self, context: str, item: str, layer: int) -> Any:
        states = super().read(context, item, layer)
        start = item.index("oak")
        states.values[states.tokens(start, start + 3)] = -9.0
        return states


def test_one_unsupported_word_decides_its_sentence_and_only_it_is_marked() -> None:
    result = evaluate([MILL], ["groundedness"], fake_judge(_Doubting([])), head=file_text([head(bias=0)]))
    built, made = record_of(result).sentences
    assert built.probability == 1 / 2  # from there on it is not doubtful
    # The soft minimum of four words of logit 0 and one of -9.
    assert made.probability == pytest.approx(sigmoid(-log((4 + exp(9.0)) / 5)))
    assert (built.spans, made.spans) == ((), ((42, 45),))
    assert made.start + made.sentence.index("oak") == 42


def test_a_calibration_makes_sentences_likelier_and_marks_the_same_words() -> None:
    calibrated = head(bias=0, calibration=LogitMap(slope=0.5, bias=6.0))
    result = evaluate([MILL], ["groundedness"], fake_judge(_Doubting([])), head=file_text([calibrated]))
    built, made = record_of(result).sentences
    uncalibrated = -log((4 + exp(9.0)) / 5)
    assert built.probability == pytest.approx(sigmoid(6.0))
    assert made.probability == pytest.approx(sigmoid(uncalibrated / 2 + 6.0))
    assert made.probability > 1 / 2
    assert (built.spans, made.spans) == ((), ((42, 45),))


def test_a_calibration_does_not_save_a_value_of_another_row() -> None:
    """The contexts rather say the other value, with a likelihood that is exp(9) times as high."""
    wrong, right = "The Marit has a crew of 31.", "The Marit has a crew of 24."
    sample = Sample(
        user_input="What is the crew of the Marit?",
        response=wrong,
        retrieved_contexts=["| Ferry | Crew |\n| --- | --- |\n| Marit | 24 |\n| Orla | 31 |"],
    )
    judge = fake_judge(FakeEngine([], likelihoods={right: -3.0, wrong: -12.0}))
    calibrated = head(calibration=LogitMap(slope=2.0, bias=20.0))
    record = record_of(evaluate([sample], ["groundedness"], judge, head=file_text([calibrated])))
    assert record.sentences[0].probability == pytest.approx(sigmoid(-9.0))
    assert record.all_supported <= record.sentences[0].probability


HOUSES = "Ann Lee bought the mill in 1820. Ann Lee bought the mill by the lake in 1851."
SWAPPED = "Two houses were sold. Ann Lee bought the mill in 1851. It is a big one."
NOT_SWAPPED = SWAPPED.replace("1851", "1820")


def houses(response: str) -> Sample:
    return Sample(user_input="Who bought what?", response=response, retrieved_contexts=[HOUSES])


def test_a_value_of_another_thing_lowers_its_sentence_of_a_long_response_and_no_other() -> None:
    judge = fake_judge(FakeEngine([], likelihoods={NOT_SWAPPED: -3.0, SWAPPED: -12.0}))
    result = evaluate([houses(SWAPPED)], ["groundedness"], judge, head=LONG_HEAD)
    first, swapped, last = record_of(result).sentences
    assert swapped.probability < 0.01
    assert swapped.binding.likelier_value == "1820"
    assert first.binding is None
    assert last.binding is None
    assert first.probability > 0.5


def test_a_value_that_is_the_likeliest_there_lowers_nothing() -> None:
    judge = fake_judge(FakeEngine([], likelihoods={NOT_SWAPPED: -3.0, SWAPPED: -50.0}))
    result = evaluate([houses(NOT_SWAPPED)], ["groundedness"], judge, head=LONG_HEAD)
    first, right, _ = record_of(result).sentences
    assert right.probability == first.probability
    assert right.binding.likelier_value == ""


def test_a_value_with_which_a_sentence_opens_is_not_compared() -> None:
    response = "Two were sold. 1851 saw the mill sold. That is all."
    other = response.replace("1851", "1820")
    judge = fake_judge(FakeEngine([], likelihoods={other: -3.0, response: -12.0}))
    result = evaluate([houses(response)], ["groundedness"], judge, head=LONG_HEAD)
    assert [sentence.binding for sentence in record_of(result).sentences] == [None] * 3


def test_a_response_without_a_value_to_compare_costs_nothing_more() -> None:
    engine = FakeEngine([])
    evaluate([LONG], ["groundedness"], fake_judge(engine), head=LONG_HEAD)
    assert engine.spent.context == 0


def test_a_head_of_the_language_is_needed_where_something_is_claimed() -> None:
    judge = fake_judge(FakeEngine([]))
    chinese, empty = (MILL.model_copy(update={"response": text}) for text in ("水磨建于1820年。", ""))
    assert judge.score("groundedness", chinese, head=SHORT_HEAD) == Score.failed("no_head")
    assert judge.score("groundedness", empty, head=SHORT_HEAD) == Score.undefined("no_statements")
    refusal = MILL.model_copy(update={"response": "资料中没有提到水磨。"})
    assert judge.score("groundedness", refusal, head=SHORT_HEAD) == Score.undefined("refusal")
    assert judge.score("faithfulness", chinese, support_by="head", head=SHORT_HEAD) == Score.failed("no_head")
    with pytest.raises(InputError, match="head"):
        judge.score("faithfulness", LONG, support_by="head")


def test_long_contexts_are_read_in_windows_and_the_best_decides() -> None:
    long = MILL.model_copy(update={"retrieved_contexts": ["Tea grows on hills. " * 200]})
    judge = fake_judge(FakeEngine([], n_ctx=2048))
    result = evaluate([long], ["groundedness"], judge, head=SHORT_HEAD)
    assert result.scores[0]["groundedness"].status == "scored"
    assert 1 < record_of(result).windows <= 8
    endless = MILL.model_copy(update={"retrieved_contexts": ["Tea grows on hills. " * 5000]})
    assert judge.score("groundedness", endless, head=SHORT_HEAD).reason == "context_too_long"


def test_a_verdict_that_was_read_is_given_a_reason_where_asked_ones_have_theirs() -> None:
    judge = fake_judge(FakeEngine([{"reason": "It says so."}] * 3))
    options: Any = {"verdict": "reasoned", "support_by": "head", "head": SHORT_HEAD, "explain": True}
    result = evaluate([LONG], ["faithfulness"], judge, **options)
    assert record_of(result, name="reasons").reasons == ("It says so.",) * 3


@pytest.mark.parametrize(
    "text", ["{}", file_text([head(sha256="1" * 64)]), "none"], ids=["{}", "other", "none"]
)
def test_a_head_that_does_not_act_on_this_judge_is_refused_unread(tmp_path: Path, text: str) -> None:
    (file := tmp_path / "head.json").write_text(text, encoding="utf-8")
    engine = FakeEngine([])
    with pytest.raises(InputError, match="head"):
        fake_judge(engine).score("groundedness", MILL, head="none" if text == "none" else file)
    assert engine.spent.read == 0


def test_a_run_is_kept_and_scored_again_with_its_head_and_doubtful_words_are_marked(tmp_path: Path) -> None:
    doubting = head(bias=-1.0)
    judge = fake_judge(FakeEngine([]))
    result = evaluate([MILL], ["groundedness"], judge, tmp_path, head=file_text([doubting]))
    assert result.signature.heads == {"en": doubting.sha256}
    [before] = result.scores
    [after] = rescore(tmp_path, threshold=before["groundedness"].soft).scores
    assert (before["groundedness"].value, after["groundedness"].value) == (0.0, 1.0)
    assert before["groundedness"].soft == after["groundedness"].soft
    rows = (tmp_path / "statements.csv").read_text(encoding="utf-8").splitlines()
    assert ["grounding" in row for row in rows] == [False, True, True]
    assert record_of(result).sentences[0].spans == ((0, 26),)
    assert 'doubtful">The mill was built in 1820' in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("reference", [None, "", "  "])
@pytest.mark.parametrize("how", [{"head": LONG_HEAD}, {"head": SHORT_HEAD, "support_by": "head"}])
def test_each_sentence_that_is_read_is_a_statement(how: Any, reference: str | None, tmp_path: Path) -> None:
    sample = LONG.model_copy(update={"reference": reference})
    metrics = ["faithfulness", "full_support", "groundedness"]
    result = evaluate([sample], metrics, fake_judge(FakeEngine([])), tmp_path, **how)
    [scores] = result.scores
    assert record_of(result, name="support").by == "head"
    expected = [sigmoid(1.0), sigmoid(1.0 - 3.0), sigmoid(1.0)]
    assert [v.probability for v in record_of(result, name="support").verdicts] == pytest.approx(expected)
    assert scores["faithfulness"].value == 2 / 3
    assert scores["full_support"].soft == scores["groundedness"].soft
    assert "head:" in str(result.signature)
    assert "read" in next(line for line in str(result).splitlines() if line.startswith("mill")).split()
    assert rescore(tmp_path, threshold=0.1).scores[0]["faithfulness"].value == 1.0


@pytest.mark.parametrize(
    ("change", "options", "sentences"),
    [
        ({}, {"head": "none"}, 3),
        ({}, {"head": file_text([head(long_answers=99)])}, 3),
        ({}, {"head": file_text([head("zh", long_answers=100)])}, 3),
        ({}, {"head": LONG_HEAD, "support_by": "llm"}, 3),
        ({"response": "It was built in 1820. It is of brick."}, {"head": LONG_HEAD}, 2),
        ({"reference": "It was built in 1820."}, {"head": LONG_HEAD}, 3),
    ],
    ids=["no head", "of short answers", "of another language", "asked by name", "short", "with a reference"],
)
def test_a_judge_whose_head_does_not_decide_is_asked(change: Any, options: Any, sentences: int) -> None:
    statements: list[dict[str, Any]] = [{"statements": []}] * sentences  # so each sentence is its statement
    engine = FakeEngine([*statements, *[{"verdict": 0.9}] * sentences])
    result = evaluate([LONG.model_copy(update=change)], ["faithfulness"], fake_judge(engine), **options)
    engine.close()  # nothing was left to be asked
    assert options.get("support_by") != "llm" or not result.signature.heads
    assert result.scores[0]["faithfulness"].value == 1.0


def test_a_head_that_makes_sentences_of_statements_is_in_the_signature_of_hhem_too() -> None:
    sentences = ["The mill was built in 1820.", "It burned in 1931.", "It was built of brick."]
    judge = fake_judge(FakeEngine([]), classifier=FakeClassifier(dict.fromkeys(sentences, 0.9)))
    result = evaluate([LONG], ["faithfulness_hhem"], judge, head=LONG_HEAD)
    assert result.signature.heads == {"en": head(unknown=-3.0, long_answers=100).sha256}


def test_the_plan_of_a_response_that_is_read_has_no_reply() -> None:
    planned = plan([LONG], ["faithfulness"], fake_judge(FakeEngine([])), head=LONG_HEAD)
    assert (planned.to_make, planned.spent.decoded) == (2, 0)
    assert planned.spent.read > len(LONG.response or "")
