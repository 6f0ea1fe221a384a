"""The schedule: trunk, branch, leaves, always in the same cells and the same batches.

The bits of a reply depend on the shape of every batch and on where its cells lie. So for each branch the
cache is emptied, the trunk's saved state is put into the first cells, the branch is decoded behind it in
batches of n_batch, and the leaves follow in chunks that depend on nothing but these leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TypeVar

import numpy as np
from pydantic import BaseModel

from localeval.engine.cursor import Cursor
from localeval.engine.grammar import Grammar, Vocabulary
from localeval.engine.guess import Source, cut
from localeval.engine.interface import EngineError, EngineSettings, Frame, Reply, Spent, States
from localeval.engine.kept import KeptStates
from localeval.engine.llama import Llama, Logits, Row
from localeval.engine.schedule import beyond, chunks, tree
from localeval.engine.tokens import Tokens
from localeval.prompts.prefix import Trunk

T = TypeVar("T", bound=BaseModel)

BRANCH = 0  # the sequence that holds trunk and branch; leaves are 1, 2, ..., their forks behind them


class Engine:
    """A loaded model. `close()` frees it. Not for two threads at a time.

    kept       where the states of trunks are read and kept; without it each engine computes its own
    unchanged  raises where the model file is no longer what it was, so that nothing is kept that it computed
    """

    def __init__(
        self,
        path: Path,
        settings: EngineSettings | None = None,
        kept: KeptStates | None = None,
        unchanged: Callable[[], None] = lambda: None,
    ) -> None:
        self.settings = settings or EngineSettings()
        self._llama = Llama(path, self.settings)
        self._tokens = Tokens(self._llama)
        llama = self._llama
        self._vocabulary = Vocabulary(llama.pieces(), llama.end_token(), llama.n_vocab)
        self._grammar = Grammar(self._vocabulary)
        self._states: dict[Trunk, bytes] = {}
        self._kept, self._unchanged = kept, unchanged
        self._standing: tuple[Trunk | tuple[int, ...], list[int]] | None = None  # a tuple: layers that read
        self._spent = Spent()

    def close(self) -> None:
        self._llama.close()

    @property
    def spent(self) -> Spent:
        """Since the model was loaded."""
        return self._spent._replace(seconds=self._llama.seconds)

    def count(self, text: str) -> int:
        """Tokens of `text`."""
        return len(self.tokens(text))

    def tokens(self, text: str) -> list[int]:
        return self._tokens.of(text)

    def frame(self, trunk: Trunk) -> Frame:
        return self._tokens.frame(trunk)

    def stands(self, trunk: Trunk) -> bool:
        """Whether the trunk takes no rows any more."""
        return trunk in self._states or bool(self._kept and self._kept.has(self.frame(trunk).before))

    def room(self, trunk: Trunk) -> int:
        """Tokens left for a branch and its leaves."""
        before, after = self.frame(trunk)
        return self.settings.n_ctx - len(before) - len(after)

    def generate(
        self,
        trunk: Trunk,
        branch: str,
        leaves: Sequence[str],
        schema: type[T],
        *,
        budget: int | Sequence[int] = 256,
        temperature: float = 0.0,
        seeds: Sequence[list[int]] | None = None,
    ) -> list[Reply[T]]:
        """See `TreeEngine.generate`. Raises TypeError for a schema that can't be decoded (`Grammar.plan`)."""
        plan = self._grammar.plan(schema)
        after = [*self.frame(trunk).after]
        budgets = [budget] * len(leaves) if isinstance(budget, int) else list(budget)
        branch_tokens = self.tokens(branch)
        copied = Source(branch_tokens)
        cursors = [
            Cursor[T](
                plan,
                self.tokens(leaf) + after,
                copied,
                self._llama.tokenize,
                self._vocabulary.bytes_of,
                budgets[i],
                temperature,
                seeds[i] if seeds else None,
            )
            for i, leaf in enumerate(leaves)
        ]
        stem = len(self.frame(trunk).before) + len(branch_tokens)
        feeds = [len(cursor.feed) for cursor in cursors]
        together = chunks(feeds, budgets, stem, self.settings.n_ctx, self.settings.width)
        try:
            self._stand(trunk, branch_tokens)
            for chunk in together:
                self._grow([cursors[i] for i in chunk])
        except BaseException:
            self._standing = None  # whatever stopped us, the cache can't be relied on
            self._llama.clear(data=True)  # what is NaN in a cell reaches rows that do not even look at it
            raise
        return [cursor.reply() for cursor in cursors]

    def read(self, context: str, items: Sequence[str], layers: Sequence[int]) -> list[States]:
        """See `TreeEngine.read`."""
        stem, texts = self.tokens(context), [self.tokens(item) for item in items]
        settings, sizes = self.settings, [*map(len, texts)]
        together = chunks(sizes, [0] * len(texts), len(stem), settings.n_ctx, settings.width)
        found: list[States] = []
        try:
            if self._standing != (tuple(layers), stem):
                self._llama.clear()
                self._llama.states(_rows(stem, 0, BRANCH), layers)
                self._spend(read=len(stem))
                self._standing = (tuple(layers), stem)
            for chunk in together:
                found += self._read([texts[i] for i in chunk], len(stem), layers)
        except BaseException:
            self._standing = None
            self._llama.clear(data=True)
            raise
        return found

    def _read(self, texts: list[list[int]], end: int, layers: Sequence[int]) -> list[States]:
        """The states of the texts of a chunk, decoded together behind the context; then they are dropped."""
        for i in range(len(texts)):
            self._llama.fork(BRANCH, 1 + i)
        nodes, _ = tree(texts)
        rows = [Row(node.token, end + node.place, tuple(1 + i for i in node.leaves), False) for node in nodes]
        values = self._llama.states(rows, layers)
        self._spend(read=len(rows))
        for i in range(len(texts)):
            self._llama.drop(1 + i)
        pieces = self._vocabulary.bytes_of
        own = [[number for number, node in enumerate(nodes) if i in node.leaves] for i in range(len(texts))]
        return [
            States(values[numbers], tuple(accumulate(len(pieces[t]) for t in text)))
            for numbers, text in zip(own, texts, strict=True)
        ]

    def _stand(self, trunk: Trunk, branch: list[int]) -> None:
        """Let the cache hold trunk and branch, and nothing else."""
        if self._standing == (trunk, branch):
            return
        before = [*self.frame(trunk).before]
        if trunk not in self._states:
            self._states[trunk] = self._state(before)
        self._llama.clear()
        self._llama.restore(self._states[trunk], BRANCH)
        self._llama.decode(_rows(branch, len(before), BRANCH))
        self._spend(branch=len(branch))
        self._standing = (trunk, branch)

    def _state(self, before: list[int]) -> bytes:
        """The state of a trunk: as it was kept, or computed."""
        if self._kept and (state := self._kept.get(before)) is not None:
            return state
        self._llama.clear()
        self._llama.decode(_rows(before, 0, BRANCH))
        state = self._llama.save(BRANCH)
        self._spend(trunk=len(before))
        if self._kept:
            self._unchanged()
            self._kept.put(before, state)
        return state

    def _decode(self, rows: Sequence[Row]) -> list[Logits]:
        """The logits of the wanted rows, all finite: damaged weights may give none for some texts only."""
        found = self._llama.decode(rows)
        if not all(np.isfinite(logits).all() for logits in found):
            raise EngineError("the model answers with NaN or infinity")
        return found

    def _spend(self, **rows: int) -> None:
        self._spent = self._spent.plus(**rows)

    def _grow(self, chunk: list[Cursor[T]]) -> None:
        """Decode the leaves of a chunk together until each is done; then drop them."""
        assert self._standing is not None  # noqa: S101
        trunk, branch = self._standing
        assert isinstance(trunk, Trunk)  # noqa: S101
        end = len(self.frame(trunk).before) + len(branch)
        for i in range(len(chunk)):
            self._llama.fork(BRANCH, 1 + i)
        lengths = self._begin(chunk, end)
        while growing := [i for i, cursor in enumerate(chunk) if not cursor.done]:
            self._step(chunk, growing, lengths)
        for i in range(len(chunk)):
            self._llama.drop(1 + i)

    def _begin(self, chunk: list[Cursor[T]], end: int) -> list[int]:
        """One call for what the leaves ask, equal beginnings once; the length of each sequence."""
        nodes, ends = tree([cursor.feed for cursor in chunk])
        last = set(ends)
        rows = [
            Row(node.token, end + node.place, tuple(1 + leaf for leaf in node.leaves), number in last)
            for number, node in enumerate(nodes)
        ]
        found = dict(zip(sorted(last), self._decode(rows), strict=True))
        forced = beyond(nodes, [cursor.asked for cursor in chunk])
        self._spend(leaves=len(nodes) - forced, forced=forced)
        lengths = [end + len(cursor.feed) for cursor in chunk]
        for cursor, number in zip(chunk, ends, strict=True):
            cursor.advance([found[number]])
        self._fork(chunk, range(len(chunk)), lengths)
        return lengths

    def _step(self, chunk: list[Cursor[T]], growing: Sequence[int], lengths: list[int]) -> None:
        """One call for all growing leaves: what each feeds and guesses. Wrong guesses are dropped."""
        cut([chunk[i].guess for i in growing], self.settings.width)
        rows = []
        for i in growing:
            cursor = chunk[i]
            forced = len(cursor.feed) - cursor.chosen
            self._spend(decoded=cursor.chosen, forced=forced)
            rows += _rows(cursor.feed, lengths[i], 1 + i, wanted=True)
            lengths[i] += len(cursor.feed)
            rows += [Row(token, lengths[i] + k, (1 + i,), True) for k, token in enumerate(cursor.guess)]
        logits = self._decode(rows)
        for i in growing:
            cursor, guessed = chunk[i], len(chunk[i].guess)
            cursor.advance(logits[: 1 + guessed])
            logits = logits[1 + guessed :]
            lengths[i] += cursor.kept
            if cursor.kept < guessed:
                self._llama.drop(1 + i, lengths[i])
            self._spend(decoded=cursor.kept, guessed=guessed - cursor.kept)
        self._fork(chunk, growing, lengths)

    def _fork(self, chunk: list[Cursor[T]], growing: Sequence[int], lengths: list[int]) -> None:
        """Look at the continuations between which a leaf decides, where one token does not tell."""
        for i in growing:
            if chunk[i].forks:
                chunk[i].resolve(self._look(chunk[i].forks, 1 + i, lengths[i], 1 + len(chunk) + i))

    def _look(self, forks: list[list[int]], leaf: int, length: int, fork: int) -> list[Logits]:
        """The logits behind each continuation of a leaf; the leaf stays as it is."""
        found: list[Logits] = []
        for path in forks:
            self._llama.fork(leaf, fork)
            found.append(self._decode(_rows(path, length, fork, wanted=True))[0].copy())
            self._llama.drop(fork)
            self._spend(forced=len(path))
        return found


def _rows(tokens: list[int], position: int, sequence: int, wanted: bool = False) -> list[Row]:
    """Rows for `tokens` from `position` on; the last one's logits may be wanted."""
    last = len(tokens) - 1
    return [Row(token, position + i, (sequence,), wanted and i == last) for i, token in enumerate(tokens)]
