"""Faithfulness on the fake engine: every expected number is a counted fraction."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localeval import Sample, Score, evaluate
from localeval.engine.interface import ContextTooLong, EngineError
from localeval.engine.windows import cut
from localeval.judgements.statements import StatementFilter
from localeval.judgements.support import DirectReply, SupportRecord, Verdict, closest_evidence
from localeval.metrics.support import share as faithfulness
from localeval.prompts import load
from localeval.prompts.options import Options
from localeval.testing import FakeClassifier, FakeEngine, fake_judge
from localeval.text.overlap import context_sentences, rank_sentences

CONTEXTS = ["Tea is grown in Assam. It was first planted there in 1837.", "Coffee is grown in Kodagu."]


def sample(response: str, contexts: list[str] | None = None) -> Sample:
    given = CONTEXTS if contexts is None else contexts
    return Sample(user_input="Where is tea grown?", response=response, retrieved_contexts=given)


def of(*probabilities: float) -> SupportRecord:
    return SupportRecord(
        verdicts=tuple(Verdict(statement="s", sentence=0, probability=p) for p in probabilities)
    )


def test_value_is_supported_over_all_statements_and_soft_their_mean_probability() -> None:
    engine = FakeEngine(
        [
            {"statements": ["A.", "B."]},
            {"statements": ["C."]},
            {"verdict": 0.9},
            {"verdict": 0.4},
            {"verdict": 0.5},
        ]
    )
    score = fake_judge(engine).score("faithfulness", sample("Tea grows and sells. It sings."))
    assert score.value == pytest.approx(2 / 3)
    assert score.soft == pytest.approx((0.9 + 0.4 + 0.5) / 3)


def test_the_threshold_moves_the_value_and_leaves_soft() -> None:
    assert faithfulness({"support": of(0.9, 0.6)}, Options(threshold=0.7)) == Score(1 / 2, 0.75)


@given(st.lists(st.floats(0, 1), min_size=1), st.randoms())
def test_the_score_is_in_range_and_does_not_depend_on_order(shares: list[float], rng: object) -> None:
    score = faithfulness({"support": of(*shares)})
    assert score.value is not None
    assert score.soft is not None
    assert 0 <= score.value <= 1
    assert 0 <= score.soft <= 1 + 1e-9
    again = faithfulness({"support": of(*sorted(shares))})
    assert again.value == score.value
    assert again.soft == pytest.approx(score.soft)


@pytest.mark.parametrize("support_by", ["llm", "hhem"])
def test_a_response_without_a_word_supports_nothing_of_the_reference(support_by: str) -> None:
    engine, classifier = FakeEngine([{"statements": ["Tea grows."]}]), FakeClassifier({"Tea grows.": 0.9})
    empty = Sample(user_input="Tea?", response=" ", reference="Tea grows.")
    judge = fake_judge(engine, classifier=classifier)
    score = judge.score("factual_correctness", empty, mode="recall", support_by=support_by)
    assert score == Score(0, 0)


@given(st.lists(st.floats(0, 1), min_size=1), st.integers(0), st.floats(0, 1))
def test_a_likelier_statement_never_lowers_the_score(shares: list[float], at: int, more: float) -> None:
    raised = list(shares)
    raised[at % len(shares)] = max(more, raised[at % len(shares)])
    low, high = faithfulness({"support": of(*shares)}), faithfulness({"support": of(*raised)})
    assert (high.value or 0) >= (low.value or 0)
    assert (high.soft or 0) >= (low.soft or 0) - 1e-9


def test_sentences_as_statements_ask_the_model_for_verdicts_only() -> None:
    engine = FakeEngine([{"verdict": 1.0}, {"verdict": 0.0}])
    score = fake_judge(engine).score("faithfulness", sample("A is so. B is not."), statements="sentences")
    assert score.value == 1 / 2
    assert [call.leaves[0].splitlines()[-1] for call in engine.calls] == ["Statement: A is so."]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (sample(""), "no_statements"),
        (sample(" \n ... "), "no_statements"),
        (sample("<think>Assam?</think>"), "no_statements"),
        (sample("Tea.", []), "no_contexts"),
        (sample("Tea.", ["", " "]), "no_contexts"),
        (sample("Tea.", ["---", "? " * 60_000]), "no_contexts"),
        (Sample(response="Tea."), "missing_retrieved_contexts"),
        (Sample(retrieved_contexts=["Tea."]), "missing_response"),
    ],
)
def test_nothing_to_judge_is_undefined_with_its_reason_and_asks_no_model(given: Sample, reason: str) -> None:
    assert fake_judge(FakeEngine([])).score("faithfulness", given) == Score.undefined(reason)


def test_a_refusal_without_statements_is_undefined() -> None:
    engine = FakeEngine([{"statements": []}])
    assert fake_judge(engine).score("faithfulness", sample("I can't say.")) == Score.undefined(
        "no_statements"
    )


def test_an_engine_that_refuses_makes_the_sample_failed_and_not_zero() -> None:
    engine = FakeEngine([EngineError("no")])
    assert fake_judge(engine).score("faithfulness", sample("Tea grows.")) == Score.failed("engine_error")


def test_a_statement_that_is_repeated_counts_once() -> None:
    engine = FakeEngine(
        [{"statements": ["A."]}, {"statements": ["a", "B."]}, {"verdict": 1.0}, {"verdict": 0.0}]
    )
    assert fake_judge(engine).score("faithfulness", sample("Tea grows. It grows and sells.")).value == 1 / 2


def test_a_statement_that_says_less_than_another_of_its_sentence_is_judged_with_that_one() -> None:
    written = {"statements": ["Ann Lee left.", "Ann Lee, the mayor, left in May.", "In May Lee left Ann."]}
    engine = FakeEngine([written, {"verdict": 1.0}, {"verdict": 0.0}])
    score = fake_judge(engine).score("faithfulness", sample("Ann Lee, the mayor, left in May."))
    assert score.value == 1 / 2
    assert [leaf.splitlines()[-1] for leaf in engine.calls[1].leaves] == [
        "Statement: Ann Lee, the mayor, left in May.",
        "Statement: In May Lee left Ann.",
    ]


@pytest.mark.parametrize(
    ("sentence", "statements"),
    [
        ("Bob and his wife are doctors.", ["Bob is a doctor.", "Bob's wife is a doctor."]),
        ("The mayor and his wife left.", ["The mayor left.", "The wife of the mayor left."]),
        ("Tea is safe or not safe.", ["Tea is safe.", "Tea is not safe."]),
        ("Trams run, if it rains.", ["Trams run.", "Trams run if it rains."]),
        ("李明和他的妻子是医生。", ["李明是医生。", "李明的妻子是医生。"]),
        ("茶安全，也不安全。", ["茶安全。", "茶不安全。"]),
    ],
)
def test_a_statement_that_another_one_turns_is_judged_too(sentence: str, statements: list[str]) -> None:
    engine = FakeEngine([{"statements": statements}, {"verdict": 0.0}, {"verdict": 1.0}])
    assert fake_judge(engine).score("faithfulness", sample(sentence)).value == 1 / 2


def test_a_refusal_that_repeats_a_number_of_its_question_makes_no_statement() -> None:
    asked = Sample(
        user_input="Who won in 1998?",
        response="The documents do not say who won in 1998.",
        retrieved_contexts=["Tea grows."],
    )
    score = fake_judge(FakeEngine([{"statements": []}])).score("faithfulness", asked)
    assert score == Score.undefined("no_statements")
    own = asked.model_copy(update={"response": "The documents end in 1997."})
    engine = FakeEngine([{"statements": []}, {"verdict": 0.0}])
    assert fake_judge(engine).score("faithfulness", own).value == 0


def test_a_sentence_whose_number_is_left_out_stands_for_itself() -> None:
    engine = FakeEngine([{"statements": ["Tea was planted."]}, {"verdict": 1.0}])
    judge = fake_judge(engine)
    judge.score("faithfulness", sample("Tea was planted in 1837."))
    assert "Statement: Tea was planted in 1837." in engine.calls[1].leaves[0]


def test_a_sentence_for_which_only_strays_were_written_stands_for_itself() -> None:
    strayed = {"statements": ["Coffee was planted in Kodagu by monks from Arabia."]}
    own = {"statements": ["Coffee was planted in Kodagu by monks from Arabia."]}
    engine = FakeEngine([strayed, own, {"verdict": 1.0}, {"verdict": 0.0}])
    response = "Tea sings. Coffee was planted in Kodagu by monks from Arabia."
    assert fake_judge(engine).score("faithfulness", sample(response)).value == 1 / 2
    assert [leaf.splitlines()[-1] for leaf in engine.calls[1].leaves] == [
        "Statement: Tea sings.",
        "Statement: Coffee was planted in Kodagu by monks from Arabia.",
    ]


@pytest.mark.parametrize("statements", ["llm", "sentences"])
def test_headings_introductions_and_questions_claim_nothing(statements: str) -> None:
    written = [{"statements": ["Tea."]}] if statements == "llm" else []
    engine = FakeEngine([*written, {"verdict": 1.0}])
    judge = fake_judge(engine)
    score = judge.score(
        "faithfulness",
        sample(
            "# Plants\n**They grow:**\n- Tea.\nWhere? 在哪里?\n在哪里\uff1f\n如下\uff1a\n**Notes**\n"
            "(Passages 1, 2)"
        ),
        statements=statements,
    )
    assert score.value == 1
    judge.close()


def test_a_bare_mention_of_a_passage_that_the_judge_writes_down_is_no_statement() -> None:
    written = {"statements": ["Tea grows.", "(Passage 2)", "[3]"]}
    judge = fake_judge(FakeEngine([written, {"verdict": 1.0}]))
    score = judge.score("faithfulness", sample("Tea grows (Passage 2) [3]."))
    assert (score.value, score.status) == (1, "scored")
    judge.close()


def test_a_sentence_that_ends_in_a_title_with_a_question_mark_stands_for_itself() -> None:
    engine = FakeEngine([{"statements": ["The play is Who's Afraid of Tea?"]}, {"verdict": 1.0}])
    found = evaluate([sample("The play is *Who's Afraid of Tea?*")], ["faithfulness"], fake_judge(engine))
    assert found["faithfulness"].value == 1
    (made,) = found.samples[0].records["statements"].sentences  # type: ignore[attr-defined]
    assert (made.statements, made.cut) == (("The play is *Who's Afraid of Tea?*",), "strays")


@pytest.mark.parametrize("written", [[], ["[1962]"]])
def test_an_answer_that_is_only_a_mention_stands_for_itself(written: list[str]) -> None:
    engine = FakeEngine([{"statements": written}, {"verdict": 1.0}])
    assert fake_judge(engine).score("faithfulness", sample("[1962]")).value == 1
    assert engine.calls[1].leaves[0].endswith("Statement: [1962]")


def test_double_quotes_are_shown_to_the_judge_as_single_ones() -> None:
    engine = FakeEngine([{"statements": ["Click 'Tea'."]}, {"verdict": 1.0}])
    fake_judge(engine).score("faithfulness", sample('Click "Tea".'))
    assert engine.calls[0].leaves[0].endswith("Sentence: Click 'Tea'.")
    assert '"' not in engine.calls[0].branch


def test_the_prompt_follows_the_language_of_the_response() -> None:
    engine = FakeEngine([{"statements": ["茶树种植于云南。"]}, {"verdict": 1.0}])
    fake_judge(engine).score("faithfulness", sample("茶树种植于云南。"))
    assert all("陈述" in call.trunk.system for call in engine.calls)


def context_for(window: int) -> int:
    """The n_ctx at which the fake engine reads about `window` characters of context at a time."""
    trunk = load("support", "en").trunk("verdict", DirectReply)
    examples = FakeEngine([]).settings.n_ctx - FakeEngine([]).room(trunk)
    return (examples + 100 + window) * 8 // 7


def test_long_contexts_are_cut_into_windows_and_the_best_one_decides() -> None:
    contexts = [" ".join(f"Filler sentence number {i} says nothing." for i in range(190)), "Tea grows."]
    engine = FakeEngine([{"verdict": p} for p in (0.1, 0.8, 0.3)], n_ctx=context_for(3300))
    result = evaluate(
        [sample("Tea grows.", contexts)], ["faithfulness"], fake_judge(engine), statements="sentences"
    )
    assert result.samples[0].scores["faithfulness"].soft == 0.8
    assert "contexts read in windows: 3" in str(result)
    branches = [call.branch for call in engine.calls]
    assert len(branches) == 3
    firsts = [branch.splitlines()[1] for branch in branches]
    lasts = [branch.splitlines()[-2] for branch in branches]
    assert firsts[1:] == lasts[:-1]  # one sentence of overlap
    assert "Tea grows." in branches[-1]


def test_a_reason_is_asked_for_where_the_window_holds_its_evidence() -> None:
    filler = " ".join(f"Filler sentence number {i} says nothing." for i in range(190))
    verdicts = [{"verdict": p} for p in (0.1, 0.1, 0.1, 0.1, 0.8, 0.8)]
    reasons = [{"reason": "It says little."}, {"reason": "It says so."}]
    engine = FakeEngine([*verdicts, *reasons], n_ctx=context_for(3300))
    answer = sample("Tea grows. Filler sentence number 3 says nothing.", [filler, "Tea grows."])
    result = evaluate([answer], ["faithfulness"], fake_judge(engine), statements="sentences", explain=True)
    first, last = engine.calls[-2:]
    assert ("number 3 says" in first.branch, "Tea grows." in first.branch) == (True, False)
    assert "Tea grows." in last.branch
    record: Any = result.samples[0].records["reasons"]
    assert record.reasons == ("It says so.", "It says little.")


def test_contexts_beyond_eight_windows_fail_with_their_reason() -> None:
    judge = fake_judge(FakeEngine([], n_ctx=context_for(3300)))
    given = sample("Tea grows.", ["A sentence of filler here. " * 3000])
    assert judge.score("faithfulness", given, statements="sentences") == Score.failed("context_too_long")


def test_long_contexts_without_a_sentence_to_cut_at_fail_with_their_reason() -> None:
    engine = FakeEngine([{"statements": ["A."]}], n_ctx=12_000)
    score = fake_judge(engine).score("faithfulness", sample("Tea grows.", ["tea " * 5_000]))
    assert score == Score.failed("context_too_long")
    with pytest.raises(ContextTooLong, match="text without a sentence to cut at"):
        cut([], [], 100)


def test_the_evidence_is_the_sentence_that_shares_most_and_says_where_it_stands() -> None:
    sentences = context_sentences(CONTEXTS)
    near = rank_sentences(["Tea was planted in 1837.", "Kodagu grows coffee.", "Zebras!"], sentences, 1)
    found = [own[0] if own else None for own in near]
    assert [f and f.text for f in found] == [
        "It was first planted there in 1837.",
        "Coffee is grown in Kodagu.",
        None,
    ]
    assert found[0] is not None
    assert CONTEXTS[0][found[0].start : found[0].end] == found[0].text
    assert [f and f.context for f in found] == [0, 1, None]


def test_a_verdict_has_the_two_sentences_in_view_that_together_share_most_with_its_statement() -> None:
    engine = FakeEngine([{"statements": ["Tea from Arl needs rain."]}, {"verdict": 1.0}])
    contexts = ["Tea sells well. Tea grows in Arl.", "Coffee needs sun. It needs much rain."]
    fake_judge(engine).score(
        "faithfulness", Sample(response="Tea from Arl needs rain.", retrieved_contexts=contexts)
    )
    shown = "Closest in the documents: Tea grows in Arl. … It needs much rain."
    assert engine.calls[1].leaves[0].splitlines() == [shown, "Statement: Tea from Arl needs rain."]


@pytest.mark.parametrize(
    ("statement", "number"),
    [
        ("Red green blue brown black tea.", 2),  # the second sentence adds 1 of 6 terms, all of one weight
        ("Red green blue brown black white tea.", 1),  # 1 of 7
        ("Red green blue brown black zebra tea.", 1),  # a term that no sentence has weighs as much
        ("Red green.", 1),  # nothing
    ],
)
def test_a_second_sentence_adds_three_twentieths_of_the_weight_of_a_statements_terms(
    statement: str, number: int
) -> None:
    sentences = context_sentences(["Red green blue brown black white.", "Tea."])
    assert [len(own) for own in rank_sentences([statement], sentences, 2)] == [number]


def test_of_two_sentences_shown_the_one_that_most_statements_have_comes_first() -> None:
    contexts = ["Tea sells well. Tea grows in Arl. It needs much rain."]
    statements = ["Arl grows tea that needs rain.", "It needs much rain."]
    shown, alone = closest_evidence(statements, contexts), closest_evidence(statements[:1], contexts)
    assert shown == ["It needs much rain. … Tea grows in Arl.", "It needs much rain."]
    assert alone == ["Tea grows in Arl. … It needs much rain."]


def test_a_heading_does_not_keep_the_statements_of_its_list() -> None:
    sentences = ["The colours of the house are:", "The door is red.", "The roof is blue."]
    assert StatementFilter(sentences).strays("The door is red.", 0)
    assert not StatementFilter(sentences).strays("The door of the house is red.", 1)


def test_words_of_the_question_tie_a_statement_to_no_sentence() -> None:
    sentences = ["Orrin Tower was first lit in 1871.", "It was built by Agnes Pell."]
    statement = "Agnes Pell built Orrin Tower."
    assert StatementFilter(sentences, "Who built Orrin Tower?").strays(statement, 0)
    assert not StatementFilter(sentences, "Who built Orrin Tower?").strays(statement, 1)


def test_a_statement_with_a_name_for_a_pronoun_is_no_stray() -> None:
    sentences = ["Ann Lee of the Hill School wrote a book.", "She left in May.", "The book was sold."]
    assert not StatementFilter(sentences).strays("Ann Lee of the Hill School left in May.", 1)
