"""Compute the same or other metrics from the judgements in a run's journal. No model is loaded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pydantic import BaseModel

from localeval.errors import InputError
from localeval.judgements import JudgeContext, Judgement, Records, make_records, with_needs
from localeval.judgements.calibration import Curves, calibrations_for
from localeval.judgements.heads import heads_for
from localeval.judgements.journal import JOURNAL, JournalFile, find, key_of
from localeval.metrics.signature import build_signature
from localeval.metrics.summary import choose_metrics, compute_all, scorable
from localeval.prompts.options import ARITHMETIC, Options
from localeval.runs import folder as run_folder
from localeval.runs.result import Result, ScoredSamples
from localeval.samples import Sample
from localeval.text.display import join_some

Keys = Mapping[str, str]  # judgement -> the key of its line in the journal
KeyedRecord = tuple[BaseModel, str] | None  # a record and its key


def rescore(folder: str | Path, metrics: Sequence[str] | None = None, **options: Any) -> Result:
    """Score a run with other metrics, or another threshold, from its journal. Write nothing.

    metrics  names of `METRICS`, your own included; by default the run's
    options  `threshold`, `relevance`, `mode`, `beta` and `calibration`; all others are the run's,
             as the judgements depend on them

    Raises InputError for a folder without a run or with one of another form, and for judgements that are not
    in its journal: the message names them and their samples.

    >>> rescore("runs/answers", threshold=0.7)["faithfulness"].value         # doctest: +SKIP
    0.571
    """
    if fixed := sorted(set(options) - set(ARITHMETIC)):
        raise InputError(
            f"{fixed[0]} can't be changed without judging again; rescore takes {', '.join(ARITHMETIC)}. "
            "For another judging use `evaluate`."
        )
    samples, config = run_folder.read_run(Path(folder))
    original, selected = config.signature, choose_metrics(config.metrics if metrics is None else metrics)
    choices = Options.read({**config.options, **options})
    heads = heads_for(config.engine.model, choices)
    if "support" in original.judgements and "calibration" not in options:
        curves: Curves = original.calibration
    else:
        calibrations = calibrations_for(config.engine.model, choices, heads, original.judgements)
        curves = {language: calibration.curve for language, calibration in calibrations.items()}

    def unloaded(name: str) -> Any:  # a key needs only the signatures of embedder and classifier
        return lambda: SimpleNamespace(signature=lambda: config.beside.get(name, {}))

    engine: Any = None  # it is never asked
    context = JudgeContext(engine, choices, unloaded("embedder"), unloaded("classifier"), heads=heads)
    lookup = RecordLookup(Path(folder), context, config.engine)
    # A reason explains a verdict, so it is kept only where the verdicts are decided as before.
    keeps_reasons = curves == original.calibration and choices.threshold == original.threshold
    missing: dict[str, list[str]] = defaultdict(list)

    scored = ScoredSamples(samples, lookup.lines, curves, choices.threshold)
    for index, sample in enumerate(samples):
        keys = lookup.keys(index)
        required = [name for metric in scorable(selected, sample) for name in metric.judgements]
        records, record_keys = make_records(sample, required, partial(lookup.find, keys))
        for judgement in with_needs(required):
            if judgement.name not in records:
                missing[judgement.name].append(sample.id)
        if not missing:
            scores = compute_all(selected, sample, records, choices, curves)
            if "support" in record_keys and keeps_reasons and "reasons" in keys:
                record_keys["reasons"] = keys["reasons"]
            scored.put(index, scores, records, record_keys)
    if missing:
        lacking = [
            f"{name} of {len(ids)} sample{'s' * (len(ids) > 1)} ({join_some(ids, 5)})"
            for name, ids in missing.items()
        ]
        names = ",".join(dict.fromkeys([*config.metrics, *(m.name for m in selected)]))
        raise InputError(
            f"{folder}: the journal does not hold {', '.join(lacking)}; give the run's `evaluate` command "
            f"again with -m {names}, which makes just that."
        )
    current = build_signature(original.model_copy(update=config.beside), selected, choices, curves)
    versions = {
        "prompts": {name: original.prompts.get(name, new) for name, new in current.prompts.items()},
        "judgements": {name: original.judgements.get(name, new) for name, new in current.judgements.items()},
    }
    signature = current.model_copy(update=versions)
    network = lookup.result.network if lookup.result else None
    return Result(scored, [m.name for m in selected], signature, network=network, skipped=config.skipped)


class RecordLookup:
    """Find the records of a run in its journal, by the keys in its results where it is finished."""

    def __init__(self, folder: Path, context: JudgeContext, engine: run_folder.EngineConfig) -> None:
        self.lines = JournalFile(folder / JOURNAL)
        self.result = run_folder.load(folder) if (folder / run_folder.RESULTS).exists() else None
        self._context, self._engine = context, engine.model_dump()

    def keys(self, index: int) -> Keys:
        """Return the keys that the results have for the sample at `index`; none without results."""
        return self.result.samples[index].keys if self.result else {}

    def records(self, index: int, sample: Sample, name: str) -> dict[str, BaseModel]:
        """Read a judgement's record and those that it depends on."""
        return make_records(sample, [name], partial(self.find, self.keys(index)))[0]

    def find(self, keys: Keys, judgement: Judgement, sample: Sample, records: Records) -> KeyedRecord:
        """Read the record under the key in the results, of any version, or else under this version's key."""
        key = keys.get(judgement.name, "")
        if not key or (record := find(self.lines, judgement, key)) is None:
            key = self.key(judgement, sample, records)
            record = find(self.lines, judgement, key)
        return None if record is None else (record, key)

    def key(self, judgement: Judgement, sample: Sample, records: Records) -> str:
        """Compute the key of the record in this version."""
        return key_of(judgement, self._context, sample, records, self._engine)
