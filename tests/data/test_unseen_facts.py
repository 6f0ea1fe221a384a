"""The test data of `tests/data`: a row is what its page says it is."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from localeval.claims.account import extract_claims

DATA = Path(__file__).parent
ROWS = {"unseen_facts": 60, "unseen_facts_held_out": 20}


def rows_of(name: str) -> list[dict[str, Any]]:
    lines = (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("name", ROWS)
def test_each_language_has_its_number_of_answers(name: str) -> None:
    languages = Counter(row["lang"] for row in rows_of(name))
    assert languages == {"en": ROWS[name], "zh": ROWS[name]}


def test_no_two_answers_share_an_id_or_a_text() -> None:
    rows = [row for name in ROWS for row in rows_of(name)]
    assert len({row["id"] for row in rows}) == len(rows)
    assert len({row["response_false"] for row in rows}) == len(rows)
    assert len({row["response_true"] for row in rows}) == len(rows)


@pytest.mark.parametrize("name", ROWS)
def test_twins_differ_only_in_the_fact(name: str) -> None:
    for row in rows_of(name):
        assert row["false_fact"] != row["true_fact"], row["id"]
        before, *after = row["response_false"].split(row["false_fact"])
        assert len(after) == 1, f"{row['id']}: the false fact stands once"
        assert row["response_true"] == before + row["true_fact"] + after[0], row["id"]


@pytest.mark.parametrize("name", ROWS)
def test_every_answer_has_a_question_a_shape_and_contexts(name: str) -> None:
    for row in rows_of(name):
        assert row["user_input"].strip(), row["id"]
        assert row["shape"].strip(), row["id"]
        assert 1 <= len(row["retrieved_contexts"]) <= 2, row["id"]
        assert all(context.strip() for context in row["retrieved_contexts"]), row["id"]


def test_no_held_out_answer_has_a_shape_of_the_others() -> None:
    shapes = {row["shape"] for row in rows_of("unseen_facts")}
    assert not shapes & {row["shape"] for row in rows_of("unseen_facts_held_out")}


def test_every_kind_of_swapped_value_is_there_as_often_as_the_right_one() -> None:
    rows = rows_of("swapped_values")
    combinations = Counter(
        (row["lang"], row["form"], row["wording"], row["kind"], row["label"], row["held_out"]) for row in rows
    )
    assert len({row["id"] for row in rows}) == len(rows) == 360
    # Two languages, five forms, three wordings, three kinds, two labels, two halves.
    assert len(combinations) == 2 * 5 * 3 * 3 * 2 * 2
    assert set(combinations.values()) == {1}


def test_a_statement_has_its_value_and_is_right_where_its_label_says_so() -> None:
    for row in rows_of("swapped_values"):
        assert row["stated"] in row["response"], row["id"]
        assert row["name"] in row["response"], row["id"]
        assert row["name"] in row["retrieved_contexts"][0], row["id"]
        assert (row["stated"] == row["right"]) == (row["label"] == 1), row["id"]


def test_no_table_is_in_both_halves() -> None:
    rows = rows_of("swapped_values")
    seen = {row["table"] for row in rows if not row["held_out"]}
    held_out = {row["table"] for row in rows if row["held_out"]}
    assert len(seen) == len(held_out) == 12
    assert not seen & held_out


@pytest.mark.parametrize("name", ROWS)
def test_the_false_fact_stands_in_a_sentence_that_is_judged(name: str) -> None:
    unseen = []
    for row in rows_of(name):
        start = row["response_false"].index(row["false_fact"])
        end = start + len(row["false_fact"])
        claims = extract_claims(row["response_false"], row["user_input"])
        if not any(claim.start < end and start < claim.end for claim in claims):
            unseen.append(row["id"])
    assert unseen == []


def test_in_half_of_the_preferences_of_a_language_the_better_response_is_the_longer_one() -> None:
    rows = rows_of("preferences")
    assert len({row["id"] for row in rows}) == len(rows) == 40
    kinds = Counter((row["lang"], row["kind"]) for row in rows)
    assert set(kinds.values()) == {5}
    longer = [row["lang"] for row in rows if len(row["good_response"]) > len(row["bad_response"])]
    assert Counter(longer) == {"en": 10, "zh": 10}
