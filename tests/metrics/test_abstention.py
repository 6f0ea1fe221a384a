"""Abstention: in which of the six cells a sample is, by which evidence, and what the judge is asked."""

import csv
import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest

from localeval import Judge, Result, Score, evaluate, rescore
from localeval.fitted.heads import LinearMap
from localeval.fitted.reply_heads import ReplyHead
from localeval.judgements.decision import Decision
from localeval.runs.folder import load
from localeval.testing import FakeEngine, fake_judge
from tests.heads import reply_head

NAMES = ["abstention_accuracy", "unsupported_answer_rate", "over_refusal_rate"]
QUESTION = "When was the mill built?"
CONTEXTS = ["The mill was built in 1820."]
ANSWER = "The mill was built in 1820."
REFUSAL = "The documents do not say when the mill was built."
PARTIAL = "The mill was built in 1820. The documents do not say by whom."

SUPPORTED: dict[str, Any] = {"verdict": 0.9}
UNSUPPORTED: dict[str, Any] = {"verdict": 0.1}
YES: dict[str, Any] = {"verdict": 0.95}
NO: dict[str, Any] = {"verdict": 0.05}
# What the judge writes from the contexts; then P(they support it), P(it gives all that is asked).
CONTEXTS_ANSWER: list[dict[str, Any]] = [{"answer": ANSWER}, SUPPORTED, YES]
CONTEXTS_LACK: list[dict[str, Any]] = [{"answer": "none"}]


class Judged(NamedTuple):
    """The three scores, the decisions, and what was asked."""

    accuracy: Score
    unsupported: Score
    over_refusal: Score
    decisions: tuple[Decision, ...]
    items: list[str]

    @property
    def reasons(self) -> list[str]:
        """Why the contexts count as answering or not, and the response as an answer or not."""
        return [decision.reason for decision in self.decisions if decision.label != "right"]

    @property
    def cells(self) -> list[tuple[str, bool]]:
        """The cell, and whether it is right; none where it is not determined."""
        return [
            (decision.reason, decision.is_yes) for decision in self.decisions if decision.label == "right"
        ]


def judged(
    response: str,
    *replies: dict[str, Any],
    contexts: list[str] | None = CONTEXTS,
    question: str = QUESTION,
    heads: Mapping[str, ReplyHead] | None = None,
    **columns: Any,
) -> Judged:
    """Judge a response whose sentences are its statements; all replies must have been asked for.

    heads  that the judge has for its replies, by "prompt/language"
    """
    engine = FakeEngine(replies)
    sample = {"user_input": question, "response": response, "retrieved_contexts": contexts, **columns}
    with patch.object(Judge, "reply_heads", lambda *_: heads or {}):
        [result] = evaluate([sample], NAMES, fake_judge(engine), statements="sentences").samples
    engine.close()
    [listed] = [one for one in result.decisions() if one.judgement == "abstention"]
    accuracy, unsupported, over_refusal = (result.scores[name] for name in NAMES)
    items = [item for call in engine.calls for item in call.items]
    return Judged(accuracy, unsupported, over_refusal, listed.decisions, items)


def test_a_complete_and_supported_answer_proves_that_the_contexts_answer() -> None:
    # The statement is supported; the response gives something, and all of it. No short answer is written.
    found = judged(ANSWER, SUPPORTED, YES, YES)
    assert found.accuracy.value == 1.0
    assert found.accuracy.soft == pytest.approx(0.9 * 0.95)
    assert found.unsupported == Score.undefined("question_answerable")
    assert found.over_refusal == Score(0.0, 0.0)
    assert found.reasons == ["the response answers it, and the contexts support that", "answered"]


def test_an_answer_without_support_is_unsupported_where_the_contexts_give_none() -> None:
    found = judged("The mill was built in 1790.", UNSUPPORTED, YES, YES, *CONTEXTS_LACK)
    assert found.accuracy.value == 0.0
    assert found.unsupported == Score(1.0, 1.0)
    assert found.over_refusal == Score.undefined("question_unanswerable")
    assert found.reasons == ["the contexts give no answer", "answered"]


