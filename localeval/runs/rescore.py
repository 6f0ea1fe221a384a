"""Compute the same or other metrics from the judgements in a run's journal. No model is loaded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from localeval.errors import InputError
from localeval.fitted.curves import Curves
from localeval.fitted.heads import Head, heads_for
from localeval.fitted.reply_heads import reply_heads_for
from localeval.judgements import AnyJudgement, Choices, Record, Records, make_records, with_needs
from localeval.judgements.calibration import curves_for
from localeval.judgements.criterion import REASON_SUFFIX
from localeval.judgements.journal import JOURNAL, JournalFile, find, key_of
from localeval.judgements.making import KeyedRecord
from localeval.metrics import Metric
from localeval.metrics.sample_result import score_records
from localeval.metrics.signature import Signature, build_signature, puts_to_judge
from localeval.metrics.summary import choose_metrics, scorable
from localeval.options import ARITHMETIC, Options
from localeval.runs import folder as run_folder
from localeval.runs.certificate import stamps
from localeval.runs.correct import correct_by_card, correct_by_labels
from localeval.runs.evaluate import metrics_for
from localeval.runs.result import Result, ScoredSamples
from localeval.samples import Sample
from localeval.text.display import join_some


def rescore(
    folder: str | Path,
    metrics: Sequence[str] | None = None,
    *,
    labels: str | Path | None = None,
    label_metric: str | None = None,
    labels_are_random: bool = False,
    card: str | Path | None = None,
    **options: Any,
) -> Result:
    """Score a run with other metrics, or another threshold, from its journal. Write nothing.

    metrics  names of `METRICS`, your own included; by default the run's
    labels   a file of people's labels of some of the samples: `Result.corrected` has what they make of the
             metric that they are of (localeval/statistics/README.md)
    label_metric       what the labels are of, where the file does not say it
    labels_are_random  the labels are of a random draw from this run, where the file does not say it
    card     the card.json of the same judge, on other samples: corrects its metric without labels of the run
    options  `threshold`, `relevance`, `mode`, `beta` and `calibration`; all others are the run's,
             as the judgements depend on them

    Raises InputError for a folder without a run or with one of another form, and for judgements that are not
    in its journal: the message names them and their samples.

    >>> rescore("runs/answers", threshold=0.7)["faithfulness"].value         # doctest: +SKIP
    0.571
    """
    _check_arithmetic(options)
    path = Path(folder)
    samples, config = run_folder.read_run(path)
    if metrics is not None:
        # Raises for a column that no sample has, as `evaluate` does.
        metrics_for(metrics, samples)
    selected = choose_metrics(config.metrics if metrics is None else metrics)
    choices = Options.read({**config.options, **options})
    heads = heads_for(config.engine.model, choices)
    curves = _curves(config, choices, heads, "calibration" in options)
    stored = run_folder.load(path) if (path / run_folder.RESULTS).exists() else None
    signature = _signature(config, selected, choices, curves, samples)
    reply_heads = reply_heads_for(config.engine.model, choices)
    inputs_by = Choices(choices, heads, reply_heads, curves, **config.auxiliary_signatures)
    finder = _RecordFinder(path, config.engine.model_dump(), inputs_by)
    scored = ScoredSamples(samples, finder.lines, signature)
    # A reason explains a verdict, so it is kept only where the verdicts are decided as before.
    run = config.signature
    keeps_reasons = curves == run.calibration and choices.threshold == run.threshold
    for position, sample in enumerate(samples):
        stored_keys = stored.samples[position].keys if stored else {}
        records, keys = finder.find_all(sample, _required(selected, sample), stored_keys)
        # Where something is missing, the other samples are looked at only to name all that is.
        if not finder.missing:
            if keeps_reasons:
                keys |= _keys_of_reasons(keys, stored_keys)
            scored.put(position, score_records(sample, selected, records, keys, choices, curves))
    if finder.missing:
        raise _incomplete(folder, finder.missing, config.metrics, selected)
    result = Result(
        scored,
        [metric.name for metric in selected],
        signature,
        network=stored.network if stored else None,
        skipped=config.skipped,
        certificates=stamps(config.certificates, signature, scored),
    )
    _correct(result, labels, label_metric, labels_are_random, card)
    return result


def _correct(
    result: Result,
    labels: str | Path | None,
    label_metric: str | None,
    labels_are_random: bool,
    card: str | Path | None,
) -> None:
    """Add the number that labels, or a card, make of a metric. Raises InputError for both."""
    if labels is not None and card is not None:
        raise InputError("labels and a card are given, and one of them corrects a run; labels are better.")
    if labels is None and (label_metric is not None or labels_are_random):
        raise InputError(
            "--label-metric and --labels-are-random are of labels, and there are none; add --labels."
        )
    if labels is not None:
        name, corrected = correct_by_labels(result, labels, label_metric, are_random=labels_are_random)
        result.corrected[name] = corrected
    if card is not None:
        name, corrected = correct_by_card(result, card)
        result.corrected[name] = corrected


def _check_arithmetic(options: Mapping[str, Any]) -> None:
    """Raise InputError for an option on which the judgements depend."""
    fixed = sorted(set(options) - set(ARITHMETIC))
    if fixed:
        raise InputError(
            f"{fixed[0]} can't be changed without judging again; rescore takes {', '.join(ARITHMETIC)}. "
            "For another judging use `evaluate`."
        )


def _required(metrics: Sequence[Metric], sample: Sample) -> list[str]:
    """Return the judgements that a sample's scores depend on; reasons are none of them."""
    return [name for metric in scorable(metrics, sample) for name in metric.judgements]


