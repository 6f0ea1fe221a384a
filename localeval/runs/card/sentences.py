"""Rows in which people marked the sentences of the contexts that are needed to answer the question."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from localeval.errors import InputError
from localeval.judgements.needed import NeededRecord
from localeval.prompts.options import Options
from localeval.runs.card import baseline
from localeval.runs.card.agreement import Draws, auroc, mean
from localeval.runs.card.figures import Figures, shown
from localeval.runs.card.groups import check, group
from localeval.runs.card.parts import Part, ScoreFigures, Shown
from localeval.runs.card.thresholds import f1, f1_across
from localeval.runs.result import Result
from localeval.samples import Sample
from localeval.text.display import said

METRIC = "context_relevance"
FEWEST, FEWEST_OF_A_PART = 10, 5
DECIDED, NEEDED = "needed", "P(needed)"
"""The decisions that `context_relevance` counts, and those at the threshold that was best on other folds."""


class Labelled(NamedTuple):
    """A sentence of a row, its place in the row's contexts, and 1 where it is needed, else 0."""

    text: str
    context: int
    start: int
    label: int


@dataclass(frozen=True)
class Row:
    """What is known of one row's sentences.

    decided   which the judge takes for needed
    shares    how likely each is needed by the judge, and `lexical` by the baseline
    """

    group: str
    labels: list[int]
    decided: list[float]
    shares: list[float]
    lexical: list[float]


def chosen(samples: Sequence[Sample], number: int, where: str) -> list[Sample]:
    """The first `number` rows; all for 0.

    Raises InputError for too few, or of one group alone, or a row without such labels.
    """
    rows = list(samples[:number] if number else samples)
    if len(rows) < FEWEST:
        raise InputError(
            f"{where}: {len(rows)} rows with sentence_labels are too few to say anything; give {FEWEST}."
        )
    for row in rows:
        labelled(row, where)
    check(rows, "rows", where)
    return rows


def labelled(row: Sample, where: str = "the samples") -> list[Labelled]:
    """The row's `sentences`, found in its contexts in their order, with their `sentence_labels`.

    Raises InputError for a row without them, for other labels than 1 and 0, or for a sentence that the
    contexts do not have behind the one before it.
    """
    extra: dict[str, Any] = row.model_extra or {}
    name = f"{where}: row {said(row.id, 40)}"
    texts, labels = extra.get("sentences"), extra.get("sentence_labels")
    if not isinstance(texts, list) or not isinstance(labels, list) or len(texts) != len(labels) or not texts:
        raise InputError(
            f"{name} needs sentences and sentence_labels, lists of one length, for --sentences; add them."
        )
    found: list[Labelled] = []
    context, place, contexts = 0, 0, row.retrieved_contexts or []
    for text, label in zip(texts, labels, strict=True):
        if label not in (0, 1):
            raise InputError(f"{name}: a sentence has the label {said(label, 40)}; write 1 or 0.")
        while context < len(contexts) and (start := contexts[context].find(str(text), place)) < 0:
            context, place = context + 1, 0
        if context == len(contexts):
            raise InputError(
                f"{name}: the contexts do not have {said(text, 60)!r} behind the sentence before it; "
                "sentences must be parts of retrieved_contexts, in order."
            )
        found.append(Labelled(str(text), context, start, int(label)))
        place = start + len(str(text))
    return found


def figures(result: Result, rows: Sequence[Sample], options: Options) -> Figures:
    """Macro F1 of the needed sentences and AUROC within a row, for all rows, by language and by source."""
    found, kept = [], []
    for row, one in zip(rows, result.samples, strict=True):
        if one.scores[METRIC].status == "scored":
            needed: Any = one.records["needed"]
            found.append(_row(row, needed, options.threshold))
            kept.append(row)
    missing = Counter(s.scores[METRIC].reason for s in result.samples if s.scores[METRIC].status != "scored")
    if len(found) < FEWEST:
        raise InputError(
            f"of {len(rows)} rows {len(found)} were scored, too few; the others: {', '.join(missing)}."
        )
    parts: dict[str, list[int]] = defaultdict(list)
    for place, row in enumerate(kept):
        extra = row.model_extra or {}
        for title in ("all", f"lang {extra.get('lang', '')}", f"source {extra.get('source', '')}"):
            parts[title].append(place)
    made = [
        _part(title, [found[i] for i in own], options)
        for title, own in parts.items()
        if title == "all" or FEWEST_OF_A_PART <= len(own) < len(found)
    ]
    return Figures(made, dict(missing), baseline.name(METRIC), [], {})


def _row(row: Sample, made: NeededRecord, threshold: float) -> Row:
    sentences = labelled(row)
    question = row.user_input or ""
    return Row(
        group(row),
        [s.label for s in sentences],
        [_most(s, made, made.decided(threshold)) for s in sentences],
        [_most(s, made, [own.probability for own in made.sentences]) for s in sentences],
        [baseline.share(question, s.text) for s in sentences],
    )


def _most(sentence: Labelled, made: NeededRecord, numbers: Sequence[float]) -> float:
    """The highest of the judge's own sentences that lie in it or over it: they may be cut elsewhere."""
    start, end = sentence.start, sentence.start + len(sentence.text)
    own = (
        number
        for s, number in zip(made.sentences, numbers, strict=True)
        if s.context == sentence.context and s.start < end and start < s.end
    )
    return float(max(own, default=0.0))


def _part(title: str, rows: Sequence[Row], options: Options) -> Part:
    labels, groups = [row.labels for row in rows], [row.group for row in rows]
    draws = Draws([1] * len(rows), groups)
    lexical = f1_across(labels, [_relative(row.lexical) for row in rows], groups, options.seed)
    decided = [f1(row.labels, row.decided, 1) for row in rows]
    own = f1_across(labels, [_relative(row.shares) for row in rows], groups, options.seed)
    name = baseline.name(METRIC)

    def scored(values: list[float] | None, within: Sequence[list[float]] | None) -> ScoreFigures:
        found: dict[str, Shown] = {} if values is None else {"macro_f1": shown(mean(values, draws))}
        if within is not None:
            found["auroc_within"] = _within(rows, within)
        if values is None or lexical is None or values is lexical:
            return ScoreFigures(figures=found)
        gain = [a - b for a, b in zip(values, lexical, strict=True)]
        return ScoreFigures(figures=found, gain=shown(mean(gain, draws, lowest=-1)))

    return Part(
        name=title,
        good=len(rows),
        scores={
            DECIDED: scored(decided, None),
            NEEDED: scored(own, [row.shares for row in rows]),
            name: scored(lexical, [row.lexical for row in rows]),
        },
    )


def _relative(shares: Sequence[float]) -> list[float]:
    """Each as a share of the highest: probabilities rise and fall with the question, and so do words."""
    highest = max(shares)
    return [share / highest if highest else 0.0 for share in shares]


def _within(rows: Sequence[Row], shares: Sequence[list[float]]) -> Shown:
    """Mean AUROC of the sentences of a row, over the rows that have both labels."""
    both = [i for i, row in enumerate(rows) if 0 < sum(row.labels) < len(row.labels)]
    if not both:
        return None, None, None
    draws = Draws([1] * len(both), [rows[i].group for i in both])
    # The interval is over rows, not over the sentences of one: a single draw there is never looked at.
    one = [auroc(shares[i], rows[i].labels, Draws(rows[i].labels, number=1)).value for i in both]
    return shown(mean(one, draws))
