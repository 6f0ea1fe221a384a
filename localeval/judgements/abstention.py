"""Does the response answer, refuse, or answer in part? And do the contexts answer the question at all?

A small judge says yes too easily to both questions. Where a head was fitted for the judge, the state before
its yes or no is read in place of the yes or no. Else the kind of response is asked in parts. A response that
answers completely and is supported proves that the contexts answer; otherwise a judge without a head writes
the shortest answer that they give, and that answer is checked as any statement is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import BaseModel

from localeval.claims.evidence import Evidence, context_sentences, rank_sentences
from localeval.claims.lacking_clauses import asks_for, lacking_clauses
from localeval.engine.interface import TreeEngine
from localeval.fitted.curves import all_supported
from localeval.fitted.reply_heads import ReplyHead, ReplyHeadBySha256
from localeval.judgements.base import (
    AnsweredBy,
    Choices,
    Inputs,
    Judgement,
    Models,
    Record,
    Records,
    register_judgement,
)
from localeval.judgements.deciders import MAX_CLOSEST, Asked, Hhem, Statement, choose_asking_decider
from localeval.judgements.decision import Decision, DecisionContext, Kind
from localeval.judgements.judged_text import JudgedText
from localeval.judgements.needed_sentences import least_answerable
from localeval.judgements.replies import YesOrNo, probability_of_yes
from localeval.judgements.statements import PROMPT as STATEMENTS_PROMPT
from localeval.judgements.statements import Statements, write_statements
from localeval.judgements.support import SupportRecord
from localeval.judgements.windows import windows
from localeval.options import Options
from localeval.prompts import Prompt, PromptBySha256, PromptForm, PromptPrefix
from localeval.samples import Sample
from localeval.text.citation_marks import without_citation_marks
from localeval.text.display import one_line
from localeval.text.empty_sentences import is_courtesy, is_refusal
from localeval.text.language import language
from localeval.text.sentences import has_words, split_sentences
from localeval.text.word_lists import read_lists

ResponseKind = Literal["answered", "partly", "refused", "undetermined"]
Cell = Literal[
    "answered", "over_refusal", "partly_answered", "unsupported_answer", "refused", "partly_refused"
]
"""What a sample counts as: the first three where the contexts answer the question, the others where not."""

ANSWERABLE_CELLS: tuple[Cell, ...] = ("answered", "over_refusal", "partly_answered")
RIGHT_CELLS: tuple[Cell, ...] = ("answered", "refused", "partly_refused")

MIN_KIND_PROBABILITY = 0.5  # of the likeliest kind of response; below it the kind is not determined
MIN_PROOF = 0.5  # from which a response proves that the contexts answer, so that nothing more is asked
ANSWER_TOKENS = 80
# Of what a response without any statement consists, where it refuses; other reasons leave it undetermined.
_REFUSING = ("refusal", "question", "courtesy", "no_words", "thought")


class AbstentionRecord(Record):
    """What kind of response it is, and whether the contexts answer the question.

    gives, lacks, whole  P(the response gives a part of what is asked), P(it says that it can't tell a part or
                         all of it), P(it gives all of it)
    by_words             the reason why nothing of it is judged, which decides the kind unasked; "" where the
                         judge was asked
    labelled             what the column `answerable` says; None without one
    has_label            whether the sample has that column: with None in `labelled` it can't be read
    has_contexts         whether the sample has the column of contexts
    read_answerable      P(the contexts answer), read from the judge's state; None where it was not read
    short_answer         the shortest answer that the contexts give, as the judge wrote it; "" for none
    short_answer_supported, short_answer_whole  P(the contexts support it), the least of its statements; P(it
                         gives all that is asked)
    evidence             the sentence of the contexts that shares most with it
    """

    gives: float
    lacks: float
    whole: float
    by_words: str = ""
    labelled: bool | None = None
    has_label: bool = False
    has_contexts: bool = True
    read_answerable: float | None = None
    short_answer: str = ""
    short_answer_supported: float = 0.0
    short_answer_whole: float = 0.0
    evidence: Evidence | None = None
    language: str
    windows: int = 1

    decides: ClassVar[Kind] = "other"

    @property
    def kinds(self) -> dict[ResponseKind, float]:
        """The probability of each kind; they sum to 1."""
        return {
            "answered": 1 - self.lacks,
            "partly": self.lacks * self.gives,
            "refused": self.lacks * (1 - self.gives),
        }

    @property
    def kind(self) -> ResponseKind:
        """The likeliest kind, if it is likely enough."""
        kinds = self.kinds
        likeliest = max(kinds, key=kinds.__getitem__)
        return likeliest if kinds[likeliest] >= MIN_KIND_PROBABILITY else "undetermined"

    def answerable(self, supported: float | None) -> float | None:
        """Return P(the contexts answer the question); None where that can't be known.

        supported  P(all statements of the response are supported); None without a statement
        """
        if self.has_label:
            return None if self.labelled is None else float(self.labelled)
        if not self.has_contexts:
            return None
        return max(self._proof(supported), self._by_short_answer, self.read_answerable or 0.0)

    def is_answerable(self, supported: float | None, threshold: float) -> bool:
        """Return whether the contexts count as answering the question.

        A short answer of the judge's own has to be surer than the response: two fifths of the way from the
        threshold to 1, as for `context_relevance`.
        """
        if self.has_label or not self.has_contexts:
            return bool(self.labelled)
        if max(self._proof(supported), self.read_answerable or 0.0) >= threshold:
            return True
        return self._by_short_answer >= least_answerable(threshold)

    def cell(self, supported: float | None, threshold: float) -> Cell | None:
        """Return what the sample counts as; None where kind or contexts are not determined."""
        kind = self.kind
        if kind == "undetermined" or self.answerable(supported) is None:
            return None
        if self.is_answerable(supported, threshold):
            if kind == "answered":
                return "answered"
            return "over_refusal" if kind == "refused" else "partly_answered"
        if kind == "refused":
            return "refused"
        is_supported = supported is not None and supported >= threshold
        return "partly_refused" if kind == "partly" and is_supported else "unsupported_answer"

    def unsupported_answer(self, supported: float | None) -> float:
        """Return P(the response gives an answer that the contexts do not), where they do not answer."""
        return self.kinds["answered"] + self.kinds["partly"] * (1 - (supported or 0.0))

    def right(self, supported: float | None) -> float:
        """Return P(it answers what can be answered, or refuses what can't); 0 where that can't be known."""
        answerable = self.answerable(supported)
        if answerable is None:
            return 0.0
        answered = answerable * self.kinds["answered"]
        return answered + (1 - answerable) * (1 - self.unsupported_answer(supported))

    @property
    def _by_short_answer(self) -> float:
        return self.short_answer_supported * self.short_answer_whole

    def _proof(self, supported: float | None) -> float:
        """Return P(the response is a complete and supported answer)."""
        return proof(self.lacks, self.whole, supported)

    def decisions(self, context: DecisionContext) -> tuple[Decision, ...]:
        """List whether the contexts answer the question, whether the response does, and the cell of both."""
        supported = supported_in(context.records)
        answerable = self.answerable(supported)
        listed = []
        words = read_lists("judgements", "zh" if self.language == "zh" else "en")["abstention"]
        if answerable is not None:
            listed.append(
                Decision(
                    text=context.sample.user_input or "",
                    label="answerable",
                    probability=answerable,
                    is_yes=self.is_answerable(supported, context.threshold),
                    threshold=context.threshold,
                    column="user_input",
                    against="retrieved_contexts",
                    evidence=self.evidence,
                    reason=self._why_answerable(words, supported),
                )
            )
        answered = self.kinds["answered"]
        listed.append(
            Decision(
                text=context.sample.response or "",
                label="answered",
                probability=answered,
                is_yes=self.kind == "answered",
                threshold=context.threshold,
                column="response",
                reason=self._why_kind(words),
            )
        )
        cell = self.cell(supported, context.threshold)
        if cell is not None:
            listed.append(
                Decision(
                    text=context.sample.response or "",
                    label="right",
                    probability=self.right(supported),
                    is_yes=cell in RIGHT_CELLS,
                    threshold=context.threshold,
                    column="response",
                    reason=cell,
                )
            )
        return tuple(listed)

    def _why_answerable(self, words: Mapping[str, str], supported: float | None) -> str:
        """Say by what it is known whether the contexts answer."""
        if self.has_label:
            return words["labelled"]
        if self._proof(supported) >= max(self._by_short_answer, MIN_PROOF):
            return words["proved"]
        if self.read_answerable is not None:
            return words["read"]
        if self.short_answer:
            return words["short_answer"].format(answer=self.short_answer)
        return words["no_answer"]

    def _why_kind(self, words: Mapping[str, str]) -> str:
        """Name the kind, and what shows a refusal."""
        kind = words[self.kind]
        return words["by_words"].format(kind=kind, reason=self.by_words) if self.by_words else kind


def proof(lacks: float, whole: float, supported: float | None) -> float:
    """Return P(the response is a complete and supported answer), which shows that the contexts answer."""
    return 0.0 if supported is None else (1 - lacks) * whole * supported


def supported_in(records: Records) -> float | None:
    """Return P(all statements of the response are supported); None without a statement or a record.

    A statement that says only that something can't be told is none that contexts could support.
    """
    record = records.get("support")
    if not isinstance(record, SupportRecord):
        return None
    telling = [verdict.probability for verdict in record.verdicts if _tells(verdict.statement)]
    if not telling:
        return None
    if record.all_supported is None or len(telling) < len(record.verdicts):
        return all_supported(telling)
    return min(record.all_supported, *telling)


def _tells(statement: str) -> bool:
    """Return whether a statement has a clause besides those that say that something can't be told."""
    return has_words(lacking_clauses(statement).rest)


class ShortAnswerReply(BaseModel):
    answer: str


PROMPT = PromptForm("abstention", replies={"gives": YesOrNo, "lacks": YesOrNo, "whole": YesOrNo})
SHORT_ANSWER_PROMPT = PromptForm("short_answer", replies={"answer": ShortAnswerReply})
ANSWERABLE_PROMPT = PromptForm("answerable", replies={"answerable": YesOrNo})


class AbstentionInputs(Inputs):
    """The response with its question, the contexts, what is known already, and what the judge is asked with.

    contexts            None where the sample has no such column
    supported           P(all statements are supported), as the judge gave it; None without a statement
    statements_version  of the judgement that lists statements
    statements_prompt   by which a short answer is broken into statements; None where it is its own one
    kind_head, answerable_head  tell the kind of response, and whether the contexts answer, from the judge's
                        states; None where no such head was fitted
    """

    response: JudgedText
    contexts: tuple[str, ...] | None
    supported: float | None
    has_label: bool
    labelled: bool | None
    prompt: PromptBySha256
    short_answer_prompt: PromptBySha256
    answerable_prompt: PromptBySha256
    statements_version: str
    statements_prompt: PromptBySha256 | None
    kind_head: ReplyHeadBySha256 | None
    answerable_head: ReplyHeadBySha256 | None
    decider: Asked | Hhem


class Abstention(Judgement[AbstentionInputs, AbstentionRecord]):
    """Whether the response answers or refuses, and whether the contexts answer the question."""

    name = "abstention"
    version = "3"
    needs = ("statements", "support")
    record = AbstentionRecord
    prompts = (PROMPT, SHORT_ANSWER_PROMPT, ANSWERABLE_PROMPT, STATEMENTS_PROMPT)

    def answered_by(self, options: Options) -> AnsweredBy:  # noqa: ARG002 (also where HHEM decides on support)
        return "judge"

    def inputs(self, sample: Sample, records: Records, choices: Choices) -> AbstentionInputs:
        options = choices.options
        response = JudgedText.of(sample)
        contexts = sample.retrieved_contexts
        label = (sample.model_extra or {}).get("answerable")
        code = language(response.question)
        asks_for_statements = options.statements == "llm"
        return AbstentionInputs(
            response=response,
            contexts=None if contexts is None else tuple(contexts),
            supported=supported_in(records),
            has_label=label is not None,
            labelled=read_label(label),
            prompt=options.prompt(PROMPT.name, code),
            short_answer_prompt=options.prompt(SHORT_ANSWER_PROMPT.name, code),
            answerable_prompt=options.prompt(ANSWERABLE_PROMPT.name, code),
            statements_version=Statements.version,
            statements_prompt=options.prompt(STATEMENTS_PROMPT.name, code) if asks_for_statements else None,
            kind_head=choices.reply_heads.get(f"{PROMPT.name}/{code}"),
            answerable_head=choices.reply_heads.get(f"{ANSWERABLE_PROMPT.name}/{code}"),
            decider=choose_asking_decider(sample, choices, code),
        )

    def ask(self, inputs: AbstentionInputs, models: Models) -> AbstentionRecord:
        """Ask what the response gives and lacks, then what the contexts give where it proves nothing.

        The judge is asked nothing about a response of which no statement is judged, and not whether it lacks
        something where no word of it says so.
        """
        told = told_by_words(inputs.response) or _what_it_tells(inputs, models.engine)
        is_proved = proof(told.lacks, told.whole, inputs.supported) >= MIN_PROOF
        found = InContexts() if is_proved or inputs.has_label else _search_contexts(inputs, models)
        return AbstentionRecord(
            gives=told.gives,
            lacks=told.lacks,
            whole=told.whole,
            by_words=told.by_words,
            labelled=inputs.labelled,
            has_label=inputs.has_label,
            has_contexts=inputs.contexts is not None,
            read_answerable=found.read,
            short_answer=found.answer,
            short_answer_supported=found.supported,
            short_answer_whole=found.whole,
            evidence=found.evidence,
            language=inputs.response.language,
            windows=found.windows,
        )


def read_label(value: Any) -> bool | None:
    """Return what the column `answerable` says; None for no label, and for one that is neither yes nor no.

    >>> read_label(True), read_label("No"), read_label(1.0), read_label("可以"), read_label("perhaps")
    (True, False, True, True, None)
    """
    text = str(value).strip().lower().removesuffix(".0")
    for is_answerable, name in ((True, "label_yes"), (False, "label_no")):
        for code in ("en", "zh"):
            if text in read_lists("judgements", code)["abstention"][name].split():
                return is_answerable
    return None


class Told(NamedTuple):
    """The first fields of an `AbstentionRecord`."""

    gives: float
    lacks: float
    whole: float
    by_words: str = ""


def told_by_words(response: JudgedText) -> Told | None:
    """Return the kind of a response of which no statement is judged; None for others.

    One that consists of sources alone, or of repeated words, neither answers nor refuses: its kind has even
    odds, and so is not determined.
    """
    if response.claims:
        return None
    reasons = {stretch.reason for stretch in response.unjudged}
    for reason in _REFUSING:
        if reason in reasons:
            return Told(0.0, 1.0, 0.0, reason)
    if not reasons:
        return Told(0.0, 1.0, 0.0, "no_words")
    # As much of each kind.
    return Told(1 / 2, 2 / 3, 0.0, min(reasons))


def _may_refuse(text: str) -> bool:
    """Return whether a word of the text may say that something can't be told.

    An apology may where it is the only sentence: beside others it is mostly a courtesy ("Sorry you waited!").

    >>> _may_refuse("Sorry for the wait! It is oak."), _may_refuse("Sorry for that.")
    (False, True)
    """
    if _pattern("hints").search(text):
        return True
    return bool(_pattern("apologies").search(text)) and len(split_sentences(text)) == 1


@lru_cache
def _pattern(name: str) -> re.Pattern[str]:
    """Return the pattern of a list of both languages, for any case."""
    hints = [read_lists("judgements", code)["abstention"][name] for code in ("en", "zh")]
    return re.compile("|".join(hints), re.IGNORECASE)


def _what_it_tells(inputs: AbstentionInputs, engine: TreeEngine) -> Told:
    """Find what the response gives and lacks: by the head where there is one, else by the judge's replies."""
    if inputs.kind_head is None:
        return _ask_what_it_tells(inputs, engine)
    return _read_what_it_tells(inputs, inputs.kind_head, engine)


def _ask_what_it_tells(inputs: AbstentionInputs, engine: TreeEngine) -> Told:
    """Ask whether the response gives and completes what is asked, and find whether it lacks something.

    Where clauses say that something can't be told, the judge sees the rest alone. It is not asked about these
    clauses: the response lacks what they speak of if the question asks for that, or else as far as the rest
    is not complete. Where they are all there is, or where only a single word may say such a thing, the
    judge is asked; where not even a word does, the response lacks nothing.
    """
    text = inputs.response.text
    lacking = lacking_clauses(text)
    rest = without_citation_marks(lacking.rest)
    if lacking.clauses and has_words(rest) and not is_courtesy(rest):
        found = _ask_about(lacking.rest, ["gives", "whole"], inputs, engine)
        question = inputs.response.question
        is_asked_for = any(asks_for(question, clause, lacking.rest) for clause in lacking.clauses)
        lacks = 1.0 if is_asked_for else 1 - found["whole"]
        return Told(found["gives"], lacks, found["whole"])
    kinds = ["gives", "whole"]
    if lacking.clauses or _may_refuse(text):
        kinds.append("lacks")
    found = _ask_about(text, kinds, inputs, engine)
    lacks = found.get("lacks", 0.0)
    if lacking.clauses:
        lacks = max(lacks, 1 - found["gives"])
    return Told(found["gives"], lacks, found["whole"])


def _read_what_it_tells(inputs: AbstentionInputs, head: ReplyHead, engine: TreeEngine) -> Told:
    """Let the head tell the kind of response from the state in which the judge is about to reply."""
    prompt = inputs.prompt
    [state] = engine.states_before_replies(
        _prefix_of(prompt),
        prompt.render_context(user_input=inputs.response.question, response=inputs.response.text),
        [prompt.render_item(head.item)],
        YesOrNo,
        head.layer,
    )
    kinds = head.of(state)
    lacks = kinds["partly"] + kinds["refused"]
    gives = kinds["partly"] / lacks if lacks else 0.0
    # What lacks nothing is whole.
    return Told(gives, lacks, 1.0)


def _prefix_of(prompt: Prompt) -> PromptPrefix:
    return prompt.prefix("gives", YesOrNo, lacks=YesOrNo, whole=YesOrNo)


def _ask_about(
    text: str, kinds: Sequence[str], inputs: AbstentionInputs, engine: TreeEngine
) -> dict[str, float]:
    """Return P(yes) of each kind of item about `text` as an answer to the question."""
    prompt = inputs.prompt
    replies = engine.generate(
        _prefix_of(prompt),
        prompt.render_context(user_input=inputs.response.question, response=text),
        [prompt.render_item(kind) for kind in kinds],
        YesOrNo,
        budget=0,
    )
    return {kind: probability_of_yes(reply) for kind, reply in zip(kinds, replies, strict=True)}


class InContexts(NamedTuple):
    """What the contexts tell of an answer: as a head reads it, or the shortest one that the judge writes.

    read              P(they answer the question); None where nothing was read
    answer            the short answer, "" for none
    supported, whole  how far it can be trusted: P(they support it), P(it gives all that is asked)
    """

    read: float | None = None
    answer: str = ""
    supported: float = 0.0
    whole: float = 0.0
    evidence: Evidence | None = None
    windows: int = 1


def _search_contexts(inputs: AbstentionInputs, models: Models) -> InContexts:
    """Find whether the contexts answer: by the head where there is one, else by a short answer."""
    contexts = inputs.contexts or ()
    head = inputs.answerable_head
    if not any(map(has_words, contexts)):
        return InContexts(read=None if head is None else 0.0)
    if head is None:
        return _short_answer(inputs, contexts, models)
    return _read_answerable(inputs, contexts, head, models.engine)


def _read_answerable(
    inputs: AbstentionInputs, contexts: Sequence[str], head: ReplyHead, engine: TreeEngine
) -> InContexts:
    """Let the head tell whether the contexts answer the question, as the likeliest of their windows does."""
    prompt = inputs.answerable_prompt
    prefix = prompt.prefix(head.item, YesOrNo)
    item = prompt.render_item(head.item, user_input=inputs.response.question)
    parts = windows(engine, prefix, contexts, [item], bare=prompt.render_context(contexts=""))
    probabilities = []
    for part in parts:
        context = prompt.render_context(contexts=part)
        [state] = engine.states_before_replies(prefix, context, [item], YesOrNo, head.layer)
        probabilities.append(head.of(state)["yes"])
    return InContexts(read=max(probabilities), windows=len(parts))


def _short_answer(inputs: AbstentionInputs, contexts: Sequence[str], models: Models) -> InContexts:
    """Write an answer in each window of the contexts, check all against the whole, and return the best.

    An answer is broken into statements as any response is, and is supported as far as its least statement: a
    bare name, or a second half that was made up, would pass too easily.
    """
    answers, number_of_windows = _write_answers(inputs, contexts, models.engine)
    found = []
    for answer in answers:
        texts = _statements_of(answer, inputs, models.engine)
        closest = rank_sentences(texts, context_sentences(contexts), MAX_CLOSEST)
        statements = [Statement(sentence=0, text=text) for text in texts]
        decisions = inputs.decider.decide(contexts, statements, closest, models)
        found.append(
            InContexts(
                answer=answer,
                supported=min(decided.probability for decided in decisions.decided),
                whole=_ask_about(answer, ["whole"], inputs, models.engine)["whole"],
                evidence=closest[0][0] if closest[0] else None,
                windows=number_of_windows,
            )
        )
    none = InContexts(windows=number_of_windows)
    return max(found, key=lambda one: one.supported * one.whole, default=none)


def _statements_of(answer: str, inputs: AbstentionInputs, engine: TreeEngine) -> list[str]:
    """Return the statements of a short answer, which is its own one where none are listed."""
    if inputs.statements_prompt is None:
        return [answer]
    text = inputs.response.model_copy(update={"whole": answer})
    listed = write_statements(text, inputs.statements_prompt, engine)
    return [statement for one in listed for statement in one.statements] or [answer]


def _write_answers(
    inputs: AbstentionInputs, contexts: Sequence[str], engine: TreeEngine
) -> tuple[list[str], int]:
    """Return the answers that the windows of the contexts give, each once, and the number of windows."""
    prompt = inputs.short_answer_prompt
    prefix = prompt.prefix("answer", ShortAnswerReply)
    item = prompt.render_item("answer", user_input=inputs.response.question)
    empty_context = prompt.render_context(contexts="")
    parts = windows(engine, prefix, contexts, [item], bare=empty_context, budget=ANSWER_TOKENS)
    answers: dict[str, None] = {}
    for part in parts:
        [reply] = engine.generate(
            prefix, prompt.render_context(contexts=part), [item], ShortAnswerReply, budget=ANSWER_TOKENS
        )
        answer = one_line(reply.value.answer).strip()
        if not is_no_answer(answer, inputs.response.question):
            answers[answer] = None
    return list(answers), len(parts)


def is_no_answer(answer: str, question: str) -> bool:
    """Return whether the judge wrote that the contexts give no answer.

    >>> is_no_answer("None.", "Who?"), is_no_answer("The documents do not say who.", "Who?")
    (True, True)
    >>> is_no_answer("Ann built it.", "Who built it?")
    False
    """
    bare = answer.strip(" .。").lower()
    words = {
        word for code in ("en", "zh") for word in read_lists("judgements", code)["abstention"]["no_answers"]
    }
    return not has_words(answer) or bare in words or is_refusal(answer, question)


register_judgement(Abstention())
