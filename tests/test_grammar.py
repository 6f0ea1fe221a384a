"""The constraint: what may follow, what can only follow, and how a cut reply is closed."""

from __future__ import annotations

import re
from typing import Literal

import numpy as np
import pytest
from outlines.types import JsonSchema
from outlines.types.dsl import to_regex
from pydantic import BaseModel

from localeval.engine.choice import Options
from localeval.engine.grammar import Grammar
from localeval.engine.tree import Engine
from localeval.engine.unfinished import before_repetition, finished


class Mixed(BaseModel):
    reason: str
    verdict: Literal["not mentioned", "not supported", "supported"]
    items: list[str]
    more: Literal[1, 2]


@pytest.fixture
def grammar(tiny: Engine) -> Grammar:
    return tiny._grammar


def test_the_beginning_of_a_reply_is_forced(grammar: Grammar) -> None:
    automaton = grammar.plan(Mixed).automaton
    assert automaton.forced(automaton.start)[0] == b'{"reason":"'


def test_every_literal_has_its_place_in_the_automaton(grammar: Grammar) -> None:
    plan = grammar.plan(Mixed)
    place = plan.automaton.walk(b'{"reason":"\\"verdict\\":\xe5\x9b\xa0","verdict":"')
    assert plan.choices[place].options == ("not mentioned", "not supported", "supported")
    assert plan.choices[
        plan.automaton.walk(b'{"reason":"","verdict":"supported","items":["a"],"more":')
    ].options == (1, 2)
    assert len(plan.choices) == 2


def test_the_shortest_way_out_of_any_beginning_is_legal(grammar: Grammar) -> None:
    plan = grammar.plan(Mixed)
    whole = '{"reason":"因为 \\" so","verdict":"supported","items":["a","b"],"more":2}'.encode()
    regex = re.compile(to_regex(JsonSchema(Mixed, whitespace_pattern="")))
    assert regex.fullmatch(whole.decode())
    for end in range(len(whole)):
        kept = finished(whole[:end])
        text = kept + plan.automaton.shortest(plan.automaton.walk(kept))
        assert regex.fullmatch(text.decode()), text


def test_options_of_several_tokens_get_the_probability_of_their_whole_sequence() -> None:
    # Tokens: 0 then 1, 0 then 2, 3. Logits of log(3), log(1) at the first place, log(1), log(4) behind 0.
    options = Options([[0, 1], [0, 2], [3]])
    assert options.forks() == [[0]]
    at_first = np.log(np.array([3, 9, 9, 1], dtype=np.float32))
    behind_0 = np.log(np.array([9, 1, 4, 9], dtype=np.float32))
    shares = options.probabilities({(): at_first, (0,): behind_0})
    assert shares == pytest.approx([3 / 4 * 1 / 5, 3 / 4 * 4 / 5, 1 / 4])


def test_options_that_part_at_once_need_no_look_ahead() -> None:
    assert Options([[1, 9], [2, 9]]).forks() == []


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('{"s":["a","b', '{"s":["a"'),
        ('{"s":["a', '{"s":['),
        ('{"s":["a"', '{"s":["a"'),
        ('{"s":["a",', '{"s":["a",'),
        ('{"reason":"half', '{"reason":"half'),
        ('{"reason":"]', '{"reason":"]'),
        ('{"s":["a","[b",",]', '{"s":["a","[b"'),
        ('{"reason":"half\\', '{"reason":"half'),
        ('{"reason":"half\\\\', '{"reason":"half\\\\'),
    ],
)
def test_what_is_unfinished_is_dropped_and_nothing_else(text: str, kept: str) -> None:
    assert finished(text.encode()) == kept.encode()


def test_half_a_character_is_dropped() -> None:
    assert finished('{"reason":"好'.encode()[:-1]) == b'{"reason":"'


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('{"s":["a","b","A"', '{"s":["a","b"'),
        ('{"s":["a","b"', None),
        ('{"reason":"a","t":["a"', None),
        ('{"reason":"]', None),
        ('{"reason":"[\\"a\\",\\"a\\"', None),
        ('{"p":[{"v":"a","w":["x","x"', '{"p":[{"v":"a","w":["x"'),
        ('{"s":["\\"a","\\"a"', '{"s":["\\"a"'),
    ],
)
def test_an_item_that_stood_in_the_list_before_ends_it(text: str, kept: str | None) -> None:
    assert before_repetition(text.encode()) == (kept.encode() if kept else None)


class Optional(BaseModel):
    verdict: Literal["yes", "no"] = "no"


class OneOption(BaseModel):
    verdict: Literal["yes"]


class Ambiguous(BaseModel):
    rank: Literal[1, 10]


@pytest.mark.parametrize("schema", [Optional, OneOption, Ambiguous])
def test_a_schema_that_cannot_be_decoded_is_refused(grammar: Grammar, schema: type[BaseModel]) -> None:
    with pytest.raises(TypeError):
        grammar.plan(schema)
