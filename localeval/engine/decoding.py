"""One item's way through its reply: what to feed next, what the logits decide, how it ends."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel

from localeval.engine.batching import shared_length
from localeval.engine.grammar import Choice, CompiledSchema
from localeval.engine.interface import Reply
from localeval.engine.llama import Logits
from localeval.engine.speculation import NgramIndex, draft

T = TypeVar("T", bound=BaseModel)

_JSON_PART = re.compile(rb'"(?:[^"\\]|\\.)*"|["\[\]{}:,]', re.DOTALL)


def option_shares(logits: Logits, tokens: Sequence[int]) -> npt.NDArray[np.float64]:
    """Probabilities of options, each given by the first token that is its own; they sum to 1.

    >>> option_shares(np.log(np.array([3, 9, 1], dtype=np.float32)), [0, 2]).round(6).tolist()
    [0.75, 0.25]
    """
    values = logits[sorted(tokens)].astype(np.float64)
    top = values.max()
    whole = float(np.log(np.exp(values - top).sum()))
    shares = np.exp(np.array([float(logits[token]) - top - whole for token in tokens]))
    return np.asarray(shares / shares.sum())


class ReplyDecoder(Generic[T]):
    """Decides one reply. It never touches llama.cpp, so that many can be decoded together.

    Decode `feed` behind the item, and `draft` behind that, and give `advance` the logits, until `done`.

    feed    tokens that are decided, at first those of the item's prompt
    asked   how many tokens of the first `feed` are no part of a reply
    chosen  how many tokens of `feed` the model chose; what else a reply feeds is forced
    draft   tokens that are guessed behind `feed`
    kept    how many tokens of the last draft were right
    """

    def __init__(
        self,
        schema: CompiledSchema,
        prompt: list[int],
        context: NgramIndex,
        tokenize: Callable[[bytes], list[int]],
        pieces: dict[int, bytes],
        budget: int,
        temperature: float = 0.0,
        seed: list[int] | None = None,
    ) -> None:
        """`tokenize` and `pieces` are the model's; for the rest see `TreeEngine.generate`."""
        if temperature > 0 and seed is None:
            raise ValueError("a reply is drawn at a temperature, but there is no seed for it")
        self._schema, self._tokenize, self._pieces = schema, tokenize, pieces
        self._prompt, self._context = NgramIndex(prompt), context
        self._left, self._temperature = budget, temperature
        self._generator = np.random.default_rng(seed)
        self._written, self._tokens = b"", list[int]()
        self._state = schema.automaton.start
        self._choice: Choice | None = None  # while one is open
        self._probabilities: dict[str, dict[Any, float]] = {}
        self._truncated, self._decoded = "", 0
        self.feed, self.asked, self.chosen = prompt, len(prompt), 0
        self.draft: list[int] = []
        self.kept = 0
        self.done = False
        self._go_on()

    def advance(self, logits: Sequence[Logits]) -> None:
        """Go on with the logits behind `feed`, and behind each token of `draft`."""
        drafted, self.draft, self.kept = self.draft, [], 0
        self._step(logits[0])
        while self.feed == drafted[self.kept : self.kept + 1] != [] and self._choice is None:
            self.kept += 1
            self._step(logits[self.kept])
        # What is drawn at a temperature is mostly new, and each wrong draft is a token more.
        if self._temperature <= 0 and self.feed and self._choice is None:
            self.draft = draft(self._tokens, self._prompt, self._context)[: self._left]

    def reply(self) -> Reply[T]:
        value = self._schema.schema.model_validate_json(self._written)
        text = self._written.decode()
        return Reply(value, text, self._probabilities, self._truncated, self._decoded)  # type: ignore[arg-type]

    def _step(self, logits: Logits) -> None:
        """Decide a choice, or a token of free text; where the budget or the list is at its end, close it."""
        self.feed, self.chosen = [], 0
        if self._choice is not None:
            choice, self._choice = self._choice, None
            shares = option_shares(logits, self._parting)
            self._probabilities[choice.name] = dict(zip(choice.options, map(float, shares), strict=True))
            best = int(np.argmax(shares))
            if self._temperature > 0:
                best = self._draw(np.log(np.maximum(shares, np.finfo(np.float64).tiny)))
            self._state = self._schema.automaton.walk(self._fed, self._state)
            self._written += self._fed
            self._go_on((self._text + choice.encoded[best])[len(self._fed) :])
            return
        if self._left <= 0:
            self._cut("budget", trim_incomplete(self._written))
            return
        self._left -= 1
        self._decoded += 1
        self.chosen = 1
        allowed = np.where(self._schema.automaton.mask(self._state), logits, -np.inf)
        drawn = self._temperature > 0
        self._take(self._draw(allowed.astype(np.float64)) if drawn else int(np.argmax(allowed)))
        if (kept := trim_repetition(self._written)) is not None:
            self._cut("repetition", kept)
        else:
            self._go_on()

    def _go_on(self, pending: bytes = b"") -> None:
        """Feed what is decided (`pending`) or can only follow, up to the next decision.

        The last token before free text is not fed but left to the model, together with what follows it:
        a tokenizer that would write `["` as one token takes a lone `[` for the sign of an empty list.
        """
        automaton = self._schema.automaton
        run, place = automaton.forced(automaton.walk(pending, self._state))
        text = pending + run
        if automaton.final(place):
            self._written += text
            self.feed, self.done = [], True
            return
        self._choice = self._schema.choices.get(place)
        if self._choice is None:
            tokens = self._tokenize(text) if text else []
            left_to_the_model = 1 if self.feed or len(tokens) > 1 else 0  # no logits without a token fed
            for token in tokens[: len(tokens) - left_to_the_model]:
                self._take(token)
            return
        # Feed what both options begin with, token by token; they are compared where they part.
        encoded = self._choice.encoded
        ways = [self._tokenize(text + e + automaton.forced(automaton.walk(e, place))[0]) for e in encoded]
        parting = shared_length(ways)
        shared, self._parting = ways[0][:parting], [way[parting] for way in ways]
        self.feed += shared
        self._text, self._fed = text, b"".join(self._pieces[token] for token in shared)

    def _take(self, token: int) -> None:
        """Feed a token and stand behind it."""
        self._state = self._schema.automaton.next(self._state, token)
        self._written += self._pieces[token]
        self._tokens.append(token)
        self.feed.append(token)

    def _draw(self, logits: Any) -> int:
        """Draw one of their numbers. Held against the largest first: near 0 degrees all else vanishes."""
        shares = np.exp((logits - logits.max()) / self._temperature)
        return int(self._generator.choice(len(shares), p=shares / shares.sum()))

    def _cut(self, why: str, kept: bytes) -> None:
        """End the free text here, legally; the next choice is still made, and the reply parses."""
        self._truncated = self._truncated or why
        self._written, self._state = kept, self._schema.automaton.walk(kept)
        self._go_on(self._schema.automaton.shortest(self._state, frozenset(self._schema.choices)))


