"""Finished runs to label: made in memory, or in a folder, with no model."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from localeval import Result, Sample, evaluate
from localeval.testing import FakeEngine, fake_judge
from tests.finished_runs import signature
from tests.reports import judged

METRICS = ["faithfulness", "answer_relevance"]


def mill(number: int, **fields: Any) -> Sample:
    """A sample whose response makes two statements."""
    texts: dict[str, Any] = {
        "user_input": f"When was mill {number} built?",
        "response": f"Mill {number} was built in {1800 + number}. It is of oak.",
        "retrieved_contexts": [f"Mill {number} on the Arl was built in {1800 + number}.", "It is of brick."],
    }
    return Sample(id=f"mill-{number}", **{**texts, **fields})


def run_of(samples: Sequence[Sample], shares: Sequence[Sequence[float]] = ()) -> Result:
    """Each sample's statements have these probabilities, or 0.9 and 0.2."""
    given = [*shares, *([[0.9, 0.2]] * (len(samples) - len(shares)))]
    results = [judged(sample, share) for sample, share in zip(samples, given, strict=True)]
    return Result(results, METRICS, signature(METRICS))


def mills(number: int) -> Result:
    return run_of([mill(i) for i in range(number)])


def mills_in(folder: Path, number: int, **fields: Any) -> Path:
    """The folder of a run of `number` mills, whose statements have 0.9 and 0.2 in turn."""
    # Contexts that are read in windows need more answers.
    engine = FakeEngine([{"verdict": p} for _ in range(100 + number) for p in (0.9, 0.2)])
    samples = [mill(i, **fields) for i in range(number)]
    evaluate(samples, ["faithfulness"], fake_judge(engine), folder, statements="sentences")
    return folder
