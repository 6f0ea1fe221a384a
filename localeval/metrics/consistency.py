"""Consistency: do several responses to one question say the same?

SelfCheckGPT (Manakul et al. 2023), by statements.
"""

from __future__ import annotations

from localeval.judgements import Records
from localeval.judgements.consistency import ConsistencyRecord, is_said
from localeval.metrics.metric import Metric, register
from localeval.metrics.score import Score
from localeval.options import DEFAULTS, Options


def response_consistency(records: Records, options: Options = DEFAULTS) -> Score:
    """Mean over the responses of the share of their statements that at least half of the others support.

    `soft` is the mean probability. Equal texts support each other; a refusal supports refusals alone.
    Undefined for one response (`one_response`), and where none makes a statement (`no_statements`) or the
    column is no list of texts (`unreadable_responses`).

    >>> from localeval.judgements.consistency import ConsistentStatement
    >>> said = ConsistentStatement(statement="Tea.", text_number=0, probabilities=(None, 0.9))
    >>> denied = ConsistentStatement(statement="Milk.", text_number=1, probabilities=(0.1, None))
    >>> record = ConsistencyRecord(text_numbers=(0, 1), statements=(said, denied), others=1, language="en")
    >>> response_consistency({"consistency": record})
    Score(value=0.5, soft=0.5, status='scored', reason='')
    """
    record: ConsistencyRecord = records["consistency"]
    if len(record.text_numbers) < 2:
        return Score.undefined("one_response" if record.text_numbers else "unreadable_responses")
    values = []
    softs = []
    for _, stated in record.by_response():
        said = [is_said(probabilities, options.threshold) for _, probabilities in stated]
        means = [sum(probabilities) / len(probabilities) for _, probabilities in stated]
        values.append(sum(said) / len(said))
        softs.append(sum(means) / len(means))
    if not values:
        return Score.undefined("no_statements")
    return Score(sum(values) / len(values), sum(softs) / len(softs))


register(
    Metric(
        name="response_consistency",
        version="1",
        columns=("responses",),
        judgements=("consistency",),
        compute=response_consistency,
        definition="statements of a response that at least half of the other responses support / all of "
        "them; mean over the responses",
        definition_zh="一个回答中得到至少半数其他回答支持的陈述 / 其全部陈述；对各回答取平均",
        source="SelfCheckGPT (Manakul et al. 2023), by statements",
        undefined=("one_response", "no_statements", "unreadable_responses"),
    )
)
