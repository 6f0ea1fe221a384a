"""Compile a pydantic schema to an automaton for its compact JSON, by the regular expression of outlines.

The automaton walks the *bytes* of the vocabulary: as text, partial characters would collapse, and Korean or
emoji could not be written. Where only one text can follow (`{"reason":"`), it is *forced*: fed, not sampled.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

import numpy as np
import numpy.typing as npt
from outlines.types import JsonSchema
from outlines.types.dsl import to_regex
from outlines_core import Index
from outlines_core import Vocabulary as CoreVocabulary
from pydantic import BaseModel

from localeval.engine.batching import shared_length
from localeval.engine.tokenizer import Tokenizer


class Vocabulary:
    """The tokens that a reply may contain, with their bytes."""

    def __init__(self, model: Tokenizer) -> None:
        self.bytes_of = dict(model.pieces())
        self.size = model.n_vocab
        self.tokenize = model.tokenize
        tokens: dict[bytes, list[int]] = {}
        for token, piece in self.bytes_of.items():
            tokens.setdefault(piece, []).append(token)
        self.byte_token = {piece[0]: ids[0] for piece, ids in tokens.items() if len(piece) == 1}
        self.core = CoreVocabulary(model.end_token(), tokens)


@dataclass(frozen=True)
class Choice:
    """A `Literal` field. `encoded[i]` is option i as JSON, without the beginning that both options share."""

    name: str
    options: tuple[Any, ...]
    encoded: tuple[bytes, ...]


class Grammar:
    """The automaton of a schema's JSON, with its choices by the state in which each is made.

    Callers keep the state, a number. The schema's fields are required and have no alias; each is a text, a
    list, or a `Literal` of two options, neither a prefix of the other.
    """

    def __init__(self, schema: type[BaseModel], vocabulary: Vocabulary) -> None:
        """Compile the schema; this takes up to 1 s."""
        self.schema = schema
        self.vocabulary = vocabulary
        # No optional white space: with it no text would be forced.
        self._index = Index(to_regex(JsonSchema(schema, whitespace_pattern="")), vocabulary.core)
        self.start = int(self._index.get_initial_state())
        # State -> what `mask` and `forced` returned for it.
        self._masks: dict[int, npt.NDArray[np.bool_]] = {}
        self._forced: dict[int, tuple[bytes, int]] = {}
        self.choices = self._find_choices(schema)

    def _find_choices(self, schema: type[BaseModel]) -> dict[int, Choice]:
        """Walk the shortest JSON of the schema, and return the choices by the state in which each is made."""
        choices: dict[int, Choice] = {}
        text = b"{"
        for name, info in schema.model_fields.items():
            text += json.dumps(name).encode() + b":"
            if get_origin(info.annotation) is Literal:
                options = get_args(info.annotation)
                encoded = [json.dumps(option, ensure_ascii=False).encode() for option in options]
                # A quote, at least, for strings.
                shared = shared_length(encoded)
                state = self.walk(text + encoded[0][:shared])
                choices[state] = Choice(name, options, tuple(option[shared:] for option in encoded))
                text += encoded[0] + b","
            elif get_origin(info.annotation) is list:
                text += b"[],"
            else:
                text += b'"",'
        return choices

    def next(self, state: int, token: int) -> int:
        """Return the state after `token`, which must be allowed in `state`."""
        return int(self._index.get_next_state(state, token))

    def final(self, state: int) -> bool:
        return bool(self._index.is_final_state(state))

    def mask(self, state: int) -> npt.NDArray[np.bool_]:
        """Return an array of shape (n_vocab,), True where a token may follow."""
        if state not in self._masks:
            mask = np.zeros(self.vocabulary.size, dtype=np.bool_)
            mask[np.fromiter(self._index.get_allowed_tokens(state), dtype=np.int64)] = True
            self._masks[state] = mask
        return self._masks[state]

    def walk(self, text: bytes, state: int | None = None) -> int:
        """Follow `text` byte by byte, from `state` or the start; return the state after it."""
        state = self.start if state is None else state
        for byte in text:
            state = self.next(state, self.vocabulary.byte_token[byte])
        return state

    def forced(self, state: int) -> tuple[bytes, int]:
        """Return the only bytes that can follow, and the state after them; (b"", state) in a final state."""
        if state not in self._forced:
            text = b""
            current = state
            while not self.final(current):
                successors = self._successors(current)
                if len(successors) != 1:
                    break
                [(byte, current)] = successors.items()
                text += bytes([byte])
            self._forced[state] = text, current
        return self._forced[state]

    def shortest(self, state: int, goals: frozenset[int] = frozenset()) -> bytes:
        """Return the shortest text (smallest bytes among equals) to one of `goals` or to a final state."""
        seen = {state}
        # The texts of one length, and the state after each; a text one byte longer in each round.
        frontier = {b"": state}
        while True:
            complete = [text for text, end in frontier.items() if end in goals or self.final(end)]
            if complete:
                return min(complete)
            longer: dict[bytes, int] = {}
            for text, current in frontier.items():
                for byte, successor in self._successors(current).items():
                    if successor not in seen:
                        longer[text + bytes([byte])] = successor
            frontier = longer
            seen.update(frontier.values())

    def _successors(self, state: int) -> dict[int, int]:
        """Return each byte that may follow, in order, and the state after it."""
        mask = self.mask(state)
        tokens = sorted(self.vocabulary.byte_token.items())
        return {byte: self.next(state, token) for byte, token in tokens if mask[token]}
