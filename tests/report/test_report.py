"""The report and tables as files: they load and calculate nothing, and show every text as text."""

import base64
import builtins
import csv
import hashlib
import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from localeval import InputError, Result, Sample, Score, evaluate
from localeval.cli import commands
from localeval.engine.interface import EngineError
from localeval.metrics import METRICS, REASONS
from localeval.report import html
from localeval.report.html.detail import detail
from localeval.report.html.translations import labels
from localeval.report.tables import cell
from localeval.testing import FakeEngine, fake_judge
from localeval.text.display import printable_lines
from localeval.text.injection import KINDS
from tests.commands import said
from tests.reports import HOSTILE, METRICS_SHOWN, Page, hostile, judged, large, plain, small

FULL = Score(1.0, 1.0)


def rows_of(page: str) -> list[list[Any]]:
    (rows,) = re.findall(r'<script type="application/json" id="rows">(.*?)</script>', page, re.DOTALL)
    return list(json.loads(rows))


def page_of(result: Result, title: str = "") -> str:
    return "".join(html.pieces(result, title))


def text_of(result: Result) -> str:
    return " ".join(Page(page_of(result)).text.split())


@pytest.mark.parametrize("sort", [small, hostile])
def test_the_page_names_no_address_and_no_handler(sort: Callable[[], Result]) -> None:
    page = Page(page_of(sort(), title=HOSTILE[3]))
    for tag, attributes in page.elements:
        assert not {"src", "srcset", "style", "action", "data", "srcdoc", "formaction"} & set(attributes), tag
        assert not [name for name in attributes if name.startswith("on")], tag
        assert (attributes.get("href") or "#").startswith(("#", "data:,"))
    assert {tag for tag, _ in page.elements} <= {tag for tag, _ in Page(page_of(small())).elements}


def test_every_hostile_text_stands_in_the_page_as_text() -> None:
    page = page_of(hostile(), title=HOSTILE[3])
    page_text = Page(page).text
    assert [text for text in HOSTILE if printable_lines(text) not in page_text] == []
    assert [row[1] for row in rows_of(page) if row[1].startswith("0 ")] == ["0 " + HOSTILE[0]]
    page += page_of(plain({"a": {"faithfulness": Score.undefined("".join(HOSTILE))}}))
    assert all(line.isprintable() for line in page.split("\n"))  # no control character, no mark of direction


def test_the_policy_allows_the_pages_own_style_and_script_and_nothing_else() -> None:
    page = page_of(small())
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        (inside,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_a_large_run_keeps_what_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "MAX_BYTES", 600_000)
    path = tmp_path / "report.html"
    large(30, contexts=70_000, response=40_000, kinds_of=2).to_html(path)
    page = path.read_text(encoding="utf-8")
    assert path.stat().st_size <= 600_000
    assert len(rows_of(page)) == 30
    number = page.count('<details class="sample"')
    assert 3 < number < 30
    assert f"The {number} worst samples show their texts" in page


def test_of_very_many_samples_the_worst_are_listed_and_as_many_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "MAX_LISTED", 6)
    result = plain({str(tenth): {"faithfulness": Score(tenth / 10, tenth / 10)} for tenth in range(10)})
    page = page_of(result)
    ids = [int(row[1]) for row in rows_of(page)]
    assert (ids[:3], len({*ids}), ids) == ([0, 1, 2], 6, sorted(ids))
    assert "6 of 10 samples are listed" in Page(page).text
    assert rows_of(page) == rows_of(page_of(result))


def test_the_order_is_worst_first_with_faults_turned_round_and_tenths_are_counted() -> None:
    undefined = Score.undefined("no_contexts")
    scores = {
        "undefined": (undefined, undefined),
        "failed": (Score.failed("engine_error"), undefined),
        "best": (FULL, Score(0.0, 0.0)),
        "softer": (Score(0.5, 0.4), Score(0.5, 0.5)),
        "worst": (Score(0.2, 0.2), Score(0.9, 0.9)),
        "soft": (Score(0.5, 0.5), Score(0.5, 0.5)),
    }
    page = page_of(plain({name: {"faithfulness": a, "hallucination": b} for name, (a, b) in scores.items()}))
    assert [row[1] for row in rows_of(page)] == ["worst", "softer", "soft", "best", "failed", "undefined"]
    # In each tenth from 0 to 1 so many values of faithfulness: 0.2, two of 0.5, and 1.
    assert ": 0, 0, 1, 0, 0, 2, 0, 0, 0, 1" in Page(page).text


