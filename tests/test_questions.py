"""How the judge is asked for the questions that an answer answers."""

from __future__ import annotations

from localeval.testing import FakeEmbedder, fake_judge
from tests.originals import PAIR, VECTORS, Asking


def test_ten_draws_are_asked_at_one_half_each_with_its_own_seed_and_the_real_question_at_zero() -> None:
    engine = Asking(list(VECTORS))
    fake_judge(engine, FakeEmbedder(VECTORS)).score("answer_relevance", PAIR)
    real, drawn = engine.calls
    assert (len(real.leaves), real.temperature, real.seeds) == (1, 0.0, None)
    assert (len(drawn.leaves), drawn.temperature) == (10, 0.5)
    assert drawn.seeds is not None
    assert len(drawn.seeds) == len(set(drawn.seeds)) == 10


def test_another_answer_is_asked_with_other_seeds_and_the_same_with_the_same() -> None:
    engine = Asking(list(VECTORS))
    for answer in ("Tea is grown in Assam.", "Tea sings."):
        fake_judge(engine, FakeEmbedder(VECTORS)).score("answer_relevance", {**PAIR, "answer": answer})
    fake_judge(engine, FakeEmbedder(VECTORS)).score("answer_relevance", PAIR)
    first, other, again = (set(call.seeds) for call in engine.calls if call.seeds is not None)
    assert not first & other
    assert first == again
