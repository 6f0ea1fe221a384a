"""Metrics computed again, or others, from what a run's journal holds. No model is loaded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pydantic import BaseModel

from localeval.errors import InputError
from localeval.judgements import JudgeContext, Judgement, make_records
from localeval.judgements.calibration import curves_for, curves_of, curves_to_json
from localeval.judgements.heads import heads_for
from localeval.judgements.journal import FILE, JournalFile, find, key_of
from localeval.metrics.signature import build_signature
from localeval.metrics.summary import choose_metrics, compute_all, scorable
from localeval.prompts.options import ARITHMETIC, Options
from localeval.runs import folder as run_folder
from localeval.runs.config import EngineConfig
from localeval.runs.result import Result, ScoredSamples
from localeval.samples import Sample
from localeval.text.display import join_some

Records = Mapping[str, BaseModel]
Keys = Mapping[str, str]  # judgement -> the key of its line in the journal
Found = tuple[BaseModel, str] | None  # a record and its key


def rescore(folder: str | Path, metrics: Sequence[str] | None = None, **options: Any) -> Result:
    """Score a run by other metrics, or with another threshold, from its journal. Nothing is written.

    metrics  names of `METRICS`, your own included; by default the run's
    options  `threshold`, `relevance`, `mode`, `beta` and `calibration`; all others are the run's,
             as what was judged hangs on them

    Raises InputError for a folder without a run or with one of another form, and for a judgement that its
    journal does not hold: the message names it and its samples.

    >>> rescore("runs/answers", threshold=0.7)["faithfulness"].value         # doctest: +SKIP
    0.571
    """
    if other := sorted(set(options) - set(ARITHMETIC)):
        raise InputError(
            f"{other[0]} can't be changed without judging again; rescore takes {', '.join(ARITHMETIC)}. "
            "For another judging use `evaluate`."
        )
    samples, config = run_folder.read(Path(folder))
    then, chosen = config.signature, choose_metrics(metrics or config.metrics)
    choices = Options.read({**config.options, **options})
    heads = heads_for(config.engine.model, choices)
    if "support" in then.judgements and "calibration" not in options:
        curves = curves_of(then.calibration)
    else:
        curves = curves_for(config.engine.model, choices, heads, then.judgements)

    def not_loaded(name: str) -> Any:  # of embedder and classifier a key needs only what they were
        return lambda: SimpleNamespace(signature=lambda: config.beside.get(name, {}))

    engine: Any = None  # nobody is asked
    context = JudgeContext(engine, choices, not_loaded("embedder"), not_loaded("classifier"), heads=heads)
    lookup = RecordLookup(Path(folder), context, config.engine)
    # A reason is of a verdict, and stays only where that is decided as it was.
    keeps_reasons = curves_to_json(curves) == then.calibration and choices.threshold == then.threshold
    missing: dict[str, list[str]] = defaultdict(list)

    def stored(own: Keys, judgement: Judgement, sample: Sample, records: Records) -> Found:
        if (found := lookup.find(own, judgement, sample, records)) is None:
            missing[judgement.name].append(sample.id)
        return found

    made = ScoredSamples(samples, lookup.lines, curves, choices.threshold)
    for place, sample in enumerate(samples):
        own = lookup.keys(place)
        wanted = [name for metric in scorable(chosen, sample) for name in metric.judgements]
        records, at = make_records(sample, wanted, partial(stored, own))
        if not missing:
            scores = compute_all(chosen, sample, records, choices, curves)
            if "support" in at and keeps_reasons and "reasons" in own:
                at["reasons"] = own["reasons"]
            made.put(place, scores, records, at)
    if missing:
        told_of = [f"{name} of {len(ids)} samples ({join_some(ids, 5)})" for name, ids in missing.items()]
        names = ",".join(dict.fromkeys([*config.metrics, *(m.name for m in chosen)]))
        raise InputError(
            f"{folder}: the journal does not hold {', '.join(told_of)}; give the run's `evaluate` command "
            f"again with -m {names}, which makes just that."
        )
    now = build_signature(then.model_copy(update=config.beside), chosen, choices, curves)
    as_then = {
        "prompts": {name: then.prompts.get(name, current) for name, current in now.prompts.items()},
        "judgements": {name: then.judgements.get(name, current) for name, current in now.judgements.items()},
    }
    signature = now.model_copy(update=as_then)
    network = lookup.result.network if lookup.result else None
    return Result(made, [m.name for m in chosen], signature, network=network, skipped=config.skipped)


class RecordLookup:
    """The records of a run's journal, and its results, where it is finished."""

    def __init__(self, folder: Path, context: JudgeContext, engine: EngineConfig) -> None:
        self.lines = JournalFile(folder / FILE)
        self.result = run_folder.load(folder) if (folder / run_folder.RESULTS).exists() else None
        self._context, self._engine = context, engine.model_dump()

    def keys(self, place: int) -> Keys:
        """Give the keys that the results have of the sample at `place`; none without results."""
        return self.result.samples[place].keys if self.result else {}

    def records(self, place: int, sample: Sample, name: str) -> dict[str, BaseModel]:
        """Read a judgement's record, and those that it stands on."""
        return make_records(sample, [name], partial(self.find, self.keys(place)))[0]

    def find(self, own: Keys, judgement: Judgement, sample: Sample, records: Records) -> Found:
        """Read the record that the results name, by whatever version it was made, else this version's."""
        key = own.get(judgement.name, "")
        if not key or (record := find(self.lines, judgement, key)) is None:
            key = self.key(judgement, sample, records)
            record = find(self.lines, judgement, key)
        return None if record is None else (record, key)

    def key(self, judgement: Judgement, sample: Sample, records: Records) -> str:
        """Compute what this version keeps the record under."""
        return key_of(judgement, self._context, sample, records, self._engine)