def test_a_wrong_answer_to_an_answerable_question_is_no_fault_of_abstention() -> None:
    found = judged("The mill was built in 1790.", UNSUPPORTED, YES, YES, *CONTEXTS_ANSWER)
    assert found.accuracy.value == 1.0
    assert found.reasons[0] == "by the contexts: The mill was built in 1820."


def test_a_supported_response_that_does_not_answer_proves_nothing() -> None:
    found = judged("The mill stands on the Arl.", SUPPORTED, NO, NO, *CONTEXTS_LACK)
    assert found.unsupported.value == 1.0


def test_a_refusal_is_told_by_its_words_and_right_where_the_contexts_give_no_answer() -> None:
    found = judged(REFUSAL, *CONTEXTS_LACK)
    assert found.accuracy == Score(1.0, 1.0)
    assert found.unsupported == Score(0.0, 0.0)
    assert found.over_refusal == Score.undefined("question_unanswerable")
    assert found.reasons == ["the contexts give no answer", "refused (refusal)"]


def test_a_refusal_is_over_cautious_where_the_contexts_answer() -> None:
    found = judged(REFUSAL, *CONTEXTS_ANSWER)
    assert found.over_refusal == Score(1.0, 1.0)
    assert found.accuracy.value == 0.0
    assert found.accuracy.soft == pytest.approx(1 - 0.9 * 0.95)
    assert found.unsupported == Score.undefined("question_answerable")


def test_a_refusal_that_cites_is_a_refusal() -> None:
    found = judged("The documents do not say when the mill was built [1].", *CONTEXTS_LACK)
    assert found.reasons[1] == "refused (refusal)"


@pytest.mark.parametrize("response", ["", "...", "Which mill do you mean?", "Sorry!"])
def test_a_response_that_tells_nothing_refuses(response: str) -> None:
    assert judged(response, *CONTEXTS_ANSWER).over_refusal.value == 1.0


def test_a_short_answer_that_the_contexts_do_not_support_shows_nothing() -> None:
    found = judged(REFUSAL, {"answer": "It was built in 1790."}, UNSUPPORTED, YES)
    assert found.unsupported.value == 0.0
    assert found.accuracy.value == 1.0


def test_a_short_answer_to_a_part_of_the_question_shows_nothing() -> None:
    found = judged(REFUSAL, {"answer": ANSWER}, SUPPORTED, NO, question="When was it built, and by whom?")
    assert found.accuracy.value == 1.0


def test_a_short_answer_is_as_sure_as_its_least_statement() -> None:
    listed: dict[str, Any] = {"statements": ["The mill was built in 1820.", "Ann Reed built the mill."]}
    written: dict[str, Any] = {"answer": "The mill was built in 1820 by Ann Reed."}
    replies = [written, listed, SUPPORTED, UNSUPPORTED, YES]
    sample = {
        "user_input": "When was it built, by whom?",
        "response": REFUSAL,
        "retrieved_contexts": CONTEXTS,
    }
    engine = FakeEngine(replies)
    assert fake_judge(engine).score("unsupported_answer_rate", sample) == Score(0.0, 0.0)
    engine.close()


def test_a_refusal_in_the_judges_own_short_answer_is_none() -> None:
    assert judged(REFUSAL, {"answer": "The documents do not say it."}).accuracy.value == 1.0


def test_a_refusal_in_other_words_is_asked_about() -> None:
    # The statement; then whether the response gives, completes, lacks what is asked.
    found = judged("That lies beyond me.", UNSUPPORTED, NO, NO, YES, *CONTEXTS_LACK)
    assert found.accuracy.value == 1.0
    # P(answered), and P(partly answered), of which nothing is supported.
    assert found.unsupported.soft == pytest.approx(0.05 + 0.95 * 0.05)
    assert found.reasons[1] == "refused"


def test_nobody_is_asked_whether_an_answer_refuses_that_has_no_word_for_it() -> None:
    plain = judged(ANSWER, SUPPORTED, YES, YES)
    hedged = judged("The mill was not built in 1790.", SUPPORTED, YES, YES, NO)
    assert len(hedged.items) == len(plain.items) + 1
    assert "can't tell" in hedged.items[-1]


