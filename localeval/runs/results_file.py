"""results.json: a `Result` written one sample a line, so that it can be read in parts, and read back.

Its fields: localeval/runs/README.md. An older version wrote neither `sha256`, by which a text that was edited
since is found, nor `higher_is_better`.
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

FILE = "results.json"
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
    """Give the text of the file, in parts."""
    yield json.dumps(result.head(), ensure_ascii=False, indent=1).removesuffix("\n}") + f",\n{_SAMPLES}"
    for i, one in enumerate(result.samples):
        row = one.to_dict() | {"records": dict(one.keys)}
        yield (",\n  " if i else "  ") + json.dumps(row, ensure_ascii=False)
    yield f"\n{_END}}}\n"


def _parts(lines: Iterator[str]) -> tuple[Any, Iterator[Any]]:
    """Read all but the samples, and the samples one by one; a file that was laid out anew is read whole."""
    before = "".join(takewhile(lambda line: line != _SAMPLES, lines))
    if before.endswith(",\n"):
        return json.loads(before[:-2] + "}"), _rows(lines)
    whole = json.loads(before)
    return whole, iter(whole["samples"])


def _rows(lines: Iterator[str]) -> Iterator[Any]:
    for line in lines:
        if line == _END:
            return
        yield json.loads(line.rstrip().removesuffix(","))
    raise ValueError("it ends in the middle")


def read_results(lines: Iterator[str], samples: Sequence[Sample], journal: JournalFile) -> Result:
    """Make the result that the lines of the file tell, of these samples; records are in `journal`.

    Raises ValueError or KeyError for another form, or where it is of other samples.
    """
    head, rows = _parts(lines)
    read = _Head.model_validate(head)
    found = ScoredSamples(samples, journal, curves_of(read.signature.calibration), read.signature.threshold)
    for place, (sample, told) in enumerate(zip_longest(samples, rows)):
        if sample is None or told is None or told["id"] != sample.id:
            raise ValueError("its samples are not those of samples.jsonl")
        row = _Row.model_validate(told)
        if row.sha256 not in (None, sample_sha256(sample)):
            raise ValueError(f"has the scores of another text than samples.jsonl for sample {sample.id}")
        if unknown := sorted(row.records.keys() - JUDGEMENTS.keys()):
            raise ValueError(f"there is no judgement {unknown[0]!r}")
        if missing := sorted(set(read.metrics) - row.scores.keys()):
            raise ValueError(f"sample {sample.id} has no score of {missing[0]}")
        found.put(place, row.scores, {}, row.records)
    return Result(
        found,
        read.metrics,
        read.signature,
        network=read.network,
        skipped=read.skipped,
        higher_is_better={
            name: row.higher_is_better
            for name, row in read.summary.items()
            if row.higher_is_better is not None
        },
    )
