"""Convert a catalog model's pickled weights to safetensors, once; no other pickle is ever opened.

The pickle must have the catalog's sha256, and torch reads it with `weights_only`, which builds nothing but
tensors.
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

PICKLE = "pytorch_model.bin"
SAFE = "model.safetensors"
NOTE = f"{SAFE}.sha256"  # the sums of the converted file and of its pickle, in sha256sum's format


def pinned_pickle(files: ModelFiles) -> CatalogFile | None:
    """Return the catalog's file of pickled weights; None if there is none, or none with a sha256."""
    by_name = {file.name: file for file in files.entry.files} if files.entry else {}
    pickle = by_name.get(PICKLE)
    return pickle if pickle and pickle.sha256 and SAFE not in by_name else None


def convert_to_safetensors(files: ModelFiles) -> None:
    """Convert the model's pinned pickle, if it has one and it was not converted before.

    Raises ModelBroken if the pickle is not the catalog's, holds more than tensors, or no file can be written.
    """
    pickle = pinned_pickle(files)
    if pickle is None:
        return
    source = files.path / PICKLE
    target = files.path / SAFE
    note = files.path / NOTE
    if target.is_file() and read_sums(note) == {SAFE: file_sha256(target), PICKLE: pickle.sha256}:
        return
    source_sha256 = hash_file(source)
    if source_sha256 != pickle.sha256:
        raise ModelBroken(
            f"{source} is not the catalog's file: found sha256 {source_sha256}, expected {pickle.sha256}; "
            f"run: localeval models fetch {files.name}"
        )
    # It imports torch; a package that is missing is no fault of the file.
    from safetensors.torch import save_file

    try:
        tensors = _read_tensors(source)
        # Written to a temporary folder and then moved, so that no other process reads half a file.
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".converting-") as folder:
            converted = Path(folder) / SAFE
            save_file(tensors, converted, metadata={"format": "pt"})  # transformers asks for the metadata
            sha256 = hash_file(converted)
            new_note = Path(folder) / NOTE
            new_note.write_text(f"{sha256}  {SAFE}\n{source_sha256}  {PICKLE}\n", encoding="utf-8")
            converted.replace(target)
            new_note.replace(note)
    except Exception as error:  # torch and safetensors raise errors of any class
        raise ModelBroken(
            f"{source} cannot be converted to {SAFE} in its folder ({shorten(error)}); make "
            f"{source.stat().st_size:,} bytes of room there, and make the folder writable."
        ) from error
    remember_sha256(target, sha256)


def _read_tensors(source: Path) -> dict[str, Any]:
    """Read the tensors of a pickle; those that share memory are copied, as safetensors can't store them."""
    import torch

    # torch.save writes a zip since 2020; only that can be mapped rather than read into memory.
    state = torch.load(source, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(source))
    tensors: dict[str, Any] = {}
    seen: set[int] = set()
    for name, tensor in state.items():
        memory = tensor.untyped_storage().data_ptr()
        tensors[name] = tensor.clone() if memory in seen else tensor.contiguous()
        seen.add(memory)
    return tensors
