"""A response or a reference as it is judged, as inputs of several judgements have it."""

from __future__ import annotations

from typing import Literal

from localeval.claims.account import Account, Claim, account
from localeval.judgements.base import Inputs
from localeval.judgements.context import UnjudgedText
from localeval.samples import Sample
from localeval.text.language import language
from localeval.text.thoughts import find_thoughts, strip_thinking

Column = Literal["response", "reference"]


class JudgedText(Inputs):
    """A response or a reference, beside the question. A response is judged without `<think>...</think>`.

    whole  the text as the sample has it, "" where it has none
    """

    whole: str
    question: str
    column: Column

    @classmethod
    def of(cls, sample: Sample, column: Column = "response") -> JudgedText:
        """Take the text and the question of a sample."""
        whole = sample.response if column == "response" else sample.reference
        return cls(whole=whole or "", question=sample.user_input or "", column=column)

    @property
    def text(self) -> str:
        """The text as it is judged."""
        return strip_thinking(self.whole)[0] if self.column == "response" else self.whole

    @property
    def has_thoughts(self) -> bool:
        """Whether thoughts were removed from it."""
        return self.column == "response" and strip_thinking(self.whole)[1]

    @property
    def language(self) -> str:
        """The language in which it is judged: "zh", "en" or "other"."""
        return language(self.text, self.question)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The sentences that are judged."""
        return self._account.claims

    @property
    def unjudged(self) -> tuple[UnjudgedText, ...]:
        """What is not judged: its thoughts, then the rest in order."""
        whole = self.whole if self.column == "response" else ""
        thoughts = [
            UnjudgedText(text=whole[start:end], start=start, end=end, reason="thought")
            for start, end in find_thoughts(whole)
        ]
        rest = [UnjudgedText(**stretch._asdict()) for stretch in self._account.unjudged]
        return (*thoughts, *rest)

    @property
    def _account(self) -> Account:
        return account(self.text, self.question)
