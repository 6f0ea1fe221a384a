"""Embed texts as unit vectors with a local sentence-transformer folder, whose own code is never run."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from localeval.auxiliary.torch_runtime import silence_transformers, torch_threads
from localeval.engine.settings import EngineSettings
from localeval.errors import ModelBroken
from localeval.models import ModelFiles, resolve
from localeval.models.catalog import DEFAULT_EMBEDDER
from localeval.models.conversion import SAFE, convert_to_safetensors, pinned_pickle
from localeval.text.display import encodable, shorten

# Texts per batch; another number would give other bits.
_BATCH = 32
_PACKAGES = ("sentence-transformers", "transformers", "tokenizers", "torch")
_MODULES = ("Transformer", "Pooling", "Dense", "Normalize")
_WEIGHTS = (SAFE, f"{SAFE}.index.json")


class Embedder:
    """An embedder from a local sentence-transformer folder. Threads may share it: it serves one at a time.

    >>> embedder = Embedder.load("all-minilm-l6-v2")                          # doctest: +SKIP
    >>> a, b = embedder.embed(["Where does tea grow?", "In which places is tea grown?"])    # doctest: +SKIP
    >>> round(float(a @ b), 2)                                                # doctest: +SKIP
    0.93
    """

    def __init__(self, files: ModelFiles, threads: int) -> None:
        """Raises ModelBroken if `files` can't be loaded without running code from the folder."""
        self._network = network_folder(files)
        self.name = files.name
        self.sha256 = files.sha256
        self.source = files.source
        entry = files.entry
        self.languages = entry.languages if entry else ()
        self.prefix = entry.prefix if entry else ""
        self.unrelated = dict(entry.unrelated) if entry else {}
        self._files = files
        self.threads = EngineSettings(n_threads=threads).n_threads
        self._lock = threading.Lock()
        self._model: Any = None

    @classmethod
    def load(cls, model: str | os.PathLike[str] = DEFAULT_EMBEDDER, *, threads: int = 0) -> Embedder:
        """Open a catalog name, a path to any sentence-transformer folder with safetensors, or `auto`.

        `auto` is the best of the catalog's embedders on this machine. The files are checked now; the weights
        are loaded at the first `embed`, and converted then, once, where they are a pickle of the catalog's.
        `threads` is the number of threads; 0 for the physical cores.

        Raises ModelMissing, ModelBroken, or InputError for another number of threads.
        """
        return cls(resolve(model, kind="embedder"), threads)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a row of length 1 for each text, in order: (n, dimensions); (0, 0) for no text.

        The bits of a row depend on which texts are in this call, not on their order or on earlier calls.
        Text beyond the model's longest input is cut off. An empty text is embedded like any other.

        Raises ModelBroken where the model can't be loaded or fails.
        """
        if not texts:
            return np.zeros((0, 0), np.float32)
        prefixed = [self.prefix + encodable(text) for text in texts]
        distinct = sorted(set(prefixed))
        with self._lock:
            if self._model is None:
                self._model = self._load()
            with silence_transformers(), torch_threads(self.threads):
                try:
                    rows = self._model.encode(
                        distinct,
                        batch_size=_BATCH,
                        show_progress_bar=False,
                        convert_to_numpy=True,
                        normalize_embeddings=True,
                    )
                except Exception as error:  # config files that contradict the weights cause many kinds
                    raise _broken(self._files, f"the model fails on a text ({shorten(error)})") from error
        if not np.isfinite(rows).all():
            raise _broken(self._files, "the model gives vectors with NaN or infinity in them")
        index = {text: i for i, text in enumerate(distinct)}
        return np.asarray(rows, np.float32)[[index[text] for text in prefixed]]

    def signature(self) -> dict[str, Any]:
        """Return everything that can change a vector or a score, and the languages that the model reads."""
        signature: dict[str, Any] = {}
        if self.prefix:
            signature["prefix"] = self.prefix
        if self.unrelated:
            signature["unrelated"] = dict(self.unrelated)
        return {
            **signature,
            "name": self.name,
            "sha256": self.sha256,
            "languages": list(self.languages),
            "threads": self.threads,
            "packages": {package: version(package) for package in _PACKAGES},
        }

    def close(self) -> None:
        """Free the weights. A later `embed` loads them again."""
        with self._lock:
            self._model = None

    def _load(self) -> Any:
        convert_to_safetensors(self._files)
        # Otherwise tokenizers warns on stderr at each later fork.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        with silence_transformers():
            from sentence_transformers import SentenceTransformer

            try:
                model = SentenceTransformer(
                    str(self._files.path),
                    device="cpu",
                    trust_remote_code=False,
                    local_files_only=True,
                    model_kwargs={"use_safetensors": True, "torch_dtype": "float32"},
                )
                # transformers fills tensors that the weights lack with random numbers, and lists them only
                # to a direct caller. The weights are mapped: loading them again copies nothing.
                network = model[0].auto_model
                _, report = type(network).from_pretrained(
                    str(self._network),
                    config=network.config,
                    local_files_only=True,
                    use_safetensors=True,
                    output_loading_info=True,
                )
            except Exception as error:  # four libraries, each with errors of its own
                raise _broken(self._files, f"it cannot be loaded ({shorten(error)})") from error
        # Pooling uses the tokens' vectors: the network's own pooler is not needed, and often not in the file.
        missing = sorted(name for name in report["missing_keys"] if not name.startswith("pooler."))
        if missing:
            raise _broken(self._files, f"its weights lack {len(missing)} tensors, as {missing[0]}")
        return model


class _Module(NamedTuple):
    """A module of a sentence-transformer: the name of its class, and its folder, "" for the model's own."""

    class_path: str
    folder: str

    @property
    def class_name(self) -> str:
        return self.class_path.rpartition(".")[2]

    @property
    def is_allowed(self) -> bool:
        """Return whether it is a class of sentence-transformers that is known, in a folder of this one."""
        is_known = self.class_path.startswith("sentence_transformers.") and self.class_name in _MODULES
        return is_known and re.fullmatch(r"[\w-]*", self.folder) is not None


