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

from localeval import InputError, Judge, Sample, evaluate
from localeval.engine.auxiliary_models import AuxiliaryModels
from localeval.engine.engine import Engine
from localeval.metrics import METRICS
from localeval.report.text import as_text
from localeval.runs.result import Result
from localeval.text.sentences import has_words
from tests.heads import HEADS
from tests.hostile import HUGE, MARKS, Hashed, Obliging, obliging_judge
from tests.patience import as_usual, timed

SECONDS = 5.0  # of processor time, for one sample, the models apart
MANY = int(os.environ.get("LOCALEVAL_TEST_HOSTILE", "100"))
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
    """All metrics of one sample, in time; every score is there and says what it is."""
    assert isinstance(judge.engine, Obliging)
    for _ in range(2):  # a second time where a busy machine may have been in the way
        start = time.process_time() - judge.engine.seconds
        result = evaluate([sample], list(METRICS), judge, head=HEADS, **options)
        seconds = time.process_time() - judge.engine.seconds - start
        if seconds < SECONDS:
            break
    assert as_usual(seconds) < SECONDS
    for score in result.samples[0].scores.values():
        assert (score.status == "scored") == (score.value is not None) == (score.reason == "")
        assert score.value is None or 0 <= score.value <= 1
    return result


def with_text(field: str, text: str) -> dict[str, Any]:
    return {**PLAIN, field: [text, "Tea grows."] if field == "retrieved_contexts" else text}


@pytest.mark.parametrize("field", PLAIN)
@pytest.mark.parametrize("name", MARKS)
def test_a_hostile_text_in_any_field_gets_a_score_or_a_reason_and_is_shown_as_text(
    name: str, field: str, judge: Judge
) -> None:
    result = judged(with_text(field, MARKS[name]), judge)
    shown = as_text(result)
    assert all(c.isprintable() or c == "\n" for c in shown)
    assert json.loads(result.to_json())["samples"][0]["id"] == "1"


@pytest.mark.parametrize("field", PLAIN)
@pytest.mark.parametrize("name", HUGE)
def test_a_huge_text_in_any_field_takes_seconds_at_most(name: str, field: str, judge: Judge) -> None:
    for statements in ("llm", "sentences"):
        result = judged(with_text(field, HUGE[name]), judge, statements=statements)
        assert set(result.samples[0].scores) == set(METRICS)


@pytest.mark.parametrize("text", ["Tea grows.", "茶生长。", "", "\n"])
def test_five_thousand_contexts_take_seconds_at_most(text: str, judge: Judge) -> None:
    result = judged({**PLAIN, "retrieved_contexts": [text] * 5000}, judge)
    reasons = {score.reason for score in result.samples[0].scores.values()}
    assert ("no_contexts" in reasons) == (not text.strip())


def test_hostile_texts_in_all_fields_at_once_are_kept_in_the_journal_and_found_again(
    judge: Judge, tmp_path: Path
) -> None:
    samples = [
        {"id": name, **{f: [text] if f == "retrieved_contexts" else text for f in PLAIN}}
        for name, text in MARKS.items()
    ]
    first = evaluate(samples, list(METRICS), judge, tmp_path, head=HEADS)
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


@given(
    user_input=st.none() | texts,
    response=st.none() | texts,
    retrieved_contexts=st.none() | st.lists(texts, max_size=4),
    reference=st.none() | texts,
    by=st.sampled_from(["llm", "sentences"]),
)
@settings(max_examples=MANY, deadline=None, suppress_health_check=list(HealthCheck))
def test_generated_texts_get_a_score_or_a_reason(
    judge: Judge,
    user_input: str | None,
    response: str | None,
    retrieved_contexts: list[str] | None,
    reference: str | None,
    by: str,
) -> None:
    columns = (user_input, response, retrieved_contexts, reference)
    sample = dict(zip(PLAIN, columns, strict=True))
    # A column that no sample has is the caller's mistake; a second sample has all of them.
    with timed() as took:
        both = [{"id": "a", **sample}, {"id": "b", **PLAIN}]
        result = evaluate(both, list(METRICS), judge, statements=by, head=HEADS)
    assert took.seconds < SECONDS
    assert all((s.value is None) == (s.status != "scored") for s in result.samples[0].scores.values())
    as_text(result)
    json.loads(result.to_json())


@pytest.mark.parametrize("text", ["\ud83d", "tea \udfff grows"])
@pytest.mark.parametrize("field", PLAIN)
def test_half_a_character_is_refused_in_one_sentence(field: str, text: str) -> None:
    with pytest.raises(InputError, match=rf"{field}.*half a character"):
        Sample(**with_text(field, text))


@pytest.mark.parametrize("name", MARKS)
def test_a_real_tokenizer_and_grammar_take_hostile_texts_in_all_fields(name: str, tiny: Engine) -> None:
    judge = Judge(
        tiny, {"name": "tiny", "sha256": "1" * 64, "size": 0}, companions=AuxiliaryModels(Hashed(), Hashed())
    )
    text = MARKS[name][:400]
    sample = {f: [text] if f == "retrieved_contexts" else text for f in PLAIN}
    metrics = ["faithfulness", "context_relevance", "answer_relevance"]
    result = evaluate([sample], metrics, judge, questions=1)
    found = {metric: score.reason for metric, score in result.samples[0].scores.items()}
    assert (found["context_relevance"] == "") == has_words(text)
    assert "engine_error" not in found.values()
