"""Metrics made of criteria: questions of a caller's own (see `localeval.prompts.criteria.Criterion`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import partial

from localeval.errors import InputError
from localeval.judgements import JUDGEMENTS, Records
from localeval.judgements.criterion import CriterionJudgement, register_criterion_judgement
from localeval.judgements.criterion_reason import register_criterion_reason
from localeval.metrics.metric import METRICS, Metric, register
from localeval.metrics.score import Score
from localeval.options import Options
from localeval.prompts.criteria import Criterion
from localeval.samples import ALIASES, Sample

_DIGITS_IN_VERSION = 8


def register_criteria(criteria: Iterable[Criterion]) -> list[Metric]:
    """Make each criterion known as a metric of its name, in place of another criterion of this name.

    Raises InputError for the name of any other metric, and for a column that no data can have.

    >>> [metric] = register_criteria([Criterion(name="kind", question="Is the {response} kind?")])
    >>> METRICS.pop("kind").columns
    ('user_input', 'response')
    """
    return [_register(criterion) for criterion in criteria]


def criteria_of(metrics: Sequence[Metric]) -> tuple[Criterion, ...]:
    """Return the criteria of which these metrics are made; the other metrics have none."""
    found = [criterion_of(metric) for metric in metrics]
    return tuple(criterion for criterion in found if criterion is not None)


def criterion_of(metric: Metric) -> Criterion | None:
    """Return the criterion of which a metric is made; None for any other metric."""
    for name in metric.judgements:
        judgement = JUDGEMENTS[name]
        if isinstance(judgement, CriterionJudgement):
            return judgement.criterion
    return None


def criterion_score(records: Records, options: Options, judgement: str) -> Score:
    """Return the decision about a yes at the threshold, or the most probable level, from 0 to 1.

    `soft` is P(yes), or the expected level (as G-Eval weighs levels by their probabilities, Liu et al. 2023,
    here with the judge's own).

    >>> from localeval.judgements.criterion import CriterionRecord
    >>> record = CriterionRecord(question="Q?", by_order=((0.3, 0.7), (0.1, 0.9)), language="en")
    >>> criterion_score({"kind": record}, Options(), "kind")
    Score(value=1.0, soft=0.8, status='scored', reason='')
    >>> levels = ("Low.", "Mid.", "High.")
    >>> record = CriterionRecord(question="Q?", levels=levels, by_order=((0.2, 0.6, 0.2),), language="en")
    >>> criterion_score({"kind": record}, Options(), "kind")
    Score(value=0.5, soft=0.5, status='scored', reason='')
    """
    record = records[judgement]
    if record.levels:
        return Score(record.best_level / (len(record.levels) - 1), record.expected)
    return Score(float(record.expected >= options.threshold), record.expected)


def _register(criterion: Criterion) -> Metric:
    _check_name(criterion.name)
    for column in criterion.columns:
        _check_column(criterion.name, column)
    judgement = register_criterion_judgement(criterion)
    register_criterion_reason(judgement)
    known = METRICS.get(criterion.name)
    if known is not None and criterion_of(known) == criterion:
        return known
    return register(
        Metric(
            name=criterion.name,
            version=f"1+{criterion.sha256()[:_DIGITS_IN_VERSION]}",
            columns=criterion.columns,
            judgements=(judgement.name,),
            compute=partial(criterion_score, judgement=judgement.name),
            definition=_definition(criterion, "en"),
            definition_zh=_definition(criterion, "zh"),
            source="a criterion of your own",
            higher_is_better=criterion.higher_is_better,
        )
    )


def _definition(criterion: Criterion, code: str) -> str:
    return criterion.question_in(criterion.language_for(code))


def _check_name(name: str) -> None:
    """Raise InputError for the name of a metric that is none of a criterion, or one that is no word."""
    if not re.fullmatch(r"[\w-]+", name):
        raise InputError(f"{name!r} can't be a criterion's name; choose a word, as polite.")
    for metric in METRICS.values():
        if name in (metric.name, *metric.aliases) and criterion_of(metric) is None:
            raise InputError(f"{name} is the name of another metric; give the criterion a name of its own.")


def _check_column(name: str, column: str) -> None:
    """Raise InputError for a name that the data can't have, or that stands for a field there."""
    for field, aliases in ALIASES.items():
        if column in aliases:
            raise InputError(f"{name}: the column {column} is read as {field}; name it so.")
    if column not in Sample.model_fields and hasattr(Sample, column):
        raise InputError(f"{name}: {column} can't be a column's name here; rename it in the data.")
