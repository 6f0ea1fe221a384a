"""Citations: each expected number is a counted fraction, and each question to the judge is listed."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from localeval import METRICS, Score, evaluate, rescore
from localeval.judgements.decision import Decision
from localeval.testing import FakeClassifier, FakeEngine, fake_judge

NAMES = ["citation_recall", "citation_precision", "citation_f1"]
ENGLISH = [
    "Tea grows in Assam.",
    "Tea was first planted in 1837.",
    "Coffee grows in Kodagu.",
    "Salt is white.",
    "Rice is eaten.",
]
CHINESE = ["茶生长在阿萨姆。", "茶于1837年首次种植。", "咖啡生长在科达古。", "盐是白的。", "米可以吃。"]
SUPPORTED: dict[str, Any] = {"verdict": 0.9}
UNSUPPORTED: dict[str, Any] = {"verdict": 0.1}


class Judged(NamedTuple):
    """The three scores, the decisions on the statements, and (contexts shown, statements) of each call."""

    recall: Score
    precision: Score
    f1: Score
    decisions: tuple[Decision, ...]
    asked: list[tuple[list[int], list[str]]]

    @property
    def values(self) -> tuple[float | None, float | None, float | None]:
        return self.recall.value, self.precision.value, self.f1.value

    @property
    def remarks(self) -> list[str]:
        return [decision.reason for decision in self.decisions]


def judged(
    response: str, *replies: dict[str, Any], contexts: Sequence[str] = ENGLISH, **options: Any
) -> Judged:
    """Judge a response whose sentences are its statements; all replies must have been asked for."""
    engine = FakeEngine(replies)
    sample = {"user_input": "What grows?", "response": response, "retrieved_contexts": list(contexts)}
    choices: dict[str, Any] = {"statements": "sentences", **options}
    [result] = evaluate([sample], NAMES, fake_judge(engine), **choices).samples
    engine.close()
    asked = []
    for call in engine.calls:
        shown = [number for number, text in enumerate(contexts, 1) if text in call.context]
        asked.append((shown, [item.splitlines()[-1].split(maxsplit=1)[-1] for item in call.items]))
    [listed] = [listed for listed in result.decisions() if listed.judgement == "citations"]
    recall, precision, f1 = (result.scores[name] for name in NAMES)
    return Judged(recall, precision, f1, listed.decisions, asked)


def test_a_statement_that_its_only_citation_supports_takes_one_question_without_its_mark() -> None:
    found = judged("Tea grows in Assam [1].", SUPPORTED)
    assert found.asked == [([1], ["Tea grows in Assam."])]
    assert found.values == (1 / 1, 1 / 1, 1.0)
    assert (found.recall.soft, found.precision.soft) == (0.9, 0.9)


def test_a_wrong_citation_is_not_right_and_the_context_that_says_it_is_named() -> None:
    found = judged("Tea grows in Assam [3].", UNSUPPORTED, SUPPORTED)
    assert found.asked == [([3], ["Tea grows in Assam."]), ([1], ["Tea grows in Assam."])]
    assert found.values == (0 / 1, 0 / 1, 0.0)
    assert found.remarks == ["cites [3]; [1] says it"]


def test_a_wrong_citation_is_no_misattribution_where_no_context_says_it() -> None:
    found = judged("Tea grows in Peru [3].", UNSUPPORTED, UNSUPPORTED, UNSUPPORTED)
    assert [shown for shown, _ in found.asked] == [[3], [1], [2]]
    assert found.values == (0 / 1, 0 / 1, 0.0)
    assert found.remarks == ["cites [3]"]


def test_a_statement_without_a_citation_counts_against_recall_alone() -> None:
    found = judged("Tea grows in Assam [1]. Salt is white.", SUPPORTED)
    assert found.values[:2] == (1 / 2, 1 / 1)
    assert found.f1.value == pytest.approx(2 / 3)
    assert found.remarks == ["cites [1]", "no citation"]


def test_two_citations_that_support_a_statement_only_together_are_both_right() -> None:
    text = "Tea grows in Assam and was planted in 1837 [1][2]."
    found = judged(text, SUPPORTED, UNSUPPORTED, UNSUPPORTED)
    assert [shown for shown, _ in found.asked] == [[1, 2], [1], [2]]
    assert found.values == (1 / 1, 2 / 2, 1.0)
    assert found.precision.soft == pytest.approx(0.9 * (1 - 0.1))


def test_a_needless_citation_is_wrong() -> None:
    found = judged("Tea grows in Assam [1][4].", SUPPORTED, SUPPORTED, UNSUPPORTED)
    assert found.values[:2] == (1 / 1, 1 / 2)
    assert found.remarks == ["cites [1] [4]; [4] adds nothing"]
    # [1]: 0.9 x 0.9, [4]: 0.9 x max(0.1, 1 - 0.9)
    assert found.precision.soft == pytest.approx((0.81 + 0.09) / 2)


def test_of_three_citations_each_is_asked_about_alone_and_left_out() -> None:
    together, alone_of_three, without_each = (
        [SUPPORTED],
        [UNSUPPORTED] * 3,
        [SUPPORTED, UNSUPPORTED, UNSUPPORTED],
    )
    found = judged("Tea grows in Assam [1-3].", *together, *alone_of_three, *without_each)
    assert [shown for shown, _ in found.asked] == [[1, 2, 3], [1], [2], [3], [2, 3], [1, 3], [1, 2]]
    # Without [1] the others still support it; without [2] or [3] they do not.
    assert found.values[:2] == (1 / 1, 2 / 3)


def test_a_citation_that_is_right_for_one_statement_of_its_sentence_is_right() -> None:
    statements = [{"statements": ["Tea grows in Assam.", "Tea was planted in 1837."]}]
    both, first, second = [SUPPORTED] * 2, [SUPPORTED, UNSUPPORTED], [UNSUPPORTED, SUPPORTED]
    text = "Tea grows in Assam and was planted in 1837 [1][2]."
    found = judged(text, *statements, *both, *first, *second, statements="llm")
    assert found.values == (2 / 2, 2 / 2, 1.0)


def test_a_context_that_is_cited_twice_counts_once() -> None:
    found = judged("Tea grows in Assam [1][1].", SUPPORTED)
    assert found.values == (1 / 1, 1 / 1, 1.0)


def test_a_number_that_no_context_has_is_wrong_and_named() -> None:
    found = judged("Tea grows in Assam [7].")
    assert found.values == (0 / 1, 0 / 1, 0.0)
    assert found.remarks == ["cites [7]; [7] is none of the 5 contexts"]
    beside_a_right_one = judged("Tea grows in Assam [1][7].", SUPPORTED)
    assert beside_a_right_one.values[:2] == (1 / 1, 1 / 2)


def test_statements_that_cite_the_same_contexts_are_asked_about_together() -> None:
    found = judged("Tea grows in Assam [1]. It does not grow in Kodagu [1].", SUPPORTED, SUPPORTED)
    assert found.asked == [([1], ["Tea grows in Assam.", "It does not grow in Kodagu."])]


def test_chinese_marks_and_remarks() -> None:
    text = "茶生长在阿萨姆【1】。盐是白的【4，5】。咖啡生长在科达古。【2】"
    # [1]; [4, 5]; [2]; [4]; [5]; then [3], which is not cited.
    replies = [SUPPORTED, SUPPORTED, SUPPORTED, UNSUPPORTED, UNSUPPORTED, SUPPORTED]
    found = judged(text, *replies, contexts=CHINESE)
    assert found.values[:2] == (2 / 3, 2 / 4)
    assert found.remarks == ["引用 [1]", "引用 [4] [5]；[5] 多余", "引用 [2]；[3] 才有此内容"]


def test_marks_that_count_from_zero_are_read_and_shown_so() -> None:
    found = judged("Tea grows in Assam [0]. Salt is white [2].", SUPPORTED, UNSUPPORTED, SUPPORTED)
    assert [shown for shown, _ in found.asked] == [[1], [3], [4]]
    assert found.remarks == ["cites [0]", "cites [2]; [3] says it"]


def test_a_response_without_a_citation_has_recall_zero_and_no_precision() -> None:
    found = judged("Tea grows in Assam.")
    assert found.recall == Score(0.0, 0.0)
    assert found.precision == found.f1 == Score.undefined("no_citations")


def test_marks_that_name_no_context_leave_all_undefined() -> None:
    found = judged("Tea grows in Assam【4:0†source】.")
    assert found.recall == found.precision == found.f1 == Score.undefined("unreadable_citations")
    assert found.remarks == ["【4:0†source】 names no context by its number"]


def test_a_refusal_that_cites_is_not_counted() -> None:
    alone = judged("The documents do not say who picks it [2].")
    assert alone.recall == alone.precision == Score.undefined("refusal")
    beside = judged("Tea grows in Assam [1]. The documents do not say who picks it [2].", SUPPORTED)
    assert beside.values == (1 / 1, 1 / 1, 1.0)


def test_a_list_of_sources_cites_nothing() -> None:
    found = judged("Tea grows in Assam [1].\n\nSources:\n[1] tea.pdf\n[2] coffee.pdf", SUPPORTED)
    assert found.values == (1 / 1, 1 / 1, 1.0)


def test_a_cited_context_without_a_word_supports_nothing_unasked() -> None:
    found = judged("Rain falls [1].", contexts=["---", "Salt is white."])
    assert found.values == (0 / 1, 0 / 1, 0.0)


def test_the_example_of_the_page_gives_the_numbers_that_it_names() -> None:
    text = "Tea grows in Assam [1]. Coffee grows in Kodagu [3]. Salt is white [3][9]. Rice is eaten."
    contexts = ["Tea grows in Assam.", "Coffee grows in Kodagu.", "Salt is white."]
    # [1] of tea; [3] of coffee and of salt; then [2] of coffee, which does not cite it.
    found = judged(text, SUPPORTED, UNSUPPORTED, SUPPORTED, SUPPORTED, contexts=contexts)
    assert found.values == (2 / 4, 2 / 4, 0.5)
    assert found.remarks == [
        "cites [1]",
        "cites [3]; [2] says it",
        "cites [3] [9]; [9] is none of the 3 contexts",
        "no citation",
    ]


def test_the_classifier_decides_where_it_is_chosen() -> None:
    engine = FakeEngine([])
    judge = fake_judge(engine, classifier=FakeClassifier({"Tea grows in Assam.": 0.8}))
    sample = {"response": "Tea grows in Assam [1].", "retrieved_contexts": ENGLISH}
    options: dict[str, Any] = {"statements": "sentences", "support_by": "hhem"}
    assert judge.score("citation_recall", sample, **options) == Score(1.0, 0.8)


def test_another_threshold_needs_no_judge_and_csv_and_page_show_the_misattributed(tmp_path: Path) -> None:
    engine = FakeEngine([{"verdict": 0.6}, {"verdict": 0.9}])
    sample = {"id": "a", "response": "Tea grows in Assam [3].", "retrieved_contexts": ENGLISH}
    judge = fake_judge(engine)
    assert evaluate([sample], NAMES, judge, tmp_path, statements="sentences")["citation_recall"].value == 1.0
    assert rescore(tmp_path, threshold=0.7)["citation_recall"].value == 0.0
    evaluate([sample], NAMES, judge, tmp_path, statements="sentences", threshold=0.7)
    with (tmp_path / "statements.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["judgement"] == "citations"]
    assert [(row["statement"], row["verdict"], row["reason"]) for row in rows] == [
        ("Tea grows in Assam.", "0", "cites [3]; [1] says it")
    ]
    assert "cites [3]; [1] says it" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_judge_is_asked_as_for_support(tmp_path: Path) -> None:
    """One context, cited: the same prompt, context and item as faithfulness asks about, but for the mark."""
    engine = FakeEngine([SUPPORTED, SUPPORTED])
    sample = {"response": "Tea grows in Assam.[1]", "retrieved_contexts": ENGLISH[:1]}
    evaluate([sample], ["faithfulness", "citation_recall"], fake_judge(engine), statements="sentences")
    for_support, for_citations = engine.calls
    assert for_support.prefix == for_citations.prefix
    assert for_support.context == for_citations.context
    assert for_support.items[0].replace("[1]", "") == for_citations.items[0]


@pytest.mark.parametrize("name", NAMES)
def test_the_metrics_are_computed_only_where_they_are_asked_for(name: str) -> None:
    assert not METRICS[name].by_default
