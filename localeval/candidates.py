"""The models on this machine, and what each can do, told from headers and settings; no weights are loaded."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from localeval.auxiliary.embedder import network_folder
from localeval.engine.settings import EngineSettings
from localeval.engine.suitability import fault_as_judge, needed_bytes
from localeval.errors import ModelBroken
from localeval.models import ModelFiles, catalog, catalog_file_path, listing
from localeval.models.catalog import Kind
from localeval.models.files import visible_files
from localeval.models.found import Found, FoundModel
from localeval.models.gguf import read_header, split_files
from localeval.text.display import shorten

MAX_HEADER_BYTES = 100_000_000  # of a safetensors file; the format's own limit


@dataclass(frozen=True)
class Candidate:
    """A model on this machine.

    name            for `--judge` or `--embedder`
    names           all names of the same file
    kind            what it can be used for; None for nothing
    fault           why it can't be used; empty if nothing in its header speaks against it
    size            bytes of its files; 0 if that is not known, as are the following numbers
    quantization    as "Q4_K_M", or the type of most numbers of an embedder, as "F32"
    parameters      number of parameters
    context_length  tokens that it was trained on, or that an embedder reads
    memory          bytes that a judge needs with the default settings, estimated; 0 for others
    """

    name: str
    names: tuple[str, ...]
    path: Path
    kind: Kind | None = None
    fault: str = ""
    size: int = 0
    quantization: str = ""
    parameters: int = 0
    context_length: int = 0
    memory: int = 0

    @property
    def needed_n_ctx(self) -> int:
        """Return the `n_ctx` that a judge trained on fewer tokens than the default needs; 0 for another."""
        is_short = 0 < self.context_length < EngineSettings().n_ctx
        return self.context_length if self.kind == "judge" and is_short else 0

    def row(self) -> dict[str, Any]:
        """Return it as a row for JSON, beside the rows of the catalog."""
        numbers = ("size", "quantization", "parameters", "context_length")
        row = {**asdict(self), "path": str(self.path), "state": "found"}
        return {**row, **{name: row[name] or None for name in numbers}}


def describe(found: Found) -> list[Candidate]:
    """Return what each model that other programs have stored can do, in order."""
    return [_describe(model) for model in found.models]


def judges_of_catalog() -> list[Candidate]:
    """Return the judges of the catalog that are in the models folder, and can be used."""
    candidates = []
    for row in listing():
        if row["kind"] == "judge" and row["state"] in ("present", "verified"):
            entry = catalog.entries()[row["name"]]
            paths = [catalog_file_path(entry, file) for file in entry.files]
            candidates.append(_judge((entry.name,), paths))
    return [candidate for candidate in candidates if not candidate.fault]


def _describe(model: FoundModel) -> Candidate:
    if model.fault:
        return Candidate(model.names[0], model.names, model.path, fault=model.fault)
    if model.kind == "judge":
        return _judge(model.names, split_files(model.path))
    return _embedder(model)


def _judge(names: tuple[str, ...], paths: list[Path]) -> Candidate:
    """Describe a GGUF model by the headers of its files."""
    try:
        header = read_header(paths)
        size = _size(paths)
    except (OSError, ValueError) as error:
        return Candidate(names[0], names, paths[0], fault=f"its header can't be read: {shorten(error)}")
    fault = fault_as_judge(header)
    return Candidate(
        name=names[0],
        names=names,
        path=paths[0],
        kind=None if fault else "judge",
        fault=fault,
        size=size,
        quantization=header.quantization,
        parameters=header.parameters,
        context_length=header.number("context_length"),
        memory=0 if fault else needed_bytes(header, size, EngineSettings()),
    )


def _embedder(model: FoundModel) -> Candidate:
    """Describe a folder of sentence-transformers by its settings and the headers of its weights."""
    files = ModelFiles(model.names[0], model.path, sha256="", size=0, checksums={})
    fault = ""
    values: Counter[str] = Counter()
    size = 0
    try:
        size = _size(visible_files(model.path).values())
        folder = network_folder(files)
        for weights in sorted(folder.glob("*.safetensors")):
            values += _safetensors_values(weights)
    except ModelBroken as error:
        fault = str(error)
    except (OSError, ValueError) as error:
        fault = f"its weights can't be read: {shorten(error)}"
    return Candidate(
        name=model.names[0],
        names=model.names,
        path=model.path,
        kind=None if fault else "embedder",
        fault=fault,
        size=size,
        quantization=max(values, key=values.__getitem__, default=""),
        parameters=values.total(),
        context_length=_longest_input(model.path),
    )


def _safetensors_values(path: Path) -> Counter[str]:
    """Count the values of a safetensors file by their type. Raises ValueError for another format."""
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if length > MAX_HEADER_BYTES:
            raise ValueError(f"{path.name} is no safetensors file")
        header = json.loads(stream.read(length))
    values: Counter[str] = Counter()
    try:
        for name, tensor in header.items():
            if name != "__metadata__":
                values[tensor["dtype"]] += math.prod(tensor["shape"])
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{path.name} is no safetensors file") from error
    return values


def _longest_input(folder: Path) -> int:
    """Return the tokens that an embedder reads of a text; 0 if its settings don't say."""
    for name, key in (
        ("sentence_bert_config.json", "max_seq_length"),
        ("config.json", "max_position_embeddings"),
    ):
        try:
            value = json.loads((folder / name).read_bytes())[key]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if isinstance(value, int):
            return value
    return 0


def _size(paths: Iterable[Path]) -> int:
    return sum(path.stat().st_size for path in paths)
