"""Models of the original metrics by name: loaded once, freed after the last."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from localeval import Judge
from localeval.compat import AnswerRelevance, ContextRelevance, Faithfulness, evaluate
from localeval.compat.models import release_all
from localeval.errors import InputError
from localeval.testing import FakeEngine, fake_judge
from tests.originals import CONTEXTS, HALF, INPUTS, ROWS


class Opened(NamedTuple):
    model: Any
    engine: ClosingEngine


class ClosingEngine(FakeEngine):
    closed = False

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Opened]]:
    """What `Judge.load` was asked for; each judge can answer INPUTS once."""
    made: list[Opened] = []

    def load_one(model: Any) -> Judge:
        made.append(Opened(model, ClosingEngine(HALF)))
        return fake_judge(made[-1].engine)

    monkeypatch.setattr(Judge, "load", load_one)
    yield made
    release_all()


def test_a_model_is_loaded_when_first_asked_once_for_all_and_freed_after_the_last(
    loads: list[Opened],
) -> None:
    one, other = Faithfulness(llm="qwen2.5-coder-1.5b"), Faithfulness()
    assert loads == []
    assert one.invoke({"answer": "", "document_list": CONTEXTS}) != 1
    assert one.invoke(INPUTS) == other.invoke(INPUTS) == 1 / 2
    assert [opened.model for opened in loads] == ["qwen2.5-coder-1.5b"]
    one.close()
    assert not loads[0].engine.closed
    other.close()
    assert loads[0].engine.closed
    with one:
        assert one.invoke(INPUTS) == 1 / 2
    assert [opened.engine.closed for opened in loads] == [True, True]


def test_an_empty_name_of_a_model_is_refused_and_no_other_taken(loads: list[Opened]) -> None:
    with pytest.raises(InputError, match=r"llm is empty; give a name .* or leave it out\."):
        Faithfulness(llm="")
    with pytest.raises(InputError, match="llm is empty"):
        evaluate(ROWS[:1], [Faithfulness()], llm="")
    with pytest.raises(InputError, match="embedding_model is empty"):
        AnswerRelevance(embedding_model="")
    assert loads == []


def test_one_path_is_one_model_however_it_is_written(
    loads: list[Opened], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for path in ("judge.gguf", tmp_path / "judge.gguf", str(tmp_path / "." / "judge.gguf")):
        assert Faithfulness(llm=path).invoke(INPUTS) == 1 / 2
    Faithfulness(llm="other.gguf").invoke(INPUTS)
    assert len(loads) == 2


def test_evaluate_frees_what_it_loaded_and_leaves_what_a_metric_had(loads: list[Opened]) -> None:
    mine = Faithfulness(llm="mine.gguf", name="mine")
    mine.invoke(ROWS[0])
    result = evaluate(ROWS[:1], [mine, Faithfulness()], llm="given.gguf")
    assert repr(result) == "{'mine': 0.5000, 'faithfulness': 0.5000}"
    assert [(opened.model, opened.engine.closed) for opened in loads] == [
        ("mine.gguf", False),
        ("given.gguf", True),
    ]


def test_evaluate_frees_what_it_loaded_also_when_it_is_interrupted(loads: list[Opened]) -> None:
    class Interrupted(Faithfulness):
        def judged(self, *args: Any, **options: Any) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(ROWS, [Interrupted()], llm="given.gguf")
    assert loads[0].engine.closed


def test_a_judge_of_the_caller_stays_open() -> None:
    engine = ClosingEngine(HALF)
    with Faithfulness(llm=fake_judge(engine)) as metric:
        metric.invoke(ROWS[0])
    evaluate(ROWS[:1], [metric])
    assert not engine.closed


def test_what_nobody_has_to_judge_needs_no_model(loads: list[Opened]) -> None:
    assert math.isnan(Faithfulness(llm="mine.gguf").invoke({"answer": "Tea grows."}))
    assert ContextRelevance(llm="mine.gguf").invoke({"query": "Tea?", "document_list": []}) == 0.0
    assert not loads


def test_what_is_left_open_is_freed_at_the_end(loads: list[Opened]) -> None:
    Faithfulness(llm="left.gguf").invoke(INPUTS)
    release_all()
    assert loads[0].engine.closed


def test_importing_it_loads_no_model_library_and_no_ragas() -> None:
    heavy = "{'ragas', 'pandas', 'torch', 'llama_cpp', 'transformers'}"
    code = f"import sys, localeval.compat; print({heavy} & set(sys.modules))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "set()\n"
