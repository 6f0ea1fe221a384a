"""Whatever text comes in: a score or a plain reason, in bounded time, and nothing lost."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localeval import METRICS, Judge, Result, evaluate
from tests.heads import HEADS
from tests.hostile import HUGE, MARKS, Obliging, obliging_judge
from tests.patience import as_usual, timed

SECONDS = 5.0  # of processor time, for one sample, the models apart
MANY = int(os.environ.get("LOCALEVAL_TEST_HOSTILE", "25"))
PLAIN: dict[str, Any] = {
    "user_input": "Where does tea grow?",
    "response": "Tea grows on hills. It is green.",
    "retrieved_contexts": ["Tea grows on hills.", "It is picked in May."],
    "reference": "Tea grows on hills.",
}


@pytest.fixture(scope="module")
def judge() -> Judge:
    return obliging_judge()


def judged(sample: dict[str, Any], judge: Judge, **options: Any) -> Result:
    """All metrics of one sample, in time."""
    assert isinstance(judge.engine, Obliging)
    for _ in range(2):  # a second time where a busy machine may have been in the way
        start = time.process_time() - judge.engine.seconds
        result = evaluate([sample], list(METRICS), judge, head=HEADS, **options)
        seconds = time.process_time() - judge.engine.seconds - start
        if seconds < SECONDS:
            break
    assert as_usual(seconds) < SECONDS
    check(result)
    return result


def check(result: Result) -> None:
    """Every score is there and says what it is; the result can be shown and written."""
    for sample in result.samples:
        assert set(sample.scores) == set(METRICS)
        for score in sample.scores.values():
            assert (score.status == "scored") == (score.value is not None) == (score.reason == "")
            assert score.value is None or 0 <= score.value <= 1
    assert all(c.isprintable() or c == "\n" for c in str(result))
    assert len(json.loads(result.to_json())["samples"]) == len(result.samples)


def with_text(fields: list[str], text: str) -> dict[str, Any]:
    return {**PLAIN, **{f: [text, "Tea grows."] if f == "retrieved_contexts" else text for f in fields}}


@pytest.mark.parametrize("field", PLAIN)
def test_a_hostile_text_moves_no_score_of_a_metric_that_does_not_read_it(field: str, judge: Judge) -> None:
    samples = [{"id": name, **with_text([field], text)} for name, text in MARKS.items()]
    result = evaluate([{"id": "plain", **PLAIN}, *samples], list(METRICS), judge, head=HEADS)
    check(result)
    names = [name for name, metric in METRICS.items() if field not in (*metric.columns, *metric.either)]
    plain, *hostile = ([scores[name] for name in names] for scores in result.scores)
    assert names
    assert hostile == [plain] * len(MARKS)


@pytest.mark.parametrize(
    ("field", "by", "other"),
    [("response", "llm", "context_recall"), ("retrieved_contexts", "sentences", "factual_correctness")],
)
@pytest.mark.parametrize("name", HUGE)
def test_a_huge_text_takes_seconds_at_most(name: str, field: str, by: str, other: str, judge: Judge) -> None:
    result = judged(with_text([field], HUGE[name]), judge, statements=by)
    assert result.scores[0][other].status == "scored"


@pytest.mark.parametrize("text", ["茶生长。", "\n"])
def test_thousands_of_contexts_take_seconds_at_most(text: str, judge: Judge) -> None:
    result = judged({**PLAIN, "retrieved_contexts": [text] * 2500}, judge)
    reasons = {score.reason for score in result.samples[0].scores.values()}
    assert ("no_contexts" in reasons) == (not text.strip())


def test_hostile_texts_in_all_fields_are_kept_in_the_journal_and_found(judge: Judge, tmp_path: Path) -> None:
    samples = [{"id": name, **with_text([*PLAIN], text)} for name, text in MARKS.items()]
    first = evaluate(samples, list(METRICS), judge, tmp_path, head=HEADS)
    check(first)
    lines = (tmp_path / "journal.jsonl").read_bytes()
    again = evaluate(samples, list(METRICS), judge, tmp_path, head=HEADS)
    assert again.to_dict() == first.to_dict()
    assert (tmp_path / "journal.jsonl").read_bytes() == lines


pieces = st.one_of(
    st.sampled_from([*MARKS.values()]),
    st.text(max_size=80),
    st.text(alphabet=st.characters(categories=("Cc", "Cf", "Zl", "Zp", "Zs", "Po", "Ps", "Pe")), max_size=40),
    st.text(alphabet='.[]()"1 ,-a\n', max_size=60),
    st.text(alphabet="茶山。，！？“”「」\n1a", max_size=60),
)
texts = st.lists(pieces, max_size=5).map("".join)
columns: dict[str, st.SearchStrategy[Any]] = dict.fromkeys(PLAIN, st.none() | texts)
columns["retrieved_contexts"] = st.none() | st.lists(texts, max_size=4)


@given(st.fixed_dictionaries(columns), st.sampled_from(["llm", "sentences"]))
@settings(max_examples=MANY, deadline=None, suppress_health_check=list(HealthCheck))
def test_generated_texts_get_a_score_or_a_reason(judge: Judge, sample: dict[str, Any], by: str) -> None:
    # A column that no sample has is the caller's mistake; a second sample has all of them.
    both = [{"id": "a", **sample}, {"id": "b", **PLAIN}]
    with timed() as took:
        result = evaluate(both, list(METRICS), judge, statements=by, head=HEADS)
    assert took.seconds < SECONDS
    check(result)
