"""The auxiliary models: an embedder and a classifier, opened when a metric first needs them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

from localeval.engine.interface import EmbeddingModel, EntailmentModel
from localeval.errors import ModelMissing
from localeval.models import catalog
from localeval.models.catalog import DEFAULT_CLASSIFIER, DEFAULT_EMBEDDER
from localeval.models.files import absolute_path, auto_embedder
from localeval.models.found import is_found_name


class AuxiliaryModels:
    """An embedder and a classifier, opened when first needed.

    Each is given as a catalog name, a folder's path, or a loaded model, which the caller must close.

    threads  number of threads of the models opened here; 0 for the physical cores
    auto     whether the embedder was left to be chosen
    """

    def __init__(
        self,
        embedder: str | os.PathLike[str] | EmbeddingModel = DEFAULT_EMBEDDER,
        classifier: str | os.PathLike[str] | EntailmentModel = DEFAULT_CLASSIFIER,
        threads: int = 0,
    ) -> None:
        self.auto = embedder == catalog.AUTO
        if self.auto:
            embedder = auto_embedder()
        # Kind -> what the caller gave: a name, a path, or a loaded model.
        self._given: dict[str, Any] = {"embedder": embedder, "classifier": classifier}
        self._threads = threads
        # Kind -> the model, once it is loaded here.
        self._opened: dict[str, Any] = {}
        self._lock = threading.Lock()

    def embedder(self) -> EmbeddingModel:
        """Return the embedder, loaded once. Raises ModelMissing or ModelBroken."""
        from localeval.auxiliary.embedder import Embedder  # heavy: numpy

        try:
            model: EmbeddingModel = self._open("embedder", Embedder.load)
        except ModelMissing as error:
            remedy = "choose another with --embedder, or other metrics with -m"
            raise ModelMissing(
                f"answer_relevance and semantic_similarity need an embedder ({remedy}): {error}"
            ) from error
        return model

    def classifier(self) -> EntailmentModel:
        """Return the classifier, loaded once. Raises ModelMissing or ModelBroken."""
        from localeval.auxiliary.hhem import Classifier

        model: EntailmentModel = self._open("classifier", Classifier.load)
        return model

    def sources(self) -> dict[str, str]:
        """Return each model's name or path for `Judge.load`, or a label in angle brackets."""
        return {kind: _source(model) for kind, model in self._given.items()}

    def close(self) -> None:
        """Free the models opened here."""
        for model in self._opened.values():
            model.close()
        self._opened.clear()

    def _open(self, kind: str, load: Callable[..., Any]) -> Any:
        model = self._given[kind]
        if not isinstance(model, str | os.PathLike):
            return model
        # Else two threads could each load it.
        with self._lock:
            if kind not in self._opened:
                self._opened[kind] = load(model, threads=self._threads)
            return self._opened[kind]


def _source(model: Any) -> str:
    """Return a catalog's or found model's name unchanged, a path as an absolute one, or an object's type."""
    if isinstance(model, str) and (model in catalog.entries() or is_found_name(model)):
        return model
    if isinstance(model, str | os.PathLike):
        return str(absolute_path(model))
    from localeval.auxiliary.embedder import Embedder
    from localeval.auxiliary.hhem import Classifier

    # Another class may have a `source` of another meaning.
    if isinstance(model, Embedder | Classifier):
        return model.source
    return f"<{type(model).__name__}>"
