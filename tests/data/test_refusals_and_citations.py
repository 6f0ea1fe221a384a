"""The sets of abstention and `citations.jsonl` of `tests/data`: a row is what its page says it is."""

import json
import re
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parent
SAMPLES_A_CELL = {"abstention": 5, "abstention_held_out": 3}
CASES = {"right": 4, "wrong": 4, "missing": 3, "needless": 3, "out_of_range": 3, "joint": 3}
# "[1, 2]", "[citation:1]", "【1、2】", "（1）", "<sup>1</sup>", "¹"
MARK = re.compile(r"[\[【(（][^\d\]】)）]*([\d,、 -]+)[\]】)）]|<sup>(\d+)</sup>|([¹²³⁴⁵⁶⁷⁸⁹])")


def rows_of(name: str) -> list[dict[str, Any]]:
    lines = (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def cited(response: str) -> list[int]:
    numbers: list[int] = []
    for match in MARK.finditer(response):
        text = unicodedata.normalize("NFKC", next(group for group in match.groups() if group))
        for part in re.split(r"[,、]", text):
            first, *last = [int(number) for number in part.split("-")]
            numbers.extend(range(first, (last[0] if last else first) + 1))
    return numbers


def is_whole(number: float) -> bool:
    return number == pytest.approx(round(number))


@pytest.mark.parametrize("name", [*SAMPLES_A_CELL, "citations"])
def test_no_two_samples_share_an_id_a_question_or_a_response(name: str) -> None:
    rows = rows_of(name)
    for key in ("id", "user_input", "response"):
        assert len({row[key] for row in rows}) == len(rows)


@pytest.mark.parametrize("key", ["user_input", "response"])
def test_the_two_sets_of_abstention_share_no_question_and_no_response(key: str) -> None:
    texts = {name: {row[key] for row in rows_of(name)} for name in SAMPLES_A_CELL}
    assert texts["abstention"].isdisjoint(texts["abstention_held_out"])


@pytest.mark.parametrize(("name", "count"), SAMPLES_A_CELL.items())
def test_a_language_has_its_number_of_samples_of_each_cell(name: str, count: int) -> None:
    samples = Counter((row["lang"], row["kind"], row["answerable_truth"]) for row in rows_of(name))
    assert len(samples) == 2 * 3 * 2
    assert set(samples.values()) == {count}


def test_the_response_and_the_question_decide_what_is_expected() -> None:
    rows = [row for name in SAMPLES_A_CELL for row in rows_of(name)]
    decided = {(row["kind"], row["answerable_truth"], row["expected"]) for row in rows}
    assert len(decided) == len({row["expected"] for row in rows}) == 6


@pytest.mark.parametrize("name", SAMPLES_A_CELL)
def test_a_sample_of_abstention_cites_only_contexts_that_it_has(name: str) -> None:
    for row in rows_of(name):
        contexts = len(row["retrieved_contexts"])
        assert 1 <= contexts <= 3, row["id"]
        assert all(1 <= number <= contexts for number in cited(row["response"])), row["id"]


def test_a_language_has_its_number_of_citations_of_each_case() -> None:
    samples = Counter((row["lang"], row["case"]) for row in rows_of("citations"))
    assert samples == {(lang, case): count for lang in ("en", "zh") for case, count in CASES.items()}


def test_a_context_is_cited_that_is_not_there_where_the_case_says_so() -> None:
    for row in rows_of("citations"):
        contexts = len(row["retrieved_contexts"])
        outside = any(not 1 <= number <= contexts for number in cited(row["response"]))
        assert outside == (row["case"] == "out_of_range"), row["id"]


def test_the_expected_precision_is_a_number_of_right_citations_among_those_of_the_response() -> None:
    for row in rows_of("citations"):
        count = len(cited(row["response"]))
        precision = row["expected_precision"]
        if count == 0:
            assert precision is None, row["id"]
        else:
            assert is_whole(precision * count), row["id"]


def test_the_case_says_which_value_is_below_one() -> None:
    for row in rows_of("citations"):
        recall, precision = row["expected_recall"], row["expected_precision"]
        if row["case"] in ("wrong", "missing"):
            assert recall < 1, row["id"]
        if row["case"] in ("right", "joint", "needless"):
            assert recall == 1, row["id"]
        if row["case"] in ("wrong", "needless", "out_of_range"):
            assert precision < 1, row["id"]
        if row["case"] in ("right", "joint"):
            assert precision == 1, row["id"]
        if row["case"] == "missing":
            assert precision in (1, None), row["id"]


def test_the_rows_for_fitting_share_no_text_with_those_for_measuring() -> None:
    fitted = [item for row in rows_of("abstention_fit") for item in row["items"]]
    contexts = {text for row in rows_of("abstention_fit") for text in row["contexts"]}
    for name in SAMPLES_A_CELL:
        for row in rows_of(name):
            assert contexts.isdisjoint(row["retrieved_contexts"])
            assert row["user_input"] not in {item["user_input"] for item in fitted}


def test_half_of_the_questions_for_fitting_are_answered_by_their_contexts() -> None:
    for row in rows_of("abstention_fit"):
        assert Counter(item["answerable"] for item in row["items"]) == {True: 3, False: 3}
        assert {item["kind"] for item in row["items"]} <= {"answered", "partly", "refused"}
