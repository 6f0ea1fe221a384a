"""Decode the reply to one item: what to feed next, what the logits decide, where it ends."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel

from localeval.engine.batching import shared_length
from localeval.engine.grammar import Choice, Grammar
from localeval.engine.interface import Reply
from localeval.engine.llama import Logits
from localeval.engine.speculation import NgramIndex, draft

T = TypeVar("T", bound=BaseModel)

_JSON_PART = re.compile(rb'"(?:[^"\\]|\\.)*"|["\[\]{}:,]', re.DOTALL)


def option_shares(logits: Logits, tokens: Sequence[int]) -> npt.NDArray[np.float64]:
    """Return the probabilities of options, each given by the first token that only it has; they sum to 1.

    >>> option_shares(np.log(np.array([3, 9, 1], dtype=np.float32)), [0, 2]).round(6).tolist()
    [0.75, 0.25]
    """
    values = logits[sorted(tokens)].astype(np.float64)
    top = values.max()
    log_sum = float(np.log(np.exp(values - top).sum()))
    shares = np.exp(np.array([float(logits[token]) - top - log_sum for token in tokens]))
    return np.asarray(shares / shares.sum())


def option_mass(logits: Logits, tokens: Sequence[int]) -> float:
    """Return the probability of `tokens` together among all, to four decimals.

    >>> option_mass(np.log(np.array([3, 9, 4], dtype=np.float32)), [0, 2, 0])
    0.4375
    """
    shares = np.exp(logits - logits.max())
    mass = shares[sorted(set(tokens))].sum(dtype=np.float64) / shares.sum(dtype=np.float64)
    return round(min(1.0, float(mass)), 4)


@dataclass(frozen=True)
class _OpenChoice:
    """A choice that the next logits decide.

    before         the text before the options, which is not all fed
    fed            what is fed of `before` and of the beginning that the options share
    option_tokens  the first token after `fed`, for each option
    """

    field: Choice
    before: bytes
    fed: bytes
    option_tokens: list[int]


class ReplyDecoder(Generic[T]):
    """Decodes one reply. It never calls llama.cpp, so that many replies can be decoded together.

    Until `done`, decode `feed` after the tokens so far and `draft` after that, then call `advance`.

    feed    tokens that are decided, at first the tokens of the item's prompt
    asked   number of tokens of the first `feed` that are prompt, not reply
    chosen  number of tokens of `feed` that the model chose; the others of a reply are forced
    draft   tokens guessed to follow `feed`
    kept    number of tokens of the last draft that were right
    """

    def __init__(
        self,
        grammar: Grammar,
        prompt: list[int],
        context: NgramIndex,
        budget: int,
        temperature: float = 0.0,
        seed: list[int] | None = None,
    ) -> None:
        """`context` is searched for drafts; for the others see `TreeEngine.generate`."""
        if temperature > 0 and seed is None:
            raise ValueError(f"temperature is {temperature}, but there is no seed to sample this reply with")
        self._grammar = grammar
        self._vocabulary = grammar.vocabulary
        self._prompt = NgramIndex(prompt)
        self._context = context
        self._budget_left = budget
        self._temperature = temperature
        self._generator = np.random.default_rng(seed)
        self._written = b""
        self._tokens: list[int] = []
        self._state = grammar.start
        self._choice: _OpenChoice | None = None
        self._probabilities: dict[str, dict[Any, float]] = {}
        self._mass: dict[str, float] = {}
        self._truncated = ""
        self._decoded = 0
        self.feed = prompt
        self.asked = len(prompt)
        self.chosen = 0
        self.draft: list[int] = []
        self.kept = 0
        self.done = False
        self._feed_forced()

    def advance(self, logits: Sequence[Logits]) -> None:
        """Continue with the logits after `feed`, and after each token of `draft`."""
        drafted = self.draft
        self.draft = []
        self.kept = 0
        self._step(logits[0])
        while self._choice is None and self._is_drafted(drafted):
            self.kept += 1
            self._step(logits[self.kept])
        # Sampled text is mostly new, and each wrong draft costs a token.
        if self._temperature <= 0 and self.feed and self._choice is None:
            self.draft = draft(self._tokens, self._prompt, self._context)[: self._budget_left]

    def _is_drafted(self, drafted: Sequence[int]) -> bool:
        """Return whether `feed` is one token, and the next one of the draft."""
        return self.kept < len(drafted) and self.feed == [drafted[self.kept]]

    def reply(self) -> Reply[T]:
        value = self._grammar.schema.model_validate_json(self._written)
        text = self._written.decode()
        return Reply(
            value,  # type: ignore[arg-type]
            text,
            self._probabilities,
            self._truncated,
            self._decoded,
            self._mass,
        )

    def _step(self, logits: Logits) -> None:
        """Decide a choice, or a token of free text; end free text that is over budget or repeats itself."""
        self.feed = []
        self.chosen = 0
        if self._choice is not None:
            choice = self._choice
            self._choice = None
            self._decide(choice, logits)
        elif self._budget_left <= 0:
            self._truncate("budget", trim_incomplete(self._written))
        else:
            self._write_token(logits)

    def _decide(self, choice: _OpenChoice, logits: Logits) -> None:
        """Decide a choice, and feed what follows of the option."""
        shares = option_shares(logits, choice.option_tokens)
        name = choice.field.name
        self._probabilities[name] = dict(zip(choice.field.options, map(float, shares), strict=True))
        self._mass[name] = option_mass(logits, choice.option_tokens)
        best = int(np.argmax(shares))
        if self._temperature > 0:
            logs = np.log(np.maximum(shares, np.finfo(np.float64).tiny))
            best = sample(logs, self._temperature, self._generator)
        self._state = self._grammar.walk(choice.fed, self._state)
        self._written += choice.fed
        option = choice.before + choice.field.encoded[best]
        self._feed_forced(option[len(choice.fed) :])

    def _write_token(self, logits: Logits) -> None:
        """Choose the next token of free text."""
        self._budget_left -= 1
        self._decoded += 1
        self.chosen = 1
        allowed = np.where(self._grammar.mask(self._state), logits, -np.inf)
        if self._temperature > 0:
            self._append(sample(allowed.astype(np.float64), self._temperature, self._generator))
        else:
            self._append(int(np.argmax(allowed)))
        trimmed = trim_repetition(self._written)
        if trimmed is None:
            self._feed_forced()
        else:
            self._truncate("repetition", trimmed)

    def _feed_forced(self, pending: bytes = b"") -> None:
        """Feed the text that is decided (`pending`) or forced, up to the next decision."""
        forced, state = self._grammar.forced(self._grammar.walk(pending, self._state))
        text = pending + forced
        field = self._grammar.choices.get(state)
        if self._grammar.final(state):
            self._written += text
            self.feed = []
            self.done = True
        elif field is None:
            self._feed_before_text(text)
        else:
            self._feed_before_choice(text, field, state)

    def _feed_before_text(self, text: bytes) -> None:
        """Feed `text` but for its last token, before free text.

        That token is left to the model, together with what follows it: where a tokenizer has `["` as one
        token, the model reads a lone `[` as the beginning of an empty list.
        """
        tokens = self._vocabulary.tokenize(text) if text else []
        # Some token must be fed, for its logits.
        if self.feed or len(tokens) > 1:
            tokens = tokens[:-1]
        for token in tokens:
            self._append(token)

    def _feed_before_choice(self, text: bytes, field: Choice, state: int) -> None:
        """Feed the tokens that both options share, to compare the options at the first token that differs.

        text   what stands before the options
        state  the one after it
        """
        closed = [self._closed(option, state) for option in field.encoded]
        options = [self._vocabulary.tokenize(text + option) for option in closed]
        n = shared_length(options)
        shared = options[0][:n]
        self.feed += shared
        self._choice = _OpenChoice(
            field=field,
            before=text,
            fed=b"".join(self._vocabulary.bytes_of[token] for token in shared),
            option_tokens=[tokens[n] for tokens in options],
        )

    def _closed(self, option: bytes, state: int) -> bytes:
        """Return an option with the text that is forced after it."""
        forced, _ = self._grammar.forced(self._grammar.walk(option, state))
        return option + forced

    def _append(self, token: int) -> None:
        self._state = self._grammar.next(self._state, token)
        self._written += self._vocabulary.bytes_of[token]
        self._tokens.append(token)
        self.feed.append(token)

    def _truncate(self, reason: str, text: bytes) -> None:
        """End the free text of `text` as soon as the grammar allows; a choice after it is still decided."""
        self._truncated = self._truncated or reason
        self._written = text
        self._state = self._grammar.walk(text)
        self._feed_forced(self._grammar.shortest(self._state, frozenset(self._grammar.choices)))


def sample(logits: npt.NDArray[np.float64], temperature: float, generator: np.random.Generator) -> int:
    """Sample an index by softmax at the temperature; subtracting the largest logit keeps exp finite.

    >>> logits, generator = np.log([0.1, 0.9]) + 1000, np.random.default_rng(1)
    >>> 720 < sum(sample(logits, 2.0, generator) for _ in range(1000)) < 780  # the roots are as 1 to 3
    True
    """
    shares = np.exp((logits - logits.max()) / temperature)
    return int(generator.choice(len(shares), p=shares / shares.sum()))


def trim_incomplete(text: bytes) -> bytes:
    """Remove what is incomplete at the end: half a character or escape, an open item of a list.

    An open string that is a field's value is kept as it is.

    >>> trim_incomplete(b'{"s":["a","b')
    b'{"s":["a"'
    >>> trim_incomplete(b'{"reason":"half a wo')
    b'{"reason":"half a wo'
    >>> trim_incomplete(b'{"reason":"so\\\\'), trim_incomplete(b'{"reason":"so\\\\\\\\')
    (b'{"reason":"so', b'{"reason":"so\\\\\\\\')
    """
    text = text.decode("utf-8", "ignore").encode()
    lists, last = _scan(text)
    quote = text.find(b'"', last)
    if quote < 0:
        return text
    if lists and text[:quote].endswith((b"[", b",")):
        return text[:quote].rstrip(b",")
    backslashes = len(text) - len(text.rstrip(b"\\"))
    return text[:-1] if backslashes % 2 else text


def trim_repetition(text: bytes) -> bytes | None:
    """Remove the last item of an open list if the list already has it; otherwise return None.

    >>> trim_repetition(b'{"s":["a","b","a"')
    b'{"s":["a","b"'
    >>> trim_repetition(b'{"s":["\\\\"a","b","\\\\"A"'), trim_repetition(b'{"p":[{"v":"a","w":["x","x"')
    (b'{"s":["\\\\"a","b"', b'{"p":[{"v":"a","w":["x"')
    >>> trim_repetition(b'{"s":["a","b"'), trim_repetition(b'{"reason":"[\\\\"a\\\\",\\\\"a\\\\"')
    (None, None)
    """
    lists, _ = _scan(text)
    if not lists:
        return None
    seen: set[bytes] = set()
    for start, end in lists[-1]:
        item = text[start:end].lower()
        if item in seen:
            return text[:start].rstrip(b",")
        seen.add(item)
    return None


def _scan(text: bytes) -> tuple[list[list[tuple[int, int]]], int]:
    """Return (spans of complete strings in each open list, outermost first; end of the last JSON part)."""
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
        elif part.startswith(b'"') and lists:
            is_item = text[: match.start()].endswith((b"[", b","))
            if is_item:
                lists[-1].append(match.span())
    return lists, last
