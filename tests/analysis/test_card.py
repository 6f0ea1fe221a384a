"""The judge card: figures counted by hand, on samples that a fake engine judges."""

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from localeval import InputError, Sample, evaluate, read_samples
from localeval.analysis.card import Card, as_json, make
from localeval.analysis.card_kinds import DECIDED, NEEDED
from localeval.analysis.card_render import as_html, as_text
from localeval.analysis.labels import balanced, label
from localeval.cli import main
from localeval.samples import Samples
from localeval.testing import FakeEngine, fake_judge
from tests.commands import said
from tests.finished_runs import write_rows
from tests.steady import SteadyEngine, steady_judge

GOOD, BAD = 0.8, 0.6
SENTENCES: dict[str, Any] = {"metric": "context_relevance", "sentences": True}
RIGHT = [1.0, 0.1, 0.4, 0.2]
Rows = list[dict[str, Any]]


def rows(number: int, **more: Any) -> Rows:
    """Labels take turns. One sentence each, all of whose words the context has where the label is 1."""
    return [
        {"id": f"s{i}", "label": i % 2, "response": f"Tea{i} {'grows' if i % 2 else 'sings'}."}
        | {"retrieved_contexts": [f"Tea{i} grows."], **more}
        for i in range(number)
    ]


def pair(number: int, **more: Any) -> Rows:
    return [
        {"id": f"p{i}", "user_input": f"Where grows tea{i}?", "source": "mill" if i < 5 else "lake"}
        | {"good_response": f"Tea{i} grows there.", "bad_response": f"I like tea{i}."}
        | {"retrieved_contexts": [f"Tea{i} grows there."], "reference": f"Tea{i} grows there.", **more}
        for i in range(number)
    ]


def marked(number: int, **more: Any) -> Rows:
    """Three sentences in two contexts, the middle one needed."""
    return [
        {"id": f"m{i}", "user_input": "Who planted the tea?", "sentence_labels": [0, 1, 0]}
        | {"retrieved_contexts": [f"Tea is green{i}. Ann planted the tea.", "Coffee is black."]}
        | {"sentences": [f"Tea is green{i}.", "Ann planted the tea.", "Coffee is black."], **more}
        for i in range(number)
    ]


def write(folder: Path, samples: Rows) -> Samples:
    return read_samples(write_rows(folder / "tea.jsonl", samples))


def card_of(
    folder: Path, samples: Rows, answers: Sequence[float], metric: str = "faithfulness", **options: Any
) -> Card:
    judge = fake_judge(FakeEngine([{"verdict": p} for p in answers]))
    return make(write(folder, samples), metric, judge, folder / "run", statements="sentences", **options)


def marked_card(folder: Path, samples: Rows, answers: list[list[float]], number: int = 0) -> Card:
    """`answers` are for each row: answerable, then the probability of each sentence."""
    return card_of(folder, samples, [p for row in answers for p in row], number=number, **SENTENCES)


def value(card: Card, score: str, figure: str, part: int = 0) -> float | None:
    return card.parts[part].scores[score].figures[figure][0]


def test_the_figures_are_those_of_the_scores(tmp_path: Path) -> None:
    """Of 10 good ones 8 have 0.8 and 2 have 0.6; all 10 bad ones have 0.6: 8/10 + half of 2/10 in order.

    Four more have no score, and are in no figure.
    """
    answers = [GOOD if i % 2 and i > 4 else BAD for i in range(20)]
    samples = [*rows(20), *({**row, "id": f"x{row['id']}"} for row in rows(4, retrieved_contexts=[""]))]
    card = card_of(tmp_path, samples, answers)
    assert (card.parts[0].good, card.parts[0].bad) == (10, 10)
    assert value(card, "soft", "auroc") == pytest.approx(0.9)
    assert value(card, "value", "auroc") == 0.5  # all of them are at least 0.5
    assert value(card, "soft", "brier") == pytest.approx((8 * 0.2**2 + 2 * 0.4**2 + 10 * 0.6**2) / 20)
    assert value(card, "lexical precision", "auroc") == 1
    assert card.parts[0].scores["soft"].gain == pytest.approx((-0.1, -0.25, 0.0), abs=0.06)
    # 20 labels are too few to fit a calibration, and a second call asks no model.
    assert (card.calibrations, card.not_scored) == ([], {"no_contexts": 4})
    content = (tmp_path / "run" / "card.json").read_text(encoding="utf-8")
    assert content == as_json(card) == as_json(card_of(tmp_path, samples, []))
    assert "NaN" not in content
    for line in ("not scored, and in no figure: 4 no_contexts", "are raw"):
        assert line in as_text(card)
    assert 'cx="60.0" cy="83.3"' in as_html(card)  # 2 of the 12 with 0.6 are good, from above


