"""Heads: what they are told of a text, what they make of it, and how they are fitted."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localeval import InputError, Sample
from localeval.analysis import fit_head, head_states
from localeval.analysis.head_states import Reading
from localeval.engine.interface import TokenValues
from localeval.fitted.files import FittedFor, file_text
from localeval.fitted.heads import Contexts, Head, LogitMap, SoftMinimum, heads_for
from localeval.fitted.logits import sigmoid
from localeval.options import Options
from tests.commands import said
from tests.heads import head


def test_the_tokens_of_a_place_are_those_that_share_a_byte_with_it() -> None:
    states = TokenValues(np.zeros((3, 1), np.float32), (2, 5, 9))
    slices = [states.tokens(*place) for place in ((0, 2), (1, 3), (5, 9))]
    assert slices == [slice(0, 1), slice(0, 2), slice(2, 3)]


def test_overlap_counts_words_runs_numbers_and_names_that_the_contexts_lack() -> None:
    mill = Contexts(["The mill on the Arl was built in 1820."])
    overlap = mill.overlap("Then Bob says the mill on the Arl was new in 1920.")
    assert (overlap.terms, overlap.runs) == (2 / 6, 4 / 10)  # of bob, says, mill, arl, new, 1920
    assert (overlap.numbers, overlap.names) == (1, 1)
    assert overlap.length == pytest.approx(np.log(13))
    assert mill.overlap("at Ann, Bob, Cid, Dan: 11, 22, 33, 44")[2:4] == (3, 3)  # more say no more
    assert Contexts(["青岚茶场创办于1958年。"]).overlap("青岚茶场").runs == 1.0  # by characters


def readings(number: int, right_marked: bool) -> list[Reading]:
    """Answers of two sentences; if marked, the first number of a state says whether its sentence is right."""
    draw = np.random.default_rng(0)
    text, spans = "Tea grows on hills. Rain falls in May.", ((0, 19), (20, 38))
    result = []
    for i in range(number):
        right = [True, bool(draw.integers(2))]
        states = draw.normal(size=(len(text), 8)).astype(np.float16)
        for (start, end), good in zip(spans, right, strict=True):
            states[start:end, 0] += (2.0 if good else -2.0) if right_marked else 0.0
        wrong = tuple(span for span, good in zip(spans, right, strict=True) if not good)
        sample = Sample(id=str(i), response=text, retrieved_contexts=["Tea grows on hills."], source="made")
        marks, ends = wrong if right_marked else None, tuple(range(1, len(text) + 1))
        result.append(Reading(sample, int(all(right)), f"g{i // 2}", "en", marks, states, ends))
    return result


def test_a_head_finds_what_tells_right_from_wrong_in_unseen_answers() -> None:
    marked, plain = (
        fit_head.fit(readings(320, right_marked), FittedFor(name="fake", sha256="0" * 64), layer=1)[0]
        for right_marked in (True, False)
    )
    assert marked.figures["auroc"][0] > 0.99
    assert np.argmax(np.abs(marked.word.states)) == 0
    assert plain.figures["auroc"][0] < 0.65


@given(st.lists(st.floats(-30, 30), min_size=1, max_size=20), st.lists(st.floats(-30, 30)), st.booleans())
def test_no_sentences_lift_a_doubtful_one_to_the_threshold(
    logits: list[float], more: list[float], conjunction: bool
) -> None:
    """Whatever the answer's map adds."""
    answer = SoftMinimum(sharpness=2.0, slope=2.0, bias=3.0, conjunction=conjunction)
    reader = head().model_copy(update={"answer": answer})
    assert reader.of_answer([*logits, *more]) <= sigmoid(min(logits))


@given(st.lists(st.floats(-30, 30), min_size=1, max_size=20), st.floats(0.1, 9.0), st.floats(-9.0, 9.0))
def test_an_answer_is_at_most_as_likely_as_its_least_sentence_by_the_calibration(
    logits: list[float], slope: float, bias: float
) -> None:
    calibration = LogitMap(slope=slope, bias=bias)
    answer = SoftMinimum(sharpness=2.0, slope=2.0, bias=3.0)
    reader = head(calibration=calibration).model_copy(update={"answer": answer})
    assert reader.of_answer(logits) <= min(sigmoid(calibration.of(logit)) for logit in logits)


@given(st.lists(st.floats(-30, 30), min_size=1, max_size=20), st.floats(-30, 30))
def test_one_more_sentence_never_raises_a_conjunction(logits: list[float], more: float) -> None:
    answer = SoftMinimum(sharpness=0.7, conjunction=True)
    assert answer.of([*logits, more]) <= answer.of(logits) + 1e-9


def test_what_was_read_by_a_head_without_a_calibration_need_not_be_read_again() -> None:
    """Its digest is the one that it had when heads had no calibration."""
    assert head().sha256 == "c0b963e3bdbc9659c3b48f43b0566d3f24f884c8735fb25f5f14519f762c423a"


def test_a_calibration_is_part_of_what_a_head_computes() -> None:
    assert head(calibration=LogitMap(bias=1.0)).sha256 != head().sha256


def fit_one(answers: list[Reading]) -> Head:
    [fitted] = fit_head.fit(answers, FittedFor(name="fake", sha256="0" * 64), layer=1)
    return fitted


