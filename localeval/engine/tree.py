"""The schedule: trunk, branch, leaves, always in the same cells and the same batches.

The bits of a reply depend on the shape of every batch and on where its cells lie. So for each branch the
cache is emptied, the trunk's saved state is put into the first cells, the branch is decoded behind it in
batches of n_batch, and the leaves follow in chunks that depend on nothing but these leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from localeval.engine.chat import Chat
from localeval.engine.cursor import Cursor
from localeval.engine.grammar import Grammar, Vocabulary
from localeval.engine.guess import cut
from localeval.engine.interface import ContextTooLong, EngineSettings, Reply, Spent, Trunk
from localeval.engine.llama import Llama, Logits, Row

T = TypeVar("T", bound=BaseModel)

BRANCH = 0  # the sequence that holds trunk and branch; leaves are 1, 2, ..., their forks behind them


class Engine:
    """A loaded model. `close()` frees it. Not for two threads at a time."""

    def __init__(self, path: Path, settings: EngineSettings | None = None) -> None:
        self.settings = settings or EngineSettings()
        self._llama = Llama(path, self.settings)
        self._chat = Chat(self._llama)
        llama = self._llama
        self._vocabulary = Vocabulary(llama.pieces(), llama.end_token(), llama.n_vocab)
        self._grammar = Grammar(self._vocabulary)
        self._frames: dict[Trunk, tuple[list[int], list[int]]] = {}
        self._states: dict[Trunk, bytes] = {}
        self._standing: tuple[Trunk, list[int]] | None = None
        self._spent = Spent()

    def close(self) -> None:
        self._llama.close()

    @property
    def spent(self) -> Spent:
        """Since the model was loaded."""
        return self._spent._replace(seconds=self._llama.seconds)

    def count(self, text: str) -> int:
        """Tokens of `text`."""
        return len(self._llama.tokenize(_encode(text)))

    def room(self, trunk: Trunk) -> int:
        """Tokens left for a branch and its leaves."""
        before, after = self._frame(trunk)
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
        after = self._frame(trunk)[1]
        budgets = [budget] * len(leaves) if isinstance(budget, int) else list(budget)
        branch_tokens = self._llama.tokenize(_encode(branch))
        cursors = [
            Cursor[T](
                plan,
                self._llama.tokenize(_encode(leaf)) + after,
                self._llama.tokenize,
                self._vocabulary.bytes_of,
                budgets[i],
                temperature,
                seeds[i] if seeds else None,
            )
            for i, leaf in enumerate(leaves)
        ]
        chunks = self._chunks(trunk, branch_tokens, cursors, budgets)
        try:
            self._stand(trunk, branch_tokens)
            for chunk in chunks:
                self._grow(chunk)
        except BaseException:
            self._standing = None  # whatever stopped us, the cache can't be relied on
            raise
        return [cursor.reply() for cursor in cursors]

    def _chunks(
        self, trunk: Trunk, branch: list[int], cursors: list[Cursor[T]], budgets: list[int]
    ) -> list[list[Cursor[T]]]:
        """The cursors in order, cut where the width or the context is full."""
        room = self.settings.n_ctx - len(self._frame(trunk)[0]) - len(branch)
        chunks: list[list[Cursor[T]]] = []
        left = 0
        for cursor, budget in zip(cursors, budgets, strict=True):
            # Glue, options and closings are fed beside the budget: what they take is small and bounded.
            need = len(cursor.feed) + budget + _GLUE_TOKENS
            if need > room:
                raise ContextTooLong(
                    f"{self.settings.n_ctx - room + need} tokens, {self.settings.n_ctx} possible"
                )
            if not chunks or need > left or len(chunks[-1]) == self.settings.width:
                chunks.append([])
                left = room
            chunks[-1].append(cursor)
            left -= need
        return chunks

    def _frame(self, trunk: Trunk) -> tuple[list[int], list[int]]:
        if trunk not in self._frames:
            self._frames[trunk] = self._chat.frame(trunk)
        return self._frames[trunk]

    def _stand(self, trunk: Trunk, branch: list[int]) -> None:
        """Let the cache hold trunk and branch, and nothing else."""
        if self._standing == (trunk, branch):
            return
        before = self._frame(trunk)[0]
        if trunk not in self._states:
            self._llama.clear()
            self._llama.decode(_rows(before, 0, BRANCH))
            self._states[trunk] = self._llama.save(BRANCH)
            self._spend(trunk=len(before), unique=len(before))
        self._llama.clear()
        self._llama.restore(self._states[trunk], BRANCH)
        self._llama.decode(_rows(branch, len(before), BRANCH))
        self._spend(branch=len(branch), unique=len(branch))
        self._standing = (trunk, branch)

    def _spend(self, **rows: int) -> None:
        self._spent = self._spent.plus(**rows)

    def _grow(self, chunk: list[Cursor[T]]) -> None:
        """Decode the leaves of a chunk together until each is done; then drop them."""
        assert self._standing is not None  # noqa: S101
        trunk, branch = self._standing
        end = len(self._frame(trunk)[0]) + len(branch)
        start = end + self._begin(chunk, end)
        lengths = dict.fromkeys(range(len(chunk)), start)
        for i in lengths:
            self._llama.fork(BRANCH, 1 + i)
        self._llama.drop(BRANCH, end)
        while growing := [i for i, cursor in enumerate(chunk) if not cursor.done]:
            self._step(chunk, growing, lengths)
        for i in lengths:
            self._llama.drop(1 + i)

    def _step(self, chunk: list[Cursor[T]], growing: list[int], lengths: dict[int, int]) -> None:
        """One call for all growing leaves: what each feeds and guesses. Wrong guesses are dropped."""
        cut([chunk[i].guess for i in growing], self.settings.width)
        rows = []
        for i in growing:
            cursor = chunk[i]
            forced = len(cursor.feed) - cursor.chosen - cursor.counted
            self._spend(decoded=cursor.chosen, forced=forced, unique=forced)
            cursor.counted = 0
            rows += _rows(cursor.feed, lengths[i], 1 + i, wanted=True)
            lengths[i] += len(cursor.feed)
            rows += [Row(token, lengths[i] + k, 1 + i, True) for k, token in enumerate(cursor.guess)]
        logits = self._llama.decode(rows)
        for i in growing:
            cursor, guessed = chunk[i], len(chunk[i].guess)
            cursor.advance(logits[: 1 + guessed])
            logits = logits[1 + guessed :]
            lengths[i] += cursor.kept
            if cursor.kept < guessed:
                self._llama.drop(1 + i, lengths[i])
            self._spend(decoded=cursor.kept, guessed=guessed - cursor.kept)
        for i in growing:
            if chunk[i].forks:
                chunk[i].resolve(self._look(chunk[i].forks, 1 + i, lengths[i], 1 + len(chunk) + i))

    def _begin(self, chunk: list[Cursor[T]], end: int) -> int:
        """Decode what all leaves of a chunk begin with, once, behind the branch; how many tokens that is."""
        feeds = [cursor.feed for cursor in chunk]
        asked = sum(cursor.counted for cursor in chunk)
        self._spend(leaves=asked, forced=sum(map(len, feeds)) - asked, unique=_distinct(feeds))
        shared = _shared(feeds)
        if shared:
            self._llama.decode(_rows(feeds[0][:shared], end, BRANCH))
            self._spend(leaves=-shared * (len(chunk) - 1))
        for cursor in chunk:
            del cursor.feed[:shared]
            cursor.counted = len(cursor.feed)
        return shared

    def _look(self, forks: list[list[int]], leaf: int, length: int, fork: int) -> list[Logits]:
        """The logits behind each continuation of a leaf; the leaf stays as it is."""
        found: list[Logits] = []
        for path in forks:
            self._llama.fork(leaf, fork)
            found.append(self._llama.decode(_rows(path, length, fork, wanted=True))[0].copy())
            self._llama.drop(fork)
            self._spend(forced=len(path), unique=len(path))
        return found


_GLUE_TOKENS = 64


def _rows(tokens: list[int], position: int, sequence: int, wanted: bool = False) -> list[Row]:
    """Rows for `tokens` from `position` on; the last one's logits may be wanted."""
    last = len(tokens) - 1
    return [Row(token, position + i, sequence, wanted and i == last) for i, token in enumerate(tokens)]


def _shared(feeds: list[list[int]]) -> int:
    """How many tokens all of several feeds begin with; each keeps one of its own, whose logits are wanted."""
    if len(feeds) < 2:
        return 0
    most = min(map(len, feeds)) - 1
    return next((i for i in range(most) if len({feed[i] for feed in feeds}) > 1), most)


def _distinct(feeds: list[list[int]]) -> int:
    """Rows that are left when equal beginnings are decoded once: the nodes of their tree."""
    nodes: dict[tuple[int, int], int] = {}
    for feed in feeds:
        node = 0
        for token in feed:
            node = nodes.setdefault((node, token), len(nodes) + 1)
    return len(nodes)


def _encode(text: str) -> bytes:
    """UTF-8; a lone surrogate, which no file holds but Python can, becomes a question mark."""
    return text.encode("utf-8", "replace")
