"""The page of a comparison in a real browser: headless Chromium, from a file, and nothing else."""

from pathlib import Path
from typing import Any

import pytest

from localeval.analysis import compare_page
from localeval.analysis.compare_runs import compare_runs
from tests.browser import CHROMIUM, LONG
from tests.finished_runs import result, scored

pytest.importorskip("playwright", reason="playwright is not installed")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")


@pytest.fixture
def page_file(tmp_path: Path) -> Path:
    runs = [result(scored([share] * 8)) for share in (0.9, 0.2, 0.5)]
    path = tmp_path / "page.html"
    path.write_text("".join(compare_page.pieces(compare_runs(runs, ["a", "b", "c"]))), encoding="utf-8")
    return path


def opened(browser: Any, path: Path, faults: list[str], **options: Any) -> Any:
    """Open the page; `faults` gets errors, and requests beyond the file."""
    page = browser.new_context(**options).new_page()
    page.set_default_timeout(LONG)
    page.on("console", lambda message: faults.append(message.text))
    page.on("pageerror", lambda error: faults.append(str(error)))

    def requested(url: str) -> None:
        if url.partition("#")[0] != path.as_uri() and not url.startswith("data:,"):
            faults.append(url)

    page.on("request", lambda request: requested(request.url))
    page.goto(path.as_uri())
    return page


def test_without_script_the_plot_and_the_samples_are_there_and_the_switches_are_not(
    browser: Any, page_file: Path
) -> None:
    faults: list[str] = []
    page = opened(browser, page_file, faults, java_script_enabled=False)
    assert page.locator("svg.plot circle").count() == 3
    assert page.locator(".tools").is_hidden()
    page.locator("details.sample summary").first.click()
    assert page.locator("table.responses").first.is_visible()
    page.context.close()
    assert faults == []


def test_language_and_theme_are_switched_and_nothing_is_loaded(browser: Any, page_file: Path) -> None:
    faults: list[str] = []
    page = opened(browser, page_file, faults, color_scheme="light")
    assert "Samples that changed most" in page.inner_text("body")
    page.click("#language")
    assert "变化最大的样本" in page.inner_text("body")
    assert "Samples that changed most" not in page.inner_text("body")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    page.context.close()
    assert faults == []


def test_on_a_narrow_screen_the_page_is_no_wider_than_the_screen(browser: Any, page_file: Path) -> None:
    page = opened(browser, page_file, [], viewport={"width": 380, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= 380
    page.context.close()
