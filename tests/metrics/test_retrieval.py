"""Metrics of retrieval: equal to ir-measures, and to counted fractions."""

import math
import random
from typing import Any

import pytest

from localeval import Sample, Score
from localeval.metrics.summary import choose_metrics, compute_all
from localeval.options import Options

ir_measures = pytest.importorskip("ir_measures", reason="ir-measures is not installed")

CASES = 200
K = 5
MEASURES = {
    "hit_rate": ir_measures.Success @ K,
    "retrieval_recall": ir_measures.R @ K,
    "retrieval_precision": ir_measures.P @ K,
    "mrr": ir_measures.RR @ K,
    "ndcg": ir_measures.nDCG @ K,
    "map": ir_measures.AP,
}


def score(metric: str, *, retrieval_k: int = K, **columns: Any) -> Score:
    options = Options(retrieval_k=retrieval_k)
    sample = Sample(**columns)
    return compute_all(choose_metrics([metric]), sample, {}, options, {})[metric].checked()


@pytest.mark.parametrize("metric", MEASURES)
def test_it_equals_ir_measures(metric: str) -> None:
    draw = random.Random(3)
    documents = [f"d{number}" for number in range(12)]
    for _ in range(CASES):
        retrieved = draw.sample(documents, draw.randint(1, 10))
        relevant = draw.sample(documents, draw.randint(1, 6))
        run = {"q": {name: 100.0 - rank for rank, name in enumerate(retrieved)}}
        judged = {"q": dict.fromkeys(relevant, 1)}
        expected = ir_measures.calc_aggregate([MEASURES[metric]], judged, run)[MEASURES[metric]]
        computed = score(metric, retrieved_ids=retrieved, reference_ids=relevant).value
        assert computed == pytest.approx(expected, abs=1e-9), (retrieved, relevant)


# Of the relevant b, d and z, the first is at rank 2, the second at rank 4, and the third is not there.
RETRIEVED: dict[str, Any] = {"retrieved_ids": ["a", "b", "c", "d"], "reference_ids": ["b", "d", "z"]}


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("hit_rate", 1),
        ("retrieval_recall", 1 / 3),
        ("retrieval_precision", 1 / 2),
        ("mrr", 1 / 2),
        ("ndcg", (1 / math.log2(3)) / (1 / math.log2(2) + 1 / math.log2(3))),
        ("map", (1 / 2 + 2 / 4) / 3),
    ],
)
def test_the_first_two_ranks_count_but_all_in_map(metric: str, expected: float) -> None:
    assert score(metric, retrieval_k=2, **RETRIEVED).value == pytest.approx(expected)


def test_ranks_that_are_not_filled_count_as_irrelevant_in_precision() -> None:
    assert score("retrieval_precision", retrieval_k=5, **RETRIEVED).value == pytest.approx(2 / 5)


def test_texts_are_compared_without_case_and_white_space() -> None:
    columns: dict[str, Any] = {
        "retrieved_contexts": ["Coffee.", "Tea is\n  GREEN."],
        "reference_contexts": ["Tea is green."],
    }
    assert score("mrr", **columns).value == 1 / 2


def test_chinese_texts_are_compared_without_spaces() -> None:
    retrieved = ["磨坊 建于 1820 年。"]
    relevant = ["磨坊建于1820年。"]
    computed = score("retrieval_recall", retrieved_contexts=retrieved, reference_contexts=relevant)
    assert computed.value == 1


def test_ids_go_before_texts() -> None:
    texts: dict[str, Any] = {"retrieved_contexts": ["Tea."], "reference_contexts": ["Coffee."]}
    assert score("mrr", **texts, retrieved_ids=["1"], reference_ids=[1]).value == 1


def test_a_text_that_is_retrieved_again_counts_once_and_takes_a_rank() -> None:
    columns: dict[str, Any] = {"retrieved_ids": ["a", "a", "b"], "reference_ids": ["a", "b"]}
    assert score("retrieval_recall", retrieval_k=2, **columns).value == 1 / 2
    assert score("map", **columns).value == pytest.approx((1 / 1 + 2 / 3) / 2)


@pytest.mark.parametrize("metric", MEASURES)
def test_where_nothing_was_retrieved_it_is_0(metric: str) -> None:
    assert score(metric, retrieved_ids=[], reference_ids=["a"]).value == 0
    assert score(metric, retrieved_contexts=[], reference_contexts=["Tea."]).value == 0


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"retrieved_ids": ["a"]}, "missing_reference_ids"),
        ({"retrieved_ids": ["a"], "reference_ids": []}, "missing_reference_ids"),
        ({"reference_ids": ["a"], "retrieved_contexts": ["Tea."]}, "missing_retrieved_ids"),
        ({"reference_contexts": ["Tea."], "retrieved_ids": ["a"]}, "missing_retrieved_contexts"),
    ],
    ids=["nothing to find", "an empty list to find", "no ids retrieved", "no texts retrieved"],
)
def test_a_missing_column_is_named(columns: dict[str, Any], reason: str) -> None:
    assert score("ndcg", **columns) == Score.undefined(reason)
