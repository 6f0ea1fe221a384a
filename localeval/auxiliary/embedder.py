"""Embed texts as unit vectors with a local sentence-transformer folder, whose own code is never run."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localeval.auxiliary.torch_runtime import silence_transformers, torch_threads
from localeval.engine.interface import EngineSettings
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
        self._network = _network_folder(files)
        self.name, self.sha256 = files.name, files.sha256
        self.languages = files.entry.languages if files.entry else ()
        self.source = files.source
        self.prefix = files.entry.prefix if files.entry else ""
        self.unrelated = dict(files.entry.unrelated) if files.entry else {}
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
        prefix = {"prefix": self.prefix} if self.prefix else {}
        unrelated = {"unrelated": dict(self.unrelated)} if self.unrelated else {}
        model = {"name": self.name, "sha256": self.sha256, "languages": list(self.languages)}
        packages = {package: version(package) for package in _PACKAGES}
        return {**prefix, **unrelated, **model, "threads": self.threads, "packages": packages}

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


def _network_folder(files: ModelFiles) -> Path:
    """Return the folder of the network: the model's own, or one in it.

    Raises ModelBroken for a model that can't be loaded without running its code or opening its pickle.
    """
    # Up to version 5 sentence-transformers imports, from a local folder, any class that modules.json names.
    try:
        entries = json.loads((files.path / "modules.json").read_text(encoding="utf-8"))
        modules = [(str(entry["type"]), str(entry["path"])) for entry in entries]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _broken(files, f"its modules.json cannot be read ({shorten(repr(error))})") from error
    for type_name, path in modules:
        class_name = type_name.rpartition(".")[2]
        subfolder = re.fullmatch(r"[\w-]*", path)
        if not type_name.startswith("sentence_transformers.") or class_name not in _MODULES or not subfolder:
            raise _broken(
                files,
                f"its modules.json names {shorten(type_name)!r} in {shorten(path)!r}, "
                f"expected only {', '.join(_MODULES)} in folders of this one",
            )
        safetensors = any((files.path / path / name).exists() for name in _WEIGHTS)
        if class_name in ("Transformer", "Dense") and not safetensors and (path or not pinned_pickle(files)):
            raise ModelBroken(
                f"{files.path / path}: it has no {SAFE}, and a pickle is not opened, as it can run code; "
                "convert one that you trust, and put the result next to it."
            )
    return files.path / next((path for name, path in modules if name.endswith(".Transformer")), "")


def _broken(files: ModelFiles, fault: str) -> ModelBroken:
    remedy = (
        f"run: localeval models fetch {files.entry.name}"
        if files.entry
        else "give a sentence-transformer folder that works, or a name of the catalog"
    )
    return ModelBroken(f"{files.path}: {fault}; {remedy}.")
