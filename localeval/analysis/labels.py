"""Labelled data: samples, pairs, or sentences of contexts; choosing and checking them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from localeval.errors import InputError
from localeval.metrics import METRICS, Metric
from localeval.samples import ALIASES, Sample
from localeval.text.display import shorten

MIN_SAMPLES = 20
MIN_OF_EACH_LABEL = 5
# Of pairs, or of rows with labelled sentences.
MIN_ROWS = 10

# The column that a metric judges -> the columns of a pair: the better side, and the worse one.
SIDES = {
    "response": ("good_response", "bad_response"),
    "retrieved_contexts": ("contexts_more_relevant", "contexts_less_relevant"),
}


def user_column(sample: Sample, column: str, absent: Any = None) -> Any:
    """Return a column of the sample that is not one of localeval's own; `absent` without it, or for null."""
    value = (sample.model_extra or {}).get(column)
    return absent if value is None else value


def group(sample: Sample) -> str:
    """Return the sample's `group`, which is drawn and held out whole; a unique one without the column."""
    value = user_column(sample, "group")
    return f"sample {sample.id}" if value is None else str(value)


def label(sample: Sample, where: str = "the samples") -> int:
    """Return the label, 1 or 0; a table's cell may hold it as text. Raises InputError for anything else."""
    value = user_column(sample, "label")
    if value not in (0, 1, "0", "1"):
        name = shorten(sample.id, 40)
        shown = shorten(repr(value), 40)
        raise InputError(f"{where}: sample {name} has the label {shown}; write 1 (good) or 0 (bad).")
    return int(value)


def told_rows(samples: Sequence[Sample]) -> list[Sample]:
    """Return the rows without those whose label is null: who labelled could not tell.

    Where a row labels one statement, as `label --unit statement` writes it, the statement is its response,
    and the statements of one sample are a group.
    """
    return [_of_statement(row) for row in samples if not _is_untold(row)]


def _is_untold(row: Sample) -> bool:
    extra = row.model_extra or {}
    return "label" in extra and extra["label"] is None


def labels_statement(row: Sample) -> bool:
    """Report whether `label` wrote the row, and it labels one statement of the response."""
    return user_column(row, "label_metric") is not None and user_column(row, "statement") is not None


def _of_statement(row: Sample) -> Sample:
    if not labels_statement(row):
        return row
    of_one = user_column(row, "group", user_column(row, "label_sample"))
    return row.model_copy(update={"response": str(user_column(row, "statement")), "group": of_one})


def check_metric(samples: Sequence[Sample], metric: Metric, where: str) -> None:
    """Raise InputError for labels that `label` wrote of a metric that looks at other texts."""
    for name in dict.fromkeys(user_column(row, "label_metric") for row in samples):
        other = METRICS.get(str(name))
        if other is not None and other.columns != metric.columns:
            raise InputError(
                f"{where}: its labels are of {other.name}, which looks at other texts than {metric.name}; "
                f"give -m {other.name}."
            )


def labelled_samples(samples: Sequence[Sample], number: int, seed: int, where: str) -> list[Sample]:
    """Choose `number` samples, all for 0. Raises InputError for too few, or a label with only one group."""
    good = sum(label(sample, where) for sample in samples)
    bad = len(samples) - good
    chosen = balanced(samples, number, seed) if number else list(samples)
    if min(good, bad) < MIN_OF_EACH_LABEL or len(chosen) < MIN_SAMPLES:
        raise InputError(
            f"{where}: {len(chosen)} of {good} samples with label 1 and {bad} with label 0 are too few "
            f"to say anything; label, and judge, at least {MIN_SAMPLES}, {MIN_OF_EACH_LABEL} of each."
        )
    for value in (1, 0):
        check_groups([s for s in chosen if label(s) == value], f"samples with label {value}", where)
    return chosen


