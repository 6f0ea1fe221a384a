"""The judge card: figures counted by hand, on samples that a fake engine judges."""

from __future__ import annotations

import json
import os
import random
import re
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from localeval import InputError, Sample, evaluate
from localeval.errors import FolderError
from localeval.judgements.calibration.fit import fit
from localeval.judgements.support import Verdict
from localeval.metrics import METRICS
from localeval.prompts.options import Options
from localeval.runs.card import Card, as_json, baseline, make
from localeval.runs.card.agreement.folds import FOLDS
from localeval.runs.card.figures import rather_good
from localeval.runs.card.fitted import WHOLE, Scored, calibrated, refitted
from localeval.runs.card.labels import balanced, label
from localeval.runs.card.pairs import won
from localeval.runs.card.render import as_html, as_text
from localeval.runs.card.sentences import DECIDED, NEEDED, labelled
from localeval.runs.card.thresholds import f1, f1_across
from localeval.testing import FakeEmbedder, FakeEngine, fake_judge
from tests.patience import timed
from tests.steady import SteadyEngine, steady_judge

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
    kept = json.loads(file.read_text("utf-8"))["calibrations"]
    assert kept == [one.model_dump(mode="json")]  # it stays as it was given


def tea_in(languages: list[str]) -> list[dict[str, Any]]:
    """One sentence each, labels in turn."""
    said = {"en": "Tea{} grows.", "zh": "第{}种茶叶生长在山上。"}
    texts = [said[language].format(i) for i, language in enumerate(languages)]
    return [
        {"id": f"s{i}", "label": i % 2, "response": text, "retrieved_contexts": [text]}
        for i, text in enumerate(texts)
    ]


def test_a_card_says_of_which_languages_the_scores_are_raw_where_a_calibration_is_in_force_for_others(
    tmp_path: Path,
) -> None:
    found = tea_in(["zh", "zh", "en", "en"] * 15)
    answers = [GOOD if i % 2 else BAD for i in range(60)]
    carded(tmp_path, tea_in(["zh"] * 60), answers)
    file = tmp_path / "zh.json"
    (tmp_path / "run" / "calibration.json").rename(file)
    card = carded(tmp_path, found, [answers[i] for i in range(60) if i % 4 > 1], calibration=str(file))
    assert list(card.in_force) == ["zh"]
    line = "no calibration is in force for en: its 30 scored samples are raw"
    assert line in as_text(card)
    assert line in as_html(card)
    alone = carded(tmp_path, tea_in(["zh"] * 60), [], calibration=str(file))
    assert list(alone.in_force) == ["zh"]
    assert "no calibration is in force" not in as_text(alone)


def test_the_cost_of_a_sample_is_that_of_the_judgements_that_the_card_is_of(tmp_path: Path) -> None:
    """Another metric's card in the same folder, and another form of the statements, are no part of it."""

    class Counting(SteadyEngine):
        def generate(self, trunk: Any, branch: str, leaves: Sequence[str], schema: Any, **how: Any) -> Any:
            self.spent = self.spent.plus(branch=len(branch), leaves=sum(map(len, leaves)))
            return super().generate(trunk, branch, leaves, schema, **how)

    found = [{**row, "user_input": "Which tea grows?"} for row in rows(20)]
    source, judge = written(tmp_path, found), steady_judge(Counting())
    alone = make(source, "faithfulness", judge, tmp_path / "alone")
    for metric in ("context_relevance", "answer_relevance"):
        make(source, metric, judge, tmp_path / "run")
    make(source, "faithfulness", judge, tmp_path / "run", statements="sentences")
    shared = make(source, "faithfulness", judge, tmp_path / "run")
    assert alone.rows is not None
    assert alone.rows > 0
    assert shared.rows == alone.rows
    both = (tmp_path / "run" / "journal.jsonl").read_text(encoding="utf-8").count("\n")
    assert both > 2 * (tmp_path / "alone" / "journal.jsonl").read_text(encoding="utf-8").count("\n")


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


