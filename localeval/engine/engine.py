"""A model with a tree of prompts: one prefix per run, one context per sample, many items decoded together.

The bits of a reply depend on the shape of every batch and on the position of its cells in the cache. So for
each context the cache is cleared, the prefix's saved state is restored into the first cells, the context is
decoded after it in batches of n_batch, and the items follow in chunks that depend on these items alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel

from localeval.engine.architectures import Architecture, find_architecture
from localeval.engine.batching import (
    BatchToken,
    Node,
    build_tree,
    chunks,
    count_beyond,
    first_difference,
)
from localeval.engine.interface import EngineError, Likelihood, Reply, TokenUsage, TokenValues, TreeEngine
from localeval.engine.memory import model_bytes
from localeval.engine.settings import EngineSettings
from localeval.engine.speculation import NgramIndex, trim_drafts
from localeval.errors import InputError, ModelBroken
from localeval.prompts import PromptPrefix

if TYPE_CHECKING:
    from localeval.engine.decoding import ReplyDecoder
    from localeval.engine.grammar import Grammar, Vocabulary
    from localeval.engine.interface import Frame
    from localeval.engine.llama import Llama, Logits
    from localeval.engine.prefix_cache import PrefixCache
    from localeval.engine.tokenizer import Tokenizer

T = TypeVar("T", bound=BaseModel)

CONTEXT = 0  # the sequence of prefix and context; items are sequences 1, 2, ...


class Engine(TreeEngine):
    """A `TreeEngine` for a GGUF model. Not for two threads at a time; `close()` frees the model.

    The vocabulary is opened now, in a second; the weights are loaded for the first reply.

    files           all files of the model; the first one is opened
    prefix_cache    cache of prefix states on disk; without it each engine computes its own
    before_loading  called before the weights are loaded; raises what speaks against it. A damaged file can
                    end the process: `localeval.engine.probe` tries it in another one

    Raises ModelBroken or InputError, also when the weights are loaded; later ModelBroken when the file is no
    longer the one that was opened: what was decoded while it changed is not returned.
    """

    def __init__(
        self,
        files: Sequence[Path],
        settings: EngineSettings | None = None,
        prefix_cache: PrefixCache | None = None,
        before_loading: Callable[[Engine], None] | None = None,
    ) -> None:
        from localeval.engine.tokenizer import Tokenizer  # heavy: llama.cpp

        self.path = files[0]
        self.settings = settings or EngineSettings()
        # States depend on the GPU that computed them, and the key of the cache does not name it.
        self._prefix_cache = None if self.settings.n_gpu_layers else prefix_cache
        self._before_loading = before_loading
        self._files = {file: _identity(file) for file in files}
        self._llama: Llama | None = None
        self._frames: dict[PromptPrefix, Frame] = {}
        self._grammars: dict[type[BaseModel], Grammar] = {}
        self._states: dict[PromptPrefix, bytes] = {}
        # The prefix, the layer that was read, or None for a text without a prefix; and the context.
        self._in_cache: tuple[PromptPrefix | int | None, list[int]] | None = None
        self._spent = TokenUsage()
        # Replaced by `_llama`, once the weights are loaded.
        self._tokenizer: Tokenizer = Tokenizer(self.path, self.settings)
        self._architecture = self._tokenizer.architecture()
        self._layers = self._tokenizer.number("block_count")
        self._width = self._tokenizer.number("embedding_length")
        try:
            # Checks the chat template.
            self.frame(PromptPrefix("", ()))
        except ModelBroken:
            self.close()
            raise

    @property
    def loaded(self) -> bool:
        return self._llama is not None

    @property
    def llama(self) -> Llama:
        """The model with its weights, loaded at first use. Raises what `check_loadable` raises."""
        if self._llama is None:
            from localeval.engine.llama import Llama

            self.check_loadable()
            llama = Llama(self.path, self.settings)
            # Frees the tokenizer, in whose place the loaded model stands from here on.
            self.close()
            self._tokenizer = llama
            self._llama = llama
        return self._llama

    def check_loadable(self) -> None:
        """Raise ModelBroken for a changed file, and what `before_loading` raises."""
        self._check_unchanged()
        if self._before_loading is not None:
            self._before_loading(self)

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        from localeval.engine.grammar import Vocabulary  # heavy: outlines

        return Vocabulary(self.llama)

    def close(self) -> None:
        # Removed: a call of a freed one would end the process.
        tokenizer = vars(self).pop("_tokenizer", None)
        if tokenizer is not None:
            tokenizer.close()
        self._llama = None
        self._in_cache = None
        self._states.clear()

    @property
    def architecture(self) -> Architecture:
        """What is known of the model's architecture."""
        return find_architecture(self._architecture)

    def check_readable(self) -> None:
        """Raise InputError for a model of an architecture whose hidden states localeval does not know."""
        if not self.architecture.residual_node:
            raise InputError(
                f"{self.path.name} has the architecture {self._architecture!r}, of which localeval does not "
                "know where its hidden states are, so it can't be read; choose a Qwen2.5 or Qwen3 model, or "
                "make the architecture known with localeval.register_architecture."
            )

    def layers(self) -> int:
        return self._layers

    def width(self) -> int:
        """Return how many numbers a hidden state has."""
        return self._width

    def memory(self) -> int | None:
        """Estimate the bytes of the loaded model; None with a GPU."""
        if self.settings.n_gpu_layers:
            return None
        self._check_unchanged()
        size = sum(file.stat().st_size for file in self._files)
        return model_bytes(size, self._tokenizer.number, self.settings)

    @property
    def spent(self) -> TokenUsage:
        return self._spent._replace(seconds=self._llama.seconds if self._llama else 0.0)

    def _check_unchanged(self) -> None:
        """Raise ModelBroken if a file was replaced or removed: the model is mapped from it, not copied."""
        for file, identity in self._files.items():
            if _identity(file) != identity:
                raise ModelBroken(
                    f"{file}: the model file was replaced, changed or removed since it was opened; earlier "
                    "judgements are kept. Put the file back and run the same command again; another file "
                    "judges all again."
                )

    def tokens(self, text: str) -> list[int]:
        return self._tokenizer.tokenize(text.encode("utf-8", "replace"))

    def frame(self, prefix: PromptPrefix) -> Frame:
        if prefix not in self._frames:
            from localeval.engine.chat import frame

            self._frames[prefix] = frame(self._tokenizer, prefix)
        return self._frames[prefix]

    def generate(
        self,
        prefix: PromptPrefix,
        context: str,
        items: Sequence[str],
        schema: type[T],
        *,
        budget: int | Sequence[int] = 256,
        temperature: float = 0.0,
        seeds: Sequence[list[int]] | None = None,
    ) -> list[Reply[T]]:
        context_tokens = self.tokens(context)
        budgets = [budget] * len(items) if isinstance(budget, int) else list(budget)
        decoders = self._reply_decoders(prefix, context_tokens, items, schema, budgets, temperature, seeds)
        feeds = [decoder.feed for decoder in decoders]
        stem, item_ranges = self._item_ranges(prefix, context_tokens, feeds, budgets)
        with self._decoding():
            self._prefill(prefix, context_tokens)
            for item_range in item_ranges:
                self._decode_replies([decoders[i] for i in item_range], stem)
        return [decoder.reply() for decoder in decoders]

    def _item_ranges(
        self,
        prefix: PromptPrefix,
        context: Sequence[int],
        feeds: Sequence[Sequence[int]],
        budgets: Sequence[int],
    ) -> tuple[int, list[range]]:
        """Return the number of tokens before the items, and the items that are decoded together.

        Raises ContextTooLong where a single item does not fit.
        """
        before, _ = self.frame(prefix)
        stem = len(before) + len(context)
        sizes = [len(feed) for feed in feeds]
        return stem, chunks(sizes, budgets, stem, self.settings.n_ctx, self.settings.width)

    def _reply_decoders(
        self,
        prefix: PromptPrefix,
        context_tokens: list[int],
        items: Sequence[str],
        schema: type[T],
        budgets: Sequence[int],
        temperature: float,
        seeds: Sequence[list[int]] | None,
    ) -> list[ReplyDecoder[T]]:
        """Make a decoder for the reply to each item."""
        from localeval.engine.decoding import ReplyDecoder
        from localeval.engine.grammar import Grammar

        if schema not in self._grammars:
            self._grammars[schema] = Grammar(schema, self._vocabulary)
        grammar = self._grammars[schema]
        _, after = self.frame(prefix)
        context_ngrams = NgramIndex(context_tokens)
        decoders = []
        for i, item in enumerate(items):
            prompt = [*self.tokens(item), *after]
            seed = seeds[i] if seeds else None
            decoders.append(ReplyDecoder[T](grammar, prompt, context_ngrams, budgets[i], temperature, seed))
        return decoders

    def read(self, context: str, item: str, layer: int) -> TokenValues:
        self.check_readable()
        node = self.architecture.node(layer)
        llama = self.llama
        context_tokens, item_tokens = self._fitting(context, item)
        with self._decoding():
            if self._in_cache != (layer, context_tokens):
                llama.clear()
                llama.states(_batch(context_tokens, 0, CONTEXT), node)
                self._count(read=len(context_tokens))
                self._in_cache = (layer, context_tokens)
            with self._item_sequences(1):
                values = llama.states(_batch(item_tokens, len(context_tokens), 1), node)
            self._count(read=len(item_tokens))
        return self._token_values(values, item_tokens)

    def states_before_replies(
        self, prefix: PromptPrefix, context: str, items: Sequence[str], schema: type[T], layer: int
    ) -> npt.NDArray[np.float32]:
        self.check_readable()
        node = self.architecture.node(layer)
        context_tokens = self.tokens(context)
        no_budget = [0] * len(items)
        decoders = self._reply_decoders(prefix, context_tokens, items, schema, no_budget, 0.0, None)
        feeds = [decoder.feed for decoder in decoders]
        stem, item_ranges = self._item_ranges(prefix, context_tokens, feeds, no_budget)
        states = []
        with self._decoding():
            self._prefill(prefix, context_tokens)
            for item_range in item_ranges:
                nodes, ends = build_tree([feeds[i] for i in item_range])
                with self._item_sequences(len(item_range)):
                    batch = [_node_token(item_node, stem, needs_logits=False) for item_node in nodes]
                    states.append(self.llama.states(batch, node)[ends])
                self._count(read=len(nodes))
        return np.concatenate(states)

    def _fitting(self, context: str, item: str) -> tuple[list[int], list[int]]:
        """Return the tokens of a context and of one item. Raises ContextTooLong where they do not fit."""
        context_tokens = self.tokens(context)
        item_tokens = self.tokens(item)
        chunks([len(item_tokens)], [0], len(context_tokens), self.settings.n_ctx, 1)
        return context_tokens, item_tokens

    def _decode_context(self, tokens: list[int]) -> None:
        """Fill the cache with a context that no prefix precedes, by all layers, and with nothing else."""
        if self._in_cache == (None, tokens):
            return
        self.llama.clear()
        self.llama.decode(_batch(tokens, 0, CONTEXT))
        self._count(context=len(tokens))
        self._in_cache = (None, tokens)

    def _token_values(self, values: npt.NDArray[np.float32], tokens: Sequence[int]) -> TokenValues:
        """Return the values of tokens with the place where each of them ends."""
        ends = accumulate(len(self._vocabulary.bytes_of[token]) for token in tokens)
        return TokenValues(values, tuple(ends))

    def likelihood(self, context: str, items: Sequence[str]) -> list[Likelihood]:
        context_tokens = self.tokens(context)
        item_tokens = [self.tokens(item) for item in items]
        # The last token of the context is decoded with the items, as its logits tell their first tokens.
        stem = context_tokens[:-1]
        last = context_tokens[-1:]
        sizes = [*map(len, item_tokens)]
        no_budget = [0] * len(items)
        item_ranges = chunks(sizes, no_budget, len(stem), self.settings.n_ctx, self.settings.width)
        results: list[Likelihood] = []
        with self._decoding():
            self._decode_context(stem)
            for item_range in item_ranges:
                chunk = [item_tokens[i] for i in item_range]
                results += self._likelihoods(last, chunk, len(stem))
        return results

    def _likelihoods(self, last: list[int], items: Sequence[list[int]], start: int) -> list[Likelihood]:
        """Compute the likelihoods of the items of a chunk, which follow `start` tokens and `last`."""
        nodes, _ = build_tree([last + tokens[:-1] for tokens in items])
        # For each node, the log-probability of each token that follows it in some item.
        following: list[dict[int, float]] = [{} for _ in nodes]
        paths: list[list[int]] = [[] for _ in items]
        for n, node in enumerate(nodes):
            for i in node.items:
                paths[i].append(n)
                following[n][items[i][node.place]] = 0.0
        with self._item_sequences(len(items)):
            # A call gives the logits of all its tokens, and of no more than fit.
            width = self.settings.width
            for first in range(0, len(nodes), width):
                batch = [_node_token(node, start, True) for node in nodes[first : first + width]]
                for n, logits in enumerate(self.llama.decode(batch), start=first):
                    values = logits.astype(np.float64)
                    log_sum = _log_sum_of_exponentials(values)
                    for token in following[n]:
                        following[n][token] = float(values[token]) - log_sum
        self._count(items=len(nodes))
        results = []
        for tokens, path in zip(items, paths, strict=True):
            logs = tuple(following[n][token] for n, token in zip(path, tokens, strict=True))
            results.append(Likelihood(logs))
        return results

    def read_and_compare(
        self, context: str, item: str, variants: Sequence[str], layer: int
    ) -> tuple[TokenValues, list[float]]:
        self.check_readable()
        node = self.architecture.node(layer)
        context_tokens, item_tokens = self._fitting(context, item)
        differences = [first_difference(item_tokens, self.tokens(variant)) for variant in variants]
        # The logits of the token before a difference tell what may stand there.
        places = sorted({difference.place - 1 for difference in differences})
        start = len(context_tokens)
        batch = [_item_token(token, start + i, i in places) for i, token in enumerate(item_tokens)]
        with self._decoding():
            self._decode_context(context_tokens)
            with self._item_sequences(1):
                values, logits = self.llama.states_and_logits(batch, node)
            self._count(items=len(item_tokens))
        logits_at = dict(zip(places, logits, strict=True))
        margins = [
            float(logits_at[place - 1][token]) - float(logits_at[place - 1][other])
            for place, token, other in differences
        ]
        return self._token_values(values, item_tokens), margins

    @contextmanager
    def _item_sequences(self, n: int) -> Iterator[None]:
        """Fork `n` sequences off the context, and drop them at the end."""
        for sequence in range(1, 1 + n):
            self.llama.fork(CONTEXT, sequence)
        yield
        for sequence in range(1, 1 + n):
            self.llama.drop(sequence)

    @contextmanager
    def _decoding(self) -> Iterator[None]:
        """Raise ModelBroken if the file changed meanwhile; clear the whole cache after any exception."""
        try:
            yield
        except BaseException as error:
            self._in_cache = None
            # A NaN in a cell reaches tokens that do not even attend to it.
            self.llama.clear(data=True)
            if isinstance(error, EngineError):
                self._check_unchanged()
            raise
        self._check_unchanged()

    def _prefill(self, prefix: PromptPrefix, context: list[int]) -> None:
        """Fill the cache with prefix and context, and nothing else."""
        if self._in_cache == (prefix, context):
            return
        before = [*self.frame(prefix).before]
        if prefix not in self._states:
            self._states[prefix] = self._prefix_state(before)
        llama = self.llama
        llama.clear()
        llama.restore(self._states[prefix], CONTEXT)
        llama.decode(_batch(context, len(before), CONTEXT))
        self._count(context=len(context))
        self._in_cache = (prefix, context)

    def _prefix_state(self, before: list[int]) -> bytes:
        """Return the state after the tokens of a prefix, from the disk or computed."""
        stored = self._prefix_cache.get(before) if self._prefix_cache else None
        if stored is not None:
            return stored
        llama = self.llama
        llama.clear()
        llama.decode(_batch(before, 0, CONTEXT))
        state = llama.save(CONTEXT)
        self._count(prefix=len(before))
        if self._prefix_cache:
            self._check_unchanged()
            self._prefix_cache.put(before, state)
        return state

    def _decode_replies(self, chunk: list[ReplyDecoder[T]], start: int) -> None:
        """Decode the items of a chunk together, after `start` tokens, until each is done."""
        lengths = [start + len(decoder.feed) for decoder in chunk]
        with self._item_sequences(len(chunk)):
            self._decode_prompts(chunk, start)
            # Then one call after the other for all unfinished items.
            while True:
                unfinished = [i for i, decoder in enumerate(chunk) if not decoder.done]
                if not unfinished:
                    return
                self._decode_step(chunk, unfinished, lengths)

    def _decode_prompts(self, chunk: list[ReplyDecoder[T]], start: int) -> None:
        """Decode the prompts of all items in one call, equal beginnings once."""
        nodes, ends = build_tree([decoder.feed for decoder in chunk])
        # The last node of an item -> the row of its logits.
        rows = {node: row for row, node in enumerate(sorted(set(ends)))}
        forced = count_beyond(nodes, [decoder.asked for decoder in chunk])
        logits = self.llama.decode([_node_token(node, start, n in rows) for n, node in enumerate(nodes)])
        self._count(items=len(nodes) - forced, forced=forced)
        for decoder, last in zip(chunk, ends, strict=True):
            decoder.advance([logits[rows[last]]])

    def _decode_step(self, chunk: list[ReplyDecoder[T]], unfinished: list[int], lengths: list[int]) -> None:
        """Decode the feed of each unfinished item, with its draft after it, in one call.

        lengths  for each item of the chunk, the number of tokens in its sequence, which is updated
        """
        trim_drafts([chunk[i].draft for i in unfinished], self.settings.width)
        batch: list[BatchToken] = []
        for i in unfinished:
            decoder = chunk[i]
            self._count(decoded=decoder.chosen, forced=len(decoder.feed) - decoder.chosen)
            tokens = [*decoder.feed, *decoder.draft]
            batch += _batch(tokens, lengths[i], 1 + i, n_logits=1 + len(decoder.draft))
            lengths[i] += len(decoder.feed)
        logits = self.llama.decode(batch)
        for i in unfinished:
            decoder = chunk[i]
            drafted = len(decoder.draft)
            own_logits: list[Logits] = logits[: 1 + drafted]
            logits = logits[1 + drafted :]
            decoder.advance(own_logits)
            lengths[i] += decoder.kept
            if decoder.kept < drafted:
                # The rest of the draft was wrong.
                self.llama.drop(1 + i, lengths[i])
            self._count(decoded=decoder.kept, guessed=drafted - decoder.kept)

    def _count(self, **tokens: int) -> None:
        self._spent = self._spent.plus(**tokens)


def _batch(tokens: list[int], position: int, sequence: int, n_logits: int = 0) -> list[BatchToken]:
    """Place `tokens` from `position` on, with logits for the last `n_logits` of them."""
    first = len(tokens) - n_logits
    return [BatchToken(token, position + i, (sequence,), i >= first) for i, token in enumerate(tokens)]


def _item_token(token: int, position: int, needs_logits: bool) -> BatchToken:
    return BatchToken(token, position, (1,), needs_logits)


def _node_token(node: Node, start: int, needs_logits: bool) -> BatchToken:
    """Place a node that items share after `start` tokens, in the sequences of these items."""
    return BatchToken(node.token, start + node.place, tuple(1 + i for i in node.items), needs_logits)


def _log_sum_of_exponentials(values: npt.NDArray[np.float64]) -> float:
    top = float(values.max())
    return top + float(np.log(np.exp(values - top).sum()))


def _identity(path: Path) -> tuple[int, ...]:
    """Return values that change when the file at `path` is replaced; () where there is no file."""
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_size, status.st_mtime_ns, status.st_dev, status.st_ino
