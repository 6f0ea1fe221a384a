"""Metrics computed again, or others, from what a run's journal holds. No model is loaded."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from localeval.engine.companions import is_own
from localeval.engine.interface import EngineSettings
from localeval.errors import InputError
from localeval.judgements import Desk, Judgement, failed_need, in_order
from localeval.judgements.calibration import Curves, curves_for, told
from localeval.judgements.heads import Head, heads_for
from localeval.judgements.journal.lines import FILE, Lines
from localeval.judgements.journal.records import KeptRecords, key_of, record_under
from localeval.metrics import Metric
from localeval.metrics.signature import Signature, models_used, rows_of, signed
from localeval.metrics.summary import choose_metrics, compute, to_judge
from localeval.prompts.options import ARITHMETIC, DEFAULTS, Options
from localeval.runs import folder as run_folder
from localeval.runs.config import Recipe
from localeval.runs.network import kept
from localeval.runs.result import Result, SampleResult
from localeval.samples import Sample
from localeval.text.display import listed

_MOST_NAMED = 5
_FLAGS = {"n_threads": "--threads", "n_ctx": "--n-ctx", "n_gpu_layers": "--gpu-layers"}


def rescore(folder: str | Path, metrics: Sequence[str] | None = None, **options: Any) -> Result:
    """The scores of a run by other metrics, or with another threshold, from its journal; nothing is written.

    metrics  names of `METRICS`, your own included; by default the run's
    options  `threshold`, `relevance`, `mode`, `beta` and `calibration`; all others are the run's,
             as what was judged hangs on them

    Raises InputError for a folder without a run or with one of another form, and for a judgement that its
    journal does not hold: the message names it, its samples and the command that makes it.

    >>> rescore("runs/answers", threshold=0.7)["faithfulness"].value         # doctest: +SKIP
    0.571
    """
    if other := sorted(set(options) - set(ARITHMETIC)):
        raise InputError(
            f"{other[0]} can't be changed without judging again; rescore takes {', '.join(ARITHMETIC)}. "
            "For another judging use `evaluate`."
        )
    path = Path(folder)
    samples, recipe = run_folder.read(path)
    if not recipe.signature:
        raise InputError(f"{folder}: an older version began this run; give its `evaluate` command again.")
    chosen = choose_metrics(metrics or recipe.metrics)
    choices = Options.read({**recipe.options, **options})
    heads = heads_for(recipe.engine["model"], choices, recipe.engine["settings"].get("n_gpu_layers", 0))
    curves = curves_for(recipe.engine["model"], choices, heads)
    shelf = _Shelf(path, recipe, choices, curves, heads)
    found = [_scored(sample, chosen, choices, curves, shelf) for sample in samples]
    if shelf.missing:
        raise InputError(shelf.what_is_missing(chosen))
    signature = _signature(recipe, chosen, choices)
    names = [m.name for m in chosen]
    return Result(found, names, signature, network=kept(path), skipped=recipe.skipped)


@dataclass(frozen=True)
class _Known:
    """What is known of a model that is not loaded."""

    kept: Mapping[str, Any]

    def signature(self) -> dict[str, Any]:
        return dict(self.kept)


_Taken = tuple[dict[str, BaseModel], dict[str, str]]


class _Shelf:
    """The records of a run's journal: under the keys of its results, or under those of its recipe."""

    def __init__(
        self, folder: Path, recipe: Recipe, options: Options, curves: Curves, heads: Mapping[str, Head]
    ) -> None:
        self.folder, self.recipe = folder, recipe
        self.lines = Lines(folder / FILE)
        self.missing: dict[str, list[str]] = {}
        beside: Any = {name: _Known(recipe.beside.get(name, {})) for name in ("embedder", "classifier")}
        engine: Any = None  # nobody is asked
        self._desk = Desk(
            engine,
            options,
            lambda: beside["embedder"],
            lambda: beside["classifier"],
            heads=heads,
        )
        self._own = _keys_where_finished(folder)
        self._versions = recipe.signature.get("judgements", {})
        # Else a reason may be of a verdict that is another one now.
        self.decides_alike = told(curves) == recipe.signature.get("calibration", {}) and (
            options.threshold == Options.read(recipe.options).threshold
        )

    def take(self, sample: Sample, wanted: Sequence[str]) -> _Taken | None:
        """The records of `wanted` and their keys; None where one is missing."""
        records: dict[str, BaseModel] = {}
        at: dict[str, str] = {}
        for row in in_order(wanted):
            if failed := failed_need(row, records):
                records[row.name], at[row.name] = records[failed], at[failed]
                continue
            for key in self._keys(row, sample, records):
                if (record := record_under(self.lines, row, key)) is not None:
                    records[row.name], at[row.name] = record, key
                    break
            else:
                self.missing.setdefault(row.name, []).append(sample.id)
                return None
        return records, at

    def own(self, sample: Sample) -> Mapping[str, str]:
        """Judgement -> key, as the results of the run have it."""
        return self._own.get(sample.id, {})

    def what_is_missing(self, metrics: Sequence[Metric]) -> str:
        told = [
            f"{name} of {len(ids)} samples ({listed(ids, _MOST_NAMED)})" for name, ids in self.missing.items()
        ]
        return (
            f"{self.folder}: the journal does not hold {', '.join(told)}. This makes what is missing, and "
            f"nothing else: {_command(self.folder, self.recipe, metrics)}"
        )

    def _keys(self, row: Judgement, sample: Sample, records: dict[str, BaseModel]) -> Iterator[str]:
        own = self.own(sample)
        if row.name in own and self._versions.get(row.name) == row.version:
            yield own[row.name]
        yield key_of(row, self._desk, sample, records, self.recipe.engine)


