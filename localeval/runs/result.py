"""What `evaluate` returns: every score, the records behind it, the means and the signature."""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict

from localeval.errors import InputError
from localeval.judgements.calibration import Curves, calibrate
from localeval.judgements.journal import JournaledRecords, JournalFile
from localeval.metrics import METRICS, Score
from localeval.metrics.signature import Signature
from localeval.metrics.summary import Summary, summarize
from localeval.samples import Sample, Skipped
from localeval.system.files import SpooledLines, StoredSequence, atomic_write, writing_to
from localeval.system.versions import digest

SCHEMA = 1  # of results.json; another number is another form


class Network(BaseModel):
    """How often something in the process that ended a run tried to use the network; all were refused.

    watched  whether every process of the run refused and counted them from its beginning on
    refused  0 or more; None where nobody counted
    """

    model_config = ConfigDict(frozen=True)

    watched: bool = False
    refused: int | None = None


@dataclass(frozen=True, slots=True)
class SampleResult:
    """One sample with its scores, by metric, and the records that they were computed from, by judgement.

    records    of a run in a folder read from its journal at each look
    curves     what calibrated the judge's probabilities of support, by language; they stand in `records` raw
    threshold  the probability from which a verdict counted as yes
    """

    sample: Sample
    scores: Mapping[str, Score]
    records: Mapping[str, BaseModel]
    curves: Curves = field(default_factory=dict)
    threshold: float = 0.5

    @property
    def keys(self) -> Mapping[str, str]:
        """Judgement -> the key of its record in the run's journal; empty where none is kept there."""
        return self.records.at if isinstance(self.records, JournaledRecords) else {}

    def to_dict(self) -> dict[str, Any]:
        """Give its id, the digest of its texts, and its scores as plain JSON values."""
        scores = {name: asdict(score) for name, score in self.scores.items()}
        return {"id": self.sample.id, "sha256": sample_sha256(self.sample), "scores": scores}

    def calibrated(self) -> Mapping[str, Any]:
        """Calibrate the records' probabilities of support, as the metrics read them."""
        return calibrate(self.records, self.curves)


class ScoredSamples(StoredSequence[SampleResult]):
    """The scored samples of a run, in the order of its data; each look reads one, so that a million fit.

    journal  of the run's folder, where the records are read; None holds them in memory
    curves, threshold  as in `SampleResult`, the same for all
    """

    def __init__(
        self, samples: Sequence[Sample], journal: JournalFile | None, curves: Curves, threshold: float
    ) -> None:
        self._samples, self._journal, self._curves, self._threshold = samples, journal, curves, threshold
        self._records: dict[int, Mapping[str, BaseModel]] = {}
        self._lines = SpooledLines()
        self._numbers = array("q", [-1]) * len(samples)  # of each sample's line

    def put(
        self,
        place: int,
        scores: Mapping[str, Score],
        records: Mapping[str, BaseModel],
        keys: Mapping[str, str],
    ) -> None:
        """Keep what was made of the sample at `place`; samples may come in any order."""
        if self._journal is None:
            self._records[place] = records
        row = [{name: vars(score) for name, score in scores.items()}, keys]
        self._numbers[place] = self._lines.append(json.dumps(row).encode())

    def __len__(self) -> int:
        return len(self._samples)

    def _read(self, place: int) -> SampleResult:
        told, keys = json.loads(self._lines[self._numbers[place]])
        scores = {name: Score(**score) for name, score in told.items()}
        records = JournaledRecords(self._journal, keys) if self._journal else self._records[place]
        return SampleResult(self._samples[place], scores, records, self._curves, self._threshold)


def sample_sha256(sample: Sample) -> str:
    """Digest the texts alone: what else a row has may be edited without another verdict."""
    return digest([sample.user_input, sample.response, sample.retrieved_contexts, sample.reference])


class Disagreement(NamedTuple):
    """A statement that the judge and the classifier decide differently: its sample, both probabilities."""

    sample: str
    statement: str
    judge: float
    classifier: float


