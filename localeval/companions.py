"""The models beside the judge: an embedder and a classifier, opened when a metric first needs them."""

from __future__ import annotations

import os
from typing import Any

from localeval.errors import ModelMissing
from localeval.judgements.desk import Embeds, Supports

DEFAULT_EMBEDDER = "bge-m3"
DEFAULT_CLASSIFIER = "hhem-2.1-open"


class Companions:
    """Each a catalog name, the path of a folder, or an opened model, which its owner closes."""

    def __init__(
        self,
        embedder: str | os.PathLike[str] | Embeds = DEFAULT_EMBEDDER,
        classifier: str | os.PathLike[str] | Supports = DEFAULT_CLASSIFIER,
    ) -> None:
        self._embedder, self._classifier = embedder, classifier
        self._opened: dict[str, Any] = {}

    def embedder(self) -> Embeds:
        """Raises ModelMissing or ModelBroken."""
        if not isinstance(self._embedder, str | os.PathLike):
            return self._embedder
        if "embedder" not in self._opened:
            from localeval.embedder import Embedder

            try:
                self._opened["embedder"] = Embedder.load(self._embedder)
            except ModelMissing as error:
                others = "or choose --embedder all-minilm-l6-v2 (English), or other metrics with -m"
                raise ModelMissing(f"answer_relevance needs an embedder: {error}, {others}.") from error
        found: Embeds = self._opened["embedder"]
        return found

    def classifier(self) -> Supports:
        """Raises ModelMissing or ModelBroken."""
        if not isinstance(self._classifier, str | os.PathLike):
            return self._classifier
        if "classifier" not in self._opened:
            from localeval.classifier import Classifier

            self._opened["classifier"] = Classifier.load(self._classifier)
        found: Supports = self._opened["classifier"]
        return found

    def sources(self) -> dict[str, str]:
        """What `Judge.load` finds them by again."""
        return {
            "embedder": _source(self._embedder, DEFAULT_EMBEDDER),
            "classifier": _source(self._classifier, DEFAULT_CLASSIFIER),
        }

    def close(self) -> None:
        """Free what was opened here."""
        for model in self._opened.values():
            model.close()
        self._opened.clear()


def _source(given: object, default: str) -> str:
    if not isinstance(given, str | os.PathLike):
        return str(getattr(given, "source", default))
    return os.fspath(given) if isinstance(given, str) else os.path.realpath(given)