def test_the_page_shows_means_intervals_bounds_signature_and_what_is_behind_the_scores() -> None:
    result = small()
    mean = result["faithfulness"]
    assert mean.interval
    text = text_of(result)
    for part in (
        f"{mean.value:.3f}",
        f"{mean.interval[0]:.3f}–{mean.interval[1]:.3f}",
        f"{mean.lowest:.3f} to",
        str(result.signature),
        "out of cells",
        "Samples with text that looks like an attack on the judge: 1",
        "Numbers not found未找到的数字 in the contexts（上下文） 70, 90",
    ):
        assert part in text
    assert re.search(r"shorter form, which is less supported:\S* A core\.", text)


def test_the_list_shows_a_score_as_the_tables_do() -> None:
    result = plain({"a": {"faithfulness": Score(0.0414597, 0.2634993)}})
    [[*_, (value, soft)]] = rows_of(page_of(result))
    assert all(f"{shown:.3f}" in str(result) for shown in (value, soft))


def test_a_probability_just_below_the_threshold_is_not_shown_as_the_threshold() -> None:
    sample = small().samples[1].sample
    text = text_of(Result([judged(sample, [0.4961, 0.726])], METRICS_SHOWN, small().signature))
    assert ("0.496 not supported" in text, "0.73 supported" in text) == (True, True)
    sample = Sample(user_input="Where?", retrieved_contexts=["Tea grows."])
    judge = fake_judge(FakeEngine([{"verdict": 0.697}, {"verdict": 0.8}]))
    assert "contexts: 0.697" in text_of(evaluate([sample], ["context_relevance"], judge))  # 0.7 answers


def test_both_languages_say_the_same_things() -> None:
    english, chinese = labels()["en"], labels()["zh"]
    assert set(english) == set(chinese)
    for key, text in english.items():
        if isinstance(text, str):
            assert {*re.findall(r"\{.+?\}", text)} == {*re.findall(r"\{.+?\}", chinese[key])}
    assert [name for name, metric in METRICS.items() if not metric.definition_zh] == []
    assert set(chinese["reasons"]) == {*REASONS, "missing"}
    assert {f"attack_{kind}" for kind in KINDS} == {key for key in english if key.startswith("attack_")}


def test_the_language_is_that_of_most_samples_and_models_that_read_english_alone_are_named() -> None:
    questions = ["茶在哪里？", "Where is tea?", "茶是绿的。"]
    result = plain({"a": {"faithfulness": FULL}})
    read: list[dict[str, Any]] = [{}, *[dict(small().samples[0].records)] * 2]  # nothing read the first
    result.samples = [
        replace(result.samples[0], sample=Sample(user_input=text), records=records)
        for text, records in zip(questions, read, strict=True)
    ]
    facts = {"name": "hhem", "sha256": "e" * 64, "languages": ["en"]}
    result.signature = result.signature.model_copy(update={"embedder": facts, "classifier": facts})
    for model in ("the embedder", "HHEM"):
        assert f"the only language of {model}: 1" in text_of(result)
    assert '<html lang="zh">' in page_of(result)
    assert "the only language of" not in text_of(small())
    assert '<html lang="en">' in page_of(small())
    result.samples = result.samples[:2]
    assert '<html lang="en">' in page_of(result)  # one of each


def test_an_embedder_that_takes_unrelated_questions_for_alike_is_told_in_table_and_page() -> None:
    result = small()
    assert "unrelated" not in str(result) + text_of(result)
    facts = {"name": "e", "sha256": "e" * 64, "languages": ["en"], "unrelated": {"en": 0.74, "zh": 0.83}}
    result.signature = result.signature.model_copy(update={"embedder": facts})
    for text in (str(result), text_of(result)):
        assert "cosine of 0.74" in text
        assert ("0.83 in Chinese" in text, "cosine of 0.83" in text) == (False, False)  # it reads no Chinese


def test_a_drawn_question_with_a_foreign_word_is_told_with_the_word() -> None:
    whole = small().samples[0]
    questions: Any = whole.records["questions"]
    draws = (questions.draws[0].model_copy(update={"foreign": "zebra"}), *questions.draws[1:])
    records = {**whole.records, "questions": questions.model_copy(update={"draws": draws})}
    result = Result([replace(whole, records=records)], METRICS_SHOWN, small().signature)
    assert "the response lacks: good" in str(result)
    assert "zebra" in text_of(result)
    assert "zebra" not in text_of(small())


