"""The one place where a pickle is opened: a catalog model's weights, converted once to safetensors.

Before, all its bytes are hashed and must be the catalog's; then torch reads it with `weights_only`, which
builds tensors and nothing else. A pickle from anywhere else is never opened.
"""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path
from typing import Any

from localeval.errors import ModelBroken
from localeval.models import ModelFiles
from localeval.models.catalog import CatalogFile
from localeval.models.checksums import file_sha256, hash_file, remember
from localeval.text.display import said

PICKLE, SAFE = "pytorch_model.bin", "model.safetensors"
NOTE = f"{SAFE}.sha256"
"""The sums of a conversion and of the pickle it is of, in sha256sum's format."""


def pinned_pickle(files: ModelFiles) -> CatalogFile | None:
    """The catalog's pickle that holds the weights, None where they are no pickle or have no sha256 there."""
    named = {file.name: file for file in files.row.files} if files.row else {}
    pickle = named.get(PICKLE)
    return pickle if pickle and pickle.sha256 and SAFE not in named else None


def convert_once(files: ModelFiles) -> None:
    """See to it that a model with a catalog's pickle has its safetensors file, as it was once written.

    The model's sha256 stays that of the catalog's files. Nothing happens to a model without such a pickle.

    Raises ModelBroken if the pickle is not the catalog's, holds more than tensors, or nothing can be written.
    """
    pickle = pinned_pickle(files)
    if pickle is None:
        return
    source, target, note = (files.path / name for name in (PICKLE, SAFE, NOTE))
    if _is_converted(target, note, pickle.sha256):
        return
    if (found := hash_file(source)) != pickle.sha256:
        raise ModelBroken(
            f"{source} is not the catalog's file: found sha256 {found}, expected {pickle.sha256}; "
            f"run: localeval models fetch {files.name}"
        )
    try:
        _convert(source, target, note, pickle.sha256)
    except Exception as error:  # torch and safetensors raise what they like
        raise ModelBroken(
            f"{source} cannot be converted to {target.name} beside it ({said(error)}); that takes, once, "
            f"{source.stat().st_size:,} bytes of room in a folder that can be written."
        ) from error


def _is_converted(target: Path, note: Path, pickle_sha256: str | None) -> bool:
    """Whether `target` is what the note says was made of this pickle; no file is no conversion yet."""
    try:
        return _noted(note) == {SAFE: file_sha256(target), PICKLE: pickle_sha256}
    except OSError:
        return False


def _noted(note: Path) -> dict[str, str]:
    """The sums in a note: name to sha256."""
    lines = note.read_text(encoding="utf-8", errors="replace").splitlines()
    return {name: sha256 for sha256, _, name in (line.partition("  ") for line in lines)}


def _convert(source: Path, target: Path, note: Path, pickle_sha256: str) -> None:
    """Write the tensors in the pickle `source` to `target`, and then `note`."""
    from safetensors.torch import save_file

    # Made in a folder beside and moved, so that no other process reads half of a file.
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".converting-") as folder:
        made, noted = Path(folder) / target.name, Path(folder) / note.name
        save_file(_tensors(source), made, metadata={"format": "pt"})  # transformers asks for the metadata
        sha256 = hash_file(made)
        noted.write_text(f"{sha256}  {SAFE}\n{pickle_sha256}  {PICKLE}\n", encoding="utf-8")
        made.replace(target)
        noted.replace(note)
    remember(target, sha256)


def _tensors(source: Path) -> dict[str, Any]:
    """The tensors by name, none sharing memory with another: safetensors has no way to say so."""
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
