"""The grammar of a reply, how a cut one is closed, and drafts: they make calls fewer and change no reply."""

import itertools
import re
from functools import cache
from typing import Literal

import numpy as np
import pytest
from outlines.types import JsonSchema
from outlines.types.dsl import to_regex
from pydantic import BaseModel

from localeval.engine.decoding import ReplyDecoder, trim_incomplete
from localeval.engine.engine import Engine
from localeval.engine.grammar import Grammar
from localeval.engine.llama import Logits
from localeval.engine.speculation import NgramIndex
from localeval.judgements.replies import YesOrNo
from localeval.judgements.statements import StatementsReply


class Mixed(BaseModel):
    reason: str
    verdict: Literal["not supported", "supported"]
    items: list[str]
    more: Literal[1, 2]


WHOLE = '{"reason":"因为 \\" so","verdict":"supported","items":["a","[b",",]"],"more":2}'.encode()


@cache
def compiled(engine: Engine, schema: type[BaseModel]) -> Grammar:
    return Grammar(schema, engine._vocabulary)


def test_the_shortest_way_out_of_any_beginning_is_legal(tiny: Engine) -> None:
    grammar = compiled(tiny, Mixed)
    regex = re.compile(to_regex(JsonSchema(Mixed, whitespace_pattern="")))
    assert regex.fullmatch(WHOLE.decode())
    for end in range(len(WHOLE)):
        trimmed = trim_incomplete(WHOLE[:end])
        text = trimmed + grammar.shortest(grammar.walk(trimmed))
        assert regex.fullmatch(text.decode()), text


def test_a_reply_is_the_same_with_and_without_drafts_which_save_calls(tiny: Engine) -> None:
    tokenize = tiny.llama.tokenize
    grammar = compiled(tiny, StatementsReply)
    [end] = tokenize(b'"]')
    prompt = tokenize(b"Sentence: Tea grows on the hills of Assam, and tea is drunk with milk in London.")

    def logits(seed: int, tokens: list[int]) -> Logits:
        """Logits of a model in miniature, which likes what stood behind the last token before."""
        random = np.random.default_rng([seed, *tokens[-4:]]).normal(size=tiny.llama.n_vocab)
        for token, following in itertools.pairwise(tokens):
            random[following] += 4 * (token == tokens[-1])
        random[end] += 3
        return random.astype(np.float32)

    def write(seed: int, drafts: bool) -> tuple[tuple[str, int], int]:
        """(the reply and how many tokens were chosen, the calls that it took)."""
        before: list[int] = []
        calls = 0
        decoder = ReplyDecoder[StatementsReply](grammar, [*prompt], NgramIndex(()), 60)
        while not decoder.done:
            if not drafts:
                decoder.draft = []
            drafted = decoder.draft
            calls += 1
            before += decoder.feed
            decoder.advance([logits(seed, before + drafted[:n]) for n in range(len(drafted) + 1)])
            before += drafted[: decoder.kept]
        reply = decoder.reply()
        return (reply.text, reply.decoded), calls

    pairs = [(write(seed, drafts=False), write(seed, drafts=True)) for seed in range(20)]
    assert all(plain == drafted for (plain, _), (drafted, _) in pairs)
    assert sum(calls - fewer for (_, calls), (_, fewer) in pairs) > 10


def test_the_mass_of_a_verdict_is_what_yes_and_no_have_among_all_tokens(tiny: Engine) -> None:
    """While their probabilities compare one with the other."""
    tokenize = tiny.llama.tokenize
    [yes] = tokenize(b"yes")
    [no] = tokenize(b"no")
    [other] = tokenize(b"t")
    decoder = ReplyDecoder[YesOrNo](compiled(tiny, YesOrNo), tokenize(b"Tea?"), NgramIndex(()), 0)
    logits = np.full(tiny.llama.n_vocab, -np.inf, dtype=np.float32)
    logits[[yes, no, other]] = np.log([0.2, 0.1, 0.7])
    decoder.advance([logits])
    reply = decoder.reply()
    assert reply.mass == {"verdict": 0.3}
    assert reply.probabilities["verdict"] == pytest.approx({"yes": 2 / 3, "no": 1 / 3})
