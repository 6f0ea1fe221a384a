"""Models for the tests: a tiny random one, made when first asked for, the quick-start judge, and a fake."""

import os
import sys
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from localeval import Judge, Result, evaluate
from localeval.engine.engine import Engine
from localeval.engine.settings import EngineSettings
from localeval.system.offline import SWITCHES
from tests import browser as chromium
from tests.registries import registries_as_before
from tests.steady import SteadyEngine, steady_judge
from tests.tiny import write_tiny_model

# A slow machine is no fault of the code.
hypothesis.settings.register_profile("any machine", deadline=None)
hypothesis.settings.load_profile("any machine")


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What a run remembers of this machine and its judges stays out of the user's folders."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("LOCALEVAL_LEDGER", str(tmp_path_factory.mktemp("data") / "ledger.json"))
        yield


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from chromium.started()


@pytest.fixture(autouse=True)
def _network_as_it_was(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A test may go offline, in the command line above all; the next one finds the network again."""
    monkeypatch.setattr(sys.modules["localeval.system.offline"]._GUARD, "shut", False)
    before = {name: os.environ[name] for name in SWITCHES if name in os.environ}
    yield
    for name in SWITCHES:
        os.environ.pop(name, None)
    os.environ.update(before)


@pytest.fixture(autouse=True)
def _registered_as_before() -> Iterator[None]:
    """A metric or judgement that a test adds, or the criteria of a file, are unknown to the next one."""
    with registries_as_before():
        yield


@pytest.fixture(scope="session")
def tiny_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("tiny") / "tiny.gguf")


@pytest.fixture(scope="session")
def tiny(tiny_path: Path) -> Iterator[Engine]:
    engine = Engine([tiny_path], EngineSettings(n_ctx=8192, n_threads=1))
    yield engine
    engine.close()


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever judge is named, a steady one is loaded, with no model file."""
    monkeypatch.setattr(Judge, "load", lambda *_, **__: steady_judge(SteadyEngine()))


@pytest.fixture(scope="session")
def judge() -> Iterator[Judge]:
    """The quick start's judge and embedder; `scripts/test` fetches them."""
    with Judge.load("qwen2.5-coder-1.5b", embedder="multilingual-e5-small-q4") as loaded:
        yield loaded


@pytest.fixture(scope="session")
def shipped(judge: Judge) -> Result:
    """The shipped example, judged once for all tests that look at it."""
    return evaluate(str(resources.files("localeval") / "examples" / "answers.jsonl"), judge=judge)
