"""The judge card: how far a judge's scores agree with people's labels, on samples that people labelled.

    card = make("labelled.jsonl", "faithfulness", judge, Path("cards/mine"))

Samples have a `label`, 1 (good) or 0 (bad), or a row holds a better and a worse answer (or contexts). Of a
metric of which less is better, 1 - score is held against the labels. Every figure has a 95 % interval; what
needs fitting (a threshold, a calibration) is measured on samples that it was not fitted on.
"""

from __future__ import annotations

import json
import os
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict

from localeval.errors import FolderError, InputError
from localeval.judge import Judge
from localeval.judgements.calibration import Calibration
from localeval.judgements.journal import FILE, KeptRecords
from localeval.metrics.signature import Signature, rows_of
from localeval.metrics.summary import choose_metrics
from localeval.prompts.options import Options
from localeval.runs.card.parts import Part
from localeval.runs.evaluate import Progress, evaluate
from localeval.runs.folder import is_run
from localeval.runs.result import Result
from localeval.samples import Sample, Samples, read_samples
from localeval.system.arguments import whole
from localeval.system.files import is_same, write_whole, writing

if TYPE_CHECKING:
    from localeval.runs.card.figures import Figures

Kind = Literal["labels", "pairs", "sentences"]

CARD, CALIBRATION = "card.json", "calibration.json"


class Card(BaseModel):
    """A judge card. `rows` (tokens put through the model) and `seconds` are medians a sample, without trunks.

    kind          what people gave: a label a sample, a better and a worse side, or a label a sentence
    not_scored    samples with no score, by reason
    baseline      what needs no model
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

    source  a JSONL file of samples with a `label`, or of pairs; optional columns `lang`, `source`, and
            `group` (samples of one group, such as answers to one question, are never parted by a fold)
    output  the run's folder; a second call goes on there. It gets `card.json`, and `calibration.json`
            where there are enough labels of faithfulness; without them one of an earlier card stays, and
            so does the one that it is given
    number  at most so many samples, half of each label, drawn by the seed; of pairs, the first of each part
    sentences  of context_relevance: hold the needed sentences against those that people marked
            (`localeval.runs.card.sentences.labelled`), instead of scores against labels

    Raises InputError for a number below 0, a label that is none, fewer than 20 labels (5 of each), 10 pairs
    or 10 rows, or where all samples of a label, all pairs or all rows are of one group; FolderError for a
    folder that can't be written.
    """
    from localeval.judgements.calibration.choice import calibrations_for, write
    from localeval.runs.card import fitted

    choices = Options.read(options)
    number = whole("number", number, 0)
    where = "stdin" if source == "-" else Path(source).stem
    _check_place(output)
    kind, samples, told = _asked(read_samples(source), metric, number, choices, where, sentences)
    result = evaluate(Samples(samples, where), [metric], judge, output, progress, **options)
    found = told(result)
    in_force = (
        {}
        if not result.signature.calibration
        else calibrations_for(judge.model["sha256"], choices, judge.heads(choices))
    )
    judged_rows, seconds = costs(output, result)
    card = Card(
        metric=metric,
        dataset=where,
        kind=kind,
        parts=found.parts,
        not_scored=found.not_scored,
        baseline=found.baseline,
        rows=judged_rows,
        seconds=seconds,
        in_force={language: one.fitted_on for language, one in in_force.items()},
        raw=_raw(result, in_force) if in_force else {},
        calibrations=fitted.calibrated(found.scored, judge, choices, where) if kind == "labels" else [],
        reliability=found.reliability,
        signature=result.signature,
    )
    with writing(output):
        write_whole(output / CARD, [as_json(card)])
        if card.calibrations and not is_same(output / CALIBRATION, options.get("calibration", "auto")):
            write_whole(output / CALIBRATION, [write(card.calibrations)])
    return card


def _check_place(output: Path) -> None:
    """Raises FolderError where a card would write over what no card left there, or none can be."""
    with writing(output):
        own = is_run(output)
    there = [path for path in (output / CARD, output / CALIBRATION) if os.path.lexists(path)]
    if there and not own:
        raise FolderError(
            f"{there[0]}: no card left this there, and one would write over it; choose another folder."
        )


def _asked(
    read: Sequence[Sample], metric: str, number: int, options: Options, where: str, sentences: bool
) -> tuple[Kind, list[Sample], Callable[[Result], Figures]]:
    """(what people gave, the samples to judge, what then tells the figures)."""
    from localeval.runs.card import figures, labels, pairs
    from localeval.runs.card import sentences as marked

    row = choose_metrics([metric])[0]
    if sentences:
        if metric != marked.METRIC:
            raise InputError(
                f"--sentences is of {marked.METRIC}, not of {metric}; give -m {marked.METRIC} with it."
            )
        rows = marked.chosen(read, number, where)
        return "sentences", rows, lambda result: marked.figures(result, rows, options)
    if pairs.are_pairs(read, metric):
        rows = pairs.chosen(read, number, where)
        return "pairs", pairs.sides(rows, metric, where), lambda result: pairs.figures(result, rows, metric)
    rows = labels.chosen(read, number, options.seed, where)
    return "labels", rows, lambda result: figures.figures(result, row, options)


def as_json(card: Card) -> str:
    return json.dumps(card.model_dump(mode="json"), ensure_ascii=False, indent=1) + "\n"


def _raw(result: Result, in_force: Container[str]) -> dict[str, int]:
    """How many scored samples each language has that is none of those in force."""
    found = Counter(
        getattr(one.records.get("statements"), "language", "")
        for one in result.samples
        if any(score.status == "scored" for score in one.scores.values())
    )
    return {language: number for language, number in sorted(found.items()) if language not in in_force}


def costs(folder: Path, result: Result) -> tuple[float | None, float | None]:
    """Median rows and seconds a sample, as the run's journal tells; None for none.

    Only judgements that the scores stand on count: the folder may hold those of other metrics or options.
    """
    names = {row.name for row in rows_of(choose_metrics(result.metrics))}
    places = [one.records.at for one in result.samples if isinstance(one.records, KeptRecords)]
    keys = {key for at in places for name, key in at.items() if name in names}
    rows: dict[str, dict[str, int]] = defaultdict(dict)
    seconds: dict[str, dict[str, float]] = defaultdict(dict)
    with (folder / FILE).open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                entry = json.loads(line)
                cost, sample, key = entry["cost"], entry["sample"], entry["key"]
                counted = cost["rows"] - cost["spent"]["trunk"]
            except (ValueError, KeyError, TypeError):
                continue  # a line that a kill cut off
            if key in keys:
                rows[sample][key], seconds[sample][key] = counted, cost["seconds"]
    if not rows:
        return None, None
    return (
        statistics.median(sum(own.values()) for own in rows.values()),
        statistics.median(sum(own.values()) for own in seconds.values()),
    )
