"""The page on which people label: one file that loads and sends nothing.

Every item is JSON in an element of its own, which the page's script reads when the item is shown, and puts
into text nodes only. What is labelled stays in the browser until it is downloaded as a file of labels; a page
that `--serve` shows sends it to that program instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from jinja2 import Environment
from markupsafe import Markup

from localeval.analysis.labelling.draw import LabelDraw, LabelItem
from localeval.analysis.labelling.people import TwoPeople, kappa_text
from localeval.analysis.labelling.texts import (
    JudgeVerdict,
    TextMark,
    question_asked,
    read_words,
    texts_of,
    verdict_of,
)
from localeval.errors import InputError
from localeval.labels.file import Label, row_json
from localeval.report.html import page_environment
from localeval.report.html.translations import PAGE_LANGUAGES, for_script, spans
from localeval.report.text import number
from localeval.system.versions import digest, own_version
from localeval.text.display import digits, shorten
from localeval.text.script import script

ShowVerdict = Literal["after", "always", "never"]

MAX_ITEMS = 2_000
# The columns of a row that the page fills in.
_FILLED_IN = ("label", "label_by", "label_note")


@dataclass(frozen=True)
class PageOptions:
    """What a page of labels shows.

    title    its heading, as a rule the name of the run
    by       who labels; the page has a field for it
    show     when the judge's verdict is shown: once an item is labelled, always, or never
    known    row id -> a label that is there already
    two      two people's labels, of which one decides; their agreed labels are among `known`
    saved_in the file in which the program that shows the page saves the labels; "" for a page that keeps them
    """

    title: str = ""
    by: str = ""
    show: ShowVerdict = "after"
    known: Mapping[str, Label] | None = None
    two: TwoPeople | None = None
    saved_in: str = ""


def label_page(draw: LabelDraw, options: PageOptions) -> Iterator[str]:
    """Return the page in parts. Raises InputError for more items than a browser shows with ease."""
    if len(draw.items) > MAX_ITEMS:
        raise InputError(
            f"a page can have {MAX_ITEMS:,} items, and {len(draw.items):,} are drawn; draw fewer with -n, or "
            "label in the terminal (-o labels.jsonl)."
        )
    known = options.known or {}
    row_ids = row_order(draw, options.two)
    items = (_item_json(draw, draw.items[row_id], row_id, options) for row_id in row_ids)
    data = {
        "ids": row_ids,
        "key": _storage_key(draw, options),
        "by": options.by,
        "show": options.show,
        "file": _file_name(options, draw),
        "known": {row_id: _known(label) for row_id, label in known.items()},
        "words": {language: _plain_words(language) for language in PAGE_LANGUAGES},
        "metric": draw.metric,
        "served": bool(options.saved_in),
    }
    template = _environment().get_template("label.html")
    return template.generate(
        title=options.title,
        language=_language_of(draw),
        draw=draw,
        design=draw.design,
        two=_agreement(options.two),
        by=options.by,
        saved_in=options.saved_in,
        version=own_version(),
        data=for_script(data),
        items=items,
    )


def row_order(draw: LabelDraw, two: TwoPeople | None) -> list[str]:
    """Return the ids of the rows as they are shown: of two people's labels, what has to be decided first."""
    if two is None:
        return list(draw.items)
    first = [*two.open, *two.agreed]
    shown = set(first)
    return [*first, *(row_id for row_id in draw.items if row_id not in shown)]


def _storage_key(draw: LabelDraw, options: PageOptions) -> str:
    """Return the key under which the browser keeps labels: another one for each who labels, and to decide."""
    people = [person.name for person in options.two.people] if options.two else []
    return f"localeval-labels/{digest([draw.key, options.by, people])[:32]}"


def _file_name(options: PageOptions, draw: LabelDraw) -> str:
    parts = [part for part in ("labels", options.title, draw.metric, options.by) if part]
    return re.sub(r"[^\w.-]+", "-", "-".join(parts))[:100] + ".jsonl"


def _known(label: Label) -> dict[str, Any]:
    return {"label": label.value, "note": label.note, "by": label.by}


def _agreement(two: TwoPeople | None) -> dict[str, str | int] | None:
    """Return the values of the words about two people's agreement."""
    if two is None:
        return None
    one, other = two.people
    return {
        "one": one.name,
        "other": other.name,
        "same": two.same,
        "both": two.both,
        "share": f"{two.same / two.both:.0%}" if two.both else "–",
        "kappa": "" if two.kappa is None else kappa_text(two.kappa).replace(" to ", "–"),
        "open": len(two.open),
    }


