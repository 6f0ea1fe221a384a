"""Long contexts: whole or in windows, what is asked of them fits."""

from __future__ import annotations

import pytest

from localeval import Sample, plan
from localeval.testing import FakeEngine, fake_judge

QUESTION = "When was it, " * 150 + "?"
LONG = "It grows " + "and grows " * 190 + "."
FILLER = "x" * 198 + ". "
SIZES = range(1, 40, 3)


@pytest.mark.parametrize("metric", ["faithfulness", "context_relevance"])
@pytest.mark.parametrize("verdict", ["direct", "reasoned"])
def test_no_length_of_the_contexts_is_refused_where_a_longer_one_is_not(metric: str, verdict: str) -> None:
    """A character is a token here; what is counted is the schedule of a real engine."""
    samples = [
        Sample(id=str(i), user_input=QUESTION, response=LONG, retrieved_contexts=[LONG, FILLER * i])
        for i in (*SIZES, 500)
    ]
    judge = fake_judge(FakeEngine([], n_ctx=16_000))
    told = plan(samples, [metric], judge, statements="sentences", verdict=verdict)
    assert told.too_long == ("500",)
    windows = [told.windows.get(str(i), 1) for i in SIZES]
    assert windows[0] == 1
    assert windows == sorted(windows)
    assert 2 <= windows[-1] <= 8
