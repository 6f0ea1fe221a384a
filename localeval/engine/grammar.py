"""From a pydantic schema to what may be written next: compact JSON under the regular expression of outlines.

It is walked as an automaton over the *bytes* of the vocabulary: over text, partial characters collapse, and
Korean or emoji could not be written. Where only one text can follow (`{"reason":"`), it is *forced*: fed, not
sampled. A `Literal` field is a `Choice`, whose state is known, so that its probabilities can be read there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
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


class Vocabulary:
    """The tokens that may stand in a reply, by their bytes."""

    def __init__(self, pieces: Iterable[tuple[int, bytes]], end_token: int, size: int) -> None:
        self.bytes_of = dict(pieces)
        self.size = size
        by_bytes: dict[bytes, list[int]] = {}
        for token, piece in self.bytes_of.items():
            by_bytes.setdefault(piece, []).append(token)
        self.byte_token = {piece[0]: ids[0] for piece, ids in by_bytes.items() if len(piece) == 1}
        self.core = CoreVocabulary(end_token, by_bytes)


# A value of each JSON type, to walk past its field.
_SMALLEST = {"string": b'""', "array": b"[]", "boolean": b"true", "null": b"null"}


class Automaton:
    """The states that a text can be in under one regular expression. Stateless: a state is a number."""

    def __init__(self, regex: str, vocabulary: Vocabulary) -> None:
        self._index = Index(regex, vocabulary.core)
        self._vocabulary = vocabulary
        self.start = int(self._index.get_initial_state())
        self._masks: dict[int, npt.NDArray[np.bool_]] = {}
        self._forced: dict[int, tuple[bytes, int]] = {}
        self._shortest: dict[tuple[int, frozenset[int]], bytes] = {}

    def next(self, state: int, token: int) -> int:
        """Give the state after `token`, one that is allowed in `state`."""
        return int(self._index.get_next_state(state, token))

    def final(self, state: int) -> bool:
        return bool(self._index.is_final_state(state))

    def mask(self, state: int) -> npt.NDArray[np.bool_]:
        """Give (n_vocab,), True where a token may follow."""
        if state not in self._masks:
            mask = np.zeros(self._vocabulary.size, dtype=np.bool_)
            mask[np.fromiter(self._index.get_allowed_tokens(state), dtype=np.int64)] = True
            self._masks[state] = mask
        return self._masks[state]

    def walk(self, text: bytes, state: int | None = None) -> int:
        """Follow `text` byte by byte, from `state` or the start; give the state behind it."""
        state = self.start if state is None else state
        for byte in text:
            state = self.next(state, self._vocabulary.byte_token[byte])
        return state

    def forced(self, state: int) -> tuple[bytes, int]:
        """Give the bytes that can only follow here, and the state behind them. A final state forces none."""
        if state not in self._forced:
            run, here = b"", state
            while not self.final(here) and len(ways := self._bytes_from(here)) == 1:
                ((byte, here),) = ways.items()
                run += bytes([byte])
            self._forced[state] = run, here
        return self._forced[state]

    def shortest(self, state: int, goals: frozenset[int] = frozenset()) -> bytes:
        """Find the shortest text (smallest bytes among equals) to one of `goals`, or a complete reply."""
        if (state, goals) not in self._shortest:
            seen, edge = {state}, {b"": state}
            while not (done := [t for t, here in edge.items() if here in goals or self.final(here)]):
                edge = {
                    text + bytes([byte]): there
                    for text, here in edge.items()
                    for byte, there in self._bytes_from(here).items()
                    if there not in seen
                }
                seen.update(edge.values())
            self._shortest[state, goals] = min(done)
        return self._shortest[state, goals]

    def _bytes_from(self, state: int) -> dict[int, int]:
        mask = self.mask(state)
        return {b: self.next(state, t) for b, t in sorted(self._vocabulary.byte_token.items()) if mask[t]}


@dataclass(frozen=True)
class Choice:
    """A `Literal` field. `encoded[i]` is option i as JSON, less the beginning that both options share."""

    name: str
    options: tuple[Any, ...]
    encoded: tuple[bytes, ...]


@dataclass(frozen=True)
class CompiledSchema:
    """A schema as an automaton, and the states in which a choice is to be made."""

    schema: type[BaseModel]
    automaton: Automaton
    choices: dict[int, Choice]


def compile_schema(schema: type[BaseModel], vocabulary: Vocabulary) -> CompiledSchema:
    """Compile a schema, in up to 1 s.

    Its fields are required and have no alias; a `Literal` has two options, neither of which begins the other.
    """
    # No optional white space: only so are there runs of forced tokens.
    automaton = Automaton(to_regex(JsonSchema(schema, whitespace_pattern="")), vocabulary)
    described = schema.model_json_schema()["properties"]
    choices: dict[int, Choice] = {}
    text = b"{"
    for name, info in schema.model_fields.items():
        text += json.dumps(name).encode() + b":"
        if get_origin(info.annotation) is Literal:
            options = get_args(info.annotation)
            encoded = [json.dumps(option, ensure_ascii=False).encode() for option in options]
            shared = shared_length(encoded)  # a quote, at least, for strings
            place = automaton.walk(text + encoded[0][:shared])
            choices[place] = Choice(name, options, tuple(e[shared:] for e in encoded))
            text += encoded[0] + b","
        else:
            text += _SMALLEST.get(described[name]["type"], b"0") + b","
    return CompiledSchema(schema, automaton, choices)
