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
from localeval.engine.interface import ContextTooLong, EngineSettings, Reply, Trunk
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

    def close(self) -> None:
        self._llama.close()

    @property
    def rows(self) -> int:
        """Rows decoded since the model was loaded."""
        return self._llama.rows

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
        self._llama.clear()
        self._llama.restore(self._states[trunk], BRANCH)
        self._llama.decode(_rows(branch, len(before), BRANCH))
        self._standing = (trunk, branch)

    def _grow(self, chunk: list[Cursor[T]]) -> None:
        """Decode the leaves of a chunk together until each is done; then drop them."""
        assert self._standing is not None  # noqa: S101
        trunk, branch = self._standing
        start = len(self._frame(trunk)[0]) + len(branch)
        lengths = dict.fromkeys(range(len(chunk)), start)
        for i in lengths:
            self._llama.fork(BRANCH, 1 + i)
        while growing := [i for i, cursor in enumerate(chunk) if not cursor.done]:
            rows = [row for i in growing for row in _rows(chunk[i].feed, lengths[i], 1 + i, wanted=True)]
            for i in growing:
                lengths[i] += len(chunk[i].feed)
            for i, logits in zip(growing, self._llama.decode(rows), strict=True):
                chunk[i].advance(logits)
            for i in growing:
                if chunk[i].forks:
                    chunk[i].resolve(self._look(chunk[i].forks, 1 + i, lengths[i], 1 + len(chunk) + i))
        for i in lengths:
            self._llama.drop(1 + i)

    def _look(self, forks: list[list[int]], leaf: int, length: int, fork: int) -> list[Logits]:
        """The logits behind each continuation of a leaf; the leaf stays as it is."""
        found: list[Logits] = []
        for path in forks:
            self._llama.fork(leaf, fork)
            found += self._llama.decode(_rows(path, length, fork, wanted=True))
            self._llama.drop(fork)
        return found


_GLUE_TOKENS = 64


def _rows(tokens: list[int], position: int, sequence: int, wanted: bool = False) -> list[Row]:
    """Rows for `tokens` from `position` on; the last one's logits may be wanted."""
    last = len(tokens) - 1
    return [Row(token, position + i, sequence, wanted and i == last) for i, token in enumerate(tokens)]


def _encode(text: str) -> bytes:
    """UTF-8; a lone surrogate, which no file holds but Python can, becomes a question mark."""
    return text.encode("utf-8", "replace")
