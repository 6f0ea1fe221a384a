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


CONTEXT_TEXT = "Context:\nThe mill on the Arl was built in 1820, of brick. The barn was built in 1851."
ITEM = "\n\nQuestion: When?\nResponse: In 1820. The barn is of 1851."


def test_a_comparison_is_the_difference_of_two_log_probabilities_at_the_first_token_that_differs(
    tiny: Engine,
) -> None:
    variant = ITEM.replace("In 1820", "In 1851")
    _, [margin] = tiny.read_and_compare(CONTEXT_TEXT, ITEM, [variant], 0)
    stated, other = tiny.likelihood(CONTEXT_TEXT, [ITEM, variant])
    place = next(i for i, (a, b) in enumerate(zip(stated.tokens, other.tokens, strict=True)) if a != b)
    assert margin == pytest.approx(stated.tokens[place] - other.tokens[place], abs=0.05)


def test_comparisons_have_the_same_bits_again_and_after_other_work(tiny: Engine) -> None:
    variants = [ITEM.replace("1820", "1851"), ITEM.replace("of 1851", "of 1820"), ITEM.replace("In", "Of")]
    _, first = tiny.read_and_compare(CONTEXT_TEXT, ITEM, variants, 0)
    tiny.read("Context:\nAnother.", "Response", 0)
    _, again = tiny.read_and_compare(CONTEXT_TEXT, ITEM, variants, 0)
    assert first == again
    assert first[0] != 0.0


def test_states_beside_a_comparison_have_the_bits_of_those_that_are_read_alone(tiny: Engine) -> None:
    alone = tiny.read(CONTEXT_TEXT, ITEM, 0)
    beside, _ = tiny.read_and_compare(CONTEXT_TEXT, ITEM, [ITEM.replace("1820", "1851")], 0)
    assert np.array_equal(alone.values, beside.values)
    assert alone.ends == beside.ends


def test_a_comparison_of_more_places_than_a_call_has_outputs_is_as_one_of_fewer(tiny: Engine) -> None:
    numbers = [str(1000 + i) for i in range(5 * tiny.settings.width)]
    item = "\n\nResponse: " + " ".join(numbers)
    variants = [item.replace(number, "7" + number[1:]) for number in numbers]
    _, many = tiny.read_and_compare("Context:\nNone.", item, variants, 0)
    _, few = tiny.read_and_compare("Context:\nNone.", item, variants[:5], 0)
    assert many[:5] == pytest.approx(few, abs=0.05)


def test_a_variant_that_does_not_differ_is_refused(tiny: Engine) -> None:
    with pytest.raises(ValueError, match="differ"):
        tiny.read_and_compare(CONTEXT_TEXT, ITEM, [ITEM], 0)
