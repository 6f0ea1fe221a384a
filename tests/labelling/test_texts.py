"""What a person sees of an item, apart from how it is shown."""

from localeval import Result, Sample, Score
from localeval.analysis.labelling.draw import draw_items
from localeval.analysis.labelling.texts import TextMark, question_asked, texts_of, verdict_of
from localeval.claims.evidence import context_sentences
from localeval.judgements.reading import GroundingRecord, ReadSentence
from localeval.metrics.sample_result import SampleResult
from tests.finished_runs import signature
from tests.labelling.runs import mill, mills, run_of


def read_run() -> Result:
    """A response of one sentence that a head read, and whose evidence is the second of the context."""
    sample = Sample(id="a", response="It is red.", retrieved_contexts=["Tea grows. It is green."])
    [_, evidence] = context_sentences(["Tea grows. It is green."])
    sentence = ReadSentence(
        sentence="It is red.", start=0, end=10, probability=0.2, overlap=(), evidence=evidence
    )
    record = GroundingRecord(sentences=(sentence,), all_supported=0.2, language="en")
    scores = {"groundedness": Score(0.0, 0.2)}
    result = SampleResult(sample, scores, {"grounding": record})
    return Result([result], ["groundedness"], signature(["groundedness"]))


def test_the_evidence_of_a_sentence_that_was_read_is_marked() -> None:
    draw = draw_items(read_run())
    texts = texts_of(draw, draw.items["a"])
    assert texts.context_marks == [[TextMark(11, 23, "source")]]


def test_a_sentence_that_was_read_can_be_labelled() -> None:
    draw = draw_items(read_run(), unit="statement")
    texts = texts_of(draw, draw.items["a/0"])
    assert texts.statement == "It is red."
    assert texts.response_marks == [TextMark(0, 10, "sentence")]
    assert verdict_of(draw, draw.items["a/0"]).says == "wrong"


def test_the_verdict_of_a_share_has_a_word_only_at_its_ends() -> None:
    run = run_of([mill(0), mill(1), mill(2)], [[0.9, 0.9], [0.9, 0.2], [0.1, 0.2]])
    draw = draw_items(run, kind="all")
    assert [verdict_of(draw, draw.items[f"mill-{i}"]).says for i in range(3)] == ["right", "", "wrong"]


def test_a_thought_of_the_response_is_not_shown_and_marks_stay_in_place() -> None:
    response = "<think>Hm.</think>Mill 1 was built in 1801."
    draw = draw_items(run_of([mill(1, response=response)]), unit="statement")
    texts = texts_of(draw, next(iter(draw.items.values())))
    assert (texts.response, texts.thinks) == ("Mill 1 was built in 1801.", True)


def test_a_question_of_a_conversation_is_shown_with_what_was_said_before() -> None:
    history = [
        {"role": "user", "content": "When was it built?"},
        {"role": "assistant", "content": "In 1801."},
    ]
    sample = mill(1, user_input="By whom?").model_copy(update={"history": history})
    draw = draw_items(run_of([sample]))
    texts = texts_of(draw, draw.items["mill-1"])
    assert texts.question == "user: When was it built?\nassistant: In 1801.\nuser: By whom?"


def test_a_metric_without_a_question_of_its_own_is_asked_with_its_definition() -> None:
    run = mills(1)
    draw = draw_items(run, metric="faithfulness")
    assert question_asked(draw, draw.items["mill-0"], "en").definition == ""
    named = Result(run.samples, ["faithfulness"], run.signature)
    object.__setattr__(named.samples[0], "scores", {"context_usefulness": Score(1.0)})
    named.metrics = ["context_usefulness"]
    other = draw_items(named, metric="context_usefulness")
    asked = question_asked(other, other.items["mill-0"], "zh")
    assert asked.question == "按 context_usefulness 来看，这样好吗？"
    assert asked.definition
