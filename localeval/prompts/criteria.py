"""A criterion: a question of a caller's own, which the judge answers about each sample.

It is read from a table of a TOML file, or made in Python. The prompt `criterion.toml` takes any criterion.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ModelWrapValidatorHandler,
    StrictBool,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from localeval.errors import InputError, PromptError
from localeval.prompts.forms import LANGUAGES, is_prompt_text, read_file
from localeval.prompts.template import PLACEHOLDER, Example, Prompt, PromptPrefix, fence
from localeval.system.arguments import describe
from localeval.system.versions import digest
from localeval.text.display import shorten, suggested
from localeval.text.language import language

MIN_LEVELS = 2
MAX_LEVELS = 10
LETTERS = "ABCDEFGHIJ"
"""By which the judge names a level, in the order in which the levels are listed."""

Language = Literal["en", "zh"]
Order = Literal["forward", "reverse"]
ORDERS: tuple[Order, ...] = ("forward", "reverse")
"""Forward: yes before no, or the levels from worst to best. Each question is asked in both orders."""

# The tags between which a column is shown; `fence` disarms all of them in the text. Others are documents.
_TAGS = {
    "user_input": "question",
    "response": "answer",
    "retrieved_contexts": "documents",
    "reference": "reference",
}


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list | tuple) else value


Texts = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]


class Criterion(BaseModel):
    """A question of one's own about a sample, which makes a metric of its name.

    question          asked of each sample; one text, or language ("en", "zh") -> text. "{response}" in it
                      names the place where the judge reads that column
    columns           that the judge is shown: fields of a sample, or other columns of the data
    levels            2 to 10 sentences from worst to best, or language -> sentences; empty for a question of
                      yes or no
    higher_is_better  False where a yes is bad
    examples          worked examples: a text for each column, and `answer`: "yes" or "no", or the number of
                      the level, from 1 (worst) on

    Raises InputError, in one sentence, for what can't be used.

    >>> Criterion(name="polite", question="Is the {response} polite?").columns
    ('user_input', 'response')
    >>> Criterion(name="polite", question="Is it polite?", levels=["Rude."])
    Traceback (most recent call last):
    localeval.errors.InputError: polite: levels has 1 sentence; write 2 to 10, from worst to best.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    question: str | dict[Language, str]
    columns: Texts = ("user_input", "response")
    levels: Texts | dict[Language, Texts] = ()
    higher_is_better: StrictBool = True
    examples: Annotated[tuple[dict[str, Any], ...], BeforeValidator(_as_tuple)] = ()

    if TYPE_CHECKING:  # lists are taken, too

        def __init__(
            self,
            *,
            name: str,
            question: str | Mapping[Language, str],
            columns: Sequence[str] = ...,
            levels: Sequence[str] | Mapping[Language, Sequence[str]] = ...,
            higher_is_better: bool = ...,
            examples: Sequence[Mapping[str, Any]] = ...,
        ) -> None: ...

    @model_validator(mode="wrap")
    @classmethod
    def _say_what_is_wrong(
        cls, data: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        """Check the fields, and raise InputError for the first fault; `info.context` names the file."""
        if isinstance(data, Criterion):
            return handler(data)
        given_name = data.get("name") if isinstance(data, Mapping) else None
        name = str(given_name or "a criterion")
        where = f"{info.context}: {shorten(name)}" if info.context else shorten(name)
        if not isinstance(data, Mapping):
            raise InputError(
                f"{where}: {shorten(repr(data), 60)} is no criterion; give a Criterion, or a TOML file."
            )
        fields = [*cls.model_fields]
        for key in data:
            if key not in fields:
                raise InputError(f"{where}: {shorten(key)} is not known; {suggested(str(key), fields[1:])}")
        if not data.get("question"):
            raise InputError(f'{where}: it has no question; write one, as question = "Is it polite?".')
        try:
            criterion = handler(data)
        except ValidationError as error:
            raise InputError(f"{where}: {describe(error)}.") from None
        for fault in criterion._faults():
            raise InputError(f"{where}: {fault}")
        return criterion

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages in which it can be asked: those of the table, or the one in which the text is."""
        if isinstance(self.question, str):
            return ("zh",) if language(self.question) == "zh" else ("en",)
        return tuple(code for code in LANGUAGES if code in self.question)

    @property
    def is_scale(self) -> bool:
        return bool(self.levels)

    def language_for(self, of_sample: str) -> str:
        """Return the language in which a sample is asked about: its own where the criterion has it."""
        return of_sample if of_sample in self.languages else self.languages[0]

    def question_in(self, code: str) -> str:
        texts: Any = self.question
        return str(texts if isinstance(texts, str) else texts[code]).strip()

    def levels_in(self, code: str) -> tuple[str, ...]:
        """Return the sentences of the levels, from worst to best; empty for a question of yes or no."""
        if isinstance(self.levels, dict):
            levels: Mapping[str, tuple[str, ...]] = self.levels  # type: ignore[assignment]
            return levels[code]
        return self.levels

    def sha256(self) -> str:
        """Return the digest of all fields."""
        return digest(self.model_dump(mode="json"))

    def _faults(self) -> Iterator[str]:
        """Yield a sentence for each fault that the types do not show."""
        yield from self._faults_of_columns()
        yield from self._faults_of_question()
        yield from self._faults_of_levels()
        for number, example in enumerate(self.examples, 1):
            yield from (f"example {number}: {fault}" for fault in self._faults_of_example(example))

    def _faults_of_columns(self) -> Iterator[str]:
        if not self.columns:
            yield 'columns is empty; name what the judge is shown, as columns = ["response"].'
        for column in self.columns:
            if not re.fullmatch(r"\w+", column):
                yield f"the column {shorten(repr(column), 60)} is no word; use letters, digits and _ alone."
        if len(set(self.columns)) < len(self.columns):
            yield "columns names a column twice; keep one."

    def _faults_of_question(self) -> Iterator[str]:
        for code in self.languages:
            if not self.question_in(code):
                yield f"its question ({code}) is empty; write one, or leave the language out."
            for text in (self.question_in(code), *self._listed_levels(code)):
                for column in PLACEHOLDER.findall(text):
                    if column not in self.columns:
                        yield (
                            f"{{{column}}} is none of its columns ({', '.join(self.columns)}); add it to "
                            "columns, or take it out of the text."
                        )

    def _listed_levels(self, code: str) -> Sequence[str]:
        if isinstance(self.levels, dict):
            return dict(self.levels).get(code, ())  # type: ignore[call-overload, no-any-return]
        return self.levels

    def _faults_of_levels(self) -> Iterator[str]:
        if not self.levels:
            return
        if isinstance(self.levels, dict):
            for code in self.languages:
                if code not in self.levels:
                    yield f"levels has none in {code}, in which there is a question; add them."
            if len({len(levels) for levels in self.levels.values()}) > 1:
                yield "levels has other numbers of sentences in the two languages; write as many in each."
        for code in self.languages:
            yield from _faults_of_list(self._listed_levels(code))
        if not self.higher_is_better:
            yield (
                "levels go from worst to best, so that higher is better; leave higher_is_better out, or turn "
                "them round."
            )

    def _faults_of_example(self, example: Mapping[str, Any]) -> Iterator[str]:
        known = [*self.columns, "answer"]
        for name in example:
            if name not in known:
                yield f"{shorten(name)} is not known; {suggested(name, known)}"
        for name in known:
            if name not in example:
                yield f"it has no {name}; add it."
        answers: list[Any] = ["yes", "no"]
        if self.is_scale:
            answers = [*range(1, len(self.levels_in(self.languages[0])) + 1)]
        answer = example.get("answer")
        if isinstance(answer, bool) or answer not in answers:
            choices = f"a number from 1 to {answers[-1]}" if self.is_scale else "yes or no"
            yield f"its answer is {shorten(repr(answer), 40)}; write {choices}."


def _faults_of_list(levels: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each fault of the levels in one language."""
    number = len(levels)
    if not MIN_LEVELS <= number <= MAX_LEVELS:
        sentences = "1 sentence" if number == 1 else f"{number} sentences"
        yield f"levels has {sentences}; write {MIN_LEVELS} to {MAX_LEVELS}, from worst to best."
    if not all(level.strip() for level in levels):
        yield "a level is empty; write a sentence for each."
    if len(set(levels)) < number:
        yield "two levels are the same; write another sentence for each."


def read_criteria(source: str | os.PathLike[str]) -> tuple[Criterion, ...]:
    """Read a TOML file, by its path or its text, that has a table for each criterion.

    Raises InputError, in one sentence, for what can't be used.

    >>> [criterion.name for criterion in read_criteria('[polite]\\nquestion = "Is it polite?"')]
    ['polite']
    """
    if isinstance(source, str) and is_prompt_text(source):
        where = "the given criteria"
        text = source
    else:
        where = shorten(source)
        text = read_file(source, "give a TOML file with a table for each criterion")
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: this is no TOML file ({shorten(error)}); mend it there.") from error
    if not tables:
        raise InputError(f"{where}: it has no criterion; write a table for each, as [polite].")
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise InputError(
                f"{where}: {shorten(name)} stands in no table; write the name of its criterion above it, "
                "as [polite]."
            )
        if "name" in table:
            raise InputError(f"{where}: {shorten(name)}: name is not known; the table's name is the name.")
    return tuple(
        Criterion.model_validate({"name": name, **table}, context=where) for name, table in tables.items()
    )


def as_criteria(value: Any) -> tuple[Criterion, ...]:
    """Return criteria that a caller gives: a `Criterion`, a file of them, or a list of such.

    Raises InputError for anything else, and for two of one name that differ.
    """
    items = value if isinstance(value, list | tuple) else [value]
    by_name: dict[str, Criterion] = {}
    for criterion in _each(items):
        known = by_name.setdefault(criterion.name, criterion)
        if known != criterion:
            raise InputError(f"two criteria have the name {criterion.name}; give each its own.")
    return tuple(by_name.values())


def _each(items: Iterable[Any]) -> Iterator[Criterion]:
    for item in items:
        if isinstance(item, str | os.PathLike):
            yield from read_criteria(item)
        else:
            yield Criterion.model_validate(item)


def criterion_prefix(criterion: Criterion, template: Prompt, code: str) -> PromptPrefix:
    """Return the instruction, the template's examples of this kind of answer, and the criterion's own."""
    turns = [
        turn for example in template.examples for turn in _shipped_turns(example, criterion, template, code)
    ]
    for number, example in enumerate(criterion.examples):
        # They take turns in the order of the answers, so that neither order is learnt.
        order = ORDERS[number % len(ORDERS)]
        turns.append(_turn(criterion, example, example["answer"], order, template, code))
    return PromptPrefix(template.system, tuple(turns))


def _shipped_turns(
    example: Example, criterion: Criterion, template: Prompt, code: str
) -> Iterator[tuple[str, str]]:
    """Yield the turns of an example of the template, if its answers are of the criterion's kind."""
    texts = example.model_extra or {}
    for item in example.items:
        if item.get("order") not in ORDERS:
            raise PromptError(
                f"criterion.toml: an example has the order {shorten(repr(item.get('order')), 40)}; choose "
                f"from: {', '.join(ORDERS)}."
            )
        fields = {key: value for key, value in item.items() if key not in ("answer", "order")}
        own_example = {**texts, "answer": item.get("answer")}
        shown = Criterion.model_validate(
            {"name": "an example", **fields, "columns": [*texts], "examples": [own_example]},
            context="criterion.toml",
        )
        if shown.is_scale == criterion.is_scale:
            yield _turn(shown, texts, item["answer"], item["order"], template, code)


def _turn(
    criterion: Criterion,
    texts: Mapping[str, Any],
    answer: str | int,
    order: Order,
    template: Prompt,
    code: str,
) -> tuple[str, str]:
    """Render a worked example: what the judge is shown and asked, and its answer."""
    shown = [shown_text(texts[column]) for column in criterion.columns]
    user = render_texts(criterion, template, shown) + render_question(criterion, template, code, order)
    if isinstance(answer, str):
        reply = {"verdict": answer}
    else:
        size = len(criterion.levels_in(code))
        reply = {"level": LETTERS[answer - 1 if order == "forward" else size - answer]}
    return user, json.dumps(reply, separators=(",", ":"))


def render_texts(criterion: Criterion, template: Prompt, texts: Sequence[str]) -> str:
    """Return the texts of a sample, in the order of the columns: each fenced, between its tags."""
    blocks = []
    for column, text in zip(criterion.columns, texts, strict=True):
        opening, closing = _tags(column)
        blocks.append(f"{opening}\n{fence(text)}\n{closing}\n")
    return _put(template.context, texts="".join(blocks))


def render_question(criterion: Criterion, template: Prompt, code: str, order: Order) -> str:
    """Return the question, with the answers in this order."""
    question = _with_tags(criterion.question_in(code))
    if not criterion.is_scale:
        return _put(template.items[order], question=question)
    levels = criterion.levels_in(code)
    listed = levels if order == "forward" else levels[::-1]
    lines = [f"{letter}. {_with_tags(level)}" for letter, level in zip(LETTERS, listed, strict=False)]
    return _put(template.items["levels"], question=question, levels="\n".join(lines))


def render_reason_item(criterion: Criterion, template: Prompt, code: str, answer: str) -> str:
    """Return the question for the reason of an answer: "yes", "no" or the sentence of a level."""
    question = _with_tags(criterion.question_in(code))
    return _put(template.items["reason"], question=question, answer=_with_tags(answer))


def _tags(column: str) -> tuple[str, str]:
    """Return the tags before and after the text of a column.

    >>> _tags("response"), _tags("policy")
    (('<answer>', '</answer>'), ('<documents name="policy">', '</documents>'))
    """
    if column in _TAGS:
        return f"<{_TAGS[column]}>", f"</{_TAGS[column]}>"
    return f'<documents name="{column}">', "</documents>"


def _with_tags(text: str) -> str:
    """Replace "{response}" by the tag that stands before that text.

    >>> _with_tags("Is the {response} polite?")
    'Is the <answer> polite?'
    """
    return PLACEHOLDER.sub(lambda match: _tags(match[1])[0], text.strip())


def _put(template: str, **texts: str) -> str:
    """Replace each {name} by a text that is fenced already, or that the criterion says."""
    return PLACEHOLDER.sub(lambda match: texts[match[1]], template)


def shown_text(value: Any) -> str:
    """Return the value of a column as the judge is shown it: a list of texts by its lines.

    >>> shown_text(["Tea grows.", "It rains."]), shown_text({"stars": 4}), shown_text(None)
    ('Tea grows.\\nIt rains.', '{"stars": 4}', '')
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return "\n".join(value)
    return json.dumps(value, ensure_ascii=False)
