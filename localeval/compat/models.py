"""Models that metrics opened by name, each once, and the judgements that were made with them."""

from __future__ import annotations

import atexit
import copy
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, WeakSet

from localeval.engine.companions import Companions
from localeval.judge import Judge, Records
from localeval.judgements import failed_need, in_order
from localeval.judgements.journal import Journal, Recent
from localeval.models import catalog
from localeval.prompts.options import Options
from localeval.samples import Sample

T = TypeVar("T")
Key = tuple[object, ...]

_LOCK = threading.RLock()
_OPENED: dict[Key, tuple[Any, WeakSet[Any]]] = {}  # the model, and the metrics that use it


def hold(holder: object, key: Key, load: Callable[[], T]) -> T:
    """The model of `key`, loaded if no metric has done so; `holder` is now one of those that use it."""
    with _LOCK:
        if key not in _OPENED:
            _OPENED[key] = (load(), WeakSet())
        model, holders = _OPENED[key]
        holders.add(holder)
        found: T = model
        return found


def release(holder: object) -> None:
    """Free each model that `holder` used and that no other metric uses."""
    with _LOCK:
        for key, (model, holders) in list(_OPENED.items()):
            if holder in holders:
                holders.discard(holder)
                if not holders:
                    del _OPENED[key]
                    model.close()


@atexit.register
def release_all() -> None:
    """Free every model that is left."""
    with _LOCK:
        while _OPENED:
            _OPENED.popitem()[1][0].close()


def source(model: str | os.PathLike[str]) -> str:
    """The same text for the same model: a catalog name, or where a path leads."""
    return model if isinstance(model, str) and model in catalog.rows() else os.path.realpath(model)


def beside(judge: Judge, companions: Companions) -> Judge:
    """The same judge, engine and lock included, with other models beside it. It is not to be closed."""
    other = copy.copy(judge)
    other.companions = companions
    return other


_Record = tuple[dict[str, Any], float]  # with the seconds that it took
_MEMORIES: WeakKeyDictionary[Any, Recent[_Record]] = WeakKeyDictionary()  # one for each engine


class Notes(Journal):
    """What is remembered of an engine's judgements, and the seconds of those that were looked up here.

    A judgement that another metric made before takes the same seconds again, so that what they come to
    depends neither on the order of the metrics nor on their company.
    """

    def __init__(self, engine: object) -> None:
        super().__init__()
        with _LOCK:
            self._memory = _MEMORIES.setdefault(engine, Recent())
        self._used: dict[str, float] = {}

    @property
    def seconds(self) -> float:
        return sum(self._used.values())

    def get(self, key: str) -> dict[str, Any] | None:
        if (found := self._memory.take(key)) is None:
            return None
        record, self._used[key] = found
        return record

    def put(
        self,
        key: str,
        judgement: str,  # noqa: ARG002
        sample: str,  # noqa: ARG002
        record: dict[str, Any],
        cost: Mapping[str, Any],
    ) -> None:
        self._memory.put(key, (record, cost["seconds"]))
        self._used[key] = cost["seconds"]


def judge_within(
    judge: Judge, sample: Sample, wanted: Sequence[str], options: Options, timeout: float | None
) -> Records | None:
    """The records, or None where they took more than `timeout` seconds.

    A judgement can't be broken off: the one that passes the limit is finished, and none is made after it.
    """
    notes = Notes(judge.engine)
    if timeout is None:
        return judge.judge(sample, wanted, options, notes)
    records: Records = {}
    for row in in_order(wanted):
        if failed := failed_need(row, records):  # the judge would ask again for it
            records[row.name] = records[failed]
            continue
        records |= judge.judge(sample, [row.name], options, notes)  # what it stands on comes from the notes
        if notes.seconds > timeout:
            return None
    return records
