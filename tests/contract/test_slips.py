"""Slips of a caller: each is refused in one sentence before anything is judged, and nothing is lost by it."""

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from localeval import InputError, Judge, evaluate, plan, read_samples
from localeval.compat import Faithfulness, RunConfig
from localeval.metrics import METRICS, Metric, Score
from localeval.runs.folder import load
from localeval.testing import FakeEngine, fake_judge
from tests.commands import said
from tests.steady import SteadyEmbedder, SteadyEngine, steady_judge

TEA = {"id": "a", "user_input": "Tea?", "response": "Tea grows.", "retrieved_contexts": ["Tea grows."]}
IDLE = fake_judge(FakeEngine([]))  # a judge that may not be asked


def refused(call: Callable[..., object], *arguments: Any, **options: Any) -> str:
    """What an InputError says, in one sentence that ends as one."""
    message = said(InputError, call, *arguments, **options)
    assert "\n" not in message
    assert message.endswith((".", "?"))
    return message


# One argument of the public surface with a bad value: the error names the argument, or the value.
CHOICES: dict[str, Any] = {"statements": "words", "explain": "yes", "calibration": None, "head": None}
NUMBERS: dict[str, Any] = {"threshold": float("nan"), "seed": 2**32, "questions": 101, "beta": 0}
PROMPTS: dict[str, Any] = {"prompts": {"support": "my.toml"}, "suport": {"en": "a"}}
SETTINGS: list[tuple[str, Any]] = [("n_ctx", 2047), ("n_ctx", 2**20 + 1), ("n_batch", 31), ("n_batch", 16384)]
SETTINGS += [("n_threads", -1), ("n_threads", 1025), ("n_gpu_layers", -2), ("n_gpu_layers", 1001)]
SETTINGS += [("width", 0), ("width", 121), ("cache_type", "f32")]


@pytest.mark.parametrize(
    ("call", "bad", "name"),
    [
        (lambda bad: IDLE.score("faithfulness", bad), "text", "Sample"),
        (lambda bad: IDLE.score(bad, TEA), ["faithfulness"], "name"),
        (lambda bad: evaluate([TEA], judge=bad), Judge, "judge"),
        (lambda bad: evaluate([TEA], bad, IDLE), "faithfulness", '"faithfulness"'),
        (lambda bad: plan([TEA], bad, IDLE), [], '"faithfulness"'),
        (lambda bad: read_samples([TEA], limit=bad), 0, "limit"),
        (lambda bad: read_samples([TEA], sample=bad), -1, "sample"),
        (lambda bad: RunConfig(timeout=bad), float("nan"), "timeout"),
        (lambda bad: Faithfulness(suport=bad), {"en": "a"}, "suport"),
    ],
)
def test_a_bad_argument_is_refused_by_its_name(call: Callable[[Any], object], bad: Any, name: str) -> None:
    assert name in refused(call, bad)


def test_a_bad_option_or_setting_is_refused_by_its_name() -> None:
    for name, bad in {**CHOICES, **NUMBERS, **PROMPTS}.items():
        assert name in refused(evaluate, [TEA], ["faithfulness"], IDLE, **{name: bad})
    for name, bad in SETTINGS:
        assert name in refused(Judge.load, "qwen2.5-coder-1.5b", **{name: bad})


def test_metrics_may_be_an_iterator_and_numbers_those_of_another_library(tmp_path: Path) -> None:
    plain: dict[str, Any] = {"seed": 3, "threshold": 0.25, "temperature": 1.0, "beta": 0.5}
    numbers: Any = dict(zip(plain, (np.int64(3), np.float32(0.25), 1, Fraction(1, 2)), strict=True))
    metrics = ["faithfulness", "answer_relevance"]
    result = evaluate([TEA], iter(metrics), steady_judge(SteadyEngine()), tmp_path / "run", **numbers)
    options = json.loads(result.to_json())["signature"]["options"]
    assert {name: options[name] for name in plain} == plain
    same = evaluate([TEA], metrics, steady_judge(SteadyEngine()), **plain)
    assert result.to_dict() == same.to_dict()


def test_an_embedder_that_gives_no_vectors_or_no_signature_is_refused_only_where_it_is_asked() -> None:
    mute = steady_judge(engine := SteadyEngine(), Mock(spec=["embed"]))
    nameless = steady_judge(engine, Mock(signature=lambda: {"name": "nameless"}))
    assert "'signature'" in said(AttributeError, evaluate, [TEA], ["answer_relevance"], mute)
    assert "'sha256'" in said(ValueError, evaluate, [TEA], ["answer_relevance"], nameless)
    assert engine.asked == 0
    assert evaluate([TEA], ["faithfulness"], mute).scores[0]["faithfulness"].status == "scored"
    odd_rows: list[Any] = [[[1.0]], [[1.0], [np.nan]], [[], []]]
    for rows in odd_rows:
        odd = Mock(embed=Mock(return_value=rows), signature=SteadyEmbedder().signature)
        assert "embed" in refused(steady_judge(engine, odd).score, "answer_relevance", TEA)


def test_a_metric_of_ones_own_may_give_a_value_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    half = Metric("half", "1", ("response",), (), lambda *_: Score(0.5), "")
    monkeypatch.setitem(METRICS, "half", half)
    result = evaluate([TEA], ["half"], IDLE, tmp_path)
    assert result.scores == [{"half": Score(0.5, 0.5)}]
    results = tmp_path / "results.json"  # earlier versions kept it so
    results.write_text(results.read_text("utf-8").replace('"soft": 0.5', '"soft": null'), "utf-8")
    assert load(tmp_path).scores == result.scores
