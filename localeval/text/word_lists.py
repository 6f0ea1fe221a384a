"""Read the lists of words, which are data.

They are TOML files in the folder `words` of each room that has text rules.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from functools import lru_cache
from importlib import resources
from typing import Any


@lru_cache
def read_lists(room: str, name: str) -> dict[str, Any]:
    """Return the content of `words/{name}.toml` in a room of the package, such as "claims".

    >>> read_lists("text", "marks")["attributes"].split()[:2]
    ['href', 'src']
    """
    file = resources.files(f"localeval.{room}").joinpath("words", f"{name}.toml")
    return tomllib.loads(file.read_text("utf-8"))


def longest_first(words: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern of the words in which none hides a longer one.

    >>> longest_first(["时", "时候"]).pattern
    '时候|时'
    """
    ordered = sorted(set(words), key=lambda word: (-len(word), word))
    return re.compile("|".join(map(re.escape, ordered)))
