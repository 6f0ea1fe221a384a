"""The result of `evaluate`: scores, the records behind them, means and signature."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from localeval.errors import InputError
from localeval.judgements.base import Record
from localeval.judgements.decision import find_differing
from localeval.judgements.journal import JournaledRecords, JournalFile
from localeval.metrics import METRICS, Score
from localeval.metrics.abstention_balanced import (
    NEEDED_METRICS,
    AbstentionBalanced,
    abstention_balanced,
)
from localeval.metrics.corrected import Corrected
from localeval.metrics.sample_result import Network, SampleResult
from localeval.metrics.signature import Signature
from localeval.metrics.summary import Summary, group_of, summarize
from localeval.report.formats import REPORT, write_format
from localeval.report.slices import Slices, slices_of
from localeval.report.tables import to_pandas
from localeval.report.text import as_text
from localeval.report.view import Disagreement, Stamp
from localeval.samples import Sample, Skipped
from localeval.system.files import atomic_write, writing_to
from localeval.system.spooled import SpooledLines, StoredSequence


class ScoredSamples(StoredSequence[SampleResult]):
    """The scored samples of a run, in the order of its data; read one at a time, so that a million fit.

    journal    journal of the run's folder, for reading the records; with None they are held in memory
    signature  the run's, with the curves and the threshold of each `SampleResult`
    """

    def __init__(self, samples: Sequence[Sample], journal: JournalFile | None, signature: Signature) -> None:
        self._samples = samples
        self._journal = journal
        self._curves = signature.calibration
        self._threshold = signature.threshold
        self._records: dict[int, Mapping[str, Record]] = {}
        self._lines = SpooledLines()
        # Position of a sample -> the number of its line; samples may come in any order.
        self._line_numbers = array("q", [-1]) * len(samples)

    def put(self, position: int, result: SampleResult, unjudged: Mapping[str, int] = {}) -> str:
        """Store the result of the sample at `position`, and return the digest of its texts.

        unjudged  reason -> number of stretches of the response that are not judged, if `result` has no
                  records in which they are counted
        """
        if self._journal is None:
            self._records[position] = result.records
        row = result.to_dict()
        if unjudged:
            row["unjudged"] = unjudged
        row["records"] = dict(result.keys)
        line = json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass")
        self._line_numbers[position] = self._lines.append(line)
        return str(row["sha256"])

    def lines(self) -> Iterator[str]:
        """Yield each sample's line of results.json."""
        for number in self._line_numbers:
            yield self._lines[number].decode("utf-8", "surrogatepass")

    def __len__(self) -> int:
        return len(self._samples)

    def _read(self, index: int) -> SampleResult:
        row = json.loads(self._lines[self._line_numbers[index]])
        sample = self._samples[index]
        scores = {name: Score(**score) for name, score in row["scores"].items()}
        if self._journal is None:
            return SampleResult(sample, scores, self._records[index], self._curves, self._threshold)
        keys = row["records"]
        records = JournaledRecords(self._journal, keys)
        return SampleResult(sample, scores, records, self._curves, self._threshold, keys)


