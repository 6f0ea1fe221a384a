"""Scores of a response against a reference: equal to the libraries and rules that they come from."""

import random
import re
import string
from collections import Counter

import pytest

from localeval import METRICS, InputError, Sample, Score
from localeval.metrics import reference_text
from localeval.metrics.summary import choose_metrics, compute_all
from localeval.options import DEFAULTS
from tests.commands import said

CASES = 200
WORDS = [
    "The",
    "a",
    "an",
    "mill",
    "Mill",
    "1820,",
    "built",
    "(in)",
    "theory",
    "it's",
    "U.S.",
    "-",
    "tea",
    "another",
]
HAN = [*"磨坊建于年河边的茶叶", "1820", "，", "。", " "]


def score(metric: str, response: str, reference: str) -> Score:
    [row] = choose_metrics([metric])
    sample = Sample(response=response, reference=reference)
    return compute_all([row], sample, {}, DEFAULTS, {})[metric].checked()


def english_pairs() -> list[tuple[str, str]]:
    """Random pairs of responses and references, both with a word."""
    draw = random.Random(1)

    def text() -> str:
        return " ".join([*draw.choices(WORDS, k=draw.randint(0, 12)), draw.choice(["mill", "tea"])])

    return [(text(), text()) for _ in range(CASES)]


def chinese_pairs() -> list[tuple[str, str]]:
    draw = random.Random(2)

    def text() -> str:
        return "".join([*draw.choices(HAN, k=draw.randint(0, 20)), draw.choice("磨茶")])

    return [(text(), text()) for _ in range(CASES)]


def words_by_squad(text: str) -> list[str]:
    """The rules of Rajpurkar et al. 2016: ignore case, punctuation and the articles a, an, the."""
    without_marks = [character for character in text.lower() if character not in string.punctuation]
    words = "".join(without_marks).split()
    return [word for word in words if word not in ("a", "an", "the")]


def f1_by_squad(response: list[str], reference: list[str]) -> float:
    """The harmonic mean of the shares of shared words, counted one by one."""
    left = Counter(reference)
    shared = 0
    for word in response:
        if left[word] > 0:
            left[word] -= 1
            shared += 1
    return 2 * shared / (len(response) + len(reference))


def test_exact_match_follows_squads_rules() -> None:
    pairs = english_pairs()
    # Half of the references differ from the response in case, marks and articles alone.
    pairs = [(a, f"The {a.upper()}!") if i % 2 else (a, b) for i, (a, b) in enumerate(pairs)]
    for response, reference in pairs:
        expected = words_by_squad(response) == words_by_squad(reference)
        assert score("exact_match", response, reference).value == expected, (response, reference)


def test_token_f1_follows_squads_rules() -> None:
    for response, reference in english_pairs():
        expected = f1_by_squad(words_by_squad(response), words_by_squad(reference))
        computed = score("token_f1", response, reference).value
        assert computed == pytest.approx(expected, abs=1e-9), (response, reference)


def test_token_f1_counts_han_characters_one_by_one() -> None:
    """建 于 1820 年 and 1820 年 建 成: three of four are shared."""
    assert score("token_f1", "建于1820年。", "1820年建成").value == 3 / 4


def test_token_f1_counts_a_word_as_often_as_both_texts_have_it() -> None:
    """Tea tea tea and tea tea milk: 2 of 3 are shared."""
    assert score("token_f1", "Tea tea tea", "tea tea milk").value == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    "response", ["磨坊 建于１８２０年", "磨坊建于１８２０年。", "“磨坊”建于１８２０年！"]
)
def test_exact_match_ignores_space_and_marks_between_han_characters(response: str) -> None:
    assert score("exact_match", response, "磨坊建于１８２０年").value == 1


def test_a_reference_that_is_only_an_article_is_matched_by_an_article_alone() -> None:
    """The answer "A" of a multiple choice; SQuAD 2.0 compares what has no word left."""
    assert score("token_f1", "A.", "A").value == 1
    assert score("token_f1", "B", "A").value == 0


