"""The result of `evaluate`: scores, the records behind them, means and signature; as results.json too.

The fields of results.json: localeval/runs/README.md. It has one sample per line, so that it is read in parts.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from html import escape
from itertools import takewhile, zip_longest
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import BaseModel, Field, StrictBool

from localeval.errors import InputError
from localeval.judgements import JUDGEMENTS
from localeval.judgements.decision import find_differing
from localeval.judgements.journal import JournaledRecords, JournalFile
from localeval.metrics import METRICS, Score
from localeval.metrics.sample_result import Network as Network
from localeval.metrics.sample_result import SampleResult as SampleResult
from localeval.metrics.sample_result import sample_sha256 as sample_sha256
from localeval.metrics.signature import Signature
from localeval.metrics.summary import Summary, group_of, summarize
from localeval.report.formats import REPORT, write_format
from localeval.report.tables import to_pandas
from localeval.report.text import as_text
from localeval.report.view import Disagreement as Disagreement
from localeval.samples import Sample, Skipped
from localeval.system.files import atomic_write, writing_to
from localeval.system.spooled import SpooledLines, StoredSequence

_SAMPLES, _END = ' "samples": [\n', " ]\n"  # lines of results.json, around the lines of the samples


class ScoredSamples(StoredSequence[SampleResult]):
    """The scored samples of a run, in the order of its data; read one at a time, so that a million fit.

    journal    journal of the run's folder, for reading the records; with None they are held in memory
    signature  the run's, with the curves and the threshold of each `SampleResult`
    """

    def __init__(self, samples: Sequence[Sample], journal: JournalFile | None, signature: Signature) -> None:
        self._samples, self._journal = samples, journal
        self._curves, self._threshold = signature.calibration, signature.threshold
        self._records: dict[int, Mapping[str, BaseModel]] = {}
        self._lines = SpooledLines()
        self._numbers = array("q", [-1]) * len(samples)  # sample -> the number of its line

    def put(
        self,
        index: int,
        sample: Sample,
        scores: Mapping[str, Score],
        records: Mapping[str, BaseModel],
        keys: Mapping[str, str],
        unjudged: Mapping[str, int] = {},
    ) -> str:
        """Store the scores of the sample at `index`, and return its digest; samples may come in any order.

        unjudged  reason -> number of stretches of the response that are not judged, if `records` lack them
        """
        if self._journal is None:
            self._records[index] = records
        row = SampleResult(sample, scores, records).to_dict()
        if unjudged:
            row["unjudged"] = unjudged
        row["records"] = keys
        line = json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass")
        self._numbers[index] = self._lines.append(line)
        return str(row["sha256"])

    def lines(self) -> Iterator[str]:
        """Yield each sample's line of results.json."""
        for number in self._numbers:
            yield self._lines[number].decode("utf-8", "surrogatepass")

    def __len__(self) -> int:
        return len(self._samples)

    def _read(self, index: int) -> SampleResult:
        row = json.loads(self._lines[self._numbers[index]])
        scores = {name: Score(**score) for name, score in row["scores"].items()}
        keys: Mapping[str, str] = row["records"] if self._journal else {}
        records = JournaledRecords(self._journal, keys) if self._journal else self._records[index]
        return SampleResult(self._samples[index], scores, records, self._curves, self._threshold, keys)


