"""Faithfulness by HHEM under its original name: which classifier decides, and where."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localeval import Judge
from localeval.compat import FaithfulnesswithHHEM
from localeval.compat.models import release_all
from localeval.engine.companions import Companions
from localeval.engine.hhem import Classifier
from localeval.errors import InputError
from localeval.testing import FakeClassifier, FakeEmbedder, FakeEngine, fake_judge
from tests.originals import BOTH, INPUTS, STATEMENTS, built_in

SUPPORT = built_in("support")


def test_hhem_rounds_at_one_half_and_keeps_the_raw_mean_beside() -> None:
    classifier = FakeClassifier({"Tea is grown in Assam.": 0.5, "Tea was planted in Assam in 1937.": 0.4})
    metric = FaithfulnesswithHHEM(fake_judge(FakeEngine(STATEMENTS), classifier=classifier))
    found = metric.judged(INPUTS).scores["faithfulness_with_hhem"]
    assert found.value == 1 / 2
    assert found.soft == pytest.approx((0.5 + 0.4) / 2)
    assert metric.invoke(INPUTS) == 1 / 2


class Opened(FakeClassifier):
    """As `Classifier` is: it knows what it was opened from."""

    closed = False

    def __init__(self, model: str | Path, settings: dict[str, Any]) -> None:
        super().__init__(BOTH)
        self.source, self.settings = str(model), settings

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Opened]]:
    """What `Classifier.load` was asked for with a batch size: a judge opens its own with none."""
    made: list[Opened] = []

    def load(model: str | Path = "hhem-2.1-open", **settings: Any) -> Opened:
        one = Opened(model, settings)
        if "batch_size" in settings:
            made.append(one)
        return one

    monkeypatch.setattr(Classifier, "load", load)
    yield made
    release_all()


def judge_with(classifier: Any = "hhem-2.1-open") -> Judge:
    judge = fake_judge(FakeEngine(STATEMENTS))
    judge.companions = Companions(FakeEmbedder({}), classifier)
    return judge


def test_another_device_or_batch_size_opens_a_classifier_of_its_own(opened: list[Opened]) -> None:
    with FaithfulnesswithHHEM(judge_with(), device="cuda", batch_size=4) as metric:
        assert metric.invoke(INPUTS) == 2 / 2
        assert metric.invoke(INPUTS) == 2 / 2
        (classifier,) = opened
        threads = metric.judge().engine.settings.n_threads
        assert classifier.settings == {"device": "cuda", "batch_size": 4, "threads": threads}
        assert not classifier.closed
    assert classifier.closed


def test_it_is_the_judges_own_classifier_that_is_opened_there(opened: list[Opened], tmp_path: Path) -> None:
    one, other = str(tmp_path / "one"), str(tmp_path / "other")
    for given in (one, Path(one), other, Opened(other, {})):
        assert FaithfulnesswithHHEM(judge_with(given), batch_size=32).invoke(INPUTS) == 2 / 2
    FaithfulnesswithHHEM(judge_with(one), batch_size=16).invoke(INPUTS)
    assert [(c.source, c.settings["batch_size"]) for c in opened] == [(one, 32), (other, 32), (one, 16)]


def test_a_classifier_that_cannot_be_opened_again_is_not_replaced_by_another(opened: list[Opened]) -> None:
    own = fake_judge(FakeEngine(STATEMENTS), classifier=FakeClassifier(BOTH))
    assert FaithfulnesswithHHEM(own).invoke(INPUTS) == 2 / 2
    with pytest.raises(
        InputError, match=r"the judge's classifier is a FakeClassifier, which can't be opened"
    ):
        FaithfulnesswithHHEM(own, device="cuda").invoke(INPUTS)
    assert opened == []


@pytest.mark.parametrize("given", ["10", None, 0, 2.5, True, []])
def test_a_batch_size_that_is_no_number_from_one_is_refused(given: Any) -> None:
    with pytest.raises(InputError, match=r"batch_size is .*; choose a whole number, at least 1\."):
        FaithfulnesswithHHEM(batch_size=given)
    with pytest.raises(InputError, match=r"batch_size is .*; choose a whole number, at least 1\."):
        Classifier.load("/no/such", batch_size=given)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"nli_prompt": SUPPORT}, "nli_prompt"),
        ({"prompts": {"support": {"en": SUPPORT}}}, "nli_prompt"),
        ({"verdict": "reasoned"}, "verdict='reasoned'"),
        ({"explain": True}, "explain"),
    ],
)
def test_what_is_for_verdicts_of_a_judge_is_refused(given: dict[str, Any], name: str) -> None:
    with pytest.raises(InputError, match=f"faithfulness_with_hhem: {name} is for verdicts of a judge"):
        FaithfulnesswithHHEM(**given)
    if "prompts" not in given and "nli_prompt" not in given:
        with pytest.raises(InputError, match=name):
            FaithfulnesswithHHEM(judge_with(FakeClassifier(BOTH))).judged(INPUTS, **given)


def test_the_prompt_of_its_first_step_can_be_replaced_still() -> None:
    engine = FakeEngine(STATEMENTS)
    metric = FaithfulnesswithHHEM(
        fake_judge(engine, classifier=FakeClassifier(BOTH)),
        statement_generator_prompt=built_in("statements"),
    )
    assert metric.invoke(INPUTS) == 2 / 2
    assert {call.trunk.system for call in engine.calls} == {"Take care."}
