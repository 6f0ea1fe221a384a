"""The page: it loads and calculates nothing, and shows every text as text."""

import base64
import builtins
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from localeval import InputError, Result, Sample, Score, evaluate
from localeval.cli import commands
from localeval.metrics import METRICS, REASONS
from localeval.report import html
from localeval.report.html.detail import detail
from localeval.report.html.translations import labels
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


def test_the_list_has_a_hostile_id_as_it_is_written() -> None:
    ids = [row[1] for row in rows_of(page_of(hostile()))]
    assert f"0 {HOSTILE[0]}" in ids


def test_the_page_has_no_control_character_and_no_mark_of_direction() -> None:
    hostile_reason = plain({"a": {"faithfulness": Score.undefined("".join(HOSTILE))}})
    for page in (page_of(hostile(), title=HOSTILE[3]), page_of(hostile_reason)):
        assert all(line.isprintable() for line in page.split("\n"))


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
    assert ids[:3] == [0, 1, 2]
    assert len(set(ids)) == 6
    assert ids == sorted(ids)
    assert "6 of 10 samples are listed" in Page(page).text
    assert rows_of(page) == rows_of(page_of(result))


UNDEFINED = Score.undefined("no_contexts")


def ids_in_order(scores: dict[str, dict[str, Score]]) -> list[str]:
    """The ids of the samples as the page lists them."""
    return [row[1] for row in rows_of(page_of(plain(scores)))]


def test_samples_come_worst_first_by_value_then_by_soft() -> None:
    scores = {"best": FULL, "soft": Score(0.5, 0.5), "softer": Score(0.5, 0.4), "worst": Score(0.2, 0.2)}
    order = ids_in_order({name: {"faithfulness": score} for name, score in scores.items()})
    assert order == ["worst", "softer", "soft", "best"]


def test_of_a_metric_where_lower_is_better_the_highest_is_worst() -> None:
    order = ids_in_order(
        {
            "good": {"hallucination": Score(0.0, 0.0)},
            "bad": {"hallucination": Score(0.9, 0.9)},
            "middle": {"hallucination": Score(0.5, 0.5)},
        }
    )
    assert order == ["bad", "middle", "good"]


def test_several_metrics_count_by_their_mean_turned_round_where_lower_is_better() -> None:
    order = ids_in_order(
        {
            "1 and 1": {"faithfulness": FULL, "hallucination": Score(0.0, 0.0)},
            "1 and 0.3": {"faithfulness": FULL, "hallucination": Score(0.7, 0.7)},
            "0.5 and 0.5": {"faithfulness": Score(0.5, 0.5), "hallucination": Score(0.5, 0.5)},
        }
    )
    assert order == ["0.5 and 0.5", "1 and 0.3", "1 and 1"]


def test_failed_and_undefined_samples_come_last() -> None:
    failed = Score.failed("engine_error")
    order = ids_in_order(
        {
            "undefined": {"faithfulness": UNDEFINED, "hallucination": UNDEFINED},
            "failed": {"faithfulness": failed, "hallucination": UNDEFINED},
            "scored": {"faithfulness": FULL, "hallucination": UNDEFINED},
        }
    )
    assert order == ["scored", "failed", "undefined"]


def test_values_are_counted_in_tenths_from_0_to_1() -> None:
    values = (0.2, 0.5, 0.5, 1.0)
    result = plain({str(i): {"faithfulness": Score(value, value)} for i, value in enumerate(values)})
    assert ": 0, 0, 1, 0, 0, 2, 0, 0, 0, 1" in Page(page_of(result)).text


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


def in_groups(groups: list[int]) -> Result:
    """A result of a sample for each group, with different scores."""
    result = plain({str(i): {"faithfulness": Score(i / 10, i / 10)} for i in range(len(groups))})
    result.samples = [
        replace(one, sample=one.sample.model_copy(update={"group": group}))
        for one, group in zip(result.samples, groups, strict=True)
    ]
    return result