class Result:
    """A finished run. `print(result)` shows the table; `result["faithfulness"]` is a `Summary`.

    samples    one `SampleResult` each, in the order of the input
    signature  what the numbers were made with
    skipped    the rows of the data that could not be read and were left out (`read_samples(skip_bad=True)`)
    higher_is_better  metric -> whether more is better, where that is known: of those that are registered
               (`METRICS`), and of a finished run's by what it was made with
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
        self._summaries: dict[str, Summary] = {}  # an interval is not drawn twice

    def __getitem__(self, metric: str) -> Summary:
        if metric not in self.metrics:
            raise InputError(f"this run has no metric {metric!r}; it has: {', '.join(self.metrics)}.")
        if metric not in self._summaries:
            self._summaries[metric] = summarize(s.scores[metric] for s in self.samples)
        return self._summaries[metric]

    @property
    def scores(self) -> list[dict[str, Score]]:
        """The scores of each sample, by metric, in the order of the input."""
        return [dict(s.scores) for s in self.samples]

    def disagreements(self, threshold: float = 0.5) -> list[Disagreement]:
        """List the statements whose probability is at least `threshold` for one of judge and HHEM only.

        Empty unless a metric of each was computed (`faithfulness` and `faithfulness_hhem`).
        """
        found = []
        for one in self.samples:
            records = one.calibrated()
            both = (getattr(records.get(name), "verdicts", ()) for name in ("support", "support_hhem"))
            for a, b in zip(*both, strict=False):
                if (a.probability >= threshold) != (b.probability >= threshold):
                    found.append(Disagreement(one.sample.id, a.statement, a.probability, b.probability))
        return found

    def summary(self) -> dict[str, dict[str, Any]]:
        """Give for each metric the fields of its `Summary`, and `higher_is_better` where that is known."""
        made = {
            name: {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self[name]).items()}
            for name in self.metrics
        }
        for name in made.keys() & self.higher_is_better.keys():
            made[name]["higher_is_better"] = self.higher_is_better[name]
        return made

    def head(self) -> dict[str, Any]:
        """Give all but the samples as plain JSON values."""
        return {
            "schema": SCHEMA,
            "signature": self.signature.model_dump(mode="json"),
            "metrics": [*self.metrics],
            "summary": self.summary(),
            "network": self.network.model_dump(),
            "skipped": [one._asdict() for one in self.skipped],
        }

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain JSON values: those of results.json, with the records in full."""
        samples = []
        for one in self.samples:
            records = {name: record.model_dump(mode="json") for name, record in one.records.items()}
            samples.append({**one.to_dict(), "records": records})
        return {**self.head(), "samples": samples}

    def to_json(self, path: str | Path | None = None) -> str:
        """Give `to_dict` as text, and write it to `path`, whole or not at all, when one is given.

        Raises InputError when the file can't be written.
        """
        text = json.dumps(self.to_dict(), ensure_ascii=False, indent=1) + "\n"
        if path is not None:
            with writing_to(path, "result"):
                # Half a character that a model wrote: the backslash makes it the escape that JSON has for it.
                atomic_write(Path(path), [text], "backslashreplace")
        return text

    def to_pandas(self) -> Any:
        """Make a DataFrame, one row a sample: its columns, and each metric's value, soft, status and reason.

        Raises InputError without pandas, which the extra `tables` brings.

        >>> result.to_pandas()[["id", "faithfulness", "faithfulness_soft"]]        # doctest: +SKIP
        """
        from localeval.report.tables import to_pandas

        return to_pandas(self)

    def to_html(self, path: str | Path, **given: Any) -> None:
        """Write the result as one page (see `localeval.report.html.write`); `given` is title, cost."""
        from localeval.report import html

        html.write(self, path, **given)

    def _repr_html_(self) -> str:
        """Show the result in a notebook."""
        from localeval.report import html

        return html.notebook(self)

    def __str__(self) -> str:
        from localeval.report.text import as_text

        return as_text(self)
