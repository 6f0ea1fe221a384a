"""The corrected numbers of two runs, compared."""

from __future__ import annotations

from typing import Any

import pytest

from localeval.analysis.compare import compare
from localeval.metrics.corrected import Corrected
from localeval.runs.result import Result
from tests.finished_runs import result, scored


def corrected(value: float | None, interval: tuple[float, float] | None, **fields: Any) -> Corrected:
    values: dict[str, Any] = {"method": "post-stratified", "unit": "sample", "number": "share right"}
    values |= {"raw": 0.8, "value": value, "interval": interval, "labels": 50, **fields}
    return Corrected(**values)


def run(number: Corrected | None) -> Result:
    made = result(scored([1.0, 0.0, 1.0]))
    if number is not None:
        made.corrected["faithfulness"] = number
    return made


def test_two_corrected_numbers_are_compared_as_independent_ones() -> None:
    compared = compare(run(corrected(0.6, (0.5, 0.68))), run(corrected(0.7, (0.64, 0.76))))
    difference = compared.corrected["faithfulness"]
    assert difference.difference == pytest.approx(0.1)
    # 0.06 below B with 0.08 above A, and 0.06 above B with 0.1 below A: hypotenuses of 0.1 and 0.1166.
    assert difference.interval == pytest.approx((0.0, 0.2166), abs=1e-4)
    assert "faithfulness, corrected: 0.600 in A, 0.700 in B, B - A +0.100" in str(compared)


def test_a_corrected_number_of_one_run_alone_is_not_compared() -> None:
    compared = compare(run(None), run(corrected(0.7, (0.64, 0.76))))
    assert compared.corrected["faithfulness"].reason == "only B has a corrected number"
    assert "not compared" in str(compared)


def test_a_run_that_could_not_be_corrected_is_not_compared() -> None:
    compared = compare(run(corrected(None, None)), run(corrected(0.7, (0.64, 0.76))))
    assert compared.corrected["faithfulness"].reason == "A could not be corrected"


def test_shares_and_graded_means_are_not_compared() -> None:
    graded = corrected(0.7, (0.64, 0.76), number="mean", method="ppi")
    compared = compare(run(corrected(0.6, (0.5, 0.68))), run(graded))
    assert compared.corrected["faithfulness"].reason == "A and B were corrected by labels of different kinds"


def test_runs_without_corrected_numbers_say_nothing_of_them() -> None:
    assert "corrected" not in str(compare(run(None), run(None)))