def test_a_context_that_only_repeats_the_question_is_told() -> None:
    whole = small().samples[0]
    useful = whole.records["useful"].model_copy(update={"repeats": (0,)})
    told = Result(
        [replace(whole, records={**whole.records, "useful": useful})], METRICS_SHOWN, small().signature
    )
    assert "only repeats the question" in text_of(told)
    assert "only repeats the question" not in text_of(small())


def test_thinking_and_another_language_are_noted_whatever_was_judged() -> None:
    """Here no statement is made and nothing read."""
    texts = ["<think>Hm.</think>Tea grows.", "Der Tee wächst in den Bergen und wird im Frühling gepflückt."]
    result = plain({"a": {"answer_relevance": FULL}})
    [first] = result.samples
    result.samples = [replace(first, sample=Sample(id=str(i), response=text)) for i, text in enumerate(texts)]
    first_row, second_row = (row for row in str(result).splitlines() if row[:2] in ("0 ", "1 "))
    assert "<think> removed" in first_row
    assert "neither English nor Chinese" in second_row
    details = [detail(one, 0.5) for one in result.samples]
    assert [(d["thinking"], d["other_language"]) for d in details] == [(True, False), (False, True)]


def test_the_page_says_where_its_search_ends() -> None:
    result = plain({"a": {"answer_relevance": FULL}})
    assert "The search covers" not in text_of(result)
    result.samples = [replace(result.samples[0], sample=Sample(response="Tea. " * 2000 + "zebra"))]
    assert "The search covers the first 4000 bytes" in text_of(result)


def test_a_run_writes_the_page_and_the_command_makes_it_again(tmp_path: Path) -> None:
    folder, again = tmp_path / "tea & cake", tmp_path / "again.html"
    judge = fake_judge(FakeEngine([{"statements": ["Tea grows."]}, {"verdict": 0.9}]))
    tea = {"id": "茶", "response": "Tea grows.", "retrieved_contexts": ["Tea grows."]}
    result = evaluate([tea], ["faithfulness"], judge, folder)
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<h1><bdi>tea &amp; cake</bdi></h1>" in page
    command = CliRunner().invoke(commands, ["report", str(folder), "--html", str(again)])
    assert (command.exit_code, again.read_text(encoding="utf-8")) == (0, page)
    assert str(result) + "\n" in command.output
    assert "can't be written there" in said(InputError, result.to_html, tmp_path / "nowhere" / "report.html")


def test_a_notebook_shows_the_printed_table_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    page = Page(hostile()._repr_html_())
    assert (page.elements, page.text) == ([("pre", {})], str(hostile()))
    # What rich takes for Jupyter; there too the text has its table.
    monkeypatch.setattr(builtins, "get_ipython", type("ZMQInteractiveShell", (), {}), raising=False)
    lines = str(small()).splitlines()
    assert all(any(line.startswith(name) for line in lines) for name in METRICS_SHOWN)


EVIL = "=HYPERLINK(1)"
ROWS = [
    ("茶", "Tea grows. It has 7 or 1,900 songs.", "Tea grows."),
    (EVIL, "@Tea sings.", "=Tea sings."),
    ("c", "", "Tea grows."),
    ("d", "Tea rests.", "Tea grows."),
]
ANSWERS: list[Any] = [{"verdict": 0.75}, {"verdict": 0.5}, {"reason": "It says so."}, {"reason": "-It may."}]
ANSWERS += [{"verdict": 0.25}, {"reason": "+Nothing."}, EngineError("broken")]


def rows(path: Path) -> list[list[str]]:
    assert path.read_bytes().startswith(b"\xef\xbb\xbfid,")
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))


