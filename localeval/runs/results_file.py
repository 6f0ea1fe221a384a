"""The form of results.json, in which one sample stands a line, so that it can be read in parts:

schema     1
signature  what the numbers were made with, as fields
metrics    their names, in the order of the table
summary    metric -> the fields of `localeval.metrics.summary.Summary`; an interval is [low, high] or null.
           Beside them `higher_is_better`, true or false, by which a process that has not registered the
           metric tells better from worse; an older version wrote none
network    the fields of `localeval.runs.network.Network`. Alone of all fields it tells of the run's
           processes and not of its scores: a run that was interrupted ends in the same bytes where
           nothing tried
skipped    place and reason of each row of the data that was left out because it can't be read
samples    in the order of the input: id; sha256 of what was judged, by which a text that was edited since
           is found (an older version wrote none); scores, metric -> value, soft, status, reason; and
           records, judgement -> the key of its line in `journal.jsonl`, where the record itself stands
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from localeval.judgements import JUDGEMENTS
from localeval.judgements.calibration import Curves, curves_of
from localeval.judgements.journal.lines import Lines
from localeval.judgements.journal.records import KeptRecords
from localeval.metrics import Score
from localeval.metrics.score import Status
from localeval.metrics.signature import Signature
from localeval.runs.network import Network
from localeval.runs.result import Result, SampleResult
from localeval.samples import Sample, Skipped
from localeval.system.versions import digest

FILE = "results.json"
SCHEMA = 1
"""Of `results.json`; another number is another form."""


def written(result: Result) -> Iterator[str]:
    """The text of the file, in parts."""
    head = {
        "schema": SCHEMA,
        "signature": result.signature.model_dump(mode="json"),
        "metrics": result.metrics,
        "summary": result.summary(),
        "network": result.network.model_dump(),
        "skipped": [one._asdict() for one in result.skipped],
    }
    yield json.dumps(head, ensure_ascii=False, indent=1).removesuffix("\n}") + ',\n "samples": ['
    for i, one in enumerate(result.samples):
        yield (",\n  " if i else "\n  ") + json.dumps(_row(one), ensure_ascii=False)
    yield "\n ]\n}\n"


def taken(kept: Any, samples: Sequence[Sample], lines: Lines) -> Result:
    """The result that the file's JSON tells, of these samples; records are in `lines`.

    Raises ValueError, LookupError, TypeError or AttributeError for another form.
    """
    if kept["schema"] != SCHEMA:
        raise ValueError(f"its schema is {kept['schema']!r}, not {SCHEMA}")
    if [row["id"] for row in kept["samples"]] != [sample.id for sample in samples]:
        raise ValueError("its samples are not those of samples.jsonl")
    for sample, row in zip(samples, kept["samples"], strict=True):
        if row.get("sha256", (now := _sha256(sample))) != now:
            raise ValueError(f"has the scores of another text than samples.jsonl for sample {sample.id}")
    signature, metrics = _signature(kept["signature"]), list(map(_text, kept["metrics"]))
    curves, threshold = curves_of(signature.calibration), signature.threshold
    found = [
        _sample(sample, row, metrics, KeptRecords(lines, _keys(row)), curves, threshold)
        for sample, row in zip(samples, kept["samples"], strict=True)
    ]
    network = Network(**kept.get("network", {}))
    skipped = [Skipped(_text(row["place"]), _text(row["reason"])) for row in kept.get("skipped", [])]
    higher = _directions(kept.get("summary", {}))
    return Result(found, metrics, signature, network=network, skipped=skipped, higher_is_better=higher)


def _directions(summary: Mapping[str, Any]) -> dict[str, bool]:
    told = {name: row["higher_is_better"] for name, row in summary.items() if "higher_is_better" in row}
    if not all(isinstance(more, bool) for more in told.values()):
        raise TypeError
    return told


def _row(one: SampleResult) -> dict[str, Any]:
    at = one.records.at if isinstance(one.records, KeptRecords) else {}
    scores = {name: vars(score) for name, score in one.scores.items()}
    return {"id": one.sample.id, "sha256": _sha256(one.sample), "scores": scores, "records": dict(at)}


def _sha256(sample: Sample) -> str:
    """Of the texts alone: what else a row has may be edited without another verdict."""
    return digest([sample.user_input, sample.response, sample.retrieved_contexts, sample.reference])


def _keys(row: Mapping[str, Any]) -> dict[str, str]:
    at = {name: _text(key) for name, key in row["records"].items()}
    if unknown := [name for name in at if name not in JUDGEMENTS]:
        raise ValueError(f"there is no judgement {unknown[0]!r}")
    return at


def _sample(
    sample: Sample,
    row: Mapping[str, Any],
    metrics: Sequence[str],
    records: KeptRecords,
    curves: Curves,
    threshold: float,
) -> SampleResult:
    scores = {name: _score(score) for name, score in row["scores"].items()}
    if missing := [name for name in metrics if name not in scores]:
        raise ValueError(f"sample {sample.id} has no score of {missing[0]}")
    return SampleResult(sample, scores, records, curves, threshold)


def _score(kept: Mapping[str, Any]) -> Score:
    score = Score(**kept)
    for number in (score.value, score.soft):
        if number is not None and not (isinstance(number, (int, float)) and math.isfinite(number)):
            raise ValueError(f"a score is {number!r}")
    if score.status not in get_args(Status):
        raise ValueError(f"a status is {score.status!r}")
    _text(score.reason)
    return score


def _signature(kept: Mapping[str, Any]) -> Signature:
    """A signature with all parts that are read of it later."""
    signature = Signature(**kept)
    _text(signature.judge["name"])
    str(signature), signature.raw, signature.threshold
    return signature


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise TypeError
    return given
