"""The report's own words in English and Chinese, and texts from outside made fit to be looked at."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from localeval.judgements import heads
from localeval.judgements.calibration import Calibration, curves_of, shipped
from localeval.metrics import METRICS, REASONS

if TYPE_CHECKING:
    from localeval.metrics.signature import Signature

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LANGUAGES = ("en", "zh")
_SPAN = Markup('<span class="{0}" lang="{0}">{1}</span>')
_NAMED = (*range(0x202A, 0x202F), *range(0x2066, 0x206A), *range(0x80, 0xA0))
_SIGNS: dict[int, str] = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"},
    **{code: f"[U+{code:04X}]" for code in _NAMED},
    0x7F: "\u2421",
    0x0D: "",
    0x2028: "\n",
    0x2029: "\n",
}
_IN_SCRIPT = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def own_file(name: str) -> str:
    """Read a file of this folder."""
    return resources.files("localeval.report.html").joinpath(name).read_text(encoding="utf-8")


@lru_cache
def labels() -> dict[str, dict[str, Any]]:
    """Read labels.toml: language -> key -> words, with tables "metrics" and "reasons" by their names."""
    read: dict[str, dict[str, Any]] = tomllib.loads(own_file("labels.toml"))
    return read


def words(key: str, language: str, **values: object) -> str:
    """Return the words of `key` in one language, as plain text."""
    text: str = labels()[language][key]
    return text.format(**values) if values else text


@lru_cache(maxsize=4096)
def in_both_languages(key: str, **values: object) -> Markup:
    """Return the words of `key` in both languages, as HTML; values are escaped.

    >>> in_both_languages("scored")
    Markup('<span class="en" lang="en">scored</span><span class="zh" lang="zh">有分</span>')
    """
    return spans({language: words(key, language, **values) for language in LANGUAGES})


def spans(texts: Mapping[str, str]) -> Markup:
    """Return language -> text as HTML of which the page shows its own language; the text is escaped."""
    return Markup("").join(_SPAN.format(language, text) for language, text in texts.items())


def definition(metric: str) -> Markup | str:
    """Say what a metric is; one of the caller's own only in the language in which it was given."""
    english = METRICS[metric].definition if metric in METRICS else ""
    chinese = labels()["zh"]["metrics"].get(metric)
    return spans({"en": english, "zh": chinese}) if english and chinese else english


def reason(code: str) -> Markup | str:
    """Say what a reason code means; one of the caller's own stands for itself."""
    if code.startswith("missing_"):
        column = code.removeprefix("missing_")
        return spans({x: labels()[x]["reasons"]["missing"].format(column=column) for x in LANGUAGES})
    return spans({"en": REASONS[code], "zh": labels()["zh"]["reasons"][code]}) if code in REASONS else code


def known_agreement(signature: Signature) -> dict[str, Markup]:
    """Tell it by metric, where a shipped calibration or head was in force.

    The figures were cross-validated on the labels that it was fitted on. Those of a calibration are of P(all
    supported); beside `faithfulness`, whose mean they are not of, that is said.
    """
    told, curves = {}, curves_of(signature.calibration)
    fitted = [
        one
        for one in shipped()
        if one.judge.sha256 == signature.judge["sha256"] and curves.get(one.language) == one.curve
    ]
    if fitted:
        figures = _figures("agreement_figures", fitted)
        told["full_support"] = spans(figures)
        told["faithfulness"] = spans({x: words("of_full_support", x, figures=figures[x]) for x in LANGUAGES})
    used = [head for head in heads.shipped() if signature.heads.get(head.language) == head.sha256]
    if used:
        told["groundedness"] = spans(_figures("head_figures", used))
    return told


def _figures(label: str, fitted: Sequence[Calibration | heads.Head]) -> dict[str, str]:
    """Word in each language of the page what these were measured to be worth."""
    told = {}
    for x in LANGUAGES:
        parts = []
        for one in fitted:
            spoken, n = words(f"spoken_{one.language}", x), one.fitted_on["labels"]
            parts.append(words(label, x, spoken=spoken, n=n, **one.figures))
        told[x] = words("and", x).join(parts)
    return told


def show_controls(text: str) -> str:
    """Show control characters as their signs, and marks of writing direction by their numbers.

    Line ends stay. It is text still: whoever puts it into a page escapes it.

    >>> show_controls("a\\x00b\\u202ec")
    'a␀b[U+202E]c'
    """
    return text.translate(_SIGNS)


def truncate(text: str, room: int) -> str:
    """Cut `text` to at most `room` bytes of UTF-8, with the sign that it goes on.

    >>> truncate("abcdef", 6), truncate("abcdefg", 6), truncate("茶茶茶", 8)
    ('abcdef', 'abc…', '茶…')
    """
    data = text.encode("utf-8", "replace")
    return text if len(data) <= room else data[: max(0, room - 3)].decode("utf-8", "ignore") + "…"


def clock(seconds: float) -> str:
    """Show a length of time.

    >>> clock(42.26), clock(61), clock(3 * 3600 + 125)
    ('42.3 s', '1:01 min', '3:02:05 h')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02} h" if hours else f"{minutes}:{rest:02} min"


def for_script(value: Any) -> str:
    """Write `value` as JSON that can stand inside a script element: it holds no mark that could end one.

    >>> for_script("</script>")
    '"\\\\u003c/script\\\\u003e"'
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_IN_SCRIPT)
