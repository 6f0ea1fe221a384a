"""The judge card: figures counted by hand, on samples that a fake engine judges."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from localeval import InputError, Sample, evaluate
from localeval.card import Card, as_json, baseline, make
from localeval.card.figures import rather_good
from localeval.card.labels import balanced, label
from localeval.card.pairs import won
from localeval.card.sentences import DECIDED, NEEDED, labelled
from localeval.metrics import METRICS
from localeval.report.card import as_html, as_text
from localeval.testing import FakeEmbedder, FakeEngine, fake_judge

GOOD, BAD = 0.8, 0.6


def rows(number: int, **more: Any) -> list[dict[str, Any]]:
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


def written(folder: Path, found: list[dict[str, Any]]) -> str:
    path = folder / "tea.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in found), encoding="utf-8")
    return str(path)


def carded(folder: Path, found: list[dict[str, Any]], answers: list[float], **options: Any) -> Card:
    judge = fake_judge(FakeEngine([{"verdict": p} for p in answers]))
    return make(
        written(folder, found), "faithfulness", judge, folder / "run", statements="sentences", **options
    )


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
    assert value(card, "soft", "recall_0") == 1
    assert value(card, "soft", "f1_0") == pytest.approx(2 * 10 / (2 * 10 + 2))
    assert value(card, "soft", "brier") == pytest.approx((8 * 0.2**2 + 2 * 0.4**2 + 10 * 0.6**2) / 20)
    assert value(card, "lexical precision", "auroc") == 1
    gain = card.parts[0].scores["soft"].gain
    assert gain is not None
    assert gain[0] == pytest.approx(-0.1)
    assert card.calibrations == []  # 20 labels are too few to fit one
    assert json.loads((tmp_path / "run" / "card.json").read_text(), parse_constant=pytest.fail) == json.loads(
        as_json(card)
    )


def test_a_second_call_asks_no_model_and_says_the_same(tmp_path: Path) -> None:
    answers = [GOOD if i % 2 else BAD for i in range(20)]
    assert as_json(carded(tmp_path, rows(20), answers)) == as_json(carded(tmp_path, rows(20), []))


def test_parts_are_languages_and_sources_with_enough_of_both_labels(tmp_path: Path) -> None:
    found = rows(40)
    for i, row in enumerate(found):
        row["source"] = "mill" if i < 20 else "lake" if i < 36 else "few"
        row["lang"] = "en"
    card = carded(tmp_path, found, [GOOD if i % 2 else BAD for i in range(40)])
    assert [(part.name, part.good) for part in card.parts] == [
        ("all", 20),
        ("source lake", 8),
        ("source mill", 10),
    ]


def test_forty_labels_give_a_calibration_that_a_run_takes(tmp_path: Path) -> None:
    """Raw, every statement counts as supported; the fitted threshold lies between 0.6 and 0.8."""
    answers = [GOOD if i % 2 else BAD for i in range(60)]
    answers[1], answers[2] = BAD, GOOD
    card = carded(tmp_path, rows(60), answers)
    assert value(card, "value", "auroc") == 0.5
    assert value(card, "value refitted", "auroc") == pytest.approx(29 / 30, abs=0.02)
    assert value(card, "P(all supported) refitted", "calibration_error") == pytest.approx(0, abs=0.1)
    (one,) = card.calibrations
    assert one.fitted_on["labels"] == 60
    assert one.figures["skill"][0] > 0.5
    assert one.curve.of(GOOD) > 0.5 > one.curve.of(BAD)
    file, judge = tmp_path / "run" / "calibration.json", fake_judge(FakeEngine([{"verdict": BAD}]))
    result = evaluate(rows(1), ["faithfulness"], judge, statements="sentences", calibration=file)
    assert result["faithfulness"].value == 0
    again = carded(tmp_path, rows(60), [], calibration=str(file))
    assert {"soft raw", "value raw"} <= set(again.parts[0].scores)
    assert value(again, "value raw", "auroc") == 0.5
    assert "these labels, so read the lines that say refitted" in as_text(again)


def test_a_card_says_how_wide_the_interval_is(tmp_path: Path) -> None:
    text = as_text(carded(tmp_path, rows(20), [0.1 + 0.04 * i for i in range(20)]))
    assert re.search(r"^20 labels: AUROC of soft is known to ±0\.2\d$", text, re.MULTILINE)
    assert "signature faithfulness.1|judge:fake" in text
    assert "soft and value are raw" in text


@pytest.mark.parametrize("found", [rows(19), [{**r, "label": int(i < 4)} for i, r in enumerate(rows(30))]])
def test_too_few_labels_are_refused_before_a_model_is_asked(
    tmp_path: Path, found: list[dict[str, Any]]
) -> None:
    with pytest.raises(
        InputError, match=r"^tea: .* are too few to say anything; label at least 20, 5 of each\.$"
    ):
        carded(tmp_path, found, [])


@pytest.mark.parametrize("given", [None, "yes", 2, 0.5, [1]])
def test_a_label_that_is_none_is_refused_with_its_sample(tmp_path: Path, given: object) -> None:
    found = rows(20)
    found[3]["label"] = given
    with pytest.raises(
        InputError, match=r"^tea: sample s3 has the label .*; write 1 \(good\) or 0 \(bad\)\.$"
    ):
        carded(tmp_path, found, [])


def test_samples_without_a_score_are_counted_and_in_no_figure(tmp_path: Path) -> None:
    found = [{**row, "retrieved_contexts": [""]} if i < 4 else row for i, row in enumerate(rows(24))]
    card = carded(tmp_path, found, [GOOD if i % 2 else BAD for i in range(20)])
    assert card.not_scored == {"no_contexts": 4}
    assert card.parts[0].good + card.parts[0].bad == 20
    assert "not scored, and in no figure: 4 no_contexts" in as_text(card)


def test_the_page_needs_no_other_file_and_runs_nothing_from_outside(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>\x1b[31m"
    found = [{**row, "source": evil if i < 20 else "lake"} for i, row in enumerate(rows(60))]
    card = carded(tmp_path, found, [GOOD if i % 2 else BAD for i in range(60)])
    page = as_html(card)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert not re.search(r"(src|href)=|https?://|@import|url\(", page)
    assert page.count("<circle") == 10  # five bins of soft, five of P(all supported)
    assert "\x1b" not in as_text(card)


def pair(number: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"p{i}",
            "user_input": f"Where grows tea{i}?",
            "good_response": f"Tea{i} grows there.",
            "bad_response": f"I like tea{i}.",
            "retrieved_contexts": [f"Tea{i} grows there."],
            "lang": "en",
            "source": "mill" if i < 6 else "lake",
        }
        for i in range(number)
    ]


def test_pairs_give_the_share_of_the_better_side_beside_the_overlap(tmp_path: Path) -> None:
    """Nine of twelve in order, one tie, two the wrong way round; word overlap has all in order."""
    both = [(0.9, 0.1)] * 9 + [(0.5, 0.5)] + [(0.1, 0.9)] * 2
    judge = fake_judge(FakeEngine([{"verdict": p} for two in both for p in two]), FakeEmbedder({}))
    source = written(tmp_path, pair(12))
    card = make(source, "faithfulness", judge, tmp_path / "run", statements="sentences")
    assert card.kind == "pairs"
    assert value(card, "soft", "pair_accuracy") == 9.5 / 12
    assert value(card, "lexical precision", "pair_accuracy") == 1
    assert [(p.name, p.good) for p in card.parts] == [("all", 12), ("source mill", 6), ("source lake", 6)]
    assert value(card, "soft", "pair_accuracy", 1) == 1
    assert "12 pairs: pairs right of soft is known to ±0." in as_text(card)
    assert "<circle" not in as_html(card)


def test_few_pairs_or_a_row_with_one_side_are_refused(tmp_path: Path) -> None:
    judge = fake_judge(FakeEngine([]))
    with pytest.raises(InputError, match=r"9 pairs are too few"):
        make(written(tmp_path, pair(9)), "faithfulness", judge, tmp_path / "run")
    found = pair(12)
    del found[4]["bad_response"]
    with pytest.raises(InputError, match=r"row p4: it has no bad_response"):
        make(written(tmp_path, found), "faithfulness", judge, tmp_path / "run")


def test_pairs_count_a_tie_as_half_and_a_missing_score_as_the_worst() -> None:
    assert won([0.9, 0.2, 0.2, 0.9, 0.5, 0.5]) == [1, 0, 0.5]
    assert rather_good(METRICS["faithfulness"], None) == rather_good(METRICS["hallucination"], None) == 0


def marked(number: int, **more: Any) -> list[dict[str, Any]]:
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


def marked_card(folder: Path, found: list[dict[str, Any]], answers: list[list[float]]) -> Card:
    """`answers` are for each row: answerable, then the probability of each sentence."""
    judge = fake_judge(FakeEngine([{"verdict": p} for own in answers for p in own]))
    return make(written(folder, found), "context_relevance", judge, folder / "run", sentences=True)


def test_needed_sentences_are_held_against_those_that_people_marked(tmp_path: Path) -> None:
    """Eight rows have the needed one alone near the top; two have another before it, 0.4 to 0.35."""
    right, wrong = [1.0, 0.1, 0.4, 0.2], [1.0, 0.4, 0.35, 0.2]
    card = marked_card(tmp_path, marked(10), [right] * 8 + [wrong] * 2)
    assert card.kind == "sentences"
    assert value(card, NEEDED, "macro_f1") == pytest.approx((8 + 2 * 2 / 3) / 10)
    assert value(card, NEEDED, "auroc_within") == pytest.approx((8 * 1 + 2 * 0.5) / 10)
    assert value(card, DECIDED, "macro_f1") == 0  # none reaches 0.5
    # "who planted the tea": the needed sentence has three of four words, the others one and none
    assert value(card, "question overlap", "macro_f1") == 1
    assert "10 rows: F1 within a row of needed is known to ±0." in as_text(card)
    assert "all: 10 rows" in as_text(card)
    assert "<h2>all: 10 rows</h2>" in as_html(card)


def test_a_sentence_cut_elsewhere_by_the_judge_gets_the_most_of_what_overlaps_it(tmp_path: Path) -> None:
    whole = ["Tea is green0. Ann planted the tea.", "Coffee is black."]
    found = marked(10, retrieved_contexts=whole, sentences=whole, sentence_labels=[1, 0])
    card = marked_card(tmp_path, found, [[1.0, 0.1, 0.9, 0.2]])
    assert value(card, DECIDED, "macro_f1") == value(card, NEEDED, "macro_f1") == 1


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"sentence_labels": [0, 1]}, "row m0: --sentences needs sentences and sentence_labels, lists of"),
        ({"sentence_labels": [0, 2, 0]}, "row m0: a sentence has the label 2; write 1 or 0"),
        (
            {"sentences": ["Coffee is black.", "Tea is green0.", "Ann planted the tea."]},
            "row m0: the contexts do not have 'Tea is green0.' behind the sentence before it",
        ),
    ],
)
def test_rows_whose_sentences_are_not_labelled_are_refused(
    tmp_path: Path, changed: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError) as caught:
        marked_card(tmp_path, marked(10, **changed), [])
    assert said in str(caught.value)


def test_sentence_labels_are_for_context_relevance_and_ten_rows(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="9 rows with sentence_labels are too few"):
        marked_card(tmp_path, marked(9), [])
    with pytest.raises(InputError, match="--sentences is of context_relevance, not of faithfulness"):
        make(
            written(tmp_path, marked(10)),
            "faithfulness",
            fake_judge(FakeEngine([])),
            tmp_path,
            sentences=True,
        )


def test_equal_sentences_are_found_one_behind_the_other() -> None:
    row = Sample(
        retrieved_contexts=["Tea. Tea.", "Tea."],
        sentences=["Tea.", "Tea.", "Tea."],
        sentence_labels=[0, 1, 0],
    )
    assert [(s.context, s.start) for s in labelled(row)] == [(0, 0), (0, 5), (1, 0)]


def test_of_a_metric_of_which_less_is_better_less_counts_as_good() -> None:
    assert rather_good(METRICS["hallucination"], 0.2) == 0.8
    assert rather_good(METRICS["faithfulness"], 0.2) == 0.2


def test_the_baselines_are_shares_of_words() -> None:
    sample = Sample(user_input="Where grows tea?", response="Tea grows there.", retrieved_contexts=["Tea."])
    assert baseline.score(sample, "answer_relevance") == 2 / 3  # grows, tea of the question in the response
    assert baseline.score(sample, "context_relevance") == 1 / 3  # tea of the question in the contexts
    assert baseline.score(sample, "faithfulness") == 1 / 3  # tea of the response in the contexts
    assert baseline.score(Sample(response="", retrieved_contexts=["Tea."]), "faithfulness") == 0


def test_labelled_samples_are_balanced_and_drawn_by_a_seed() -> None:
    found = [Sample(id=str(i), response="R.", label=int(i % 3 == 0)) for i in range(30)]
    chosen = balanced(found, 8, seed=1)
    assert [label(s) for s in chosen] == [0, 1] * 4
    assert chosen == balanced(found, 8, seed=1) != balanced(found, 8, seed=2)


def test_the_command_prints_the_card_and_keeps_it(tiny_path: Path, tmp_path: Path) -> None:
    source = written(tmp_path, rows(20))
    arguments = ("--judge", str(tiny_path), "--n-ctx", "16384", "--statements", "sentences", "-q")
    command = [sys.executable, "-m", "localeval", "card", source, *arguments]
    made = subprocess.run(
        [*command, "--html", "card.html"], cwd=tmp_path, capture_output=True, text=True, encoding="utf-8"
    )
    assert made.returncode == 0, made.stderr
    assert "lexical precision" in made.stdout
    assert (tmp_path / "card.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    again = subprocess.run(
        [*command, "--json"], cwd=tmp_path, capture_output=True, text=True, encoding="utf-8"
    )
    assert again.stdout == (tmp_path / "cards" / "tea-faithfulness" / "card.json").read_text(encoding="utf-8")
    two = subprocess.run(
        [*command, "-m", "faithfulness,context_recall"], cwd=tmp_path, capture_output=True, text=True
    )
    assert two.returncode == 2
    assert "a card is of one metric; -m names 2." in two.stderr
