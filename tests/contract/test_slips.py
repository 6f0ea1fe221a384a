"""Slips of a caller: each is refused in one sentence before anything is judged, and nothing is lost by it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from fractions import Fraction
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import localeval
from localeval import METRICS, Judge, evaluate, plan, prompts, rescore
from localeval.compat import Faithfulness, FaithfulnesswithHHEM, RunConfig
from localeval.compat import evaluate as compat_evaluate
from localeval.engine.auxiliary_models import AuxiliaryModels
from localeval.engine.interface import EngineSettings
from localeval.errors import InputError
from localeval.prompts import LANGUAGES, load
from localeval.prompts.options import PROMPTED, Options
from localeval.testing import FakeEngine, fake_judge
from tests.originals import INPUTS
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
    "statements": ["words", ["llm"], None],
    "threshold": [1.5, -0.1, "0.5", True, None, float("nan")],
    "seed": [-1, 2**32, 1.0, "3", True],
    "questions": [0, 101, 2.5],
    "beta": [0, 101],
    "explain": [1, "yes", None],
    "calibration": [None, 5, ["auto"]],
    "head": [None, 5],
    "prompts": [None, "my.toml", [], {"support": "my.toml"}, {"support": {"en": 5}}, {5: {}}],
    "suport": [{"en": "a"}],
}
SETTINGS: dict[str, list[Any]] = {
    "n_ctx": [10, 8192.5, 8192.0, "8192"],
    "n_threads": [-1, 1.0, True, None],
    "n_batch": [1, 512.0, 16384],
    "width": [0, 121, None],
    "mmap": ["no", 0, None],
    "flash_attention": ["x", 1],
    "cache_type": ["f32", ["f16"]],
}


def pairs(table: dict[str, list[Any]]) -> list[tuple[str, Any]]:
    return [(name, bad) for name, values in table.items() for bad in values]


@pytest.mark.parametrize(("name", "bad"), pairs(OPTIONS))
def test_an_option_with_a_bad_value_is_refused_by_its_name(name: str, bad: Any) -> None:
    assert name in refused(lambda: Options.read({name: bad}))
    assert name in refused(lambda: evaluate([TEA], ["faithfulness"], idle(), **{name: bad}))
    assert name in refused(lambda: Faithfulness(**{name: bad}))


@pytest.mark.parametrize(("name", "bad"), pairs(SETTINGS))
def test_a_setting_with_a_bad_value_is_refused_by_its_name(name: str, bad: Any) -> None:
    assert name in refused(lambda: EngineSettings(**{name: bad}))
    assert name in refused(lambda: Judge.load("qwen2.5-coder-1.5b", **{name: bad}))


@pytest.mark.parametrize("bad", [[], iter([]), "faithfulness", 5, METRICS["faithfulness"], [None], [["a"]]])
def test_what_is_no_list_of_names_of_metrics_is_refused_with_one_that_is(bad: Any) -> None:
    for call in (plan, evaluate):
        assert '"faithfulness"' in refused(lambda call=call: call([TEA], bad, idle()))  # type: ignore[misc]


def _of_config(bad: Any) -> object:
    return compat_evaluate([INPUTS], [Faithfulness(idle())], run_config=bad)


CALLS: list[tuple[Callable[[Any], object], list[Any], str]] = [
    (lambda bad: idle().score("faithfulness", bad), ["text", ["text"], None], "Sample"),
    (lambda bad: idle().score(bad, TEA), [["faithfulness"], None], "name"),
    (lambda bad: evaluate([TEA], judge=bad), [None, 5, Judge], "judge"),
    (Judge.load, [None, 5], "judge"),
    (lambda bad: localeval.read_samples([TEA], limit=bad), [0, 1.5, "3", True], "limit"),
    (lambda bad: localeval.read_samples([TEA], sample=bad), [-1, "2"], "sample"),
    (lambda bad: RunConfig(timeout=bad), ["600", True, [5], float("nan"), 0], "timeout"),
    (_of_config, [{"timeout": 5}, 5, "600", []], "RunConfig"),
    (_of_config, [SimpleNamespace(timeout="5", seed=None)], "timeout"),
    (lambda bad: compat_evaluate([INPUTS], bad), [None, "a", Faithfulness()], "[Faithfulness()]"),
    (lambda bad: FaithfulnesswithHHEM(batch_size=bad), ["9", 0, True], "batch_size"),
]


@pytest.mark.parametrize(("call", "bad", "said"), [(c, bad, said) for c, bads, said in CALLS for bad in bads])
def test_an_argument_of_another_form_is_refused(call: Callable[[Any], object], bad: Any, said: str) -> None:
    assert said in refused(lambda: call(bad))


@pytest.mark.parametrize("metrics", [[], "faithfulness", [None]])
def test_a_slip_in_the_metrics_leaves_a_finished_run_as_it_is(metrics: Any, tmp_path: Path) -> None:
    folder = judged(tmp_path / "run", [0.9])
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    refused(lambda: evaluate(folder / "samples.jsonl", metrics, idle(), folder, statements="sentences"))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_metrics_may_come_from_a_generator(tmp_path: Path) -> None:
    folder = judged(tmp_path / "run", [0.9])
    names: list[Any] = [(name for name in ["faithfulness"]) for _ in range(2)]
    assert rescore(folder, names[0])["faithfulness"].value == 1
    again = evaluate(folder / "samples.jsonl", names[1], idle(), folder, statements="sentences")
    assert again["faithfulness"].value == 1


# Numbers of other libraries


@pytest.mark.parametrize(
    ("name", "value", "plain"),
    [
        ("seed", np.int64(7), 7),
        ("questions", np.uint8(3), 3),
        ("threshold", np.float32(0.25), 0.25),
        ("threshold", np.int64(1), 1.0),
        ("temperature", 0, 0.0),
        ("beta", Fraction(1, 2), 0.5),
    ],
)
def test_a_number_of_another_library_becomes_a_plain_one(name: str, value: Any, plain: float) -> None:
    read = getattr(Options.read({name: value}), name)
    assert (read, type(read)) == (plain, type(plain))


def test_a_run_with_numbers_of_numpy_is_judged_and_written(tmp_path: Path) -> None:
    numbers: dict[str, Any] = {"seed": np.int64(3), "questions": np.int32(2), "threshold": np.float32(0.5)}
    metrics = ["faithfulness", "answer_relevance"]
    result = evaluate([TEA], metrics, steady_judge(SteadyEngine()), tmp_path / "run", **numbers)
    assert json.loads(result.to_json())["signature"]["options"]["seed"] == 3
    same = evaluate([TEA], metrics, steady_judge(SteadyEngine()), seed=3, questions=2)
    assert result.scores == same.scores
    settings = EngineSettings(n_ctx=np.int64(4096), n_threads=np.int32(2))
    assert json.loads(json.dumps(vars(settings)))["n_ctx"] == 4096


# Replaced prompts


@pytest.mark.parametrize(
    ("judgement", "old", "new", "said"),
    [
        ("support", 'verdict = "no"', 'verdit = "no"', "verdict"),
        ("support", 'verdict = "yes"', 'verdict = "maybe"', "maybe"),
        ("support", "contexts = [", "context = [", "contexts"),
        ("support", "leaves = [", "leafs = [", "leaves"),
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
    told = refused(lambda: Options.read({"prompts": {judgement: {"en": path}}}))
    assert told.startswith(f"{path} ({judgement}, en): ")
    assert said in told


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("judgement", PROMPTED)
def test_a_copy_of_a_built_in_prompt_is_taken_as_it_is(judgement: str, language: str) -> None:
    path = Path(prompts.__file__).parent / language / f"{judgement}.toml"
    assert load(judgement, language, path) == load(judgement, language)


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


GOOD: dict[Any, Any] = {"name": "own", "sha256": "1" * 64}


@pytest.mark.parametrize(
    "told", [None, "own", {"name": "own"}, {**GOOD, "name": 5}, {**GOOD, "size": np.int64(5)}]
)
def test_an_embedder_that_does_not_tell_what_it_is_is_refused_before_anything_is_judged(told: Any) -> None:
    engine = SteadyEngine()
    judge = Judge(engine, GOOD, companions=AuxiliaryModels(Own(told)))
    for call in (
        lambda: evaluate([TEA], ["answer_relevance"], judge),
        lambda: judge.score("answer_relevance", TEA),
    ):
        assert "embedder" in refused(call)
    assert engine.asked == 0


def test_vectors_may_come_as_lists() -> None:
    scores = [
        evaluate(
            [TEA], ["answer_relevance"], Judge(SteadyEngine(), GOOD, companions=AuxiliaryModels(one))
        ).scores
        for one in (Own(GOOD), SteadyEmbedder())
    ]
    assert scores[0] == scores[1]


def test_the_package_says_that_it_is_typed() -> None:
    assert (resources.files(localeval) / "py.typed").is_file()
