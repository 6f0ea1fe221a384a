"""Is each statement supported by the contexts, or by another text of the sample?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import BaseModel, Field

from localeval.claims.account import main_clause
from localeval.claims.overlap import (
    Evidence,
    context_sentences,
    rank_sentences,
    source_terms,
    term_recall,
    unsupported_numbers,
)
from localeval.judgements import reading
from localeval.judgements.bindings import Binding, bounded, find_bindings
from localeval.judgements.context import JudgeContext, Record, language_of, texts_of
from localeval.judgements.decision import Decision, DecisionContext, Kind
from localeval.judgements.statements import COLUMNS, SentenceStatements, StatementsRecord
from localeval.judgements.windows import LONGEST_SHOWN, ask_in_windows, probability_of_yes
from localeval.prompts import Prompt, join
from localeval.samples import Sample
from localeval.text.display import one_line
from localeval.text.sentences import has_words

VERSION = "11"
REASON_TOKENS = 120
LEAST_MASS = (
    0.5  # a `Verdict.mass` below this is noted: other beginnings are likelier than yes and no together
)
# Judgement -> the judgement whose statements it decides, and the sample's field that may support them.
DECIDED = {
    "support": ("statements", "retrieved_contexts"),
    "support_hhem": ("statements", "retrieved_contexts"),
    "reference_in_contexts": ("reference_statements", "retrieved_contexts"),
    "response_in_reference": ("statements", "reference"),
    "reference_in_response": ("reference_statements", "response"),
}
CLOSEST, CUT = 2, " … "  # most sentences that are repeated next to a statement, and the mark between them


class Verdict(Record):
    """One statement decided.

    sentence         number of its sentence in the text that makes it, from 0
    probability      of "supported", 0 to 1; with several windows that of the best one
    evidence         the sentence of the premise that shares most with the statement; None where none does
    reason           what the model wrote before a reasoned verdict
    coverage         share of its terms that occur in the premise, 0 to 1 (see `localeval.claims.overlap`)
    unknown_numbers  its numbers that do not occur in the premise
    core             the statement without asides, where it was less probable and so decided (`main_clause`)
    mass             probability that the judge, free to write anything, would begin a yes or a no there
    binding          how firmly its values belong to what it says of them; None where nobody looked at that
    """

    statement: str
    sentence: int
    probability: float
    evidence: Evidence | None = None
    reason: str | None = None
    coverage: float = Field(default=1.0, ge=0, le=1)
    unknown_numbers: tuple[str, ...] = ()
    core: str | None = None
    mass: float = Field(default=1.0, ge=0, le=1)
    binding: Binding | None = None

    def as_decision(
        self,
        context: DecisionContext,
        column: str,
        sentence: SentenceStatements | None,
        against: str,
        by: str,
        reason: str,
    ) -> Decision:
        """Return the verdict as a decision on a statement of `column`."""
        return Decision(
            text=self.statement,
            label="supported",
            probability=self.probability,
            is_yes=self.probability >= context.threshold,
            threshold=context.threshold,
            column=column,
            start=sentence.start if sentence else None,
            end=sentence.end if sentence else None,
            sentence=sentence.sentence if sentence else "",
            cut=sentence.cut if sentence else "",
            evidence=self.evidence,
            shortened=self.core or "",
            unknown_numbers=self.unknown_numbers,
            value=self.binding.value if self.binding else "",
            likelier_value=self.binding.likelier_value if self.binding else "",
            mass=self.mass,
            by=by,
            against=against,
            reason=reason or self.reason or "",
        )


class SupportRecord(Record):
    """The verdict on each statement.

    windows        how many the premise was cut into, 0 if it is empty
    by             who decided: the judge was asked ("llm"), its "head" read, or the classifier ("hhem")
    all_supported  P(all are supported), where a head read
    """

    verdicts: tuple[Verdict, ...]
    windows: int = 1
    by: Literal["llm", "hhem", "head"] = "llm"
    all_supported: float | None = None

    decides: ClassVar[Kind] = "verdict"

    def column(self, judgement: str) -> str:
        statements, _ = DECIDED.get(judgement, DECIDED["support"])
        return COLUMNS[statements]

    def decisions(self, context: DecisionContext) -> tuple[Decision, ...]:
        """List the verdicts, with the reasons that were asked for afterwards where there are any."""
        statements, against = DECIDED.get(context.judgement, DECIDED["support"])
        made = context.records.get(statements)
        sentences = made.sentences if isinstance(made, StatementsRecord) else ()
        asked_later = context.records.get("reasons") if context.judgement == "support" else None
        reasons: tuple[str, ...] = getattr(asked_later, "reasons", ())
        listed = []
        for verdict, reason in zip(self.verdicts, chain(reasons, repeat("")), strict=False):
            listed.append(
                verdict.as_decision(
                    context,
                    COLUMNS[statements],
                    sentences[verdict.sentence] if verdict.sentence < len(sentences) else None,
                    against,
                    self.by,
                    reason,
                )
            )
        return tuple(listed)


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
    mass: float = 1.0
    binding: Binding | None = None


@dataclass(frozen=True)
class SupportTask:
    """The judgement whether a column of the sample, the premise, supports the statements of a judgement.

    by  replaces `Options.support_by`, if given
    """

    premise: str
    statements: str
    by: Literal["hhem"] | None = None

    def decided_by(self, context: JudgeContext, sample: Sample) -> Literal["llm", "hhem", "head"]:
        if self.by == "hhem" or context.options.support_by == "hhem":
            return "hhem"
        return "head" if self._of_response() and reading.decides(context, sample) else "llm"

    def _of_response(self) -> bool:
        """Return whether the contexts may support the response, which was written from them."""
        return (self.statements, self.premise) == ("statements", "retrieved_contexts")

    def key_fields(self, context: JudgeContext, sample: Sample) -> dict[str, Any]:
        by = self.decided_by(context, sample)
        if by == "hhem":
            return {"by": "hhem", "classifier": context.classifier().signature()}
        if by == "head":
            read = {"user_input": sample.user_input, "response": sample.response}
            return {"by": "head", **reading.key_fields(context, sample), **read}
        column = "reference" if self.statements == "reference_statements" else "response"
        prompt = prompt_for(context, language_of(sample, column))
        return {"verdict": context.options.verdict, "prompt": prompt.sha256}

    def ask(self, context: JudgeContext, sample: Sample, records: Mapping[str, Any]) -> SupportRecord:
        """Ask about each statement after the premise, or give both as a pair to the classifier.

        Nothing is asked without a statement, or about a premise without a word, which supports nothing.
        """
        record: StatementsRecord = records[self.statements]
        premise, by = texts_of(sample, self.premise), self.decided_by(context, sample)
        statements = [text for _, text in record.flat()]
        all_supported: float | None = None
        closest = rank_sentences(statements, context_sentences(premise), CLOSEST)
        if not statements or not any(map(has_words, premise)):
            decisions, count = [Decided(0.0)] * len(statements), 0
        elif by == "head":
            whole = reading.ask(context, sample, {})
            read = [whole.sentences[i] for i, _ in record.flat()]
            decisions = [Decided(sentence.probability, binding=sentence.binding) for sentence in read]
            count, all_supported = whole.windows, whole.all_supported
        elif by == "hhem":
            probabilities, count = context.classifier().support(premise, statements)
            decisions = [Decided(probability) for probability in probabilities]
        else:
            decisions, count = judge_support(context, premise, statements, closest, record.language)
            if self._of_response():
                bindings = find_bindings(context.engine, sample.user_input or "", premise, statements)
                decisions = [
                    decision._replace(binding=binding, probability=bounded(decision.probability, binding))
                    for decision, binding in zip(decisions, bindings, strict=True)
                ]
        source = source_terms(premise)
        return SupportRecord(
            verdicts=tuple(
                Verdict(
                    statement=text,
                    sentence=i,
                    evidence=sentences[0] if sentences else None,
                    coverage=term_recall(text, source),
                    unknown_numbers=unsupported_numbers(text, source),
                    **decision._asdict(),
                )
                for (i, text), decision, sentences in zip(record.flat(), decisions, closest, strict=True)
            ),
            windows=count,
            by=by,
            all_supported=all_supported,
        )


def judge_support(
    context: JudgeContext,
    premise: Sequence[str],
    statements: Sequence[str],
    closest: Sequence[Sequence[Evidence]],
    language_code: str,
) -> tuple[list[Decided], int]:
    """Ask about each statement. Returns the decision on each, and the number of windows.

    A prompt may repeat next to a statement those of its `closest` sentences that the window has. A statement
    with asides is asked about without them too, and gets the lower of both probabilities (see `main_clause`).
    """
    source = source_terms(premise)
    cores = {i: core for i, text in enumerate(statements) if (core := main_clause(text, source)) != text}
    texts = [*statements, *cores.values()]
    closest_to_cores = rank_sentences([*cores.values()], context_sentences(premise), CLOSEST)
    prompt = prompt_for(context, language_code)
    reasoned = context.options.verdict == "reasoned"
    schema: type[BaseModel] = ReasonedReply if reasoned else DirectReply

    def render_items(part: str) -> list[str]:
        shown = [*format_evidence(closest, part), *format_evidence(closest_to_cores, part)]
        return [
            prompt.render_item("verdict", statement=text, closest=evidence)
            for text, evidence in zip(texts, shown, strict=True)
        ]

    replies, count = ask_in_windows(
        context.engine,
        prompt.prefix("verdict", schema),
        lambda part: prompt.render_context(contexts=part),
        premise,
        render_items,
        schema,
        REASON_TOKENS if reasoned else 0,
    )
    decisions = [
        Decided(probability_of_yes(r), getattr(r.value, "reason", None), mass=r.mass.get("verdict", 1.0))
        for r in replies
    ]
    for i, decision in zip(cores, decisions[len(statements) :], strict=True):
        if decision.probability < decisions[i].probability:
            decisions[i] = decision._replace(core=cores[i])
    return decisions[: len(statements)], count


def would_write_otherwise(records: Mapping[str, Any]) -> bool:
    """Report whether, at some verdict of a sample's records, the judge would rather not write yes or no."""
    supports = [record for record in records.values() if isinstance(record, SupportRecord)]
    return any(verdict.mass < LEAST_MASS for record in supports for verdict in record.verdicts)