def trim_incomplete(text: bytes) -> bytes:
    """Drop what is unfinished at the end: half a character or escape, an open item of a list.

    An open string that is a field's value is kept as far as it goes.

    >>> trim_incomplete(b'{"s":["a","b')
    b'{"s":["a"'
    >>> trim_incomplete(b'{"reason":"half a wo')
    b'{"reason":"half a wo'
    """
    text = text.decode("utf-8", "ignore").encode()
    lists, last = _scan(text)
    opened = text.find(b'"', last)
    if opened < 0:
        return text
    if lists and text[:opened].endswith((b"[", b",")):
        return text[:opened].rstrip(b",")
    backslashes = len(text) - len(text.rstrip(b"\\"))
    return text[:-1] if backslashes % 2 else text


def trim_repetition(text: bytes) -> bytes | None:
    """Drop the last item of an open list, when it stood in the list before; else None.

    >>> trim_repetition(b'{"s":["a","b","a"')
    b'{"s":["a","b"'
    >>> trim_repetition(b'{"s":["a","b"') is None
    True
    """
    lists, _ = _scan(text)
    seen: set[bytes] = set()
    for start, end in lists[-1] if lists else ():
        item = text[start:end].lower()
        if item in seen:
            return text[:start].rstrip(b",")
        seen.add(item)
    return None


def _scan(text: bytes) -> tuple[list[list[tuple[int, int]]], int]:
    """Give (finished strings of each list that is still open, outermost first; where the last part ends)."""
    lists: list[list[tuple[int, int]]] = []
    last = 0
    for match in _JSON_PART.finditer(text):
        part = match.group()
        if part == b'"':  # an open string: what is in it is text
            break
        last = match.end()
        if part == b"[":
            lists.append([])
        elif part == b"]":
            lists.pop()
        elif part.startswith(b'"') and lists and text[: match.start()].endswith((b"[", b",")):
            lists[-1].append(match.span())
    return lists, last
