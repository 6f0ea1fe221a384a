"""A model as a tree of prompts: one prefix a run, one context a sample, many items decoded together.

The bits of a reply depend on the shape of every batch and on where its cells lie. So for each context the
cache is emptied, the prefix's saved state is put into the first cells, the context is decoded behind it in
batches of n_batch, and the items follow in chunks that depend on nothing but these items.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel

from localeval.engine.batching import BatchToken, build_tree, chunks, count_beyond
from localeval.engine.interface import EngineError, EngineSettings, Reply, States, TokenUsage, TreeEngine
from localeval.engine.memory import OVERHEAD, cache_bytes, check
from localeval.engine.speculation import NgramIndex, trim_drafts
from localeval.errors import ModelBroken
from localeval.models.gguf import split_files
from localeval.prompts import PromptPrefix

if TYPE_CHECKING:
    from localeval.engine.decoding import ReplyDecoder
    from localeval.engine.grammar import CompiledSchema
    from localeval.engine.interface import Frame
    from localeval.engine.llama import Llama, Tokenizer
    from localeval.engine.prefix_cache import PrefixCache

T = TypeVar("T", bound=BaseModel)

CONTEXT = 0  # the sequence that holds prefix and context; items are 1, 2, ...


class Engine(TreeEngine):
    """A `TreeEngine` on the GGUF file at `path`. Not for two threads at a time; `close()` frees it.

    The weights are loaded for the first reply; to count tokens the vocabulary alone is read, in a second.

    kept  where the states of prefixes are read and kept; without it each engine computes its own

    What reads the file may raise ModelBroken or InputError, and ModelBroken later too, when the file is no
    longer the one that was there at the beginning: what was decoded while it changed is not given out.
    """

    def __init__(
        self, path: Path, settings: EngineSettings | None = None, kept: PrefixCache | None = None
    ) -> None:
        self.path, self.settings = path, settings or EngineSettings()
        # A GPU's bits are its own, and nothing here tells one from another.
        self._prefix_cache = None if self.settings.n_gpu_layers else kept
        self._files = {file: _identity(file) for file in split_files(path)}
        self._tokenizer: Tokenizer | None = None  # `_llama`, once that is there
        self._llama: Llama | None = None
        self._frames: dict[PromptPrefix, Frame] = {}
        self._schemas: dict[type[BaseModel], CompiledSchema] = {}
        self._states: dict[PromptPrefix, bytes] = {}
        self._in_cache: tuple[PromptPrefix | int, list[int]] | None = None  # or the layer that is read
        self._spent = TokenUsage()

    # The model

    def check(self) -> None:
        """Raise ModelBroken or InputError where loading would, as far as the vocabulary tells."""
        self.frame(PromptPrefix("", ()))

    @property
    def loaded(self) -> bool:
        return self._llama is not None

    @property
    def llama(self) -> Llama:
        """The model with its weights, loaded when first asked for. Raises InputError without the memory."""
        if self._llama is None:
            from localeval.engine import probe  # heavy: outlines, llama.cpp
            from localeval.engine.grammar import Vocabulary
            from localeval.engine.llama import Llama

            self._check_unchanged()
            if not probe.IN_CHILD:  # which has a limit of its own: a damaged file may claim any size
                check(self.path, self.memory())
            llama = Llama(self.path, self.settings)
            self._vocabulary = Vocabulary(llama.pieces(), llama.end_token(), llama.n_vocab)
            self.close()
            self._tokenizer = self._llama = llama
        return self._llama

    def close(self) -> None:
        """Free the model."""
        if self._tokenizer:
            self._tokenizer.close()
        self._tokenizer = self._llama = self._in_cache = None
        self._states.clear()

    def layers(self) -> int:
        return self._get_tokenizer().number("block_count")

    def memory(self, prefix_tokens: int = 0) -> int | None:
        """Reckon the bytes of the loaded model and states of so many prefix tokens; None with a GPU."""
        if self.settings.n_gpu_layers:
            return None
        weights = sum(file.stat().st_size for file in self._files)
        number, tokens = self._get_tokenizer().number, self.settings.n_ctx + prefix_tokens
        return weights + OVERHEAD + cache_bytes(number, tokens, self.settings.cache_type)

    @property
    def spent(self) -> TokenUsage:
        return self._spent._replace(seconds=self._llama.seconds if self._llama else 0.0)

    def _get_tokenizer(self) -> Tokenizer:
        if self._tokenizer is None:
            from localeval.engine.llama import Tokenizer  # heavy: llama.cpp

            self._tokenizer = Tokenizer(self.path, self.settings)
        return self._tokenizer

    def _check_unchanged(self) -> None:
        """Raise ModelBroken where a file is another one by now, or gone: it is mapped, not copied."""
        for file, then in self._files.items():
            if _identity(file) != then:
                raise ModelBroken(
                    f"{file}: the model file was replaced or changed while it judged; what it judged before "
                    "is kept. Put the file back and give the same command again; another judges all anew."
                )

    # Texts

    def tokens(self, text: str) -> list[int]:
        return self._get_tokenizer().tokenize(text.encode("utf-8", "replace"))

    def frame(self, prefix: PromptPrefix) -> Frame:
        if prefix not in self._frames:
            from localeval.engine.chat import frame

            self._frames[prefix] = frame(self._get_tokenizer(), prefix)
        return self._frames[prefix]

    def is_prefix_cached(self, prefix: PromptPrefix) -> bool:
        return prefix in self._states or bool(
            self._prefix_cache and self._prefix_cache.has(self.frame(prefix).before)
        )

    # Replies and states

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
        """See `TreeEngine.generate`."""
        from localeval.engine.decoding import ReplyDecoder
        from localeval.engine.grammar import compile_schema

        llama = self.llama
        if schema not in self._schemas:
            self._schemas[schema] = compile_schema(schema, self._vocabulary)
        before, after = self.frame(prefix)
        budgets = [budget] * len(items) if isinstance(budget, int) else list(budget)
        context_tokens = self.tokens(context)
        copied = NgramIndex(context_tokens)
        decoders = [
            ReplyDecoder[T](
                self._schemas[schema],
                [*self.tokens(item), *after],
                copied,
                llama.tokenize,
                self._vocabulary.bytes_of,
                budgets[i],
                temperature,
                seeds[i] if seeds else None,
            )
            for i, item in enumerate(items)
        ]
        stem = len(before) + len(context_tokens)
        feeds = [len(decoder.feed) for decoder in decoders]
        together = chunks(feeds, budgets, stem, self.settings.n_ctx, self.settings.width)
        with self._decoding():
            self._prefill(prefix, context_tokens)
            for chunk in together:
                self._decode_replies([decoders[i] for i in chunk], stem)
        return [decoder.reply() for decoder in decoders]

    def read(self, context: str, item: str, layer: int) -> States:
        """See `TreeEngine.read`."""
        llama, stem, text = self.llama, self.tokens(context), self.tokens(item)
        chunks([len(text)], [0], len(stem), self.settings.n_ctx, 1)  # raises where it does not fit
        with self._decoding():
            if self._in_cache != (layer, stem):
                llama.clear()
                llama.states(_batch(stem, 0, CONTEXT), layer)
                self._count(read=len(stem))
                self._in_cache = (layer, stem)
            with self._items(1):
                values = llama.states(_batch(text, len(stem), 1), layer)
            self._count(read=len(text))
        ends = accumulate(len(self._vocabulary.bytes_of[token]) for token in text)
        return States(values, tuple(ends))

    @contextmanager
    def _items(self, number: int) -> Iterator[None]:
        """Let so many items stand behind the context inside."""
        for item in range(1, 1 + number):
            self.llama.fork(CONTEXT, item)
        yield
        for item in range(1, 1 + number):
            self.llama.drop(item)

    @contextmanager
    def _decoding(self) -> Iterator[None]:
        """Give nothing out that a changed file decoded; where something stops it, trust no cell any more."""
        try:
            yield
        except BaseException as error:
            self._in_cache = None
            self.llama.clear(data=True)  # what is NaN in a cell reaches tokens that do not even look at it
            if isinstance(error, EngineError):
                self._check_unchanged()
            raise
        self._check_unchanged()

    def _prefill(self, prefix: PromptPrefix, context: list[int]) -> None:
        """Let the cache hold prefix and context, and nothing else."""
        if self._in_cache == (prefix, context):
            return
        llama, before = self.llama, [*self.frame(prefix).before]
        if prefix not in self._states:
            state = self._prefix_cache.get(before) if self._prefix_cache else None
            if state is None:
                llama.clear()
                llama.decode(_batch(before, 0, CONTEXT))
                state = llama.save(CONTEXT)
                self._count(prefix=len(before))
                if self._prefix_cache:
                    self._check_unchanged()
                    self._prefix_cache.put(before, state)
            self._states[prefix] = state
        llama.clear()
        llama.restore(self._states[prefix], CONTEXT)
        llama.decode(_batch(context, len(before), CONTEXT))
        self._count(context=len(context))
        self._in_cache = (prefix, context)

    def _decode_replies(self, chunk: list[ReplyDecoder[T]], end: int) -> None:
        """Decode the items of a chunk together, behind `end` tokens, until each is done."""
        # One call for what the items ask, equal beginnings once.
        nodes, ends = build_tree([decoder.feed for decoder in chunk])
        last = {number: at for at, number in enumerate(sorted(set(ends)))}
        forced = count_beyond(nodes, [decoder.asked for decoder in chunk])
        lengths = [end + len(decoder.feed) for decoder in chunk]
        with self._items(len(chunk)):
            logits = self.llama.decode(
                [
                    BatchToken(node.token, end + node.place, tuple(1 + i for i in node.items), number in last)
                    for number, node in enumerate(nodes)
                ]
            )
            self._count(items=len(nodes) - forced, forced=forced)
            for decoder, number in zip(chunk, ends, strict=True):
                decoder.advance([logits[last[number]]])
            # Then one call after the other for all that grow: what each feeds, and its draft behind it.
            while growing := [i for i, decoder in enumerate(chunk) if not decoder.done]:
                trim_drafts([chunk[i].draft for i in growing], self.settings.width)
                batch = []
                for i in growing:
                    decoder = chunk[i]
                    self._count(decoded=decoder.chosen, forced=len(decoder.feed) - decoder.chosen)
                    wanted = 1 + len(decoder.draft)
                    batch += _batch([*decoder.feed, *decoder.draft], lengths[i], 1 + i, wanted)
                    lengths[i] += len(decoder.feed)
                logits = self.llama.decode(batch)
                for i in growing:
                    decoder, drafted = chunk[i], len(chunk[i].draft)
                    decoder.advance(logits[: 1 + drafted])
                    logits = logits[1 + drafted :]
                    lengths[i] += decoder.kept
                    if decoder.kept < drafted:  # what was guessed wrongly is dropped
                        self.llama.drop(1 + i, lengths[i])
                    self._count(decoded=decoder.kept, guessed=drafted - decoder.kept)

    def _count(self, **tokens: int) -> None:
        self._spent = self._spent.plus(**tokens)


def _batch(tokens: list[int], position: int, sequence: int, wanted: int = 0) -> list[BatchToken]:
    """Place `tokens` from `position` on; of the last `wanted` ones the logits are wanted."""
    first = len(tokens) - wanted
    return [BatchToken(token, position + i, (sequence,), i >= first) for i, token in enumerate(tokens)]


def _identity(path: Path) -> tuple[int, ...]:
    """Give what changes when the file at `path` is replaced; empty where there is none."""
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_size, status.st_mtime_ns, status.st_dev, status.st_ino
