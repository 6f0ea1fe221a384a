"""The report as a file: it loads nothing, shows every text as text, keeps its size, speaks both languages."""

from __future__ import annotations

import base64
import builtins
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from localeval import InputError, Result, Sample, Score, evaluate
from localeval.cli import main
from localeval.judgements.calibration.choice import shipped
from localeval.judgements.journal import line_of
from localeval.metrics import METRICS, REASONS
from localeval.report import html
from localeval.report.html.agreement import known
from localeval.report.html.labels import labels
from localeval.report.html.order import standing
from localeval.report.html.shown import shown
from localeval.report.injection import KINDS
from localeval.runs.folder import write_report
from localeval.runs.result import SampleResult
from localeval.testing import FakeEngine, fake_judge
from tests.reports import HOSTILE, METRICS_SHOWN, hostile, large, signature, small

TEA = {"id": "茶", "response": "Tea grows.", "retrieved_contexts": ["Tea grows."]}
ANSWERS: list[dict[str, Any]] = [{"statements": ["Tea grows."]}, {"verdict": 0.9}]


NOTEBOOK = {"table", "thead", "tbody", "tr", "th", "td", "b", "bdi", "p", "small"}


class Page(HTMLParser):
    """What elements and attributes a page has, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)


def rows_of(page: str) -> list[list[object]]:
    found = re.search(r'<script type="application/json" id="rows">(.*?)</script>', page, re.DOTALL)
    assert found
    rows: list[list[object]] = json.loads(found[1])
    return rows


@pytest.mark.parametrize("made", [small, hostile], ids=["small", "hostile"])
def test_the_page_names_no_address_and_no_handler(made: object) -> None:
    result = made() if callable(made) else None
    assert isinstance(result, Result)
    given = {"title": HOSTILE[3], "agreement": {"faithfulness": HOSTILE[1]}}
    page = Page(html.page(result, **given))
    for tag, attributes in page.elements:
        assert not {"src", "srcset", "style", "action", "data", "srcdoc", "formaction"} & set(attributes), tag
        assert not [name for name in attributes if name.startswith("on")], tag
        assert (attributes.get("href") or "#").startswith(("#", "data:,"))
    assert {tag for tag, _ in page.elements} <= {tag for tag, _ in Page(html.page(small())).elements}


def test_every_hostile_text_stands_in_the_page_as_text() -> None:
    page = html.page(hostile(), title=HOSTILE[3], agreement={"faithfulness": HOSTILE[1]})
    text = Page(page).text
    for one in HOSTILE:
        assert shown(one) in text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", page)
    assert [row[1] for row in rows_of(page) if str(row[1]).startswith("0 ")] == ["0 " + HOSTILE[0]]


def test_a_statement_shows_its_numbers_that_are_not_in_the_contexts() -> None:
    text = " ".join(Page(html.page(small())).text.split())
    assert "Numbers not found未找到的数字 in the contexts（上下文） 70, 90" in text


def test_a_statement_shows_what_of_it_decided() -> None:
    text = " ".join(Page(html.page(small())).text.split())
    assert re.search(r"without what stands beside it, which decided:\S* A core\.", text)


def test_the_policy_allows_the_pages_own_style_and_script_and_nothing_else() -> None:
    page = html.page(small())
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy
    assert policy[1].startswith("default-src 'none'; ")
    for tag in ("style", "script"):
        inside = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        assert inside
        digest = base64.b64encode(hashlib.sha256(inside[1].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy[1]
    assert "unsafe" not in policy[1]


def test_a_large_run_keeps_all_scores_and_the_worst_samples_details_within_the_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(html, "MOST_BYTES", 1_000_000)
    monkeypatch.setattr(html, "MOST_DETAILS", 50)
    result = large(80, contexts=20_000, response=4_000, kinds_of=2)
    result.to_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert (tmp_path / "report.html").stat().st_size <= 1_000_000
    rows = rows_of(page)
    assert len(rows) == 80
    assert page.count('<details class="sample"') == html.MOST_DETAILS
    assert "more characters are cut here" in page
    assert "more contexts are left out here" not in page


def test_the_order_is_worst_first_with_faults_turned_round_and_the_unscored_last() -> None:
    def of(name: str, faithful: Score, wrong: Score) -> SampleResult:
        return SampleResult(Sample(id=name), {"faithfulness": faithful, "hallucination": wrong}, {})

    undefined = Score.undefined("no_contexts")
    rows = [
        of("undefined", undefined, undefined),
        of("failed", Score.failed("engine_error"), undefined),
        of("best", Score(1.0, 1.0), Score(0.0, 0.0)),
        of("softer", Score(0.5, 0.4), Score(0.5, 0.5)),
        of("worst", Score(0.2, 0.2), Score(0.9, 0.9)),
        of("soft", Score(0.5, 0.5), Score(0.5, 0.5)),
    ]
    result = Result(rows, ["faithfulness", "hallucination"], signature(["faithfulness", "hallucination"]))
    order = [rows[i].sample.id for i in standing(result).order]
    assert order == ["worst", "softer", "soft", "best", "failed", "undefined"]


def test_every_tenth_of_a_distribution_counts_the_values_in_it() -> None:
    values = [0.0, 0.09, 0.1, 0.3, 0.35, 1.0, 0.999]
    rows = [SampleResult(Sample(id=str(i)), {"faithfulness": Score(v, v)}, {}) for i, v in enumerate(values)]
    tenths = standing(Result(rows, ["faithfulness"], signature(["faithfulness"]))).tenths["faithfulness"]
    assert tenths == [2, 1, 0, 2, 0, 0, 0, 0, 0, 2]


def test_the_page_shows_means_intervals_bounds_signature_and_what_the_judge_card_says() -> None:
    result = small()
    text = Page(html.page(result, agreement={"faithfulness": "AUROC 0.9 on 20 samples"})).text
    mean = result["faithfulness"]
    assert mean.interval
    assert mean.lowest is not None
    for part in (
        f"{mean.value:.3f}",
        f"{mean.interval[0]:.3f}–{mean.interval[1]:.3f}",
        f"{mean.lowest:.3f} to",
        str(result.signature),
        "AUROC 0.9 on 20 samples",
        "out of cells",
        "Samples with text that reads like an attack on the judge: 1",
    ):
        assert part in text


def test_both_languages_say_the_same_things_and_nothing_is_said_in_vain() -> None:
    english, chinese = labels()["en"], labels()["zh"]
    assert set(english) == set(chinese)
    for key, text in english.items():
        if isinstance(text, str):
            assert set(re.findall(r"\{\w+\}", text)) == set(re.findall(r"\{\w+\}", chinese[key])), key
    assert set(chinese["metrics"]) == set(METRICS)
    assert set(chinese["reasons"]) == {*REASONS, "missing"}
    assert {f"attack_{kind}" for kind in KINDS} == {key for key in english if key.startswith("attack_")}
    package = resources.files("localeval.report.html")
    used = "".join(
        f.read_text(encoding="utf-8") for f in package.iterdir() if f.name.endswith((".html", ".py"))
    )
    indirect = ("attack_", "useful_for_")
    told = set(re.findall(r"['\"](\w+)['\"]", used))
    assert [key for key in english if key not in told and not key.startswith(indirect)] == []


def test_the_language_is_that_of_most_samples() -> None:
    one = SampleResult(Sample(id="1", user_input="茶在哪里？"), {"faithfulness": Score(1.0, 1.0)}, {})
    result = Result([one], ["faithfulness"], signature(["faithfulness"]))
    assert '<html lang="zh">' in html.page(result)
    assert '<html lang="en">' in html.page(small())


def test_models_that_read_english_alone_are_named_where_samples_are_not_in_english() -> None:
    rows = [
        SampleResult(Sample(id=str(i), user_input=text), {"faithfulness": Score(1.0, 1.0)}, {})
        for i, text in enumerate(["茶在哪里？", "Where is tea?", "Où?"])
    ]
    beside = {
        "embedder": {"name": "e", "sha256": "e" * 64, "languages": ["en"]},
        "classifier": {"name": "hhem", "sha256": "c" * 64},
    }
    made = signature(["faithfulness"]).model_copy(update=beside)
    text = Page(html.page(Result(rows, ["faithfulness"], made))).text
    assert "which is all that the embedder reads: 1" in text
    assert "which is all that HHEM reads: 1" in text
    assert "which is all that" not in Page(html.page(small())).text


def test_a_run_writes_the_page_and_the_command_makes_it_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "tea & cake"
    result = evaluate([TEA], ["faithfulness"], fake_judge(FakeEngine(ANSWERS)), folder)
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<h1><bdi>tea &amp; cake</bdi></h1>" in page
    main_ends(["report", str(folder), "--html", str(tmp_path / "again.html")], 0)
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == page
    assert str(result) + "\n" == capsys.readouterr().out


def test_a_report_of_what_is_no_run_or_into_no_folder_is_one_sentence_and_exit_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main_ends(["report", str(tmp_path)], 2)
    assert capsys.readouterr().err.count("\n") == 1
    with pytest.raises(InputError, match="can't be written there"):
        small().to_html(tmp_path / "nowhere" / "report.html")


def main_ends(arguments: list[str], code: int) -> None:
    ended = 0
    try:
        main(arguments)
    except SystemExit as end:
        ended = int(end.code or 0)
    assert ended == code


def test_what_a_run_took_is_the_sum_of_its_journals_costs(tmp_path: Path) -> None:
    costs = [{"seconds": 1.5, "rows": 10}, {"seconds": 2.0, "rows": 30}]
    mark = '", "record": {"cost": 9}'  # as an id it is text, and hides nothing behind it
    lines = [line_of({"key": "k", "sample": mark, "cost": cost, "record": {"cost": 9}}) for cost in costs]
    (tmp_path / "journal.jsonl").write_bytes(b"".join([*lines, b'{"torn']))
    write_report(tmp_path, small(), tmp_path / "page.html")
    text = Page((tmp_path / "page.html").read_text(encoding="utf-8")).text
    assert "3.5 s" in text
    assert "40" in text


def test_a_notebook_gets_a_table_of_escaped_text_and_no_script() -> None:
    page = Page(hostile()._repr_html_())
    assert {tag for tag, _ in page.elements} <= NOTEBOOK
    assert "0 " + HOSTILE[0] in page.text
    assert f"{hostile()['faithfulness'].value:.3f}" in page.text
    assert all(name in page.text for name in METRICS_SHOWN)


def test_a_shipped_calibration_in_force_is_told_beside_the_score_and_no_other() -> None:
    own = next(one for one in shipped() if one.language == "en")
    result = small()
    judge = {**result.signature.judge, "sha256": own.judge["sha256"]}
    curve = own.curve.model_dump(mode="json")
    result.signature = result.signature.model_copy(update={"judge": judge, "calibration": {"en": curve}})
    labels = own.fitted_on["labels"]
    figures = known(result)["full_support"]
    assert f">English, {labels} labelled answers: calibration error 0." in figures
    assert f">英文，{labels} 条人工标注的回答：校准误差 0." in figures
    assert f">soft of full_support (P(all supported)): English, {labels}" in known(result)["faithfulness"]
    assert known(result)["faithfulness"] in html.page(result)
    result.signature = result.signature.model_copy(update={"calibration": {"en": {**curve, "slope": 9.0}}})
    assert known(result) == {}


def test_beside_every_other_score_the_page_says_that_no_figures_of_agreement_are_known() -> None:
    result = small()
    unknown = "no figures come with localeval for this metric, judge and settings"
    assert Page(html.page(result)).text.count(unknown) == len(METRICS_SHOWN)
    told = Page(html.page(result, agreement={"faithfulness": "AUROC 0.9"})).text
    assert told.count(unknown) == len(METRICS_SHOWN) - 1


def test_a_metric_that_was_registered_anew_is_defined_as_it_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    result = small()
    for words in ("the old words", "the new words"):
        row = replace(METRICS["hallucination"], name="mine", definition=words)
        monkeypatch.setitem(METRICS, "mine", row)
        result.metrics = ["mine"]
        result.samples = [replace(s, scores={"mine": Score(1.0, 1.0)}) for s in result.samples]
        result._summaries.clear()
        assert words in html.page(result)


def test_what_a_wide_or_long_table_has_no_row_for_is_said_below_it() -> None:
    assert "reads like an attack on the judge: attack" in str(small())
    many = Result(
        [replace(small().samples[0], sample=Sample(id=str(i))) for i in range(60)],
        ["faithfulness"],
        small().signature,
    )
    assert "attack" not in str(many)
    many.samples = [*many.samples, next(s for s in small().samples if s.sample.id == "attack")]
    assert "reads like an attack on the judge: attack" in str(many)


def test_in_a_notebook_too_a_results_text_has_its_table(monkeypatch: pytest.MonkeyPatch) -> None:
    class ZMQInteractiveShell:
        """What rich takes for Jupyter."""

    monkeypatch.setattr(builtins, "get_ipython", ZMQInteractiveShell, raising=False)
    text = str(small())
    assert "undefined" in text.splitlines()[0]
    assert all(any(line.startswith(name) for line in text.splitlines()) for name in METRICS_SHOWN)
