"""The models beside the judge: an embedder and a classifier, opened when a metric first needs them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from localeval.engine.interface import EmbeddingModel, EntailmentModel
from localeval.errors import InputError, ModelMissing
from localeval.models import catalog
from localeval.models.catalog import DEFAULT_CLASSIFIER, DEFAULT_EMBEDDER
from localeval.models.files import auto_embedder, whole_path
from localeval.system.arguments import describe
from localeval.system.versions import digest


class AuxiliaryModels:
    """Each a catalog name, the path of a folder, or an opened model, which its owner closes.

    threads  how many compute in what is opened here; 0 for the physical cores
    auto     whether nobody named the embedder
    """

    def __init__(
        self,
        embedder: str | os.PathLike[str] | EmbeddingModel = DEFAULT_EMBEDDER,
        classifier: str | os.PathLike[str] | EntailmentModel = DEFAULT_CLASSIFIER,
        threads: int = 0,
    ) -> None:
        self.auto = embedder == catalog.AUTO
        found = auto_embedder() if self.auto else embedder
        self._given: dict[str, Any] = {"embedder": found, "classifier": classifier}
        self._threads = threads
        self._opened: dict[str, Any] = {}
        self._lock = threading.Lock()

    def embedder(self) -> EmbeddingModel:
        """Return the embedder, loaded once. Raises ModelMissing or ModelBroken."""
        from localeval.engine.embedder import Embedder  # heavy: numpy

        try:
            found: EmbeddingModel = self._open("embedder", Embedder.load)
        except ModelMissing as error:
            others = "or choose another --embedder, or other metrics with -m"
            raise ModelMissing(f"answer_relevance needs an embedder: {error}, {others}.") from error
        return found

    def classifier(self) -> EntailmentModel:
        """Return the classifier, loaded once. Raises ModelMissing or ModelBroken."""
        from localeval.engine.hhem import Classifier

        found: EntailmentModel = self._open("classifier", Classifier.load)
        return found

    def sources(self) -> dict[str, str]:
        """Return what `Judge.load` finds them by again, or what `is_callers_own` knows."""
        return {kind: _source(given) for kind, given in self._given.items()}

    def close(self) -> None:
        """Free what was opened here."""
        for model in self._opened.values():
            model.close()
        self._opened.clear()

    def _open(self, kind: str, load: Callable[..., Any]) -> Any:
        given = self._given[kind]
        if not isinstance(given, str | os.PathLike):
            return given
        with self._lock:  # two threads that ask at once would load it twice
            if kind not in self._opened:
                self._opened[kind] = load(given, threads=self._threads)
            return self._opened[kind]


def _source(given: Any) -> str:
    """Return a catalog name as it is, a path from the root on, or an object's type and signature."""
    if isinstance(given, str | os.PathLike):
        return given if isinstance(given, str) and given in catalog.entries() else str(whole_path(given))
    if source := getattr(given, "source", None):
        return str(source)
    told = getattr(given, "signature", str)()  # without one it is refused where it is needed
    return f"<{type(given).__name__} {digest(repr(told))[:16]}>"


def is_callers_own(source: str) -> bool:
    """Tell whether a source is of an object of the caller's own: no name and no whole path begins so."""
    return source.startswith("<")


class _Signature(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")
    __pydantic_extra__: dict[str, JsonValue]
    name: str
    sha256: str


def validate_signature(model: Any, what: str) -> None:
    """Raise InputError where the caller's own embedder or classifier does not tell what it is."""
    try:
        _Signature.model_validate(model.signature())
    except (AttributeError, ValidationError) as error:
        fault = describe(error) if isinstance(error, ValidationError) else "there is none"
        raise InputError(
            f"the {what} is a {type(model).__name__} whose signature() does not fit ({fault}); "
            "it has to give a dict of JSON values with the texts name and sha256."
        ) from error
