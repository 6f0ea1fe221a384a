"""`swapped_in_answers.jsonl` of `tests/data`: a row is what its page says it is."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

ROWS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent / "swapped_in_answers.jsonl").read_text(encoding="utf-8").splitlines()
]
# A decimal point and a point inside a word end no sentence.
END_OF_SENTENCE = re.compile(r"[.!?](?=\s|$)")


def times_in(text: str, value: str) -> int:
    """Count where a value stands as a whole: "7 May" is not in "17 May"."""
    return len(re.findall(rf"(?<!\w){re.escape(value)}(?!\w)", text))


def sentences_in(text: str) -> int:
    return len(END_OF_SENTENCE.findall(text))


def test_no_two_rows_share_an_id_a_question_or_an_answer() -> None:
    for key in ("id", "user_input", "response_true", "response_false"):
        assert len({row[key] for row in ROWS}) == len(ROWS) == 40, key


def test_the_rows_are_balanced_as_the_page_says() -> None:
    assert Counter(row["kind"] for row in ROWS) == {"number": 14, "date": 13, "name": 13}
    assert Counter(row["question"] for row in ROWS) == {"general": 20, "specific": 20}
    assert Counter(row["place"] for row in ROWS) == {"after_name": 30, "before_name": 6, "name": 4}
    assert Counter(row["two_in_sentence"] for row in ROWS) == {True: 10, False: 30}


def test_twins_differ_only_in_the_value() -> None:
    for row in ROWS:
        assert times_in(row["response_true"], row["stated_true"]) == 1, row["id"]
        before, after = row["response_true"].split(row["stated_true"])
        assert row["response_false"] == before + row["stated_false"] + after, row["id"]


def test_the_false_value_stands_nowhere_else_in_its_answer() -> None:
    for row in ROWS:
        assert times_in(row["response_false"], row["stated_false"]) == 1, row["id"]


def test_the_contexts_have_both_values_and_they_differ() -> None:
    for row in ROWS:
        contexts = "\n".join(row["retrieved_contexts"])
        assert row["stated_true"] != row["stated_false"], row["id"]
        assert times_in(contexts, row["stated_true"]) >= 1, row["id"]
        assert times_in(contexts, row["stated_false"]) >= 1, row["id"]


def test_a_value_has_the_form_of_its_kind() -> None:
    for row in ROWS:
        for value in (row["stated_true"], row["stated_false"]):
            has_digit = any(character.isdigit() for character in value)
            is_weekday = value.endswith("day")
            assert (has_digit or is_weekday) == (row["kind"] != "name"), (row["id"], value)


def test_both_values_have_the_same_unit() -> None:
    for row in ROWS:
        if row["kind"] == "number":
            unit_true, unit_false = (
                re.sub(r"[\d.,]+", "#", row[key]) for key in ("stated_true", "stated_false")
            )
            assert unit_true == unit_false, row["id"]


def test_an_answer_is_three_to_six_sentences_long() -> None:
    for row in ROWS:
        assert 3 <= sentences_in(row["response_true"]) <= 6, row["id"]


def test_a_row_has_one_to_three_passages_of_three_to_seven_sentences() -> None:
    for row in ROWS:
        assert 1 <= len(row["retrieved_contexts"]) <= 3, row["id"]
        for passage in row["retrieved_contexts"]:
            assert 3 <= sentences_in(passage) <= 7, (row["id"], passage)


def test_no_answer_copies_a_whole_sentence_of_its_contexts() -> None:
    for row in ROWS:
        contexts = " ".join(row["retrieved_contexts"])
        for sentence in re.split(r"(?<=[.!?])\s+", row["response_true"]):
            assert sentence.removeprefix("- ") not in contexts, (row["id"], sentence)