def test_labels_of_a_table_are_read_and_a_missing_one_is_named(tmp_path: Path) -> None:
    found = rows(20)
    assert [label(Sample(**{**row, "label": str(row["label"])})) for row in found] == [0, 1] * 10
    del found[3]["label"]
    with pytest.raises(
        InputError, match=r"^tea: sample s3 has no column label; write 1 \(good\) or 0 \(bad\)"
    ):
        carded(tmp_path, found, [])


@pytest.mark.parametrize("number", [-1, 19])
def test_a_number_of_samples_that_says_nothing_is_refused(tmp_path: Path, number: int) -> None:
    source = written(tmp_path, rows(40))
    with pytest.raises(InputError, match=r"too few|number is -1"):
        make(source, "faithfulness", fake_judge(FakeEngine([])), tmp_path / "run", number)


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


def intervals(card: Card) -> list[tuple[str, tuple[float | None, float | None, float | None]]]:
    """Every figure and gain of a card that there is."""
    shown = [
        (f"{part.name}, {score}: {name}", figure)
        for part in card.parts
        for score, own in part.scores.items()
        for name, figure in {**own.figures, "gain": own.gain}.items()
    ]
    return [(name, figure) for name, figure in shown if figure is not None and figure[0] is not None]


def test_few_labels_without_one_mistake_are_shown_with_how_little_they_tell(tmp_path: Path) -> None:
    """Of 10 and 10 all in order: the share of pairs in order is 0.692 or more (Clopper and Pearson 1934)."""
    card = carded(tmp_path, rows(20), [GOOD if i % 2 else BAD for i in range(20)])
    assert card.parts[0].scores["soft"].figures["auroc"] == pytest.approx((1, 0.692, 1), abs=1e-3)
    for name, (_, low, high) in intervals(card):
        assert low is not None, name
        assert high is not None, name
        assert high - low > 0.01, name
    assert "20 labels: AUROC of soft is known to ±0.15" in as_text(card)
    assert "a figure without an interval" not in as_text(card)


@pytest.mark.parametrize("groups", ["aaaa", "abcb"], ids=["all of one group", "all of a label"])
def test_labels_of_one_group_are_refused_before_a_model_is_asked(tmp_path: Path, groups: str) -> None:
    found = [{**row, "group": groups[i % 4]} for i, row in enumerate(rows(20))]
    with pytest.raises(
        InputError,
        match=rf"^tea: all 10 samples with label 1 are of one group \({groups[1]}\), which says nothing of "
        r"others; give samples with label 1 of at least 2 groups, or leave the column group out\.$",
    ):
        carded(tmp_path, found, [])


def test_a_part_of_one_group_has_no_threshold_of_its_own_and_no_interval(tmp_path: Path) -> None:
    """20 of the 40 are answers to one question; all others to one each."""
    found: list[dict[str, Any]] = [
        {**row, "source": "mill", "group": "a"} if i < 20 else {**row, "source": "lake"}
        for i, row in enumerate(rows(40))
    ]
    card = carded(tmp_path, found, [GOOD if i % 2 else BAD for i in range(40)])
    lake, mill = card.parts[1].scores["soft"], card.parts[2].scores["soft"]
    assert mill.figures["auroc"] == (1, None, None)
    assert mill.gain == (0, None, None)
    assert "balanced_accuracy" in lake.figures
    assert "balanced_accuracy" not in mill.figures
    assert "brier" in mill.figures
    assert "source mill: 10 of label 1, 10 of label 0" in as_text(card)
    assert "a figure without an interval: too few groups to say" in as_text(card)
    assert as_html(card)


def scored(number: int, groups: str) -> list[Scored]:
    """Labels take turns, and so do the groups."""
    made = []
    for i in range(number):
        verdict = Verdict(statement="S.", sentence=0, probability=GOOD if i % 2 else BAD)
        sample = Sample(id=f"s{i}", response="S.", label=i % 2)
        made.append(Scored(sample, i % 2, groups[i % len(groups)], "en", (verdict,), {WHOLE: i % 2}))
    return made


