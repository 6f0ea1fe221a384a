"""Is each context, by itself, useful for the given answer?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from localeval.claims.foreign_words import only_repeats
from localeval.engine.interface import ContextTooLong, TreeEngine
from localeval.judgements.base import Choices, Inputs, Judgement, Models, Record, Records, register_judgement
from localeval.judgements.decision import Decision, DecisionContext, Kind
from localeval.judgements.judged_text import response_of
from localeval.judgements.replies import YesOrNo, probability_of_yes
from localeval.judgements.windows import windows
from localeval.prompts import PromptBySha256, PromptForm
from localeval.samples import Sample
from localeval.text.language import language
from localeval.text.sentences import has_words


class UsefulRecord(Record):
    """The probability for each context, 0 to 1, in retrieval order; and the text it was compared with.

    repeats  numbers of the contexts, from 0, that only repeat the question: their probability is 0, unasked
    """

    contexts: tuple[float, ...]
    against: Literal["reference", "response"]
    repeats: tuple[int, ...] = ()

    decides: ClassVar[Kind] = "context"
    texts_of: ClassVar[str] = "retrieved_contexts"

    def decisions(self, context: DecisionContext) -> tuple[Decision, ...]:
        """List whether each context is useful; of one that only repeats the question, no model was asked."""
        texts = context.sample.retrieved_contexts or []
        judged = zip(texts, self.contexts, strict=False)
        return tuple(
            self._decision(i, text, probability, context.threshold)
            for i, (text, probability) in enumerate(judged)
        )

    def _decision(self, i: int, text: str, probability: float, threshold: float) -> Decision:
        """Return the decision on context `i`."""
        only_repeats_question = i in self.repeats
        return Decision(
            text=text,
            label="useful",
            probability=probability,
            is_yes=probability >= threshold,
            threshold=threshold,
            unjudged="repeats" if only_repeats_question else "",
            column="retrieved_contexts",
            context=i,
            start=0,
            end=len(text),
            against=self.against,
        )


class UsefulInputs(Inputs):
    """The question, the contexts, the answer that they are compared with, and the prompt.

    against  which text of the sample the answer is
    """

    question: str
    contexts: tuple[str, ...]
    answer: str
    against: Literal["reference", "response"]
    prompt: PromptBySha256


PROMPT = PromptForm("useful", replies={"useful": YesOrNo})


class Useful(Judgement[UsefulInputs, UsefulRecord]):
    """Whether each context was useful to arrive at the answer."""

    name = "useful"
    version = "5"
    record = UsefulRecord
    prompts = (PROMPT,)

    def inputs(self, sample: Sample, records: Records, choices: Choices) -> UsefulInputs:  # noqa: ARG002
        """Compare with the reference where it has a word, else with the response."""
        question = sample.user_input or ""
        has_reference = has_words(sample.reference or "")
        return UsefulInputs(
            question=question,
            contexts=tuple(sample.retrieved_contexts or ()),
            answer=(sample.reference or "") if has_reference else response_of(sample),
            against="reference" if has_reference else "response",
            prompt=choices.options.prompt(PROMPT.name, language(question)),
        )

    def ask(self, inputs: UsefulInputs, models: Models) -> UsefulRecord:
        """Ask about each context after the question and the answer, as far as it says anything.

        A context without a word is not useful, nor is one that only repeats the question (see
        `only_repeats`).
        """
        with_words = [i for i, text in enumerate(inputs.contexts) if has_words(text)]
        repeats = {i for i in with_words if only_repeats(inputs.contexts[i], inputs.question)}
        readable = [i for i in with_words if i not in repeats]
        texts = [inputs.contexts[i] for i in readable]
        probabilities = dict(zip(readable, _probabilities(texts, inputs, models.engine), strict=True))
        return UsefulRecord(
            contexts=tuple(probabilities.get(i, 0.0) for i in range(len(inputs.contexts))),
            against=inputs.against,
            repeats=tuple(sorted(repeats)),
        )


def _probabilities(texts: Sequence[str], inputs: UsefulInputs, engine: TreeEngine) -> list[float]:
    """Return the probability that each text is useful.

    Where one is too long, each is cut into windows, and its best window decides.
    """
    if not texts:
        return []
    prompt = inputs.prompt
    prefix = prompt.prefix("useful", YesOrNo)
    rendered = prompt.render_context(user_input=inputs.question, answer=inputs.answer)

    def ask_about(parts: Sequence[str]) -> list[float]:
        items = [prompt.render_item("useful", context=part) for part in parts]
        replies = engine.generate(prefix, rendered, items, YesOrNo, budget=0)
        return [probability_of_yes(reply) for reply in replies]

    try:
        return ask_about(texts)
    except ContextTooLong:  # raised before anything is computed
        empty_item = [prompt.render_item("useful", context="")]
        parts_of = [windows(engine, prefix, [text], empty_item, bare=rendered) for text in texts]
    by_part = iter(ask_about([part for parts in parts_of for part in parts]))
    return [max([next(by_part) for _ in parts]) for parts in parts_of]


register_judgement(Useful())
