"""The decisions of each record, as every report reads them."""

from typing import Any

import pytest

from localeval import Sample
from localeval.claims.evidence import Evidence
from localeval.judgements import Failure
from localeval.judgements.base import Record
from localeval.judgements.bindings import Binding
from localeval.judgements.decision import Decision, DecisionList, find_differing, list_decisions
from localeval.judgements.judged_text import UnjudgedText
from localeval.judgements.needed_sentences import NeededRecord, NeededSentence
from localeval.judgements.questions import Drawn, QuestionsRecord
from localeval.judgements.reading import GroundingRecord, ReadSentence
from localeval.judgements.reasons import ReasonsRecord
from localeval.judgements.similarity import SimilarityRecord
from localeval.judgements.statements import SentenceStatements, StatementsRecord
from localeval.judgements.support import SupportRecord, Verdict
from localeval.judgements.useful_contexts import UsefulRecord

SAMPLE = Sample(
    user_input="What does tea cost?",
    response="Hello! Tea costs 20 euros.",
    retrieved_contexts=["Tea costs 35 euros.", "What does tea cost?"],
)
GREETING = UnjudgedText(text="Hello!", start=0, end=6, reason="courtesy")
STATEMENTS = StatementsRecord(
    sentences=(
        SentenceStatements(
            sentence="Tea costs 20 euros.",
            start=7,
            end=26,
            statements=("Tea costs 20 euros.", "Tea is sold."),
            cut="details",
        ),
    ),
    language="en",
    unjudged=(GREETING,),
)
EVIDENCE = Evidence(text="Tea costs 35 euros.", context=0, start=0, end=19)
COSTS = Verdict(
    statement="Tea costs 20 euros.",
    sentence=0,
    probability=0.3,
    evidence=EVIDENCE,
    reason="It costs more.",
    unknown_numbers=("20",),
    core="Tea costs 20.",
    mass=0.9,
    binding=Binding(value="20", alternative="35", margin=-4.0),
)
SOLD = Verdict(statement="Tea is sold.", sentence=0, probability=0.8)


def lists_of(records: dict[str, Any], threshold: float = 0.5) -> dict[str, DecisionList]:
    return {listed.judgement: listed for listed in list_decisions(SAMPLE, records, threshold)}


def decisions_of(judgement: str, records: dict[str, Any], threshold: float = 0.5) -> list[Decision]:
    return list(lists_of(records, threshold)[judgement].decisions)


def test_statements_are_listed_undecided_and_then_what_is_not_judged() -> None:
    first, second, greeting = decisions_of("statements", {"statements": STATEMENTS})
    assert (first.text, second.text) == ("Tea costs 20 euros.", "Tea is sold.")
    assert first.probability is None
    assert (second.column, second.start, second.end) == ("response", 7, 26)
    assert second.sentence == "Tea costs 20 euros."
    assert (greeting.text, greeting.unjudged) == ("Hello!", "courtesy")


def test_statements_of_the_reference_stand_in_the_reference() -> None:
    listed = lists_of({"reference_statements": STATEMENTS})["reference_statements"]
    assert listed.column == "reference"
    assert {one.column for one in listed.decisions} == {"reference"}


def test_a_sentence_without_a_statement_of_its_own_is_listed_with_an_empty_one() -> None:
    sentence = SentenceStatements(sentence="Tea is sold.", start=0, end=12, statements=())
    record = StatementsRecord(sentences=(sentence,), language="en")
    [decision] = decisions_of("statements", {"statements": record})
    assert (decision.text, decision.sentence) == ("", "Tea is sold.")


def test_a_verdict_says_what_it_decided_where_it_stands_and_why() -> None:
    records = {"statements": STATEMENTS, "support": SupportRecord(verdicts=(COSTS, SOLD))}
    costs, sold = decisions_of("support", records)
    assert (costs.text, costs.label, costs.probability, costs.is_yes) == (
        "Tea costs 20 euros.",
        "supported",
        0.3,
        False,
    )
    assert (costs.column, costs.start, costs.end, costs.cut) == ("response", 7, 26, "details")
    assert (costs.against, costs.by) == ("retrieved_contexts", "llm")
    assert costs.evidence == EVIDENCE
    assert costs.reason == "It costs more."
    assert costs.shortened == "Tea costs 20."
    assert costs.unknown_numbers == ("20",)
    assert (costs.value, costs.likelier_value) == ("20", "35")
    assert sold.is_yes
    assert sold.evidence is None


@pytest.mark.parametrize(
    ("judgement", "column", "against"),
    [
        ("support", "response", "retrieved_contexts"),
        ("support_hhem", "response", "retrieved_contexts"),
        ("response_in_reference", "response", "reference"),
        ("reference_in_contexts", "reference", "retrieved_contexts"),
        ("reference_in_response", "reference", "response"),
    ],
)
def test_a_verdict_says_which_text_was_compared_with_which(judgement: str, column: str, against: str) -> None:
    records = {
        "statements": STATEMENTS,
        "reference_statements": STATEMENTS,
        judgement: SupportRecord(verdicts=(SOLD,)),
    }
    [decision] = decisions_of(judgement, records)
    assert (decision.column, decision.against) == (column, against)


