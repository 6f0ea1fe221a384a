"""Is each statement supported: by the contexts, or by another text of the sample?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, Field

from localeval.judgements import grounding
from localeval.judgements.context import JudgeContext, Record, texts_of
from localeval.judgements.statements import StatementsRecord
from localeval.judgements.windows import ask_in_windows, probability_of_yes
from localeval.prompts import Prompt
from localeval.samples import Sample
from localeval.text.claims import main_clause
from localeval.text.display import one_line
from localeval.text.language import language
from localeval.text.overlap import (
    Evidence,
    context_sentences,
    rank_sentences,
    source_terms,
    term_recall,
    unsupported_numbers,
)
from localeval.text.sentences import has_words

VERSION = "8"
REASON_TOKENS = 120
CLOSEST, CUT = 2, " … "  # so many sentences at most are shown again with a statement, this between them


class Verdict(Record):
    """One statement decided.

    sentence         number of its sentence in the text that makes it, from 0
    probability      of "supported", 0 to 1; with several windows that of the best one
    evidence         the sentence of the premise that shares most with the statement; None where none does
    reason           what the model wrote before a reasoned verdict
    coverage         share of its terms that occur in the premise, 0 to 1 (see `localeval.text.overlap`)
    unknown_numbers  its numbers that the premise names nowhere
    core             it without its asides, where that was less probable and so decided (see `main_clause`)
    """

    statement: str
    sentence: int
    probability: float
    evidence: Evidence | None = None
    reason: str | None = None
    coverage: float = Field(default=1.0, ge=0, le=1)
    unknown_numbers: tuple[str, ...] = ()
    core: str | None = None


class SupportRecord(Record):
    """What was decided of each statement.

    windows        into how many the premise was cut, 0 for an empty one
    by             the judge was asked ("llm") or read (by its "head"), or it was the classifier
    all_supported  P(all are supported) where the judge was read
    """

    verdicts: tuple[Verdict, ...]
    windows: int = 1
    by: Literal["llm", "hhem", "head"] = "llm"
    all_supported: float | None = None


class DirectReply(BaseModel):
    verdict: Literal["yes", "no"]


class ReasonedReply(BaseModel):
    reason: str
    verdict: Literal["yes", "no"]


class Decided(NamedTuple):
    """The fields of a `Verdict` that a model decides."""

    probability: float
    reason: str | None = None
    core: str | None = None


@dataclass(frozen=True)
class SupportTask:
    """The judgement whether a column of the sample, the premise, supports what a judgement states.

    by  decides instead of `Options.support_by`, where given
    """

    premise: str
    statements: str
    by: Literal["hhem"] | None = None

    def decided_by(self, context: JudgeContext, sample: Sample) -> Literal["llm", "hhem", "head"]:
        if self.by == "hhem" or context.options.support_by == "hhem":
            return "hhem"
        of_response = (self.statements, self.premise) == ("statements", "retrieved_contexts")
        return "head" if of_response and grounding.decides(context, sample) else "llm"

    def recipe(self, context: JudgeContext, sample: Sample) -> dict[str, Any]:
        by = self.decided_by(context, sample)
        if by == "hhem":
            return {"by": "hhem", "classifier": context.classifier().signature()}
        if by == "head":
            read = {"user_input": sample.user_input, "response": sample.response}
            return {"by": "head", **grounding.recipe(context, sample), **read}
        column = "reference" if self.statements == "reference_statements" else "response"
        prompt = prompt_for(context, language(texts_of(sample, column)[0]))
        return {"verdict": context.options.verdict, "prompt": prompt.sha256}

    def ask(self, context: JudgeContext, sample: Sample, records: Mapping[str, Any]) -> SupportRecord:
        """Ask about each statement behind the premise, or as a pair with it for the classifier.

        Nobody is asked without a statement, or of a premise without a word, which supports nothing.
        """
        made: StatementsRecord = records[self.statements]
        premise = texts_of(sample, self.premise)
        statements = [text for _, text in made.flat()]
        by = self.decided_by(context, sample)
        whole: float | None = None
        near = rank_sentences(statements, context_sentences(premise), CLOSEST)
        if not statements or not any(map(has_words, premise)):
            decided, count = [Decided(0.0)] * len(statements), 0
        elif by == "head":
            read = grounding.ask(context, sample, {})
            decided, count = [Decided(read.sentences[i].probability) for i, _ in made.flat()], read.windows
            whole = read.all_supported
        elif by == "hhem":
            shares, count = context.classifier().support(premise, statements)
            decided = [Decided(share) for share in shares]
        else:
            decided, count = judge_support(context, premise, statements, format_evidence(near), made.language)
        source = source_terms(premise)
        return SupportRecord(
            verdicts=tuple(
                Verdict(
                    statement=text,
                    sentence=i,
                    evidence=own[0] if own else None,
                    coverage=term_recall(text, source),
                    unknown_numbers=unsupported_numbers(text, source),
                    **one._asdict(),
                )
                for (i, text), one, own in zip(made.flat(), decided, near, strict=True)
            ),
            windows=count,
            by=by,
            all_supported=whole,
        )


def judge_support(
    context: JudgeContext,
    premise: Sequence[str],
    statements: Sequence[str],
    shown: Sequence[str],
    spoken: str,
) -> tuple[list[Decided], int]:
    """Ask about each statement. Returns what was decided of each, and the number of windows.

    `shown` is what a prompt may show again beside each (see `closest_evidence`). One with asides is asked
    about without them too, and is no better supported than so (see `main_clause`).
    """
    source = source_terms(premise)
    cores = {i: core for i, text in enumerate(statements) if (core := main_clause(text, source)) != text}
    asked = [*statements, *cores.values()]
    again = [*shown, *closest_evidence([*cores.values()], premise)]
    prompt = prompt_for(context, spoken)
    reasoned = context.options.verdict == "reasoned"
    schema: type[BaseModel] = ReasonedReply if reasoned else DirectReply
    replies, count = ask_in_windows(
        context.engine,
        prompt.prefix("verdict", schema),
        lambda part: prompt.render_context(contexts=part),
        premise,
        [
            prompt.render_item("verdict", statement=text, closest=near)
            for text, near in zip(asked, again, strict=True)
        ],
        schema,
        REASON_TOKENS if reasoned else 0,
    )
    decided = [Decided(probability_of_yes(reply), getattr(reply.value, "reason", None)) for reply in replies]
    for i, alone in zip(cores, decided[len(statements) :], strict=True):
        if alone.probability < decided[i].probability:
            decided[i] = alone._replace(core=cores[i])
    return decided[: len(statements)], count


def closest_evidence(statements: Sequence[str], premise: Sequence[str]) -> list[str]:
    """Join, for each statement, the sentences of the premise that share most with it; "" where none does.

    >>> closest_evidence(["Tea needs rain."], ["Tea grows. It needs rain.", "Coffee does not."])
    ['Tea grows. … It needs rain.']
    """
    return format_evidence(rank_sentences(statements, context_sentences(premise), CLOSEST))


def format_evidence(near: Sequence[Sequence[Evidence]]) -> list[str]:
    """Join each statement's closest sentences, the one first that most statements have, else by place.

    Prompts that begin alike share that part's computation.
    """
    having = Counter(one for own in near for one in own)
    in_order = (sorted(own, key=lambda one: (-having[one], one.context, one.start)) for own in near)
    return [CUT.join(one_line(one.text) for one in own) for own in in_order]


def prompt_for(context: JudgeContext, spoken: str) -> Prompt:
    """Load the prompt of a verdict, in the form that the caller chose."""
    form = "support_reasoned" if context.options.verdict == "reasoned" else "support"
    return context.options.prompt(form, spoken)
