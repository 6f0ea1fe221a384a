"""The key of a record: whatever differs in the inputs of a judgement makes another key."""

from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

import pytest
from pydantic import BaseModel

from localeval.fitted.heads import Head
from localeval.judgements import JUDGEMENTS, AnyJudgement, Choices, Inputs
from localeval.judgements.journal import key_of
from localeval.judgements.questions import Drawn, QuestionsRecord
from localeval.judgements.statements import SentenceStatements, StatementsRecord
from localeval.judgements.support import SupportRecord, Verdict
from localeval.options import Options
from localeval.prompts import Prompt
from localeval.samples import Sample
from tests.heads import head

JUDGE = {"model": "0" * 64}
EMBEDDER = {"name": "embedder", "sha256": "1" * 64}
CLASSIFIER = {"name": "classifier", "sha256": "2" * 64}
SAMPLE = Sample(
    user_input="Where does tea grow?",
    response="Tea grows in Assam. [1] [7]【4:0†source】",
    retrieved_contexts=["Tea grows in Assam, and in Yunnan."],
    reference="In Assam.",
)
STATED = SentenceStatements(
    sentence="Tea grows in Assam.", start=0, end=19, statements=("Tea grows in Assam.",)
)
RECORDS = {
    "statements": StatementsRecord(sentences=(STATED,), language="en"),
    "reference_statements": StatementsRecord(sentences=(STATED,), language="en"),
    "support": SupportRecord(
        verdicts=(
            Verdict(statement="Tea grows in Assam.", sentence=0, probability=0.9, reason="So it says."),
        )
    ),
    "questions": QuestionsRecord(
        draws=(Drawn(question="Where does tea grow?", sufficient=0.9),), distinct=1.0, sufficient=0.9
    ),
}
# The options under which the inputs of some judgement have another form.
FORMS = {
    "default": {},
    "reasoned": {"verdict": "reasoned"},
    "by HHEM": {"support_by": "hhem"},
    "by a head": {"support_by": "head"},
    "sentences": {"statements": "sentences"},
}


def inputs_of(judgement: AnyJudgement, options: dict[str, Any], sample: Sample = SAMPLE) -> Inputs:
    choices = Choices(
        Options.read(options), heads={"en": head("en")}, embedder=EMBEDDER, classifier=CLASSIFIER
    )
    inputs: Inputs = judgement.inputs(sample, RECORDS, choices)
    return inputs


def with_one_change(value: Any, kind: Any) -> Iterator[tuple[str, Any]]:  # noqa: C901 (a branch for each type)
    """Yield (where, value) for each value that differs from `value` in one place; `kind` is its type."""
    if value is not None and type(None) in get_args(kind):
        yield "None", None
    if isinstance(value, Prompt):
        yield "sha256", value.model_copy(update={"sha256": "f" * 64})
    elif isinstance(value, Head):
        fields = {name: getattr(value, name) for name in Head.model_fields}
        yield "layer", Head(**{**fields, "layer": value.layer + 1})
        yield "word.bias", Head(**{**fields, "word": {"states": [1.0], "bias": 9.0}})
    elif isinstance(value, BaseModel):
        for name, field in type(value).model_fields.items():
            for where, other in with_one_change(getattr(value, name), field.annotation):
                yield f"{name}.{where}", value.model_copy(update={name: other})
    elif isinstance(value, tuple) and value:
        yield "without the last", value[:-1]
        yield "twice", (*value, *value)
        for where, other in with_one_change(value[0], None):
            yield f"first.{where}", (other, *value[1:])
    elif isinstance(value, dict):
        yield "another entry", {**value, "version": "9"}
    elif get_origin(kind) is Literal:
        for option in get_args(kind):
            if option != value:
                yield str(option), option
    elif isinstance(value, bool):
        yield "not", not value
    elif isinstance(value, int | float):
        yield "more", value + 1
    elif isinstance(value, str):
        yield "longer", value + "x"
    else:
        assert value is None or value == ()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", JUDGEMENTS)
def test_inputs_that_differ_in_anything_have_different_keys(name: str, form: str) -> None:
    judgement = JUDGEMENTS[name]
    inputs = inputs_of(judgement, FORMS[form])
    keys = {key_of(judgement, inputs, JUDGE): "as it is"}
    for where, changed in with_one_change(inputs, None):
        key = key_of(judgement, changed, JUDGE)
        assert key not in keys, f"{where} does not count, or counts as {keys[key]}"
        keys[key] = where
    assert len(keys) >= len(type(inputs).model_fields)


@pytest.mark.parametrize("name", JUDGEMENTS)
def test_equal_inputs_have_equal_keys(name: str) -> None:
    judgement = JUDGEMENTS[name]
    named_otherwise = SAMPLE.model_copy(update={"id": "another id"})
    inputs = inputs_of(judgement, {})
    same = inputs_of(judgement, {}, named_otherwise)
    assert key_of(judgement, inputs, JUDGE) == key_of(judgement, same, JUDGE)


def test_other_names_versions_and_judges_have_other_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    judgement = JUDGEMENTS["support"]
    inputs = inputs_of(judgement, {})
    keys = {key_of(judgement, inputs, JUDGE), key_of(judgement, inputs, {"model": "3" * 64})}
    keys.add(key_of(JUDGEMENTS["support_hhem"], inputs, JUDGE))
    monkeypatch.setattr(judgement, "version", "999")
    keys.add(key_of(judgement, inputs, JUDGE))
    assert len(keys) == 4


def test_what_a_judgement_does_not_read_is_not_in_its_key() -> None:
    """Two samples that differ in the response alone share what is judged of their contexts."""
    other = SAMPLE.model_copy(update={"response": "Nobody knows."})
    for name in ("needed", "useful", "reference_statements"):
        judgement = JUDGEMENTS[name]
        assert inputs_of(judgement, {}) == inputs_of(judgement, {}, other)