def test_of_a_rate_of_a_fault_less_counts_as_good(tmp_path: Path) -> None:
    """Hallucination is a statement in no context: 1 - 0.8 of the five good ones, 1 - 0.6 of the bad ones."""
    samples = [{**row, "label": int(i % 4 == 1), "group": i % 8} for i, row in enumerate(rows(20))]
    answers = [GOOD if row["label"] else BAD for row in samples for _ in range(2)]
    card = card_of(tmp_path, [{**row, "reference": "Tea."} for row in samples], answers, "hallucination")
    assert value(card, "soft", "auroc") == 1


def test_parts_are_sources_with_enough_labels_and_escaped(tmp_path: Path) -> None:
    """20 of the 69 are answers to one question; all others, also those with a null, to one each."""
    evil = "<script>alert(1)</script>\x1b[31m"
    samples = rows(69, lang="en", source=evil, group=None)
    for row in samples[:20]:
        row.update(source="mill", group="a")
    for start, number, source, good in ((40, 9, "few", 4), (49, 10, "alike", 2), (59, 10, "enough", 3)):
        for i, row in enumerate(samples[start : start + number]):
            row.update(source=source, label=int(i < good))
    card = card_of(tmp_path, samples, [GOOD if row["label"] else BAD for row in samples])
    parts = [(f"source {evil}", 10), ("source enough", 3), ("source mill", 10)]
    assert [(p.name, p.good) for p in card.parts][1:] == parts
    lake, mill = card.parts[1].scores["soft"], card.parts[3].scores["soft"]
    # Of 10 and 10 all in order: the share of pairs in order is 0.692 or more (Clopper and Pearson 1934).
    assert lake.figures["auroc"] == pytest.approx((1, 0.692, 1), abs=1e-3)
    for figure, expected in ((mill.figures["auroc"], 1), (mill.gain, 0)):
        assert figure == pytest.approx((expected, math.nan, math.nan), nan_ok=True)
    assert ["balanced_accuracy" in part.figures for part in (lake, mill)] == [True, False]
    text, page = as_text(card), as_html(card)
    assert ("source mill: 10 of label 1, 10 of label 0" in text, "\x1b" in text) == (True, False)
    assert ("&lt;script&gt;" in page, "<script" in page, "Brier score" in text) == (True, False, False)
    assert not re.search(r"(src|href)=|https?://|@import|url\(", page)


def test_forty_labels_give_a_calibration_that_a_run_takes(tmp_path: Path) -> None:
    """Raw, every statement counts as supported; the fitted threshold lies between 0.6 and 0.8."""
    samples = [*rows(30, lang=None, source=None), *rows(40)[30:]]
    samples = [{**row, "label": int(i % 4 == 1)} for i, row in enumerate(samples)]
    answers = [GOOD if row["label"] else BAD for row in samples]
    answers[1], answers[2] = BAD, GOOD
    card = card_of(tmp_path, samples, answers)
    assert value(card, "value", "auroc") == 0.5
    assert value(card, "value refitted", "auroc") == pytest.approx((9 / 10 + 29 / 30) / 2, abs=0.02)
    assert value(card_of(tmp_path, samples, [], threshold=0.01), "value refitted", "auroc") == 0.5
    assert [part.name for part in card.parts] == ["all"]  # null is no language and no source
    half = [*rows(20, user_input="Tea?"), *rows(40, user_input="Tea?", lang="en")[20:]]
    asked = card_of(tmp_path / "asked", half, [GOOD, BAD] * 20, "context_precision")
    assert [part.name for part in asked.parts] == ["all", "lang en"]  # nor is a language that nobody told
    assert value(card, "P(all supported) refitted", "calibration_error") == pytest.approx(0, abs=0.1)
    (fitted,) = card.calibrations
    assert (fitted.fitted_on["labels"], fitted.fitted_on["sources"]) == (40, {"": 40})
    assert fitted.curve.apply(GOOD) > 0.5 > fitted.curve.apply(BAD)
    file, judge = tmp_path / "run" / "calibration.json", fake_judge(FakeEngine([{"verdict": BAD}]))
    result = evaluate(rows(1), ["faithfulness"], judge, statements="sentences", calibration=file)
    assert result["faithfulness"].value == 0
    assert value(card_of(tmp_path, samples, [], calibration=str(file)), "value raw", "auroc") == 0.5
    calibrations = json.loads(file.read_text("utf-8"))["calibrations"]
    assert calibrations == [fitted.model_dump(mode="json")]  # it stays as it was given
    chinese = rows(20, response="茶叶生长在山上。", retrieved_contexts=["茶叶生长在山上。"])
    other = card_of(tmp_path / "zh", chinese, [BAD, GOOD] * 10, calibration=str(file))
    assert "no calibration is in force for zh: its 20 scored samples are raw" in as_text(other)
    bare = rows(1, response="茶叶生长在山上。", retrieved_contexts=[])  # nothing of it is raw, nor decided
    result = evaluate(bare, ["faithfulness"], judge, statements="sentences", calibration=file)
    assert "raw probabilities" not in str(result)


