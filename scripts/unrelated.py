"""Measure how alike an embedder takes questions that have nothing to do with each other.

The mean is the `unrelated` of an embedder in models/catalog.toml, at which the scale of answer_relevance's
`soft` begins. Every pair of unrelated_questions.toml counts once, within a language and across both; the two
questions on one subject are no pair. Run it as: .venv/bin/python scripts/unrelated.py NAME [NAME ...]
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from localeval.auxiliary.embedder import Embedder


def measure(name: str, questions: dict[str, list[str]]) -> None:
    """Print mean, deviation and quantiles of the cosines of unrelated pairs, by language and for all."""
    embedder = Embedder.load(name)
    rows = {language: embedder.embed(texts) for language, texts in questions.items()}
    cosines = {language: _pairs(vectors, vectors) for language, vectors in rows.items()}
    cosines["en-zh"] = _pairs(rows["en"], rows["zh"])
    cosines["all"] = np.concatenate([*cosines.values()])
    print(f"{name}: cosines of unrelated questions")
    print("pairs    number   mean  deviation     5 %    50 %    95 %   soft")
    for kind, values in cosines.items():
        mean = float(values.mean())
        low, middle, high = np.percentile(values, [5, 50, 95])
        # The mean of soft, where the response is sufficient for sure.
        soft = float(np.maximum(0, (values - mean) / (1 - mean)).mean())
        numbers = f"{mean:6.3f} {values.std():10.3f} {low:7.3f} {middle:7.3f} {high:7.3f} {soft:6.3f}"
        print(f"{kind:8} {len(values):6} {numbers}")


def _pairs(first: npt.NDArray[np.float32], second: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return the cosine of each row with each later one of `second`, which stands for both orders."""
    products = first @ second.T
    upper = np.triu_indices(len(first), 1)
    if first is second:
        return np.asarray(products[upper])
    lower = np.tril_indices(len(first), -1)
    return np.concatenate([products[upper], products[lower]])


if __name__ == "__main__":
    path = Path(__file__).with_name("unrelated_questions.toml")
    for model in sys.argv[1:]:
        measure(model, tomllib.loads(path.read_text(encoding="utf-8")))