def test_tables_have_a_row_a_sample_or_statement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = [
        {"id": name, "response": response, "retrieved_contexts": [context], "faithfulness": "mine"}
        for name, response, context in ROWS
    ]
    judge = fake_judge(FakeEngine(ANSWERS))
    result = evaluate(samples, ["faithfulness"], judge, tmp_path, statements="sentences", explain=True)
    assert rows(tmp_path / "scores.csv") == [
        ["id", *("faithfulness" + part for part in ("", "_soft", "_status", "_reason"))],
        ["茶", "1.0", "0.625", "scored", ""],
        [f"'{EVIL}", "0.0", "0.25", "scored", ""],
        ["c", "", "", "undefined", "no_statements"],
        ["d", "", "", "failed", "engine_error"],
    ]
    tea, songs, sings = "Tea grows.", "It has 7 or 1,900 songs.", "'@Tea sings."
    assert rows(tmp_path / "statements.csv")[1:] == [
        ["茶", "support", tea, tea, "0.75", "1", tea, "0", "", "", "It says so.", ""],
        ["茶", "support", songs, songs, "0.5", "1", "", "", "7 1900", "", "'-It may.", ""],
        [f"'{EVIL}", "support", sings, sings, "0.25", "0", "'=Tea sings.", "0", "", "", "'+Nothing.", ""],
    ]
    frame = result.to_pandas()
    assert list(frame.columns) == [
        *("id", "response", "retrieved_contexts", "sample_faithfulness"),
        *("faithfulness", "faithfulness_soft", "faithfulness_status", "faithfulness_reason"),
    ]
    assert frame["faithfulness_reason"].tolist() == ["", "", "no_statements", "engine_error"]
    # A sample's own column with the name of a score is kept beside it.
    first = frame.iloc[0][["sample_faithfulness", "faithfulness", "faithfulness_soft"]]
    assert first.tolist() == ["mine", 1, 0.625]
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert "pip install" in said(InputError, result.to_pandas)


def test_what_is_not_judged_stands_in_table_statements_and_page_with_its_reason(tmp_path: Path) -> None:
    sample = {
        "id": "a",
        "response": "Sure! Tea grows. The price is not mentioned in the passages.",
        "retrieved_contexts": ["Tea grows."],
    }
    judge = fake_judge(FakeEngine([{"verdict": 0.75}]))
    result = evaluate([sample], ["faithfulness"], judge, tmp_path, statements="sentences")
    assert "not judged: 1 refusal" in str(result)
    assert [(row[2], row[-1]) for row in rows(tmp_path / "statements.csv")[2:]] == [
        ("Sure!", "courtesy"),
        ("The price is not mentioned in the passages.", "refusal"),
    ]
    stored = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert stored["samples"][0]["unjudged"] == {"courtesy": 1, "refusal": 1}
    page = page_of(result)
    assert [a["class"] for tag, a in Page(page).elements if a.get("title")] == ["unjudged", "unjudged"]
    assert "1 × a courtesy" in " ".join(Page(page).text.split())


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\uff1d"])
def test_text_that_a_spreadsheet_would_calculate_has_an_apostrophe_before_it(sign: str) -> None:
    for before in ("", " ", "\t", "\r", "\n"):
        assert str(cell(f"{before}{sign}cmd|' /C calc'!A0")).startswith("'")
    for before in ("a;", "a\t", "a; ", "a\n", 'a;"', "=b;"):  # where some spreadsheets begin a cell
        assert str(cell(f"{before}{sign}1+1")).removeprefix("'") == f"{before}'{sign}1+1"
    # Other text and numbers stay as they are, but for control characters.
    for content in (f"a{sign}b", f"2{sign}1", "", "茶\n\t", -0.5, None):
        assert cell(content) == content
    assert cell("a\x00b\x1b[31m\r\nc") == "a b [31m\nc"


class _Elsewhere(FakeEngine):
    """A judge that would begin yes or no with a probability of `mass` only."""

    def __init__(self, answers: list[dict[str, Any]], mass: float) -> None:
        super().__init__(answers)
        self.mass = mass

    def generate(self, *given: Any, **options: Any) -> Any:
        return [replace(reply, mass={"verdict": self.mass}) for reply in super().generate(*given, **options)]


@pytest.mark.parametrize(("mass", "is_noted"), [(0.49, True), (0.5, False), (1.0, False)])
def test_a_judge_that_would_rather_write_something_else_is_noted(mass: float, is_noted: bool) -> None:
    engine = _Elsewhere([{"statements": ["Tea grows."]}, {"verdict": 0.9}], mass)
    sample = {"id": "a", "response": "Tea grows.", "retrieved_contexts": ["Tea grows."]}
    result = evaluate([sample], ["faithfulness"], fake_judge(engine))
    record: Any = result.samples[0].records["support"]
    assert (record.verdicts[0].probability, record.verdicts[0].mass) == (0.9, mass)
    assert ("neither yes nor no likely" in str(result)) == is_noted
    assert ("rather write something else" in text_of(result)) == is_noted