def test_the_cost_of_a_sample_is_that_of_the_judgements_that_the_card_is_of(tmp_path: Path) -> None:
    """Another metric's card in the same folder, and another form of the statements, are no part of it."""

    class Counting(SteadyEngine):
        def generate(self, prefix: Any, context: str, items: Sequence[str], schema: Any, **how: Any) -> Any:
            self.spent = self.spent.plus(context=len(context), items=sum(map(len, items)))
            return super().generate(prefix, context, items, schema, **how)

    source = write(tmp_path, rows(20, user_input="Which tea grows?"))
    judge = steady_judge(Counting())
    alone = make(source, "faithfulness", judge, tmp_path / "alone")
    make(source, "context_relevance", judge, tmp_path / "run")
    make(source, "faithfulness", judge, tmp_path / "run", statements="sentences")
    assert make(source, "faithfulness", judge, tmp_path / "run").tokens == alone.tokens
    assert f" {alone.tokens:.0f} tokens" in as_text(alone)


def refusal(folder: Path, samples: Rows, **options: Any) -> str:
    """What the refusal of a card says, which begins with the name of the data."""
    message = said(InputError, card_of, folder, samples, [], **options)
    assert message.startswith("tea: ")
    return message


def test_fewer_than_twenty_samples_are_refused(tmp_path: Path) -> None:
    assert "9 samples with label 1 and 10 with label 0" in refusal(tmp_path, rows(19))


def test_a_number_of_fewer_than_twenty_is_refused(tmp_path: Path) -> None:
    assert "18 of 20 samples with label 1" in refusal(tmp_path, rows(40), number=19)


def test_a_label_that_leaves_fewer_than_twenty_in_balance_is_refused(tmp_path: Path) -> None:
    samples = [{**row, "label": int(i >= 5)} for i, row in enumerate(rows(40))]
    assert "10 of 35" in refusal(tmp_path, samples, number=20)


def test_fewer_than_five_of_a_label_are_refused(tmp_path: Path) -> None:
    samples = [{**row, "label": int(i < 4)} for i, row in enumerate(rows(30))]
    assert "5 of each" in refusal(tmp_path, samples)


def test_a_label_other_than_1_and_0_is_refused(tmp_path: Path) -> None:
    assert "x has the label" in refusal(tmp_path, [*rows(20), *rows(1, id="x", label=2)])


def test_a_label_with_one_group_is_refused(tmp_path: Path) -> None:
    assert "label 1 are of one group (a)" in refusal(tmp_path, rows(20, group="a"))


def test_samples_without_the_metrics_column_are_refused(tmp_path: Path) -> None:
    message = refusal(tmp_path, rows(20, retrieved_contexts=None))
    assert "faithfulness needs the column retrieved_contexts" in message


def test_fewer_than_ten_pairs_are_refused(tmp_path: Path) -> None:
    assert "9 pairs are too few" in refusal(tmp_path, pair(9))


def test_a_pair_with_one_side_is_refused(tmp_path: Path) -> None:
    [alone] = pair(1, id="p11", bad_response=None)
    assert "p11: it has no bad_response" in refusal(tmp_path, [*pair(11), alone])


def test_fewer_than_ten_rows_of_sentences_are_refused(tmp_path: Path) -> None:
    assert "9 rows are too few" in refusal(tmp_path, marked(9), **SENTENCES)


def test_sentences_without_a_label_each_are_refused(tmp_path: Path) -> None:
    message = refusal(tmp_path, marked(10, sentence_labels=[0, 1]), **SENTENCES)
    assert "row m0 needs sentences and sentence_labels" in message


def test_a_sentence_that_is_not_in_the_contexts_is_refused(tmp_path: Path) -> None:
    samples = marked(10, sentences=["Coffee is black.", "x", "y"])
    assert "do not have 'x'" in refusal(tmp_path, samples, **SENTENCES)


def test_pairs_give_the_share_of_the_better_side_beside_the_overlap(tmp_path: Path) -> None:
    """Nine of twelve in order, one tie, two the wrong way round; word overlap has all in order."""
    both = [(0.9, 0.1)] * 9 + [(0.5, 0.5)] + [(0.1, 0.9)] * 2
    card = card_of(tmp_path, pair(12), [p for two in both for p in two])
    assert card.kind == "pairs"
    assert value(card, "soft", "pair_accuracy") == 9.5 / 12
    assert value(card, "lexical precision", "pair_accuracy") == 1
    assert [(p.name, p.good) for p in card.parts] == [("all", 12), ("source lake", 7), ("source mill", 5)]
    assert value(card, "soft", "pair_accuracy", 2) == 1
    assert "all: 12 pairs" in as_text(card)
    assert "<circle" not in as_html(card)
    assert card_of(tmp_path / "first", pair(12), [0.9] * 20, number=5).parts[0].good == 10  # 5 of each source


