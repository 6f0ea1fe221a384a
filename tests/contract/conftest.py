"""A judge for the command line where the judging is not what is tested."""

from __future__ import annotations

import pytest

from localeval import Judge
from tests.steady import SteadyEngine, steady_judge


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever judge is named, a steady one is loaded, with no model file."""
    monkeypatch.setattr(Judge, "load", lambda *_, **__: steady_judge(SteadyEngine()))
