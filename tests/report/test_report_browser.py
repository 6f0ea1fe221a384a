"""The report in a real browser, as a reader uses it: headless Chromium, from a file, and nothing else."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localeval import Result
from localeval.text.display import printable_lines
from tests.browser import CHROMIUM, LONG
from tests.reports import HOSTILE, hostile, large, small

SCALE = int(os.environ.get("LOCALEVAL_REPORT_SAMPLES", "200"))

pytest.importorskip("playwright", reason="playwright is not installed")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")


class Reader:
    """A page of the browser. `faults` is what must not happen: errors, and requests beyond the file."""

    def __init__(self, browser: Any, folder: Path, result: Result, **options: Any) -> None:
        self.path = folder / "report.html"
        result.to_html(self.path, title="answers")
        self.faults: list[str] = []
        self.page = browser.new_context(**options).new_page()
        self.page.set_default_timeout(LONG)
        self.page.on("console", lambda message: self.faults.append(message.text))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("dialog", lambda dialog: self.faults.append(dialog.message))
        self.page.on("request", lambda request: self._requested(request.url))
        self.page.goto(self.path.as_uri())

    def _requested(self, url: str) -> None:
        if url.partition("#")[0] != self.path.as_uri() and not url.startswith("data:,"):
            self.faults.append(url)

    def close(self) -> None:
        self.page.context.close()
        assert self.faults == []

    def ids(self) -> list[str]:
        return [name.strip() for name in self.page.locator("#list .opener b").all_inner_texts()]


@pytest.fixture
def reader(browser: Any, tmp_path: Path) -> Iterator[Reader]:
    reader = Reader(browser, tmp_path, small(), color_scheme="light")
    yield reader
    reader.close()


def test_samples_stand_worst_first_and_can_be_filtered(reader: Reader) -> None:
    assert reader.ids() == ["bad", "attack", "good", "bare", "broken"]
    reader.page.fill("#text", "PICKED  in june")
    assert reader.ids() == ["bad"]
    reader.page.click("#reset")
    for status, ids in (("failed", ["broken"]), ("undefined", ["bare"]), ("flagged", ["attack"])):
        reader.page.select_option("#status", status)
        assert reader.ids() == ids
    reader.page.select_option("#status", "all")
    reader.page.select_option("#metric", "0")
    for to in ("0.5", "0.333"):  # its value is 1 / 3, and shown so
        reader.page.fill("#to", to)
        assert reader.ids() == ["bad"]
    reader.page.fill("#text", "nowhere to be found")
    assert reader.ids() == []
    assert reader.page.inner_text("#found") == "No sample found"


def test_a_column_sorts_both_ways_says_so_and_keeps_what_has_no_score_last(reader: Reader) -> None:
    for column, order, ids in (
        ("0", "ascending", ["bad", "attack", "good", "bare", "broken"]),
        ("0", "descending", ["good", "attack", "bad", "bare", "broken"]),
        ("place", "ascending", ["good", "bad", "attack", "bare", "broken"]),
    ):
        button = reader.page.locator(f'#list thead button[data-sort="{column}"]')
        button.click()
        assert (button.locator("..").get_attribute("aria-sort"), reader.ids()) == (order, ids)


def test_an_opened_sample_shows_its_verdicts_and_a_statement_points_at_its_evidence(reader: Reader) -> None:
    opener = reader.page.locator(".opener").first
    opener.focus()
    reader.page.keyboard.press("Enter")
    assert opener.get_attribute("aria-expanded") == "true"
    detail = reader.page.locator("tr.detail")
    assert "It is picked in June.0.20 It is red.0.05 Ann picks it.0.60" in detail.inner_text()
    assert "Reason 1." in detail.inner_text()
    assert detail.locator(".sentence").nth(1).get_attribute("class") == "sentence p0 no"
    detail.locator(".statements li").nth(1).focus()
    assert detail.locator(".lit").all_inner_texts() == ["It is red.", "It is picked in May."]
    reader.page.keyboard.press("Tab")
    assert detail.locator(".lit").all_inner_texts()[0] == "Ann picks it."
    detail.locator(".statements li").first.hover()
    assert detail.locator(".lit").all_inner_texts()[0] == "It is picked in June."
    opener.click()
    assert reader.page.locator("tr.detail").count() == 0


def test_the_language_switch_changes_every_word_of_the_page(reader: Reader) -> None:
    assert reader.page.locator("h2").all_inner_texts() == ["Overview", "Samples"]
    reader.page.click("#language")
    assert reader.page.evaluate("document.documentElement.lang") == "zh"
    assert reader.page.locator("h2").all_inner_texts() == ["总览", "样本"]
    assert reader.page.inner_text("#found") == "第 1–5 个，共 5 个"
    assert reader.page.get_attribute("#text", "placeholder") == "编号、问题、回答"


def test_the_theme_follows_the_system_and_the_switch_and_a_printed_page_is_light(reader: Reader) -> None:
    def dark() -> bool:
        shade = reader.page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, shade.removeprefix("rgb(").removesuffix(")").split(","))) < 200

    assert not dark()
    reader.page.emulate_media(color_scheme="dark")
    assert dark()
    reader.page.click("#theme")
    assert not dark()
    reader.page.set_viewport_size({"width": 718, "height": 1_000})  # an A4 page within margins of 1 cm
    reader.page.emulate_media(media="print", color_scheme="dark")
    assert not dark()
    room, wide = reader.page.evaluate("[innerWidth, document.documentElement.scrollWidth]")
    assert wide <= room


def test_hostile_texts_are_shown_and_do_nothing(browser: Any, tmp_path: Path) -> None:
    reader = Reader(browser, tmp_path, hostile())
    reader.page.evaluate("document.querySelectorAll('.opener').forEach((e) => e.click())")
    texts = reader.page.evaluate(
        "[...document.querySelectorAll('tr.detail')].map((row) => {"
        " const copy = row.cloneNode(true); copy.querySelectorAll('sub').forEach((e) => e.remove());"
        " return [...copy.querySelectorAll('.text')].map((e) => e.textContent); })"
    )
    # As question, response, context and reference, whole.
    assert {printable_lines(text) for text in HOSTILE} <= {text for row in texts for text in row}
    assert reader.page.evaluate("window.pwned") is None
    reader.close()


def test_without_script_means_and_the_worst_samples_can_be_read(browser: Any, tmp_path: Path) -> None:
    reader = Reader(browser, tmp_path, small(), java_script_enabled=False)
    assert "0.778" in reader.page.inner_text("article >> nth=0")
    reader.page.locator("details.sample > summary").first.click()
    assert "It is red." in reader.page.locator("details.sample .body").first.inner_text()
    assert not reader.page.locator("#browser, #theme").first.is_visible()
    reader.close()


def test_a_large_run_opens_with_its_first_page_and_turns_to_the_next(browser: Any, tmp_path: Path) -> None:
    """200 samples, or as many as LOCALEVAL_REPORT_SAMPLES says; the time hangs on the machine too."""
    reader = Reader(browser, tmp_path, large(SCALE))
    assert reader.path.stat().st_size <= 20_000_000
    assert reader.page.inner_text("#found") == f"1–50 of {SCALE:,}"
    assert len(reader.ids()) == 50
    reader.page.locator(".next").first.click()
    assert reader.page.inner_text("#found") == f"51–100 of {SCALE:,}"
    reader.page.fill("#text", f"sample-{SCALE - 1}")
    assert reader.ids() == [f"sample-{SCALE - 1}"]
    timing = "performance.getEntriesByType('navigation')[0].domComplete"
    print(f"{SCALE} samples: complete after {reader.page.evaluate(timing):.0f} ms")
    reader.close()
