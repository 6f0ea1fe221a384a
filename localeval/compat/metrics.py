"""Metrics under their original names and parameters; each is a row of `localeval.METRICS`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from localeval.compat.metric import Model, OriginalMetric
from localeval.compat.models import beside, hold, source
from localeval.engine.companions import Companions
from localeval.engine.interface import Embeds
from localeval.errors import InputError
from localeval.judge import Judge
from localeval.metrics import Score
from localeval.prompts import LANGUAGES, text_of
from localeval.prompts.options import Options
from localeval.system.arguments import whole

Self = TypeVar("Self", bound="AnswerRelevance")
Prompts = str | Path | Mapping[str, str | Path]

RAGAS_QUESTIONS = 3
_OF_VERDICTS = {"support", "support_reasoned"}
"""The prompts by which a judge decides."""


class Faithfulness(OriginalMetric):
    """Supported statements / statements of the response. nan where it makes none.

    statement_generator_prompt, nli_prompt  a prompt file of localeval (its path or its text) for both
        languages, or a dict with one for "en" or "zh"

    >>> Faithfulness().required_columns == {"SINGLE_TURN": {"user_input", "response", "retrieved_contexts"}}
    True
    """

    row = "faithfulness"
    called = "faithfulness"
    columns = ("user_input", "response", "retrieved_contexts")

    def __init__(
        self,
        llm: Judge | Model | None = None,
        *,
        statement_generator_prompt: Prompts | None = None,
        nli_prompt: Prompts | None = None,
        **rest: Any,
    ) -> None:
        given = {"statements": statement_generator_prompt, "support": nli_prompt}
        self._given = {name: _by_language(name, text) for name, text in given.items() if text is not None}
        super().__init__(llm, **rest)
        for by_language in self._given.values():  # a file that is edited later changes nothing
            by_language.update({language: text_of(text) for language, text in by_language.items()})

    def read(self, given: Mapping[str, Any]) -> Options:
        """With the prompts that have a parameter of their own; that of verdicts in the form that is asked."""
        prompts = given.get("prompts", {})
        if not isinstance(prompts, Mapping):  # the options say what it has to be, and its parts
            return super().read(given)
        prompts = dict(prompts)
        for name, by_language in self._given.items():
            reasoned = name == "support" and given.get("verdict") == "reasoned"
            form = f"{name}_reasoned" if reasoned else name
            if isinstance(others := prompts.get(form, {}), Mapping):
                prompts[form] = {**others, **by_language}
        return super().read({**given, "prompts": prompts})


class FaithfulnesswithHHEM(Faithfulness):
    """`Faithfulness` with the verdicts of the classifier HHEM-2.1-Open: that of the judge, unless said.

    device, batch_size  where it computes, and how many pairs together

    Raises InputError for a batch_size that is no number from 1; and for what tells a judge how to decide
    (nli_prompt, verdict="reasoned") or to give its reasons (explain): here it does not decide, and they would
    change nothing.
    """

    row = "faithfulness_hhem"
    called = "faithfulness_with_hhem"

    def __init__(
        self, llm: Judge | Model | None = None, device: str = "cpu", batch_size: int = 10, **rest: Any
    ) -> None:
        super().__init__(llm, **rest)
        self.device, self.batch_size = device, whole("batch_size", batch_size, 1)

    def read(self, given: Mapping[str, Any]) -> Options:
        options = super().read(given)
        for name, chosen in (
            ("nli_prompt", not _OF_VERDICTS.isdisjoint(options.prompts)),
            ("verdict='reasoned'", options.verdict == "reasoned"),
            ("explain", options.explain),
        ):
            if chosen:
                raise InputError(
                    f"{self.name}: {name} is for verdicts of a judge, and here a classifier decides; leave "
                    "it out, or take Faithfulness."
                )
        return options

    def judge(self) -> Judge:
        from localeval.engine.hhem import Classifier

        judge = super().judge()
        where = (self.device, self.batch_size)
        if where == ("cpu", 10):
            return judge  # as its own classifier is, unless the caller chose another
        own = judge.companions.classifier()  # its files are checked; its weights are not loaded for this
        model = getattr(own, "source", None)
        if model is None:
            raise InputError(
                f"{self.name}: the judge's classifier is a {type(own).__name__}, which can't be opened again "
                "with another device or batch_size; leave them out, or open it with them."
            )
        threads = judge.engine.settings.n_threads
        classifier = hold(
            self,
            ("classifier", source(model), *where, threads),
            lambda: Classifier.load(model, device=self.device, batch_size=self.batch_size, threads=threads),
        )
        return beside(judge, Companions(classifier=classifier))


class ContextRelevance(OriginalMetric):
    """Sentences of the contexts that the question needs / all of them.

    0 where the question can't be answered from them; `invoke` gives it also where they have no sentence.
    """

    row = "context_relevance"
    called = "context_relevance"
    columns = ("user_input", "retrieved_contexts")

    def number(self, score: Score) -> float:
        return 0.0 if score.reason == "no_contexts" else super().number(score)


class AnswerRelevance(OriginalMetric):
    """Mean over questions drawn from the answer of cos(query, question) x sufficiency of that question.

    As the original weighs each draw by its own flag; `relevance="question"` is localeval's own rule. Ten
    questions are drawn; three with `relevance="ragas"`, as ragas does. `questions` is another number.

    embedding_model  a catalog name, a path to a sentence-transformer's folder, or an `Embedder` of
                     `localeval.engine.embedder`; that of the judge, unless said
    """

    row = "answer_relevance"
    called = "answer_relevance"
    columns = ("user_input", "response")

    def __init__(
        self,
        llm: Judge | Model | None = None,
        embedding_model: Embeds | Model | None = None,
        **rest: Any,
    ) -> None:
        super().__init__(llm, **rest)
        self.embedding_model = _embedding_model(embedding_model)

    def read(self, given: Mapping[str, Any]) -> Options:
        drawn = {"questions": RAGAS_QUESTIONS} if given.get("relevance") == "ragas" else {}
        return super().read({"relevance": "draws", **drawn, **given})

    def invoke(self, inputs: Any, num_of_gen: int | None = None) -> float:
        """As that of every metric, with `num_of_gen` questions instead of its own number."""
        drawn = {} if num_of_gen is None else {"questions": num_of_gen}
        return self._told(self.judged(inputs, **drawn))

    async def ainvoke(self, inputs: Any, num_of_gen: int | None = None) -> float:
        return await asyncio.to_thread(self.invoke, inputs, num_of_gen)

    def judge(self) -> Judge:
        judge, model = super().judge(), self.embedding_model
        if model is None:
            return judge
        if not isinstance(model, str | os.PathLike):
            return beside(judge, Companions(embedder=model))
        from localeval.engine.embedder import Embedder

        threads = judge.engine.settings.n_threads
        embedder = hold(
            self, ("embedder", source(model), threads), lambda: Embedder.load(model, threads=threads)
        )
        return beside(judge, Companions(embedder=embedder))

    def bound(self: Self, llm: Judge | Model | None, embeddings: Embeds | Model | None) -> Self:
        other = super().bound(llm, embeddings)
        if self.embedding_model is None:
            other.embedding_model = _embedding_model(embeddings)
        return other


class FactualCorrectness(OriginalMetric):
    """F1 (`mode` "f1", with `beta`), "precision" or "recall" of the response against the reference."""

    row = "factual_correctness"
    called = "factual_correctness"
    columns = ("response", "reference")

    def __init__(self, llm: Judge | Model | None = None, mode: str = "f1", **rest: Any) -> None:
        super().__init__(llm, mode=mode, **rest)

    @property
    def mode(self) -> str:
        return self.options.mode

    def column_with(self, options: Options) -> str:
        """With its mode, as ragas writes it."""
        return f"{self.name}(mode={options.mode})"


def _by_language(judgement: str, given: Prompts) -> dict[str, str | Path]:
    if isinstance(given, Mapping):
        return dict(given)
    if not isinstance(given, str | Path):
        raise InputError(
            f"the prompt for {judgement} is a {type(given).__name__}; give a prompt file of localeval, "
            "as its path or its text."
        )
    return dict.fromkeys(LANGUAGES, given)


def _embedding_model(given: Any) -> Embeds | Model | None:
    if isinstance(given, str) and not given:
        raise InputError(
            "embedding_model is empty; give a name from `localeval models list`, or leave it out."
        )
    embeds = hasattr(given, "embed") and hasattr(given, "signature")
    if given is None or isinstance(given, str | os.PathLike) or embeds:
        model: Embeds | Model | None = given
        return model
    raise InputError(
        f"embedding_model is a {type(given).__name__}; give a name from `localeval models list`, a path to a "
        "sentence-transformer's folder, or a localeval.engine.embedder.Embedder."
    )
