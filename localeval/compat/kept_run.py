"""Keep what `evaluate` judges for a metric in a run's folder, in which a second call goes on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from localeval.compat.metrics import OriginalMetric
from localeval.errors import InputError
from localeval.judgements.journal import JournaledRecords, JournalFile
from localeval.metrics.signature import Signature
from localeval.options import Options
from localeval.runs import folder as run_folder
from localeval.runs.result import Network, Result, SampleResult, ScoredSamples
from localeval.samples import Sample, Samples
from localeval.system.offline import attempts, is_offline


def folders_of(output: Path, metrics: Sequence[OriginalMetric], samples: Sequence[Sample]) -> list[Path]:
    """Return the run's folder of each metric, which is named after its column.

    Raises InputError for two metrics with one folder, and for a folder that can't hold a run of the samples.
    """
    folders: dict[Path, str] = {}
    for metric in metrics:
        name = re.sub(r"[^\w.=-]+", "-", metric.column).strip(".-") or "metric"
        folder = output / name
        if folder in folders:
            raise InputError(
                f"{folders[folder]} and {metric.column} would share the folder {folder}; give one of them "
                "another name with name=."
            )
        folders[folder] = metric.column
        run_folder.check(folder, Samples(samples, "the dataset"))
    return list(folders)


class KeptRun:
    """The folder of a run of one metric, open for writing.

    journal  the journal of the folder
    keys     judgement -> its key, of the sample that was judged last, which is `sample_id`
    """

    def __init__(
        self, metric: OriginalMetric, folder: Path, samples: Sequence[Sample], options: Options
    ) -> None:
        self.metric = metric
        self.folder = folder
        self.options = options
        self.samples = samples
        self.keys: dict[str, str] = {}
        self.sample_id = ""
        self._results: list[SampleResult] = []

    @contextmanager
    def open(self, signature: Signature) -> Iterator[KeptRun]:
        """Lock the folder and write what is judged, until the block ends."""
        self._attempts = attempts() if is_offline() else None
        self._signature = signature
        config = run_folder.config_of(self.metric.judge(), self.options, signature, ())
        with run_folder.open_run(self.folder, self.samples, config) as (journal, self._config):
            self.journal = journal
            run_folder.keep_shard(self.folder, "")
            yield self

    @property
    def lines(self) -> JournalFile:
        assert self.journal.lines is not None  # noqa: S101
        return self.journal.lines

    def take_from(self, others: Sequence[KeptRun], judgements: Sequence[str]) -> None:
        """Copy what other metrics judged for the sample at hand, so that nothing is judged twice."""
        for other in others:
            for name in judgements:
                key = other.keys.get(name)
                if key is not None and self.journal.get(key) is None:
                    self.journal.copy(other.lines, key)

    def put(self, result: SampleResult, keys: dict[str, str]) -> SampleResult:
        """Take the result of the next sample; return it with records that are read from the journal."""
        self.keys = keys
        self.sample_id = result.sample.id
        result = replace(result, records=JournaledRecords(self.lines, keys), keys=keys)
        self._results.append(result)
        return result

    def finish(self) -> None:
        """Write results, tables and page."""
        scored = ScoredSamples(self.samples, self.lines, self._signature)
        for index, result in enumerate(self._results):
            scores = {self.metric.row: result.scores[self.metric.column]}
            scored.put(index, result.sample, scores, {}, result.keys)
        refused = None
        if self._attempts is not None and self._config.watched:
            refused = attempts() - self._attempts
        network = Network(watched=refused is not None, refused=refused)
        whole = Result(scored, [self.metric.row], self._signature, network=network)
        run_folder.finish(self.folder, whole)
