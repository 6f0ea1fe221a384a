"""The page on which people label, in a real browser: headless Chromium, from a file, and nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest

from localeval import Result
from localeval.analysis.labelling.draw import LabelDraw, draw_items
from localeval.analysis.labelling.page import PageOptions, label_page
from localeval.analysis.labelling.people import Person, compare_people
from localeval.labels.file import Labels, read_labels
from localeval.text.display import printable_lines
from tests.browser import CHROMIUM, LONG
from tests.labelling.runs import mill, mills, mills_in, run_of
from tests.labelling.test_label_serve import Served
from tests.reports import HOSTILE

pytest.importorskip("playwright", reason="playwright is not installed")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")


class Labeller:
    """A person at a page. `faults` is what must not happen: errors, and requests beyond the file."""

    def __init__(self, browser: Any, folder: Path, draw: LabelDraw, script: str = "", **options: Any) -> None:
        self.draw = draw
        self.path = folder / "page.html"
        self._folder = folder
        self.faults: list[str] = []
        shown = {name: options.pop(name) for name in ("by", "show", "two", "known") if name in options}
        self.path.write_text("".join(label_page(draw, PageOptions(title="mills", **shown))), encoding="utf-8")
        context = browser.new_context(accept_downloads=True, **options)
        if script:
            context.add_init_script(script)
        self.page = context.new_page()
        self.page.set_default_timeout(LONG)
        self.page.on("console", lambda message: self.faults.append(message.text))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("request", lambda request: self._requested(request.url))
        self.page.goto(self.path.as_uri())

    def _requested(self, url: str) -> None:
        own = url.partition("#")[0] == self.path.as_uri() or url.startswith("blob:")
        if not own and not url.startswith("data:,"):
            self.faults.append(url)

    def close(self) -> None:
        self.page.context.close()
        assert self.faults == []

    def type(self, keys: str) -> None:
        for key in keys.split():
            self.page.keyboard.press(key)

    def progress(self) -> str:
        return str(self.page.locator("#progress").inner_text())

    def shown(self) -> str:
        return str(self.page.locator("#item").inner_text())

    def downloaded(self) -> Labels:
        return read_labels(self.download())

    def download(self) -> Path:
        with self.page.expect_download() as waiting:
            self.page.click("#download")
        path = self._folder / str(waiting.value.suggested_filename)
        waiting.value.save_as(path)
        return path

    def values(self) -> list[float | None]:
        return [label.value for label in self.downloaded().labels]


def at_page(
    browser: Any, folder: Path, run: Result | int = 3, unit: Any = "sample", **options: Any
) -> Labeller:
    """A person at a page with all samples of a run, or of so many mills."""
    finished = mills(run) if isinstance(run, int) else run
    return Labeller(browser, folder, draw_items(finished, unit=unit, kind="all"), **options)


def test_a_hundred_labels_by_keyboard_survive_a_reload_and_are_downloaded(
    browser: Any, tmp_path: Path
) -> None:
    ann = Labeller(browser, tmp_path, draw_items(mills(120), number=100), by="Ann")
    keys = ["1", "0", "y", "n", "?", "u"]
    given = [keys[i % 6] for i in range(100)]
    expected = [{"1": 1.0, "y": 1.0, "0": 0.0, "n": 0.0}.get(key) for key in given]
    ann.type(" ".join(given[:57]))
    assert ann.progress() == "57 of 100"
    ann.page.reload()
    assert ann.progress() == "57 of 100"
    ann.type(" ".join(given[57:]))
    assert ann.progress() == "All labelled (100)"
    labels = ann.downloaded()
    assert [label.value for label in labels.labels] == expected
    assert [label.sample.id for label in labels.labels] == list(ann.draw.items)
    assert {label.by for label in labels.labels} == {"Ann"}
    assert (labels.metric, labels.design) == ("faithfulness", ann.draw.design)
    ann.close()


def test_a_downloaded_row_is_the_one_that_the_program_writes(browser: Any, tmp_path: Path) -> None:
    more = {"long": 2**60 + 1, "statement": "of the data", "label": 0.25, "茶": ["叶", None]}
    ann = at_page(browser, tmp_path, run_of([mill(1, **more)]), unit="statement", by="安")
    ann.type("n m")
    ann.page.keyboard.type('It says "1801"\u2028 </script>')
    ann.type("Enter 0")
    written = [json.loads(line) for line in ann.download().read_text("utf-8").split("\n") if line]
    expected = []
    for row_id, item in ann.draw.items.items():
        label = item.label(
            0.0, "安", 'It says "1801"\u2028 </script>' if row_id == list(ann.draw.items)[1] else ""
        )
        expected.append(ann.draw.row(label, row_id))
    assert written == json.loads(json.dumps(expected))
    ann.close()


def test_undo_moves_and_notes(browser: Any, tmp_path: Path) -> None:
    ann = at_page(browser, tmp_path)
    ann.type("1 0 z")
    assert ann.progress() == "1 of 3"
    ann.type("? ArrowLeft m")
    ann.page.keyboard.type("no year 1y0n?z")
    ann.type("Escape ArrowRight 1")
    assert [(label.value, label.note) for label in ann.downloaded().labels] == [
        (1.0, ""),
        (None, "no year 1y0n?z"),
        (1.0, ""),
    ]
    ann.page.reload()
    ann.type("z z z")
    assert ann.progress() == "0 of 3"
    ann.close()


def test_the_buttons_do_what_the_keys_do(browser: Any, tmp_path: Path) -> None:
    ann = at_page(browser, tmp_path)
    for button in ("right", "wrong", "undo", "unsure", "right"):
        ann.page.click(f"#{button}")
    assert ann.values() == [1.0, None, 1.0]
    ann.page.click("#back")
    ann.page.click("#wrong")
    assert ann.values() == [1.0, 0.0, 1.0]
    ann.close()


def test_a_key_that_is_held_down_labels_one_item(browser: Any, tmp_path: Path) -> None:
    ann = at_page(browser, tmp_path)
    for _ in range(5):
        ann.page.keyboard.down("1")
    ann.page.keyboard.up("1")
    assert ann.progress() == "1 of 3"
    ann.close()


@pytest.mark.parametrize(("show", "before", "after"), [("after", 0, 1), ("always", 1, 1), ("never", 0, 0)])
def test_the_judges_verdict_is_shown_when_it_may_be(
    browser: Any, tmp_path: Path, show: str, before: int, after: int
) -> None:
    ann = at_page(browser, tmp_path, show=show)
    assert ann.page.locator(".verdict").count() == before
    ann.type("1 ArrowLeft")
    assert ann.page.locator(".verdict").count() == after
    assert ("0.90" in ann.path.read_text("utf-8")) == (show != "never")
    ann.close()


def test_a_statement_is_marked_in_the_response_and_its_evidence_in_the_context(
    browser: Any, tmp_path: Path
) -> None:
    ann = at_page(
        browser, tmp_path, run_of([mill(7, response="🍵🍵 Tea. Mill 7 was built in 1807.")]), "statement"
    )
    while "Mill 7 was built in 1807." not in ann.page.locator(".said").inner_text():
        ann.type("ArrowRight")
    assert ann.page.locator(".text .sentence").inner_text() == "Mill 7 was built in 1807."
    [source] = ann.page.locator(".contexts .source").all_inner_texts()
    assert source in ("Mill 7 on the Arl was built in 1807.", "It is of brick.")
    ann.close()


def test_where_the_browser_keeps_nothing_the_page_says_so_and_still_downloads(
    browser: Any, tmp_path: Path
) -> None:
    refuse = "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no'); } });"
    ann = at_page(browser, tmp_path, script=refuse)
    assert "keeps nothing" in ann.page.locator("#kept").inner_text()
    ann.type("1 0 ?")
    assert ann.values() == [1.0, 0.0, None]
    ann.close()


def test_labels_are_deleted_only_when_asked_twice(browser: Any, tmp_path: Path) -> None:
    ann = at_page(browser, tmp_path)
    ann.type("1 0")
    ann.page.click("#over")
    assert ann.page.locator("#over").inner_text() == "Delete all 2 labels?"
    assert ann.progress() == "2 of 3"
    ann.page.click("#over")
    assert ann.progress() == "0 of 3"
    ann.close()


def test_two_windows_lose_no_label(browser: Any, tmp_path: Path) -> None:
    ann = at_page(browser, tmp_path)
    other = ann.page.context.new_page()
    other.goto(ann.path.as_uri())
    ann.type("1")
    other.keyboard.press("ArrowRight")
    other.keyboard.press("0")
    assert ann.values() == [1.0, 0.0]
    ann.close()


def test_a_page_of_a_larger_draw_has_the_labels_of_the_smaller_one(browser: Any, tmp_path: Path) -> None:
    run = mills(9)
    ann = Labeller(browser, tmp_path, draw_items(run, number=3))
    ann.type("1 0 1")
    ann.path.write_text("".join(label_page(draw_items(run, number=6), PageOptions(title="mills"))), "utf-8")
    ann.page.reload()
    assert ann.progress() == "3 of 6"
    ann.close()


def test_of_two_people_what_differs_comes_first_and_one_decides(browser: Any, tmp_path: Path) -> None:
    draw = draw_items(mills(4), kind="all")
    rows = list(draw.items)
    ann = Person("Ann", {row: draw.items[row].label(1.0, "Ann") for row in rows})
    ben = {row: draw.items[row].label(1.0, "Ben") for row in rows}
    ben[rows[2]] = draw.items[rows[2]].label(0.0, "Ben", "another year")
    two = compare_people(ann, Person("Ben", ben), draw)
    known = {row: draw.items[row].label(label.value, "Ann & Ben") for row, label in two.agreed.items()}
    cy = Labeller(browser, tmp_path, draw, two=two, known=known, by="Cy")
    assert "Ann and Ben agree on 3 of 4 (75%)" in cy.page.locator(".two").inner_text()
    assert cy.progress() == "3 of 4"
    assert draw.items[rows[2]].result.sample.id in cy.shown()
    assert cy.page.locator(".people tr").all_inner_texts() == ["Ann\tRight\t", "Ben\tWrong\tanother year"]
    cy.type("0")
    by_row = {label.sample.id: (label.value, label.by) for label in cy.downloaded().labels}
    assert by_row[rows[2]] == (0.0, "Cy")
    assert by_row[rows[0]] == (1.0, "Ann & Ben")
    cy.close()


def test_hostile_texts_are_shown_and_do_nothing(browser: Any, tmp_path: Path) -> None:
    samples = [
        mill(i, user_input=text, response=text, retrieved_contexts=[text, text], reference=text)
        for i, text in enumerate(HOSTILE)
    ]
    ann = at_page(browser, tmp_path, run_of(samples), by=HOSTILE[6])
    seen = set()
    for _ in samples:
        seen.update(ann.page.locator("#item .text").evaluate_all("all => all.map((one) => one.textContent)"))
        ann.type("m")
        ann.page.keyboard.type(HOSTILE[0])
        ann.type("Enter 1")
    assert {printable_lines(text) for text in HOSTILE} <= seen
    labels = ann.downloaded().labels
    assert {label.note for label in labels} == {HOSTILE[0]}
    assert {label.sample.response for label in labels} == set(HOSTILE)
    assert ann.page.evaluate("window.pwned") is None
    ann.close()


def test_contexts_of_a_hundred_thousand_characters_are_whole_and_the_evidence_is_in_view(
    browser: Any, tmp_path: Path
) -> None:
    long = "The river has many mills. " * 4_000
    context = f"{long}Mill 1 was built in 1801. {long}"
    sample = mill(1, response="Mill 1 was built in 1801.", retrieved_contexts=["Tea.", context])
    ann = at_page(browser, tmp_path, run_of([sample]))
    assert len(ann.page.locator(".contexts .text").nth(1).evaluate("one => one.textContent")) == len(context)
    ann.type("1")
    assert ann.downloaded().labels[0].sample.retrieved_contexts == ["Tea.", context]
    ann.close()


def test_a_served_page_saves_each_label_and_goes_on_after_a_reload(browser: Any, tmp_path: Path) -> None:
    served = Served(mills_in(tmp_path / "run", 3), tmp_path / "labels.jsonl")
    page = browser.new_context().new_page()
    page.set_default_timeout(LONG)
    faults: list[str] = []
    page.on("console", lambda message: faults.append(message.text))
    page.goto(served.url)
    for key in ("1", "0", "z", "?"):
        with page.expect_response(lambda answer: answer.url.endswith("/label") and answer.status == 204):
            page.keyboard.press(key)
    page.reload()
    assert page.locator("#progress").inner_text() == "2 of 3"
    page.context.close()
    assert "(2 of 3)" in served.end()
    assert [label.value for label in read_labels(served.labels).labels] == [1.0, None]
    assert faults == []


def test_the_language_and_the_theme_can_be_switched(browser: Any, tmp_path: Path) -> None:
    ann = at_page(browser, tmp_path, color_scheme="light")

    def is_dark() -> bool:
        shade = ann.page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, shade.removeprefix("rgb(").removesuffix(")").split(","))) < 200

    assert not is_dark()
    ann.page.emulate_media(color_scheme="dark")
    assert is_dark()
    ann.page.click("#theme")
    assert not is_dark()
    assert "Do the contexts support everything that the response says?" in ann.shown()
    ann.page.click("#language")
    assert "上下文是否支持回答的全部内容？" in ann.shown()
    assert ann.progress() == "0 / 3"
    assert ann.page.get_attribute("#note", "placeholder").startswith("为什么")
    ann.type("1")
    assert "对" in ann.page.locator("#last").inner_text()
    ann.close()


def test_a_page_of_a_chinese_run_is_in_chinese(browser: Any, tmp_path: Path) -> None:
    sample = mill(
        1, user_input="什么时候？", response="水车建于1801年。", retrieved_contexts=["水车建于1801年。"]
    )
    ann = at_page(browser, tmp_path, run_of([sample]))
    assert ann.page.evaluate("document.documentElement.lang") == "zh"
    ann.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_no_wider_than_the_screen(browser: Any, tmp_path: Path, width: int) -> None:
    sample = mill(1, response="x" * 3_000, retrieved_contexts=["y" * 3_000])
    ann = at_page(browser, tmp_path, run_of([sample]), viewport={"width": width, "height": 800})
    room, wide = ann.page.evaluate("[innerWidth, document.documentElement.scrollWidth]")
    assert wide <= room
    ann.close()