def test_a_mean_whose_interval_counts_groups_says_how_many() -> None:
    note = "The intervals take the 3 groups of the column group as units, not the 4 samples."
    assert note in text_of(in_groups([0, 0, 1, 2]))
    assert "as units" not in text_of(in_groups([0, 1, 2, 3]))


def test_the_list_shows_a_score_as_the_tables_do() -> None:
    result = plain({"a": {"faithfulness": Score(0.0414597, 0.2634993)}})
    [[*_, (value, soft)]] = rows_of(page_of(result))
    assert all(f"{shown:.3f}" in str(result) for shown in (value, soft))


def test_a_probability_just_below_the_threshold_is_not_shown_as_the_threshold() -> None:
    sample = small().samples[1].sample
    text = text_of(Result([judged(sample, [0.4961, 0.726])], METRICS_SHOWN, small().signature))
    assert "0.496 not supported" in text
    assert "0.73 supported" in text


def test_a_probability_just_below_the_one_that_answers_a_question_is_not_shown_as_it() -> None:
    # Contexts answer from 0.7 on.
    sample = Sample(user_input="Where?", retrieved_contexts=["Tea grows."])
    judge = fake_judge(FakeEngine([{"verdict": 0.697}, {"verdict": 0.8}]))
    assert "contexts: 0.697" in text_of(evaluate([sample], ["context_relevance"], judge))


def test_both_languages_say_the_same_things() -> None:
    english, chinese = labels()["en"], labels()["zh"]
    assert set(english) == set(chinese)
    for key, text in english.items():
        if isinstance(text, str):
            assert {*re.findall(r"\{.+?\}", text)} == {*re.findall(r"\{.+?\}", chinese[key])}
    assert [name for name, metric in METRICS.items() if not metric.definition_zh] == []
    assert set(chinese["reasons"]) == {*REASONS, "missing"}
    assert {f"attack_{kind}" for kind in KINDS} == {key for key in english if key.startswith("attack_")}


def with_questions(questions: list[str]) -> Result:
    """Samples with these questions, judged by models that read English only; the first has no record."""
    result = plain({str(i): {"faithfulness": FULL} for i in range(len(questions))})
    facts = {"name": "hhem", "sha256": "e" * 64, "languages": ["en"]}
    result.signature = result.signature.model_copy(update={"embedder": facts, "classifier": facts})
    records = small().samples[0].records
    result.samples = [
        replace(one, sample=Sample(id=one.sample.id, user_input=question), records=records if i else {})
        for i, (one, question) in enumerate(zip(result.samples, questions, strict=True))
    ]
    return result


CHINESE = "茶在哪里？"
ENGLISH = "Where is tea?"


@pytest.mark.parametrize(
    ("questions", "language"),
    [
        ([CHINESE, ENGLISH, CHINESE], "zh"),
        ([CHINESE, ENGLISH], "en"),
        ([ENGLISH], "en"),
    ],
    ids=["most in Chinese", "one of each", "English"],
)
def test_the_language_of_the_page_is_that_of_most_samples(questions: list[str], language: str) -> None:
    assert f'<html lang="{language}">' in page_of(with_questions(questions))


@pytest.mark.parametrize("model", ["the embedder", "HHEM"])
def test_a_model_that_reads_english_only_is_named_with_the_samples_in_other_languages(model: str) -> None:
    # The first was not read by any model.
    text = text_of(with_questions([CHINESE, ENGLISH, CHINESE]))
    assert f"the only language of {model}: 1" in text
    assert "the only language of" not in text_of(small())


def test_an_embedder_that_takes_unrelated_questions_for_alike_is_told_in_table_and_page() -> None:
    result = small()
    assert "unrelated" not in str(result) + text_of(result)
    facts = {"name": "e", "sha256": "e" * 64, "languages": ["en"], "unrelated": {"en": 0.74, "zh": 0.83}}
    result.signature = result.signature.model_copy(update={"embedder": facts})
    for text in (str(result), text_of(result)):
        assert "cosine of 0.74" in text
        # It reads no Chinese.
        assert "0.83 in Chinese" not in text
        assert "cosine of 0.83" not in text


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


