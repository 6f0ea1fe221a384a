"""Reading: the same states every time, and what a head makes of them, from the answer to the score."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from localeval import InputError, Judge, Sample, evaluate, plan, rescore
from localeval.engine.engine import Engine
from localeval.engine.interface import ContextTooLong, EngineSettings, States
from localeval.judgements.grounding import GroundingRecord
from localeval.judgements.heads import Contexts, SoftMinimum, write
from localeval.judgements.support import DirectReply
from localeval.prompts.prefix import PromptPrefix
from localeval.runs import head_fit
from localeval.runs.head_fit import Reading
from localeval.runs.result import SampleResult
from localeval.testing import FakeEngine, fake_judge
from tests.heads import head

TRUNK = PromptPrefix("Judge.", (("One?", '{"verdict":"yes"}'),))
CONTEXT = "Context:\nThe mill on the Arl was built in 1820, of brick."
ITEMS = ["\n\nQuestion: When?\nResponse: In 1820, 用砖. 🍎", "\n\nQuestion: When?\nResponse: In 1920."]
MILL = Sample(
    id="mill",
    user_input="When was the mill built?",
    response="The mill was built in 1820. It is made of oak.",
    retrieved_contexts=["The mill on the Arl was built in 1820, of brick."],
)


def read_of(one: SampleResult) -> GroundingRecord:
    record = one.records["grounding"]
    assert isinstance(record, GroundingRecord)
    return record


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "head.json"
    path.write_text(write([head(unknown=-3.0)]), encoding="utf-8")
    return path


# The engine


def test_a_text_has_the_same_states_alone_and_again_and_after_other_work(tiny: Engine) -> None:
    [first] = tiny.read(CONTEXT, ITEMS[:1], [0])
    tiny.generate(TRUNK, "branch", ["One.", "Two."], DirectReply)
    tiny.read("Context:\nAnother.", ITEMS, [0])
    for _ in range(2):
        [again] = tiny.read(CONTEXT, ITEMS[:1], [0])
        assert np.array_equal(first.values, again.values)
        assert first.ends == again.ends


def test_reading_leaves_the_bits_of_replies_as_they_were(tiny: Engine) -> None:
    before = tiny.generate(TRUNK, "branch", ["One.", "Two."], DirectReply)
    tiny.read(CONTEXT, ITEMS, [0])
    assert tiny.generate(TRUNK, "branch", ["One.", "Two."], DirectReply) == before


@pytest.fixture
def interruptible() -> Iterator[None]:
    """What a shell starts in the background ignores Ctrl-C; here it is heard."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_ends_the_work_in_whatever_it_comes(tiny: Engine) -> None:
    """A signal that is answered inside the engine's callback would be lost, and the work would go on."""
    end = time.monotonic() + 60

    def work(timer: threading.Timer) -> None:
        timer.start()  # the signal may come before this returns
        while time.monotonic() < end:
            tiny.read(CONTEXT, ITEMS, [0])
            tiny.generate(TRUNK, "branch", ["One.", "Two."], DirectReply)

    for i in range(30):
        timer = threading.Timer(0.001 * (1 + i % 7), os.kill, (os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            work(timer)
        timer.join()


def test_every_item_has_a_state_for_each_token_and_the_tokens_end_where_its_text_does(tiny: Engine) -> None:
    for item, states in zip(ITEMS, tiny.read(CONTEXT, ITEMS, [0]), strict=True):
        assert states.values.shape[:2] == (len(states.ends), 1)
        assert states.ends[-1] == len(item.encode())
        assert np.isfinite(states.values).all()


def test_the_context_changes_what_is_held_of_a_text(tiny: Engine) -> None:
    [one], [other] = (tiny.read(context, ITEMS[:1], [0]) for context in (CONTEXT, "Context:\nTea."))
    assert not np.array_equal(one.values, other.values)


def test_a_context_that_stands_is_not_computed_again(tiny: Engine) -> None:
    tiny.read(CONTEXT, ITEMS[:1], [0])
    before = tiny.spent.read
    tiny.read(CONTEXT, ITEMS[:1], [0])
    assert tiny.spent.read - before == tiny.count(ITEMS[0])


def test_what_does_not_fit_is_refused_before_anything_is_computed(tiny_path: Path) -> None:
    engine = Engine(tiny_path, EngineSettings(n_ctx=2048, n_threads=1))
    with pytest.raises(ContextTooLong):
        engine.read("word " * 3000, ITEMS, [0])
    assert engine.spent.read == 0
    engine.close()


def test_the_tokens_of_a_place_are_those_that_share_a_byte_with_it() -> None:
    states = States(np.zeros((3, 1, 1), np.float32), (2, 5, 9))
    assert states.tokens(0, 2) == slice(0, 1)
    assert states.tokens(1, 3) == slice(0, 2)
    assert states.tokens(5, 9) == slice(2, 3)


# A head


def test_the_soft_minimum_is_one_sentence_itself_and_nears_the_lowest_of_several() -> None:
    assert SoftMinimum(sharpness=0.1).of([3.0]) == pytest.approx(3.0)
    assert SoftMinimum(sharpness=1000.0).of([3.0, -1.0]) == pytest.approx(-1.0, abs=0.001)
    assert -1.0 < SoftMinimum(sharpness=1.0).of([3.0, -1.0]) < 1.0


def test_overlap_counts_words_runs_numbers_and_names_that_the_contexts_lack() -> None:
    found = Contexts(["The mill on the Arl was built in 1820."]).overlap("Then Bob built the mill in 1920.")
    assert found.terms == 2 / 4  # bob, built, mill, 1920
    assert found.runs == 0 / 5
    assert (found.numbers, found.names) == (1, 1)
    assert found.length == pytest.approx(np.log(8))


def test_han_text_is_held_against_the_contexts_by_characters() -> None:
    assert Contexts(["青岚茶场创办于1958年。"]).overlap("青岚茶场").runs == 1.0


# The metric


def test_a_sentence_has_the_probability_of_the_head_and_the_answer_that_of_its_least(file: Path) -> None:
    judge = fake_judge(FakeEngine([]))
    wrong = MILL.model_copy(update={"id": "b", "response": "The mill was built in 1820. It burned in 1931."})
    result = evaluate([MILL, wrong], ["groundedness"], judge, head=file)
    good, bad = map(read_of, result.samples)
    logits = (1.0, 1.0 - 3.0)  # the bias, and a number that the contexts lack
    assert [s.probability for s in bad.sentences] == pytest.approx([1 / (1 + np.exp(-z)) for z in logits])
    assert [one.scores["groundedness"].value for one in result.samples] == [1.0, 0.0]
    assert result.samples[1].scores["groundedness"].soft == pytest.approx(1 / (1 + np.exp(2)), abs=0.001)
    assert [s.sentence for s in good.sentences] == ["The mill was built in 1820.", "It is made of oak."]
    assert good.sentences[0].evidence is not None
    assert good.sentences[0].evidence.text == "The mill on the Arl was built in 1820, of brick."


def test_a_judge_without_a_head_is_refused_before_anything_is_read() -> None:
    engine = FakeEngine([])
    with pytest.raises(InputError, match="head"):
        fake_judge(engine).score("groundedness", MILL)
    assert engine.spent.read == 0


@pytest.mark.parametrize("response", ["水磨建于1820年。", "Млин построен в 1820 году."])
def test_a_language_without_a_head_fails_with_its_reason(file: Path, response: str) -> None:
    sample = MILL.model_copy(update={"response": response})
    score = fake_judge(FakeEngine([])).score("groundedness", sample, head=file)
    assert (score.status, score.reason) == ("failed", "no_head")


def test_a_response_that_claims_nothing_is_undefined(file: Path) -> None:
    score = fake_judge(FakeEngine([])).score(
        "groundedness", MILL.model_copy(update={"response": ""}), head=file
    )
    assert (score.status, score.reason) == ("undefined", "no_statements")


def test_long_contexts_are_read_in_windows_and_the_best_decides(file: Path) -> None:
    long = MILL.model_copy(update={"retrieved_contexts": ["Tea grows on hills. " * 200]})
    engine = FakeEngine([], n_ctx=2048)
    judge = fake_judge(engine)
    result = evaluate([long], ["groundedness"], judge, head=file)
    assert result.samples[0].scores["groundedness"].status == "scored"
    assert 1 < read_of(result.samples[0]).windows <= 8
    endless = MILL.model_copy(update={"retrieved_contexts": ["Tea grows on hills. " * 5000]})
    assert judge.score("groundedness", endless, head=file).reason == "context_too_long"


@pytest.mark.parametrize(
    "text",
    ["{}", '{"heads": [{"language": "en"}]}', write([head(sha256="1" * 64)])],
    ids=["empty", "half", "of another judge"],
)
def test_a_file_that_holds_no_head_for_this_judge_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "head.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"head\.json"):
        fake_judge(FakeEngine([])).score("groundedness", MILL, head=path)


def test_no_head_acts_where_layers_are_on_a_gpu(file: Path) -> None:
    engine = FakeEngine([])
    engine.settings = EngineSettings(n_ctx=8192, n_gpu_layers=1)
    with pytest.raises(InputError, match="head"):
        fake_judge(engine).score("groundedness", MILL, head=file)


def test_a_run_is_kept_rescored_and_told_with_its_head(tmp_path: Path, file: Path) -> None:
    folder = tmp_path / "run"
    result = evaluate([MILL], ["groundedness"], fake_judge(FakeEngine([])), folder, head=file)
    assert result.signature.heads == {"en": head(unknown=-3.0).sha256}
    file.unlink()
    again = rescore(folder, threshold=0.9)
    assert again.samples[0].scores["groundedness"].value == 0.0
    assert again.samples[0].scores["groundedness"].soft == result.samples[0].scores["groundedness"].soft
    rows = (folder / "statements.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 1 + 2
    assert "grounding" in rows[1]


def test_words_that_look_unsupported_are_marked_in_the_report(tmp_path: Path) -> None:
    path = tmp_path / "head.json"
    path.write_text(write([head(bias=-1.0)]), encoding="utf-8")
    result = evaluate([MILL], ["groundedness"], fake_judge(FakeEngine([])), head=path)
    result.to_html(tmp_path / "page.html")
    assert read_of(result.samples[0]).sentences[0].spans == ((0, 26),)
    assert 'doubtful">The mill was built in 1820' in (tmp_path / "page.html").read_text(encoding="utf-8")


# Faithfulness of a response that is read


LONG = MILL.model_copy(
    update={"response": "The mill was built in 1820. It burned in 1931. It was built of brick."}
)
TELLS = write([head(unknown=-3.0, long_answers=100)])
ASKED: list[dict[str, Any]] = [
    {"statements": ["One."]},
    {"statements": ["Two."]},
    {"statements": ["Three."]},
    *[{"verdict": 0.9}] * 3,
]


@pytest.mark.parametrize(
    ("by", "given"),
    [("auto", TELLS), ("head", TELLS), ("head", write([head(unknown=-3.0)]))],
    ids=["auto", "head", "a head of short answers, by name"],
)
def test_each_sentence_of_a_response_that_is_read_is_a_statement_and_nothing_is_asked(
    by: str, given: str
) -> None:
    metrics = ["faithfulness", "full_support", "groundedness"]
    result = evaluate([LONG], metrics, fake_judge(FakeEngine([])), support_by=by, head=given)
    [one] = result.samples
    support = one.records["support"]
    logits = (1.0, 1.0 - 3.0, 1.0)  # of the bias, and less for a number that the contexts lack
    assert [v.probability for v in support.verdicts] == pytest.approx([1 / (1 + np.exp(-z)) for z in logits])  # type: ignore[attr-defined]
    assert one.scores["faithfulness"].value == 2 / 3
    assert one.scores["full_support"].soft == one.scores["groundedness"].soft
    assert result.signature.heads


@pytest.mark.parametrize(
    "other",
    [
        {"head": "none"},
        {"head": write([head(long_answers=99)])},
        {"head": write([head("zh", long_answers=100)])},
        {"head": TELLS, "support_by": "llm"},
    ],
    ids=["no head", "of short answers", "of another language", "asked by name"],
)
def test_a_judge_whose_head_does_not_decide_is_asked(other: dict[str, str]) -> None:
    engine = FakeEngine(ASKED)
    found = evaluate([LONG], ["faithfulness"], fake_judge(engine), **other)  # type: ignore[arg-type]
    engine.close()  # nothing was left to be asked
    assert found.samples[0].scores["faithfulness"].value == 1.0


@pytest.mark.parametrize(
    ("change", "answers"),
    [
        ({"response": "It was built in 1820. It is of brick."}, [*ASKED[:2], *ASKED[3:5]]),
        ({"reference": "It was built in 1820."}, ASKED),
    ],
    ids=["short", "with a reference"],
)
def test_auto_asks_about_short_responses_and_those_with_a_reference(
    change: dict[str, str], answers: list[dict[str, Any]]
) -> None:
    engine = FakeEngine(answers)
    score = fake_judge(engine).score("faithfulness", LONG.model_copy(update=change), head=TELLS)
    engine.close()  # nothing was left to be asked
    assert score.value == 1.0


def test_the_plan_of_a_response_that_is_read_has_no_reply() -> None:
    told = plan([LONG], ["faithfulness"], fake_judge(FakeEngine([])), head=TELLS)
    assert (told.to_make, told.spent.decoded, told.spent.branch) == (2, 0, 0)
    assert told.spent.read > len(LONG.response or "")


def test_to_be_read_by_name_needs_a_head_in_the_language() -> None:
    judge = fake_judge(FakeEngine([]))
    with pytest.raises(InputError, match="head"):
        judge.score("faithfulness", LONG, support_by="head")
    score = judge.score("faithfulness", LONG, support_by="head", head=write([head("zh")]))
    assert (score.status, score.reason) == ("failed", "no_head")


def test_a_run_that_was_read_is_scored_again_and_told_as_such(tmp_path: Path) -> None:
    made = evaluate([LONG], ["faithfulness"], fake_judge(FakeEngine([])), tmp_path, head=TELLS)
    assert rescore(tmp_path, threshold=0.1).samples[0].scores["faithfulness"].value == 1.0
    assert "head:" in str(made.signature)
    assert "read" in next(line for line in str(made).splitlines() if line.startswith("mill")).split()


# Fitting


def readings(number: int, seed: int = 0) -> list[Reading]:
    """Answers of two sentences; the first number of each token's state says whether its sentence is right."""
    draw = np.random.default_rng(seed)
    made = []
    for i in range(number):
        right = [True, bool(draw.integers(2))]
        text = "Tea grows on hills. Rain falls in May."
        where = (0, 19), (20, 38)
        states = draw.normal(size=(len(text), 8)).astype(np.float16)
        for (start, end), good in zip(where, right, strict=True):
            states[start:end, 0] += 2.0 if good else -2.0
        wrong = tuple(place for place, good in zip(where, right, strict=True) if not good)
        sample = Sample(id=str(i), response=text, retrieved_contexts=["Tea grows on hills."], source="made")
        ends = tuple(range(1, len(text) + 1))
        made.append(Reading(sample, int(all(right)), f"g{i // 2}", "en", wrong, states, ends))
    return made


def test_a_head_finds_what_tells_right_from_wrong_and_its_figures_are_of_unseen_answers() -> None:
    [made] = head_fit.fit(readings(320), {"name": "fake", "sha256": "0" * 64}, layer=1)
    assert made.figures["auroc"][0] > 0.99
    assert np.argmax(np.abs(made.sentence.states)) == 0
    assert made.token is not None
    assert np.argmax(np.abs(made.token.states)) == 0
    assert head_fit.fit(readings(320), {"name": "fake", "sha256": "0" * 64}, layer=1) == [made]


def test_where_nothing_tells_right_from_wrong_the_figures_say_so() -> None:
    draw = np.random.default_rng(1)
    plain = []
    for one in readings(320):
        states = draw.normal(size=one.states.shape).astype(np.float16)
        plain.append(Reading(one.sample, one.label, one.group, "en", None, states, one.ends))
    [made] = head_fit.fit(plain, {"name": "fake", "sha256": "0" * 64}, layer=1)
    assert made.figures["auroc"][0] < 0.65


def labelled(path: Path, number: int) -> Path:
    lines = [
        {
            "id": f"s{i}",
            "response": f"Tea grows on hill {i}.",
            "retrieved_contexts": ["Tea grows."],
            "label": i % 2,
            "group": f"g{i // 2}",
        }
        for i in range(number)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_fit_writes_a_head_that_acts_on_its_judge_and_a_second_call_reads_nothing_anew(
    tiny_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from localeval.cli import main

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = tmp_path / "head.json"
    command = ["fit", str(labelled(tmp_path / "l.jsonl", 300)), "--judge", str(tiny_path), "--threads", "1"]
    main([*command, "-o", str(made), "--layer", "0"])
    assert "cross-validated auroc" in capsys.readouterr().out
    written = made.read_bytes()
    monkeypatch.setattr(Engine, "read", lambda *_: pytest.fail("read again"))
    main([*command, "-o", str(made), "--layer", "0"])
    assert made.read_bytes() == written
    monkeypatch.undo()
    with Judge.load(tiny_path, n_threads=1) as judge:
        assert judge.score("groundedness", MILL, head=made).status == "scored"


@pytest.mark.parametrize(
    ("number", "layer", "mark"),
    [(40, "0", ""), (300, "1", ""), (300, "0", '"spans"'), (300, "0", '[{"start": 5, "end": 900}]')],
    ids=["few labels", "last layer", "no place", "no place of the response"],
)
def test_fit_refuses_what_gives_no_head(
    tiny_path: Path, tmp_path: Path, number: int, layer: str, mark: str
) -> None:
    from localeval.cli import main

    path = labelled(tmp_path / "l.jsonl", number)
    if mark:
        text = path.read_text(encoding="utf-8").replace(
            '"label"', f'"hallucination_spans": {mark}, "label"', 1
        )
        path.write_text(text, encoding="utf-8")
    made = tmp_path / "head.json"
    with pytest.raises(SystemExit) as ended:
        main(["fit", str(path), "--judge", str(tiny_path), "-o", str(made), "--layer", layer])
    assert ended.value.code == 2
    assert not made.exists()
