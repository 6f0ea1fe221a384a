"""Tell from the header of a GGUF file whether its model can judge, by the rules of the engine.

The engine asks llama.cpp, once the file is open; here nothing is loaded, so damaged weights are not seen.
"""

from __future__ import annotations

from localeval.engine.architectures import find_architecture
from localeval.engine.memory import model_bytes
from localeval.engine.settings import MIN_CONTEXT, EngineSettings
from localeval.engine.template_probe import fault_of_template
from localeval.models.gguf import TOKENIZERS, GgufHeader

# What llama.cpp calls recurrent, hybrid, diffusion, or one with an encoder (src/llama-arch.cpp).
_RECURRENT = {"mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7"}
_HYBRID = {
    "falcon-h1",
    "granitehybrid",
    "jamba",
    "kimi-linear",
    "lfm2",
    "lfm2moe",
    "nemotron_h",
    "nemotron_h_moe",
    "plamo2",
    "qwen35",
    "qwen35moe",
    "qwen3next",
}
_DIFFUSION = {"dream", "llada", "llada-moe", "rnd1"}
_WITH_ENCODER = {"t5", "t5encoder"}
_NO_PLAIN_DECODERS = _RECURRENT | _HYBRID | _DIFFUSION | _WITH_ENCODER


def fault_as_judge(header: GgufHeader) -> str:
    """Say why the model can't judge, in a few words; empty if nothing in its header speaks against it.

    >>> fault_as_judge(GgufHeader({"tokenizer.ggml.model": "bert"}, 0, "", ""))
    "it has a tokenizer of the kind 'bert'"
    """
    tokenizer = header.metadata.get("tokenizer.ggml.model", "gpt2")
    if (
        header.number("pooling_type")
        or header.metadata.get(f"{header.architecture}.attention.causal") is False
    ):
        return "it is a model for embeddings"
    if tokenizer not in TOKENIZERS:
        return f"it has a tokenizer of the kind {tokenizer!r:.40}"
    if header.architecture in _NO_PLAIN_DECODERS:
        return "it is no plain text decoder"
    # llama.cpp's default is true.
    if tokenizer == "llama" and header.metadata.get("tokenizer.ggml.add_space_prefix", True):
        return "its tokenizer puts a space before every text"
    if not find_architecture(header.architecture).may_judge:
        return f"its architecture, {header.architecture}, is registered as one that may not judge"
    if 0 < header.number("context_length") < MIN_CONTEXT:
        return f"it was trained on {header.number('context_length')} tokens, and a judge needs {MIN_CONTEXT}"
    return _fault_of_template(header)


def _fault_of_template(header: GgufHeader) -> str:
    """Say why the chat template can't be used for a judge, tried in another process; empty if it can."""
    if not header.chat_template:
        return "it has no chat template"
    return fault_of_template(header.chat_template, header.bos, header.eos)


def needed_bytes(header: GgufHeader, size: int, settings: EngineSettings) -> int:
    """Estimate the memory that a judge needs on a CPU, as the engine does once the file is open.

    size  bytes of all files of the model
    """
    return model_bytes(size, header.number, settings)
