"""From what is asked of an engine to rows and seconds: prompts are counted, replies are estimated.

The constants were chosen on finished judgements by qwen2.5-coder-1.5b with its built-in prompts, on two cores
with AVX-512: statements and verdicts of 60 English and 60 Chinese responses (RAGTruth, RGB, CMRC 2018,
UHGEval, OCNLI), and 812 drawn questions. For sums of 20 of these samples, rows were 0.99 to 1.03 of the
estimate and seconds 0.91 to 1.08; rows of 160 other samples, again 20 by 20, 0.98 to 1.02.
WRONG_GUESSES was chosen later, on 28 English answers: 20 of them took 1.06 of the rows and 0.96 of the time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple, get_origin

from pydantic import BaseModel

from localeval.engine.interface import Spent
from localeval.engine.price import Speed

LIST_SHARE = 0.95
"""Tokens of a reply that is a list, for each token of its leaf."""

TEXT_TOKENS = {"question": 12}
OTHER_TEXT_TOKENS = 40
"""Tokens of a text field of a reply. Reasons and analyses are not fitted: 40 is a guess."""

WRONG_GUESSES = 0.29
"""Wrongly guessed rows for each token written, where nothing is drawn."""

ABOVE_CALLS = 1.06
"""Time of prompt rows over what `Speed.call` tells of them."""


READ_SHARE = 0.58
"""Time of a row that is read through the layers that a head needs, of one through all: 16 of 28 layers."""


class Asked(NamedTuple):
    """One chunk of leaves, decoded together.

    trunk     rows of a trunk that was not computed before
    branch    rows of a branch that does not stand yet
    leaves    rows of the leaves, what they share counted once
    opening   rows of the replies' beginnings that nothing else could follow
    later     the same between the fields of the replies
    schema    of the replies
    sizes     tokens of each leaf's own text
    budgets   tokens that the free fields of each reply may take
    read      rows that are only read
    guesses   whether the engine guesses ahead, as it does where nothing is drawn
    """

    trunk: int
    branch: int
    leaves: int
    opening: int
    later: int
    schema: type[BaseModel]
    sizes: tuple[int, ...]
    budgets: tuple[int, ...]
    guesses: bool = True
    read: int = 0

    def written(self) -> list[float]:
        """Tokens that the model will choose for each leaf, estimated."""
        return [
            min(budget, _tokens(self.schema, size))
            for size, budget in zip(self.sizes, self.budgets, strict=True)
        ]

    def spent(self) -> Spent:
        decoded = sum(self.written())
        wrong = WRONG_GUESSES * decoded if self.guesses else 0
        return Spent(
            trunk=self.trunk,
            branch=self.branch,
            leaves=self.leaves,
            forced=self.opening + self.later,
            decoded=round(decoded),
            guessed=round(wrong),
            read=self.read,
        )

    def seconds(self, speed: Speed) -> float:
        prompt = speed.call(self.branch) + speed.call(self.leaves + self.opening)
        written = _growing(self.written(), speed) + speed.call(self.later)
        read = READ_SHARE * speed.call(self.read)
        return self.trunk_seconds(speed) + ABOVE_CALLS * prompt + written + read

    def trunk_seconds(self, speed: Speed) -> float:
        """What of it a run pays once."""
        return ABOVE_CALLS * speed.call(self.trunk)


def _tokens(schema: type[BaseModel], size: int) -> float:
    total = 0.0
    for name, field in schema.model_fields.items():
        kind = get_origin(field.annotation)
        if kind is list:
            total += LIST_SHARE * size
        elif kind is not Literal:
            total += TEXT_TOKENS.get(name, OTHER_TEXT_TOKENS)
    return total


def _growing(lengths: Iterable[float], speed: Speed) -> float:
    """Seconds in which leaves grow to these lengths, all by a token in each call while they grow.

    What guessing saves in calls is not reckoned: it is little of the whole time.
    """
    total = before = 0.0
    left = sorted(lengths)
    for i, length in enumerate(left):
        total += (length - before) * speed.call(len(left) - i)
        before = length
    return total
