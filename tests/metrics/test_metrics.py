"""Every metric on fakes: each expected number is a counted fraction, each cell of the edge table a test."""

import json
from collections.abc import Mapping
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
from localeval.judgements.semantic_similarity import SemanticSimilarityRecord
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


def assert_score(computed: Score, value: float, soft: float) -> None:
    assert (computed.value, computed.soft) == pytest.approx((value, soft))


def test_faithfulness_is_the_share_of_supported_statements() -> None:
    """0.5 counts as yes."""
    records = {"support": verdicts(0.75, 0.5, 0.25)}
    assert_score(score("faithfulness", records), value=2 / 3, soft=1.5 / 3)


def test_full_support_is_1_where_every_statement_is_supported() -> None:
    computed = score("full_support", {"support": verdicts(0.9, 0.8, 0.8)})
    assert_score(computed, value=1, soft=(0.9 * 0.8 * 0.8) ** (1 / 3**0.5))


def test_full_support_is_at_most_as_probable_as_the_least_probable_statement() -> None:
    assert_score(score("full_support", {"support": verdicts(0.9, 0.9, 0.5)}), value=1, soft=0.5)


# Two of four statements of the response are correct, and one of two of the reference.
CORRECT = compared(response=[0.9, 0.8, 0.1, 0.2], reference=[0.7, 0.3])


def test_factual_precision_is_the_share_of_correct_statements_of_the_response() -> None:
    assert_score(score("factual_correctness", CORRECT, mode="precision"), value=2 / 4, soft=2.0 / 4)


def test_factual_recall_is_the_share_of_the_references_statements_that_the_response_has() -> None:
    assert_score(score("factual_correctness", CORRECT, mode="recall"), value=1 / 2, soft=1.0 / 2)


def test_answer_correctness_is_three_quarters_of_the_f1_and_a_quarter_of_the_similarity() -> None:
    """Precision and recall are 2/4 and 1/2, so F1 is 1/2; the mode of factual_correctness changes nothing."""
    records = CORRECT | {"semantic_similarity": SemanticSimilarityRecord(cosine=0.8)}
    expected = 0.75 * (1 / 2) + 0.25 * 0.8
    assert_score(score("answer_correctness", records), value=expected, soft=expected)
    assert_score(score("answer_correctness", records, mode="precision"), value=expected, soft=expected)


def test_answer_correctness_is_undefined_where_the_reference_states_nothing() -> None:
    records = compared(response=[0.9], reference=[]) | {
        "semantic_similarity": SemanticSimilarityRecord(cosine=0.8)
    }
    assert score("answer_correctness", records) == Score.undefined("no_reference_statements")


def test_context_usefulness_is_the_share_of_useful_contexts_whatever_their_ranks() -> None:
    first = score("context_usefulness", useful(0.9, 0.1, 0.2))
    last = score("context_usefulness", useful(0.1, 0.2, 0.9))
    assert_score(first, value=1 / 3, soft=1.2 / 3)
    assert_score(last, value=1 / 3, soft=1.2 / 3)


def test_factual_correctness_is_f_beta() -> None:
    """From 0.25 on, precision is 2/4 and recall 2/2: (1 + 4) * 2/4 * 1 / (4 * 2/4 + 1)."""
    computed = score("factual_correctness", CORRECT, threshold=0.25, beta=2.0)
    assert_score(computed, value=5 * (2 / 4) / (2 + 1), soft=1 / 2)


def test_f_beta_is_never_above_1_by_rounding() -> None:
    records = compared(response=[1 - 2**-52], reference=[1.0])
    assert score("factual_correctness", records, beta=1.3).value == 1


@pytest.mark.parametrize(("precision", "recall"), [(0, 1), (1, 0), (0, 0)])
def test_f_beta_is_0_where_precision_or_recall_is_0(precision: float, recall: float) -> None:
    records = compared(response=[precision], reference=[recall])
    assert_score(score("factual_correctness", records), value=0, soft=0)


SILENT = compared(response=[], reference=[0.0, 0.0])


