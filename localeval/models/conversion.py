"""The one place where a pickle is opened: a catalog model's weights, converted once to safetensors.

Its bytes must have the catalog's sha256, and torch reads it with `weights_only`, which builds tensors and
nothing else. A pickle from anywhere else is never opened.
"""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path
from typing import Any

from localeval.errors import ModelBroken
from localeval.models.catalog import CatalogFile
from localeval.models.files import ModelFiles, file_sha256, hash_file, read_sums, remember_sha256
from localeval.text.display import shorten

PICKLE, SAFE = "pytorch_model.bin", "model.safetensors"
NOTE = f"{SAFE}.sha256"  # the sums of a conversion and of the pickle it is of, in sha256sum's format


def pinned_pickle(files: ModelFiles) -> CatalogFile | None:
    """Return the catalog's file of pickled weights; None where there is none, or it has no sha256 there."""
    named = {file.name: file for file in files.entry.files} if files.entry else {}
    pickle = named.get(PICKLE)
    return pickle if pickle and pickle.sha256 and SAFE not in named else None


def convert_to_safetensors(files: ModelFiles) -> None:
    """Convert the model's pinned pickle, if it has one, unless that was done before.

    Raises ModelBroken if the pickle is not the catalog's, holds more than tensors, or no file can be written.
    """
    pickle = pinned_pickle(files)
    if pickle is None:
        return
    source, target, note = (files.path / name for name in (PICKLE, SAFE, NOTE))
    if target.is_file() and read_sums(note) == {SAFE: file_sha256(target), PICKLE: pickle.sha256}:
        return
    if (found := hash_file(source)) != pickle.sha256:
        raise ModelBroken(
            f"{source} is not the catalog's file: found sha256 {found}, expected {pickle.sha256}; "
            f"run: localeval models fetch {files.name}"
        )
    import torch
    from safetensors.torch import save_file

    try:
        # torch.save writes a zip since 2020; only that can be mapped rather than read into memory.
        state = torch.load(source, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(source))
        tensors: dict[str, Any] = {}
        seen: set[int] = set()
        for name, tensor in state.items():  # safetensors has no way to say that two share their memory
            memory = tensor.untyped_storage().data_ptr()
            tensors[name] = tensor.clone() if memory in seen else tensor.contiguous()
            seen.add(memory)
        # In a folder beside and then moved, so that no other process reads half of a file.
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".converting-") as folder:
            made, noted = Path(folder) / SAFE, Path(folder) / NOTE
            save_file(tensors, made, metadata={"format": "pt"})  # transformers asks for the metadata
            sha256 = hash_file(made)
            noted.write_text(f"{sha256}  {SAFE}\n{found}  {PICKLE}\n", encoding="utf-8")
            made.replace(target)
            noted.replace(note)
    except Exception as error:  # torch and safetensors raise what they like
        raise ModelBroken(
            f"{source} cannot be converted to {SAFE} beside it ({shorten(error)}); that takes, once, "
            f"{source.stat().st_size:,} bytes of room in a folder that can be written."
        ) from error
    remember_sha256(target, sha256)
