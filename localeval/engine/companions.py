"""The models beside the judge: an embedder and a classifier, opened when a metric first needs them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from localeval.engine.interface import Embeds, Supports
from localeval.errors import InputError, ModelMissing
from localeval.models import catalog
from localeval.models.catalog import DEFAULT_CLASSIFIER, DEFAULT_EMBEDDER
from localeval.models.places import whole_path
from localeval.system.versions import digest
from localeval.text.display import said

M = TypeVar("M")
_Path: TypeAlias = str | os.PathLike[str]


class Companions:
    """Each a catalog name, the path of a folder, or an opened model, which its owner closes.

    threads  how many compute in what is opened here; 0 for the physical cores
    """

    def __init__(
        self,
        embedder: str | os.PathLike[str] | Embeds = DEFAULT_EMBEDDER,
        classifier: str | os.PathLike[str] | Supports = DEFAULT_CLASSIFIER,
        threads: int = 0,
    ) -> None:
        self._embedder, self._classifier, self._threads = embedder, classifier, threads
        self._opened: dict[str, Any] = {}
        self._lock = threading.Lock()

    def embedder(self) -> Embeds:
        """Raises ModelMissing or ModelBroken."""
        return self._model("embedder", self._embedder, _load_embedder)

    def classifier(self) -> Supports:
        """Raises ModelMissing or ModelBroken."""
        return self._model("classifier", self._classifier, _load_classifier)

    def sources(self) -> dict[str, str]:
        """What `Judge.load` finds them by again; of an object of the caller's own, what `is_own` knows."""
        return {"embedder": _source(self._embedder), "classifier": _source(self._classifier)}

    def close(self) -> None:
        """Free what was opened here."""
        for model in self._opened.values():
            model.close()
        self._opened.clear()

    def _model(self, name: str, given: _Path | M, load: Callable[[_Path, int], M]) -> M:
        """The model that was given, or the one at that place: loaded once, and then at hand."""
        if not isinstance(given, str | os.PathLike):
            return given
        with self._lock:  # two threads that ask at once would load it twice
            if name not in self._opened:
                self._opened[name] = load(given, self._threads)
            found: M = self._opened[name]
        return found


def _load_embedder(place: _Path, threads: int) -> Embeds:
    from localeval.engine.embedder import Embedder

    try:
        return Embedder.load(place, threads=threads)
    except ModelMissing as error:
        others = "or choose --embedder all-minilm-l6-v2 (English), or other metrics with -m"
        raise ModelMissing(f"answer_relevance needs an embedder: {error}, {others}.") from error


def _load_classifier(place: _Path, threads: int) -> Supports:
    from localeval.engine.hhem import Classifier

    return Classifier.load(place, threads=threads)


def _source(given: object) -> str:
    """A catalog name as it is; a path as it is found from any folder, whether the model was opened or not.

    An object of the caller's own is found by neither. It is told by its type and its signature, as two of
    them in one run's folder are two models.
    """
    if not isinstance(given, str | os.PathLike):
        if source := getattr(given, "source", None):
            return str(source)
        told = getattr(given, "signature", str)()  # as text: one that no metric uses may tell anything
        return f"<{type(given).__name__} {digest(repr(told))[:16]}>"
    if isinstance(given, str) and given in catalog.rows():
        return given
    return str(whole_path(given))


def is_own(source: str) -> bool:
    """Whether a source is of an object of the caller's own: no catalog name and no whole path begins so."""
    return source.startswith("<")


def check_told(model: Any, what: str) -> None:
    """Raises InputError where the caller's own embedder or classifier does not tell what it is."""
    ask = getattr(model, "signature", None)
    told: Any = ask() if callable(ask) else None
    named = isinstance(told, dict) and all(isinstance(told.get(name), str) for name in ("name", "sha256"))
    if not named or not _is_json(told):
        raise InputError(
            f"the {what} is a {type(model).__name__} whose signature() is {said(repr(told), 80)}; it has to "
            "give a dict of JSON values with the texts name and sha256."
        )


def _is_json(value: Any) -> bool:
    try:
        digest(value)
    except (TypeError, ValueError):
        return False
    return True
