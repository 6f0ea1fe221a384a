"""Compute the same or other metrics from the judgements in a run's journal. No model is loaded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from localeval.errors import InputError
from localeval.fitted.curves import Curves
from localeval.fitted.heads import heads_for
from localeval.judgements import AnyJudgement, Choices, Records, make_records, with_needs
from localeval.judgements.calibration import curves_for
from localeval.judgements.journal import JOURNAL, JournalFile, find, key_of
from localeval.judgements.making import KeyedRecord
from localeval.metrics.signature import build_signature
from localeval.metrics.summary import choose_metrics, compute_all, scorable
from localeval.options import ARITHMETIC, Options
from localeval.runs import folder as run_folder
from localeval.runs.evaluate import metrics_for
from localeval.runs.result import Result, ScoredSamples
from localeval.samples import Sample
from localeval.text.display import join_some

Keys = Mapping[str, str]  # judgement -> the key of its line in the journal


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
    path = Path(folder)
    samples, config = run_folder.read_run(path)
    if metrics is not None:
        metrics_for(metrics, samples)  # raises for a column that no sample has, as `evaluate` does
    original, selected = config.signature, choose_metrics(config.metrics if metrics is None else metrics)
    choices = Options.read({**config.options, **options})
    heads = heads_for(config.engine.model, choices)
    if "support" in original.judgements and "calibration" not in options:
        curves: Curves = original.calibration
    else:
        curves = curves_for(config.engine.model, choices, heads, original.judgements)

    inputs_by = Choices(choices, heads, curves, **config.auxiliary_signatures)
    stored = run_folder.load(path) if (path / run_folder.RESULTS).exists() else None
    lines = JournalFile(path / JOURNAL)
    record_fingerprint = config.engine.model_dump()

    def find_keyed(
        keys: Keys, judgement: AnyJudgement, sample: Sample, records: Records
    ) -> KeyedRecord | None:
        """Read the record under the key in the results, of any version, or else under this version's key."""
        key = keys.get(judgement.name, "")
        record = find(lines, judgement, key) if key else None
        if record is None:
            key = key_of(judgement, judgement.inputs(sample, records, inputs_by), record_fingerprint)
            record = find(lines, judgement, key)
        return None if record is None else (record, key)

    # A reason explains a verdict, so it is kept only where the verdicts are decided as before.
    keeps_reasons = curves == original.calibration and choices.threshold == original.threshold
    missing: dict[str, list[str]] = defaultdict(list)

    current = build_signature(
        original.model_copy(update=config.auxiliary_signatures), selected, choices, curves
    )
    scored = ScoredSamples(samples, lines, current)
    for index, sample in enumerate(samples):
        keys = stored.samples[index].keys if stored else {}
        required = [name for metric in scorable(selected, sample) for name in metric.judgements]
        records, record_keys = make_records(sample, required, partial(find_keyed, keys))
        for judgement in with_needs(required):
            if judgement.name not in records:
                missing[judgement.name].append(sample.id)
        if not missing:
            scores = compute_all(selected, sample, records, choices, curves)
            if "support" in record_keys and keeps_reasons and "reasons" in keys:
                record_keys["reasons"] = keys["reasons"]
            scored.put(index, sample, scores, records, record_keys)
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
    versions = {
        "prompts": {name: original.prompts.get(name, new) for name, new in current.prompts.items()},
        "judgements": {name: original.judgements.get(name, new) for name, new in current.judgements.items()},
    }
    signature = current.model_copy(update=versions)
    network = stored.network if stored else None
    return Result(scored, [m.name for m in selected], signature, network=network, skipped=config.skipped)
