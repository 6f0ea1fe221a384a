"""Do several responses to one question say the same? Each statement of one is checked against the others.

After SelfCheckGPT (Manakul et al. 2023), by statements: what a model knows it says again, what it makes up it
does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from localeval.claims.evidence import context_sentences, rank_sentences
from localeval.judgements.abstention import told_by_words
from localeval.judgements.base import Choices, Inputs, Judgement, Models, Record, Records, register_judgement
from localeval.judgements.deciders import ASKED_PROMPT, MAX_CLOSEST, REASONED_PROMPT, Asked, Statement
from localeval.judgements.decision import Decision, DecisionContext, Kind
from localeval.judgements.judged_text import JudgedText
from localeval.judgements.statements import PROMPT as STATEMENTS_PROMPT
from localeval.judgements.statements import Statements, StatementsInputs
from localeval.options import Options
from localeval.prompts import PromptBySha256
from localeval.samples import Sample
from localeval.samples.contexts import read_contexts
from localeval.text.language import language
from localeval.text.normalise import normalise
from localeval.text.sentences import has_words
from localeval.text.word_lists import read_lists

MIN_SHARE = 0.5  # of the other responses, from which they support a statement


class ConsistentStatement(Record):
    """A statement of a response, and what the others say of it.

    text_number    number of the text that makes it, among the different texts
    probabilities  for each of the different texts, P(it supports the statement); None where nobody asked
    """

    statement: str
    text_number: int
    probabilities: tuple[float | None, ...]


class ConsistencyRecord(Record):
    """What the responses of a sample say of one another. Equal responses are one text, and so are refusals.

    text_numbers  for each response the number of its text
    refusal       number of the text of all that refuse; None where none does
    refusal_text  what the first of these says
    others        with how many of the others each response is compared
    """

    text_numbers: tuple[int, ...]
    refusal: int | None = None
    refusal_text: str = ""
    statements: tuple[ConsistentStatement, ...] = ()
    others: int
    language: str

    decides: ClassVar[Kind] = "other"

    @property
    def refused(self) -> int:
        """The number of responses that refuse."""
        return sum(number == self.refusal for number in self.text_numbers)

    def by_response(self) -> Iterator[tuple[int, list[tuple[str, list[float]]]]]:
        """Yield for each response that says anything its number, from 1, and its statements, each with P(each
        of the others supports it).

        A refusal counts as one statement, which other refusals support and answers do not.
        """
        for i, number in enumerate(self.text_numbers):
            others = [self.text_numbers[j] for j in compared_with(i, len(self.text_numbers), self.others)]
            if number == self.refusal:
                yield i + 1, [(self.refusal_text, [float(other == number) for other in others])]
                continue
            own = [statement for statement in self.statements if statement.text_number == number]
            if own:
                yield i + 1, [(one.statement, [_probability(one, other) for other in others]) for one in own]

    def decisions(self, context: DecisionContext) -> tuple[Decision, ...]:
        """List each statement of each response, with how many of the others say it."""
        words = read_lists("judgements", "zh" if self.language == "zh" else "en")["consistency"]
        return tuple(
            self._decision(number, text, probabilities, context.threshold, words)
            for number, stated in self.by_response()
            for text, probabilities in stated
            if probabilities
        )

    def _decision(
        self,
        number: int,
        text: str,
        probabilities: Sequence[float],
        threshold: float,
        words: dict[str, str],
    ) -> Decision:
        """Return the decision about a statement of the response with this number."""
        saying = sum(probability >= threshold for probability in probabilities)
        said = words["others"].format(saying=saying, others=len(probabilities))
        if text == self.refusal_text and self.refused:
            said = words["refused"].format(refused=self.refused, responses=len(self.text_numbers))
        return Decision(
            text=text,
            label="said by the others",
            probability=sum(probabilities) / len(probabilities),
            is_yes=is_said(probabilities, threshold),
            threshold=threshold,
            against="responses",
            reason=words["response"].format(number=number, said=said),
        )


def is_said(probabilities: Sequence[float], threshold: float) -> bool:
    """Return whether at least half of the others support a statement.

    >>> is_said([0.9, 0.2], 0.5), is_said([0.9, 0.2, 0.2], 0.5)
    (True, False)
    """
    supporting = sum(probability >= threshold for probability in probabilities)
    return supporting >= MIN_SHARE * len(probabilities)


def _probability(statement: ConsistentStatement, other: int) -> float:
    """Return P(a text supports a statement); a text supports its own."""
    if other == statement.text_number:
        return 1.0
    return statement.probabilities[other] or 0.0


def compared_with(i: int, responses: int, others: int) -> list[int]:
    """Return the responses that response `i` is compared with: those that follow, after the last the first.

    So each is compared with as many, and as many are compared with it.

    >>> compared_with(2, 4, 3), compared_with(2, 4, 1)
    ([3, 0, 1], [3])
    """
    return [(i + step) % responses for step in range(1, others + 1)]


class ConsistencyInputs(Inputs):
    """The responses, each with the question, and what the judge is asked with.

    others              with how many of the others each is compared
    statements_version  of the judgement that lists statements
    statements_prompt   None where sentences are the statements
    """

    responses: tuple[JudgedText, ...]
    others: int
    language: str
    statements_version: str
    statements_prompt: PromptBySha256 | None
    decider: Asked


class Consistency(Judgement[ConsistencyInputs, ConsistencyRecord]):
    """Whether the responses of a sample support each other's statements."""

    name = "consistency"
    version = "2"
    record = ConsistencyRecord
    prompts = (STATEMENTS_PROMPT, ASKED_PROMPT, REASONED_PROMPT)

    def inputs(self, sample: Sample, records: Records, choices: Choices) -> ConsistencyInputs:  # noqa: ARG002
        options = choices.options
        question = sample.user_input or ""
        texts = responses_of(sample)
        code = language("\n".join(texts), question)
        is_reasoned = options.verdict == "reasoned"
        form = REASONED_PROMPT if is_reasoned else ASKED_PROMPT
        asks_for_statements = options.statements == "llm"
        return ConsistencyInputs(
            responses=tuple(JudgedText(whole=text, question=question, column="response") for text in texts),
            others=number_of_others(len(texts), options),
            language=code,
            statements_version=Statements.version,
            statements_prompt=options.prompt(STATEMENTS_PROMPT.name, code) if asks_for_statements else None,
            decider=Asked(prompt=options.prompt(form.name, code), reasoned=is_reasoned, question=None),
        )

    def ask(self, inputs: ConsistencyInputs, models: Models) -> ConsistencyRecord:
        """List the statements of each different text, and ask whether those of each other text support them.

        Nothing is asked about equal texts and refusals.
        """
        texts = _Texts.of(inputs.responses)
        record = ConsistencyRecord(
            text_numbers=texts.numbers,
            refusal=texts.refusal,
            refusal_text="" if texts.refusal is None else texts.different[texts.refusal].text,
            others=inputs.others,
            language=inputs.language,
        )
        if len(texts.different) < 2:
            return record.model_copy(update={"statements": _unasked_statements(texts)})
        said = {
            number: _statements_of(text, inputs, models)
            for number, text in enumerate(texts.different)
            if number != texts.refusal
        }
        pairs = sorted(_pairs_of_texts(texts, inputs.others))
        statements = []
        for number in said:
            others = [other for one, other in pairs if one == number]
            statements += _checked_statements(number, others, said, len(texts.different), inputs, models)
        return record.model_copy(update={"statements": tuple(statements)})


