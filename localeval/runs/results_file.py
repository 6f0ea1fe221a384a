"""Write and read results.json. Its fields: localeval/runs/README.md.

It has one sample per line, so that it is read in parts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import takewhile, zip_longest
from typing import Any, Literal, cast

from pydantic import BaseModel, Field, StrictBool

from localeval.judgements import JUDGEMENTS
from localeval.judgements.journal import JournalFile
from localeval.metrics import Score
from localeval.metrics.corrected import Corrected
from localeval.metrics.sample_result import Network, SampleResult
from localeval.metrics.signature import Signature
from localeval.report.view import Stamp
from localeval.runs.result import Result, ScoredSamples
from localeval.samples import Sample, Skipped

# The lines before and after the lines of the samples.
_SAMPLES = ' "samples": [\n'
_END = " ]\n"


class _Row(BaseModel):
    """A sample's line.

    sha256  of its texts, by which an edit is noticed; a run of an older version has none
    """

    id: str
    sha256: str | None = None
    scores: dict[str, Score]
    unjudged: dict[str, int] = {}
    records: dict[str, str]


class _Summary(BaseModel):
    """What is read of a metric's summary, as the numbers are computed anew."""

    higher_is_better: StrictBool | None = None


class _Head(BaseModel):
    """All but the samples."""

    schema_: Literal[1] = Field(alias="schema")
    signature: Signature
    metrics: list[str]
    summary: dict[str, _Summary] = {}
    corrected: dict[str, Corrected] = {}
    network: Network = Network()
    skipped: list[Skipped] = []
    certificates: list[Stamp] = []


def results_text(result: Result) -> Iterator[str]:
    """Yield the text of results.json of a run in a folder, in parts."""
    scored = cast("ScoredSamples", result.samples)
    head = json.dumps(result.head(), ensure_ascii=False, indent=1).removesuffix("\n}")
    yield f"{head},\n{_SAMPLES}"
    for position, line in enumerate(scored.lines()):
        separator = ",\n  " if position else "  "
        yield separator + line
    yield f"\n{_END}}}\n"


def read_results(lines: Iterator[str], samples: Sequence[Sample], journal: JournalFile) -> Result:
    """Read a result of these samples from the lines of results.json; its records are in `journal`.

    Raises ValueError or KeyError for another form, or for results of other samples.
    """
    fields, rows = _split(lines)
    head = _Head.model_validate(fields)
    scored = ScoredSamples(samples, journal, head.signature)
    for position, (sample, entry) in enumerate(zip_longest(samples, rows)):
        if sample is None or entry is None or entry["id"] != sample.id:
            raise ValueError("its samples are not those of samples.jsonl")
        row = _Row.model_validate(entry)
        result = _read_row(row, sample, head.metrics)
        sha256 = scored.put(position, result, row.unjudged)
        if row.sha256 is not None and row.sha256 != sha256:
            raise ValueError(f"has the scores of another text than samples.jsonl for sample {sample.id}")
    directions = {name: summary.higher_is_better for name, summary in head.summary.items()}
    return Result(
        scored,
        head.metrics,
        head.signature,
        network=head.network,
        skipped=head.skipped,
        certificates=head.certificates,
        higher_is_better={name: value for name, value in directions.items() if value is not None},
        corrected=head.corrected,
    )


def _read_row(row: _Row, sample: Sample, metrics: Sequence[str]) -> SampleResult:
    """Check a sample's line, and return its result without its records. Raises ValueError."""
    unknown = sorted(row.records.keys() - JUDGEMENTS.keys())
    if unknown:
        raise ValueError(f"there is no judgement {unknown[0]!r}")
    missing = sorted(set(metrics) - row.scores.keys())
    if missing:
        raise ValueError(f"sample {sample.id} has no score of {missing[0]}")
    scores = {name: score.checked() for name, score in row.scores.items()}
    return SampleResult(sample, scores, {}, keys=row.records)


def _split(lines: Iterator[str]) -> tuple[Any, Iterator[Any]]:
    """Return the head and an iterator over the samples; a file that was reformatted is read at once."""
    head = "".join(takewhile(lambda line: line != _SAMPLES, lines))
    if head.endswith(",\n"):
        return json.loads(head[:-2] + "}"), _rows(lines)
    document = json.loads(head)
    return document, iter(document["samples"])


def _rows(lines: Iterator[str]) -> Iterator[Any]:
    """Yield what each line of a sample holds. Raises ValueError where the end is missing."""
    for line in lines:
        if line == _END:
            return
        yield json.loads(line.rstrip().removesuffix(","))
    raise ValueError("it ends in the middle")
