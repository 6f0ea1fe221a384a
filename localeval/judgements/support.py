"""Is each statement supported by the contexts, or by another text of the sample?"""

from __future__ import annotations

from itertools import chain, repeat
from typing import ClassVar, Literal, Self

from pydantic import Field

from localeval.claims.evidence import Evidence, context_sentences, rank_sentences
from localeval.claims.sources import source_terms, term_recall, unsupported_numbers
from localeval.fitted.curves import Curve
from localeval.judgements.base import (
    JUDGEMENTS,
    AnsweredBy,
    Choices,
    Inputs,
    Judgement,
    Models,
    Record,
    Records,
    register_judgement,
)
from localeval.judgements.bindings import Binding
from localeval.judgements.deciders import (
    ASKED_PROMPT,
    MAX_CLOSEST,
    REASONED_PROMPT,
    Asked,
    Decided,
    Decisions,
    Hhem,
    Read,
    Statement,
    choose_decider,
)
from localeval.judgements.decision import Decision, DecisionContext, Kind
from localeval.judgements.judged_text import texts_of
from localeval.judgements.statements import SentenceStatements, StatementsRecord, column_of
from localeval.options import Options
from localeval.samples import Sample
from localeval.text.sentences import has_words

Column = Literal["retrieved_contexts", "response", "reference"]


class Verdict(Record):
    """One statement decided.

    sentence         number of its sentence in the text that makes it, from 0
    probability      of "supported", 0 to 1; with several windows, from the best one
    evidence         the sentence of the premise that shares most with the statement; None where none does
    reason           what the model wrote before a reasoned verdict
    coverage         share of its terms that occur in the premise, 0 to 1 (see `localeval.claims.sources`)
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

    def calibrated(self, curve: Curve) -> Self:
        margin = None if self.binding is None else self.binding.margin
        probability = curve.apply(self.probability, self.coverage, len(self.unknown_numbers), margin)
        return self.model_copy(update={"probability": probability})

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
        return column_of(_support_of(judgement).needs[0])

    def decisions(self, context: DecisionContext) -> tuple[Decision, ...]:
        """List the verdicts, with the reasons that were asked for afterwards where there are any."""
        judgement = _support_of(context.judgement)
        statements = judgement.needs[0]
        made = context.records.get(statements)
        sentences = made.sentences if isinstance(made, StatementsRecord) else ()
        asked_later = context.records.get("reasons") if context.judgement == "support" else None
        reasons: tuple[str, ...] = getattr(asked_later, "reasons", ())
        listed = []
        for verdict, reason in zip(self.verdicts, chain(reasons, repeat("")), strict=False):
            listed.append(
                verdict.as_decision(
                    context,
                    column_of(statements),
                    sentences[verdict.sentence] if verdict.sentence < len(sentences) else None,
                    judgement.premise,
                    self.by,
                    reason,
                )
            )
        return tuple(listed)

    def calibrated(self, curve: Curve) -> Self:
        """Calibrate the verdicts of a judge that was asked, and not those on a premise without a word."""
        if self.by != "llm" or not self.windows:
            return self
        return self.model_copy(update={"verdicts": tuple(v.calibrated(curve) for v in self.verdicts)})


class SupportInputs(Inputs):
    """The premise, the statements to decide on, and who decides, with all that it is asked with."""

    premise: tuple[str, ...]
    statements: tuple[Statement, ...]
    decider: Asked | Hhem | Read


class Support(Judgement[SupportInputs, SupportRecord]):
    """Whether a column of the sample, the premise, supports the statements of another judgement."""

    version = "12"
    record = SupportRecord

    def __init__(self, name: str, premise: Column, statements: str, *, by_hhem: bool = False) -> None:
        """`by_hhem`: the classifier decides, whatever the options say."""
        self.name = name
        self.premise = premise
        self.needs = (statements,)
        self.by_hhem = by_hhem
        self.prompts = () if by_hhem else (ASKED_PROMPT, REASONED_PROMPT)
        if self.of_response and not by_hhem:
            self.calibrated_by_language_of = statements

    @property
    def of_response(self) -> bool:
        """Whether the contexts may support the response, which was written from them."""
        return self.needs == ("statements",) and self.premise == "retrieved_contexts"

    def answered_by(self, options: Options) -> AnsweredBy:
        return "classifier" if self.by_hhem or options.support_by == "hhem" else "judge"

    def needs_head(self, options: Options) -> bool:
        return self.of_response and not self.by_hhem and options.support_by == "head"

    def may_use_head(self, options: Options) -> bool:
        """With HHEM a head has a part, too: the sentences of a long response are its statements."""
        return self.of_response and options.support_by in ("auto", "head")

    def inputs(self, sample: Sample, records: Records, choices: Choices) -> SupportInputs:
        made: StatementsRecord = records[self.needs[0]]
        return SupportInputs(
            premise=tuple(texts_of(sample, self.premise)),
            statements=tuple(Statement(sentence=i, text=text) for i, text in made.flat()),
            decider=choose_decider(
                sample, choices, made.language, of_response=self.of_response, by_hhem=self.by_hhem
            ),
        )

    def ask(self, inputs: SupportInputs, models: Models) -> SupportRecord:
        """Decide on each statement.

        Nothing is asked without a statement, or about a premise without a word, which supports nothing.
        """
        statements = inputs.statements
        texts = [statement.text for statement in statements]
        closest = rank_sentences(texts, context_sentences(inputs.premise), MAX_CLOSEST)
        if statements and any(map(has_words, inputs.premise)):
            decisions = inputs.decider.decide(inputs.premise, statements, closest, models)
        else:
            decisions = Decisions([Decided(0.0) for _ in statements], windows=0)
        source = source_terms(inputs.premise)
        verdicts = [
            Verdict(
                statement=statement.text,
                sentence=statement.sentence,
                evidence=sentences[0] if sentences else None,
                coverage=term_recall(statement.text, source),
                unknown_numbers=unsupported_numbers(statement.text, source),
                **decided._asdict(),
            )
            for statement, decided, sentences in zip(statements, decisions.decided, closest, strict=True)
        ]
        return SupportRecord(
            verdicts=tuple(verdicts),
            windows=decisions.windows,
            by=inputs.decider.by,
            all_supported=decisions.all_supported,
        )


def _support_of(judgement: str) -> Support:
    """Return the judgement of this name, if it is one of these; else the one by the contexts."""
    registered = JUDGEMENTS.get(judgement)
    return registered if isinstance(registered, Support) else CONTEXTS_SUPPORT_RESPONSE


CONTEXTS_SUPPORT_RESPONSE = register_judgement(Support("support", "retrieved_contexts", "statements"))
register_judgement(Support("support_hhem", "retrieved_contexts", "statements", by_hhem=True))
register_judgement(Support("reference_in_contexts", "retrieved_contexts", "reference_statements"))
register_judgement(Support("response_in_reference", "reference", "statements"))
register_judgement(Support("reference_in_response", "response", "reference_statements"))