def responses_of(sample: Sample) -> list[str]:
    """Return the column `responses`, and `response` if it is none of these; [] where it is no list.

    >>> responses_of(Sample(responses=["Tea.", "Coffee."], response="Tea."))
    ['Tea.', 'Coffee.']
    >>> responses_of(Sample(responses='["Tea.", "Coffee."]')), responses_of(Sample(responses=7))
    (['Tea.', 'Coffee.'], [])
    """
    try:
        value: Any = read_contexts((sample.model_extra or {}).get("responses")).value
    except ValueError:
        return []
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        return []
    if sample.response is not None and sample.response not in value:
        return [*value, sample.response]
    return list(value)


def number_of_others(responses: int, options: Options) -> int:
    """Return with how many others each response is compared: with all, or so many as `pairs` allows.

    >>> number_of_others(4, Options(pairs=12)), number_of_others(4, Options(pairs=11))
    (3, 2)
    """
    if responses < 2:
        return 0
    return min(responses - 1, max(1, options.pairs // responses))


class _Texts(NamedTuple):
    """The different texts of the responses.

    numbers  for each response the number of its text
    refusal  number of the text that stands for all that refuse; None for none
    """

    different: list[JudgedText]
    numbers: tuple[int, ...]
    refusal: int | None

    @classmethod
    def of(cls, responses: Sequence[JudgedText]) -> _Texts:
        different: list[JudgedText] = []
        number_of: dict[str, int] = {}
        numbers = []
        refusal = None
        for response in responses:
            refuses = _refuses(response)
            # No plain text ends with a line end.
            key = "refusal\n" if refuses else " ".join(normalise(response.text).text.casefold().split())
            if key not in number_of:
                number_of[key] = len(different)
                different.append(response)
            if refuses:
                refusal = number_of[key]
            numbers.append(number_of[key])
        return cls(different, tuple(numbers), refusal)


def _refuses(response: JudgedText) -> bool:
    told = told_by_words(response)
    return told is not None and told.lacks == 1.0


def _pairs_of_texts(texts: _Texts, others: int) -> set[tuple[int, int]]:
    """Return the pairs of different texts, no refusal among them: the second is compared with the first."""
    pairs = set()
    for i, number in enumerate(texts.numbers):
        for j in compared_with(i, len(texts.numbers), others):
            pair = (number, texts.numbers[j])
            if pair[0] != pair[1] and texts.refusal not in pair:
                pairs.add(pair)
    return pairs


def _unasked_statements(texts: _Texts) -> tuple[ConsistentStatement, ...]:
    """Return the sentences of the only text there is, which all responses share."""
    return tuple(
        ConsistentStatement(statement=claim.standalone, text_number=number, probabilities=(1.0,))
        for number, text in enumerate(texts.different)
        if number != texts.refusal
        for claim in text.claims
    )


def _statements_of(text: JudgedText, inputs: ConsistencyInputs, models: Models) -> list[Statement]:
    listed = Statements("statements", "response").ask(
        StatementsInputs(text=text, prompt=inputs.statements_prompt), models
    )
    return [Statement(sentence=i, text=statement) for i, statement in listed.flat()]


def _checked_statements(
    number: int,
    others: Sequence[int],
    said: Mapping[int, Sequence[Statement]],
    texts: int,
    inputs: ConsistencyInputs,
    models: Models,
) -> list[ConsistentStatement]:
    """Return the statements of a text with P(each of the others supports them).

    said   number of a text -> its statements
    texts  number of different texts
    """
    statements = said[number]
    probabilities: list[list[float | None]] = [[None] * texts for _ in statements]
    for other in others:
        for i, probability in enumerate(_support(statements, said[other], inputs, models)):
            probabilities[i][other] = probability
    return [
        ConsistentStatement(statement=statement.text, text_number=number, probabilities=tuple(of_texts))
        for statement, of_texts in zip(statements, probabilities, strict=True)
    ]


def _support(
    statements: Sequence[Statement],
    of_other: Sequence[Statement],
    inputs: ConsistencyInputs,
    models: Models,
) -> list[float]:
    """Return P(what another response states supports each statement).

    Its statements are shown, not its text: "He painted it." and "1820." say nothing without the question.
    """
    if not statements:
        return []
    premise = "\n".join(statement.text for statement in of_other)
    if not has_words(premise):
        return [0.0] * len(statements)
    closest = rank_sentences([one.text for one in statements], context_sentences([premise]), MAX_CLOSEST)
    decisions = inputs.decider.decide([premise], statements, closest, models)
    return [decided.probability for decided in decisions.decided]


register_judgement(Consistency())