def network_folder(files: ModelFiles) -> Path:
    """Return the folder of the network: the model's own, or one in it.

    Raises ModelBroken for a model that can't be loaded without running its code or opening its pickle.
    """
    modules = _modules(files)
    for module in modules:
        # Up to version 5 sentence-transformers imports, from a local folder, any class that is named.
        if not module.is_allowed:
            raise _broken(
                files,
                f"its modules.json names {shorten(module.class_path)!r} in {shorten(module.folder)!r}, "
                f"expected only {', '.join(_MODULES)} in folders of this one",
            )
        _check_weights(files, module)
    networks = [module.folder for module in modules if module.class_name == "Transformer"]
    return files.path / networks[0] if networks else files.path


def _modules(files: ModelFiles) -> list[_Module]:
    """Read modules.json. Raises ModelBroken."""
    try:
        entries = json.loads((files.path / "modules.json").read_text(encoding="utf-8"))
        return [_Module(str(entry["type"]), str(entry["path"])) for entry in entries]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _broken(files, f"its modules.json cannot be read ({shorten(repr(error))})") from error


def _check_weights(files: ModelFiles, module: _Module) -> None:
    """Raise ModelBroken for a module whose weights are only there as a pickle, or not at all."""
    if module.class_name not in ("Transformer", "Dense"):
        return
    folder = files.path / module.folder
    if any((folder / name).exists() for name in _WEIGHTS):
        return
    # A pickle of the catalog is converted before it is loaded.
    if not module.folder and pinned_pickle(files):
        return
    raise ModelBroken(
        f"{folder}: it has no {SAFE}, and a pickle is not opened, as it can run code; "
        "convert one that you trust, and put the result next to it."
    )


def _broken(files: ModelFiles, fault: str) -> ModelBroken:
    remedy = "give a sentence-transformer folder that works, or a name of the catalog"
    if files.entry:
        remedy = f"run: localeval models fetch {files.entry.name}"
    return ModelBroken(f"{files.path}: {fault}; {remedy}.")