def test_a_response_without_statements_is_factually_correct_in_nothing() -> None:
    assert_score(score("factual_correctness", SILENT), value=0, soft=0)


# Three statements of the reference: the contexts support two, and the response has one of these.
RECALL = {
    "reference_in_contexts": verdicts(0.9, 0.5, 0.2),
    "reference_in_response": verdicts(0.5, 0.1, 0.9),
}


def test_context_recall_is_the_share_of_the_references_statements_that_the_contexts_support() -> None:
    assert_score(score("context_recall", RECALL), value=2 / 3, soft=1.6 / 3)


def test_context_utilization_is_the_share_of_what_the_contexts_support_that_the_response_has() -> None:
    soft = (0.9 * 0.5 + 0.5 * 0.1 + 0.2 * 0.9) / (0.9 + 0.5 + 0.2)
    assert_score(score("context_utilization", RECALL), value=1 / 2, soft=soft)


# Four statements: supported and right, supported and wrong, right only, neither.
FOUR_KINDS = {
    "support": verdicts(0.9, 0.5, 0.1, 0.2),
    "response_in_reference": verdicts(0.7, 0.4, 0.5, 0.1),
}


def test_noise_sensitivity_is_the_share_of_supported_and_wrong_statements() -> None:
    soft = (0.9 * 0.3 + 0.5 * 0.6 + 0.1 * 0.5 + 0.2 * 0.9) / 4
    assert_score(score("noise_sensitivity", FOUR_KINDS), value=1 / 4, soft=soft)


def test_hallucination_is_the_share_of_statements_that_neither_contexts_nor_reference_support() -> None:
    soft = (0.1 * 0.3 + 0.5 * 0.6 + 0.9 * 0.5 + 0.8 * 0.9) / 4
    assert_score(score("hallucination", FOUR_KINDS), value=1 / 4, soft=soft)


def test_self_knowledge_is_the_share_of_statements_that_only_the_reference_supports() -> None:
    soft = (0.1 * 0.7 + 0.5 * 0.4 + 0.9 * 0.5 + 0.8 * 0.1) / 4
    assert_score(score("self_knowledge", FOUR_KINDS), value=1 / 4, soft=soft)


def test_context_relevance_counts_the_most_probable_sentence() -> None:
    computed = score("context_relevance", needed(0.9, 0.8, 0.1, 0.3))
    assert_score(computed, value=1 / 3, soft=0.9 * 1.2 / 3)


def test_context_relevance_counts_sentences_almost_as_probable_as_the_most_probable_one() -> None:
    computed = score("context_relevance", needed(0.9, 0.4, 0.1, 0.38))
    assert_score(computed, value=2 / 3, soft=0.9 * 0.88 / 3)


def test_context_relevance_counts_sentences_from_a_probability_of_0_25_on() -> None:
    computed = score("context_relevance", needed(0.9, 0.25, 0.24))
    assert_score(computed, value=1 / 2, soft=0.9 * 0.49 / 2)


def test_context_relevance_is_0_where_the_contexts_do_not_answer() -> None:
    computed = score("context_relevance", needed(0.4, 0.8, 0.9))
    assert_score(computed, value=0, soft=0.4 * 1.7 / 2)


def test_context_precision_is_the_mean_of_precision_at_the_ranks_of_useful_contexts() -> None:
    """The first and the third are useful: precision@1 is 1, precision@3 is 2/3."""
    computed = score("context_precision", useful(0.5, 0.0, 1.0))
    assert_score(computed, value=(1 + 2 / 3) / 2, soft=(0.5 * 0.5 / 1 + 1.0 * 1.5 / 3) / 1.5)


def test_context_precision_is_0_where_no_context_is_useful() -> None:
    assert_score(score("context_precision", useful(0.0, 0.0)), value=0, soft=0)


# Two drawn questions: the first is answered sufficiently, the second is not; the real one is, barely.
DRAWN = drawn((0.8, 0.4), 0.5, 0.9, 0.2)