def test_an_apology_before_an_answer_is_no_sign_of_a_refusal() -> None:
    # Both sentences are statements.
    apology = judged("Sorry for the long wait! The mill was built in 1820.", SUPPORTED, SUPPORTED, YES, YES)
    assert not any("can't tell" in item for item in apology.items)
    refusal = judged("Sorry for having to pass.", SUPPORTED, NO, NO, YES, *CONTEXTS_LACK)
    assert any("can't tell" in item for item in refusal.items)


def test_a_partial_answer_is_right_where_the_contexts_give_only_that_part() -> None:
    found = judged(PARTIAL, SUPPORTED, YES, NO, *CONTEXTS_LACK, question="When was it built, by whom?")
    assert found.accuracy.value == 1.0
    assert found.unsupported.value == 0.0
    assert found.reasons[1] == "partly answered"


def test_a_partial_answer_without_support_is_an_unsupported_answer() -> None:
    response = "The mill was built in 1790. The documents do not say by whom."
    found = judged(response, UNSUPPORTED, YES, NO, *CONTEXTS_LACK, question="When was it built, by whom?")
    assert found.unsupported.value == 1.0
    assert found.accuracy.value == 0.0


def test_a_partial_answer_is_not_right_where_the_contexts_give_all_and_no_refusal_either() -> None:
    answer = [{"answer": "It was built in 1820 by Ann."}, SUPPORTED, YES]
    found = judged(PARTIAL, SUPPORTED, YES, NO, *answer, question="When was it built, and by whom?")
    assert found.accuracy.value == 0.0
    assert found.over_refusal.value == 0.0


def test_of_a_partial_answer_the_judge_sees_only_what_it_tells() -> None:
    response = "The mill was built in 1820; its owner is unknown."
    # The statement is decided with its second clause and without it.
    engine = FakeEngine([SUPPORTED, SUPPORTED, YES, NO, *CONTEXTS_LACK])
    sample = {"user_input": "When was it built, and who owned it?", "response": response}
    judge = fake_judge(engine)
    judge.score("abstention_accuracy", {**sample, "retrieved_contexts": CONTEXTS}, statements="sentences")
    assert "The mill was built in 1820;" in engine.calls[1].context
    assert "owner is unknown" not in engine.calls[1].context


def test_a_complete_answer_stays_one_beside_a_word_on_what_nobody_asked() -> None:
    response = "The mill was built in 1820. Its present colour is not mentioned."
    found = judged(response, SUPPORTED, YES, YES)
    assert found.reasons[1] == "answered"
    assert found.accuracy.value == 1.0


def test_a_statement_that_something_is_not_told_needs_no_support() -> None:
    response = "The mill was built in 1820. Its owner is unknown."
    question = "When was it built, and who owned it?"
    found = judged(response, SUPPORTED, UNSUPPORTED, YES, NO, *CONTEXTS_LACK, question=question)
    assert found.unsupported.value == 0.0


def test_a_short_answer_has_to_be_surer_than_even() -> None:
    assert judged(REFUSAL, {"answer": ANSWER}, {"verdict": 0.69}, {"verdict": 1.0}).accuracy.value == 1.0
    assert judged(REFUSAL, {"answer": ANSWER}, {"verdict": 0.71}, {"verdict": 1.0}).accuracy.value == 0.0


def test_a_response_whose_kind_is_not_clear_is_left_out() -> None:
    even = {"verdict": 0.5}
    found = judged("It lies beyond Ely.", UNSUPPORTED, even, NO, {"verdict": 0.6}, *CONTEXTS_LACK)
    assert found.accuracy == found.unsupported == found.over_refusal == Score.undefined("undetermined")
    assert found.cells == []


@pytest.mark.parametrize(
    ("answerable", "response", "replies", "cell", "is_right"),
    [
        (True, ANSWER, [SUPPORTED, YES, YES], "answered", True),
        (True, REFUSAL, [], "over_refusal", False),
        (True, PARTIAL, [SUPPORTED, YES, NO], "partly_answered", False),
        (False, ANSWER, [SUPPORTED, YES, YES], "unsupported_answer", False),
        (False, REFUSAL, [], "refused", True),
        (False, PARTIAL, [SUPPORTED, YES, NO], "partly_refused", True),
    ],
)
def test_the_last_decision_names_the_cell(
    answerable: bool, response: str, replies: list[dict[str, Any]], cell: str, is_right: bool
) -> None:
    found = judged(response, *replies, question="When was it built, by whom?", answerable=answerable)
    assert found.cells == [(cell, is_right)]
    assert found.decisions[-1].probability == found.accuracy.soft


