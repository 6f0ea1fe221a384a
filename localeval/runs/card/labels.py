"""What people labelled: samples, pairs, or sentences of contexts. Which are taken, and what is refused."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from localeval.errors import InputError
from localeval.metrics import METRICS
from localeval.samples import ALIASES, Sample
from localeval.text.display import shorten

FEWEST, FEWEST_OF_EACH = 20, 5
FEWEST_ROWS = 10  # pairs, or rows with labelled sentences
SIDES = {
    "response": ("good_response", "bad_response"),
    "retrieved_contexts": ("contexts_more_relevant", "contexts_less_relevant"),
}


def extra(sample: Sample, column: str, absent: Any = None) -> Any:
    """Give a column of the sample that is none of localeval's own."""
    return (sample.model_extra or {}).get(column, absent)


def group(sample: Sample) -> str:
    """Give the sample's `group`: those of one are alike, drawn and held out together. Else one of its own."""
    given = extra(sample, "group")
    return f"sample {sample.id}" if given is None else str(given)


def label(sample: Sample, where: str = "the samples") -> int:
    """Give 1 or 0; a table's cell may hold it as text. Raises InputError for anything else."""
    given = extra(sample, "label")
    if given not in (0, 1, "0", "1"):
        name, what = shorten(sample.id, 40), shorten(repr(given), 40)
        raise InputError(f"{where}: sample {name} has the label {what}; write 1 (good) or 0 (bad).")
    return int(given)


def labelled_samples(samples: Sequence[Sample], number: int, seed: int, where: str) -> list[Sample]:
    """Take the samples to judge, all for 0. Raises InputError for too few, or a label of one group alone."""
    good = sum(label(sample, where) for sample in samples)
    bad = len(samples) - good
    taken = balanced(samples, number, seed) if number else list(samples)
    if min(good, bad) < FEWEST_OF_EACH or len(taken) < FEWEST:
        raise InputError(
            f"{where}: {len(taken)} of {good} samples with label 1 and {bad} with label 0 are too few "
            f"to say anything; label, and take, at least {FEWEST}, {FEWEST_OF_EACH} of each."
        )
    for wanted in (1, 0):
        check_groups([s for s in taken if label(s) == wanted], f"samples with label {wanted}", where)
    return taken


def balanced(samples: Sequence[Sample], number: int, seed: int) -> list[Sample]:
    """Draw `number` samples by a seed, half of each label; labels take turns."""
    generator = random.Random(seed)  # noqa: S311
    halves = []
    for wanted in (0, 1):
        half = [sample for sample in samples if label(sample) == wanted]
        generator.shuffle(half)
        halves.append(half[: number // 2])
    return [sample for pair in zip(*halves, strict=False) for sample in pair]


def judged_column(metric: str) -> str:
    """Give the column that `metric` is a score of: the response where it reads one, else the contexts."""
    return "response" if "response" in METRICS[metric].columns else "retrieved_contexts"


def are_pairs(samples: Sequence[Sample], metric: str) -> bool:
    """Tell whether any row has both sides of what `metric` judges; all must have them then."""
    sides = SIDES[judged_column(metric)]
    return any(all(side in (s.model_extra or {}) for side in sides) for s in samples)


def pairs(samples: Sequence[Sample], number: int, where: str) -> list[Sample]:
    """Take the first `number` rows of each language and source, all for 0. Raises InputError for too few."""
    seen: Counter[tuple[str, ...]] = Counter()
    kept = []
    for sample in samples:
        part = tuple(str(extra(sample, column)) for column in ("lang", "tier", "source"))
        seen[part] += 1
        if not number or seen[part] <= number:
            kept.append(sample)
    check_groups(kept, "pairs", where, FEWEST_ROWS)
    return kept


def sides(rows: Sequence[Sample], metric: str, where: str) -> list[Sample]:
    """Make two samples of each row, the better one first."""
    field = judged_column(metric)
    found = []
    for row in rows:
        place = f"{where}: row {shorten(row.id, 40)}"
        for number, name in enumerate(SIDES[field]):
            if (side := extra(row, name)) is None:
                raise InputError(f"{place}: it has no {name}, which other rows have; add it.")
            columns = {key: getattr(row, key) for key in ALIASES} | {"id": f"{row.id}/{number}", field: side}
            found.append(Sample.read(columns, f"{place}, {name}"))
    return found


class Sentence(NamedTuple):
    """A labelled sentence, its place in the row's contexts, and 1 where it is needed, else 0."""

    text: str
    context: int
    start: int
    label: int


def marked_rows(samples: Sequence[Sample], number: int, where: str) -> list[Sample]:
    """Take the first `number` rows, all for 0. Raises InputError for too few, and as `marked_sentences`."""
    rows = list(samples[: number or None])
    for row in rows:
        marked_sentences(row, where)
    check_groups(rows, "rows", where, FEWEST_ROWS)
    return rows


def marked_sentences(row: Sample, where: str = "the samples") -> list[Sentence]:
    """Find the row's `sentences` in its contexts, in their order, with their `sentence_labels`.

    Raises InputError for a row without them, for other labels than 1 and 0, or for a sentence that the
    contexts do not have behind the one before it.
    """
    name = f"{where}: row {shorten(row.id, 40)}"
    texts, labels = extra(row, "sentences"), extra(row, "sentence_labels")
    lists = isinstance(texts, list) and isinstance(labels, list)
    if not (lists and 0 < len(texts) == len(labels) and all(one in (0, 1) for one in labels)):
        raise InputError(
            f"{name} needs sentences and sentence_labels, lists of one length, for --sentences, with 1 or 0 "
            "for each sentence; add them."
        )
    found: list[Sentence] = []
    context, place, contexts = 0, 0, row.retrieved_contexts or []
    for text, needed in zip(map(str, texts), labels, strict=True):
        while context < len(contexts) and (start := contexts[context].find(text, place)) < 0:
            context, place = context + 1, 0
        if context == len(contexts):
            raise InputError(
                f"{name}: the contexts do not have {shorten(text, 60)!r} behind the sentence before it; "
                "sentences must be parts of retrieved_contexts, in order."
            )
        found.append(Sentence(text, context, start, int(needed)))
        place = start + len(text)
    return found


def check_groups(samples: Sequence[Sample], what: str, where: str, fewest: int = 0) -> None:
    """Raise InputError for less than `fewest` samples, or where all are of one group."""
    if len(samples) < fewest:
        raise InputError(f"{where}: {len(samples)} {what} are too few to say anything; give {fewest}.")
    if len(found := {group(sample) for sample in samples}) < 2:
        raise InputError(
            f"{where}: all {len(samples)} {what} are of one group ({shorten(found.pop(), 40)}), which says "
            f"nothing of others; give {what} of at least 2 groups, or leave the column group out."
        )