def test_answer_relevance_is_the_mean_cosine_where_the_real_question_is_answered() -> None:
    computed = score("answer_relevance", DRAWN, relevance="question")
    assert_score(computed, value=1.2 / 2, soft=0.5 * 1.2 / 2)


def test_answer_relevance_may_count_only_the_drawn_questions_that_are_answered() -> None:
    computed = score("answer_relevance", DRAWN, relevance="draws")
    assert_score(computed, value=0.8 / 2, soft=(0.8 * 0.9 + 0.4 * 0.2) / 2)


def test_answer_relevance_may_count_all_draws_where_one_is_answered_as_ragas_does() -> None:
    computed = score("answer_relevance", DRAWN, relevance="ragas")
    assert_score(computed, value=1.2 / 2, soft=0.9 * 1.2 / 2)


def test_answer_relevance_is_0_where_the_real_question_is_not_answered() -> None:
    assert_score(score("answer_relevance", DRAWN, threshold=0.7), value=0, soft=0.5 * 1.2 / 2)


def test_answer_relevance_clips_the_mean_of_the_cosines_and_no_cosine() -> None:
    assert_score(score("answer_relevance", drawn((1.5, -0.1), 1.0)), value=0.7, soft=0.7)
    assert_score(score("answer_relevance", drawn((1.5, 0.9), 1.0)), value=1, soft=1)


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


def test_recall_is_undefined_for_a_reference_without_statements() -> None:
    records = {"reference_in_contexts": verdicts()}
    assert score("context_recall", records) == Score.undefined("no_reference_statements")


def test_precision_is_undefined_for_a_response_without_statements() -> None:
    computed = score("factual_correctness", SILENT, mode="precision")
    assert computed == Score.undefined("no_statements")


def test_utilization_is_undefined_where_the_contexts_support_nothing() -> None:
    records = {**RECALL, "reference_in_contexts": verdicts(0.1, 0.1, 0.1)}
    assert score("context_utilization", records) == Score.undefined("nothing_retrieved")


def test_a_probability_of_0_is_no_support_even_at_a_threshold_of_0() -> None:
    records = {**RECALL, "reference_in_contexts": verdicts(0.0, 0.0, 0.0)}
    assert score("context_utilization", records, threshold=0.0) == Score.undefined("nothing_retrieved")


@pytest.mark.parametrize(("threshold", "minimum"), [(0.0, 0.4), (0.5, 0.7), (0.75, 0.85), (1.0, 1.0)])
def test_contexts_answer_from_two_fifths_above_the_threshold(threshold: float, minimum: float) -> None:
    above = needed(minimum + 1e-9, 0.9)
    below = needed(minimum - 1e-9, 0.9)
    assert score("context_relevance", above, threshold=threshold).value == 1.0
    assert score("context_relevance", below, threshold=threshold).value == 0.0


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


NEEDED_COLUMNS = [(name, column) for name, metric in METRICS.items() for column in metric.columns]


@pytest.mark.parametrize(("name", "column"), NEEDED_COLUMNS)
def test_a_missing_column_is_undefined_by_its_name(name: str, column: str) -> None:
    sample = {key: value for key, value in FULL.items() if key != column}
    assert idle(name, sample) == Score.undefined(f"missing_{column}")


@pytest.mark.parametrize("name", [name for name, metric in METRICS.items() if "reference" in metric.columns])
def test_a_blank_reference_is_missing(name: str) -> None:
    assert idle(name, {**FULL, "reference": " "}) == Score.undefined("missing_reference")


@pytest.mark.parametrize("contexts", [[], ["", " \n"], ["---", "..."]], ids=["none", "blank", "no word"])
@pytest.mark.parametrize(
    "name", [name for name, metric in METRICS.items() if "retrieved_contexts" in metric.columns]
)
def test_contexts_without_a_word_are_undefined(name: str, contexts: list[str]) -> None:
    assert idle(name, {**FULL, "retrieved_contexts": contexts}) == Score.undefined("no_contexts")


@pytest.mark.parametrize("response", ["", "..."], ids=["empty", "no word"])
@pytest.mark.parametrize("name", OF_RESPONSE)
def test_a_response_without_a_word_makes_no_statement(name: str, response: str) -> None:
    assert idle(name, {**FULL, "response": response}) == Score.undefined("no_statements")


