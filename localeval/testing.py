"""For tests: `assert_score`, and fakes that need no model.

engine = FakeEngine([{"statements": ["Tea grows."]}, {"verdict": "yes"}])
judge = fake_judge(engine)
judge.score("faithfulness", {"response": "Tea grows.", "retrieved_contexts": ["Tea grows."]})
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args, get_origin

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel

from localeval.auxiliary.models import AuxiliaryModels
from localeval.engine.dry_run import blank_rows, blank_states
from localeval.engine.interface import (
    ContextTooLong,
    EngineError,
    Frame,
    Likelihood,
    Reply,
    TokenUsage,
    TokenValues,
    TreeEngine,
)
from localeval.engine.settings import EngineSettings
from localeval.judge import Judge
from localeval.judgements.decision import OF_ANSWER
from localeval.metrics import Score, find_metric
from localeval.metrics.score import explain
from localeval.options import Options
from localeval.prompts import PromptPrefix
from localeval.samples import Sample
from localeval.text.display import digits, printable

T = TypeVar("T", bound=BaseModel)


def assert_score(
    judge: Judge,
    metric: str,
    sample: Sample | Mapping[str, Any],
    *,
    at_least: float = 0.0,
    at_most: float = 1.0,
    **options: Any,
) -> Score:
    """Assert that a sample's score by a metric lies within bounds, and return it.

    at_most  for metrics where lower is better, such as hallucination
    options  as `Judge.score` takes them

    Raises AssertionError, which lists each unsupported statement with its probability and evidence, or gives
    the reason for a missing score; and whatever `Judge.score` raises.
    """
    # pytest shows the line of the test.
    __tracebackhide__ = True
    score = judge.score(metric, sample, **options)
    if score.value is not None and at_least <= score.value <= at_most:
        return score
    expected = f"expected {_bounds(at_least, at_most)}"
    if score.value is None:
        raise AssertionError(f"{metric} is {score.status} ({explain(score.reason)}); {expected}.")
    crossed = at_least if score.value < at_least else at_most
    lines = [f"{metric} is {digits(score.value, crossed)}; {expected}."]
    lines += _missed_decisions(judge, metric, Sample.read(sample, "Sample"), Options.read(options))
    raise AssertionError("\n".join(lines))


def _bounds(at_least: float, at_most: float) -> str:
    bounds = []
    if at_least > 0:
        bounds.append(f"at least {at_least}")
    if at_most < 1:
        bounds.append(f"at most {at_most}")
    return " and ".join(bounds) or "a score"


def _missed_decisions(judge: Judge, metric: str, sample: Sample, options: Options) -> list[str]:
    """Describe each text of the answer that was decided with no, with its probability and evidence."""
    # `score` left its judgements in memory: the judge is not asked again.
    result = judge.score_sample(sample, [find_metric(metric)], options, judge.memory)
    lines = []
    for listed in result.decisions():
        if listed.kind not in OF_ANSWER:
            continue
        for one in listed.decisions:
            if one.probability is None or one.is_yes:
                continue
            evidence = f'evidence: "{one.evidence.text}"' if one.evidence else "no evidence"
            probability = digits(one.probability, one.threshold, 2)
            label = one.label or "decided with yes"
            lines.append(
                printable(f'not {label} ({listed.judgement}, {probability}): "{one.text}"; {evidence}')
            )
    return lines


@dataclass(frozen=True)
class Call:
    """A recorded call of `generate`; `seeds` has an entry per item, or is None where none were passed."""

    prefix: PromptPrefix
    context: str
    items: tuple[str, ...]
    schema: type[BaseModel]
    temperature: float
    seeds: tuple[tuple[int, ...], ...] | None


class FakeEngine(TreeEngine):
    """An engine that returns queued answers in order, one per item; AssertionError when they run out.

    `FakeEngine([])` is for what asks nothing, such as statements that are sentences. An answer is a dict of
    the schema's fields. For a `Literal` field it may be a probability instead of an option: {"verdict": 0.9}
    is the first option with 0.9, and the second with the rest; or the probabilities of several options:
    {"level": {"A": 0.7, "B": 0.3}}. An exception in the queue is raised. A "token" is a character here.
    `calls` records the calls.

    `likelihoods` maps texts to their log-probability as a response, 0 for any other text.
    """

    spent = TokenUsage()

    def __init__(
        self,
        answers: Iterable[Mapping[str, Any] | Exception],
        n_ctx: int = 100_000,
        likelihoods: Mapping[str, float] | None = None,
    ) -> None:
        self._answers = list(answers)
        self._likelihoods = likelihoods or {}
        self.settings = EngineSettings(n_ctx=n_ctx)
        self.calls: list[Call] = []

    def tokens(self, text: str) -> list[int]:
        return [ord(character) for character in text]

    def frame(self, prefix: PromptPrefix) -> Frame:
        return Frame(self.tokens(prefix.system + "".join(u + a for u, a in prefix.examples)), ())

    def generate(
        self,
        prefix: PromptPrefix,
        context: str,
        items: Sequence[str],
        schema: type[T],
        *,
        budget: int | Sequence[int] = 256,
        temperature: float = 0.0,
        seeds: Sequence[list[int]] | None = None,
    ) -> list[Reply[T]]:
        longest = max(map(len, items)) + (budget if isinstance(budget, int) else max(budget))
        if len(context) + longest > self.room(prefix):
            raise ContextTooLong("the fake's context is full")
        seed_tuples = None if seeds is None else tuple(map(tuple, seeds))
        self.calls.append(Call(prefix, context, tuple(items), schema, temperature, seed_tuples))
        self.spent = self.spent.plus(context=len(context), items=sum(map(len, items)))
        return [self._reply(schema) for _ in items]

    def read(self, context: str, item: str, layer: int) -> TokenValues:
        """Return blank states, from which a head computes its bias."""
        if len(context) + len(item) > self.settings.n_ctx:
            raise ContextTooLong("the fake's context is full")
        self.spent = self.spent.plus(read=len(context) + len(item))
        return blank_states(item, len(item))

    def states_before_replies(
        self, prefix: PromptPrefix, context: str, items: Sequence[str], schema: type[T], layer: int
    ) -> npt.NDArray[np.float32]:
        """Return blank states, from which a head computes its biases."""
        if len(context) + max(map(len, items)) > self.room(prefix):
            raise ContextTooLong("the fake's context is full")
        self.spent = self.spent.plus(context=len(context), read=sum(map(len, items)))
        return blank_rows(len(items))

    def likelihood(self, context: str, items: Sequence[str]) -> list[Likelihood]:
        """Return the given log-probabilities of the items, without the space before them."""
        if len(context) + max(map(len, items)) > self.settings.n_ctx:
            raise ContextTooLong("the fake's context is full")
        self.spent = self.spent.plus(context=len(context), items=sum(map(len, items)))
        return [Likelihood((self._likelihoods.get(item.strip(), 0.0),)) for item in items]

    def read_and_compare(
        self, context: str, item: str, variants: Sequence[str], layer: int
    ) -> tuple[TokenValues, list[float]]:
        """Return the differences of the given log-probabilities of the responses behind the question."""
        stated = self._of_response(item)
        margins = [stated - self._of_response(variant) for variant in variants]
        return self.read(context, item, layer), margins

    def _of_response(self, text: str) -> float:
        return self._likelihoods.get(text.partition("Response: ")[2].strip(), 0.0)

    def _reply(self, schema: type[T]) -> Reply[T]:
        if not self._answers:
            raise AssertionError(f"FakeEngine has no answer left for {schema.__name__}")
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if set(answer) != set(schema.model_fields):
            raise AssertionError(f"FakeEngine's next answer is {answer}, but {schema.__name__} is asked for")
        values = dict(answer)
        probabilities = {}
        for name, field in schema.model_fields.items():
            if get_origin(field.annotation) is Literal:
                options = get_args(field.annotation)
                probabilities[name] = _probabilities(values[name], options)
                values[name] = max(options, key=probabilities[name].__getitem__)
        value = schema.model_validate(values)
        return Reply(value, value.model_dump_json(), probabilities, mass=dict.fromkeys(probabilities, 1.0))

    def close(self) -> None:
        """Raise EngineError if answers are left over: the code asked for fewer than the test expects."""
        if self._answers:
            raise EngineError(f"{len(self._answers)} answers of FakeEngine were never asked for")


def _probabilities(answer: Any, options: Sequence[str]) -> dict[str, float]:
    """Return the probability of each option; see `FakeEngine` for the forms of an answer."""
    if isinstance(answer, int | float) and not isinstance(answer, bool):
        answer = {options[0]: answer, options[1]: 1 - answer}
    if isinstance(answer, Mapping):
        return {option: float(answer.get(option, 0.0)) for option in options}
    return {option: float(option == answer) for option in options}


class FakeEmbedder:
    """An embedder that returns the given vectors at length 1; AssertionError for any other text."""

    def __init__(self, vectors: Mapping[str, Sequence[float]]) -> None:
        self._vectors = vectors
        self.calls: list[tuple[str, ...]] = []

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        self.calls.append(tuple(texts))
        if unknown := [text for text in texts if text not in self._vectors]:
            raise AssertionError(f"FakeEmbedder has no vector for {unknown[0]!r}")
        rows = np.array([self._vectors[text] for text in texts], dtype=np.float32)
        unit: npt.NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit

    def signature(self) -> dict[str, Any]:
        return {"name": "fake", "sha256": "0" * 64}


class FakeClassifier:
    """A classifier that returns the given probability of each statement, whatever the contexts."""

    def __init__(self, probabilities: Mapping[str, float]) -> None:
        self._probabilities = probabilities

    def support(self, contexts: Sequence[str], statements: Sequence[str]) -> tuple[list[float], int]:
        return [self._probabilities[text] for text in statements], 1

    def signature(self) -> dict[str, Any]:
        return {"name": "fake", "sha256": "0" * 64}


def fake_judge(
    engine: FakeEngine, embedder: FakeEmbedder | None = None, classifier: FakeClassifier | None = None
) -> Judge:
    """Return a `Judge` with a fake engine, and a fake embedder and classifier for metrics that need one."""
    auxiliary = AuxiliaryModels(embedder or FakeEmbedder({}), classifier or FakeClassifier({}))
    return Judge(engine, {"name": "fake", "sha256": "0" * 64, "size": 0}, auxiliary_models=auxiliary)
