"""Long contexts: whole or in windows, what is asked of them fits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from localeval import Sample
from localeval.engine.dry_run import Tally
from localeval.engine.interface import ContextTooLong
from localeval.judgements import Desk, needed, support
from localeval.judgements.statements import SentenceStatements, StatementsRecord
from localeval.prompts.options import Options
from localeval.testing import FakeEngine

QUESTION = "When was it, " * 150 + "?"
LONG = "It grows " + "and grows " * 190 + "."
FILLER = "x" * 198 + ". "
MADE = StatementsRecord(
    sentences=(SentenceStatements(sentence=LONG, start=0, end=len(LONG), statements=(LONG,)),), language="en"
)


def record(desk: Desk, judgement: str, contexts: list[str]) -> Any:
    sample = Sample(user_input=QUESTION, response=LONG, retrieved_contexts=contexts)
    ways: dict[str, Callable[[], Any]] = {
        "support": lambda: support.RESPONSE_IN_CONTEXTS.ask(desk, sample, {"statements": MADE}),
        "needed": lambda: needed.ask(desk, sample, {}),
    }
    return ways[judgement]()


@pytest.mark.parametrize("judgement", ["support", "needed"])
@pytest.mark.parametrize("verdict", ["direct", "reasoned"])
def test_no_length_of_the_contexts_is_refused_where_a_longer_one_is_not(judgement: str, verdict: str) -> None:
    """A character is a token here; what is counted is the schedule of a real engine."""

    def nobody() -> Any:
        raise AssertionError

    engine = FakeEngine([], n_ctx=16_000)
    desk = Desk(Tally(engine), Options.read({"verdict": verdict}), nobody, nobody)
    # Raises ContextTooLong where one does not fit.
    found = [record(desk, judgement, [LONG, FILLER * i]).windows for i in range(1, 40)]
    assert found[0] == 1
    assert found == sorted(found)
    assert 2 <= found[-1] <= 8
    with pytest.raises(ContextTooLong):
        record(desk, judgement, [LONG, FILLER * 500])
