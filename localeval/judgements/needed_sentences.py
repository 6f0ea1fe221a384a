"""Which sentences of the contexts are needed to answer the question, and can it be answered from them?"""

from __future__ import annotations

from typing import ClassVar

from localeval.claims.evidence import Evidence, context_sentences
from localeval.judgements.base import Choices, Inputs, Judgement, Models, Record, Records, register_judgement
from localeval.judgements.decision import Decision, DecisionContext, Kind
from localeval.judgements.replies import YesOrNo, probability_of_yes
from localeval.judgements.windows import MAX_SHOWN_CHARACTERS, ask_in_windows
from localeval.prompts import PromptBySha256, PromptForm
from localeval.samples import Sample
from localeval.text.display import one_line
from localeval.text.language import language

# models/README.md has the figures for both.
MIN_SHARE_OF_HIGHEST = 0.85  # of the sample's highest probability, that a needed sentence has at least
MIN_SHARE_ABOVE_THRESHOLD = 0.4  # of the way from the threshold to 1, that "answerable" has to reach


class NeededSentence(Evidence):
    """A sentence of the contexts, and the probability that it is needed, in the best window of several."""

    probability: float


class NeededRecord(Record):
    """`answerable` is the probability that the question can be answered from the contexts, 0 to 1."""

    sentences: tuple[NeededSentence, ...]
    answerable: float
    windows: int = 1

    decides: ClassVar[Kind] = "passage"
    texts_of: ClassVar[str] = "retrieved_contexts"

    def decisions(self, context: DecisionContext) -> tuple[Decision, ...]:
        """List whether the contexts answer the question, then whether it needs each of their sentences."""
        least = least_answerable(context.threshold)
        least_needed = self.least_needed(context.threshold)
        answerable = Decision(
            text=context.sample.user_input or "",
            label="answerable",
            probability=self.answerable,
            is_yes=self.answerable >= least,
            threshold=least,
            column="user_input",
            against="retrieved_contexts",
        )
        sentences = [
            Decision(
                text=sentence.text,
                label="needed",
                probability=sentence.probability,
                is_yes=is_needed,
                threshold=least_needed,
                column="retrieved_contexts",
                context=sentence.context,
                start=sentence.start,
                end=sentence.end,
                against="user_input",
            )
            for sentence, is_needed in zip(self.sentences, self.decided(context.threshold), strict=True)
        ]
        return (answerable, *sentences)

    def decided(self, threshold: float) -> tuple[bool, ...]:
        """Decide for each sentence whether the question needs it.

        None is needed if `answerable` is below `least_answerable`, 0.7 at a threshold of 0.5. Else the most
        probable one and those with 0.85 x its probability (`MIN_SHARE_OF_HIGHEST`), but none below half of
        `threshold`.

        >>> def sentence(p): return NeededSentence(text="s", context=0, start=0, end=1, probability=p)
        >>> record = NeededRecord(sentences=(sentence(0.4), sentence(0.1), sentence(0.38)), answerable=0.8)
        >>> record.decided(0.5), record.decided(0.9)
        ((True, False, True), (False, False, False))
        """
        answerable = self.answerable >= least_answerable(threshold)
        minimum = self.least_needed(threshold)
        return tuple(answerable and s.probability >= minimum for s in self.sentences)

    def least_needed(self, threshold: float) -> float:
        """Return the probability from which a sentence counts as needed, if the question can be answered."""
        highest = max((sentence.probability for sentence in self.sentences), default=0.0)
        return max(threshold / 2, MIN_SHARE_OF_HIGHEST * highest)


def least_answerable(threshold: float) -> float:
    """Return the probability from which contexts count as answering the question."""
    return threshold + MIN_SHARE_ABOVE_THRESHOLD * (1 - threshold)


class NeededInputs(Inputs):
    """The question, the contexts, and the prompt in the question's language, as there may be no response."""

    question: str
    contexts: tuple[str, ...]
    prompt: PromptBySha256


PROMPT = PromptForm("needed", replies={"needed": YesOrNo, "answerable": YesOrNo})


class Needed(Judgement[NeededInputs, NeededRecord]):
    """Whether the contexts answer the question, and which of their sentences it needs."""

    name = "needed"
    version = "8"
    record = NeededRecord
    prompts = (PROMPT,)

    def inputs(self, sample: Sample, records: Records, choices: Choices) -> NeededInputs:  # noqa: ARG002
        question = sample.user_input or ""
        return NeededInputs(
            question=question,
            contexts=tuple(sample.retrieved_contexts or ()),
            prompt=choices.options.prompt(PROMPT.name, language(question)),
        )

    def ask(self, inputs: NeededInputs, models: Models) -> NeededRecord:
        """Ask whether the contexts answer the question, then for each of their sentences if it is needed."""
        sentences = context_sentences(inputs.contexts)
        if not sentences:
            return NeededRecord(sentences=(), answerable=0.0, windows=0)
        prompt = inputs.prompt
        items = [prompt.render_item("answerable")]
        for sentence in sentences:
            shown = one_line(sentence.text)[:MAX_SHOWN_CHARACTERS]
            items.append(prompt.render_item("needed", sentence=shown))
        replies, window_count = ask_in_windows(
            models.engine,
            prompt.prefix("needed", YesOrNo, answerable=YesOrNo),
            lambda part: prompt.render_context(contexts=part, user_input=inputs.question),
            inputs.contexts,
            lambda _: items,
            YesOrNo,
        )
        answerable, *probabilities = map(probability_of_yes, replies)
        return NeededRecord(
            sentences=tuple(
                NeededSentence(text=s.text, context=s.context, start=s.start, end=s.end, probability=p)
                for s, p in zip(sentences, probabilities, strict=True)
            ),
            answerable=answerable,
            windows=window_count,
        )


register_judgement(Needed())
