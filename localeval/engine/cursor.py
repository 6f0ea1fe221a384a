"""One leaf's way through its reply: what to feed next, what the logits decide, how it ends.

A cursor never touches llama.cpp. It says which tokens to feed (`feed`), which ones it guesses behind them
(`guess`) or which continuations to look at (`forks`), and is told the logits behind them; so many cursors
can be decoded together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from pydantic import BaseModel

from localeval.engine.choice import Options
from localeval.engine.grammar import Choice, Plan
from localeval.engine.guess import Copy, Source
from localeval.engine.interface import Reply
from localeval.engine.llama import Logits
from localeval.engine.unfinished import before_repetition, finished

T = TypeVar("T", bound=BaseModel)


class Cursor(Generic[T]):
    """`tokenize` and `pieces` are the model's, `prompt` the leaf's tokens and `branch` those before it.

    See `TreeEngine.generate`.
    """

    def __init__(
        self,
        plan: Plan,
        prompt: list[int],
        branch: Source,
        tokenize: Callable[[bytes], list[int]],
        pieces: dict[int, bytes],
        budget: int,
        temperature: float = 0.0,
        seed: list[int] | None = None,
    ) -> None:
        self._plan, self._tokenize, self._pieces = plan, tokenize, pieces
        self._left, self._temperature = budget, temperature
        if temperature > 0 and seed is None:
            raise ValueError("a reply is drawn at a temperature, but there is no seed for it")
        self._generator = np.random.default_rng(seed)
        self._written = b""
        self._state = plan.automaton.start
        self._options: Options | None = None
        self._probabilities: dict[str, dict[Any, float]] = {}
        self._truncated = ""
        self._decoded = 0
        self.feed: list[int] = prompt
        self.asked = len(prompt)  # tokens of the first `feed` that are no part of a reply
        self.chosen = 0  # tokens of `feed` that the model chose; what else a reply feeds is forced
        self.guess: list[int] = []
        self.kept = 0
        # What is drawn at a temperature is mostly new, and each wrong guess is a row.
        self._copy = Copy(Source(prompt), branch) if temperature <= 0 else None
        self._tokens: list[int] = []
        self.forks: list[list[int]] = []
        self.done = False
        self._go_on()

    def advance(self, logits: Sequence[Logits]) -> None:
        """Go on with the logits behind `feed`, and behind each token of `guess`.

        Sets `kept`, how many tokens of the guess are right, and `feed` with a new `guess`, or `forks`, or
        `done`.
        """
        guess, self.guess, self.kept = self.guess, [], 0
        self._step(logits[0])
        while self.feed == guess[self.kept : self.kept + 1] != [] and self._options is None:
            self.kept += 1
            self._step(logits[self.kept])
        if self._copy is not None and self.feed and self._options is None:
            self.guess = self._copy.guess(self._tokens)[: self._left]

    def _step(self, logits: Logits) -> None:
        self.feed, self.chosen = [], 0
        if self._options is None:
            self._write(logits)
            return
        self._seen: dict[tuple[int, ...], Logits] = {(): logits.copy()}
        self.forks = self._options.forks()
        if not self.forks:
            self._choose()

    def resolve(self, logits: list[Logits]) -> None:
        """Go on with the logits behind each of `forks`."""
        self._seen.update({tuple(path): found for path, found in zip(self.forks, logits, strict=True)})
        self.forks = []
        self._choose()

    def reply(self) -> Reply[T]:
        value = self._plan.schema.model_validate_json(self._written)
        text = self._written.decode()
        return Reply(value, text, self._probabilities, self._truncated, self._decoded)  # type: ignore[arg-type]

    def _go_on(self, pending: bytes = b"") -> None:
        """Feed what is decided (`pending`) or can only follow, up to the next decision.

        The last token before free text is not fed but left to the model, together with what follows it:
        a tokenizer that would write `["` as one token takes a lone `[` for the sign of an empty list.
        """
        automaton = self._plan.automaton
        after = automaton.walk(pending, self._state)
        run, place = automaton.forced(after)
        text = pending + run
        if automaton.final(place):
            self._written += text
            self.feed, self.done = [], True
            return
        choice = self._plan.choices.get(place)
        if choice is not None:
            self._open_choice(choice, text, place)
            return
        tokens = self._tokenize(text) if text else []
        left_to_the_model = 1 if self.feed or len(tokens) > 1 else 0  # something must be fed to have logits
        for token in tokens[: len(tokens) - left_to_the_model]:
            self._take(token)

    def _take(self, token: int) -> None:
        """Feed a token and stand behind it."""
        self._state = self._plan.automaton.next(self._state, token)
        self._written += self._pieces[token]
        self._tokens.append(token)
        self.feed.append(token)

    def _open_choice(self, choice: Choice, text: bytes, place: int) -> None:
        """Feed what all options begin with, token by token; what is left of each is to be compared."""
        self._choice, self._text = choice, text
        automaton = self._plan.automaton
        ways = [text + e + automaton.forced(automaton.walk(e, place))[0] for e in choice.encoded]
        sequences = [self._tokenize(way) for way in ways]
        shared = 0
        while len({tuple(s[: shared + 1]) for s in sequences}) == 1:
            shared += 1
        self.feed += sequences[0][:shared]
        self._fed = b"".join(self._pieces[t] for t in sequences[0][:shared])
        self._options = Options([s[shared:] for s in sequences])

    def _choose(self) -> None:
        assert self._options is not None  # noqa: S101
        shares = self._options.probabilities(self._seen)
        self._probabilities[self._choice.name] = dict(
            zip(self._choice.options, map(float, shares), strict=True)
        )
        best = int(np.argmax(shares))
        if self._temperature > 0:
            best = self._draw(np.log(np.maximum(shares, np.finfo(np.float64).tiny)))
        self._options = None
        self._state = self._plan.automaton.walk(self._fed, self._state)
        self._written += self._fed
        self._go_on((self._text + self._choice.encoded[best])[len(self._fed) :])

    def _write(self, logits: Logits) -> None:
        if self._left <= 0:
            self._cut("budget", finished(self._written))
            return
        self._left -= 1
        self._decoded += 1
        self.chosen = 1
        self._take(self._pick(np.where(self._plan.automaton.mask(self._state), logits, -np.inf)))
        if (kept := before_repetition(self._written)) is not None:
            self._cut("repetition", kept)
        else:
            self._go_on()

    def _pick(self, logits: Logits) -> int:
        if self._temperature <= 0:
            return int(np.argmax(logits))
        return self._draw(logits.astype(np.float64))

    def _draw(self, logits: Any) -> int:
        """The number of one of them. Held against the largest first: near 0 degrees all else vanishes."""
        shares = np.exp((logits - logits.max()) / self._temperature)
        return int(self._generator.choice(len(shares), p=shares / shares.sum()))

    def _cut(self, why: str, kept: bytes) -> None:
        """End the free text here, legally; the next choice is still made, and the reply parses."""
        self._truncated = self._truncated or why
        self._written, self._state = kept, self._plan.automaton.walk(kept)
        self._go_on(self._plan.way_out(self._state))
