"""The pytest plugin of localeval: the fixture `localeval_judge`.

pytest imports it at every start, so it imports nothing heavy; a judge is loaded when a test first needs one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from localeval import Judge


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("localeval").addoption(
        "--localeval-model",
        metavar="NAME|PATH",
        help="the judge of the fixture localeval_judge: a catalog name or a GGUF file "
        "(also LOCALEVAL_MODEL; default: the judge of `localeval evaluate`)",
    )


@pytest.fixture(scope="session")
def localeval_judge(request: pytest.FixtureRequest) -> Iterator[Judge]:
    """Load a judge for `localeval.testing.assert_score`, once per session, and close it at the end."""
    from localeval import Judge

    model = request.config.getoption("--localeval-model") or os.environ.get("LOCALEVAL_MODEL")
    judge = Judge.load(model) if model else Judge.load()
    with judge:
        yield judge
