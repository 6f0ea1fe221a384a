"""Every metric on fakes: each expected number is a counted fraction, each cell of the edge table a test."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localeval import METRICS, Sample, Score, evaluate
from localeval.errors import InputError
from localeval.judgements.needed import NeededRecord, NeededSentence
from localeval.judgements.questions import Drawn, QuestionsRecord
from localeval.judgements.similarity import SimilarityRecord
from localeval.judgements.support import DirectReply, SupportRecord, Verdict
from localeval.judgements.useful import UsefulRecord
from localeval.metrics import Metric, register
from localeval.prompts import load
from localeval.prompts.options import Options
from localeval.report.text import reasons_told
from localeval.testing import FakeClassifier, FakeEmbedder, FakeEngine, fake_judge

SHARES = st.lists(st.floats(0, 1), min_size=1, max_size=6)


def verdicts(*shares: float) -> SupportRecord:
    return SupportRecord(verdicts=tuple(Verdict(statement="s", sentence=0, probability=p) for p in shares))


def score(name: str, records: Mapping[str, Any], **options: Any) -> Score:
    return METRICS[name].compute(records, Options.read(options))


def assert_scored(found: Score, value: float, soft: float) -> None:
    assert found.status == "scored"
    assert (found.value, found.soft) == pytest.approx((value, soft))


# Shares of statements

CORRECT = {"response_in_reference": verdicts(0.9, 0.8, 0.1, 0.2), "reference_in_response": verdicts(0.7, 0.3)}


@pytest.mark.parametrize(
    ("options", "value"),
    [
        ({"mode": "precision"}, 2 / 4),
        ({"mode": "recall"}, 1 / 2),
        ({}, 1 / 2),
        ({"threshold": 0.25}, 2 * (2 / 4) * (2 / 2) / (2 / 4 + 2 / 2)),
        ({"threshold": 0.25, "beta": 2.0}, 5 * (2 / 4) * (2 / 2) / (4 * 2 / 4 + 2 / 2)),
    ],
)
def test_factual_correctness_is_precision_recall_or_f(options: dict[str, Any], value: float) -> None:
    assert score("factual_correctness", CORRECT, **options).value == pytest.approx(value)


@pytest.mark.parametrize(
    ("shares", "options", "value", "soft"),
    [
        ((0.9, 0.8, 0.6), {}, 1, (0.9 * 0.8 * 0.6) ** (1 / 3**0.5)),
        ((0.9, 0.8, 0.4), {}, 0, (0.9 * 0.8 * 0.4) ** (1 / 3**0.5)),
        ((0.9, 0.8, 0.4), {"threshold": 0.4}, 1, (0.9 * 0.8 * 0.4) ** (1 / 3**0.5)),
        ((0.3,), {}, 0, 0.3),
        ((1.0, 1.0), {}, 1, 1),
        ((1.0, 0.0), {}, 0, 0),
    ],
)
def test_full_support_is_one_where_no_statement_is_unsupported(
    shares: tuple[float, ...], options: dict[str, Any], value: float, soft: float
) -> None:
    found = score("full_support", {"support": verdicts(*shares)}, **options)
    assert found.value == value
    assert found.soft == pytest.approx(soft, abs=1e-3)


@given(SHARES, st.floats(0, 1))
def test_full_support_is_in_range_keeps_to_no_order_and_never_falls_where_a_statement_gets_likelier(
    shares: list[float], more: float
) -> None:
    def soft(*of: float) -> float:
        return score("full_support", {"support": verdicts(*of)}).soft or 0.0

    whole = score("full_support", {"support": verdicts(*shares)})
    assert 0 <= (whole.soft or 0.0) <= 1
    assert whole.value == (score("faithfulness", {"support": verdicts(*shares)}).value == 1)
    assert soft(*shares[::-1]) == pytest.approx(soft(*shares))
    assert soft(*shares[1:], max(shares[0], more)) >= soft(*shares) - 1e-12


def test_factual_correctness_is_zero_where_nothing_is_right() -> None:
    wrong = {"response_in_reference": verdicts(0.1), "reference_in_response": verdicts(0.2)}
    assert score("factual_correctness", wrong).value == 0


def test_a_response_without_statements_misses_the_whole_reference_and_has_no_precision() -> None:
    silent = {"response_in_reference": verdicts(), "reference_in_response": verdicts(0.0, 0.0)}
    assert score("factual_correctness", silent) == Score(0.0, 0.0)
    assert score("factual_correctness", silent, mode="precision") == Score.undefined("no_statements")


def test_context_recall_counts_the_statements_of_the_reference() -> None:
    found = {"reference_in_contexts": verdicts(0.9, 0.6, 0.4)}
    assert_scored(score("context_recall", found), 2 / 3, 1.9 / 3)
    assert score("claim_recall", found) == score("context_recall", found)
    nothing = {"reference_in_contexts": verdicts()}
    assert score("context_recall", nothing) == Score.undefined("no_reference_statements")


# Four statements: supported and right, supported and wrong, right only, neither.
FOUR = {"support": verdicts(0.9, 0.8, 0.1, 0.2), "response_in_reference": verdicts(0.7, 0.4, 0.9, 0.1)}


@pytest.mark.parametrize(
    ("name", "soft"),
    [
        ("noise_sensitivity", (0.9 * 0.3 + 0.8 * 0.6 + 0.1 * 0.1 + 0.2 * 0.9) / 4),
        ("hallucination", (0.1 * 0.3 + 0.2 * 0.6 + 0.9 * 0.1 + 0.8 * 0.9) / 4),
        ("self_knowledge", (0.1 * 0.7 + 0.2 * 0.4 + 0.9 * 0.9 + 0.8 * 0.1) / 4),
    ],
)
def test_ragcheckers_rates_are_one_statement_of_four_each(name: str, soft: float) -> None:
    assert_scored(score(name, FOUR), 1 / 4, soft)


def test_context_utilization_counts_among_what_was_retrieved() -> None:
    records = {
        "reference_in_contexts": verdicts(0.9, 0.8, 0.2),
        "reference_in_response": verdicts(0.9, 0.1, 0.9),
    }
    both = 0.9 * 0.9 + 0.8 * 0.1 + 0.2 * 0.9
    assert_scored(score("context_utilization", records), 1 / 2, both / 1.9)
    missed = {**records, "reference_in_contexts": verdicts(0.1, 0.1, 0.1)}
    assert score("context_utilization", missed) == Score.undefined("nothing_retrieved")
    never = {**records, "reference_in_contexts": verdicts(0.0, 0.0, 0.0)}
    assert score("context_utilization", never, threshold=0.0) == Score.undefined("nothing_retrieved")


# Contexts


def needed(answerable: float, *shares: float) -> dict[str, NeededRecord]:
    sentences = (NeededSentence(text="s", context=0, start=0, end=1, probability=p) for p in shares)
    return {"needed": NeededRecord(sentences=tuple(sentences), answerable=answerable)}


def test_context_relevance_is_needed_over_all_sentences() -> None:
    assert_scored(score("context_relevance", needed(0.9, 0.8, 0.1, 0.3)), 1 / 3, 0.9 * 0.4)


@pytest.mark.parametrize(
    ("shares", "value"),
    [((0.4, 0.1, 0.38), 2 / 3), ((0.9, 0.7, 0.6), 1 / 3), ((0.3,), 1.0), ((0.2, 0.24), 0.0)],
)
def test_needed_are_the_most_probable_sentence_and_those_near_it(
    shares: tuple[float, ...], value: float
) -> None:
    assert score("context_relevance", needed(0.9, *shares)).value == pytest.approx(value)


def test_contexts_that_cannot_answer_are_a_scored_zero() -> None:
    assert score("context_relevance", needed(0.4, 0.8, 0.9)).value == 0.0


@pytest.mark.parametrize(("threshold", "least"), [(0.0, 0.4), (0.5, 0.7), (0.75, 0.85), (1.0, 1.0)])
def test_contexts_answer_from_two_fifths_of_the_way_from_the_threshold_to_one(
    threshold: float, least: float
) -> None:
    for answerable, value in ((least + 1e-9, 1.0), (least - 1e-9, 0.0)):
        assert score("context_relevance", needed(answerable, 0.9), threshold=threshold).value == value


@pytest.mark.parametrize(
    ("shares", "value"),
    [((1.0, 0.0, 1.0), (1 + 2 / 3) / 2), ((0.0, 1.0), 1 / 2), ((1.0, 1.0), 1.0), ((0.0, 0.0), 0.0)],
)
def test_context_precision_is_the_mean_precision_at_useful_ranks(
    shares: tuple[float, ...], value: float
) -> None:
    found = score("context_precision", {"useful": UsefulRecord(contexts=shares, against="reference")})
    assert_scored(found, value, value)


DRAWS = (Drawn(question="A?", sufficient=0.9), Drawn(question="B?", sufficient=0.2))
ASKED = {
    "questions": QuestionsRecord(draws=DRAWS, distinct=1.0, sufficient=0.6),
    "similarity": SimilarityRecord(cosines=(0.8, 0.4)),
}


@pytest.mark.parametrize(
    ("rule", "value", "soft"),
    [
        ("question", (0.8 + 0.4) / 2, 0.6 * (0.8 + 0.4) / 2),
        ("draws", 0.8 / 2, (0.8 * 0.9 + 0.4 * 0.2) / 2),
        ("ragas", (0.8 + 0.4) / 2, 0.9 * (0.8 + 0.4) / 2),
    ],
)
def test_answer_relevance_weighs_cosines_by_sufficiency(rule: str, value: float, soft: float) -> None:
    assert_scored(score("answer_relevance", ASKED, relevance=rule), value, soft)


def test_an_insufficient_answer_has_no_relevance_and_keeps_its_probability() -> None:
    assert_scored(score("answer_relevance", ASKED, threshold=0.7), 0.0, 0.36)
    assert score("answer_relevance", ASKED, threshold=0.95, relevance="ragas").value == 0


def test_only_the_mean_of_cosines_is_clipped() -> None:
    one = QuestionsRecord(draws=DRAWS, distinct=1.0, sufficient=1.0)
    above = {"questions": one, "similarity": SimilarityRecord(cosines=(1.5, -0.1))}
    below = {"questions": one, "similarity": SimilarityRecord(cosines=(-0.5, 0.1))}
    assert score("answer_relevance", above).value == pytest.approx(0.7)
    assert score("answer_relevance", below).value == 0


# The way from a sample to a score, on fakes

QUESTION = "Where is tea grown?"
CONTEXTS = ["Tea is grown in Assam. It is green.", "Coffee is brown."]


def test_context_relevance_asks_once_for_the_question_and_once_for_each_sentence() -> None:
    engine = FakeEngine([{"verdict": 0.9}, {"verdict": 0.8}, {"verdict": 0.1}, {"verdict": 0.2}])
    sample = Sample(user_input=QUESTION, retrieved_contexts=CONTEXTS)
    assert fake_judge(engine).score("context_relevance", sample).value == 1 / 3
    assert [leaf.strip() for leaf in engine.calls[0].leaves[1:]] == [
        "Sentence: Tea is grown in Assam.",
        "Sentence: It is green.",
        "Sentence: Coffee is brown.",
    ]


def test_answer_relevance_asks_for_the_real_question_and_draws_without_showing_it() -> None:
    question, other = "Where is tea grown?", "What grows in Assam?"
    draws = [{"question": question, "sufficient": 0.9}] * 2 + [{"question": other, "sufficient": 0.9}]
    engine = FakeEngine([{"sufficient": 0.8}, *draws])
    embedder = FakeEmbedder({question: (1, 0), other: (3, 4)})
    judge = fake_judge(engine, embedder)
    sample = Sample(user_input=question, response="Tea is grown in Assam.")
    found = evaluate([sample], ["answer_relevance"], judge, questions=3)
    assert found.scores[0]["answer_relevance"].soft == pytest.approx(0.8 * (1 + 1 + 3 / 5) / 3)
    assert found.samples[0].records["questions"].distinct == 2 / 3  # type: ignore[attr-defined]
    given, drawn = engine.calls
    assert question in given.leaves[0]
    assert question not in drawn.branch + "".join(drawn.leaves)
    assert given.branch == drawn.branch
    assert embedder.calls == [(question, question, other)]  # once a sample, each question once


class OwnEmbedder(FakeEmbedder):
    """Gives its rows as they are, of any length and form."""

    def __init__(self, rows: Any) -> None:
        super().__init__({})
        self.rows = rows

    def embed(self, texts: Sequence[str]) -> Any:
        return self.rows


def near(rows: Any) -> Score:
    engine = FakeEngine([{"sufficient": 1.0}, {"question": "Who?", "sufficient": 1.0}])
    given = {"user_input": QUESTION, "response": "Tea is grown in Assam."}
    return fake_judge(engine, OwnEmbedder(rows)).score("answer_relevance", given, questions=1)


@pytest.mark.parametrize("rows", [[[3.0, 4.0], [5.0, 0.0]], [(0.6, 0.8), (1, 0)], [[300, 400], [0.25, 0]]])
def test_vectors_of_any_length_give_cosines(rows: Any) -> None:
    assert near(rows).value == pytest.approx(0.6)


def test_vectors_that_are_nearly_of_length_one_are_taken_as_they_are() -> None:
    rows = np.array([[1.0004, 0], [0.6, 0.8]], dtype=np.float32)
    assert near(rows).value == float(rows[0, 0] * rows[1, 0])
    assert near([[0.0, 0.0], [1.0, 0.0]]).value == 0


@pytest.mark.parametrize(
    "rows",
    [
        [[1.0, 0.0]],
        [1.0, 0.0],
        [[1.0], [1.0, 0.0]],
        [["a"], ["b"]],
        [[float("nan")], [1.0]],
        [[1e39], [1.0]],
        5,
    ],
)
@pytest.mark.filterwarnings("ignore:overflow")
def test_what_is_no_vector_for_each_text_is_refused_with_the_embedders_name(rows: Any) -> None:
    with pytest.raises(InputError, match=r"the embedder OwnEmbedder gave .* for 2 texts; its embed has to"):
        near(rows)


def test_the_same_answer_to_another_question_is_asked_about_again() -> None:
    first, second = "Where is tea grown?", "Who grows tea?"
    draw = {"question": first, "sufficient": 0.9}
    engine = FakeEngine([{"sufficient": 0.9}, draw, {"sufficient": 0.1}, draw])
    judge = fake_judge(engine, FakeEmbedder({first: (1, 0), second: (1, 0)}))
    samples = [Sample(user_input=asked, response="Tea is grown in Assam.") for asked in (first, second)]
    result = evaluate(samples, ["answer_relevance"], judge, questions=1)
    assert [scores["answer_relevance"].value for scores in result.scores] == [1, 0]


def test_an_analysis_stands_before_the_flag_where_it_is_asked_for() -> None:
    draw = {"question": "Where is tea grown?", "analysis": "It says where.", "sufficient": 0.9}
    engine = FakeEngine([{"analysis": "It names the place.", "sufficient": 0.8}, draw])
    judge = fake_judge(engine, FakeEmbedder({"Where is tea grown?": (1, 0)}))
    sample = Sample(user_input="Where is tea grown?", response="Tea is grown in Assam.")
    found = evaluate([sample], ["answer_relevance"], judge, questions=1, verdict="reasoned")
    made = found.samples[0].records["questions"]
    assert made.analysis == "It names the place."  # type: ignore[attr-defined]
    assert made.draws[0].analysis == "It says where."  # type: ignore[attr-defined]
    order = list(engine.calls[1].schema.model_fields)
    assert order == ["question", "analysis", "sufficient"]


@pytest.mark.parametrize(
    ("given", "against"),
    [
        ({"reference": "In Assam.", "response": "In Kodagu."}, "In Assam."),
        ({"reference": " ", "response": "In Kodagu."}, "In Kodagu."),
        ({"response": "In Kodagu."}, "In Kodagu."),
    ],
)
def test_contexts_are_held_against_the_reference_or_without_one_the_response(
    given: dict[str, str], against: str
) -> None:
    engine = FakeEngine([{"verdict": 0.2}, {"verdict": 0.9}])
    sample = Sample(user_input=QUESTION, retrieved_contexts=["Coffee is brown.", " ", "Tea: Assam."], **given)
    # The blank context is of no use, unasked: the only useful one stands third.
    assert fake_judge(engine).score("context_precision", sample).value == 1 / 3
    assert f"<answer>\n{against}\n</answer>" in engine.calls[0].branch


def test_a_context_beyond_what_the_judge_reads_is_read_in_windows_and_the_best_one_decides() -> None:
    """A character is a token here."""
    long = " ".join(f"Filler sentence number {i} says nothing." for i in range(60))
    trunk = load("useful", "en").trunk("useful", DirectReply)
    n_ctx = len(FakeEngine([]).frame(trunk).before) + 1700
    engine = FakeEngine([{"verdict": p} for p in (0.2, 0.1, 0.8, 0.3)], n_ctx=n_ctx)
    given = {**FULL, "retrieved_contexts": ["Coffee is brown.", long]}
    (made,) = evaluate([given], ["context_precision"], fake_judge(engine)).samples
    (call,) = engine.calls
    assert "Coffee is brown." in call.leaves[0]
    assert [f"number {i} says" in leaf for leaf in call.leaves[1:] for i in (0, 59)] == [
        *(True, False),
        *(False, False),
        *(False, True),
    ]
    assert made.records["useful"].contexts == (0.2, 0.8)  # type: ignore[attr-defined]


def test_all_metrics_together_make_no_judgement_twice() -> None:
    engine = FakeEngine(
        [
            {"statements": ["Tea is grown in Assam."]},  # of the response
            {"verdict": 0.9},  # in the contexts
            {"statements": ["Tea is grown in Kodagu."]},  # of the reference
            {"verdict": 0.2},  # in the contexts
            {"verdict": 0.8},  # the response's in the reference
            {"verdict": 0.3},  # the reference's in the response
        ]
    )
    sample = {
        "user_input": QUESTION,
        "response": "Tea is grown in Assam.",
        "retrieved_contexts": CONTEXTS,
        "reference": "Tea is grown in Kodagu.",
    }
    names = [
        "faithfulness",
        "context_recall",
        "claim_recall",
        "factual_correctness",
        "noise_sensitivity",
        "hallucination",
        "self_knowledge",
    ]
    judge = fake_judge(engine)
    values = {name: found.value for name, found in evaluate([sample], names, judge).scores[0].items()}
    judge.close()  # raises if an answer is left over
    assert values == {
        "faithfulness": 1,
        "context_recall": 0,
        "claim_recall": 0,
        "factual_correctness": 0,
        "noise_sensitivity": 0,
        "hallucination": 0,
        "self_knowledge": 0,
    }


def test_hhem_decides_where_it_is_asked_to() -> None:
    response = {"response": "Tea is green. Tea is blue.", "retrieved_contexts": CONTEXTS}
    classifier = FakeClassifier({"Tea is green.": 0.9, "Tea is blue.": 0.2})
    judge = fake_judge(FakeEngine([]), classifier=classifier)
    by_metric = judge.score("faithfulness_hhem", response, statements="sentences")
    by_option = judge.score("faithfulness", response, statements="sentences", support_by="hhem")
    assert by_metric == by_option
    assert_scored(by_metric, 1 / 2, 1.1 / 2)


def test_statements_on_which_judge_and_classifier_differ_are_listed() -> None:
    response = {"id": "a", "response": "Tea is green. Tea is blue.", "retrieved_contexts": CONTEXTS}
    classifier = FakeClassifier({"Tea is green.": 0.9, "Tea is blue.": 0.2})
    judge = fake_judge(FakeEngine([{"verdict": 0.8}, {"verdict": 0.7}]), classifier=classifier)
    result = evaluate([response], ["faithfulness", "faithfulness_hhem"], judge, statements="sentences")
    (found,) = result.disagreements()
    assert (found.sample, found.statement, found.judge, found.classifier) == ("a", "Tea is blue.", 0.7, 0.2)


# The edge-case table: (metric, what is given) -> score

FULL: dict[str, Any] = {
    "user_input": QUESTION,
    "response": "In Assam.",
    "retrieved_contexts": CONTEXTS,
    "reference": "In Assam.",
}


@pytest.mark.parametrize(
    "name", [name for name, row in METRICS.items() if "retrieved_contexts" in row.columns]
)
@pytest.mark.parametrize("contexts", [[], ["", " \n"], ["---", "..."]])
def test_without_a_context_each_metric_on_contexts_is_undefined(name: str, contexts: list[str]) -> None:
    found = fake_judge(FakeEngine([])).score(name, {**FULL, "retrieved_contexts": contexts})
    assert found == Score.undefined("no_contexts")


@pytest.mark.parametrize("name", METRICS)
def test_a_missing_column_is_undefined_by_its_name(name: str) -> None:
    for column in METRICS[name].columns:
        sample = {key: value for key, value in FULL.items() if key != column}
        found = fake_judge(FakeEngine([])).score(name, sample)
        assert found == Score.undefined(f"missing_{column}")


@pytest.mark.parametrize("name", [name for name, row in METRICS.items() if "reference" in row.columns])
def test_an_empty_reference_is_a_missing_one(name: str) -> None:
    found = fake_judge(FakeEngine([])).score(name, {**FULL, "reference": " "})
    assert found == Score.undefined("missing_reference")


@pytest.mark.parametrize("response", ["", "...", "<think>Hm.</think>"])
@pytest.mark.parametrize("reference", [None, " ", "---"])
def test_without_reference_and_response_context_precision_has_nothing_to_go_by(
    reference: str | None, response: str
) -> None:
    given = {**FULL, "reference": reference, "response": response}
    assert fake_judge(FakeEngine([])).score("context_precision", given) == Score.undefined(
        "missing_reference"
    )


def test_a_column_of_ones_own_that_one_row_lacks_is_missing_there(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = Metric("mine", "1", ("mood",), (), lambda records, options: Score(1.0, 1.0), "mine")
    monkeypatch.setitem(METRICS, "mine", mine)
    result = evaluate([{"mood": "good"}, {"response": "Tea."}], ["mine"], fake_judge(FakeEngine([])))
    assert [row["mine"] for row in result.scores] == [Score(1.0, 1.0), Score.undefined("missing_mood")]


@pytest.mark.parametrize(
    "name",
    [
        "faithfulness",
        "faithfulness_hhem",
        "full_support",
        "answer_relevance",
        "noise_sensitivity",
        "hallucination",
        "self_knowledge",
    ],
)
@pytest.mark.parametrize("response", ["", " ", "...", "<think>Hm.</think>"])
def test_an_empty_response_makes_no_statement(name: str, response: str) -> None:
    found = fake_judge(FakeEngine([])).score(name, {**FULL, "response": response})
    assert found == Score.undefined("no_statements")


def test_an_empty_response_is_factually_correct_in_nothing() -> None:
    engine = FakeEngine([{"statements": ["Tea is grown in Assam."]}])
    assert fake_judge(engine).score("factual_correctness", {**FULL, "response": ""}) == Score(0.0, 0.0)


@pytest.mark.parametrize(("response", "verdicts"), [("Where?", [{"verdict": 0.9}]), ("...", [])])
@pytest.mark.parametrize("mode", ["recall", "f1"])
def test_a_response_that_claims_nothing_recalls_nothing_of_the_reference(
    mode: str, response: str, verdicts: list[dict[str, Any]]
) -> None:
    engine = FakeEngine([{"statements": ["Tea is grown in Assam."]}, *verdicts])
    given = {**FULL, "response": response}
    assert fake_judge(engine).score("factual_correctness", given, mode=mode) == Score(0.0, 0.0)


def test_a_premise_without_a_word_supports_nothing_and_nobody_is_asked() -> None:
    given = {**FULL, "response": "...", "reference": "Tea grows."}
    judge = fake_judge(FakeEngine([{"statements": ["Tea grows."]}]))
    (made,) = evaluate([given], ["factual_correctness"], judge).samples
    assert made.records["reference_in_response"].windows == 0  # type: ignore[attr-defined]


def test_a_response_of_one_word_is_judged() -> None:
    engine = FakeEngine([{"statements": ["Tea is grown in Assam."]}, {"verdict": 0.9}])
    assert fake_judge(engine).score("faithfulness", {**FULL, "response": "Assam"}).value == 1


def test_a_response_in_another_language_than_the_contexts_is_judged_in_its_own() -> None:
    engine = FakeEngine([{"statements": ["茶树种在阿萨姆。"]}, {"verdict": 0.9}])
    assert fake_judge(engine).score("faithfulness", {**FULL, "response": "茶树种在阿萨姆。"}).value == 1
    assert "陈述" in engine.calls[1].trunk.system


def test_an_unknown_judgement_of_a_metric_is_refused() -> None:
    with pytest.raises(InputError, match="moods"):
        register(Metric("mood", "1", (), ("moods",), lambda records, options: Score(1.0, 1.0), "m"))


@pytest.mark.parametrize(
    "given",
    [Score(float("nan"), 0.5), Score(0.5, None), Score(None, None), Score(2.0, 0.5), Score(0.5, -1e-3), 0.5],
)
def test_what_a_metric_of_ones_own_gives_has_to_be_a_score(
    given: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(METRICS, "mine", Metric("mine", "1", (), (), lambda records, options: given, "mine"))
    with pytest.raises(InputError, match=r"the metric mine gave .*; it has to give Score"):
        evaluate([FULL], ["mine"], fake_judge(FakeEngine([])))


def test_numbers_of_numpy_become_plain_ones_and_a_reason_of_ones_own_is_told_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = [Score(np.float32(0.5), np.float64(1)), Score.undefined("too_short")]
    mine = Metric("mine", "1", (), (), lambda records, options: given.pop(0), "mine")
    monkeypatch.setitem(METRICS, "mine", mine)
    result = evaluate([{**FULL, "id": name} for name in "ab"], ["mine"], fake_judge(FakeEngine([])))
    assert type(result.scores[0]["mine"].value) is float
    assert json.loads(result.to_json())["samples"][0]["scores"]["mine"]["value"] == 0.5
    assert reasons_told(result) == ["too_short"]


# Properties


@given(SHARES, st.permutations(range(6)), st.floats(0, 1))
def test_metrics_on_statements_are_in_range_and_keep_to_no_order(
    shares: list[float], order: list[int], threshold: float
) -> None:
    at = [i for i in order if i < len(shares)]
    other = shares[::-1]
    for name in ("noise_sensitivity", "hallucination", "self_knowledge"):
        there = {"support": verdicts(*shares), "response_in_reference": verdicts(*other)}
        moved = {
            "support": verdicts(*(shares[i] for i in at)),
            "response_in_reference": verdicts(*(other[i] for i in at)),
        }
        found = score(name, there, threshold=threshold)
        again = score(name, moved, threshold=threshold)
        assert found.value == pytest.approx(again.value)
        assert found.soft == pytest.approx(again.soft)
        assert 0 <= (found.value or 0) <= 1
        assert 0 <= (found.soft or 0) <= 1


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 1)), min_size=1, max_size=6), st.floats(0, 1))
def test_answer_relevance_is_in_range_and_keeps_to_no_order(
    pairs: list[tuple[float, float]], sufficient: float
) -> None:
    def found(of: list[tuple[float, float]], rule: str) -> Score:
        draws = tuple(Drawn(question="Q?", sufficient=share) for _, share in of)
        made = QuestionsRecord(draws=draws, distinct=1 / len(of), sufficient=sufficient)
        near = SimilarityRecord(cosines=tuple(cosine for cosine, _ in of))
        return score("answer_relevance", {"questions": made, "similarity": near}, relevance=rule)

    for rule in ("question", "draws", "ragas"):
        one, other = found(pairs, rule), found(pairs[::-1], rule)
        assert 0 <= (one.value or 0) <= 1
        assert 0 <= (one.soft or 0) <= 1
        assert one.soft == pytest.approx(other.soft)


@given(SHARES, SHARES, st.floats(0.1, 10))
def test_f_lies_between_precision_and_recall(one: list[float], two: list[float], beta: float) -> None:
    records = {"response_in_reference": verdicts(*one), "reference_in_response": verdicts(*two)}
    parts = [score("factual_correctness", records, mode=mode).soft or 0 for mode in ("precision", "recall")]
    f = score("factual_correctness", records, beta=beta).soft or 0
    assert min(parts) - 1e-9 <= f <= max(parts) + 1e-9


@given(st.lists(st.floats(0, 1), min_size=2, max_size=6), st.data())
def test_a_useful_context_further_up_never_lowers_context_precision(
    shares: list[float], data: st.DataObject
) -> None:
    at = data.draw(st.integers(1, len(shares) - 1))
    up = [*shares]
    up[at - 1], up[at] = max(up[at - 1 : at + 1]), min(up[at - 1 : at + 1])

    def soft(given: list[float]) -> float:
        record = UsefulRecord(contexts=tuple(given), against="response")
        return score("context_precision", {"useful": record}).soft or 0

    assert soft(up) >= soft(shares) - 1e-9
    assert 0 <= soft(shares) <= 1 + 1e-9


@given(st.floats(0, 1), SHARES, st.integers(0, 5), st.floats(0, 1))
def test_a_sentence_more_needed_never_lowers_context_relevance(
    answerable: float, shares: list[float], at: int, more: float
) -> None:
    raised = [max(p, more) if i == at else p for i, p in enumerate(shares)]
    low = score("context_relevance", needed(answerable, *shares))
    high = score("context_relevance", needed(answerable, *raised))
    assert (low.soft or 0) <= (high.soft or 0) + 1e-12
    if more <= max(shares):  # a new most probable one may leave others behind
        assert (low.value or 0) <= (high.value or 0)


def test_a_model_that_reads_english_only_is_said_to_have_met_another_language() -> None:
    classifier = FakeClassifier({"Tea is green.": 0.9, "茶是绿色的。": 0.9})
    texts = {"a": "Tea is green.", "b": "茶是绿色的。"}
    samples = [Sample(id=name, response=text, retrieved_contexts=CONTEXTS) for name, text in texts.items()]
    judge = fake_judge(FakeEngine([]), classifier=classifier)
    table = str(evaluate(samples, ["faithfulness_hhem"], judge, statements="sentences"))
    assert "HHEM reads English only, and this is another language: b\n" in table