def test_a_reason_that_was_asked_for_later_replaces_an_empty_one_only_for_the_contexts() -> None:
    record = SupportRecord(verdicts=(COSTS, SOLD))
    records = {
        "statements": STATEMENTS,
        "support": record,
        "response_in_reference": record,
        "reasons": ReasonsRecord(reasons=("", "It is for sale.")),
    }
    assert [one.reason for one in decisions_of("support", records)] == ["It costs more.", "It is for sale."]
    assert [one.reason for one in decisions_of("response_in_reference", records)] == ["It costs more.", ""]


def test_the_threshold_decides_whether_a_probability_is_a_yes() -> None:
    records = {"statements": STATEMENTS, "support": SupportRecord(verdicts=(SOLD,))}
    assert decisions_of("support", records, threshold=0.8)[0].is_yes
    assert not decisions_of("support", records, threshold=0.81)[0].is_yes


def test_a_sentence_that_a_head_read_has_its_doubtful_words() -> None:
    read = ReadSentence(
        sentence="Tea costs 20 euros.", start=7, end=26, probability=0.2, overlap=(), spans=((17, 19),)
    )
    record = GroundingRecord(sentences=(read,), all_supported=0.2, language="en", unjudged=(GREETING,))
    sentence, greeting = decisions_of("grounding", {"grounding": record})
    assert (sentence.text, sentence.by, sentence.doubtful) == ("Tea costs 20 euros.", "head", ((17, 19),))
    assert greeting.unjudged == "courtesy"


def test_what_is_not_judged_is_listed_once_where_statements_and_a_head_have_it() -> None:
    record = GroundingRecord(sentences=(), all_supported=1.0, language="en", unjudged=(GREETING,))
    lists = lists_of({"grounding": record, "statements": STATEMENTS})
    assert lists["grounding"].decisions == ()
    assert lists["statements"].decisions[-1].unjudged == "courtesy"


def test_the_real_question_comes_before_the_drawn_ones_with_their_cosines() -> None:
    draws = (
        Drawn(question="What is tea?", sufficient=0.9, analysis="It says so."),
        Drawn(question="Who is Orrin?", sufficient=0.0, foreign="orrin"),
    )
    records = {
        "questions": QuestionsRecord(draws=draws, distinct=1.0, sufficient=0.4, completed="Tea costs 20."),
        "similarity": SimilarityRecord(cosines=(0.8, 0.1)),
    }
    real, first, second = decisions_of("questions", records)
    assert (real.text, real.column, real.probability) == ("What does tea cost?", "user_input", 0.4)
    assert real.premise == "Tea costs 20."
    assert (first.text, first.is_yes, first.cosine, first.reason) == (
        "What is tea?",
        True,
        0.8,
        "It says so.",
    )
    assert (second.foreign_word, second.column) == ("orrin", "")


def test_a_sentence_is_needed_only_if_the_contexts_answer_the_question() -> None:
    passage = NeededSentence(**EVIDENCE.model_dump(), probability=0.9)
    # The question can be answered from 0.5 + 0.4 x (1 - 0.5) = 0.7 on.
    for answerable, is_needed in ((0.7, True), (0.69, False)):
        record = NeededRecord(sentences=(passage,), answerable=answerable)
        question, sentence = decisions_of("needed", {"needed": record})
        assert (question.column, question.label, question.is_yes) == ("user_input", "answerable", is_needed)
        assert (sentence.column, sentence.context, sentence.is_yes) == ("retrieved_contexts", 0, is_needed)


def test_a_context_that_repeats_the_question_was_not_judged() -> None:
    record = UsefulRecord(contexts=(0.6, 0.0), against="response", repeats=(1,))
    useful, repeated = decisions_of("useful", {"useful": record})
    assert (useful.text, useful.context, useful.is_yes, useful.unjudged) == (
        "Tea costs 35 euros.",
        0,
        True,
        "",
    )
    assert (repeated.context, repeated.is_yes, repeated.unjudged) == (1, False, "repeats")


def test_a_failure_lists_nothing_but_why() -> None:
    lists = lists_of({"support": Failure(failed="engine_error", detail="out of cells")})
    assert (lists["support"].decisions, lists["support"].failure) == ((), "out of cells")
    assert lists_of({"support": Failure(failed="timeout")})["support"].failure == "timeout"


def test_a_record_of_ones_own_decides_nothing_until_it_says_so() -> None:
    class Silent(Record):
        length: int

    [listed] = list_decisions(SAMPLE, {"silent": Silent(length=3)}, 0.5)
    assert (listed.kind, listed.decisions) == ("other", ())


def test_judge_and_classifier_differ_where_one_says_yes_and_the_other_no() -> None:
    hhem = SupportRecord(
        verdicts=(
            COSTS.model_copy(update={"probability": 0.9}),
            SOLD.model_copy(update={"probability": 0.7}),
        ),
        by="hhem",
    )
    records = {
        "statements": STATEMENTS,
        "support_hhem": hhem,
        "support": SupportRecord(verdicts=(COSTS, SOLD)),
        "response_in_reference": SupportRecord(verdicts=(SOLD, COSTS)),
    }
    [(judge, classifier)] = find_differing(list_decisions(SAMPLE, records, 0.5))
    assert (judge.text, judge.probability, classifier.probability) == ("Tea costs 20 euros.", 0.3, 0.9)