def test_no_curve_is_fitted_where_a_label_is_in_one_fold_alone() -> None:
    found = scored(60, "abcd")
    assert len(refitted(found, [i % 3 for i in range(60)])) == 60
    assert refitted(found, [i % 2 for i in range(60)]) == {}
    with pytest.raises(ValueError, match="both labels"):
        fit([one.verdicts for one in found[1::2]], [1] * 30)


def test_a_calibration_leaves_out_figures_without_an_interval() -> None:
    """Label 1 is in the groups a and b, label 0 in b and c: none has a second one of its kind."""
    found = [
        Scored(one.sample, one.label, "b" if i < 20 else "ca"[one.label], "en", one.verdicts, one.scores)
        for i, one in enumerate(scored(60, "b"))
    ]
    (made,) = calibrated(found, fake_judge(FakeEngine([])), Options(statements="sentences"), "tea")
    assert made.figures == {}
    assert set(calibrated(scored(60, "abcd"), fake_judge(FakeEngine([])), Options(), "tea")[0].figures) == {
        "brier",
        "skill",
        "calibration_error",
    }


def test_a_null_group_is_none(tmp_path: Path) -> None:
    card = carded(tmp_path, rows(20, group=None), [0.1 + 0.04 * i for i in range(20)])
    assert carded(tmp_path, rows(20), []).parts == card.parts


def test_a_card_that_can_not_be_written_leaves_the_one_before(tmp_path: Path) -> None:
    carded(tmp_path, rows(20), [GOOD if i % 2 else BAD for i in range(20)])
    before = (tmp_path / "run" / "card.json").read_text(encoding="utf-8")
    (tmp_path / "run" / ".card.json.part").mkdir()  # where it is written until it is whole
    with pytest.raises(FolderError, match="what was judged is kept"):
        carded(tmp_path, rows(20, lang="en", source="mill"), [], threshold=0.7)
    assert (tmp_path / "run" / "card.json").read_text(encoding="utf-8") == before


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
    with pytest.raises(InputError, match=r"^tea: row p4: it has no bad_response"):
        make(written(tmp_path, found), "faithfulness", judge, tmp_path / "run")


def test_a_column_that_every_row_lacks_is_told_with_the_file(tmp_path: Path) -> None:
    bare = [{name: given for name, given in row.items() if name != "retrieved_contexts"} for row in rows(20)]
    with pytest.raises(InputError, match=r"^tea: faithfulness needs the column retrieved_contexts"):
        make(written(tmp_path, bare), "faithfulness", fake_judge(FakeEngine([])), tmp_path / "run")


def test_a_side_that_is_no_text_is_named(tmp_path: Path) -> None:
    found = pair(12)
    found[4]["bad_response"] = 5
    with pytest.raises(
        InputError, match=r"^tea: row p4, bad_response: response: expected a string, found a number"
    ):
        make(written(tmp_path, found), "faithfulness", fake_judge(FakeEngine([])), tmp_path / "run")


def test_a_side_without_a_score_is_counted_as_0_and_the_note_says_so(tmp_path: Path) -> None:
    found = [{**row, "bad_response": ""} for row in pair(12)]
    judge = fake_judge(FakeEngine([{"verdict": 0.9}] * 12))
    card = make(written(tmp_path, found), "faithfulness", judge, tmp_path / "run", statements="sentences")
    assert value(card, "soft", "pair_accuracy") == 1
    assert "not scored, and counted as 0: 12 no_statements" in as_text(card)


def test_pairs_count_a_tie_as_half_and_a_missing_score_as_the_worst() -> None:
    assert won([0.9, 0.2, 0.2, 0.9, 0.5, 0.5]) == [1, 0, 0.5]
    assert rather_good(METRICS["faithfulness"], None) == rather_good(METRICS["hallucination"], None) == 0


def referring(number: int, contexts: bool = False) -> list[dict[str, Any]]:
    """Pairs with a reference; of contexts, of which the less relevant have no word of it, or of responses."""
    found = [{**row, "reference": f"Tea{i} grows there."} for i, row in enumerate(pair(number))]
    if contexts:
        for i, row in enumerate(found):
            row["contexts_more_relevant"] = row.pop("retrieved_contexts")
            row["contexts_less_relevant"] = [f"Coffee{i} is black."]
            del row["good_response"], row["bad_response"]
    return found


