"""Make a share of a run's judgements again, and demand the same records."""

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
from localeval.judgements import JUDGEMENTS, Judgement, make_records, with_needs
from localeval.judgements.journal import FILE, JournalFile, find, is_believed
from localeval.metrics.signature import models_used
from localeval.metrics.summary import choose_metrics, judgements_of_sample
from localeval.prompts.options import Options
from localeval.runs import folder as run_folder
from localeval.runs.config import RunConfig
from localeval.runs.evaluate import Progress
from localeval.runs.rescore import Found, Keys, RecordLookup, Records
from localeval.samples import Sample
from localeval.text.display import shorten


@dataclass(frozen=True)
class Verified:
    """What `verify` found.

    again       judgements made again, of the `judged` that the run holds
    difference  "" or the first place in which a record, or a line of the journal, is not what it was
    left_out    judgements in which the engine failed, beside `judged`: the next call of the run makes them
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
    """Judge a seeded share of a run again; stops at the first difference.

    share  of the judgements, above 0 and up to 1; at least one is made
    judge  by default the run's own, loaded with the run's settings

    Raises InputError for a folder without a run, a metric that is not registered here, a judge whose model,
    settings or packages are other ones (then other bits are no fault), and a finished run of which some
    judgement can't be asked again as it was; and what `Judge.load` raises.

    >>> verify("runs/answers", share=0.2).difference                         # doctest: +SKIP
    ''
    """
    if isinstance(share, bool) or not (isinstance(share, Real) and 0 < share <= 1):
        raise InputError(f"share is {shorten(repr(share))}; choose a number above 0 and up to 1.")
    path = Path(folder)
    samples, config = run_folder.read(path)
    options, metrics = Options.read(config.options), choose_metrics(config.metrics)
    if damaged := JournalFile(path / FILE).damaged:
        return Verified(0, 0, f"{FILE}, line {damaged[0]}: not what was written")

    needed = partial(judgements_of_sample, metrics, options)
    rows = with_needs([name for one in samples for name in needed(one)])
    loaded = nullcontext(judge) if judge else _judge_of(folder, config, models_used(rows, options))
    with loaded as own:
        if where := difference(config.engine.model_dump(), own.signature_of_engine()):
            raise InputError(
                f"{folder}: the run was made with another engine, so other bits are no fault "
                f"(engine{where}); verify it with the same model, settings and packages."
            )
        context = own.context(options)
        lookup = RecordLookup(path, context, config.engine)
        kept, left_out = _held(folder, samples, needed, lookup)
        chosen = random.Random(seed).sample(kept, math.ceil(share * len(kept)))  # noqa: S311
        drawn = samples.choose(place for place, _ in chosen)
        for done, (sample, (place, name)) in enumerate(zip(drawn, chosen, strict=True), 1):
            records = lookup.records(place, sample, name)
            fresh = own.again(JUDGEMENTS[name], context, sample, records)
            if where := difference(records[name].model_dump(mode="json"), fresh.model_dump(mode="json")):
                return Verified(done, len(kept), f"sample {sample.id}, {name}{where}", left_out)
            if progress is not None:
                progress(done, drawn)
        return Verified(len(chosen), len(kept), left_out=left_out)


def _held(
    folder: str | Path,
    samples: Sequence[Sample],
    needed: Callable[[Sample], list[str]],
    lookup: RecordLookup,
) -> tuple[list[tuple[int, str]], int]:
    """Find the judgements that the results name, or else the journal has, and count the engine's failures.

    Of each its sample's place and its name are given: a large run's records do not fit into memory.
    Raises InputError where something can't be made again as it was made, or nothing is there.
    """
    kept: list[tuple[int, str]] = []
    left_out, other_keys = 0, Counter[str]()

    def stored(place: int, own: Keys, judgement: Judgement, sample: Sample, records: Records) -> Found:
        nonlocal left_out
        now = lookup.key(judgement, sample, records)
        key = own.get(judgement.name, now)
        if (record := find(lookup.lines, judgement, key)) is None:
            if judgement.name in own:
                raise InputError(
                    f"{folder}: the journal does not hold {judgement.name} of sample {sample.id} (missing or "
                    "damaged); give the run's `evaluate` command again, it makes what is missing."
                )
            return None
        if not is_believed(record):
            left_out += 1
        elif key != now:
            other_keys[judgement.name] += 1
        else:
            kept.append((place, judgement.name))
        return record, key

    for place, sample in enumerate(samples):
        own = lookup.keys(place)
        # Also of other metrics, whose scores may stand in the results since a `rescore`.
        make_records(sample, [*own, *needed(sample)], partial(stored, place, own))
    if other_keys:
        told = ", ".join(f"{count} of {name}" for name, count in other_keys.items())
        raise InputError(
            f"{folder}: {other_keys.total()} judgements of the run can't be made again as they were "
            f"({told}): this version of localeval or its prompts, the embedder, the classifier or "
            f"{run_folder.SAMPLES} is not the run's; verify it with those that it was made with."
        )
    if not kept:
        raise InputError(
            f"{folder}: there is nothing to verify, as the run holds no judgement (the engine failed in "
            f"{left_out}); give its `evaluate` command again, or name another run."
        )
    return kept, left_out


def _judge_of(folder: str | Path, config: RunConfig, used: set[str]) -> Judge:
    """Load the run's own judge. A model beside it that is not `used` may be any."""
    beside: dict[str, Any] = {}
    for kind, source in (("embedder", config.embedder), ("classifier", config.classifier)):
        if not is_callers_own(source):
            beside[kind] = source
        elif kind in used:
            raise InputError(
                f"{folder}: the run's {kind} {source} was an object in Python, which no name finds again; "
                f"call `localeval.runs.verify.verify` and give judge= with that {kind}."
            )
    return Judge.load(config.judge, **beside, **config.engine.settings, cache_prefix=False)


def difference(then: Any, now: Any) -> str:
    """Find the first place where two JSON values differ, and both values there; "" when they are equal.

    >>> difference({"a": [1, 2]}, {"a": [1, 3]})
    '.a[1]: 2 in the run, 3 now'
    """
    if isinstance(then, dict) and isinstance(now, dict) and then.keys() == now.keys():
        return next((f".{k}{where}" for k in then if (where := difference(then[k], now[k]))), "")
    if isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        pairs = enumerate(zip(then, now, strict=True))
        return next((f"[{i}]{where}" for i, (a, b) in pairs if (where := difference(a, b))), "")
    return "" if then == now else f": {then!r} in the run, {now!r} now"
