"""The words of the page, in English and Chinese."""

import inspect
import re
from typing import Any

from localeval import InputError
from localeval.analysis.labelling import page, texts
from localeval.analysis.labelling.draw import draw_items
from localeval.analysis.labelling.page import PageOptions, label_page
from localeval.analysis.labelling.texts import read_words
from localeval.metrics import METRICS
from localeval.report.html.translations import own_file
from tests.commands import said
from tests.labelling.runs import mills


def placeholders(words: dict[str, Any]) -> dict[str, Any]:
    """Key -> the names that are filled in; tables in the same form."""
    return {
        key: placeholders(text) if isinstance(text, dict) else sorted(re.findall(r"{(\w+)}", text))
        for key, text in words.items()
    }


def test_both_languages_have_the_same_words_with_the_same_values() -> None:
    words = read_words()
    assert placeholders(words["en"]) == placeholders(words["zh"])


def test_every_word_is_used() -> None:
    files = "".join(map(own_file, ("label.html", "label.js", "tools.html")))
    source = files + inspect.getsource(page) + inspect.getsource(texts)
    # Words whose keys are put together of a beginning and the kind, the unit, or the verdict.
    made = re.compile("drawn_|units_|said_")
    keys = [key for key, text in read_words()["en"].items() if isinstance(text, str)]
    assert [key for key in keys if f'"{key}"' not in source and not made.match(key)] == []


def test_what_is_asked_names_metrics_that_there_are() -> None:
    asks = {key for key in read_words()["en"]["asks"] if not key.startswith("statement_")}
    assert asks - {"metric"} <= set(METRICS)


def test_more_items_than_a_page_can_have_are_refused() -> None:
    draw = draw_items(mills(1_001), kind="all", unit="statement")
    assert "a page can have 2,000 items" in said(InputError, label_page, draw, PageOptions())
