"""Slips of a caller: each is refused in one sentence before anything is judged, and nothing is lost by it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import localeval
from localeval import InputError, Judge, evaluate, plan, prompts, read_samples, rescore
from localeval.compat import Faithfulness, RunConfig
from localeval.metrics import METRICS, Metric, Score, register
from localeval.testing import FakeEngine, fake_judge
from tests.runs import judged
from tests.steady import SteadyEmbedder, SteadyEngine, steady_judge

TEA: dict[str, Any] = {
    "id": "a",
    "user_input": "What grows?",
    "response": "Tea grows.",
    "retrieved_contexts": ["Tea grows."],
}


def idle() -> Judge:
    """A judge that may not be asked."""
    return fake_judge(FakeEngine([]))


def refused(call: Callable[[], object]) -> str:
    """What an InputError says, in one sentence that ends as one."""
    with pytest.raises(InputError) as caught:
        call()
    said = str(caught.value)
    assert "\n" not in said
    assert said.endswith((".", "?"))
    return said


# One argument of the public surface with a bad value: the error names the argument, or the value.

OPTIONS: dict[str, list[Any]] = {
    "statements": ["words", None],
    "threshold": [1.5, -0.1, "0.5", float("nan")],
    "seed": [-1, 2**32],
    "questions": [0, 101],
    "beta": [0, 101],
    "explain": ["yes"],
    "calibration": [None],
    "head": [None],
    "prompts": ["my.toml", {"support": "my.toml"}],
    "suport": [{"en": "a"}],
}
SETTINGS: dict[str, list[Any]] = {
    "n_ctx": [10, "8192"],
    "n_threads": [-1, None],
    "n_batch": [1, 16384],
    "width": [0, 121],
    "mmap": ["no"],
    "cache_type": ["f32"],
}


def _each(
    call: Callable[[str, Any], object], table: dict[str, list[Any]]
) -> list[tuple[Callable[[Any], object], list[Any], str]]:
    return [(partial(call, name), values, name) for name, values in table.items()]


NO_NAMES = [[], "faithfulness", [None]]
CALLS: list[tuple[Callable[[Any], object], list[Any], str]] = [
    (lambda bad: idle().score("faithfulness", bad), ["text", None], "Sample"),
    (lambda bad: idle().score(bad, TEA), [["faithfulness"], None], "name"),
    (lambda bad: evaluate([TEA], judge=bad), [None, Judge], "judge"),
    (lambda bad: read_samples([TEA], limit=bad), [0, 1.5], "limit"),
    (lambda bad: read_samples([TEA], sample=bad), [-1], "sample"),
    (lambda bad: RunConfig(timeout=bad), ["600", float("nan"), 0], "timeout"),
    *_each(lambda name, bad: evaluate([TEA], ["faithfulness"], idle(), **{name: bad}), OPTIONS),
    *_each(
        lambda name, bad: Faithfulness(**{name: bad}), {name: OPTIONS[name] for name in ("seed", "suport")}
    ),
    *_each(lambda name, bad: Judge.load("qwen2.5-coder-1.5b", **{name: bad}), SETTINGS),
    (lambda bad: plan([TEA], bad, idle()), NO_NAMES, '"faithfulness"'),
    (lambda bad: evaluate([TEA], bad, idle()), NO_NAMES, '"faithfulness"'),
]


@pytest.mark.parametrize(("call", "bad", "said"), [(c, bad, said) for c, bads, said in CALLS for bad in bads])
def test_an_argument_with_a_bad_value_is_refused_by_its_name(
    call: Callable[[Any], object], bad: Any, said: str
) -> None:
    assert said in refused(lambda: call(bad))


def test_a_slip_in_the_metrics_leaves_a_finished_run_as_it_is(tmp_path: Path) -> None:
    folder = judged(tmp_path / "run", [0.9])
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for metrics in ([], [None]):
        refused(lambda bad=metrics: evaluate(folder / "samples.jsonl", bad, idle(), folder))  # type: ignore[misc]
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_metrics_may_come_from_a_generator(tmp_path: Path) -> None:
    folder = judged(tmp_path / "run", [0.9])
    names: list[Any] = [(name for name in ["faithfulness"]) for _ in range(2)]
    assert rescore(folder, names[0])["faithfulness"].value == 1
    again = evaluate(folder / "samples.jsonl", names[1], idle(), folder, statements="sentences")
    assert again["faithfulness"].value == 1


# Numbers of other libraries


def test_a_number_of_another_library_becomes_a_plain_one(tmp_path: Path) -> None:
    numbers: dict[str, Any] = {
        "seed": np.int64(3),
        "questions": np.uint8(2),
        "threshold": np.float32(0.25),
        "temperature": 1,
        "beta": Fraction(1, 2),
    }
    plain = {"seed": 3, "questions": 2, "threshold": 0.25, "temperature": 1.0, "beta": 0.5}
    metrics = ["faithfulness", "answer_relevance"]
    result = evaluate([TEA], metrics, steady_judge(SteadyEngine()), tmp_path / "run", **numbers)
    options = json.loads(result.to_json())["signature"]["options"]
    assert {name: options[name] for name in plain} == plain
    same: Any = evaluate([TEA], metrics, steady_judge(SteadyEngine()), **plain)  # type: ignore[arg-type]
    assert result.to_dict() == same.to_dict()


def test_a_setting_may_be_a_number_of_numpy(tiny_path: Path) -> None:
    with Judge.load(tiny_path, n_ctx=np.int64(4096), n_threads=np.int32(2)) as judge:
        assert json.loads(json.dumps(vars(judge.engine.settings)))["n_ctx"] == 4096


# Replaced prompts


@pytest.mark.parametrize(
    ("judgement", "old", "new", "said"),
    [
        ("support", 'verdict = "no"', 'verdit = "no"', "verdict"),
        ("support", 'system = """', 'system = 5\nother = """', "system"),
        ("support", "[[examples]]", "[examples]", "TOML"),
        ("statements", "statements = []", "statements = [5]", "statements"),
        ("questions", 'question = """', 'query = """', "question"),
    ],
)
def test_a_slip_in_a_prompt_is_told_with_its_file_its_language_and_its_part(
    judgement: str, old: str, new: str, said: str, tmp_path: Path
) -> None:
    text = (Path(prompts.__file__).parent / "en" / f"{judgement}.toml").read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "mine.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    given: Any = {judgement: {"en": path}}
    told = refused(lambda: evaluate([TEA], ["faithfulness"], idle(), prompts=given))
    assert told.startswith(f"{path} ({judgement}, en): ")
    assert said in told


def test_copies_of_the_built_in_prompts_are_taken_as_they_are() -> None:
    none: Any = {}
    given: Any = {}
    for path in Path(prompts.__file__).parent.glob("*/*.toml"):
        given.setdefault(path.stem, {})[path.parent.name] = path
    built_in, copied = (
        evaluate([TEA], ["faithfulness", "answer_relevance"], steady_judge(SteadyEngine()), prompts=one)
        for one in (none, given)
    )
    assert built_in.scores == copied.scores
    assert given["support"].keys() == {"en", "zh"}


# An embedder of the caller's


class Own(SteadyEmbedder):
    """Tells of itself what it was made with, and gives its vectors as lists."""

    def __init__(self, told: Any) -> None:
        self.told = told

    def embed(self, texts: Sequence[str]) -> Any:
        return super().embed(texts).tolist()

    def signature(self) -> dict[str, Any]:
        told: dict[str, Any] = self.told
        return told


def beside(embedder: SteadyEmbedder) -> Judge:
    judge = steady_judge(SteadyEngine())
    return Judge(judge.engine, judge.model, companions=type(judge.companions)(embedder))


GOOD: dict[Any, Any] = {"name": "own", "sha256": "1" * 64}


@pytest.mark.parametrize("told", [None, {"name": "own"}, {**GOOD, "size": np.int64(5)}])
def test_an_embedder_that_does_not_tell_what_it_is_is_refused_before_anything_is_judged(told: Any) -> None:
    judge: Any = beside(Own(told))
    assert "embedder" in refused(lambda: evaluate([TEA], ["answer_relevance"], judge))
    assert "embedder" in refused(lambda: judge.score("answer_relevance", TEA))
    assert judge.engine.asked == 0


def test_an_embedder_without_a_signature_ends_no_run_that_does_not_ask_it() -> None:
    class Plain:
        def embed(self, texts: Sequence[str]) -> Any:
            return SteadyEmbedder().embed(texts)

    judge = beside(Plain())  # type: ignore[arg-type]
    assert evaluate([TEA], ["faithfulness"], judge).scores[0]["faithfulness"].status == "scored"
    assert "embedder" in refused(lambda: evaluate([TEA], ["answer_relevance"], judge))


def test_a_metric_of_ones_own_may_give_a_reason_of_another_type() -> None:
    strange: Any = ValueError("too short")
    register(Metric("strange", "1", ("response",), (), lambda *_: Score.undefined(strange), ""))
    try:
        [scores] = evaluate([TEA], ["strange"], steady_judge(SteadyEngine())).scores
    finally:
        del METRICS["strange"]
    assert scores["strange"] == Score.undefined("too short")


def test_a_metric_of_ones_own_may_give_a_value_alone() -> None:
    half: Any = np.float32(0.5)
    register(Metric("half", "1", ("response",), (), lambda *_: Score(half, None), ""))
    try:
        result = evaluate([TEA], ["half"], steady_judge(SteadyEngine()))
    finally:
        del METRICS["half"]
    assert (result["half"].value, result["half"].soft) == (0.5, None)
    assert result.scores == [{"half": Score(0.5, None)}]


def test_vectors_may_come_as_lists() -> None:
    lists, arrays = (beside(one).score("answer_relevance", TEA) for one in (Own(GOOD), SteadyEmbedder()))
    assert lists == arrays


def test_the_package_says_that_it_is_typed() -> None:
    assert (resources.files(localeval) / "py.typed").is_file()
