"""Likelihoods: the same every time, and as the model's own logits say."""

import math

import numpy as np
import pytest

from localeval.engine.engine import CONTEXT, Engine, _batch
from localeval.engine.interface import ContextTooLong
from localeval.judgements.replies import YesOrNo
from localeval.prompts import PromptPrefix

BEFORE = "Context:\nThe mill on the Arl was built in 1820, of brick.\n\nQuestion: When?\nResponse:"
ITEMS = [" In 1820.", " In 1821.", " Of brick."]


def test_likelihoods_have_the_same_bits_again_and_after_other_work(tiny: Engine) -> None:
    first = tiny.likelihood(BEFORE, ITEMS)
    tiny.generate(PromptPrefix("Judge.", (("One?", '{"verdict":"yes"}'),)), "context", ["One."], YesOrNo)
    tiny.read("Context:\nAnother.", "Response", 0)
    assert tiny.likelihood(BEFORE, ITEMS) == first


def test_a_likelihood_is_the_log_softmax_of_the_logits_before_each_token(tiny: Engine) -> None:
    [found] = tiny.likelihood(BEFORE, ITEMS[:1])
    tokens = tiny.tokens(ITEMS[0])
    before = tiny.tokens(BEFORE)
    # The model itself, one token after the other.
    tiny.llama.clear()
    tiny.llama.decode(_batch([*before[:-1]], 0, CONTEXT))
    expected = []
    for i, token in enumerate(tokens):
        fed = ([before[-1], *tokens])[i]
        [logits] = tiny.llama.decode(_batch([fed], len(before) - 1 + i, CONTEXT, n_logits=1))
        values = logits.astype(np.float64)
        expected.append(float(values[token] - np.log(np.exp(values - values.max()).sum()) - values.max()))
    tiny._in_cache = None
    assert found.tokens == pytest.approx(expected, abs=0.05)  # batches of another shape, another last bit
    assert found.total == math.fsum(found.tokens)


def test_a_likelihood_has_a_number_for_each_token_of_the_text(tiny: Engine) -> None:
    [found] = tiny.likelihood(BEFORE, [" 用砖. 🍎"])
    assert len(found.tokens) == tiny.count(" 用砖. 🍎")


def test_items_that_begin_alike_cost_their_beginning_once(tiny: Engine) -> None:
    tiny.likelihood(BEFORE, ITEMS)
    before = tiny.spent
    tiny.likelihood(BEFORE, [" In 1820.", " In 1821."])
    both = tiny.spent.since(before)
    assert both.context == 0  # the same text was read last
    assert both.items < tiny.count(" In 1820.") + tiny.count(" In 1821.")


def test_a_text_that_does_not_fit_is_refused_before_anything_is_decoded(tiny: Engine) -> None:
    before = tiny.spent
    with pytest.raises(ContextTooLong):
        tiny.likelihood("word " * 3000, [" Yes."])
    assert tiny.spent.total == before.total
