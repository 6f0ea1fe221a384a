"""A random-weight Qwen2 model of half a megabyte. It can't judge; what it writes must still parse."""

from collections.abc import Sequence
from pathlib import Path

import gguf
import numpy as np

CHATML = (
    "{% for message in messages %}"
    "<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CONTROL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
WORDS = (
    "yes",
    "no",
    "not",
    "supported",
    "mentioned",
    "statement",
    "verdict",
    '":"',
    '","',
    '"}',
    '["',
    '"]',
    "中文",
)
N_LAYERS = 2
N_EMBD = 64
N_HEADS = 4
N_KV = 2
N_FF = 96
N_CTX = 16384


def write_tiny_model(
    path: Path,
    template: str | None = CHATML,
    pooling: int = 0,
    lost: int | None = None,
    tokenizer: str = "gpt2",
    trained: int = N_CTX,
    bos: bool = False,
    added: Sequence[str] = (),
    architecture: str = "qwen2",
) -> Path:
    """Write the model to `path` and return it; with a `pooling` it calls itself a model for embeddings.

    lost          a byte whose embedding is NaN: the model answers with NaN to every text that has it
    trained       number of tokens of context that it says it was trained on
    bos           whether it says that <|endoftext|> stands before every text
    added         texts of tokens that are typed as added by a user; further ones, or some of `CONTROL`
    architecture  what it calls itself
    """
    tokens, merges = _vocabulary()
    tokens += [text for text in added if text not in tokens]
    writer = _begun(path, template, trained, bos, architecture)
    if pooling:
        writer.add_pooling_type(gguf.PoolingType(pooling))
    writer.add_tokenizer_model(tokenizer)
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    types = dict.fromkeys(tokens, gguf.TokenType.NORMAL)
    types |= dict.fromkeys(CONTROL, gguf.TokenType.CONTROL)
    types |= dict.fromkeys(added, gguf.TokenType.USER_DEFINED)
    writer.add_token_types([types[token] for token in tokens])
    writer.add_token_merges(merges)
    writer.add_eos_token_id(tokens.index("<|im_end|>"))
    writer.add_bos_token_id(tokens.index("<|endoftext|>"))
    tensors = _tensors(len(tokens))
    if lost is not None:
        tensors["token_embd.weight"][lost] = np.nan
    return _written(writer, path, tensors)


def write_tiny_spm(path: Path, prefix: bool) -> Path:
    """Write the model with a tokenizer of SentencePiece's kind, which may put a space before every text."""
    control = ["<unk>", "<s>", "</s>"]
    letters = ["▁", *map(chr, range(0x21, 0x7F))]
    tokens = [*control, *(f"<0x{byte:02X}>" for byte in range(256)), *letters]
    kinds = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL]
    kinds += [gguf.TokenType.BYTE] * 256 + [gguf.TokenType.NORMAL] * len(letters)
    writer = _begun(path, CHATML)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([-float(i) for i in range(len(tokens))])
    writer.add_token_types(kinds)
    writer.add_eos_token_id(2)
    writer.add_add_space_prefix(prefix)
    return _written(writer, path, _tensors(len(tokens)))


def _begun(
    path: Path,
    template: str | None,
    trained: int = N_CTX,
    bos: bool = False,
    architecture: str = "qwen2",
) -> gguf.GGUFWriter:
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_context_length(trained)
    writer.add_embedding_length(N_EMBD)
    writer.add_block_count(N_LAYERS)
    writer.add_feed_forward_length(N_FF)
    writer.add_head_count(N_HEADS)
    writer.add_head_count_kv(N_KV)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(10000.0)
    writer.add_add_bos_token(bos)
    if template is not None:
        writer.add_chat_template(template)
    return writer


def _written(writer: gguf.GGUFWriter, path: Path, tensors: dict[str, np.ndarray]) -> Path:
    for name, tensor in tensors.items():
        writer.add_tensor(name, tensor.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _tensors(n_vocab: int) -> dict[str, np.ndarray]:
    normal = np.random.default_rng(0).normal
    kv = N_EMBD // N_HEADS * N_KV
    tensors = {
        "token_embd.weight": normal(0, 0.3, (n_vocab, N_EMBD)),
        "output_norm.weight": np.ones(N_EMBD),
        "output.weight": normal(0, 0.3, (n_vocab, N_EMBD)),
    }
    shapes: dict[str, tuple[int, ...]] = {}
    for name, size in (("attn_q", N_EMBD), ("attn_k", kv), ("attn_v", kv)):
        shapes |= {f"{name}.weight": (size, N_EMBD), f"{name}.bias": (size,)}
    shapes |= {"attn_output.weight": (N_EMBD, N_EMBD), "ffn_gate.weight": (N_FF, N_EMBD)}
    shapes |= {"ffn_up.weight": (N_FF, N_EMBD), "ffn_down.weight": (N_EMBD, N_FF)}
    for i in range(N_LAYERS):
        tensors |= {f"blk.{i}.{name}": normal(0, 0.3, shape) for name, shape in shapes.items()}
        tensors |= {f"blk.{i}.{name}.weight": np.ones(N_EMBD) for name in ("attn_norm", "ffn_norm")}
    return tensors


def _vocabulary() -> tuple[list[str], list[str]]:
    """The 256 bytes as GPT-2 writes them, a few words built from them by merges, the control tokens."""
    # GPT-2's mapping: printable bytes as themselves, the others as letters from U+0100 on.
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    control = [b for b in range(256) if b not in plain]
    letters = {b: chr(b) for b in plain} | {b: chr(0x100 + i) for i, b in enumerate(control)}
    tokens = [letters[b] for b in range(256)]
    merges = []
    for word in WORDS:
        written = "".join(letters[b] for b in word.encode())
        for end in range(2, len(written) + 1):
            if written[:end] not in tokens:
                tokens.append(written[:end])
                merges.append(f"{written[: end - 1]} {written[end - 1]}")
    return [*tokens, *CONTROL], merges
