"""Which statements does the response or the reference make?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from localeval.engine.interface import TreeEngine
from localeval.judgements.base import (
    JUDGEMENTS,
    Choices,
    Inputs,
    Judgement,
    Models,
    Record,
    Records,
    register_judgement,
)
from localeval.judgements.decision import Decision, DecisionContext, Kind
from localeval.judgements.duplicates import without_duplicates
from localeval.judgements.judged_text import Column, JudgedText, UnjudgedText
from localeval.judgements.reading import is_read
from localeval.judgements.statement_filter import StatementFilter
from localeval.judgements.statement_filter import StatementsReply as StatementsReply
from localeval.prompts import Prompt, PromptBySha256, PromptForm
from localeval.samples import Sample
from localeval.text.display import one_line


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
        return column_of(judgement)

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


PROMPT = PromptForm("statements", replies={"statements": StatementsReply})


class StatementsInputs(Inputs):
    """The text with its question, and the prompt; None where its sentences are the statements, unasked."""

    text: JudgedText
    prompt: PromptBySha256 | None


class Statements(Judgement[StatementsInputs, StatementsRecord]):
    """Which statements the response or the reference makes."""

    version = "15"
    record = StatementsRecord
    prompts = (PROMPT,)

    def __init__(self, name: str, column: Column) -> None:
        self.name = name
        self.column: Column = column

    def inputs(self, sample: Sample, records: Records, choices: Choices) -> StatementsInputs:  # noqa: ARG002
        text = JudgedText.of(sample, self.column)
        if choices.options.statements == "sentences":
            return StatementsInputs(text=text, prompt=None)
        if self.column == "response" and is_read(sample, choices):
            return StatementsInputs(text=text, prompt=None)
        return StatementsInputs(text=text, prompt=choices.options.prompt(PROMPT.name, text.language))

    def ask(self, inputs: StatementsInputs, models: Models) -> StatementsRecord:
        """Ask for the statements of each claim (see `localeval.claims.account`), and drop repeated ones.

        A sentence is its own statement where the list of the model does not say what it says, and is judged
        as well where the list omits something (see `cut`).
        """
        text = inputs.text
        claims = text.claims
        if inputs.prompt is None:
            lists = [StatementList([one_line(claim.standalone)]) for claim in claims]
        else:
            lists = write_statements(text, inputs.prompt, models.engine)
        unique = without_duplicates(
            [claim.standalone for claim in claims], [listed.statements for listed in lists]
        )
        return StatementsRecord(
            sentences=tuple(
                SentenceStatements(
                    sentence=claim.text,
                    start=claim.start,
                    end=claim.end,
                    statements=statements,
                    cut=listed.cut,
                )
                for claim, statements, listed in zip(claims, unique, lists, strict=True)
            ),
            language=text.language,
            thinking_removed=text.has_thoughts,
            unjudged=text.unjudged,
        )


def column_of(judgement: str) -> Column:
    """Return the sample's field of which a judgement of this name lists the statements."""
    registered = JUDGEMENTS.get(judgement)
    return registered.column if isinstance(registered, Statements) else "response"


class StatementList(NamedTuple):
    """The statements of a sentence, and why they are not as the model wrote them (or "")."""

    statements: Sequence[str]
    cut: str = ""


def write_statements(text: JudgedText, prompt: Prompt, engine: TreeEngine) -> list[StatementList]:
    """Return the statements that the model writes for each sentence of the text."""
    claims = text.claims
    if not claims:
        return []
    # A small model forgets to escape double quotes, and ends its string at one.
    requoted = [one_line(claim.standalone).replace('"', "'") for claim in claims]
    replies = engine.generate(
        prompt.prefix("statements", StatementsReply),
        prompt.render_context(user_input=text.question, response=text.text.replace('"', "'")),
        [prompt.render_item("statements", sentence=sentence) for sentence in requoted],
        StatementsReply,
        # A statement repeats its subject, so together they are longer than the sentence.
        budget=[48 + 2 * engine.count(claim.standalone) for claim in claims],
    )
    statement_filter = StatementFilter([claim.standalone for claim in claims], text.question, text.text)
    return [StatementList(*statement_filter.choose(i, reply)) for i, reply in enumerate(replies)]


register_judgement(Statements("statements", "response"))
register_judgement(Statements("reference_statements", "reference"))
