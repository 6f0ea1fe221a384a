"""Guessing makes calls fewer and changes no reply."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from localeval.engine.cursor import Cursor
from localeval.engine.guess import LONGEST, Copy, Source, cut
from localeval.engine.interface import EngineSettings
from localeval.engine.llama import Logits
from localeval.engine.tree import Engine
from localeval.judgements.statements import StatementsReply
from localeval.prompts.prefix import Trunk

PROMPT = "Sentence: Tea grows on the hills of Assam, and tea is drunk with milk in London."


class Copyist:
    """A model in miniature: likes what stood behind the last token before."""

    def __init__(self, engine: Engine, seed: int) -> None:
        self._llama, self._seed = engine._llama, seed
        self._end = self._llama.tokenize(b'"]}')[0]

    def logits(self, tokens: list[int]) -> Logits:
        logits = (
            np.random.default_rng([self._seed, *tokens[-4:]])
            .normal(size=self._llama.n_vocab)
            .astype(np.float32)
        )
        for token, following in itertools.pairwise(tokens):
            if token == tokens[-1]:
                logits[following] += 4
        logits[self._end] += 3
        return logits


def write(engine: Engine, seed: int, temperature: float, guessing: bool) -> tuple[str, int, int, int]:
    """(the reply, the tokens chosen, the calls that it took, the guesses kept)."""
    llama, model = engine._llama, Copyist(engine, seed)
    seen = llama.tokenize(PROMPT.encode())
    plan, pieces = engine._grammar.plan(StatementsReply), engine._vocabulary.bytes_of
    cursor = Cursor[StatementsReply](
        plan, list(seen), Source(()), llama.tokenize, pieces, 60, temperature, [seed]
    )
    calls = kept = 0
    before: list[int] = []
    while not cursor.done:
        if not guessing:
            cursor.guess.clear()
        calls += 1
        before += cursor.feed
        guess = list(cursor.guess)
        cursor.advance([model.logits(before + guess[:n]) for n in range(len(guess) + 1)])
        before += guess[: cursor.kept]
        kept += cursor.kept
    reply = cursor.reply()
    return reply.text, reply.decoded, calls, kept


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_a_reply_is_the_same_with_and_without_guessing(tiny: Engine, temperature: float) -> None:
    saved = 0
    for seed in range(20):
        plain = write(tiny, seed, temperature, guessing=False)
        guessed = write(tiny, seed, temperature, guessing=True)
        assert guessed[:2] == plain[:2]
        assert guessed[2] == plain[2] - guessed[3]
        saved += guessed[3]
    assert saved > 10 if temperature == 0 else saved == 0  # what is drawn is not guessed at


def guessed(prompt: Sequence[int], written: Sequence[int], branch: Sequence[int] = ()) -> list[int]:
    return Copy(Source(prompt), Source(branch)).guess(written)


def test_the_longest_end_that_stands_in_the_prompt_is_followed() -> None:
    # behind [7, 2] stands 8, behind the first 2 stands 3: the longer end counts
    assert guessed([1, 2, 3, 7, 2, 8], [7, 2]) == [8]
    assert guessed(range(1, 20), [2]) == [3, 4, 5, 6, 7, 8]
    assert guessed([1, 2, 3], [3]) == []
    assert guessed([], [1]) == []
    assert guessed([1, 2], []) == []


def test_what_was_written_is_a_source_behind_the_prompt_and_before_the_branch() -> None:
    # 5 stands in both; of what was written the last place counts, and never the end itself
    assert guessed([5, 6], [5, 7, 5]) == [6]
    assert guessed([1], [5, 7, 5, 8, 5]) == [8, 5]
    assert guessed([1], [5]) == []
    assert guessed([5, 6], [2, 5, 7, 2, 5]) == [7, 2, 5]  # the longer end counts, wherever it stands
    assert guessed([1], [5, 7, 5], branch=[5, 9]) == [7, 5]
    assert guessed([1], [5], branch=[5, 9, 5, 8]) == [9, 5, 8]


@pytest.mark.parametrize(
    ("lengths", "left"),
    [
        ([6], [3]),  # 4 rows
        ([6, 6], [1, 1]),
        ([6, 1, 1], [1, 0, 0]),  # 11 rows at most: no group of 16
        ([6, 6, 6, 6], [3, 3, 3, 3]),  # 16 rows
        ([6, 1, 1, 1], [0, 0, 0, 0]),  # 13 rows at most: no group of 16
        ([6] * 7, [2, 2, 1, 1, 1, 1, 1]),
        ([6] * 10, [3, 3, 2, 2, 2, 2, 2, 2, 2, 2]),  # 32 rows
        ([1] * 10, [1] * 10),
        ([6] * 32, [1] * 32),  # 64 rows
    ],
)
def test_guesses_fill_a_call_up_to_a_good_size(lengths: list[int], left: list[int]) -> None:
    guesses = [[0] * n for n in lengths]
    cut(guesses, width=32)
    assert [len(guess) for guess in guesses] == left


@pytest.mark.parametrize("width", [1, 2, 3, 9, 32])
def test_a_call_never_has_more_rows_than_an_engine_of_this_width_can_answer(width: int) -> None:
    for leaves in range(1, width + 1):
        guesses = [[0] * LONGEST for _ in range(leaves)]
        cut(guesses, width)
        assert leaves + sum(map(len, guesses)) <= 2 * width


def test_an_engine_that_decodes_one_leaf_at_a_time_guesses_too(tiny_path: Path) -> None:
    engine = Engine(tiny_path, EngineSettings(n_ctx=2048, n_threads=1, width=1))
    trunk = Trunk("Write down what each sentence claims.", ())
    replies = engine.generate(trunk, "tea tea tea tea", [PROMPT, PROMPT], StatementsReply, budget=60)
    assert [reply.decoded > 0 for reply in replies] == [True, True]
    engine.close()
