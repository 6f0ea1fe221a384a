"""The grammar of a reply, how a cut one is closed, and drafts: they make calls fewer and change no reply."""

from __future__ import annotations

import itertools
import re
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from outlines.types import JsonSchema
from outlines.types.dsl import to_regex
from pydantic import BaseModel, create_model

from localeval.engine.decoding import ReplyDecoder, trim_incomplete, trim_repetition
from localeval.engine.engine import Engine
from localeval.engine.grammar import CompiledSchema, compile_schema
from localeval.engine.interface import EngineSettings
from localeval.engine.llama import Logits
from localeval.engine.speculation import NgramIndex, draft
from localeval.judgements.statements import StatementsReply
from localeval.prompts.prefix import PromptPrefix

PROMPT = "Sentence: Tea grows on the hills of Assam, and tea is drunk with milk in London."


class Mixed(BaseModel):
    reason: str
    verdict: Literal["not supported", "supported"]
    items: list[str]
    more: Literal[1, 2]


WHOLE = '{"reason":"因为 \\" so","verdict":"supported","items":["a","b"],"more":2}'.encode()


@cache
def compiled(engine: Engine, schema: type[BaseModel]) -> CompiledSchema:
    assert engine.llama  # it loads
    return compile_schema(schema, engine._vocabulary)


def test_the_shortest_way_out_of_any_beginning_is_legal(tiny: Engine) -> None:
    automaton = compiled(tiny, Mixed).automaton
    regex = re.compile(to_regex(JsonSchema(Mixed, whitespace_pattern="")))
    assert regex.fullmatch(WHOLE.decode())
    for end in range(len(WHOLE)):
        kept = trim_incomplete(WHOLE[:end])
        text = kept + automaton.shortest(automaton.walk(kept))
        assert regex.fullmatch(text.decode()), text


@pytest.mark.parametrize(
    "field", [(Literal["yes", "no"], "no"), (Literal["yes"], ...), (Literal[1, 10], ...)]
)
def test_a_schema_that_cannot_be_decoded_is_refused(tiny: Engine, field: Any) -> None:
    with pytest.raises(TypeError):
        compiled(tiny, create_model("Given", verdict=field))


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('{"s":["a","b', '{"s":["a"'),
        ('{"s":["a', '{"s":['),
        ('{"s":["a",', '{"s":["a",'),
        ('{"reason":"]', '{"reason":"]'),
        ('{"s":["a","[b",",]', '{"s":["a","[b"'),
        ('{"reason":"half\\', '{"reason":"half'),
        ('{"reason":"half\\\\', '{"reason":"half\\\\'),
    ],
)
def test_what_is_unfinished_is_dropped_and_nothing_else(text: str, kept: str) -> None:
    assert trim_incomplete(text.encode()) == kept.encode()
    assert trim_incomplete(text.encode() + "好".encode()[:-1]) == trim_incomplete(text.encode())


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('{"s":["a","b","A"', '{"s":["a","b"'),
        ('{"s":["a","b"', None),
        ('{"reason":"]', None),
        ('{"reason":"[\\"a\\",\\"a\\"', None),
        ('{"p":[{"v":"a","w":["x","x"', '{"p":[{"v":"a","w":["x"'),
        ('{"s":["\\"a","\\"a"', '{"s":["\\"a"'),
    ],
)
def test_an_item_that_stood_in_the_list_before_ends_it(text: str, kept: str | None) -> None:
    assert trim_repetition(text.encode()) == (kept.encode() if kept else None)


def test_a_reply_is_the_same_with_and_without_drafts_which_save_calls(tiny: Engine) -> None:
    llama, schema = tiny.llama, compiled(tiny, StatementsReply)
    (end,) = llama.tokenize(b'"]')
    prompt = llama.tokenize(PROMPT.encode())

    def logits(seed: int, tokens: list[int]) -> Logits:
        """Those of a model in miniature, which likes what stood behind the last token before."""
        random = np.random.default_rng([seed, *tokens[-4:]]).normal(size=llama.n_vocab)
        for token, following in itertools.pairwise(tokens):
            random[following] += 4 * (token == tokens[-1])
        random[end] += 3
        return random.astype(np.float32)

    def write(seed: int, drafts: bool) -> tuple[str, int, int, int]:
        """(the reply, the tokens chosen, the calls that it took, the drafted tokens kept)."""
        before: list[int] = []
        pieces = tiny._vocabulary.bytes_of
        decoder = ReplyDecoder[StatementsReply](schema, [*prompt], NgramIndex(()), llama.tokenize, pieces, 60)
        calls = kept = 0
        while not decoder.done:
            drafted = decoder.draft = decoder.draft if drafts else []
            calls += 1
            before += decoder.feed
            decoder.advance([logits(seed, before + drafted[:n]) for n in range(len(drafted) + 1)])
            before += drafted[: decoder.kept]
            kept += decoder.kept
        reply = decoder.reply()
        return reply.text, reply.decoded, calls, kept

    saved = 0
    for seed in range(20):
        plain, drafted = write(seed, drafts=False), write(seed, drafts=True)
        assert drafted[:2] == plain[:2]
        assert drafted[2] == plain[2] - drafted[3]
        saved += drafted[3]
    assert saved > 10


@pytest.mark.parametrize(
    ("prompt", "written", "context", "expected"),
    [
        ([1, 2, 3, 7, 2, 8], [7, 2], [], [8]),  # behind the first 2 stands 3: the longer end counts
        (range(1, 20), [2], [], [3, 4, 5, 6, 7, 8]),
        ([1, 2, 3], [3], [], []),
        ([1], [5, 7, 5, 8, 5], [], [8, 5]),  # of what was written the last place, and never the end itself
        ([5, 6], [2, 5, 7, 2, 5], [], [7, 2, 5]),  # the longer end, wherever it stands
        ([1], [5], [5, 9, 5, 8], [9, 5, 8]),  # in the context last
    ],
)
def test_a_draft_is_what_followed_the_longest_end_where_it_stood_before(
    prompt: list[int], written: list[int], context: list[int], expected: list[int]
) -> None:
    assert draft(written, NgramIndex(prompt), NgramIndex(context)) == expected


def test_an_engine_that_decodes_one_item_at_a_time_drafts_too(tiny_path: Path) -> None:
    prefix = PromptPrefix("Write down what each sentence claims.", ())
    with closing(Engine(tiny_path, EngineSettings(n_ctx=2048, n_threads=1, width=1))) as engine:
        replies = engine.generate(prefix, "tea tea tea tea", [PROMPT, PROMPT], StatementsReply, budget=60)
    assert [reply.decoded > 0 for reply in replies] == [True, True]
