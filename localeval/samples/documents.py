"""The texts of documents: the objects in which retrievers return contexts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

# Where a document keeps its text: LangChain (Python and JS), LlamaIndex, Haystack and RAGChecker. A node of
# LlamaIndex is inside of a node with a score; a document of LangChain that `dumpd` wrote is in "kwargs".
_TEXT_KEYS = ("page_content", "pageContent", "text", "content")
_INNER_KEYS = ("node", "text_resource", "kwargs")
_MAX_DEPTH = 3
_PLAIN = (str, int, float, list, tuple, type(None))


class DocumentText(NamedTuple):
    """The text of a document, and the key that it was found by."""

    text: str
    key: str


def text_of_document(item: Any, depth: int = _MAX_DEPTH) -> DocumentText | None:
    """Return the text of a document, an object of JSON or of Python; None for anything else.

    >>> text_of_document({"node": {"text": "Tea."}, "score": 0.9}), text_of_document({"title": "Tea"})
    (DocumentText(text='Tea.', key='text'), None)
    """
    if isinstance(item, _PLAIN) or depth == 0:
        return None
    for key in _TEXT_KEYS:
        text = _member(item, key)
        if isinstance(text, str):
            return DocumentText(text, key)
    for key in _INNER_KEYS:
        found = text_of_document(_member(item, key), depth - 1)
        if found is not None:
            return found
    return None


def _member(item: Any, key: str) -> Any:
    return item.get(key) if isinstance(item, Mapping) else getattr(item, key, None)