class Result:
    """A finished run. `print(result)` shows the table; `result["faithfulness"]` is a `Summary`.

    samples    one `SampleResult` each, in the order of the input
    signature  what the scores depend on
    skipped    the rows of the data that could not be read and were left out (`read_samples(skip_bad=True)`)
    certificates  what the certificates that the run was to have say of it (`require_certified`)
    corrected  metric -> its number corrected by labels or by a card, where `rescore` was given some
    higher_is_better  metric -> whether more is better, where that is known: from `METRICS`, or for other
               metrics of a finished run from its results.json
    slices     the run by the values of columns, once `slice_by` was called
    """

    def __init__(
        self,
        samples: Sequence[SampleResult],
        metrics: list[str],
        signature: Signature,
        *,
        network: Network | None = None,
        skipped: Sequence[Skipped] = (),
        certificates: Sequence[Stamp] = (),
        higher_is_better: Mapping[str, bool] | None = None,
        corrected: Mapping[str, Corrected] | None = None,
    ) -> None:
        self.samples = samples
        self.metrics = metrics
        self.signature = signature
        self.network = network or Network()
        self.skipped = list(skipped)
        self.certificates = list(certificates)
        self.corrected = dict(corrected or {})
        registered = {name: METRICS[name].higher_is_better for name in metrics if name in METRICS}
        self.higher_is_better = {**(higher_is_better or {}), **registered}
        self.slices: list[Slices] = []
        # Computed once, as an interval is costly.
        self._summaries: dict[str, Summary] = {}

    def __getitem__(self, metric: str) -> Summary:
        if metric not in self.metrics:
            raise InputError(f"this run has no metric {metric!r}; it has: {', '.join(self.metrics)}.")
        if not self._summaries:
            samples = ((item.scores, group_of(item.sample)) for item in self.samples)
            self._summaries = summarize(self.metrics, samples)
        return self._summaries[metric]

    @cached_property
    def abstention_balanced(self) -> AbstentionBalanced | None:
        """Both sides of abstention and the mean of their shares that are right.

        None for a run without all of abstention_accuracy, over_refusal_rate and unsupported_answer_rate.
        """
        if not NEEDED_METRICS.issubset(self.metrics):
            return None
        return abstention_balanced((item.scores, group_of(item.sample)) for item in self.samples)

    def slice_by(self, *columns: str) -> None:
        """Let table, page and JSON show the means by the values of these columns of the data, too.

        The language of the response is found where the data has no column lang. Raises InputError for another
        column that no sample has.

        >>> result.slice_by("source")                                           # doctest: +SKIP
        """
        self.slices = [slices_of(self.samples, self.metrics, column) for column in dict.fromkeys(columns)]

    @property
    def scores(self) -> list[dict[str, Score]]:
        """The scores of each sample, by metric, in the order of the input."""
        return [dict(s.scores) for s in self.samples]

    def disagreements(self, threshold: float | None = None) -> list[Disagreement]:
        """List the statements whose probability is at least `threshold` for only one of judge and HHEM.

        By default the threshold is the run's.
        Empty unless a metric of each was computed (`faithfulness` and `faithfulness_hhem`).
        """
        if threshold is None:
            threshold = self.signature.threshold
        disagreements = []
        for item in self.samples:
            for judge, classifier in find_differing(item.decisions(threshold)):
                if judge.probability is not None and classifier.probability is not None:
                    disagreements.append(
                        Disagreement(item.sample.id, judge.text, judge.probability, classifier.probability)
                    )
        return disagreements

    def summary(self) -> dict[str, dict[str, Any]]:
        """Return for each metric the fields of its `Summary`, and `higher_is_better` where that is known.

        `groups` is left out where no two samples share one.
        """
        summary: dict[str, dict[str, Any]] = {}
        for name in self.metrics:
            fields = _plain_summary(self[name])
            if name in self.higher_is_better:
                fields["higher_is_better"] = self.higher_is_better[name]
            summary[name] = fields
        return summary

    def head(self) -> dict[str, Any]:
        """Return all but the samples as plain JSON values; what was not asked for is left out."""
        head: dict[str, Any] = {
            "schema": 1,  # another number is another form
            "signature": self.signature.model_dump(mode="json"),
            "metrics": [*self.metrics],
            "summary": self.summary(),
        }
        if self.abstention_balanced is not None:
            head["abstention_balanced"] = _plain_fields(self.abstention_balanced)
        if self.corrected:
            head["corrected"] = {
                name: number.model_dump(mode="json") for name, number in self.corrected.items()
            }
        head["network"] = self.network.model_dump()
        head["skipped"] = [row._asdict() for row in self.skipped]
        if self.certificates:
            head["certificates"] = [stamp._asdict() for stamp in self.certificates]
        if self.slices:
            head["slices"] = [_plain_slices(sliced) for sliced in self.slices]
        return head

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


def _plain_summary(mean: Summary) -> dict[str, Any]:
    """Return the fields of a `Summary` as plain JSON values; `groups` only where two samples share one."""
    fields = _plain_fields(mean)
    if fields["groups"] is None:
        del fields["groups"]
    return fields


def _plain_fields(figures: Summary | AbstentionBalanced) -> dict[str, Any]:
    """Return the fields as plain JSON values."""
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in asdict(figures).items()
    }


def _plain_slices(sliced: Slices) -> dict[str, Any]:
    values = [
        {
            "value": one.value,
            "samples": one.samples,
            "summary": {metric: _plain_summary(mean) for metric, mean in one.means.items()},
        }
        for one in sliced.slices
    ]
    return {
        "column": sliced.column,
        "values": values,
        "more_values": sliced.more_values,
        "more_samples": sliced.more_samples,
    }