def test_a_response_of_sources_alone_is_left_out() -> None:
    assert judged("mill.pdf", *CONTEXTS_LACK).accuracy == Score.undefined("undetermined")


def test_chinese_is_asked_in_chinese_and_its_refusals_are_known() -> None:
    found = judged("资料没有说明磨坊的建造年份。", {"answer": "无"}, question="磨坊建于哪一年？")
    assert found.accuracy.value == 1.0
    assert found.reasons == ["上下文没有给出答案", "拒答（refusal）"]


@pytest.mark.parametrize("label", [True, 1, "yes", "是"])
def test_the_column_answerable_goes_before_all_evidence(label: Any) -> None:
    found = judged(REFUSAL, answerable=label)
    assert found.over_refusal == Score(1.0, 1.0)
    assert found.reasons[0] == "by the column answerable"


def test_the_column_answerable_may_say_no() -> None:
    found = judged(ANSWER, SUPPORTED, YES, YES, answerable=False)
    assert found.unsupported == Score(1.0, 1.0)


def test_a_label_that_says_neither_yes_nor_no_is_named() -> None:
    assert judged(REFUSAL, answerable="perhaps").accuracy == Score.undefined("unreadable_answerable")


def test_without_any_context_every_question_is_to_be_refused() -> None:
    assert judged(REFUSAL, contexts=[]).accuracy == Score(1.0, 1.0)
    assert judged(ANSWER, YES, YES, contexts=[]).unsupported == Score(1.0, 1.0)


def test_without_the_column_of_contexts_nothing_is_known_but_by_a_label() -> None:
    assert judged(REFUSAL, contexts=None).accuracy == Score.undefined("missing_retrieved_contexts")
    assert judged(REFUSAL, contexts=None, answerable=False).accuracy.value == 1.0


def test_means_are_rates_over_their_own_samples_and_a_threshold_needs_no_judge(tmp_path: Path) -> None:
    samples = [
        {"id": "refused", "user_input": QUESTION, "response": REFUSAL, "answerable": True},
        {"id": "answered", "user_input": QUESTION, "response": ANSWER, "answerable": True},
        {"id": "invented", "user_input": QUESTION, "response": ANSWER, "answerable": False},
        {"id": "unknown", "user_input": QUESTION, "response": REFUSAL, "retrieved_contexts": CONTEXTS},
    ]
    # "Answered" and "invented" have no contexts; of "unknown" the contexts answer with 0.8.
    replies = [YES, YES, YES, YES, {"answer": ANSWER}, {"verdict": 0.8}, {"verdict": 1.0}]
    judge = fake_judge(FakeEngine(replies))
    result = evaluate(samples, NAMES, judge, tmp_path, statements="sentences")
    assert result["over_refusal_rate"].value == pytest.approx(2 / 3)
    assert result["unsupported_answer_rate"].value == 1 / 1
    assert result["abstention_accuracy"].value == 1 / 4
    again = rescore(tmp_path, threshold=0.7)
    assert again["over_refusal_rate"].value == 1 / 2
    assert again["unsupported_answer_rate"].value == 1 / 2


def run_of(*labels: bool, output: Path | None = None) -> Result:
    """Responses that all refuse, with these labels; the last one answers."""
    responses = [REFUSAL] * (len(labels) - 1) + [ANSWER]
    rows = [
        {"user_input": QUESTION, "response": response, "answerable": label}
        for response, label in zip(responses, labels, strict=True)
    ]
    return evaluate(rows, NAMES, fake_judge(FakeEngine([YES, YES])), output, statements="sentences")


def told(*labels: bool) -> str:
    return str(run_of(*labels))


