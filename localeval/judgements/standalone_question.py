"""What does the last question of a conversation ask, to somebody who has not read the conversation?

Where a sample has earlier messages, all other judgements about it get this question in place of the one that
was asked. They need no prompt for conversations, and "Yes, in 1820." is judged with a question that names the
mill.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel

from localeval.claims.fidelity import changes_negation
from localeval.claims.foreign_words import foreign_word
from localeval.claims.question_words import content_terms, content_words
from localeval.claims.sources import source_terms, unsupported_numbers
from localeval.claims.tokens import tokens
from localeval.claims.vocabulary import Vocabulary, vocabulary_of
from localeval.judgements.base import Choices, Inputs, Judgement, Models, Record, Records, register_judgement
from localeval.judgements.decision import Decision, DecisionContext
from localeval.prompts import Prompt, PromptBySha256, PromptForm
from localeval.samples import Sample
from localeval.samples.messages import USER
from localeval.text.display import one_line
from localeval.text.language import language
from localeval.text.script import begins_with_han

NAME = "standalone_question"
# Of a long conversation the last messages are shown, and of a long message its beginning.
MAX_MESSAGES = 6
MAX_CHARACTERS = 600
MAX_ADDED_TOKENS = 64

Rejected = Literal["", "empty", "long", "foreign", "lost", "negation"]
# Tokens of a question that says nothing by itself, as "Why?", whose negation may stand in the conversation.
_MAX_ELLIPSIS = 2
_MAX_HAN_ELLIPSIS = 4
_ROLES = {
    "en": {"user": "User: ", "assistant": "Assistant: "},
    "zh": {"user": "用户：", "assistant": "助手："},
}


class StandaloneQuestionRecord(Record):
    """The question that the other judgements get, and what the model wrote.

    rejected  "" where both are the same; else why the question is the last two questions, as they were asked:
              "empty": nothing was written
              "long": it was longer than a question may be
              "foreign": it has a name, a number or most words from neither question nor conversation
              "lost": it lacks a number, a name or most words of the question
              "negation": a negation was lost or added
    """

    question: str
    written: str
    rejected: Rejected = ""

    def decisions(self, context: DecisionContext) -> tuple[Decision, ...]:  # noqa: ARG002 (no threshold)
        """List the question; nothing is decided about it."""
        return (Decision(text=self.question, label="asked in full", column="user_input"),)


class ReplyQuestion(BaseModel):
    question: str


class ShownMessage(Inputs):
    """A message before the question: who wrote it, and its text on one line."""

    role: Literal["user", "assistant"]
    text: str


class StandaloneQuestionInputs(Inputs):
    """The messages that are shown, the question, and the prompt in the question's language."""

    messages: tuple[ShownMessage, ...]
    question: str
    prompt: PromptBySha256
    language: str


PROMPT = PromptForm(NAME, replies={"standalone": ReplyQuestion})


class StandaloneQuestion(Judgement[StandaloneQuestionInputs, StandaloneQuestionRecord]):
    """The last question of a conversation, to be understood without it."""

    name = NAME
    version = "1"
    record = StandaloneQuestionRecord
    prompts = (PROMPT,)

    def inputs(self, sample: Sample, records: Records, choices: Choices) -> StandaloneQuestionInputs:  # noqa: ARG002
        question = one_line(sample.user_input or "")
        messages = shown_messages(sample)
        code = language(question, " ".join(message.text for message in messages))
        return StandaloneQuestionInputs(
            messages=messages,
            question=question,
            prompt=choices.options.prompt(PROMPT.name, code),
            language=code,
        )

    def ask(self, inputs: StandaloneQuestionInputs, models: Models) -> StandaloneQuestionRecord:
        """Let the judge write the question, and take it if it asks the same and adds nothing."""
        prompt = inputs.prompt
        [reply] = models.engine.generate(
            prompt.prefix("standalone", ReplyQuestion),
            prompt.render_context(
                history=_rendered(inputs.messages, inputs.language), user_input=inputs.question
            ),
            [prompt.render_item("standalone")],
            ReplyQuestion,
            # It repeats the question, and adds some names.
            budget=MAX_ADDED_TOKENS + 2 * models.engine.count(inputs.question),
        )
        written = one_line(reply.value.question)
        texts = [message.text for message in inputs.messages]
        examples = content_terms(_example_texts(prompt))
        rejected = "long" if reply.truncated else why_rejected(written, inputs.question, texts, examples)
        question = last_questions(inputs.question, inputs.messages) if rejected else written
        return StandaloneQuestionRecord(question=question, written=written, rejected=rejected)


