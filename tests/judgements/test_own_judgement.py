"""A judgement of one's own: this file adds one with its prompts and a metric, as any user may."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from localeval import (
    METRICS,
    InputError,
    Metric,
    Sample,
    Score,
    evaluate,
    register,
    register_judgement,
    rescore,
)
from localeval.judgements import (
    JUDGEMENTS,
    Choices,
    Inputs,
    Judgement,
    Models,
    PromptBySha256,
    PromptForm,
    Record,
    Records,
)
from localeval.judgements.decision import Decision, DecisionContext
from localeval.options import Options
from localeval.prompts import PROMPTS
from localeval.testing import FakeEngine, fake_judge
from localeval.text.language import language
from tests.commands import said
from tests.steady import SteadyEngine, steady_judge

ENGLISH = """
version = "1"
system = "Say whether an answer is polite."
context = "<answer>{response}</answer>"
[items]
verdict = "Is it polite?"
[[examples]]
response = "Go away."
items = [{ verdict = "no" }]
"""
CHINESE = """
version = "1"
system = "请判断回答是否有礼貌。"
context = "<answer>{response}</answer>"
[items]
verdict = "有礼貌吗?"
[[examples]]
response = "走开。"
items = [{ verdict = "no" }]
"""


class PoliteReply(BaseModel):
    verdict: Literal["yes", "no"]


PROMPT = PromptForm("polite", replies={"verdict": PoliteReply}, texts={"en": ENGLISH, "zh": CHINESE})


class PoliteInputs(Inputs):
    response: str
    prompt: PromptBySha256


class PoliteRecord(Record):
    response: str
    probability: float

    decides = "other"
    texts_of = "response"

    def decisions(self, context: DecisionContext) -> tuple[Decision, ...]:
        is_yes = self.probability >= context.threshold
        return (Decision(text=self.response, label="polite", probability=self.probability, is_yes=is_yes),)


class Polite(Judgement[PoliteInputs, PoliteRecord]):
    name = "polite"
    version = "1"
    record = PoliteRecord
    prompts = (PROMPT,)

    def inputs(self, sample: Sample, records: Records, choices: Choices) -> PoliteInputs:
        response = sample.response or ""
        return PoliteInputs(response=response, prompt=choices.options.prompt("polite", language(response)))

    def ask(self, inputs: PoliteInputs, models: Models) -> PoliteRecord:
        prompt = inputs.prompt
        [reply] = models.engine.generate(
            prompt.prefix("verdict", PoliteReply),
            prompt.render_context(response=inputs.response),
            [prompt.render_item("verdict")],
            PoliteReply,
            budget=0,
        )
        return PoliteRecord(response=inputs.response, probability=reply.probabilities["verdict"]["yes"])


def politeness(records: Mapping[str, Any], options: Options) -> Score:
    probability = records["polite"].probability
    return Score(float(probability >= options.threshold), probability)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    tables: list[dict[str, Any]] = [JUDGEMENTS, PROMPTS, METRICS]
    before = [dict(table) for table in tables]
    register_judgement(Polite())
    register(Metric("politeness", "1", ("response",), ("polite",), politeness, "1 if the answer is polite"))
    yield
    for table, content in zip(tables, before, strict=True):
        table.clear()
        table.update(content)


SAMPLES = [{"id": "en", "response": "Thank you."}, {"id": "zh", "response": "谢谢您的提问。"}]


def test_it_is_asked_in_the_language_of_the_response() -> None:
    engine = FakeEngine([{"verdict": 0.75}, {"verdict": 0.25}])
    result = evaluate(SAMPLES, ["politeness"], fake_judge(engine))
    assert [scores["politeness"].soft for scores in result.scores] == [0.75, 0.25]
    assert [call.prefix.system for call in engine.calls] == [
        "Say whether an answer is polite.",
        "请判断回答是否有礼貌。",
    ]
    assert engine.calls[0].prefix.examples == (
        ("<answer>Go away.</answer>Is it polite?", '{"verdict":"no"}'),
    )


def test_its_records_are_in_the_journal_and_are_scored_again_without_a_model(tmp_path: Path) -> None:
    engine = FakeEngine([{"verdict": 0.75}, {"verdict": 0.25}])
    judge = fake_judge(engine)
    evaluate(SAMPLES, ["politeness"], judge, tmp_path)
    evaluate(SAMPLES, ["politeness"], judge, tmp_path)
    assert len(engine.calls) == 2
    again = rescore(tmp_path, threshold=0.8)
    assert [scores["politeness"].value for scores in again.scores] == [0.0, 0.0]


def test_workers_make_it_too(tmp_path: Path) -> None:
    alone = evaluate(SAMPLES, ["politeness"], steady_judge(SteadyEngine()))
    by_workers = evaluate(SAMPLES, ["politeness"], steady_judge(SteadyEngine()), tmp_path, workers=2)
    assert by_workers.scores == alone.scores
    assert [scores["politeness"].status for scores in by_workers.scores] == ["scored", "scored"]


def test_workers_can_not_make_one_whose_class_stands_in_a_function() -> None:
    class LocalPolite(Polite):
        pass

    register_judgement(LocalPolite())
    judge = steady_judge(SteadyEngine())
    message = said(InputError, evaluate, SAMPLES, ["politeness"], judge, workers=2)
    assert "can't make the judgement polite, as its class stands in a function" in message


def test_the_signature_names_it_and_its_prompts() -> None:
    result = evaluate(SAMPLES[:1], ["politeness"], fake_judge(FakeEngine([{"verdict": "yes"}])))
    assert result.signature.judgements == {"polite": "1"}
    assert result.signature.prompts.keys() == {"polite/en", "polite/zh"}


def test_the_page_shows_its_decision(tmp_path: Path) -> None:
    evaluate(SAMPLES[:1], ["politeness"], fake_judge(FakeEngine([{"verdict": 0.75}])), tmp_path)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "polite" in page


def test_its_prompt_can_be_replaced_for_a_run_and_another_prompt_is_another_key(tmp_path: Path) -> None:
    engine = FakeEngine([{"verdict": "yes"}, {"verdict": "no"}])
    judge = fake_judge(engine)
    changed = ENGLISH.replace("Say whether", "Tell whether")
    evaluate(SAMPLES[:1], ["politeness"], judge, tmp_path)
    evaluate(SAMPLES[:1], ["politeness"], judge, tmp_path, prompts={"polite": {"en": changed}})
    assert [call.prefix.system[:4] for call in engine.calls] == ["Say ", "Tell"]


def test_a_replacement_with_an_answer_that_its_reply_can_not_have_is_refused() -> None:
    wrong = ENGLISH.replace('verdict = "no"', 'verdict = "rather not"')
    message = said(InputError, Options.read, {"prompts": {"polite": {"en": wrong}}})
    assert "example 1: its verdict can't be 'rather not'" in message


def test_a_prompt_in_one_language_serves_for_the_other_too() -> None:
    only_chinese = PromptForm("polite", replies={"verdict": PoliteReply}, texts={"zh": CHINESE})

    class ChinesePolite(Polite):
        prompts = (only_chinese,)

    register_judgement(ChinesePolite())
    engine = FakeEngine([{"verdict": "yes"}])
    evaluate(SAMPLES[:1], ["politeness"], fake_judge(engine))
    assert engine.calls[0].prefix.system == "请判断回答是否有礼貌。"


def test_a_prompt_can_be_given_by_its_path(tmp_path: Path) -> None:
    file = tmp_path / "polite.toml"
    file.write_text(ENGLISH, encoding="utf-8")

    class PoliteByPath(Polite):
        prompts = (PromptForm("polite", replies={"verdict": PoliteReply}, texts={"en": file}),)

    register_judgement(PoliteByPath())
    assert Options().prompt("polite", "en").system == "Say whether an answer is polite."


def test_a_worked_example_of_an_own_prompt_is_checked_when_it_is_registered() -> None:
    wrong = ENGLISH.replace('{ verdict = "no" }', '{ verdikt = "no" }')

    class WrongPolite(Polite):
        prompts = (PromptForm("polite", replies={"verdict": PoliteReply}, texts={"en": wrong}),)

    assert "example 1: verdikt is not known" in said(InputError, register_judgement, WrongPolite())


def test_a_need_that_does_not_exist_is_refused_with_the_nearest_name() -> None:
    class NeedyPolite(Polite):
        needs = ("statement",)

    assert "did you mean statements?" in said(InputError, register_judgement, NeedyPolite())


def test_a_name_that_is_no_word_is_refused() -> None:
    class NamelessPolite(Polite):
        name = "very polite"

    assert "'very polite' can't be a judgement's name" in said(
        InputError, register_judgement, NamelessPolite()
    )


def test_a_record_with_the_field_of_failures_is_refused() -> None:
    class FailingRecord(PoliteRecord):
        failed: str = ""

    class FailingPolite(Polite):
        record = FailingRecord

    assert "has a field `failed`" in said(InputError, register_judgement, FailingPolite())


def test_a_judgement_without_its_own_answer_fails_and_the_metric_says_why() -> None:
    from localeval.engine.interface import EngineError

    result = evaluate(SAMPLES[:1], ["politeness"], fake_judge(FakeEngine([EngineError("broken")])))
    assert result.scores[0]["politeness"] == Score.failed("engine_error")
