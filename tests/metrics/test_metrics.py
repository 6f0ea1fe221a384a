"""Every metric on fakes: each expected number is a counted fraction, each cell of the edge table a test."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from localeval import METRICS, Sample, Score, evaluate
from localeval.errors import InputError
from localeval.judgements import JUDGEMENTS, Choices
from localeval.judgements.needed_sentences import NeededRecord, NeededSentence
from localeval.judgements.questions import Drawn, QuestionsRecord
from localeval.judgements.reading import GroundingRecord, ReadSentence
from localeval.judgements.similarity import SimilarityRecord
from localeval.judgements.statements import StatementsRecord
from localeval.judgements.support import SupportRecord, Verdict
from localeval.judgements.useful_contexts import UsefulRecord
from localeval.metrics import Metric, register
from localeval.options import Options
from localeval.report.text import explain_reasons
from localeval.testing import FakeClassifier, FakeEmbedder, FakeEngine, fake_judge
from tests.commands import said


def verdicts(*shares: float) -> SupportRecord:
    return SupportRecord(verdicts=tuple(Verdict(statement="s", sentence=0, probability=p) for p in shares))


def needed(answerable: float, *shares: float) -> dict[str, Any]:
    sentences = (NeededSentence(text="s", context=0, start=0, end=1, probability=p) for p in shares)
    return {"needed": NeededRecord(sentences=tuple(sentences), answerable=answerable)}


def useful(*shares: float) -> dict[str, Any]:
    return {"useful": UsefulRecord(contexts=shares, against="reference")}


def compared(response: list[float], reference: list[float]) -> dict[str, Any]:
    return {"response_in_reference": verdicts(*response), "reference_in_response": verdicts(*reference)}


def drawn(cosines: tuple[float, ...], sufficient: float, *of_draws: float) -> dict[str, Any]:
    draws = tuple(Drawn(question="Q?", sufficient=p) for p in of_draws or [sufficient] * len(cosines))
    questions = QuestionsRecord(draws=draws, distinct=1 / len(draws), sufficient=sufficient)
    return {"questions": questions, "similarity": SimilarityRecord(cosines=cosines)}


def score(name: str, records: Mapping[str, Any], **options: Any) -> Score:
    return METRICS[name].compute(records, Options.read(options)).checked()


# Worked values: (metric, its records, options) -> value, soft
CORRECT = compared([0.9, 0.8, 0.1, 0.2], [0.7, 0.3])
SILENT = compared([], [0.0, 0.0])
# Four statements: supported and right, supported and wrong, right only, neither.
FOUR = {"support": verdicts(0.9, 0.5, 0.1, 0.2), "response_in_reference": verdicts(0.7, 0.4, 0.5, 0.1)}
RECALL = {"reference_in_contexts": verdicts(0.9, 0.5, 0.2), "reference_in_response": verdicts(0.5, 0.1, 0.9)}
NO_RECALL = {**RECALL, "reference_in_contexts": verdicts(0.1, 0.1, 0.1)}
ZERO_RECALL = {**RECALL, "reference_in_contexts": verdicts(0.0, 0.0, 0.0)}
ASKED = drawn((0.8, 0.4), 0.5, 0.9, 0.2)


@pytest.mark.parametrize(
    ("name", "records", "options", "value", "soft"),
    [
        ("full_support", {"support": verdicts(0.9, 0.8, 0.8)}, {}, 1, (0.9 * 0.8 * 0.8) ** (1 / 3**0.5)),
        ("full_support", {"support": verdicts(0.9, 0.9, 0.5)}, {}, 1, 0.5),  # at most the least
        ("faithfulness", {"support": verdicts(0.75, 0.5, 0.25)}, {}, 2 / 3, 1 / 2),  # 0.5 counts as yes
        ("factual_correctness", CORRECT, {"mode": "precision"}, 2 / 4, 2 / 4),
        ("factual_correctness", CORRECT, {"mode": "recall"}, 1 / 2, 1 / 2),
        ("factual_correctness", CORRECT, {"threshold": 0.25, "beta": 2.0}, 5 * 2 / 4 / (2 + 1), 1 / 2),
        ("factual_correctness", compared([1 - 2**-52], [1.0]), {"beta": 1.3}, 1, 1),  # and not a bit more
        ("factual_correctness", SILENT, {}, 0, 0),
        *(("factual_correctness", compared([p], [r]), {}, 0, 0) for p, r in ((0, 1), (1, 0), (0, 0))),
        ("context_recall", RECALL, {}, 2 / 3, 1.6 / 3),
        ("context_utilization", RECALL, {}, 1 / 2, (0.9 * 0.5 + 0.5 * 0.1 + 0.2 * 0.9) / 1.6),
        ("noise_sensitivity", FOUR, {}, 1 / 4, (0.9 * 0.3 + 0.5 * 0.6 + 0.1 * 0.5 + 0.2 * 0.9) / 4),
        ("hallucination", FOUR, {}, 1 / 4, (0.1 * 0.3 + 0.5 * 0.6 + 0.9 * 0.5 + 0.8 * 0.9) / 4),
        ("self_knowledge", FOUR, {}, 1 / 4, (0.1 * 0.7 + 0.5 * 0.4 + 0.9 * 0.5 + 0.8 * 0.1) / 4),
        # Needed are the most probable and those near it, from 0.25 on; below 0.7 the contexts can't answer.
        ("context_relevance", needed(0.9, 0.8, 0.1, 0.3), {}, 1 / 3, 0.9 * 0.4),
        ("context_relevance", needed(0.9, 0.4, 0.1, 0.38), {}, 2 / 3, 0.9 * 0.88 / 3),
        ("context_relevance", needed(0.9, 0.25, 0.24), {}, 1 / 2, 0.9 * 0.49 / 2),
        ("context_relevance", needed(0.4, 0.8, 0.9), {}, 0, 0.4 * 0.85),
        ("context_precision", useful(0.5, 0.0, 1.0), {}, (1 + 2 / 3) / 2, (0.5 * 0.5 + 1.5 / 3) / 1.5),
        ("context_precision", useful(0.0, 0.0), {}, 0, 0),
        ("answer_relevance", ASKED, {"relevance": "question"}, 1.2 / 2, 0.5 * 1.2 / 2),
        ("answer_relevance", ASKED, {"relevance": "draws"}, 0.8 / 2, (0.8 * 0.9 + 0.4 * 0.2) / 2),
        ("answer_relevance", ASKED, {"relevance": "ragas"}, 1.2 / 2, 0.9 * 1.2 / 2),
        ("answer_relevance", ASKED, {"threshold": 0.7}, 0, 0.3),
        ("answer_relevance", drawn((1.5, -0.1), 1.0), {}, 0.7, 0.7),  # only the mean is clipped
        ("answer_relevance", drawn((1.5, 0.9), 1.0), {}, 1, 1),
    ],
)
def test_a_metric_is_the_fraction_that_it_is_defined_as(
    name: str, records: dict[str, Any], options: dict[str, Any], value: float, soft: float
) -> None:
    computed = score(name, records, **options)
    assert (computed.value, computed.soft) == pytest.approx((value, soft))


def test_a_head_says_no_more_of_a_response_than_of_its_least_sentence() -> None:
    """Whatever its record says: one sentence at 0.2 among twenty does not pass."""
    shares = [0.97] * 19 + [0.2]
    sentences = tuple(
        ReadSentence(sentence="s", start=0, end=1, probability=p, overlap=(1.0, 1.0, 0.0, 0.0, 1.0))
        for p in shares
    )
    reading = GroundingRecord(sentences=sentences, all_supported=0.7, language="en")
    assert score("groundedness", {"grounding": reading}) == Score(0.0, 0.2)
    support = verdicts(*shares).model_copy(update={"by": "head", "all_supported": 0.7})
    assert score("full_support", {"support": support}) == Score(0.0, 0.2)


def test_a_metric_is_undefined_where_nothing_can_be_counted() -> None:
    for name, records, options, reason in (
        ("context_recall", {"reference_in_contexts": verdicts()}, {}, "no_reference_statements"),
        ("factual_correctness", SILENT, {"mode": "precision"}, "no_statements"),
        ("context_utilization", NO_RECALL, {}, "nothing_retrieved"),
        ("context_utilization", ZERO_RECALL, {"threshold": 0.0}, "nothing_retrieved"),
    ):
        assert score(name, records, **options) == Score.undefined(reason), name


@pytest.mark.parametrize(("threshold", "least"), [(0.0, 0.4), (0.5, 0.7), (0.75, 0.85), (1.0, 1.0)])
def test_contexts_answer_from_two_fifths_above_the_threshold(threshold: float, least: float) -> None:
    for answerable, value in ((least + 1e-9, 1.0), (least - 1e-9, 0.0)):
        assert score("context_relevance", needed(answerable, 0.9), threshold=threshold).value == value


QUESTION = "Where is tea grown?"
CONTEXTS = ["Tea is grown in Assam. It is green.", "Coffee is brown."]
FULL: dict[str, Any] = {"user_input": QUESTION, "response": "In Assam.", "reference": "In Assam."}
FULL["retrieved_contexts"] = CONTEXTS
LONGER = {**FULL, "response": "Tea is grown in Assam, above a wide old river."}
OF_RESPONSE = ["faithfulness", "faithfulness_hhem", "full_support", "answer_relevance", "noise_sensitivity"]
OF_RESPONSE += ["hallucination", "self_knowledge"]


def idle(name: str, sample: dict[str, Any]) -> Score:
    """The score by a judge that may not be asked."""
    return fake_judge(FakeEngine([])).score(name, sample)


def test_context_relevance_asks_once_for_the_question_and_once_for_each_sentence() -> None:
    engine = FakeEngine([{"verdict": p} for p in (0.9, 0.8, 0.1, 0.2)])
    assert fake_judge(engine).score("context_relevance", FULL).value == 1 / 3
    sentences = ["Tea is grown in Assam.", "It is green.", "Coffee is brown."]
    assert [item.strip() for item in engine.calls[0].items[1:]] == [f"Sentence: {s}" for s in sentences]


def test_answer_relevance_asks_for_the_real_question_and_draws_without_showing_it() -> None:
    """A brief answer stands beside the real question in the sentence that the two make, and there alone."""
    other, long = "What grows in Assam?", LONGER["response"]
    draws = [{"question": question, "sufficient": 0.9} for question in (QUESTION, QUESTION, other)]
    brief = {**FULL, "response": long[:-1]}  # 45 letters
    for answer, statements in ((brief, [{"statements": [long]}]), (LONGER, [])):
        engine = FakeEngine([*statements, {"sufficient": 0.8}, *draws])
        embedder = FakeEmbedder({QUESTION: (1, 0), other: (3, 4)})
        result = evaluate([answer], ["answer_relevance"], fake_judge(engine, embedder), questions=3)
        assert result.scores[0]["answer_relevance"].soft == pytest.approx(0.8 * (1 + 1 + 3 / 5) / 3)
        assert result.to_dict()["samples"][0]["records"]["questions"]["distinct"] == 2 / 3
        *_, asked, draw = engine.calls
        assert QUESTION in asked.items[0]
        assert QUESTION not in draw.context + "".join(draw.items)
        assert asked.context == draw.context.replace(answer["response"], long)
        assert embedder.calls == [(QUESTION, QUESTION, other)]  # once a sample, each question once


def test_the_same_answer_to_another_question_is_asked_about_again() -> None:
    first, second = QUESTION, "Who grows tea?"
    draw = {"question": first, "sufficient": 0.9}
    engine = FakeEngine([{"sufficient": 0.9}, draw, {"sufficient": 0.1}, draw])
    judge = fake_judge(engine, FakeEmbedder({first: (1, 0), second: (1, 0)}))
    samples = [{**LONGER, "user_input": asked} for asked in (first, second)]
    result = evaluate(samples, ["answer_relevance"], judge, questions=1)
    assert [scores["answer_relevance"].value for scores in result.scores] == [1, 0]


def test_an_analysis_stands_before_the_flag_where_it_is_asked_for() -> None:
    draw = {"question": QUESTION, "analysis": "It says where.", "sufficient": 0.9}
    engine = FakeEngine([{"analysis": "It names the place.", "sufficient": 0.8}, draw])
    judge = fake_judge(engine, FakeEmbedder({QUESTION: (1, 0)}))
    evaluate([LONGER], ["answer_relevance"], judge, questions=1, verdict="reasoned")
    fields = [list(call.schema.model_fields) for call in engine.calls]
    assert fields == [["analysis", "sufficient"], ["question", "analysis", "sufficient"]]


@pytest.mark.parametrize(
    ("reference", "against"), [("In Assam.", "In Assam."), (" ", "In Kodagu."), (None, "In Kodagu.")]
)
def test_contexts_are_held_against_reference_or_response(reference: str | None, against: str) -> None:
    engine = FakeEngine([{"verdict": 0.2}, {"verdict": 0.9}])
    contexts = ["Coffee is brown.", " ", "Tea: Assam."]
    sample = {**FULL, "response": "In Kodagu.", "reference": reference, "retrieved_contexts": contexts}
    # The blank context is of no use, unasked: the only useful one stands third.
    assert fake_judge(engine).score("context_precision", sample).value == 1 / 3
    assert f"<answer>\n{against}\n</answer>" in engine.calls[0].context


def test_all_metrics_together_make_no_judgement_twice() -> None:
    response, reference = "Tea is grown in Assam.", "Tea is grown in Kodagu."
    of_response: list[Any] = [{"statements": [response]}, {"verdict": 0.9}]  # in the contexts
    of_reference: list[Any] = [{"statements": [reference]}, {"verdict": 0.2}]  # in the contexts
    each_in_the_other = [{"verdict": 0.8}, {"verdict": 0.3}]
    engine = FakeEngine([*of_response, *of_reference, *each_in_the_other])
    sample = {**FULL, "response": response, "reference": reference}
    names = ["faithfulness", "context_recall", "factual_correctness", "noise_sensitivity"]
    names += ["hallucination", "self_knowledge"]
    judge = fake_judge(engine)
    values = [score.value for score in evaluate([sample], names, judge).scores[0].values()]
    judge.close()  # raises if an answer is left over
    assert values == [1, 0, 0, 0, 0, 0]


def test_hhem_decides_where_it_is_asked_to_and_where_judge_and_hhem_differ_is_listed() -> None:
    sample = {"id": "a", "response": "Tea is green. Tea is blue.", "retrieved_contexts": CONTEXTS}
    classifier = FakeClassifier({"Tea is green.": 0.9, "Tea is blue.": 0.2})
    judge = fake_judge(FakeEngine([{"verdict": 0.8}, {"verdict": 0.7}]), classifier=classifier)
    by_option = judge.score("faithfulness", sample, statements="sentences", support_by="hhem")
    metrics = ["faithfulness", "faithfulness_hhem"]
    result = evaluate([sample], metrics, judge, statements="sentences")
    assert result.scores[0]["faithfulness_hhem"] == by_option
    assert (by_option.value, by_option.soft) == pytest.approx((1 / 2, 1.1 / 2))
    (case,) = result.disagreements()
    assert (case.sample, case.statement, case.judge, case.classifier) == ("a", "Tea is blue.", 0.7, 0.2)
    higher = fake_judge(FakeEngine([{"verdict": 0.8}, {"verdict": 0.7}]), classifier=classifier)
    result = evaluate([sample], metrics, higher, statements="sentences", threshold=0.85)
    (case,) = result.disagreements()  # at the run's own threshold
    assert (case.statement, case.judge, case.classifier) == ("Tea is green.", 0.8, 0.9)


@pytest.mark.parametrize("name", METRICS)
def test_a_missing_or_empty_column_is_undefined_by_its_name(name: str) -> None:
    for column in METRICS[name].columns:
        sample = {key: value for key, value in FULL.items() if key != column}
        assert idle(name, sample) == Score.undefined(f"missing_{column}")
        if column == "reference":
            assert idle(name, {**FULL, column: " "}) == Score.undefined("missing_reference")
        for contexts in ([], ["", " \n"], ["---", "..."]) if column == "retrieved_contexts" else ():
            assert idle(name, {**FULL, column: contexts}) == Score.undefined("no_contexts")
    for response in ("", "...") if name in OF_RESPONSE else ():
        assert idle(name, {**FULL, "response": response}) == Score.undefined("no_statements")
    for reference, response in ((None, ""), ("---", "<think>Hm.</think>")) if METRICS[name].either else ():
        sample = {**FULL, "reference": reference, "response": response}
        assert idle(name, sample) == Score.undefined("missing_reference")


def test_a_record_hangs_on_the_prompt_in_the_language_of_its_text() -> None:
    choices = Choices(Options())
    sample = Sample(**{**FULL, "user_input": "茶？", "response": "1937", "reference": "Tea grows."})
    in_chinese = StatementsRecord(sentences=(), language="zh")
    in_english = StatementsRecord(sentences=(), language="en")
    records = {"statements": in_chinese, "reference_statements": in_english}
    for name in ("statements", "questions", "needed", "useful"):
        inputs: Any = JUDGEMENTS[name].inputs(sample, records, choices)
        assert inputs.prompt == Options().prompt(name, "zh")
    inputs = JUDGEMENTS["reference_statements"].inputs(sample, records, choices)
    assert inputs.prompt == Options().prompt("statements", "en")
    for name, language in (
        ("support", "zh"),
        ("response_in_reference", "zh"),
        ("reference_in_response", "en"),
    ):
        inputs = JUDGEMENTS[name].inputs(sample, records, choices)
        assert inputs.decider.prompt == Options().prompt("support", language)


def test_a_text_that_claims_nothing_recalls_and_supports_nothing() -> None:
    for response, asked in (("Where?", [{"verdict": 0.9}]), ("...", [])):
        judge = fake_judge(FakeEngine([{"statements": ["Tea is grown in Assam."]}, *asked]))
        assert judge.score("factual_correctness", {**FULL, "response": response}) == Score(0.0, 0.0)
    judge, silent = fake_judge(FakeEngine([{"verdict": 0.9}])), {**FULL, "reference": "---"}
    assert judge.score("noise_sensitivity", silent, statements="sentences") == Score(1.0, 0.9)


def add_metric(monkeypatch: pytest.MonkeyPatch, columns: tuple[str, ...], *scores: Any) -> None:
    metric = Metric("mine", "1", columns, (), Mock(side_effect=scores), "mine")
    monkeypatch.setitem(METRICS, "mine", metric)


def test_no_score_and_an_unknown_judgement_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    status: Any = "skipped"
    bad = [Score(0.5, float("nan")), Score(0.5, 2.0), Score(None, 0.5), Score(None, None)]
    for score in (*bad, Score(0.5, 0.5, "undefined"), Score(None, None, status)):
        add_metric(monkeypatch, (), score)
        with pytest.raises(ValueError, match="no possible score"):
            evaluate([FULL], ["mine"], fake_judge(FakeEngine([])))
    mood = Metric("mood", "1", (), ("moods",), lambda records, options: Score(1.0, 1.0), "m")
    assert "moods" in said(InputError, register, mood)
    for name in ("id", "mine_soft", "a,b", "a=b", ""):  # a column's, or none that an option could name
        assert repr(name) in said(InputError, register, replace(mood, name=name))


def test_a_users_metric_has_its_own_column_reason_and_numpy_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    numpys: Any = (np.float32(0.5), np.float64(1))
    add_metric(monkeypatch, ("mood",), Score(*numpys), Score.undefined("too_short"))
    samples = [{"mood": "good"}, {"mood": "bad"}, {"response": "Tea."}]
    result = evaluate(samples, ["mine"], fake_judge(FakeEngine([])))
    assert json.loads(result.to_json())["samples"][0]["scores"]["mine"]["value"] == 0.5
    assert [row["mine"].reason for row in result.scores] == ["", "too_short", "missing_mood"]
    assert "too_short" in explain_reasons(result)