class Result:
    """A finished run. `print(result)` shows the table; `result["faithfulness"]` is a `Summary`.

    samples    one `SampleResult` each, in the order of the input
    signature  what the scores depend on
    skipped    the rows of the data that could not be read and were left out (`read_samples(skip_bad=True)`)
    higher_is_better  metric -> whether more is better, where that is known: from `METRICS`, or for other
               metrics of a finished run from its results.json
    """

    def __init__(
        self,
        samples: Sequence[SampleResult],
        metrics: list[str],
        signature: Signature,
        *,
        network: Network | None = None,
        skipped: Sequence[Skipped] = (),
        higher_is_better: Mapping[str, bool] | None = None,
    ) -> None:
        self.samples, self.metrics, self.signature = samples, metrics, signature
        self.network = network or Network()
        self.skipped = list(skipped)
        registered = {name: METRICS[name].higher_is_better for name in metrics if name in METRICS}
        self.higher_is_better = {**(higher_is_better or {}), **registered}
        self._summaries: dict[str, Summary] = {}  # cached, as an interval is costly

    def __getitem__(self, metric: str) -> Summary:
        if metric not in self.metrics:
            raise InputError(f"this run has no metric {metric!r}; it has: {', '.join(self.metrics)}.")
        if not self._summaries:
            samples = ((item.scores, group_of(item.sample)) for item in self.samples)
            self._summaries = summarize(self.metrics, samples)
        return self._summaries[metric]

    @property
    def scores(self) -> list[dict[str, Score]]:
        """The scores of each sample, by metric, in the order of the input."""
        return [dict(s.scores) for s in self.samples]

    def disagreements(self, threshold: float | None = None) -> list[Disagreement]:
        """List the statements whose probability is at least `threshold` for only one of judge and HHEM.

        By default the threshold is the run's.
        Empty unless a metric of each was computed (`faithfulness` and `faithfulness_hhem`).
        """
        threshold = self.signature.threshold if threshold is None else threshold
        statements = []
        for item in self.samples:
            for judge, classifier in find_differing(item.decisions(threshold)):
                if judge.probability is not None and classifier.probability is not None:
                    statements.append(
                        Disagreement(item.sample.id, judge.text, judge.probability, classifier.probability)
                    )
        return statements

    def summary(self) -> dict[str, dict[str, Any]]:
        """Return for each metric the fields of its `Summary`, and `higher_is_better` where that is known.

        `groups` is left out where no two samples share one.
        """
        summary = {
            name: {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self[name]).items()}
            for name in self.metrics
        }
        for name, fields in summary.items():
            if fields["groups"] is None:
                del fields["groups"]
            if name in self.higher_is_better:
                fields["higher_is_better"] = self.higher_is_better[name]
        return summary

    def head(self) -> dict[str, Any]:
        """Return all but the samples as plain JSON values."""
        return {
            "schema": 1,  # another number is another form
            "signature": self.signature.model_dump(mode="json"),
            "metrics": [*self.metrics],
            "summary": self.summary(),
            "network": self.network.model_dump(),
            "skipped": [row._asdict() for row in self.skipped],
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values, as results.json has them, with the records in full."""
        samples = []
        for item in self.samples:
            records = {name: record.model_dump(mode="json") for name, record in item.records.items()}
            samples.append({**item.to_dict(), "records": records})
        return {**self.head(), "samples": samples}

    def to_json(self, path: str | Path | None = None) -> str:
        """Return `to_dict` as text, and write it to `path`, whole or not at all, if there is one.

        Raises InputError when the file can't be written.
        """
        text = json.dumps(self.to_dict(), ensure_ascii=False, indent=1) + "\n"
        if path is not None:
            with writing_to(path, "result"):
                # A lone surrogate that a model wrote is written as its JSON escape.
                atomic_write(Path(path), [text], "backslashreplace")
        return text

    def to_pandas(self) -> Any:
        """Make a DataFrame, a row per sample: its columns, and each metric's value, soft, status and reason.

        Raises InputError without pandas, which the extra `tables` brings.

        >>> result.to_pandas()[["id", "faithfulness", "faithfulness_soft"]]        # doctest: +SKIP
        """
        return to_pandas(self)

    def to_html(self, path: str | Path, title: str = "") -> None:
        """Write the result as one page with a heading. Raises InputError when it can't be written."""
        write_format(self, REPORT.name, path, title)

    def _repr_html_(self) -> str:
        """Show the table in a notebook, as it is printed."""
        return f"<pre>{escape(str(self))}</pre>"

    def __str__(self) -> str:
        return as_text(self)


class _Row(BaseModel):
    id: str
    sha256: str | None = None  # shows whether a text was edited since; an older version did not write it
    scores: dict[str, Score]
    unjudged: dict[str, int] = {}
    records: dict[str, str]


class _Summary(BaseModel):
    higher_is_better: StrictBool | None = None  # nor this


class _Head(BaseModel):
    schema_: Literal[1] = Field(alias="schema")
    signature: Signature
    metrics: list[str]
    summary: dict[str, _Summary] = {}
    network: Network = Network()
    skipped: list[Skipped] = []


def results_text(result: Result) -> Iterator[str]:
    """Yield the text of results.json of a run in a folder, in parts."""
    scored = cast("ScoredSamples", result.samples)
    yield json.dumps(result.head(), ensure_ascii=False, indent=1).removesuffix("\n}") + f",\n{_SAMPLES}"
    for i, line in enumerate(scored.lines()):
        yield (",\n  " if i else "  ") + line
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
    """Read a result of these samples from the lines of results.json; its records are in `journal`.

    Raises ValueError or KeyError for another form, or for results of other samples.
    """
    fields, rows = _split(lines)
    head = _Head.model_validate(fields)
    scored = ScoredSamples(samples, journal, head.signature)
    for index, (sample, entry) in enumerate(zip_longest(samples, rows)):
        if sample is None or entry is None or entry["id"] != sample.id:
            raise ValueError("its samples are not those of samples.jsonl")
        row = _Row.model_validate(entry)
        if unknown := sorted(row.records.keys() - JUDGEMENTS.keys()):
            raise ValueError(f"there is no judgement {unknown[0]!r}")
        if missing := sorted(set(head.metrics) - row.scores.keys()):
            raise ValueError(f"sample {sample.id} has no score of {missing[0]}")
        scores = {name: score.checked() for name, score in row.scores.items()}
        if row.sha256 not in (None, scored.put(index, sample, scores, {}, row.records, row.unjudged)):
            raise ValueError(f"has the scores of another text than samples.jsonl for sample {sample.id}")
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