def test_one_more_sentence_lowers_an_answer_by_a_fitted_head() -> None:
    fitted = fit_one(readings(320, True))
    assert fitted.of_answer([0.4, 3.0]) < fitted.of_answer([0.4])


def test_without_marks_a_fitted_sentence_is_as_likely_as_an_answer_that_consists_of_it() -> None:
    fitted = fit_one(readings(320, False))
    assert fitted.calibration == LogitMap()
    assert fitted.of_answer([0.4]) == pytest.approx(sigmoid(0.4))


def test_calibrated_sentences_are_as_often_right_as_their_probabilities_say() -> None:
    """Three answers of four have two right sentences, the others one: one sentence in eight is wrong."""
    labels = [[1, int(i % 4 > 0)] for i in range(400)]
    draw = np.random.default_rng(0)
    logits = [[draw.normal(label, 1.0) for label in answer] for answer in labels]
    calibration = fit_head.calibrate_sentences(logits, labels, range(400), SoftMinimum())
    found = [sigmoid(calibration.of(logit)) for answer in logits for logit in answer]
    assert np.mean(found) == pytest.approx(7 / 8, abs=0.001)


def test_wrong_answers_without_marks_count_among_the_wrong_ones() -> None:
    """Of half of the wrong answers nobody marked the sentence: the others count twice."""
    labels = [[1, int(i % 4 > 0)] for i in range(400)]
    draw = np.random.default_rng(0)
    logits = [[draw.normal(label, 1.0) for label in answer] for answer in labels]
    partly = [[-1, -1] if i % 8 == 0 else answer for i, answer in enumerate(labels)]
    calibration = fit_head.calibrate_sentences(logits, partly, range(400), SoftMinimum())
    found = [sigmoid(calibration.of(logit)) for answer in logits for logit in answer]
    assert np.mean(found) == pytest.approx(7 / 8, abs=0.02)


def test_with_too_few_wrong_sentences_a_sentence_is_as_likely_as_an_answer_of_it() -> None:
    labels = [[1, int(i > 23)] for i in range(400)]
    logits = [[1.0, 0.5] for _ in labels]
    answer = SoftMinimum(slope=2.0, bias=0.5)
    assert fit_head.calibrate_sentences(logits, labels, range(400), answer) == LogitMap(slope=2.0, bias=0.5)


@pytest.mark.parametrize(
    ("number", "other"),
    [
        pytest.param('"overlap": [0.0, 0.0, 0.0, 0.0, 0.0]', '"overlap": [0.0]', id="short overlap"),
        pytest.param('"layer": 0', '"layer": 1000000', id="layer of no model"),
        pytest.param('"bias": 1.0', '"bias": 1e308', id="huge bias"),
        pytest.param('"bias": 1.0', '"bias": Infinity', id="infinite bias"),
        pytest.param('"states": [1.0]', '"states": []', id="no weights"),
        pytest.param('"slope": 1.0', '"slope": -1.0', id="negative slope"),
        pytest.param('"slope": 1.0', '"slope": 0.0', id="flat slope"),
        pytest.param('"sharpness": 1.0', '"sharpness": 0', id="no sharpness"),
    ],
)
def test_a_file_with_numbers_that_no_fit_gives_is_refused(number: str, other: str) -> None:
    text = file_text([head()])
    assert number in text
    refusal = said(InputError, heads_for, "0" * 64, Options.read({"head": text.replace(number, other)}))
    assert "this is no file of heads" in refusal


def answers(number: int, **changed: Any) -> list[Sample]:
    row: dict[str, Any] = {"response": "Tea grows. It sings.", "retrieved_contexts": ["Tea grows."]} | changed
    return [Sample(id=str(i), label=int(i % 4 == 3), **row) for i in range(number)]


def test_answers_of_one_group_are_refused_before_anything_is_read() -> None:
    chinese = {"response": "茶长在山上。", "retrieved_contexts": ["茶。"], "group": "drcd"}
    with pytest.raises(InputError, match=r"answers in zh with label 0 are of one group \(drcd\)"):
        head_states.labelled([*answers(200), *answers(100, **chinese)], "x")


def test_what_was_marked_wrong_stands_in_what_is_judged() -> None:
    for thought in ("", "<think>I say: Tea grows. It sings.</think>"):
        text = f"{thought}Tea grows. It sings."
        start = text.rindex("It sings")
        spans = [{"start": start, "end": start + 9}]
        marked = head_states.labelled(answers(300, response=text, hallucination_spans=spans), "x")[0]
        assert [marked.label_of(s, 2) for s in marked.sentences()] == [1, 0]
    unmarked = head_states.labelled(answers(300, hallucination_spans=[]), "x")[0]
    assert [unmarked.label_of(s, 2) for s in unmarked.sentences()] == [-1, -1]  # wrong, and nobody said where


@pytest.mark.parametrize("marked", [{}, "", [{"start": 0.5, "end": 3}], [{"start": True, "end": 3}], [3]])
def test_marks_that_are_no_list_of_whole_places_are_refused(marked: Any) -> None:
    with pytest.raises(InputError, match="hallucination_spans"):
        head_states.labelled(answers(300, hallucination_spans=marked), "x")