@pytest.mark.parametrize(
    ("metric", "of_contexts"),
    [
        ("context_recall", True),
        ("claim_recall", True),
        ("factual_correctness", False),
        ("context_utilization", False),
        ("noise_sensitivity", False),
        ("hallucination", False),
    ],
)
def test_pairs_of_a_metric_that_reads_a_reference_have_it(
    tmp_path: Path, metric: str, of_contexts: bool
) -> None:
    judge = fake_judge(FakeEngine([{"verdict": 0.9}] * 200))
    source = written(tmp_path, referring(12, of_contexts))
    card = make(source, metric, judge, tmp_path / "run", statements="sentences")
    assert (card.kind, card.not_scored) == ("pairs", {})
    lines = (tmp_path / "run" / "samples.jsonl").read_text(encoding="utf-8").splitlines()
    one, other = (json.loads(line) for line in lines[:2])
    assert one["reference"] == other["reference"] == "Tea0 grows there."
    side = "retrieved_contexts" if of_contexts else "response"
    assert {key for key in one if one[key] != other.get(key)} == {"id", side}
    # What needs no model looks at the side too: the words of the better one are those of the question.
    assert value(card, card.baseline, "pair_accuracy") != 0.5


def test_contexts_of_pairs_are_held_against_the_reference_where_there_is_one(tmp_path: Path) -> None:
    judge = fake_judge(FakeEngine([{"verdict": p} for p in (0.9, 0.1) * 12]))
    found = [{**row, "response": "Nobody knows."} for row in referring(12, contexts=True)]
    make(written(tmp_path, found), "context_precision", judge, tmp_path / "run")
    kept = (tmp_path / "run" / "journal.jsonl").read_text(encoding="utf-8")
    assert kept.count('"against":"reference"') + kept.count('"against": "reference"') == 24


def test_a_reference_that_a_metric_does_not_read_judges_no_pair_anew(tmp_path: Path) -> None:
    both = [{"verdict": p} for p in (0.9, 0.1) * 12]
    first = written(tmp_path, pair(12))
    make(first, "faithfulness", fake_judge(FakeEngine(both)), tmp_path / "run", statements="sentences")
    again, asked = written(tmp_path, referring(12)), FakeEngine([])
    make(again, "faithfulness", fake_judge(asked), tmp_path / "run", statements="sentences")
    assert asked.calls == []


