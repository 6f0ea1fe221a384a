"""Write and read results.json: a `Result` with one sample per line, so that it can be read in parts.

Its fields: localeval/runs/README.md. An older version wrote neither `sha256`, which shows whether a text was
edited since, nor `higher_is_better`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import takewhile, zip_longest
from typing import Any, Literal

from pydantic import BaseModel, Field, StrictBool

from localeval.judgements import JUDGEMENTS
from localeval.judgements.calibration import curves_of
from localeval.judgements.journal import JournalFile
from localeval.metrics import Score
from localeval.metrics.signature import Signature
from localeval.runs.result import Network, Result, ScoredSamples, sample_sha256
from localeval.samples import Sample, Skipped

_SAMPLES, _END = ' "samples": [\n', " ]\n"  # the lines around those of the samples


class _Row(BaseModel):
    id: str
    sha256: str | None = None
    scores: dict[str, Score]
    records: dict[str, str]


class _Summary(BaseModel):
    higher_is_better: StrictBool | None = None


class _Head(BaseModel):
    schema_: Literal[1] = Field(alias="schema")
    signature: Signature
    metrics: list[str]
    summary: dict[str, _Summary] = {}
    network: Network = Network()
    skipped: list[Skipped] = []


def results_text(result: Result) -> Iterator[str]:
    """Yield the text of the file, in parts."""
    yield json.dumps(result.head(), ensure_ascii=False, indent=1).removesuffix("\n}") + f",\n{_SAMPLES}"
    for i, item in enumerate(result.samples):
        row = item.to_dict() | {"records": dict(item.keys)}
        yield (",\n  " if i else "  ") + json.dumps(row, ensure_ascii=False)
    yield f"\n{_END}}}\n"


def _split(lines: Iterator[str]) -> tuple[Any, Iterator[Any]]:
    """Return the head and an iterator over the samples; a file that was reformatted is read at once."""
    head = "".join(takewhile(lambda line: line != _SAMPLES, lines))
    if head.endswith(",\n"):
        return json.loads(head[:-2] + "}"), _rows(lines)
    document = json.loads(head)
    return document, iter(document["samples"])


def _rows(lines: Iterator[str]) -> Iterator[Any]:
    for line in lines:
        if line == _END:
            return
        yield json.loads(line.rstrip().removesuffix(","))
    raise ValueError("it ends in the middle")


def read_results(lines: Iterator[str], samples: Sequence[Sample], journal: JournalFile) -> Result:
    """Read a result of these samples from the lines of the file; its records are in `journal`.

    Raises ValueError or KeyError for another form, or for results of other samples.
    """
    fields, rows = _split(lines)
    head = _Head.model_validate(fields)
    scored = ScoredSamples(samples, journal, curves_of(head.signature.calibration), head.signature.threshold)
    for index, (sample, entry) in enumerate(zip_longest(samples, rows)):
        if sample is None or entry is None or entry["id"] != sample.id:
            raise ValueError("its samples are not those of samples.jsonl")
        row = _Row.model_validate(entry)
        if row.sha256 not in (None, sample_sha256(sample)):
            raise ValueError(f"has the scores of another text than samples.jsonl for sample {sample.id}")
        if unknown := sorted(row.records.keys() - JUDGEMENTS.keys()):
            raise ValueError(f"there is no judgement {unknown[0]!r}")
        if missing := sorted(set(head.metrics) - row.scores.keys()):
            raise ValueError(f"sample {sample.id} has no score of {missing[0]}")
        scored.put(index, {name: score.checked() for name, score in row.scores.items()}, {}, row.records)
    return Result(
        scored,
        head.metrics,
        head.signature,
        network=head.network,
        skipped=head.skipped,
        higher_is_better={
            name: metric.higher_is_better
            for name, metric in head.summary.items()
            if metric.higher_is_better is not None
        },
    )
