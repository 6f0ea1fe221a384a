"""Repeat a share of a run's judgements, and check that the records come out the same."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from numbers import Real
from pathlib import Path
from typing import Any

from localeval.engine.auxiliary_models import is_callers_own
from localeval.errors import InputError
from localeval.judge import Judge
from localeval.judgements import JUDGEMENTS, Judgement, Records, make_records, with_needs
from localeval.judgements.journal import find, is_believed
from localeval.metrics.signature import models_used
from localeval.metrics.summary import choose_metrics, judgements_of_sample
from localeval.prompts.options import Options
from localeval.runs import folder as run_folder
from localeval.runs.evaluate import Progress
from localeval.runs.rescore import KeyedRecord, Keys, RecordLookup
from localeval.samples import Sample
from localeval.text.display import shorten


@dataclass(frozen=True)
class Verified:
    """The result of `verify`.

    again       judgements that were repeated, of the `judged` in the run
    difference  "" or the first place in which a record is not what it was
    left_out    judgements in which the engine failed, not in `judged`: the run's next call repeats them
    """

    again: int
    judged: int
    difference: str = ""
    left_out: int = 0


def verify(
    folder: str | Path,
    share: float = 0.1,
    seed: int = 0,
    judge: Judge | None = None,
    progress: Progress | None = None,
) -> Verified:
    """Repeat a random share of a run's judgements; stop at the first difference.

    share  of the judgements, drawn by `seed`, above 0 and up to 1; at least one is repeated
    judge  by default the run's own, loaded with the run's settings

    Raises InputError for a folder without a run, a metric that is not registered here, a judge with another
    model, settings or packages (other bits are then no fault), and a finished run with a judgement that can't
    be repeated under the same conditions; and what `Judge.load` raises.

    >>> verify("runs/answers", share=0.2).difference                         # doctest: +SKIP
    ''
    """
    if isinstance(share, bool) or not (isinstance(share, Real) and 0 < share <= 1):
        raise InputError(f"share is {shorten(repr(share))}; choose a number above 0 and up to 1.")
    path = Path(folder)
    samples, config = run_folder.read_run(path)
    options, metrics = Options.read(config.options), choose_metrics(config.metrics)

    judgements_for = partial(judgements_of_sample, metrics, options)
    required = with_needs([name for sample in samples for name in judgements_for(sample)])
    loaded = nullcontext(judge) if judge else _load_own_judge(folder, config, models_used(required, options))
    with loaded as active_judge:
        if change := difference(config.engine.model_dump(), active_judge.signature_of_engine()):
            raise InputError(
                f"{folder}: the run was made with another engine, so other bits are no fault "
                f"(engine{change}); verify it with the same model, settings and packages."
            )
        context = active_judge.context(options)
        lookup = RecordLookup(path, context, config.engine)
        judgements, left_out = _stored_judgements(folder, samples, judgements_for, lookup)
        selection = random.Random(seed).sample(judgements, math.ceil(share * len(judgements)))  # noqa: S311
        selected_samples = samples.choose(index for index, _ in selection)
        for done, (sample, (index, name)) in enumerate(zip(selected_samples, selection, strict=True), 1):
            records = lookup.records(index, sample, name)
            fresh = active_judge.again(JUDGEMENTS[name], context, sample, records)
            if change := difference(records[name].model_dump(mode="json"), fresh.model_dump(mode="json")):
                return Verified(done, len(judgements), f"sample {sample.id}, {name}{change}", left_out)
            if progress is not None:
                progress(done, selected_samples)
        return Verified(len(selection), len(judgements), left_out=left_out)


def _stored_judgements(
    folder: str | Path,
    samples: Sequence[Sample],
    judgements_for: Callable[[Sample], list[str]],
    lookup: RecordLookup,
) -> tuple[list[tuple[int, str]], int]:
    """List the judgements that the results name, or else the journal has, and count the engine's failures.

    Lists (index of the sample, judgement) and not the records: those of a large run do not fit into memory.
    Raises InputError where a judgement can't be repeated under the same conditions, or there is none.
    """
    judgements: list[tuple[int, str]] = []
    left_out, other_keys = 0, Counter[str]()

    def check(index: int, keys: Keys, judgement: Judgement, sample: Sample, records: Records) -> KeyedRecord:
        nonlocal left_out
        current_key = lookup.key(judgement, sample, records)
        key = keys.get(judgement.name, current_key)
        if (record := find(lookup.lines, judgement, key)) is None:
            if judgement.name in keys:
                raise InputError(
                    f"{folder}: the journal does not hold {judgement.name} of sample {sample.id} (missing or "
                    "damaged); give the run's `evaluate` command again, it makes what is missing."
                )
            return None
        if not is_believed(record):
            left_out += 1
        elif key != current_key:
            other_keys[judgement.name] += 1
        else:
            judgements.append((index, judgement.name))
        return record, key

    for index, sample in enumerate(samples):
        keys = lookup.keys(index)
        # The results may name judgements of other metrics: those of a later `rescore`.
        make_records(sample, [*keys, *judgements_for(sample)], partial(check, index, keys))
    if other_keys:
        counts = ", ".join(f"{count} of {name}" for name, count in other_keys.items())
        raise InputError(
            f"{folder}: {other_keys.total()} judgements of the run can't be made again as they were "
            f"({counts}): this version of localeval or its prompts, the embedder, the classifier or "
            f"{run_folder.SAMPLES} is not the run's; verify it with those that it was made with."
        )
    if not judgements:
        raise InputError(
            f"{folder}: there is nothing to verify, as the run holds no judgement (the engine failed in "
            f"{left_out}); give its `evaluate` command again, or name another run."
        )
    return judgements, left_out


def _load_own_judge(folder: str | Path, config: run_folder.RunConfig, used: set[str]) -> Judge:
    """Load the run's own judge. An auxiliary model that is not in `used` may be any."""
    auxiliary: dict[str, Any] = {}
    for kind, source in (("embedder", config.embedder), ("classifier", config.classifier)):
        if not is_callers_own(source):
            auxiliary[kind] = source
        elif kind in used:
            raise InputError(
                f"{folder}: the run's {kind} {source} was an object in Python, which no name finds again; "
                f"call `localeval.runs.verify.verify` and give judge= with that {kind}."
            )
    return Judge.load(config.judge, **auxiliary, **config.engine.settings, cache_prefix=False)


def difference(then: Any, now: Any) -> str:
    """Return the path of the first difference of two JSON values, and both values; "" when they are equal.

    >>> difference({"a": [1, 2]}, {"a": [1, 3]})
    '.a[1]: 2 in the run, 3 now'
    """
    if isinstance(then, dict) and isinstance(now, dict) and then.keys() == now.keys():
        return next((f".{k}{rest}" for k in then if (rest := difference(then[k], now[k]))), "")
    if isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        pairs = enumerate(zip(then, now, strict=True))
        return next((f"[{i}]{rest}" for i, (a, b) in pairs if (rest := difference(a, b))), "")
    return "" if then == now else f": {then!r} in the run, {now!r} now"