def shown_messages(sample: Sample) -> tuple[ShownMessage, ...]:
    """Return the last messages before the question, each on one line and cut after `MAX_CHARACTERS`."""
    return tuple(
        ShownMessage(
            role="user" if message.role == USER else "assistant",
            text=one_line(message.text)[:MAX_CHARACTERS],
        )
        for message in sample.earlier_messages()[-MAX_MESSAGES:]
    )


def is_follow_up(sample: Sample) -> bool:
    """Return whether a question was asked after other messages.

    No rule tells surely whether a question can be understood alone ("What does the second one cost?", "When
    was the mill built?"). So each is written anew; one that stands alone stays as it is.
    """
    return bool(sample.user_input and sample.user_input.strip() and sample.earlier_messages())


def with_standalone_question(sample: Sample, record: Record) -> Sample:
    """Return the sample as the other judgements get it."""
    if not isinstance(record, StandaloneQuestionRecord):
        return sample
    return sample.model_copy(update={"user_input": record.question})


def why_rejected(written: str, question: str, messages: Sequence[str], examples: frozenset[str]) -> Rejected:
    """Return why a question can't take the place of the one that was asked; "" where it can.

    examples  `content_terms` of the worked examples, from which a small model may take words

    >>> def why(written): return why_rejected(written, "Was she old?", ["Who was Ann Lee?"], frozenset())
    >>> [why(text) for text in ("Was Ann Lee old?", "Was Bob old?", "Was Ann Lee not old?", "")]
    ['', 'foreign', 'negation', 'empty']
    >>> why_rejected("Who was Ann Lee?", "Did she live in Skell?", ["Who was Ann Lee?"], frozenset())
    'lost'
    """
    if not written:
        return "empty"
    if written == question:
        return ""
    if foreign_word(written, " ".join([*messages, question]), examples):
        return "foreign"
    if _loses(question, written):
        return "lost"
    asked_by_itself = len(tokens(question)) > (
        _MAX_HAN_ELLIPSIS if begins_with_han(question) else _MAX_ELLIPSIS
    )
    if asked_by_itself and changes_negation(question, [written]):
        return "negation"
    return ""


def _example_texts(prompt: Prompt) -> tuple[str, ...]:
    """Return the conversations and questions of the worked examples."""
    conversations = [text for example in prompt.examples for text in example.texts().values()]
    questions = [item["question"] for example in prompt.examples for item in example.items]
    return (*conversations, *questions)


def _loses(question: str, written: str) -> bool:
    """Return whether what was written lacks a number, a name or more than half of the question's words."""
    if unsupported_numbers(question, source_terms([written])):
        return True
    known = vocabulary_of(written)
    words = content_words(question)
    missing = [word for word in words if _is_missing(word, known)]
    has_lost_name = any(word != word.lower() and not question.startswith(word) for word in missing)
    return has_lost_name or 2 * len(missing) > len(words)


def _is_missing(word: str, known: Vocabulary) -> bool:
    if begins_with_han(word):
        return not any(known.covered(word))
    return not known.has(word.lower())


def last_questions(question: str, messages: Sequence[ShownMessage]) -> str:
    """Return the question behind the one that the user asked before, which names what both are about.

    >>> last_questions("Her brother too?", [ShownMessage(role="user", text="Did Ann study?")])
    'Did Ann study? Her brother too?'
    """
    earlier = [message.text for message in messages if message.role == "user"]
    return " ".join([*earlier[-1:], question])


def _rendered(messages: Sequence[ShownMessage], code: str) -> str:
    roles = _ROLES["zh" if code == "zh" else "en"]
    return "\n".join(roles[message.role] + message.text for message in messages)


register_judgement(StandaloneQuestion())