def _keys_of_reasons(keys: Mapping[str, str], stored_keys: Mapping[str, str]) -> dict[str, str]:
    """Return the keys of the run's reasons under their names, of those whose verdicts are read."""
    of_verdicts = {"reasons": "support"} | {name + REASON_SUFFIX: name for name in keys}
    return {
        name: stored_keys[name]
        for name, verdicts in of_verdicts.items()
        if name in stored_keys and verdicts in keys
    }


def _curves(
    config: run_folder.StoredRunConfig, options: Options, heads: Mapping[str, Head], calibrated_anew: bool
) -> Curves:
    """Return the curves for the probabilities of the new scores.

    calibrated_anew  whether the caller gave the option `calibration`
    """
    signature = config.signature
    if "support" in signature.judgements and not calibrated_anew:
        return signature.calibration
    # The caller chose others, or the run has judged no support and so has used none.
    return curves_for(config.engine.model, options, heads, signature.judgements)


def _signature(
    config: run_folder.StoredRunConfig,
    metrics: Sequence[Metric],
    options: Options,
    curves: Curves,
    samples: Sequence[Sample],
) -> Signature:
    """Return the signature of the new scores; prompts and judgements have the run's versions."""
    of_run = config.signature
    models = of_run.model_copy(update=config.auxiliary_signatures)
    current = build_signature(models, metrics, options, curves, samples)
    prompts = {name: of_run.prompts.get(name, new) for name, new in current.prompts.items()}
    judgements = {name: of_run.judgements.get(name, new) for name, new in current.judgements.items()}
    return current.model_copy(update={"prompts": prompts, "judgements": judgements})


class _RecordFinder:
    """Finds the records of samples in the journal of a run.

    missing  judgement -> ids of the samples whose record is not there
    """

    def __init__(self, folder: Path, record_fingerprint: Mapping[str, Any], choices: Choices) -> None:
        self.lines = JournalFile(folder / JOURNAL)
        self._record_fingerprint = record_fingerprint
        self._choices = choices
        self.missing: dict[str, list[str]] = defaultdict(list)

    def find_all(
        self, sample: Sample, required: Sequence[str], stored_keys: Mapping[str, str]
    ) -> tuple[dict[str, Record], dict[str, str]]:
        """Return the records of these judgements that are there, and their keys.

        stored_keys  judgement -> the key of its record in the results of the run, which may be of an older
                     version of the judgement
        """

        def find_record(judgement: AnyJudgement, sample: Sample, records: Records) -> KeyedRecord | None:
            stored_key = stored_keys.get(judgement.name)
            if stored_key is not None:
                record = find(self.lines, judgement, stored_key)
                if record is not None:
                    return record, stored_key
            inputs = judgement.inputs(sample, records, self._choices)
            key = key_of(judgement, inputs, self._record_fingerprint)
            record = find(self.lines, judgement, key)
            return None if record is None else (record, key)

        ask_judge = puts_to_judge(required, self._choices.options)
        records, keys = make_records(sample, required, find_record, ask_judge=ask_judge)
        for judgement in with_needs(required):
            if judgement.name not in records:
                self.missing[judgement.name].append(sample.id)
        return records, keys


def _incomplete(
    folder: str | Path, missing: Mapping[str, Sequence[str]], run: Sequence[str], selected: Sequence[Metric]
) -> InputError:
    """Return the error that names what the journal lacks; `run` has the names of the run's metrics."""
    lacking = []
    for name, ids in missing.items():
        samples = "1 sample" if len(ids) == 1 else f"{len(ids)} samples"
        lacking.append(f"{name} of {samples} ({join_some(ids, 5)})")
    names = ",".join(dict.fromkeys([*run, *(metric.name for metric in selected)]))
    return InputError(
        f"{folder}: the journal does not hold {', '.join(lacking)}; give the run's `evaluate` command "
        f"again with -m {names}, which makes just that."
    )
