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
from localeval import InputError, Judge, evaluate, plan, prompts, read_samples
from localeval.compat import Faithfulness, RunConfig
from localeval.metrics import METRICS, Metric, Score
from localeval.testing import FakeEngine, fake_judge
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

OPTIONS: dict[str, Any] = {
    "statements": "words",
    "threshold": float("nan"),
    "seed": 2**32,
    "questions": 101,
    "beta": 0,
    "explain": "yes",
    "calibration": None,
    "head": None,
    "prompts": {"support": "my.toml"},
    "suport": {"en": "a"},
}
SETTINGS: dict[str, Any] = {"n_ctx": 10, "n_threads": -1, "n_batch": 16384, "width": 121, "cache_type": "f32"}


@pytest.mark.parametrize(
    ("call", "bad", "said"),
    [
        (lambda bad: idle().score("faithfulness", bad), "text", "Sample"),
        (lambda bad: idle().score(bad, TEA), ["faithfulness"], "name"),
        (lambda bad: evaluate([TEA], judge=bad), Judge, "judge"),
        (lambda bad: evaluate([TEA], bad, idle()), "faithfulness", '"faithfulness"'),
        (lambda bad: plan([TEA], bad, idle()), [], '"faithfulness"'),
        (lambda bad: read_samples([TEA], limit=bad), 0, "limit"),
        (lambda bad: read_samples([TEA], sample=bad), -1, "sample"),
        (lambda bad: RunConfig(timeout=bad), float("nan"), "timeout"),
        (lambda bad: Faithfulness(suport=bad), {"en": "a"}, "suport"),
    ],
)
def test_an_argument_with_a_bad_value_is_refused_by_its_name(
    call: Callable[[Any], object], bad: Any, said: str
) -> None:
    assert said in refused(lambda: call(bad))


def test_an_option_or_setting_with_a_bad_value_is_refused_by_its_name() -> None:
    for name, bad in OPTIONS.items():
        assert name in refused(partial(evaluate, [TEA], ["faithfulness"], idle(), **{name: bad}))
    for name, bad in SETTINGS.items():
        assert name in refused(partial(Judge.load, "qwen2.5-coder-1.5b", **{name: bad}))


def test_metrics_may_be_an_iterator_and_numbers_those_of_another_library(tmp_path: Path) -> None:
    plain: dict[str, Any] = {"seed": 3, "threshold": 0.25, "temperature": 1.0, "beta": 0.5}
    numbers = (np.int64(3), np.float32(0.25), 1, Fraction(1, 2))
    given: dict[str, Any] = dict(zip(plain, numbers, strict=True))
    metrics = ["faithfulness", "answer_relevance"]
    result = evaluate([TEA], iter(metrics), steady_judge(SteadyEngine()), tmp_path / "run", **given)
    options = json.loads(result.to_json())["signature"]["options"]
    assert {name: options[name] for name in plain} == plain
    same = evaluate([TEA], metrics, steady_judge(SteadyEngine()), **plain)
    assert result.to_dict() == same.to_dict()


# Replaced prompts


def test_a_slip_in_a_prompt_is_told_with_its_file_its_language_and_its_part(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    text = (Path(prompts.__file__).parent / "en" / "statements.toml").read_text(encoding="utf-8")
    given: Any = {"statements": {"en": path}}
    for right, wrong, part in (
        ('system = """', 'system = 5\nother = """', "system"),
        ("statements = []", "statements = [5]", "statements"),
        ("[[examples]]", "[examples]", "TOML"),
    ):
        path.write_text(text.replace(right, wrong, 1), encoding="utf-8")
        told = refused(partial(evaluate, [TEA], ["faithfulness"], idle(), prompts=given))
        assert told.startswith(f"{path} (statements, en): ")
        assert part in told.removeprefix(f"{path} (statements, en): ")


# What a caller makes


class Own:
    """An embedder that gives its vectors as lists."""

    def embed(self, texts: Sequence[str]) -> Any:
        return SteadyEmbedder().embed(texts).tolist()


class Telling(Own):
    def __init__(self, told: Any) -> None:
        self.told = told

    def signature(self) -> Any:
        return self.told


def beside(embedder: Any) -> Any:
    judge = steady_judge(SteadyEngine())
    return Judge(judge.engine, judge.model, companions=type(judge.companions)(embedder))


GOOD: dict[str, Any] = {"name": "own", "sha256": "1" * 64}


@pytest.mark.parametrize("bad", [Own(), Telling({"name": "own"}), Telling({**GOOD, "size": np.int64(5)})])
def test_an_embedder_that_does_not_tell_what_it_is_is_refused_only_where_it_is_asked(bad: Any) -> None:
    judge = beside(bad)
    assert "embedder" in refused(lambda: evaluate([TEA], ["answer_relevance"], judge))
    assert "embedder" in refused(lambda: judge.score("answer_relevance", TEA))
    assert judge.engine.asked == 0
    assert evaluate([TEA], ["faithfulness"], judge).scores[0]["faithfulness"].status == "scored"


def test_vectors_may_come_as_lists() -> None:
    lists, arrays = (beside(one).score("answer_relevance", TEA) for one in (Telling(GOOD), SteadyEmbedder()))
    assert lists == arrays


def test_a_metric_of_ones_own_may_give_a_value_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    half = Metric("half", "1", ("response",), (), lambda *_: Score(0.5, None), "")
    monkeypatch.setitem(METRICS, "half", half)
    result = evaluate([TEA], ["half"], idle())
    assert (result["half"].value, result["half"].soft) == (0.5, None)
    assert result.scores == [{"half": Score(0.5, None)}]


def test_the_package_says_that_it_is_typed() -> None:
    assert (resources.files(localeval) / "py.typed").is_file()