def with_response(response: str) -> Result:
    """One sample of which nothing was judged."""
    result = plain({"a": {"answer_relevance": FULL}})
    result.samples = [replace(result.samples[0], sample=Sample(id="a", response=response))]
    return result


def test_thinking_is_noted_whatever_was_judged() -> None:
    result = with_response("<think>Hm.</think>Tea grows.")
    assert "<think> removed" in str(result)
    assert detail(result.samples[0], 0.5)["thinking"]
    assert not detail(result.samples[0], 0.5)["other_language"]


def test_a_response_in_another_language_is_noted_whatever_was_judged() -> None:
    result = with_response("Der Tee wächst in den Bergen und wird im Frühling gepflückt.")
    assert "neither English nor Chinese" in str(result)
    assert detail(result.samples[0], 0.5)["other_language"]
    assert not detail(result.samples[0], 0.5)["thinking"]


def test_the_page_says_where_its_search_ends() -> None:
    assert "The search covers" not in text_of(with_response("Tea grows."))
    assert "The search covers the first 4000 bytes" in text_of(with_response("Tea. " * 2000 + "zebra"))


def run_in(folder: Path) -> Result:
    judge = fake_judge(FakeEngine([{"statements": ["Tea grows."]}, {"verdict": 0.9}]))
    tea = {"id": "茶", "response": "Tea grows.", "retrieved_contexts": ["Tea grows."]}
    return evaluate([tea], ["faithfulness"], judge, folder)


def test_a_run_writes_the_page_with_the_name_of_its_folder(tmp_path: Path) -> None:
    run_in(tmp_path / "tea & cake")
    page = (tmp_path / "tea & cake" / "report.html").read_text(encoding="utf-8")
    assert "<h1><bdi>tea &amp; cake</bdi></h1>" in page


def test_the_command_makes_the_same_page_again_and_prints_the_table(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    again = tmp_path / "again.html"
    result = run_in(folder)
    command = CliRunner().invoke(commands, ["report", str(folder), "--html", str(again)])
    assert command.exit_code == 0
    assert again.read_bytes() == (folder / "report.html").read_bytes()
    assert f"{result}\n" in command.output


def test_a_page_that_can_not_be_written_is_told(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "report.html"
    assert f"{path}: the report can't be written there" in said(InputError, small().to_html, path)


def test_a_notebook_shows_the_printed_table_as_text() -> None:
    page = Page(hostile()._repr_html_())
    assert page.elements == [("pre", {})]
    assert page.text == str(hostile())


def test_the_printed_text_has_its_table_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    # What rich takes for Jupyter.
    monkeypatch.setattr(builtins, "get_ipython", type("ZMQInteractiveShell", (), {}), raising=False)
    lines = str(small()).splitlines()
    assert all(any(line.startswith(name) for line in lines) for name in METRICS_SHOWN)


def test_what_is_not_judged_is_grey_with_its_reason() -> None:
    sample = {
        "id": "a",
        "response": "Sure! Tea grows. The price is not mentioned in the passages.",
        "retrieved_contexts": ["Tea grows."],
    }
    judge = fake_judge(FakeEngine([{"verdict": 0.75}]))
    result = evaluate([sample], ["faithfulness"], judge, statements="sentences")
    page = Page(page_of(result))
    assert [facts["class"] for _, facts in page.elements if facts.get("title")] == ["unjudged", "unjudged"]
    assert "1 × a courtesy" in " ".join(page.text.split())
    assert "not judged: 1 refusal" in str(result)


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
    assert record.verdicts[0].probability == 0.9
    assert record.verdicts[0].mass == mass
    assert ("neither yes nor no likely" in str(result)) == is_noted
    assert ("rather write something else" in text_of(result)) == is_noted