@pytest.mark.parametrize(
    ("reference", "response"),
    [(None, ""), ("---", "<think>Hm.</think>")],
    ids=["neither is there", "neither has a word"],
)
@pytest.mark.parametrize("name", [name for name, metric in METRICS.items() if "response" in metric.either])
def test_a_metric_of_reference_or_response_needs_one_of_them(
    name: str, reference: str | None, response: str
) -> None:
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


@pytest.mark.parametrize(
    ("response", "asked"), [("Where?", [{"verdict": 0.9}]), ("...", [])], ids=["a question", "no word"]
)
def test_a_response_that_claims_nothing_recalls_nothing(response: str, asked: list[Any]) -> None:
    judge = fake_judge(FakeEngine([{"statements": ["Tea is grown in Assam."]}, *asked]))
    assert judge.score("factual_correctness", {**FULL, "response": response}) == Score(0.0, 0.0)


def test_a_reference_that_claims_nothing_supports_nothing() -> None:
    judge = fake_judge(FakeEngine([{"verdict": 0.9}]))
    sample = {**FULL, "reference": "---"}
    assert judge.score("noise_sensitivity", sample, statements="sentences") == Score(1.0, 0.9)


def add_metric(monkeypatch: pytest.MonkeyPatch, columns: tuple[str, ...], *scores: Any) -> None:
    """Add a metric "mine" that gives these scores, one after the other."""
    metric = Metric("mine", "1", columns, (), Mock(side_effect=scores), "mine")
    monkeypatch.setitem(METRICS, "mine", metric)


UNKNOWN_STATUS: Any = "skipped"


@pytest.mark.parametrize(
    "impossible",
    [
        pytest.param(Score(0.5, float("nan")), id="not a number"),
        pytest.param(Score(0.5, 2.0), id="above 1"),
        pytest.param(Score(None, 0.5), id="soft without value"),
        pytest.param(Score(None, None), id="scored without value"),
        pytest.param(Score(0.5, 0.5, "undefined"), id="undefined with a value"),
        pytest.param(Score(None, None, UNKNOWN_STATUS), id="another status"),
    ],
)
def test_a_score_that_is_not_possible_is_refused(monkeypatch: pytest.MonkeyPatch, impossible: Score) -> None:
    add_metric(monkeypatch, (), impossible)
    with pytest.raises(ValueError, match="no possible score"):
        evaluate([FULL], ["mine"], fake_judge(FakeEngine([])))


def of_judgement(judgement: str, name: str = "mood") -> Metric:
    return Metric(name, "1", (), (judgement,), lambda records, options: Score(1.0, 1.0), "a mood")


def test_a_metric_of_an_unknown_judgement_is_refused() -> None:
    assert "moods" in said(InputError, register, of_judgement("moods"))


@pytest.mark.parametrize("name", ["id", "mine_soft", "a,b", "a=b", ""])
def test_a_metrics_name_may_be_no_columns_and_no_text_that_an_option_cannot_name(name: str) -> None:
    assert repr(name) in said(InputError, register, of_judgement("support", name))


def test_a_users_metric_has_its_own_column_and_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    add_metric(monkeypatch, ("mood",), Score(0.5), Score.undefined("too_short"))
    samples = [{"mood": "good"}, {"mood": "bad"}, {"response": "Tea."}]
    result = evaluate(samples, ["mine"], fake_judge(FakeEngine([])))
    assert [row["mine"].reason for row in result.scores] == ["", "too_short", "missing_mood"]
    assert "too_short" in explain_reasons(result)


def test_a_users_metric_may_give_numpys_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    value: Any = np.float32(0.5)
    soft: Any = np.float64(1)
    add_metric(monkeypatch, (), Score(value, soft))
    result = evaluate([{"response": "Tea."}], ["mine"], fake_judge(FakeEngine([])))
    assert json.loads(result.to_json())["samples"][0]["scores"]["mine"]["value"] == 0.5
