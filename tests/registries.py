"""What is registered while a test runs: metrics and judgements, the criteria of a file among them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from localeval import METRICS
from localeval.judgements import JUDGEMENTS


@contextmanager
def registries_as_before() -> Iterator[None]:
    """Take out what is registered meanwhile."""
    registries: list[dict[str, Any]] = [METRICS, JUDGEMENTS]
    before = [dict(registry) for registry in registries]
    yield
    for registry, entries in zip(registries, before, strict=True):
        registry.clear()
        registry.update(entries)