def test_both_sides_and_their_mean_are_in_python_and_in_the_files_of_a_run(tmp_path: Path) -> None:
    both = run_of(True, True, False, False, False, True, output=tmp_path).abstention_balanced
    assert both is not None
    assert (both.answerable, both.answered, both.unanswerable, both.refused) == (3, 1, 3, 3)
    assert both.value == pytest.approx(2 / 3)
    assert both.interval is not None
    assert both.interval[0] < 2 / 3 < both.interval[1]
    stored = json.loads((tmp_path / "results.json").read_text("utf-8"))["abstention_balanced"]
    assert stored == {**asdict(both), "interval": list(both.interval)}
    assert load(tmp_path).abstention_balanced == both
    assert "Mean of both shares:" in (tmp_path / "report.html").read_text("utf-8")


def test_a_run_of_one_side_has_counts_and_no_mean() -> None:
    both = run_of(True, True).abstention_balanced
    assert both is not None
    assert (both.value, both.interval, both.answerable, both.unanswerable) == (None, None, 2, 0)


def test_a_run_without_all_metrics_of_abstention_has_no_balance(tmp_path: Path) -> None:
    judge = fake_judge(FakeEngine([YES]))
    sample = {"user_input": QUESTION, "response": REFUSAL, "answerable": True}
    result = evaluate([sample], ["over_refusal_rate"], judge, tmp_path, statements="sentences")
    assert result.abstention_balanced is None
    assert "abstention_balanced" not in (tmp_path / "results.json").read_text("utf-8")


def test_the_report_tells_both_sides_and_the_mean_of_both_shares() -> None:
    text = told(True, True, False, False, False, True)
    # One of three is answered, three of three are refused.
    assert "of 3 questions that the contexts answer, 1 are answered; of 3 others, 3 are refused" in text
    assert "mean of both shares 0.667 (95 % " in text


def test_the_report_says_where_a_run_has_one_side_alone() -> None:
    assert "the contexts answer every question, so no refusal could be right" in told(True, True)
    assert "the contexts answer no question, so no refusal could be needless" in told(False, False)


def test_csv_and_page_say_why(tmp_path: Path) -> None:
    sample = {"user_input": QUESTION, "response": REFUSAL, "retrieved_contexts": CONTEXTS}
    evaluate([sample], NAMES, fake_judge(FakeEngine(CONTEXTS_ANSWER)), tmp_path, statements="sentences")
    with (tmp_path / "statements.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["judgement"] == "abstention"]
    assert [(row["statement"], row["verdict"], row["reason"]) for row in rows] == [
        (QUESTION, "1", "by the contexts: The mill was built in 1820."),
        (REFUSAL, "0", "refused (refusal)"),
        (REFUSAL, "0", "over_refusal"),
    ]
    assert "by the contexts: The mill was built in 1820." in (tmp_path / "report.html").read_text("utf-8")


def heads(kinds: dict[str, float], answerable: float) -> dict[str, ReplyHead]:
    """Return heads that read these probabilities, whatever the states."""
    in_contexts = {"yes": answerable, "no": 1 - answerable}
    return {
        "abstention/en": reply_head(_biased(kinds)),
        "answerable/en": reply_head(_biased(in_contexts), "answerable", "answerable"),
    }


def _biased(shares: dict[str, float]) -> dict[str, LinearMap]:
    return {name: LinearMap(states=(0.0,), bias=math.log(share)) for name, share in shares.items()}


def test_heads_tell_the_kind_of_response_and_whether_the_contexts_answer_and_nothing_is_asked() -> None:
    kinds = {"answered": 0.1, "partly": 0.2, "refused": 0.7}
    # The statement's support is asked, and nothing else.
    found = judged("Ask the miller.", UNSUPPORTED, heads=heads(kinds, answerable=0.8))
    assert found.cells == [("over_refusal", False)]
    assert found.over_refusal.value == 1.0
    assert found.over_refusal.soft == pytest.approx(0.7)
    assert [decision.probability for decision in found.decisions[:2]] == pytest.approx([0.8, 0.1])
    found = judged("Ask the miller.", UNSUPPORTED, heads=heads(kinds, answerable=0.3))
    assert found.cells == [("refused", True)]


def test_a_supported_answer_proves_that_the_contexts_answer_before_a_head_is_asked() -> None:
    kinds = {"answered": 0.9, "partly": 0.05, "refused": 0.05}
    found = judged(ANSWER, SUPPORTED, heads=heads(kinds, answerable=0.01))
    assert found.cells == [("answered", True)]
    assert found.decisions[0].probability == pytest.approx(0.9 * 0.9)
