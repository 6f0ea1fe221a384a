"""The judge card: how far a judge's scores agree with people's labels (README.md in this folder)."""

from __future__ import annotations

import json
import statistics
from collections import Counter, defaultdict
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from localeval.errors import InputError
from localeval.judge import Judge
from localeval.judgements.calibration import Calibration, calibrations_for, write
from localeval.judgements.journal import FILE, JournalFile
from localeval.metrics.signature import Signature
from localeval.metrics.summary import choose_metrics
from localeval.prompts.options import Options
from localeval.runs.card import figures, labels
from localeval.runs.card.figures import MARKED_METRIC, Part
from localeval.runs.evaluate import Progress, evaluate
from localeval.runs.result import Result
from localeval.samples import Samples, read_samples
from localeval.system.files import atomic_write, is_same, writing

Kind = Literal["labels", "pairs", "sentences"]
CARD, CALIBRATION = "card.json", "calibration.json"


class Card(BaseModel):
    """A judge card. `rows` (tokens decoded) and `seconds` are medians a sample, without prefixes.

    kind          what people gave: a label a sample, a better and a worse side, or a label a sentence
    not_scored    reason -> samples without a score
    in_force      language -> what the calibration in force was fitted on; empty where scores are raw
    raw           language -> its scored samples, where a calibration is in force for other languages alone
    calibrations  those fitted here; `calibration.json` beside the card holds the same
    reliability   score -> bins of (mean probability said, share of label 1, number of samples)
    """

    model_config = ConfigDict(frozen=True)

    metric: str
    dataset: str
    kind: Kind
    parts: list[Part]
    not_scored: dict[str, int]
    baseline: str
    rows: float | None
    seconds: float | None
    in_force: dict[str, dict[str, Any]] = {}
    raw: dict[str, int] = {}
    calibrations: list[Calibration] = []
    reliability: dict[str, list[tuple[float, float, int]]] = {}
    signature: Signature


def make(
    source: str,
    metric: str,
    judge: Judge,
    output: Path,
    number: int = 0,
    progress: Progress | None = None,
    sentences: bool = False,
    **options: Any,
) -> Card:
    """Judge labelled samples and say how well that went.

    source     a JSONL file; its columns: README.md in this folder
    output     the run's folder; a second call goes on there. It gets `card.json`, and `calibration.json`
               where there are enough labels of faithfulness; without them one of an earlier card stays, and
               so does the one that it is given
    number     at most so many samples, half of each label, by the seed; of pairs, the first of each part
    sentences  of context_relevance: hold the needed sentences against those that people marked

    Raises InputError for a label that is none, too few of them, or all of one group; FolderError.
    """
    choices, row = Options.read(options), choose_metrics([metric])[0]
    where = "stdin" if source == "-" else Path(source).stem
    read = read_samples(source)
    kind: Kind = "sentences" if sentences else "pairs" if labels.are_pairs(read, metric) else "labels"
    if kind == "labels":
        samples = labels.labelled_samples(read, number, choices.seed, where)
        figures_of = partial(figures.label_figures, metric=row, options=choices, judge=judge, dataset=where)
    elif kind == "pairs":
        pairs = labels.pairs(read, number, where)
        samples = labels.sides(pairs, metric, where)
        figures_of = partial(figures.pair_figures, metric=row, rows=pairs)
    elif metric == MARKED_METRIC:
        samples = labels.marked_rows(read, number, where)
        figures_of = partial(figures.sentence_figures, rows=samples, options=choices)
    else:
        raise InputError(f"--sentences is not of {metric}; give -m {MARKED_METRIC} with it.")
    result = evaluate(Samples(samples, where, read.file), [metric], judge, output, progress, **options)
    found, (rows, seconds) = figures_of(result), _costs(output, result)
    in_force, raw = dict[str, Calibration](), Counter[str]()
    if result.signature.calibration:
        in_force = calibrations_for(judge.model["sha256"], choices, judge.heads(choices))
        scored = [one for one in result.samples if one.scores[metric].status == "scored"]
        raw.update(getattr(one.records.get("statements"), "language", "") for one in scored)
    card = Card(
        metric=metric,
        dataset=where,
        kind=kind,
        not_scored=figures.not_scored(result, metric),
        baseline=figures.baseline_name(metric),
        **found,
        rows=rows,
        seconds=seconds,
        in_force={language: one.fitted_on for language, one in in_force.items()},
        raw={language: raw[language] for language in sorted(raw) if language not in in_force},
        signature=result.signature,
    )
    with writing(output):
        atomic_write(output / CARD, [as_json(card)])
        if card.calibrations and not is_same(output / CALIBRATION, options.get("calibration", "auto")):
            atomic_write(output / CALIBRATION, [write(card.calibrations)])
    return card


def as_json(card: Card) -> str:
    return json.dumps(card.model_dump(mode="json"), ensure_ascii=False, indent=1) + "\n"


def _costs(folder: Path, result: Result) -> tuple[float | None, float | None]:
    """Give median tokens and seconds a sample, as the run's journal tells; None for none.

    Only judgements that the scores stand on count: the folder may hold those of other metrics or options.
    """
    journal, costs = JournalFile(folder / FILE), defaultdict[str, list[dict[str, Any]]](list)
    of_samples = (one.keys.items() for one in result.samples)
    keys = [key for own in of_samples for name, key in own if name in result.signature.judgements]
    for key in dict.fromkeys(keys):  # samples with the same texts share a judgement
        if entry := journal.entry(key):
            costs[entry["sample"]].append(entry["cost"])
    if not costs:
        return None, None
    rows = (sum(one["rows"] - one["spent"]["trunk"] for one in own) for own in costs.values())
    seconds = (sum(one["seconds"] for one in own) for own in costs.values())
    return statistics.median(rows), statistics.median(seconds)