def closest_evidence(statements: Sequence[str], premise: Sequence[str]) -> list[str]:
    """Join the sentences of the premise that share most with each statement; "" where none does.

    >>> closest_evidence(["Tea needs rain."], ["Tea grows. It needs rain.", "Coffee does not."])
    ['Tea grows. … It needs rain.']
    """
    closest = rank_sentences(statements, context_sentences(premise), CLOSEST)
    return format_evidence(closest, join(premise))


def format_evidence(closest: Sequence[Sequence[Evidence]], part: str) -> list[str]:
    """Join those of each statement's closest sentences that `part` of the premise has.

    Those of most statements come first, then by position: prompts that begin alike share that
    part's computation. A sentence of more than `LONGEST_SHOWN` characters is left out, so that there is room
    for the contexts.
    """
    closest = [
        [s for s in sentences if s.text in part and len(s.text) <= LONGEST_SHOWN] for sentences in closest
    ]
    counts = Counter(sentence for sentences in closest for sentence in sentences)
    ordered = (sorted(sentences, key=lambda s: (-counts[s], s.context, s.start)) for sentences in closest)
    return [CUT.join(one_line(sentence.text) for sentence in sentences) for sentences in ordered]


def prompt_for(context: JudgeContext, language_code: str) -> Prompt:
    """Load the verdict's prompt for a language, in the form (`Options.verdict`) that the caller chose."""
    form = "support_reasoned" if context.options.verdict == "reasoned" else "support"
    return context.options.prompt(form, language_code)
