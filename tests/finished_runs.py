"""Runs for tests of what is done with finished ones: scores as the test wants them, no model."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from localeval import METRICS, Result, Sample, Score, evaluate
from localeval.judgements.journal import line_of
from localeval.metrics.sample_result import SampleResult
from localeval.metrics.signature import Signature
from localeval.options import Options
from localeval.testing import FakeEngine, fake_judge


def signature(metrics: Sequence[str] = ("faithfulness",), **options: Any) -> Signature:
    rows = [METRICS[name] for name in metrics]
    return fake_judge(FakeEngine([])).signature(rows, Options.read(options))


def result(scores: Mapping[str, Score], metric: str = "faithfulness", **fields: Any) -> Result:
    """A result of one metric: id -> score. `fields` replace fields of the signature."""
    rows = [SampleResult(Sample(id=name, user_input="Tea?"), {metric: s}, {}) for name, s in scores.items()]
    return Result(rows, [metric], signature([metric]).model_copy(update=fields))


def scored(values: Sequence[float], softs: Sequence[float] | None = None) -> dict[str, Score]:
    """id "0", "1", ... -> a score of that value, and of that soft score or the same."""
    pairs = zip(values, softs if softs is not None else values, strict=True)
    return {str(i): Score(float(value), float(soft)) for i, (value, soft) in enumerate(pairs)}


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Write them as JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def judged(folder: Path, probabilities: Sequence[float], **options: Any) -> Path:
    """A run's folder: a sample for each probability, with one statement that was decided with it."""
    samples = [
        {"id": f"s{i}", "user_input": "Tea?", "response": f"Tea {i}.", "retrieved_contexts": ["Tea."]}
        for i in range(len(probabilities))
    ]
    engine = FakeEngine([{"verdict": float(p)} for p in probabilities])
    evaluate(samples, ["faithfulness"], fake_judge(engine), folder, statements="sentences", **options)
    return folder


def other_form(journal: Path, judgement: str, record: Any) -> None:
    """Give a judgement's lines of a journal, whole by their check, another record."""
    entries = [json.loads(text) for text in journal.read_text("utf-8").splitlines()]
    for entry in entries:
        del entry["check"]
        if entry["judgement"] == judgement:
            entry["record"] = record
    journal.write_bytes(b"".join(map(line_of, entries)))