@pytest.mark.parametrize("metric", ["exact_match", "token_f1", "chrf", "rouge_l"])
def test_an_empty_response_scores_0(metric: str) -> None:
    need_package(metric)
    assert score(metric, "", "In 1820.") == Score(0.0, 0.0)


@pytest.mark.parametrize("metric", ["exact_match", "token_f1", "chrf", "rouge_l"])
def test_an_empty_reference_is_missing(metric: str) -> None:
    need_package(metric)
    assert score(metric, "In 1820.", " ") == Score.undefined("missing_reference")


@pytest.mark.parametrize("metric", ["exact_match", "token_f1", "chrf", "rouge_l"])
def test_a_thought_is_no_part_of_the_response(metric: str) -> None:
    need_package(metric)
    assert score(metric, "<think>1790? No.</think>In 1820.", "In 1820.").value == 1


def need_package(metric: str) -> None:
    """Skip the test where the metric's package is not installed."""
    for package in METRICS[metric].packages:
        pytest.importorskip(package.replace("-", "_"), reason=f"{package} is not installed")


@pytest.mark.parametrize("pairs", [english_pairs(), chinese_pairs()], ids=["English", "Chinese"])
def test_chrf_equals_sacrebleu(pairs: list[tuple[str, str]]) -> None:
    sacrebleu = pytest.importorskip("sacrebleu", reason="sacrebleu is not installed")
    for response, reference in pairs:
        expected = sacrebleu.sentence_chrf(response, [reference]).score / 100
        assert score("chrf", response, reference).value == pytest.approx(expected, abs=1e-9)


def test_rouge_l_equals_rouge_score() -> None:
    scorer = pytest.importorskip("rouge_score.rouge_scorer", reason="rouge-score is not installed")
    rouge = scorer.RougeScorer(["rougeL"])
    for response, reference in english_pairs():
        expected = rouge.score(reference, response)["rougeL"].fmeasure
        assert score("rouge_l", response, reference).value == pytest.approx(expected, abs=1e-9)


def test_rouge_l_of_chinese_equals_rouge_score_of_characters_with_spaces_between_them() -> None:
    """rouge-score keeps Latin letters and digits alone, so each Han character stands as a word of them."""
    scorer = pytest.importorskip("rouge_score.rouge_scorer", reason="rouge-score is not installed")
    rouge = scorer.RougeScorer(["rougeL"])

    def spelt(text: str) -> str:
        return re.sub(r"[\u4e00-\u9fff]", lambda han: f" han{ord(han[0])} ", text)

    for response, reference in chinese_pairs():
        expected = rouge.score(spelt(reference), spelt(response))["rougeL"].fmeasure
        assert score("rouge_l", response, reference).value == pytest.approx(expected, abs=1e-9)


def test_rouge_l_of_chinese_is_counted_by_character() -> None:
    """磨 坊 建 于 1820 年 and 1820 年 建 的 磨 坊: the longest common subsequence has two of six each."""
    need_package("rouge_l")
    assert score("rouge_l", "磨坊建于1820年", "1820年建的磨坊").value == pytest.approx(2 / 6)


def test_rouge_l_is_undefined_where_it_reads_no_word_of_the_reference() -> None:
    need_package("rouge_l")
    assert score("rouge_l", "Tea.", "Чай.") == Score.undefined("no_reference_words")


def test_rouge_l_of_very_long_texts_is_failed_and_not_waited_for() -> None:
    need_package("rouge_l")
    assert score("rouge_l", "tea " * 100_000, "tea " * 100_000) == Score.failed("too_long_to_compare")


@pytest.mark.parametrize(
    ("metric", "extra"), [("chrf", "strings"), ("rouge_l", "strings"), ("ndcg", "retrieval")]
)
def test_a_metric_without_its_package_says_what_to_install(
    metric: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localeval.metrics.metric.is_installed", lambda package: False)
    [package] = METRICS[metric].packages
    assert said(InputError, choose_metrics, [metric]) == (
        f"{metric} needs the package {package}, which is not installed; "
        f"pip install 'localeval[{extra}]', or leave the metric out."
    )


def test_words_are_found_in_time_that_grows_with_the_text_alone() -> None:
    assert len(reference_text.squad_tokens("磨tea " * 200_000)) == 400_000