def test_pairs_may_have_a_group_of_any_form_but_not_one_alone(tmp_path: Path) -> None:
    judge = fake_judge(FakeEngine([{"verdict": p} for p in (0.9, 0.1) * 12]))
    found = [{**row, "group": ["tea", i // 2]} for i, row in enumerate(pair(12))]
    card = make(written(tmp_path, found), "faithfulness", judge, tmp_path / "run", statements="sentences")
    # Six groups, all right: 0.541 to 1 is exact (Clopper and Pearson 1934).
    shown = card.parts[0].scores["soft"].figures["pair_accuracy"]
    assert shown == pytest.approx((1, 0.541, 1), abs=1e-3)
    one = written(tmp_path, [{**row, "group": "tea"} for row in pair(12)])
    with pytest.raises(InputError, match=r"^tea: all 12 pairs are of one group \(tea\), .* out\.$"):
        make(one, "faithfulness", fake_judge(FakeEngine([])), tmp_path / "run")


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
    assert value(card, DECIDED, "macro_f1") == pytest.approx((8 + 2 * 2 / 3) / 10)  # 0.35 is near 0.4
    # "who planted the tea": the needed sentence has three of four words, the others one and none
    assert value(card, "question overlap", "macro_f1") == 1
    assert "10 rows: F1 within a row of needed is known to ±0." in as_text(card)
    assert "all: 10 rows" in as_text(card)
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


Marked = tuple[list[list[int]], list[list[float]], list[str]]


def plain_f1_across(labels: list[list[int]], shares: list[list[float]], groups: list[str]) -> list[float]:
    """Every candidate is tried on every row: what it means, and too slow for many rows."""
    names = sorted(set(groups))
    random.Random(0).shuffle(names)
    fold = [names.index(name) % FOLDS for name in groups]
    candidates = sorted({share for own in shares for share in own})
    at = {t: [f1(*row, t) for row in zip(labels, shares, strict=True)] for t in candidates}

    def mean_of_others(threshold: float, held: int) -> float:
        return statistics.fmean(one for one, of in zip(at[threshold], fold, strict=True) if of != held)

    best = {held: max(candidates, key=lambda t: mean_of_others(t, held)) for held in set(fold)}
    return [at[best[held]][i] for i, held in enumerate(fold)]


def random_rows(number: int, sentences: int, chance: random.Random, steps: int = 10**6) -> Marked:
    """Rows of 1 to `sentences` sentences; with few `steps` many shares are equal, or 0."""
    labels = [[chance.randint(0, 1) for _ in range(chance.randint(1, sentences))] for _ in range(number)]
    shares = [[chance.randint(0, steps) / steps for _ in own] for own in labels]
    return labels, shares, [f"g{i % (number // 2)}" for i in range(number)]


@pytest.mark.parametrize("seed", range(30))
def test_f1_across_folds_is_what_trying_every_threshold_on_every_row_gives(seed: int) -> None:
    chance = random.Random(seed)
    rows = random_rows(chance.randint(4, 40), 8, chance, chance.choice([1, 3, 10**6]))
    assert f1_across(*rows, 0) == plain_f1_across(*rows)


def test_f1_across_many_rows_takes_no_minutes() -> None:
    """400 rows of 25 sentences took 168 s while every candidate was tried on every row."""
    rows = random_rows(400, 50, random.Random(0))
    with timed() as took:
        f1_across(*rows, 0)
    assert took.seconds < 10


def test_rows_of_one_group_give_no_threshold_to_try_on_themselves(tmp_path: Path) -> None:
    alone = marked(12)
    for i, row in enumerate(alone):
        row |= {"source": "mill", "group": "a"} if i < 6 else {"source": "lake"}
    card = marked_card(tmp_path, alone, [[1.0, 0.1, 0.4, 0.2]] * 12)
    whole, mill = card.parts[0].scores, card.parts[1]
    assert mill.name == "source mill"
    assert whole[NEEDED].figures["macro_f1"][0] == 1
    assert "macro_f1" not in mill.scores[NEEDED].figures
    assert mill.scores[NEEDED].gain is mill.scores[DECIDED].gain is None
    assert mill.scores[NEEDED].figures["auroc_within"] == (1, None, None)
    assert mill.scores[DECIDED].figures["macro_f1"] == (1, None, None)
    assert as_html(card)
    assert "source mill" in as_text(card)
    with pytest.raises(InputError, match=r"^tea: all 10 rows are of one group \(a\), .* out\.$"):
        marked_card(tmp_path, marked(10, group="a"), [])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"sentence_labels": [0, 1]}, "tea: row m0 needs sentences and sentence_labels, lists of"),
        ({"sentence_labels": [0, 2, 0]}, "tea: row m0: a sentence has the label 2; write 1 or 0"),
        (
            {"sentences": ["Coffee is black.", "Tea is green0.", "Ann planted the tea."]},
            "tea: row m0: the contexts do not have 'Tea is green0.' behind the sentence before it",
        ),
    ],
)
def test_rows_whose_sentences_are_not_labelled_are_refused(
    tmp_path: Path, changed: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError) as caught:
        marked_card(tmp_path, marked(10, **changed), [])
    assert str(caught.value).startswith(said)


def test_sentence_labels_are_for_context_relevance_and_ten_rows(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="9 rows with sentence_labels are too few"):
        marked_card(tmp_path, marked(9), [])
    with pytest.raises(InputError, match="not of faithfulness; give -m context_relevance"):
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
    assert (
        baseline.score(sample, "factual_correctness") == 2 / 3
    )  # it reads the response, as answer_relevance
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
