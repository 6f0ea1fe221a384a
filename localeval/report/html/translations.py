"""The words of the report in English and Chinese, and data that is safe inside a script element."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import resources
from typing import Any

from markupsafe import Markup

from localeval.fitted import heads
from localeval.fitted.files import shipped
from localeval.judgements.calibration import Calibration
from localeval.metrics import METRICS, REASONS
from localeval.metrics.signature import Signature
from localeval.text.display import printable_lines

PAGE_LANGUAGES = ("en", "zh")
_SPAN = Markup('<span class="{0}" lang="{0}">{1}</span>')
_SCRIPT_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def own_file(name: str) -> str:
    """Read a file in this folder."""
    return resources.files("localeval.report.html").joinpath(name).read_text(encoding="utf-8")


@lru_cache
def labels() -> dict[str, dict[str, Any]]:
    """Read labels.toml: language -> key -> words; "reasons" is a table in each language."""
    tables: dict[str, dict[str, Any]] = tomllib.loads(own_file("labels.toml"))
    return tables


def words(key: str, language: str, **values: object) -> str:
    """Return the words of `key` in one language, as plain text."""
    text: str = labels()[language][key]
    return text.format(**values) if values else text


def counted(key: str, count: int, language: str, **values: object) -> str:
    """Return the words of "KEY_1" for one, else of "KEY_n" with the number.

    >>> counted("samples", 1, "en"), counted("samples", 2, "en")
    ('1 sample', '2 samples')
    """
    if count == 1:
        return words(f"{key}_1", language, **values)
    return words(f"{key}_n", language, n=count, **values)


@lru_cache(maxsize=4096)
def in_both_languages(key: str, **values: object) -> Markup:
    """Return the words of `key` in both languages, as HTML; values are escaped.

    >>> in_both_languages("scored")
    Markup('<span class="en" lang="en">scored</span><span class="zh" lang="zh">有分</span>')
    """
    return spans({language: words(key, language, **values) for language in PAGE_LANGUAGES})


def named(kind: str, *names: str) -> Markup | str:
    """Return the words of the first name that labels.toml has, under "KIND_NAME"; else the last name.

    A judgement of your own names its decisions by words that the page does not know.

    >>> named("label", "polite")
    'polite'
    """
    for name in names:
        key = f"{kind}_{name}"
        if key in labels()["en"]:
            return in_both_languages(key)
    return printable_lines(names[-1])


def spans(texts: Mapping[str, str]) -> Markup:
    """Return language -> text as HTML, escaped; the page shows only the language it is set to."""
    return Markup("").join(_SPAN.format(language, text) for language, text in texts.items())


def definition(metric: str) -> Markup | str:
    """Return the definition of a metric; a caller's own metric has only the text it was given."""
    english = METRICS[metric].definition if metric in METRICS else ""
    chinese = METRICS[metric].definition_zh if metric in METRICS else ""
    return spans({"en": english, "zh": chinese}) if english and chinese else english


def reason(code: str) -> Markup | str:
    """Return the meaning of a reason code; a code of the caller's own is returned as it is."""
    if code.startswith("missing_"):
        column = code.removeprefix("missing_")
        texts = {language: labels()[language]["reasons"]["missing"] for language in PAGE_LANGUAGES}
        return spans({language: text.format(column=column) for language, text in texts.items()})
    return spans({"en": REASONS[code], "zh": labels()["zh"]["reasons"][code]}) if code in REASONS else code


def known_agreement(signature: Signature) -> dict[str, Markup]:
    """Return metric -> its agreement with people, where a shipped calibration or head was in force.

    The figures are cross-validated on the labels of the fit. A calibration's figures are of P(all supported);
    for `faithfulness`, which has no figures of its own, the text says that they are of `full_support`.
    """
    texts = _agreement_texts(signature)
    return {
        metric.name: spans(texts[metric.agreement])
        for metric in METRICS.values()
        if metric.agreement in texts
    }


def _agreement_texts(signature: Signature) -> dict[str | None, dict[str, str]]:
    """Return the texts of the figures in force: kind (see `Metric.agreement`) -> language -> text."""
    texts: dict[str | None, dict[str, str]] = {}
    calibrations = [
        calibration
        for calibration in shipped(Calibration)
        if calibration.judge.sha256 == signature.judge.get("sha256")
        and signature.calibration.get(calibration.language) == calibration.curve
    ]
    if calibrations:
        figures = _figures("agreement_figures", calibrations)
        texts["calibration"] = figures
        texts["calibration of full_support"] = {
            language: words("of_full_support", language, figures=text) for language, text in figures.items()
        }
    used_heads = [head for head in shipped(heads.Head) if signature.heads.get(head.language) == head.sha256]
    if used_heads:
        texts["head"] = _figures("head_figures", used_heads)
    return texts


def _figures(label: str, fitted: Sequence[Calibration | heads.Head]) -> dict[str, str]:
    """Return the figures of calibrations or heads as a text in each language of the page."""
    texts = {}
    for language in PAGE_LANGUAGES:
        parts = []
        for item in fitted:
            name = words(f"spoken_{item.language}", language)
            parts.append(words(label, language, spoken=name, n=item.fitted_on["labels"], **item.figures))
        texts[language] = words("and", language).join(parts)
    return texts


def for_script(value: Any) -> str:
    """Write `value` as JSON that is safe inside a script element: nothing in it can end the element.

    >>> for_script("</script>")
    '"\\\\u003c/script\\\\u003e"'
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_SCRIPT_ESCAPES)