def test_a_side_without_a_score_is_counted_as_0_and_pairs_of_a_group_count_once(tmp_path: Path) -> None:
    samples = [{**row, "group": ["tea", i // 2]} for i, row in enumerate(pair(12, bad_response=""))]
    card = card_of(tmp_path, samples, [0.9] * 12)
    # Six groups, all right: 0.541 to 1 is exact (Clopper and Pearson 1934).
    assert card.parts[0].scores["soft"].figures["pair_accuracy"] == pytest.approx((1, 0.541, 1), abs=1e-3)
    assert "not scored, and counted as 0: 12 no_statements" in as_text(card)


def test_pairs_of_contexts_keep_the_reference_that_the_metric_reads(tmp_path: Path) -> None:
    sides = {"contexts_more_relevant": ["Tea grows there."], "contexts_less_relevant": ["Coffee is black."]}
    card = card_of(tmp_path, pair(12, **sides), [0.9] * 200, "context_recall")
    assert (card.kind, card.not_scored) == ("pairs", {})
    lines = (tmp_path / "run" / "samples.jsonl").read_text(encoding="utf-8").splitlines()
    first, second = (json.loads(line) for line in lines[:2])
    assert first["reference"] == second["reference"] == "Tea0 grows there."
    assert {key for key in first if first[key] != second.get(key)} == {"id", "retrieved_contexts"}
    # What needs no model looks at the side too: the better one has the words of the question.
    assert value(card, card.baseline, "pair_accuracy") != 0.5


def test_needed_sentences_are_held_against_those_that_people_marked(tmp_path: Path) -> None:
    """Eight rows have the needed one alone near the top; two have another before it, 0.4 to 0.35."""
    card = marked_card(tmp_path, marked(11), [RIGHT] * 8 + [[1.0, 0.4, 0.35, 0.2]] * 2, number=10)
    assert card.kind == "sentences"
    assert value(card, NEEDED, "macro_f1") == pytest.approx((8 + 2 * 2 / 3) / 10)
    assert value(card, NEEDED, "auroc_within") == pytest.approx((8 * 1 + 2 * 0.5) / 10)
    assert value(card, DECIDED, "macro_f1") == pytest.approx((8 + 2 * 2 / 3) / 10)  # 0.35 is near 0.4
    # "who planted the tea": the needed sentence has three of four words, the others one and none
    assert value(card, "question overlap", "macro_f1") == 1
    assert "<h2>all: 10 rows</h2>" in as_html(card)


def test_contexts_that_do_not_answer_need_no_sentence_and_one_cut_elsewhere_is_found(tmp_path: Path) -> None:
    card = marked_card(tmp_path, marked(10), [RIGHT] * 7 + [[0.2, *RIGHT[1:]]] * 3)
    assert value(card, DECIDED, "macro_f1") == pytest.approx(0.7)
    assert value(card, NEEDED, "macro_f1") == 1
    whole = ["Tea is green0. Ann planted the tea.", "Coffee is black."]
    samples = marked(10, retrieved_contexts=whole, sentences=whole, sentence_labels=[1, 0])
    card = marked_card(tmp_path / "cut", samples, [[1.0, 0.1, 0.9, 0.2]])  # it gets the most of its parts
    assert value(card, DECIDED, "macro_f1") == value(card, NEEDED, "macro_f1") == 1


def test_a_number_of_samples_is_drawn_balanced_by_a_seed() -> None:
    samples = [Sample(id=str(i), response="R.", label=str(int(i % 3 == 0))) for i in range(30)]
    chosen = balanced(samples, 8, seed=1)
    assert [label(s) for s in chosen] == [0, 1] * 4
    assert chosen == balanced(samples, 8, seed=1) != balanced(samples, 8, seed=2)


def test_the_command_prints_the_card_and_keeps_it(
    tiny_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    data = write(tmp_path, rows(20)).file
    command = f"card {data} --judge {tiny_path} --statements sentences --n-ctx 16384 -q".split()
    main([*command, "--html", "card.html"])
    assert "lexical precision" in capsys.readouterr().out
    assert (tmp_path / "card.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    content = (tmp_path / "cards" / "tea-faithfulness" / "card.json").read_text(encoding="utf-8")
    main([*command, "--json"])
    assert capsys.readouterr().out == content
    for wrong in (["-m", "faithfulness,context_recall"], ["--sentences"]):
        with pytest.raises(SystemExit) as ended:
            main([*command, *wrong])
        assert ended.value.code == 2
