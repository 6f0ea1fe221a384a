"""HHEM's files: the tokenizer and the network, every tensor in its place."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localeval.engine.hhem.unheard import unheard


@dataclass(frozen=True)
class Reader:
    """Texts to token ids: `plain` knows no control token, so no text can hold one."""

    plain: Any
    pad: int
    end: int

    def ids(self, text: str) -> list[int]:
        # A lone surrogate, which no file holds but Python can, becomes a question mark.
        return list(self.plain.encode(text.encode("utf-8", "replace").decode()).ids)

    def row(self, premise: str, hypothesis: str) -> list[int]:
        asked = "Determine if the hypothesis is true given the premise?"
        text = f"{asked}\n\nPremise: {premise}\n\nHypothesis: {hypothesis}"
        return [self.pad, *self.ids(text), self.end]  # the model's own prompt begins with <pad>


def tokenizer(path: Path) -> Reader:
    """The tokenizer in a `tokenizer.json` of the T5 family.

    Its own switch for reading control tokens as text is not enough: they are pieces of the vocabulary too,
    with the best score of all. So here each gets a name that no text can match, one with a space in it.
    """
    from tokenizers import Tokenizer

    data = _json(path)
    try:
        vocabulary = data["model"]["vocab"]
        control = {token["content"]: token["id"] for token in data["added_tokens"]}
        for number in set(control.values()) & set(range(len(vocabulary))):
            vocabulary[number][0] = f" {number}"
        pad, end = control["<pad>"], control["</s>"]
    except (LookupError, TypeError) as error:
        raise ValueError(f"{path.name} is no tokenizer of the T5 family") from error
    data |= {"added_tokens": [], "post_processor": None, "truncation": None, "padding": None}
    return Reader(Tokenizer.from_str(json.dumps(data)), pad, end)


def network(folder: Path) -> Any:
    """The weights in fp32, without dropout. Raises ValueError unless each tensor finds its one place."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")
    fields = _json(folder / "config.json")
    if fields.get("model_type") != "t5":
        raise ValueError(f"config.json is of the model type {fields.get('model_type')}, expected t5")
    with unheard():
        import torch
        from safetensors import safe_open
        from transformers import T5Config, T5ForTokenClassification

        loaded: Any = T5ForTokenClassification.from_pretrained(
            folder,
            config=T5Config.from_dict(fields, num_labels=2),
            key_mapping={r"^t5\.": ""},
            dtype=torch.float32,
            local_files_only=True,
            use_safetensors=True,
            ignore_mismatched_sizes=True,  # `_check` names them; transformers would only point to its log
            output_loading_info=True,
        )
        with safe_open(folder / "model.safetensors", "pt") as file:
            given = set(file.keys())
    net, report = loaded
    _check(net, report, given)
    return net.eval()


def _check(net: Any, report: dict[str, Any], given: set[str]) -> None:
    """Raise ValueError unless the tensors of the file, `given`, are those of the net."""
    faults = {
        "missing": [f"t5.{name}" for name in report["missing_keys"]],
        # What transformers reports as unexpected leaves out names that it holds to be harmless.
        "unexpected": given - {f"t5.{name}" for name in net.state_dict()},
        "of another shape": [f"t5.{name}" for name, *_ in report["mismatched_keys"]],
    }
    if found := [f"{len(names)} {fault}, as {min(names)}" for fault, names in faults.items() if names]:
        raise ValueError(f"tensors: {'; '.join(found)}")
    # The embedding has two names. The file may hold either, or both if they are equal.
    if net.transformer.encoder.embed_tokens.weight is not net.transformer.shared.weight:
        raise ValueError("tensors: t5.transformer.encoder.embed_tokens.weight is not the shared one")


def _json(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path.name} is no JSON object") from error
