"""Pairs: a row holds a better and a worse answer, or better and worse contexts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from localeval.errors import InputError
from localeval.metrics import METRICS
from localeval.runs.card import baseline
from localeval.runs.card.agreement import Draws, mean
from localeval.runs.card.figures import Figures, rather_good, shown
from localeval.runs.card.groups import check, group
from localeval.runs.card.parts import Part, ScoreFigures
from localeval.runs.result import Result
from localeval.samples import ALIASES, Sample
from localeval.text.display import said

FEWEST = 10
FEWEST_OF_A_PART = 5

SIDES = {
    "response": ("good_response", "bad_response"),
    "retrieved_contexts": ("contexts_more_relevant", "contexts_less_relevant"),
}


def are_pairs(samples: Sequence[Sample], metric: str) -> bool:
    """Whether any row has both sides of what `metric` judges; all must have them then."""
    return any(all(side in (s.model_extra or {}) for side in SIDES[baseline.judged(metric)]) for s in samples)


def chosen(samples: Sequence[Sample], number: int, where: str) -> list[Sample]:
    """The first `number` rows of each language and source; all for 0.

    Raises InputError where they are too few to say anything, or all of one group.
    """
    seen: dict[tuple[Any, ...], int] = defaultdict(int)
    kept = []
    for sample in samples:
        extra = sample.model_extra or {}
        part = tuple(str(extra.get(key)) for key in ("lang", "tier", "source"))
        seen[part] += 1
        if not number or seen[part] <= number:
            kept.append(sample)
    if len(kept) < FEWEST:
        raise InputError(f"{where}: {len(kept)} pairs are too few to say anything; give {FEWEST}.")
    check(kept, "pairs", where)
    return kept


def sides(rows: Sequence[Sample], metric: str, where: str) -> list[Sample]:
    """Two samples for each row, the better one first."""
    field = baseline.judged(metric)
    found = []
    for row in rows:
        extra, place = row.model_extra or {}, f"{where}: row {said(row.id, 40)}"
        for side, name in enumerate(SIDES[field]):
            if name not in extra:
                raise InputError(f"{place}: it has no {name}, which other rows have; add it.")
            given = {key: getattr(row, key) for key in ALIASES}
            columns = {**given, "id": f"{row.id}/{side}", field: extra[name]}
            found.append(Sample.read(columns, f"{place}, {name}"))
    return found


def figures(result: Result, rows: Sequence[Sample], metric: str) -> Figures:
    """Pair accuracy: how often the better side has more; a tie counts as half, and no score as 0."""
    scores = [one.scores[metric] for one in result.samples]
    lexical = [baseline.score(one.sample, metric) for one in result.samples]
    name = baseline.name(metric)
    known = METRICS[metric]
    found = {
        "soft": won([rather_good(known, s.soft) for s in scores]),
        "value": won([rather_good(known, s.value) for s in scores]),
        name: won(lexical),
    }
    parts: dict[str, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        extra = row.model_extra or {}
        for key in ("", "lang", "tier", "source"):
            if not key or key in extra:
                parts[f"{key} {extra[key]}" if key else "all"].append(place)
    groups = [group(row) for row in rows]
    missing: dict[str, int] = defaultdict(int)
    for score in scores:
        if score.status != "scored":
            missing[score.reason] += 1
    made = [
        _part(title, {n: [own[i] for i in places] for n, own in found.items()}, [groups[i] for i in places])
        for title, places in parts.items()
        if title == "all" or FEWEST_OF_A_PART <= len(places) < len(rows)
    ]
    return Figures(made, dict(missing), name, [], {})


def won(scores: Sequence[float]) -> list[float]:
    """For each two scores 1 where the first is higher, 0.5 for a tie, else 0.

    >>> won([0.9, 0.2, 0.2, 0.9, 0.5, 0.5])
    [1.0, 0.0, 0.5]
    """
    both = zip(scores[::2], scores[1::2], strict=True)
    return [0.5 + 0.5 * (good > bad) - 0.5 * (good < bad) for good, bad in both]


def _part(title: str, found: dict[str, list[float]], groups: Sequence[str]) -> Part:
    draws = Draws([1] * len(groups), groups)
    *_, lexical = found.values()
    scores = {
        name: ScoreFigures(
            figures={"pair_accuracy": shown(mean(own, draws))},
            gain=None
            if own is lexical
            else shown(mean([a - b for a, b in zip(own, lexical, strict=True)], draws, lowest=-1)),
        )
        for name, own in found.items()
    }
    return Part(name=title, good=len(groups), scores=scores)
