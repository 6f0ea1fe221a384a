"""The judge card: figures counted by hand, on samples that a fake engine judges."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from localeval import InputError, Sample, evaluate
from localeval.errors import FolderError
from localeval.runs.card import Card, as_json, make
from localeval.runs.card.figures import DECIDED, NEEDED, baseline_score
from localeval.runs.card.labels import balanced, label, marked_sentences
from localeval.runs.card.render import as_html, as_text
from localeval.testing import FakeEngine, fake_judge
from tests.steady import SteadyEngine, steady_judge

GOOD, BAD = 0.8, 0.6
Rows = list[dict[str, Any]]


def rows(number: int, **more: Any) -> Rows:
    """Labels take turns. One sentence each, all of whose words the context has where the label is 1."""
    return [
        {
            "id": f"s{i}",
            "label": i % 2,
            "response": f"Tea{i} {'grows' if i % 2 else 'sings'}.",
            "retrieved_contexts": [f"Tea{i} grows."],
            **more,
        }
        for i in range(number)
    ]


def in_order(number: int) -> list[float]:
    return [GOOD if i % 2 else BAD for i in range(number)]


def pair(number: int, **more: Any) -> Rows:
    return [
        {
            "id": f"p{i}",
            "user_input": f"Where grows tea{i}?",
            "good_response": f"Tea{i} grows there.",
            "bad_response": f"I like tea{i}.",
            "retrieved_contexts": [f"Tea{i} grows there."],
            "lang": "en",
            "source": "mill" if i < 6 else "lake",
            "reference": f"Tea{i} grows there.",
            **more,
        }
        for i in range(number)
    ]


def marked(number: int, **more: Any) -> Rows:
    """Three sentences in two contexts, the middle one needed."""
    return [
        {
            "id": f"m{i}",
            "user_input": "Who planted the tea?",
            "retrieved_contexts": [f"Tea is green{i}. Ann planted the tea.", "Coffee is black."],
            "sentences": [f"Tea is green{i}.", "Ann planted the tea.", "Coffee is black."],
            "sentence_labels": [0, 1, 0],
            "lang": "en",
            **more,
        }
        for i in range(number)
    ]


def written(folder: Path, found: Rows) -> str:
    path = folder / "tea.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in found), encoding="utf-8")
    return str(path)


def carded(
    folder: Path, found: Rows, answers: Sequence[float], metric: str = "faithfulness", **options: Any
) -> Card:
    judge = fake_judge(FakeEngine([{"verdict": p} for p in answers]))
    options = {"statements": "sentences", **options}
    return make(written(folder, found), metric, judge, folder / "run", **options)


def marked_card(folder: Path, found: Rows, answers: list[list[float]]) -> Card:
    """`answers` are for each row: answerable, then the probability of each sentence."""
    return carded(folder, found, [p for own in answers for p in own], "context_relevance", sentences=True)


def value(card: Card, score: str, figure: str, part: int = 0) -> float | None:
    return card.parts[part].scores[score].figures[figure][0]


def test_the_figures_are_those_of_the_scores(tmp_path: Path) -> None:
    """Of 10 good ones 8 have 0.8 and 2 have 0.6; all 10 bad ones have 0.6: 8/10 + half of 2/10 in order."""
    answers = [GOOD if i % 2 and i > 4 else BAD for i in range(20)]
    card = carded(tmp_path, rows(20), answers)
    assert (card.parts[0].good, card.parts[0].bad) == (10, 10)
    assert value(card, "soft", "auroc") == pytest.approx(0.9)
    assert value(card, "value", "auroc") == 0.5  # all of them are at least 0.5
    assert value(card, "soft", "balanced_accuracy") == pytest.approx((8 / 10 + 1) / 2)
    assert value(card, "soft", "f1_0") == pytest.approx(2 * 10 / (2 * 10 + 2))
    assert value(card, "soft", "brier") == pytest.approx((8 * 0.2**2 + 2 * 0.4**2 + 10 * 0.6**2) / 20)
    assert value(card, "lexical precision", "auroc") == 1
    gain = card.parts[0].scores["soft"].gain
    assert gain is not None
    assert gain[0] == pytest.approx(-0.1)
    assert card.calibrations == []  # 20 labels are too few to fit one
    kept = (tmp_path / "run" / "card.json").read_text(encoding="utf-8")
    assert kept == as_json(card)
    assert "NaN" not in kept
    assert as_json(carded(tmp_path, rows(20), [])) == kept  # a second call asks no model
    text = as_text(card)
    assert re.search(r"^20 labels: AUROC of soft is known to ±0\.1\d$", text, re.MULTILINE)
    assert "signature faithfulness.1|judge:fake" in text
    assert "soft and value are raw" in text


def test_of_a_rate_of_a_fault_less_counts_as_good(tmp_path: Path) -> None:
    """Hallucination is a statement in no context: 1 - 0.8 of the good ones, 1 - 0.6 of the bad ones."""
    found = [{**row, "reference": "Tea."} for row in rows(20)]
    card = carded(tmp_path, found, [p for p in in_order(20) for _ in range(2)], "hallucination")
    assert value(card, "soft", "auroc") == 1


def test_parts_are_languages_and_sources_with_enough_of_both_labels(tmp_path: Path) -> None:
    found = rows(40, lang="en")
    for i, row in enumerate(found):
        row["source"] = "mill" if i < 20 else "lake" if i < 36 else "few"
    card = carded(tmp_path, found, in_order(40))
    assert [(p.name, p.good) for p in card.parts] == [("all", 20), ("source lake", 8), ("source mill", 10)]


def test_forty_labels_give_a_calibration_that_a_run_takes(tmp_path: Path) -> None:
    """Raw, every statement counts as supported; the fitted threshold lies between 0.6 and 0.8."""
    answers = in_order(60)
    answers[1], answers[2] = BAD, GOOD
    card = carded(tmp_path, rows(60), answers)
    assert value(card, "value", "auroc") == 0.5
    assert value(card, "value refitted", "auroc") == pytest.approx(29 / 30, abs=0.02)
    assert value(card, "P(all supported) refitted", "calibration_error") == pytest.approx(0, abs=0.1)
    (one,) = card.calibrations
    assert one.fitted_on["labels"] == 60
    assert one.figures["skill"][0] > 0.5
    assert one.curve.apply(GOOD) > 0.5 > one.curve.apply(BAD)
    file, judge = tmp_path / "run" / "calibration.json", fake_judge(FakeEngine([{"verdict": BAD}]))
    result = evaluate(rows(1), ["faithfulness"], judge, statements="sentences", calibration=file)
    assert result["faithfulness"].value == 0
    again = carded(tmp_path, rows(60), [], calibration=str(file))
    assert value(again, "value raw", "auroc") == 0.5
    assert "these labels, so read the lines that say refitted" in as_text(again)
    kept = json.loads(file.read_text("utf-8"))["calibrations"]
    assert kept == [one.model_dump(mode="json")]  # it stays as it was given


def test_a_language_without_a_calibration_is_said_to_be_raw(tmp_path: Path) -> None:
    said = {"en": "Tea{} grows.", "zh": "第{}种茶叶生长在山上。"}

    def tea_in(languages: list[str]) -> Rows:
        texts = [said[language].format(i) for i, language in enumerate(languages)]
        return [
            {"id": f"s{i}", "label": i % 2, "response": text, "retrieved_contexts": [text]}
            for i, text in enumerate(texts)
        ]

    carded(tmp_path, tea_in(["zh"] * 60), in_order(60))
    file = tmp_path / "zh.json"
    (tmp_path / "run" / "calibration.json").rename(file)
    card = carded(tmp_path, tea_in(["zh", "zh", "en", "en"] * 15), in_order(30), calibration=str(file))
    assert list(card.in_force) == ["zh"]
    line = "no calibration is in force for en: its 30 scored samples are raw"
    assert line in as_text(card)
    assert line in as_html(card)


def test_no_curve_is_fitted_where_a_label_is_in_one_fold_alone(tmp_path: Path) -> None:
    """Of 60 samples in English 10 have label 0, and all of these are of one group."""
    found = [{**row, "label": int(i >= 10), "group": "a" if i < 10 else i} for i, row in enumerate(rows(60))]
    found[59] |= {"label": 0, "response": "茶会唱歌。"}
    card = carded(tmp_path, found, in_order(60))
    assert card.calibrations == []
    assert "P(all supported) refitted" not in card.parts[0].scores


def test_the_cost_of_a_sample_is_that_of_the_judgements_that_the_card_is_of(tmp_path: Path) -> None:
    """Another metric's card in the same folder, and another form of the statements, are no part of it."""

    class Counting(SteadyEngine):
        def generate(self, trunk: Any, branch: str, leaves: Sequence[str], schema: Any, **how: Any) -> Any:
            self.spent = self.spent.plus(branch=len(branch), leaves=sum(map(len, leaves)))
            return super().generate(trunk, branch, leaves, schema, **how)

    source = written(tmp_path, rows(20, user_input="Which tea grows?"))
    judge = steady_judge(Counting())
    alone = make(source, "faithfulness", judge, tmp_path / "alone")
    make(source, "context_relevance", judge, tmp_path / "run")
    make(source, "faithfulness", judge, tmp_path / "run", statements="sentences")
    shared = make(source, "faithfulness", judge, tmp_path / "run")
    assert alone.rows is not None
    assert shared.rows == alone.rows > 0


