"""Does each value of a statement belong to what the statement says it of?

A judge that is asked says yes to the price of another plan, as all words and numbers stand in the contexts.
The same judge finds the statement likelier, as a response, with the value that belongs there. So the
statement is read behind contexts and question, and so is the same statement with another value of the
contexts in place of its own; then their log-likelihoods are compared.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from localeval.claims.anchored_values import anchored_values
from localeval.claims.replaceable_values import CELL, Replaceable, Value, replaceable_values
from localeval.engine.interface import ContextTooLong, TreeEngine
from localeval.fitted.heads import context_text, question_text
from localeval.fitted.logits import sigmoid
from localeval.judgements.base import Record
from localeval.text.sentences import Sentence

MAX_VARIANTS = 1000  # of a response; of 700 real ones none had more than 337
_MARGIN_DECIMALS = 4  # further digits tell nothing


class Binding(Record):
    """How firmly the values of a statement are bound to what the statement says of them.

    value        the value that another one of the contexts comes closest to replacing; "" without any
    alternative  the likeliest other value of the contexts in its place
    margin       log-probability of the statement minus the one with `alternative`; None without any
    in_table     whether `value` is a cell of a table of the contexts, and `alternative` of the same column
    """

    value: str = ""
    alternative: str = ""
    margin: float | None = None
    in_table: bool = False

    @property
    def likelier_value(self) -> str:
        """The other value that the contexts rather say; "" where the judge finds none likelier.

        >>> Binding(value="31", alternative="24", margin=-9.0).likelier_value
        '24'
        """
        return self.alternative if self.margin is not None and self.margin < 0 else ""


def bounded(probability: float, binding: Binding) -> float:
    """Return the probability of support, at most the probability that a table's value belongs there.

    Cells of a column are clean alternatives, so the margin is the logit of a probability. Other values are
    weighed by a fitted calibration.

    >>> bounded(0.9, Binding(value="20", alternative="35", margin=0.0, in_table=True))
    0.5
    >>> bounded(0.9, Binding(value="20", alternative="35", margin=0.0))
    0.9
    """
    if binding.margin is None or not binding.in_table:
        return probability
    return min(probability, sigmoid(binding.margin))


def find_bindings(
    engine: TreeEngine, question: str, contexts: Sequence[str], statements: Sequence[str]
) -> list[Binding]:
    """Return the binding of each statement that can be compared; empty ones for the others, at no cost.

    A statement can be compared if the contexts have alternatives to its values.
    """
    replaceable = [replaceable_values(text, question, contexts) for text in statements]
    return _compared(engine, question, contexts, statements, replaceable)


class Variant(NamedTuple):
    """A response with another value of the contexts in the place of one of its own.

    claim        the index of the claim that has the value
    found        the value, with all that could stand in its place
    alternative  the other value
    text         question and response with it
    """

    claim: int
    found: Replaceable
    alternative: str
    text: str


def variants_of_response(
    question: str, response: str, contexts: Sequence[str], claims: Sequence[Sentence]
) -> list[Variant]:
    """Return the response with each other value of the contexts, one at a time, in place of each of its own.

    Left out are values that tell what a claim is about (see `anchored_values`).
    """
    before = question_text(question)
    item = before + response
    values = [
        (i, len(before) + claim.start, found)
        for i, claim in enumerate(claims)
        for found in anchored_values(claim.text, question, contexts)
    ]
    # Each variant is a text of its own, which bounds the time of a response that is full of values.
    most = max(1, MAX_VARIANTS // max(1, len(values)))
    variants = []
    for i, start, found in values:
        for alternative in found.alternatives[:most]:
            text = _with_other(item, found.value, alternative, start)
            variants.append(Variant(i, found, alternative, text))
    return variants


def bindings_of_claims(variants: Sequence[Variant], margins: Sequence[float], number: int) -> list[Binding]:
    """Return the binding of each of `number` claims: of the variant that comes closest, or an empty one.

    margins  how much likelier the response is than each variant, at the first token in which they differ
    """
    bindings = [Binding() for _ in range(number)]
    for variant, margin in zip(variants, margins, strict=True):
        binding = _binding(variant.found, variant.alternative, margin)
        bindings[variant.claim] = min(bindings[variant.claim], binding, key=_margin)
    return bindings


def _compared(
    engine: TreeEngine,
    question: str,
    contexts: Sequence[str],
    statements: Sequence[str],
    replaceable: Sequence[Sequence[Replaceable]],
) -> list[Binding]:
    """Compare each statement that has values to replace with those that have other values in their place.

    Contexts and statements that do not fit the model's context together give empty bindings.
    """
    bindings = [Binding() for _ in statements]
    places = [i for i, values in enumerate(replaceable) if values]
    if not places:
        return bindings
    items = []
    for i in places:
        items.append(f" {statements[i]}")
        items += _replaced(statements[i], replaceable[i])
    prefix = context_text(contexts) + question_text(question).rstrip()
    try:
        likelihoods = iter(engine.likelihood(prefix, items))
    except ContextTooLong:
        return bindings
    for i in places:
        stated = next(likelihoods)
        found = []
        for item in replaceable[i]:
            for alternative in item.alternatives:
                margin = stated.total - next(likelihoods).total
                found.append(_binding(item, alternative, margin))
        bindings[i] = min(found, key=_margin)
    return bindings


def _binding(found: Replaceable, alternative: str, margin: float) -> Binding:
    return Binding(
        value=found.value.text,
        alternative=alternative,
        margin=round(margin, _MARGIN_DECIMALS),
        in_table=found.value.kind == CELL,
    )


def _with_other(text: str, value: Value, alternative: str, start: int = 0) -> str:
    """Return a text with another value in place of one, whose own sentence begins at `start`."""
    return f"{text[: start + value.start]}{alternative}{text[start + value.end :]}"


def _margin(binding: Binding) -> float:
    return math.inf if binding.margin is None else binding.margin


def _replaced(statement: str, values: Sequence[Replaceable]) -> list[str]:
    """Return the statement with each alternative of each value in its place."""
    return [
        f" {_with_other(statement, item.value, alternative)}"
        for item in values
        for alternative in item.alternatives
    ]
