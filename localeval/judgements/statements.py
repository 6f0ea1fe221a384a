"""Which statements does the response or the reference make?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from localeval.judgements import reading
from localeval.judgements.context import (
    JudgeContext,
    Record,
    UnjudgedText,
    account_of,
    language_of,
    texts_of,
    unjudged_of,
)
from localeval.judgements.decision import Decision, DecisionContext, Kind
from localeval.judgements.duplicates import without_duplicates
from localeval.judgements.statement_filter import StatementFilter
from localeval.judgements.statement_filter import StatementsReply as StatementsReply
from localeval.samples import Sample
from localeval.text.display import one_line
from localeval.text.language import strip_thinking

VERSION = "15"
# Judgement -> the sample's field whose statements it lists.
COLUMNS = {"statements": "response", "reference_statements": "reference"}


class SentenceStatements(Record):
    """One sentence of the text, its offsets there, and the statements that it makes.

    A short heading is one sentence with the sentence below it. A short answer is judged with its question, a
    row of a table with the names of its columns (see `localeval.claims.account.Claim`).

    cut  "" where the statements are as the model wrote them, or why they are not:
         "budget" or "repetition": the list was ended, and what it has by then stands; the sentence itself is
         the statement where it has nothing, and is judged as well where it omits something
         "details": it omits a number, a name or a clause; the sentence itself is judged as well
         "empty": it has no statement; the sentence itself is the only one, as for all that follow
         "strays": it is not about this sentence
         "invented": it has a name, number or subject that neither the text nor the question has
         "negation": a negation was lost or added ("not", "never", "refused")
         "qualifier": a qualifier was lost or added ("only", "at most", "may", "former", "about")
         "exchange": two parties have each other's part, or a name has another's value
    """

    sentence: str
    start: int
    end: int
    statements: tuple[str, ...]
    cut: str = ""


class StatementsRecord(Record):
    """Offsets count in the text; in a response, without its `<think>` blocks, if it had any.

    Every letter and digit of the text is in one of `sentences` or of `unjudged`.
    """

    sentences: tuple[SentenceStatements, ...]
    language: str
    thinking_removed: bool = False
    unjudged: tuple[UnjudgedText, ...] = ()

    decides: ClassVar[Kind] = "statement"

    def column(self, judgement: str) -> str:
        return COLUMNS.get(judgement, "response")

    def flat(self) -> list[tuple[int, str]]:
        """Return (sentence number, statement) pairs in order."""
        return [(i, text) for i, s in enumerate(self.sentences) for text in s.statements]

    def decisions(self, context: DecisionContext) -> tuple[Decision, ...]:
        """List the statements, which are yet to be decided, then what is not judged.

        A sentence that makes no statement of its own, as others make all of them, has one with the text "".
        """
        column = self.column(context.judgement)
        statements = [
            Decision(
                text=text,
                column=column,
                start=sentence.start,
                end=sentence.end,
                sentence=sentence.sentence,
                cut=sentence.cut,
            )
            for sentence in self.sentences
            for text in sentence.statements or ("",)
        ]
        return (*statements, *(stretch.as_decision(column) for stretch in self.unjudged))


@dataclass(frozen=True)
class StatementsTask:
    """The judgement which statements `column`, the response or the reference, makes."""

    column: str

    def key_fields(self, context: JudgeContext, sample: Sample) -> dict[str, Any]:
        if self._are_sentences(context, sample):
            return {"statements": "sentences"}
        language_code = language_of(sample, self.column)
        return {"statements": "llm", "prompt": context.options.prompt("statements", language_code).sha256}

    def _are_sentences(self, context: JudgeContext, sample: Sample) -> bool:
        """Return whether the sentences are the statements: by choice, or because the response is read."""
        if context.options.statements == "sentences":
            return True
        return self.column == "response" and reading.decides(context, sample)

    def ask(self, context: JudgeContext, sample: Sample, _: Mapping[str, Any]) -> StatementsRecord:
        """Ask for the statements of each claim (see `localeval.claims.account`), and drop repeated ones.

        A sentence is its own statement where the list of the model does not say what it says, and is judged
        as well where the list omits something (see `cut`). Where sentences are the statements, no model is
        asked.
        """
        sentences = account_of(sample, self.column).claims
        lists: list[tuple[Sequence[str], str]] = []  # each sentence's statements, and why they were cut
        if self._are_sentences(context, sample):
            lists += (([one_line(s.standalone)], "") for s in sentences)
        else:
            lists += write_statements(context, sample, self.column)
        unique = without_duplicates([s.standalone for s in sentences], (texts for texts, _ in lists))
        return StatementsRecord(
            sentences=tuple(
                SentenceStatements(sentence=s.text, start=s.start, end=s.end, statements=texts, cut=cut)
                for s, texts, (_, cut) in zip(sentences, unique, lists, strict=True)
            ),
            language=language_of(sample, self.column),
            thinking_removed=self.column == "response" and strip_thinking(sample.response or "")[1],
            unjudged=unjudged_of(sample, self.column),
        )


def write_statements(
    context: JudgeContext, sample: Sample, column: str = "response"
) -> list[tuple[Sequence[str], str]]:
    """Return the statements that the model writes for each sentence of `column`, and why they were cut."""
    [text], question = texts_of(sample, column), sample.user_input or ""
    sentences = account_of(sample, column).claims
    if not sentences:
        return []
    prompt = context.options.prompt("statements", language_of(sample, column))
    # A small model forgets to escape double quotes, and ends its string at one.
    requoted = [one_line(s.standalone).replace('"', "'") for s in sentences]
    replies = context.engine.generate(
        prompt.prefix("statements", StatementsReply),
        prompt.render_context(user_input=question, response=text.replace('"', "'")),
        [prompt.render_item("statements", sentence=sentence) for sentence in requoted],
        StatementsReply,
        # A statement repeats its subject, so together they are longer than the sentence.
        budget=[48 + 2 * context.engine.count(s.standalone) for s in sentences],
    )
    statement_filter = StatementFilter([s.standalone for s in sentences], question, text)
    return [statement_filter.choose(i, reply) for i, reply in enumerate(replies)]