def _language_of(draw: LabelDraw) -> str:
    texts = [item.result.sample for item in draw.items.values()]
    chinese = sum(script(f"{one.user_input or ''} {one.response or ''}") == "han" for one in texts)
    return "zh" if 2 * chinese > len(texts) else "en"


def _item_json(draw: LabelDraw, item: LabelItem, row_id: str, options: PageOptions) -> str:
    """Return all that the page shows of an item, as JSON for a script element."""
    sample = item.result.sample
    texts = texts_of(draw, item)
    row = draw.row(item.label(None), row_id)
    head = row_json({name: value for name, value in row.items() if name not in _FILLED_IN})
    data: dict[str, Any] = {
        # The page adds what is labelled, and the closing brace.
        "row": head.removesuffix("}"),
        "id": shorten(sample.id, 120),
        "question": texts.question,
        "response": texts.response,
        "thinks": texts.thinks,
        "statement": texts.statement,
        "of_reference": texts.is_of_reference,
        "reference": texts.reference,
        "marks": {
            "response": _in_utf16(texts.response or "", texts.response_marks),
            "reference": _in_utf16(texts.reference or "", texts.reference_marks),
            "contexts": [
                _in_utf16(text, marks)
                for text, marks in zip(texts.contexts, texts.context_marks, strict=True)
            ],
        },
        "asks": {language: question_asked(draw, item, language)._asdict() for language in PAGE_LANGUAGES},
    }
    if options.show != "never":
        data["verdict"] = _verdict(verdict_of(draw, item))
    if options.two is not None:
        data["people"] = [
            [person.name, *_label_and_note(person.labels.get(row_id))] for person in options.two.people
        ]
    return for_script(data)


def _label_and_note(label: Label | None) -> tuple[float | str | None, str]:
    return ("none", "") if label is None else (label.value, label.note)


def _in_utf16(text: str, marks: Sequence[TextMark]) -> list[TextMark]:
    """Return the marks with offsets as a browser counts them, in units of UTF-16.

    >>> _in_utf16("\U0001f375 tea", [TextMark(2, 5, "source")])
    [TextMark(start=3, end=6, kind='source')]
    """
    if text.isascii() or max(text) <= "\uffff":
        return list(marks)
    converted = []
    position = 0
    units = 0
    for mark in marks:
        start = units + _utf16_length(text[position : mark.start])
        units = start + _utf16_length(text[mark.start : mark.end])
        position = mark.end
        converted.append(TextMark(start, units, mark.kind))
    return converted


def _utf16_length(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _verdict(verdict: JudgeVerdict) -> dict[str, Any]:
    statements = [
        {
            "text": one.text,
            "probability": digits(one.probability or 0.0, one.threshold, 2),
            "tenth": max(0, min(9, int((one.probability or 0.0) * 10))),
            "yes": one.is_yes,
            "reason": one.reason,
        }
        for one in verdict.statements
    ]
    numbers = (
        {"value": number(verdict.value), "soft": number(verdict.soft)} if verdict.value is not None else {}
    )
    return {"says": verdict.says, **numbers, "statements": statements}


def _plain_words(language: str) -> dict[str, str]:
    return {key: text for key, text in read_words()[language].items() if isinstance(text, str)}


def _one_language(key: str, language: str, **values: object) -> str:
    text: str = read_words()[language][key]
    return text.format(**values) if values else text


def _in_both_languages(key: str, **values: object) -> Markup:
    return spans({language: _one_language(key, language, **values) for language in PAGE_LANGUAGES})


def _how_drawn(draw: LabelDraw) -> Markup:
    """Say in both languages how the items were drawn."""
    return spans(
        {
            language: _one_language(
                f"drawn_{draw.design.kind}",
                language,
                units=read_words()[language][f"units_{draw.unit}"],
                drawn=draw.design.drawn,
                of=draw.design.of,
                seed=draw.design.seed,
            )
            for language in PAGE_LANGUAGES
        }
    )


@lru_cache
def _environment() -> Environment:
    environment = page_environment()
    environment.globals.update(t=_in_both_languages, words=_one_language, how_drawn=_how_drawn)
    return environment
