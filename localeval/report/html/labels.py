"""The report's own words in English and Chinese. Both stand in the page; its language decides."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import Any

from markupsafe import Markup

from localeval.metrics import METRICS, REASONS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LANGUAGES = ("en", "zh")
_SPAN = Markup('<span class="{0}" lang="{0}">{1}</span>')


@lru_cache
def labels() -> dict[str, dict[str, Any]]:
    """Language -> key -> words, and under "metrics" and "reasons" what each of these says."""
    text = resources.files("localeval.report.html").joinpath("labels.toml").read_text(encoding="utf-8")
    read: dict[str, dict[str, Any]] = tomllib.loads(text)
    return read


def words(key: str, language: str, **values: object) -> str:
    """The words of `key` in one language, as plain text."""
    text: str = labels()[language][key]
    return text.format(**values) if values else text


@lru_cache(maxsize=4096)
def both(key: str, **values: object) -> Markup:
    """The words of `key` in both languages, as HTML; values are escaped.

    >>> both("scored")
    Markup('<span class="en" lang="en">scored</span><span class="zh" lang="zh">有分</span>')
    """
    return spans({language: words(key, language, **values) for language in LANGUAGES})


def definition(metric: str) -> Markup | str:
    """What a metric is; one of the caller's own only in the language in which it was given."""
    if metric not in METRICS:
        return ""
    english = METRICS[metric].definition
    chinese = labels()["zh"]["metrics"].get(metric)
    return spans({"en": english, "zh": chinese}) if chinese else english


@lru_cache
def reason(code: str) -> Markup | str:
    """What a reason code says."""
    if code.startswith("missing_"):
        column = code.removeprefix("missing_")
        return spans(
            {
                language: labels()[language]["reasons"]["missing"].format(column=column)
                for language in LANGUAGES
            }
        )
    chinese = labels()["zh"]["reasons"].get(code)
    return spans({"en": REASONS[code], "zh": chinese}) if chinese and code in REASONS else code


def spans(texts: Mapping[str, str]) -> Markup:
    """Language -> text, as HTML of which the page shows its own language; the text is escaped."""
    return Markup("").join(_SPAN.format(language, text) for language, text in texts.items())
