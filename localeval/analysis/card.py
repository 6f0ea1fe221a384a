"""The judge card: how far a judge's scores agree with human labels (see README.md in this folder)."""

from __future__ import annotations

import json
import statistics
from collections import Counter, defaultdict
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from localeval.analysis import card_figures as figures
from localeval.analysis import labels
from localeval.analysis.card_figures import MARKED_METRIC, Part
from localeval.errors import InputError
from localeval.fitted.files import file_text
from localeval.judge import Judge
from localeval.judgements.calibration import Calibration, calibrations_for
from localeval.judgements.journal import JOURNAL, JournalFile
from localeval.metrics.signature import Signature
from localeval.metrics.summary import choose_metrics
from localeval.options import Options
from localeval.runs.evaluate import Progress, evaluate
from localeval.runs.folder import CALIBRATION, CARD, check_default
from localeval.runs.result import Result
from localeval.samples import Samples
from localeval.system.files import atomic_write, is_same, writing

CardKind = Literal["labels", "pairs", "sentences"]


class Card(BaseModel):
    """A judge card. `tokens` (read and written by the judge, without prefixes) and `seconds` are medians.

    kind          what was labelled: samples, pairs of a better and a worse side, or sentences
    not_scored    reason -> number of samples without a score
    in_force      language -> what the calibration in force was fitted on; empty where scores are raw
    raw           language -> number of scored samples, where only other languages have a calibration in force
    calibrations  those fitted here; `calibration.json` next to the card holds the same
    reliability   score -> bins of (mean predicted probability, share of label 1, number of samples)
    """

    model_config = ConfigDict(frozen=True)

    metric: str
    dataset: str
    kind: CardKind
    parts: list[Part]
    not_scored: dict[str, int]
    baseline: str
    tokens: float | None
    seconds: float | None
    in_force: dict[str, dict[str, Any]] = {}
    raw: dict[str, int] = {}
    calibrations: list[Calibration] = []
    reliability: dict[str, list[tuple[float, float, int]]] = {}
    signature: Signature


def dataset_name(data: Samples) -> str:
    """Return the name of the data set in its card: that of its file without suffix, or "stdin"."""
    return data.name if data.file is None or data.name == "stdin" else data.file.stem


def make(
    data: Samples,
    metric: str,
    judge: Judge,
    output: Path,
    number: int = 0,
    progress: Progress | None = None,
    sentences: bool = False,
    *,
    named: bool = True,
    timeout: float | None = None,
    **options: Any,
) -> Card:
    """Judge labelled samples and measure how well the scores agree with the labels.

    data       its columns: README.md in this folder
    output     the run's folder, in which a second call resumes. It gets `card.json`, and `calibration.json`
               where there are enough labels of faithfulness; one of an earlier card stays otherwise, as does
               one that is passed as the option `calibration`
    number     the most samples, half of each label, by the seed; for pairs the first ones of each part
    sentences  for context_relevance: compare the needed sentences with those that people marked
    timeout    as in `evaluate`
    named      whether the caller named the folder; another one is refused where results would be lost

    Raises InputError for an invalid label, too few of them, or all of one group; FolderError.
    """
    choices, row, dataset = Options.read(options), choose_metrics([metric])[0], dataset_name(data)
    kind: CardKind = "sentences" if sentences else "pairs" if labels.are_pairs(data, metric) else "labels"
    if kind == "labels":
        samples = labels.labelled_samples(data, number, choices.seed, dataset)
        figures_of = partial(figures.label_figures, metric=row, options=choices, judge=judge, dataset=dataset)
    elif kind == "pairs":
        pairs = labels.pairs(data, number, dataset)
        samples = labels.sides(pairs, metric, dataset)
        figures_of = partial(figures.pair_figures, metric=row, rows=pairs)
    elif metric == MARKED_METRIC:
        samples = labels.marked_rows(data, number, dataset)
        figures_of = partial(figures.sentence_figures, rows=samples, options=choices)
    else:
        raise InputError(f"--sentences does not apply to {metric}; give -m {MARKED_METRIC} with it.")
    chosen = Samples(samples, dataset, data.file)
    if not named:
        check_default(output, chosen)
    result = evaluate(chosen, [metric], judge, output, progress, timeout=timeout, **options)
    fields, (tokens, seconds) = figures_of(result), _costs(output, result)
    in_force, raw = dict[str, Calibration](), Counter[str]()
    if result.signature.calibration:
        in_force = calibrations_for(judge.model["sha256"], choices, judge.heads(choices))
        scored = [sample for sample in result.samples if sample.scores[metric].status == "scored"]
        raw.update(getattr(sample.records.get("statements"), "language", "") for sample in scored)
    card = Card(
        metric=metric,
        dataset=dataset,
        kind=kind,
        not_scored=figures.not_scored(result, metric),
        baseline=figures.baseline_name(metric),
        **fields,
        tokens=tokens,
        seconds=seconds,
        in_force={language: calibration.fitted_on for language, calibration in in_force.items()},
        raw={language: raw[language] for language in sorted(raw) if language not in in_force},
        signature=result.signature,
    )
    with writing(output):
        atomic_write(output / CARD, [as_json(card)])
        if card.calibrations and not is_same(output / CALIBRATION, options.get("calibration", "auto")):
            atomic_write(output / CALIBRATION, [file_text(card.calibrations)])
    return card


def as_json(card: Card) -> str:
    return json.dumps(card.model_dump(mode="json"), ensure_ascii=False, indent=1) + "\n"


def _costs(folder: Path, result: Result) -> tuple[float | None, float | None]:
    """Return median tokens and seconds per sample, from the run's journal; None where it has no judgement.

    Only judgements that the scores depend on count: the folder may hold others, of other metrics or options.
    """
    journal, costs = JournalFile(folder / JOURNAL), defaultdict[str, list[dict[str, Any]]](list)
    used = result.signature.judgements
    keys = [key for sample in result.samples for name, key in sample.keys.items() if name in used]
    for key in dict.fromkeys(keys):  # samples with the same texts share a judgement
        entry = journal.entry(key)
        # What nobody was asked, as its worker was lost or its time was over, has no tokens.
        if entry is not None and "spent" in entry["cost"]:
            costs[entry["sample"]].append(entry["cost"])
    if not costs:
        return None, None
    tokens = (sum(cost["tokens"] - cost["spent"]["prefix"] for cost in sample) for sample in costs.values())
    seconds = (sum(cost["seconds"] for cost in sample) for sample in costs.values())
    return statistics.median(tokens), statistics.median(seconds)
