"""A GGUF model with its cache, through llama.cpp's C interface.

Some misuse ends the process instead of raising: a sequence or token out of range, or more outputs than a
context has, which the engine never asks for.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from localeval.engine import hidden_states
from localeval.engine.architectures import find_architecture
from localeval.engine.batching import BatchToken, even_size, with_few_outputs
from localeval.engine.interface import EngineError
from localeval.engine.native import llama_cpp, signals_held
from localeval.engine.settings import EngineSettings
from localeval.engine.tokenizer import Tokenizer
from localeval.errors import ModelBroken

Logits = npt.NDArray[np.float32]

_CACHE_TYPES = {"f16": llama_cpp.GGML_TYPE_F16, "q8_0": llama_cpp.GGML_TYPE_Q8_0}
# What llama.cpp says of a model that is no plain text decoder.
_UNSUPPORTED = ("has_encoder", "is_recurrent", "is_hybrid", "is_diffusion")


class Llama(Tokenizer):
    """One GGUF model with one multi-sequence context. Not for two threads at a time."""

    def __init__(self, path: Path, settings: EngineSettings) -> None:
        self._context: Any = None
        super().__init__(path, settings, weights=True)
        # More than context and items need, as it also bounds the outputs of a call.
        self.n_sequences = 2 * settings.width + 1
        self.seconds = 0.0  # inside llama_decode
        self._tap = hidden_states.StateTap()
        try:
            self._check_can_judge()
            self._context = llama_cpp.llama_init_from_model(self._model, self._context_params())
            if not self._context:
                raise ModelBroken(
                    f"{path}: llama.cpp can't make a context of {settings.n_ctx} tokens for this model; "
                    "choose a smaller --n-ctx, or a smaller model."
                )
        except BaseException:
            self.close()
            raise
        self._memory = llama_cpp.llama_get_memory(self._context)
        self._batch = llama_cpp.llama_batch_init(settings.n_batch, 0, self.n_sequences)

    def _context_params(self) -> Any:
        settings = self.settings
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = settings.n_ctx
        params.n_batch = params.n_ubatch = settings.n_batch
        params.n_seq_max = params.n_outputs_max = self.n_sequences
        params.n_threads = params.n_threads_batch = settings.n_threads
        params.kv_unified = True
        params.flash_attn_type = int(bool(settings.flash_attention))
        params.type_k = params.type_v = _CACHE_TYPES[settings.cache_type]
        params.no_perf = True
        # Else a GPU build computes long batches on the GPU.
        params.op_offload = settings.n_gpu_layers != 0
        params.cb_eval = self._tap.callback
        return params

    def _check_can_judge(self) -> None:
        """Raise ModelBroken for a model that can't judge."""
        if fault := self._fault_as_judge():
            raise ModelBroken(
                f"{self.path}: {fault}, so it can't judge; choose a Qwen2.5 or Qwen3 instruct model."
            )

    def _fault_as_judge(self) -> str:
        """Say why this model can't judge; empty if it can."""
        vocabulary_type = llama_cpp.llama_vocab_type(self._vocab)
        is_spm = vocabulary_type == llama_cpp.LLAMA_VOCAB_TYPE_SPM
        is_bpe = vocabulary_type == llama_cpp.LLAMA_VOCAB_TYPE_BPE
        facts = [getattr(llama_cpp, f"llama_model_{name}")(self._model) for name in _UNSUPPORTED]
        if any(facts) or not (is_spm or is_bpe):
            return "this is not a plain text decoder"
        # A reply is tokenized piece by piece, with no space between. llama.cpp's default is true.
        if is_spm and self.value("tokenizer.ggml.add_space_prefix") != "false":
            return "this tokenizer puts a space before every text, as Llama 2's and Mistral 7B's do"
        if self.number("pooling_type"):
            return "this is a model for embeddings"
        if not find_architecture(self.architecture()).may_judge:
            return f"its architecture, {self.architecture()}, is registered as one that may not judge"
        return ""

    def close(self) -> None:
        # First: an interrupt here may lead to a second call.
        context = self._context
        self._context = None
        if context:
            llama_cpp.llama_batch_free(self._batch)
            llama_cpp.llama_free(context)
        super().close()

    def clear(self, data: bool = False) -> None:
        """Remove all sequences; with `data` clear their cells too."""
        llama_cpp.llama_memory_clear(self._memory, data)

    def fork(self, source: int, target: int) -> None:
        """Let `target` share all cells of `source`; no cell is copied."""
        llama_cpp.llama_memory_seq_cp(self._memory, source, target, -1, -1)

    def drop(self, sequence: int, position: int = 0) -> None:
        """Remove a sequence from `position` on."""
        llama_cpp.llama_memory_seq_rm(self._memory, sequence, position, -1)

    def save(self, sequence: int) -> bytes:
        """Copy the state of one sequence, for `restore`."""
        size = llama_cpp.llama_state_seq_get_size(self._context, sequence)
        buffer = (ctypes.c_uint8 * size)()
        llama_cpp.llama_state_seq_get_data(self._context, buffer, size, sequence)
        return bytes(buffer)

    def restore(self, state: bytes, sequence: int) -> None:
        buffer = (ctypes.c_uint8 * len(state)).from_buffer_copy(state)
        if llama_cpp.llama_state_seq_set_data(self._context, buffer, len(state), sequence) != len(state):
            raise EngineError("llama.cpp could not restore a sequence")

    def decode(self, tokens: Sequence[BatchToken]) -> list[Logits]:
        """Decode `tokens` in batches of at most n_batch; return the logits of those that want them, in order.

        The arrays may be views of llama.cpp's memory, valid until the next call. Raises EngineError where a
        logit is not finite, which damaged weights may cause for some texts only.
        """
        size = even_size(len(tokens), self.settings.n_batch)
        if len(tokens) <= size:
            return self._decode_batch(tokens)
        batches = (tokens[start : start + size] for start in range(0, len(tokens), size))
        return [logits.copy() for batch in batches for logits in self._decode_batch(batch)]

    def states(self, tokens: Sequence[BatchToken], node: str) -> npt.NDArray[np.float32]:
        """Return the values of a node of the graph for each of `tokens`: (tokens, width).

        node  its name, such as "l_out-15" for the residual stream after a layer. Nothing after it is
              computed, so the cells serve only `states` of this layer or lower ones

        Raises EngineError where this build exposes no hidden states, or one is not finite.
        """
        values, _ = self._tapped(tokens, node, goes_on=False)
        return values

    def states_and_logits(
        self, tokens: Sequence[BatchToken], node: str
    ) -> tuple[npt.NDArray[np.float32], list[Logits]]:
        """Return what `states` does, and the logits of those tokens that want them, in order.

        The whole graph is computed, so the cells serve anything. Raises EngineError as `states` and `decode`.
        """
        return self._tapped(tokens, node, goes_on=True)

    def _tapped(
        self, tokens: Sequence[BatchToken], node: str, goes_on: bool
    ) -> tuple[npt.NDArray[np.float32], list[Logits]]:
        """Decode `tokens`, copying a node of the graph; end the graph there unless it `goes_on`."""
        if not hidden_states.are_exposed():
            raise EngineError("this build of llama.cpp exposes no hidden states")
        states = []
        logits: list[Logits] = []
        size = even_size(len(tokens), self.settings.n_batch)
        for batch in with_few_outputs(tokens, size, self.n_sequences):
            with self._tap.copying(node, goes_on):
                # The arrays are views of llama.cpp's memory, valid until the next call.
                logits += [array.copy() for array in self._decode_batch(batch)]
            flat = np.frombuffer(self._tap.copied, np.float32)
            if not flat.size or flat.size % len(batch) or not np.isfinite(flat).all():
                raise EngineError(f"llama.cpp showed no hidden states at {node}")
            states.append(flat.reshape(len(batch), -1))
        return np.concatenate(states), logits

    def _decode_batch(self, tokens: Sequence[BatchToken]) -> list[Logits]:
        batch = self._batch
        batch.n_tokens = len(tokens)
        for i, token in enumerate(tokens):
            batch.token[i] = token.token
            batch.pos[i] = token.position
            batch.n_seq_id[i] = len(token.sequences)
            for k, sequence in enumerate(token.sequences):
                batch.seq_id[i][k] = sequence
            batch.logits[i] = token.needs_logits
        start = time.perf_counter()
        with signals_held():
            status = llama_cpp.llama_decode(self._context, batch)
        self.seconds += time.perf_counter() - start
        if status != 0:
            raise EngineError(f"llama_decode returned {status} for {len(tokens)} tokens")
        logits = [self._logits(i) for i, token in enumerate(tokens) if token.needs_logits]
        if not all(np.isfinite(array).all() for array in logits):
            raise EngineError("the model answers with NaN or infinity")
        return logits

    def _logits(self, index: int) -> Logits:
        """Return the logits of a token of the last batch: (n_vocab,), a view of llama.cpp's memory."""
        pointer = llama_cpp.llama_get_logits_ith(self._context, index)
        return np.ctypeslib.as_array(pointer, shape=(self.n_vocab,))