LACKING = [{key: given for key, given in row.items() if key != "retrieved_contexts"} for row in rows(20)]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (rows(19), "9 samples with label 1 and 10 with label 0 are too few"),
        ([{**row, "label": int(i < 4)} for i, row in enumerate(rows(30))], "5 of each"),
        *(([*rows(20), *rows(1, id="x", label=label)], "x has the label") for label in (None, "yes", 2, 0.5)),
        ([{**row, "group": "a"} for row in rows(20)], "label 1 are of one group (a)"),
        ([{**row, "group": "abcb"[i % 4]} for i, row in enumerate(rows(20))], "1 are of one group (b)"),
        (LACKING, "faithfulness needs the column retrieved_contexts"),
        (pair(9), "9 pairs are too few"),
        ([*pair(11), {**pair(1)[0], "id": "p11", "bad_response": None}], "row p11: it has no bad_response"),
        (
            [*pair(11), {**pair(1)[0], "id": "p11", "bad_response": 5}],
            "row p11, bad_response: response is 5",
        ),
        (pair(12, group="tea"), "all 12 pairs are of one group (tea)"),
    ],
)
def test_labels_that_say_nothing_are_refused_before_a_model_is_asked(
    tmp_path: Path, found: Rows, said: str
) -> None:
    with pytest.raises(InputError) as caught:
        carded(tmp_path, found, [])
    assert str(caught.value).startswith("tea: ")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (marked(9), "9 rows are too few"),
        (marked(10, sentence_labels=[0, 1]), "row m0 needs sentences and sentence_labels, lists of"),
        (marked(10, sentence_labels=[0, 2, 0]), "row m0: a sentence has the label 2"),
        (marked(10, sentences=["Coffee is black.", "Tea is green0.", "x"]), "do not have 'Tea is green0.'"),
        (marked(10, group="a"), "all 10 rows are of one group (a)"),
    ],
)
def test_marked_rows_that_say_nothing_are_refused(tmp_path: Path, found: Rows, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        marked_card(tmp_path, found, [])
    with pytest.raises(InputError, match="give -m context_relevance"):
        carded(tmp_path, marked(10), [], sentences=True)


@pytest.mark.parametrize("number", [-1, 19])
def test_a_number_of_samples_that_says_nothing_is_refused(tmp_path: Path, number: int) -> None:
    with pytest.raises(InputError, match=r"too few|number is -1"):
        carded(tmp_path, rows(40), [], number=number)


def test_labels_of_a_table_are_read_and_a_number_of_samples_is_drawn_balanced_by_a_seed() -> None:
    found = [Sample(id=str(i), response="R.", label=str(int(i % 3 == 0))) for i in range(30)]
    chosen = balanced(found, 8, seed=1)
    assert [label(s) for s in chosen] == [0, 1] * 4
    assert chosen == balanced(found, 8, seed=1) != balanced(found, 8, seed=2)


def test_samples_without_a_score_are_counted_and_in_no_figure(tmp_path: Path) -> None:
    found = [{**row, "retrieved_contexts": [""]} if i < 4 else row for i, row in enumerate(rows(24))]
    card = carded(tmp_path, found, in_order(20))
    assert card.not_scored == {"no_contexts": 4}
    assert card.parts[0].good + card.parts[0].bad == 20
    assert "not scored, and in no figure: 4 no_contexts" in as_text(card)


def test_the_page_needs_no_other_file_and_runs_nothing_from_outside(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>\x1b[31m"
    found = [{**row, "source": evil if i < 20 else "lake"} for i, row in enumerate(rows(60))]
    card = carded(tmp_path, found, in_order(60))
    page = as_html(card)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert not re.search(r"(src|href)=|https?://|@import|url\(", page)
    assert page.count("<circle") == 10  # five bins of soft, five of P(all supported)
    assert "\x1b" not in as_text(card)


def test_a_part_of_one_group_has_no_threshold_of_its_own_and_no_interval(tmp_path: Path) -> None:
    """20 of the 40 are answers to one question; all others, also those with a null, to one each."""
    found = [
        {**row, "source": "mill", "group": "a"} if i < 20 else {**row, "source": "lake", "group": None}
        for i, row in enumerate(rows(40))
    ]
    card = carded(tmp_path, found, in_order(40))
    lake, mill = card.parts[1].scores["soft"], card.parts[2].scores["soft"]
    # Of 10 and 10 all in order: the share of pairs in order is 0.692 or more (Clopper and Pearson 1934).
    assert lake.figures["auroc"] == pytest.approx((1, 0.692, 1), abs=1e-3)
    assert mill.figures["auroc"] == (1, None, None)
    assert mill.gain == (0, None, None)
    assert "balanced_accuracy" in lake.figures
    assert "balanced_accuracy" not in mill.figures
    assert "source mill: 10 of label 1, 10 of label 0" in as_text(card)
    assert "a figure without an interval: too few groups to say" in as_text(card)


def test_a_card_that_can_not_be_written_leaves_the_one_before(tmp_path: Path) -> None:
    carded(tmp_path, rows(20), in_order(20))
    before = (tmp_path / "run" / "card.json").read_text(encoding="utf-8")
    (tmp_path / "run" / ".card.json.part").mkdir()  # where it is written until it is whole
    with pytest.raises(FolderError, match="what was judged is kept"):
        carded(tmp_path, rows(20, lang="en", source="mill"), [], threshold=0.7)
    assert (tmp_path / "run" / "card.json").read_text(encoding="utf-8") == before


def test_pairs_give_the_share_of_the_better_side_beside_the_overlap(tmp_path: Path) -> None:
    """Nine of twelve in order, one tie, two the wrong way round; word overlap has all in order."""
    both = [(0.9, 0.1)] * 9 + [(0.5, 0.5)] + [(0.1, 0.9)] * 2
    card = carded(tmp_path, pair(12), [p for two in both for p in two])
    assert card.kind == "pairs"
    assert value(card, "soft", "pair_accuracy") == 9.5 / 12
    assert value(card, "lexical precision", "pair_accuracy") == 1
    assert [(p.name, p.good) for p in card.parts] == [("all", 12), ("source lake", 6), ("source mill", 6)]
    assert value(card, "soft", "pair_accuracy", 2) == 1
    assert "12 pairs: pairs right of soft is known to ±0." in as_text(card)
    assert "<circle" not in as_html(card)


def test_a_side_without_a_score_is_counted_as_0_and_the_note_says_so(tmp_path: Path) -> None:
    card = carded(tmp_path, pair(12, bad_response=""), [0.9] * 12)
    assert value(card, "soft", "pair_accuracy") == 1
    assert "not scored, and counted as 0: 12 no_statements" in as_text(card)


@pytest.mark.parametrize("metric", ["context_recall", "factual_correctness", "hallucination"])
def test_pairs_of_a_metric_that_reads_a_reference_have_it(tmp_path: Path, metric: str) -> None:
    found = pair(12)
    if metric == "context_recall":
        for row in found:
            row["contexts_more_relevant"] = row.pop("retrieved_contexts")
            row["contexts_less_relevant"] = ["Coffee is black."]
    card = carded(tmp_path, found, [0.9] * 200, metric)
    assert (card.kind, card.not_scored) == ("pairs", {})
    lines = (tmp_path / "run" / "samples.jsonl").read_text(encoding="utf-8").splitlines()
    one, other = (json.loads(line) for line in lines[:2])
    assert one["reference"] == other["reference"] == "Tea0 grows there."
    side = "retrieved_contexts" if metric == "context_recall" else "response"
    assert {key for key in one if one[key] != other.get(key)} == {"id", side}
    # What needs no model looks at the side too: the words of the better one are those of the question.
    assert value(card, card.baseline, "pair_accuracy") != 0.5


def test_pairs_of_a_group_count_once(tmp_path: Path) -> None:
    found = [{**row, "group": ["tea", i // 2]} for i, row in enumerate(pair(12))]
    shown = carded(tmp_path, found, [0.9, 0.1] * 12).parts[0].scores["soft"].figures["pair_accuracy"]
    # Six groups, all right: 0.541 to 1 is exact (Clopper and Pearson 1934).
    assert shown == pytest.approx((1, 0.541, 1), abs=1e-3)


def test_needed_sentences_are_held_against_those_that_people_marked(tmp_path: Path) -> None:
    """Eight rows have the needed one alone near the top; two have another before it, 0.4 to 0.35."""
    right, wrong = [1.0, 0.1, 0.4, 0.2], [1.0, 0.4, 0.35, 0.2]
    card = marked_card(tmp_path, marked(10), [right] * 8 + [wrong] * 2)
    assert card.kind == "sentences"
    assert value(card, NEEDED, "macro_f1") == pytest.approx((8 + 2 * 2 / 3) / 10)
    assert value(card, NEEDED, "auroc_within") == pytest.approx((8 * 1 + 2 * 0.5) / 10)
    assert value(card, DECIDED, "macro_f1") == pytest.approx((8 + 2 * 2 / 3) / 10)  # 0.35 is near 0.4
    # "who planted the tea": the needed sentence has three of four words, the others one and none
    assert value(card, "question overlap", "macro_f1") == 1
    assert "10 rows: F1 within a row of needed is known to ±0." in as_text(card)
    assert "<h2>all: 10 rows</h2>" in as_html(card)


def test_of_contexts_that_do_not_answer_no_sentence_is_decided_to_be_needed(tmp_path: Path) -> None:
    answered, unanswered = [0.9, 0.1, 0.4, 0.2], [0.2, 0.1, 0.4, 0.2]
    card = marked_card(tmp_path, marked(10), [answered] * 7 + [unanswered] * 3)
    assert value(card, DECIDED, "macro_f1") == pytest.approx(0.7)
    assert value(card, NEEDED, "macro_f1") == 1


def test_a_sentence_cut_elsewhere_by_the_judge_gets_the_most_of_what_overlaps_it(tmp_path: Path) -> None:
    whole = ["Tea is green0. Ann planted the tea.", "Coffee is black."]
    found = marked(10, retrieved_contexts=whole, sentences=whole, sentence_labels=[1, 0])
    card = marked_card(tmp_path, found, [[1.0, 0.1, 0.9, 0.2]])
    assert value(card, DECIDED, "macro_f1") == value(card, NEEDED, "macro_f1") == 1


def test_rows_of_one_group_give_no_threshold_to_try_on_themselves(tmp_path: Path) -> None:
    found = marked(12)
    for i, row in enumerate(found):
        row |= {"source": "mill", "group": "a"} if i < 6 else {"source": "lake"}
    card = marked_card(tmp_path, found, [[1.0, 0.1, 0.4, 0.2]] * 12)
    mill = card.parts[2]
    assert mill.name == "source mill"
    assert value(card, NEEDED, "macro_f1") == 1
    assert mill.scores[NEEDED].figures["macro_f1"] == mill.scores[NEEDED].gain == (None, None, None)
    assert mill.scores[NEEDED].figures["auroc_within"] == (1, None, None)
    assert "source mill" in as_text(card)


def test_equal_sentences_are_found_one_behind_the_other() -> None:
    texts = {"sentences": ["Tea."] * 3, "sentence_labels": [0, 1, 0]}
    row = Sample(retrieved_contexts=["Tea. Tea.", "Tea."], **texts)
    assert [(s.context, s.start) for s in marked_sentences(row)] == [(0, 0), (0, 5), (1, 0)]


def test_the_baselines_are_shares_of_words() -> None:
    sample = Sample(user_input="Where grows tea?", response="Tea grows there.", retrieved_contexts=["Tea."])
    assert baseline_score(sample, "answer_relevance") == 2 / 3  # grows, tea of the question in the response
    assert baseline_score(sample, "context_relevance") == 1 / 3  # tea of the question in the contexts
    assert baseline_score(sample, "faithfulness") == 1 / 3  # tea of the response in the contexts
    assert baseline_score(Sample(response="", retrieved_contexts=["Tea."]), "faithfulness") == 0


def test_the_command_prints_the_card_and_keeps_it(tiny_path: Path, tmp_path: Path) -> None:
    arguments = ("--judge", str(tiny_path), "--n-ctx", "16384", "--statements", "sentences", "-q")
    command = [sys.executable, "-m", "localeval", "card", written(tmp_path, rows(20)), *arguments]

    def run(*more: str, **variables: str) -> subprocess.CompletedProcess[str]:
        how: dict[str, Any] = {"capture_output": True, "text": True, "encoding": "utf-8"}
        return subprocess.run([*command, *more], cwd=tmp_path, env={**os.environ, **variables}, **how)

    made = run("--html", "card.html")
    assert made.returncode == 0, made.stderr
    assert "lexical precision" in made.stdout
    assert (tmp_path / "card.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    kept = (tmp_path / "cards" / "tea-faithfulness" / "card.json").read_text(encoding="utf-8")
    assert run("--json").stdout == kept
    two = run("-m", "faithfulness,context_recall")
    assert two.returncode == 2
    assert "a card is of one metric, and 2 are named; give one with -m." in two.stderr
    by_variable = subprocess.run(
        command,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "LOCALEVAL_METRICS": "faithfulness,context_recall"},
    )
    assert by_variable.returncode == 2
    assert "a card is of one metric, and 2 are named; give one with -m." in by_variable.stderr