def balanced(samples: Sequence[Sample], number: int, seed: int) -> list[Sample]:
    """Draw `number` samples by `seed`, half with each label, in alternation."""
    generator = random.Random(seed)  # noqa: S311
    halves = []
    for value in (0, 1):
        half = [sample for sample in samples if label(sample) == value]
        generator.shuffle(half)
        halves.append(half[: number // 2])
    return [sample for pair in zip(*halves, strict=False) for sample in pair]


def judged_column(metric: Metric) -> str:
    """Return the column that the metric scores: the response where it reads one, else the contexts."""
    return "response" if "response" in metric.columns else "retrieved_contexts"


def are_pairs(samples: Sequence[Sample], metric: Metric) -> bool:
    """Report whether any row has both sides of what the metric judges; then every row must have them."""
    sides = SIDES[judged_column(metric)]
    return any(all(side in (s.model_extra or {}) for side in sides) for s in samples)


def pairs(samples: Sequence[Sample], number: int, where: str) -> list[Sample]:
    """Choose the first `number` rows per language and source, all for 0. Raises InputError for too few."""
    counts: Counter[tuple[str, ...]] = Counter()
    chosen = []
    for sample in samples:
        part = tuple(str(user_column(sample, column)) for column in ("lang", "tier", "source"))
        counts[part] += 1
        if not number or counts[part] <= number:
            chosen.append(sample)
    check_groups(chosen, "pairs", where, MIN_ROWS)
    return chosen


def sides(rows: Sequence[Sample], metric: Metric, where: str) -> list[Sample]:
    """Return two samples for each row, the better side first. Raises InputError for a missing side."""
    field = judged_column(metric)
    samples = []
    for row in rows:
        location = f"{where}: row {shorten(row.id, 40)}"
        for number, name in enumerate(SIDES[field]):
            side = user_column(row, name)
            if side is None:
                raise InputError(f"{location}: it has no {name}, which other rows have; add it.")
            columns = {key: getattr(row, key) for key in ALIASES}
            columns |= {"id": f"{row.id}/{number}", field: side}
            samples.append(Sample.read(columns, f"{location}, {name}"))
    return samples


class LabelledSentence(NamedTuple):
    """A labelled sentence, its position in the row's contexts, and 1 where it is needed, else 0."""

    text: str
    context: int
    start: int
    label: int


def marked_rows(samples: Sequence[Sample], number: int, where: str) -> list[Sample]:
    """Choose the first `number` rows, all for 0. Raises InputError for too few, or as `marked_sentences`."""
    rows = list(samples[: number or None])
    for row in rows:
        marked_sentences(row, where)
    check_groups(rows, "rows", where, MIN_ROWS)
    return rows


def _are_labelled(texts: object, labels: object) -> bool:
    """Return whether these are two lists of one length, at least one, the second of 1 and 0."""
    if not isinstance(texts, list) or not isinstance(labels, list):
        return False
    return 0 < len(texts) == len(labels) and all(value in (0, 1) for value in labels)


def marked_sentences(row: Sample, where: str = "the samples") -> list[LabelledSentence]:
    """Find the row's `sentences` in its contexts, in order, with their `sentence_labels`.

    Raises InputError for a row without them, for labels other than 1 and 0, or for a sentence that the
    contexts do not contain after the previous one.
    """
    location = f"{where}: row {shorten(row.id, 40)}"
    texts = user_column(row, "sentences")
    labels = user_column(row, "sentence_labels")
    if not _are_labelled(texts, labels):
        raise InputError(
            f"{location} needs sentences and sentence_labels, lists of one length, for --sentences, with 1 "
            "or 0 for each sentence; add them."
        )
    contexts = row.retrieved_contexts or []
    sentences: list[LabelledSentence] = []
    context = 0
    position = 0
    for text, needed in zip(map(str, texts), labels, strict=True):
        place = _find_from(contexts, text, context, position)
        if place is None:
            raise InputError(
                f"{location}: the contexts do not have {shorten(text, 60)!r} after the sentence before it; "
                "sentences must be parts of retrieved_contexts, in order."
            )
        context, start = place
        position = start + len(text)
        sentences.append(LabelledSentence(text, context, start, int(needed)))
    return sentences


def _find_from(contexts: Sequence[str], text: str, context: int, position: int) -> tuple[int, int] | None:
    """Return (context, offset) of the text's first occurrence from a position on; None without one."""
    for number in range(context, len(contexts)):
        start = contexts[number].find(text, position if number == context else 0)
        if start >= 0:
            return number, start
    return None


def check_groups(samples: Sequence[Sample], what: str, where: str, minimum: int = 0) -> None:
    """Raise InputError for fewer than `minimum` samples, or if all are of one group."""
    if len(samples) < minimum:
        raise InputError(f"{where}: {len(samples)} {what} are too few to say anything; give {minimum}.")
    groups = {group(sample) for sample in samples}
    if len(groups) < 2:
        raise InputError(
            f"{where}: all {len(samples)} {what} are of one group ({shorten(groups.pop(), 40)}), which says "
            f"nothing of others; give {what} of at least 2 groups, or leave the column group out."
        )
