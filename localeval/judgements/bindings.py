"""Does each value of a statement belong to what the statement says it of?

A judge that is asked says yes to the price of another plan, as all words and numbers stand in the contexts.
The same judge finds the statement likelier, as a response, with the value that belongs there. So the
statement is read behind contexts and question, and two margins of log-probabilities are taken: of the whole
statement over the same one with another value of the contexts, and of each copied word over any other word of
the contexts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from localeval.engine.interface import ContextTooLong, Likelihood, TreeEngine
from localeval.judgements.context import Record
from localeval.judgements.heads import context_text, question_text, sigmoid
from localeval.text.language import script
from localeval.text.sentences import has_words
from localeval.text.values import CELL, Replaceable, replaceable_values

_DECIMALS = 4  # of a margin; further digits tell nothing


class Binding(Record):
    """How firmly a statement's words and values are bound to what the statement says of them.

    copied       the least margin of a word that the contexts have and the question has not: its
                 log-probability minus the one of the likeliest other word of the contexts; None without such
                 a word
    value        the value that another one of the contexts comes closest to replacing; "" without any
    alternative  the likeliest other value of the contexts in its place
    margin       log-probability of the statement minus the one with `alternative`; None without any
    in_table     whether `value` is a cell of a table of the contexts, and `alternative` of the same column
    """

    copied: float | None = None
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
    """Return the probability of support, at most that of a table's value being the one that belongs there.

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

    A statement is compared if the contexts have alternatives to its values. A Chinese one is compared in any
    case, by its copied words: no capitals tell its names.
    """
    replaceable = [replaceable_values(text, question, contexts) for text in statements]
    places = [i for i, text in enumerate(statements) if replaceable[i] or script(text) == "han"]
    return _compared(engine, question, contexts, statements, replaceable, places)


def find_table_bindings(
    engine: TreeEngine, question: str, contexts: Sequence[str], statements: Sequence[str]
) -> list[Binding]:
    """Return the binding of each statement with a value of a table; empty ones for the others, at no cost."""
    replaceable = [
        [item for item in replaceable_values(text, question, contexts) if item.value.kind == CELL]
        for text in statements
    ]
    places = [i for i, values in enumerate(replaceable) if values]
    return _compared(engine, question, contexts, statements, replaceable, places)


def _compared(
    engine: TreeEngine,
    question: str,
    contexts: Sequence[str],
    statements: Sequence[str],
    replaceable: Sequence[Sequence[Replaceable]],
    places: Sequence[int],
) -> list[Binding]:
    """Compare the statements at `places` with those that have other values in place of their own.

    Contexts and statements that do not fit the model's context together give empty bindings.
    """
    bindings = [Binding() for _ in statements]
    items = [
        item for i in places for item in [f" {statements[i]}", *_replaced(statements[i], replaceable[i])]
    ]
    if not items:
        return bindings
    prefix = context_text(contexts) + question_text(question).rstrip()
    try:
        likelihoods = iter(engine.likelihood(prefix, items))
    except ContextTooLong:
        return bindings
    joined = "\n".join(contexts)
    for i in places:
        stated = next(likelihoods)
        copied = _copied_margin(f" {statements[i]}", stated, question, joined)
        found = [
            Binding(
                copied=copied,
                value=item.value.text,
                alternative=alternative,
                margin=round(stated.total - next(likelihoods).total, _DECIMALS),
                in_table=item.value.kind == CELL,
            )
            for item in replaceable[i]
            for alternative in item.alternatives
        ]
        bindings[i] = min(found, key=_margin, default=Binding(copied=copied))
    return bindings


def _margin(binding: Binding) -> float:
    return math.inf if binding.margin is None else binding.margin


def _replaced(statement: str, values: Sequence[Replaceable]) -> list[str]:
    """Return the statement with each alternative of each value in its place."""
    return [
        f" {statement[: item.value.start]}{alternative}{statement[item.value.end :]}"
        for item in values
        for alternative in item.alternatives
    ]


def _copied_margin(item: str, likelihood: Likelihood, question: str, contexts: str) -> float | None:
    """Return the least margin of the tokens of `item` that stand in the contexts and not in the question."""
    data = item.encode("utf-8", "replace")
    margins: list[float] = []
    start = 0
    for token, best, end in zip(*likelihood, strict=True):
        piece = data[start:end].decode("utf-8", "ignore").strip()
        start = end
        if has_words(piece) and piece in contexts and piece not in question and best > -math.inf:
            margins.append(token - best)
    return round(min(margins), _DECIMALS) if margins else None