def _scored(
    sample: Sample, metrics: Sequence[Metric], options: Options, curves: Curves, shelf: _Shelf
) -> SampleResult:
    scores, judged = to_judge(metrics, sample)
    taken = shelf.take(sample, [name for m in judged for name in m.judgements])
    if taken is None:
        return SampleResult(sample, {}, {})
    records, at = taken
    scores |= {m.name: compute(m, records, options, curves) for m in judged}
    if "support" in at and "reasons" in shelf.own(sample) and shelf.decides_alike:
        at["reasons"] = shelf.own(sample)["reasons"]
    by_metric, kept = {m.name: scores[m.name] for m in metrics}, KeptRecords(shelf.lines, at)
    return SampleResult(sample, by_metric, kept, curves, options.threshold)


def keys_of_results(folder: Path) -> dict[str, Mapping[str, str]]:
    """Sample -> judgement -> key, of a finished run. Raises what `run.load` raises."""
    kept = run_folder.load(folder)
    return {s.sample.id: s.records.at for s in kept.samples if isinstance(s.records, KeptRecords)}


def _keys_where_finished(folder: Path) -> dict[str, Mapping[str, str]]:
    try:
        return keys_of_results(folder)
    except InputError:
        return {}


def _signature(recipe: Recipe, metrics: Sequence[Metric], options: Options) -> Signature:
    then = Signature(**recipe.signature)
    now = signed(then.model_copy(update=recipe.beside), metrics, options)
    prompts = {name: then.prompts.get(name, current) for name, current in now.prompts.items()}
    return now.model_copy(update={"prompts": prompts})


def _command(folder: Path, recipe: Recipe, metrics: Sequence[Metric]) -> str:
    """The command that makes what these metrics need, and keeps the run's own.

    A model of the caller's own stands in no command; where none of it is kept or needed, any will do.
    """
    names = dict.fromkeys([*recipe.metrics, *(metric.name for metric in metrics)])
    words = [
        "localeval",
        "evaluate",
        str(folder / run_folder.SAMPLES),
        "-o",
        str(folder),
        "-m",
        ",".join(names),
    ]
    words += ["--judge", recipe.judge]
    own: list[str] = []
    used = models_used(rows_of(metrics), Options.read(recipe.options))
    for kind, source in (("embedder", recipe.embedder), ("classifier", recipe.classifier)):
        if not is_own(source):
            words += [f"--{kind}", source]
        elif kind in used or kind in recipe.beside:
            own.append(f"the {kind} {source}")
    settings, usual = recipe.engine["settings"], {f.name: f.default for f in fields(EngineSettings)}
    for name, flag in _FLAGS.items():
        if settings.get(name, usual[name]) != usual[name]:
            words += [flag, str(settings[name])]
    texts = [
        n
        for n in ("prompts", "calibration", "head")
        if recipe.options.get(n, "auto") not in ({}, "auto", "none")
    ]
    for name, value in recipe.options.items():
        if name not in texts and value != getattr(DEFAULTS, name):
            words += [f"--{name.replace('_', '-')}"] + ([] if value is True else [str(value)])
    flagged = EngineSettings.read({name: settings[name] for name in _FLAGS if name in settings})
    if others := [
        f"{name}={value!r}" for name, value in settings.items() if value != vars(flagged).get(name)
    ]:
        own.append(f"Judge.load(..., {', '.join(others)})")
    return shlex.join(words) + _aside(texts, own)


def _aside(texts: Sequence[str], own: Sequence[str]) -> str:
    """How to give what no command line can hold."""
    if "prompts" in texts or own:
        kept = [f"the {' and the '.join(texts)} that {run_folder.RECIPE} holds"] if texts else []
        return f" (in Python, with {' and '.join([*kept, *own])})"
    return f" (and --calibration with a file of the text that {run_folder.RECIPE} holds)" if texts else ""
