"""What a report may read of a run. A report imports nothing that makes one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from localeval.metrics.abstention_balanced import AbstentionBalanced
from localeval.metrics.corrected import Corrected
from localeval.metrics.sample_result import Network, SampleResult
from localeval.metrics.signature import Signature
from localeval.metrics.summary import Summary
from localeval.report.slices import Slices
from localeval.samples import Skipped


class Disagreement(NamedTuple):
    """A statement that the judge and the classifier decide differently, and both probabilities."""

    sample: str
    statement: str
    judge: float
    classifier: float


class Stamp(NamedTuple):
    """What a certificate says of a run, in a sentence in English and Chinese, and whether it holds for it."""

    text: str
    text_zh: str
    holds: bool


class RunView(Protocol):
    """A finished run, as `localeval.Result` has it."""

    @property
    def samples(self) -> Sequence[SampleResult]: ...

    @property
    def metrics(self) -> Sequence[str]: ...

    @property
    def signature(self) -> Signature: ...

    @property
    def network(self) -> Network: ...

    @property
    def skipped(self) -> Sequence[Skipped]: ...

    @property
    def certificates(self) -> Sequence[Stamp]: ...

    @property
    def corrected(self) -> Mapping[str, Corrected]: ...

    @property
    def abstention_balanced(self) -> AbstentionBalanced | None: ...

    @property
    def higher_is_better(self) -> Mapping[str, bool]: ...

    @property
    def slices(self) -> Sequence[Slices]: ...

    def __getitem__(self, metric: str) -> Summary: ...

    def disagreements(self) -> Sequence[Disagreement]: ...


class PlanView(Protocol):
    """The plan of a run, as the live line shows it."""

    @property
    def samples(self) -> int: ...

    def summary(self) -> Sequence[str]: ...
