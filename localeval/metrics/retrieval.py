"""Metrics of what was retrieved against what should be: no model is asked.

Texts are compared by their ids where a sample has `retrieved_ids` and `reference_ids`, else by themselves:
each of `retrieved_contexts` with each of `reference_contexts`, without white space and case.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from localeval.metrics.metric import Metric, register
from localeval.metrics.score import Score
from localeval.options import Options
from localeval.samples import Sample


def relevance(retrieved: Sequence[str], relevant: Sequence[str]) -> list[bool]:
    """Return for each rank whether a relevant text was retrieved there; again, it counts as irrelevant.

    >>> relevance(["a", "x", "a"], ["a", "b"])
    [True, False, False]
    """
    left = set(relevant)
    flags = []
    for text in retrieved:
        flags.append(text in left)
        left.discard(text)
    return flags


def by_measure(sample: Sample, options: Options, *, measure: str, has_cutoff: bool = True) -> Score:
    """Compute a measure of ir-measures, at rank `options.retrieval_k` where it `has_cutoff`.

    0 where nothing was retrieved. Undefined without what was retrieved, or what should be.
    """
    retrieved, relevant = _compared_lists(sample)
    if retrieved is None:
        return Score.undefined(
            "missing_retrieved_ids" if sample.reference_ids else "missing_retrieved_contexts"
        )
    flags = relevance(retrieved, relevant)
    if not any(flags):
        return Score(0.0)
    # The ids given to the library are ranks, so that it breaks no tie by the names of texts.
    run = {str(rank): -float(rank) for rank in range(len(flags))}
    judged = {str(rank): int(flag) for rank, flag in enumerate(flags)}
    missed = {f"missed {number}": 1 for number in range(len(set(relevant)) - sum(flags))}
    measured = _measure(measure, options.retrieval_k if has_cutoff else None)
    return Score(_mean_of_one_query(measured, judged | missed, run))


def _compared_lists(sample: Sample) -> tuple[list[str] | None, list[str]]:
    """Return what was retrieved, in order, and what should be: ids, or else texts to compare."""
    if sample.reference_ids and sample.retrieved_ids is not None:
        return sample.retrieved_ids, sample.reference_ids
    if sample.reference_contexts and sample.retrieved_contexts is not None:
        return _plain_texts(sample.retrieved_contexts), _plain_texts(sample.reference_contexts)
    return None, []


def _plain_texts(texts: Sequence[str]) -> list[str]:
    return ["".join(text.casefold().split()) for text in texts]


def _measure(name: str, cutoff: int | None) -> Any:
    import ir_measures

    measure = getattr(ir_measures, name)
    return measure if cutoff is None else measure @ cutoff


def _mean_of_one_query(measure: Any, judged: dict[str, int], run: dict[str, float]) -> float:
    import ir_measures

    values = ir_measures.calc_aggregate([measure], {"query": judged}, {"query": run})
    return float(values[measure])


def _register(name: str, measure: str, definition: str, definition_zh: str, has_cutoff: bool = True) -> None:
    register(
        Metric(
            name=name,
            version="1",
            columns=(),
            judgements=(),
            compute=partial(by_measure, measure=measure, has_cutoff=has_cutoff),
            definition=definition,
            definition_zh=definition_zh,
            source=f"{measure} of ir-measures",
            either=("reference_ids", "reference_contexts"),
            reads_sample=True,
            packages=("ir-measures",),
            extra="retrieval",
        )
    )


_register(
    "hit_rate",
    "Success",
    "1 if one of the first k retrieved texts is relevant, else 0",
    "前 k 个检索结果中有相关文本时为 1，否则为 0",
)
_register(
    "retrieval_recall",
    "R",
    "relevant texts among the first k retrieved / all relevant texts",
    "前 k 个检索结果中的相关文本 / 全部相关文本",
)
_register(
    "retrieval_precision",
    "P",
    "relevant texts among the first k retrieved / k",
    "前 k 个检索结果中的相关文本 / k",
)
_register(
    "mrr",
    "RR",
    "1 / rank of the first relevant text; 0 where it is not among the first k",
    "首个相关文本位次的倒数；不在前 k 个之内时为 0",
)
_register(
    "ndcg",
    "nDCG",
    "sum over the relevant texts among the first k of 1 / log2(rank + 1), / its largest possible value",
    "前 k 个中相关文本的 1 / log2(位次 + 1) 之和 / 其最大可能值",
)
_register(
    "map",
    "AP",
    "mean over all relevant texts of the precision at their ranks, 0 where not retrieved",
    "在每个相关文本位次上的精确率的均值，未检索到的计 0",
    has_cutoff=False,
)
