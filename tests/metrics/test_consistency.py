"""Consistency of several responses: each expected number is a counted fraction, and calls are counted."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from localeval import Score, evaluate, rescore
from localeval.testing import FakeEngine, fake_judge

NAME = "response_consistency"
SUPPORTED: dict[str, Any] = {"verdict": 0.9}
UNSUPPORTED: dict[str, Any] = {"verdict": 0.1}
REFUSAL = "The documents do not say where tea grows."


class Judged(NamedTuple):
    """The score, what the report says of each statement, and (response shown, statements) of each call."""

    score: Score
    remarks: list[tuple[str, str]]
    asked: list[tuple[str, list[str]]]


def judged(responses: Any, *replies: dict[str, Any], **choices: Any) -> Judged:
    """Judge responses whose sentences are their statements; all replies must have been asked for."""
    engine = FakeEngine(replies)
    sample = {"user_input": "Where does tea grow?", "responses": responses}
    options: dict[str, Any] = {"statements": "sentences", **choices}
    [result] = evaluate([sample], [NAME], fake_judge(engine), **options).samples
    engine.close()
    decisions = [one for listed in result.decisions() for one in listed.decisions]
    asked = [
        (
            call.context.strip().splitlines()[1],
            [item.splitlines()[-1].split(maxsplit=1)[-1] for item in call.items],
        )
        for call in engine.calls
    ]
    return Judged(result.scores[NAME], [(one.text, one.reason) for one in decisions], asked)


def test_two_responses_that_say_the_same_in_other_words_are_consistent() -> None:
    found = judged(["Tea grows in Assam.", "Assam grows tea."], SUPPORTED, SUPPORTED)
    assert found.score == Score(1.0, 0.9)
    assert found.asked == [
        ("Assam grows tea.", ["Tea grows in Assam."]),
        ("Tea grows in Assam.", ["Assam grows tea."]),
    ]


def test_two_responses_that_differ_are_not() -> None:
    found = judged(["Tea grows in Assam.", "Tea grows in Peru."], UNSUPPORTED, UNSUPPORTED)
    assert found.score == Score(0.0, 0.1)
    assert found.remarks == [
        ("Tea grows in Assam.", "response 1: said by 0 of 1 others"),
        ("Tea grows in Peru.", "response 2: said by 0 of 1 others"),
    ]


def test_a_statement_counts_where_at_least_half_of_the_others_say_it() -> None:
    # A: B says it, C does not (1 of 2). B: A says it, C does not. C: neither.
    replies = [SUPPORTED, UNSUPPORTED, SUPPORTED, UNSUPPORTED, UNSUPPORTED, UNSUPPORTED]
    found = judged(["Tea grows in Assam.", "Assam grows tea.", "Tea grows in Peru."], *replies)
    assert found.score.value == pytest.approx(2 / 3)
    assert found.score.soft == pytest.approx((0.5 + 0.5 + 0.1) / 3)


def test_each_response_weighs_the_same_however_many_statements_it_makes() -> None:
    # Of the first response one statement of two; of the second its only one.
    found = judged(["Tea grows in Assam. It sings.", "Assam grows tea."], SUPPORTED, UNSUPPORTED, SUPPORTED)
    assert found.score.value == pytest.approx((1 / 2 + 1) / 2)


def test_equal_responses_cost_no_question() -> None:
    found = judged(["Tea grows in Assam.", "tea  grows in assam.", "Tea grows in Assam."])
    assert found.score == Score(1.0, 1.0)
    assert found.remarks[0] == ("Tea grows in Assam.", "response 1: said by 2 of 2 others")


def test_a_text_is_compared_once_however_many_responses_have_it() -> None:
    # Of three the third differs: each direction is asked once.
    found = judged(
        ["Tea grows in Assam.", "Tea grows in Assam.", "Tea grows in Peru."], UNSUPPORTED, UNSUPPORTED
    )
    assert len(found.asked) == 2
    # The first two: 1 of 2 others says it. The third: none.
    assert found.score.value == pytest.approx(2 / 3)
    assert found.score.soft == pytest.approx((0.55 + 0.55 + 0.1) / 3)


def test_a_refusal_beside_an_answer_is_0_unasked_and_named() -> None:
    found = judged(["Tea grows in Assam.", REFUSAL])
    assert found.score == Score(0.0, 0.0)
    assert found.remarks[1] == (REFUSAL, "response 2: 1 of 2 refused")


def test_one_refusal_of_four_counts_0_and_the_answers_have_two_of_three() -> None:
    found = judged(["Tea grows in Assam."] * 3 + [REFUSAL])
    assert found.score.value == pytest.approx(3 / 4)
    assert found.score.soft == pytest.approx(3 * (2 / 3) / 4)


def test_refusals_in_different_words_say_the_same() -> None:
    assert judged([REFUSAL, "I don't know.", ""]).score == Score(1.0, 1.0)


def test_pairs_bound_the_questions_and_each_response_meets_as_many_others() -> None:
    texts = [f"Tea grows in {place}." for place in ("Assam", "Peru", "Kent", "Rome")]
    found = judged(texts, *[UNSUPPORTED] * 8, pairs=8)
    assert [(shown, stated) for shown, [stated] in found.asked][:3] == [
        (texts[1], texts[0]),
        (texts[2], texts[0]),
        (texts[2], texts[1]),
    ]
    assert found.remarks[0] == (texts[0], "response 1: said by 0 of 2 others")


def test_one_other_is_asked_about_where_pairs_allow_fewer() -> None:
    texts = [f"Tea grows in {place}." for place in ("Assam", "Peru", "Kent")]
    assert len(judged(texts, *[UNSUPPORTED] * 3, pairs=1).asked) == 3


def test_the_statements_are_listed_by_the_judge() -> None:
    listed: Sequence[dict[str, Any]] = [
        {"statements": ["Tea grows in Assam."]},
        {"statements": ["Assam grows tea."]},
    ]
    replies = [*listed, SUPPORTED, SUPPORTED]
    assert judged(["Tea grows in Assam.", "Assam grows tea."], *replies, statements="llm").score.value == 1.0


def test_a_response_is_compared_with_what_the_others_state_in_answer_to_the_question() -> None:
    stated = ["Tea grows in Assam.", "Tea is grown in Assam."]
    replies = [*({"statements": [text]} for text in stated), SUPPORTED, SUPPORTED]
    found = judged(["In Assam.", "They grow it in Assam."], *replies, statements="llm")
    assert [shown for shown, _ in found.asked[2:]] == [stated[1], stated[0]]


def test_the_response_is_one_of_them() -> None:
    sample = {"responses": ["Tea grows in Assam."], "response": "Tea grows in Peru."}
    judge = fake_judge(FakeEngine([UNSUPPORTED, UNSUPPORTED]))
    assert judge.score(NAME, sample, statements="sentences").value == 0.0
    same = {"responses": ["Tea grows in Assam."] * 2, "response": "Tea grows in Assam."}
    assert fake_judge(FakeEngine([])).score(NAME, same).value == 1.0


@pytest.mark.parametrize(
    ("responses", "reason"),
    [
        (["Tea grows in Assam."], "one_response"),
        ([], "unreadable_responses"),
        ([7, 8], "unreadable_responses"),
        (["tea.pdf", "leaf.pdf"], "no_statements"),
    ],
)
def test_what_can_not_be_compared_is_undefined(responses: Any, reason: str) -> None:
    assert judged(responses).score == Score.undefined(reason)


def test_the_list_may_be_written_as_text_as_in_csv() -> None:
    assert judged('["Tea grows in Assam.", "Tea grows in Assam."]').score.value == 1.0


def test_without_the_column_it_is_undefined() -> None:
    assert fake_judge(FakeEngine([])).score(NAME, {"response": "Tea."}) == Score.undefined(
        "missing_responses"
    )


def test_thoughts_are_no_part_of_a_response() -> None:
    responses = ["<think>Where?</think>Tea grows in Assam.", "Tea grows in Assam."]
    assert judged(responses).score.value == 1.0


def test_chinese_responses_are_asked_about_in_chinese() -> None:
    found = judged(["茶生长在阿萨姆。", "茶生长在秘鲁。"], UNSUPPORTED, UNSUPPORTED)
    assert found.remarks[0] == ("茶生长在阿萨姆。", "第 1 个回答：1 个其他回答中有 0 个这样说")


def test_another_threshold_needs_no_judge_and_csv_and_page_show_each_statement(tmp_path: Path) -> None:
    sample = {"id": "a", "responses": ["Tea grows in Assam.", "Assam grows tea."]}
    judge = fake_judge(FakeEngine([{"verdict": 0.6}, {"verdict": 0.6}]))
    assert evaluate([sample], [NAME], judge, tmp_path, statements="sentences")[NAME].value == 1.0
    assert rescore(tmp_path, threshold=0.7)[NAME].value == 0.0
    with (tmp_path / "statements.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = [(row["statement"], row["reason"]) for row in csv.DictReader(file)]
    assert rows == [
        ("Tea grows in Assam.", "response 1: said by 1 of 1 others"),
        ("Assam grows tea.", "response 2: said by 1 of 1 others"),
    ]
    assert "response 2: said by 1 of 1 others" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_example_of_the_page_has_the_score_that_it_names() -> None:
    responses = ["Tea grows in Assam.", "It grows in Assam.", "The documents do not say."]
    found = judged(responses, SUPPORTED, SUPPORTED)
    assert found.score.value == pytest.approx(2 / 3)
    assert found.remarks[-1] == ("The documents do not say.", "response 3: 1 of 3 refused")
