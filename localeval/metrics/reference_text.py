"""Metrics that compare the response with the reference as texts: no model is asked.

The response is read without `<think>...</think>`, as everywhere.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from functools import lru_cache
from typing import Any

from localeval.judgements.judged_text import response_of
from localeval.metrics.formulas import f_score
from localeval.metrics.metric import Metric, register
from localeval.metrics.score import Score
from localeval.options import Options
from localeval.samples import Sample
from localeval.text.script import IDEOGRAPHS

_COLUMNS = ("response", "reference")
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_HAN = rf"{IDEOGRAPHS}\uf900-\ufaff\U00020000-\U0003ffff"
_TOKEN = re.compile(rf"[{_HAN}]|[^\s{_HAN}]+")
# Of rouge-score's own tokenizer, and each Han character.
_ROUGE_TOKEN = re.compile(rf"[{_HAN}]|[a-z0-9]+")

MAX_ROUGE_CELLS = 4_000_000
"""Tokens of the response times tokens of the reference: rouge-score's table of both takes seconds above."""


def squad_tokens(text: str) -> list[str]:
    """Return the words of a text by SQuAD's rules: lower case, without punctuation and English articles.

    Each Han character is a word, as in the scripts of CMRC 2018 and MLQA. Punctuation is that of ASCII and of
    Unicode, which MLQA removes, too.

    >>> squad_tokens("The U.S. mill, built in 1820"), squad_tokens("建于1820年。")
    (['us', 'mill', 'built', 'in', '1820'], ['建', '于', '1820', '年'])
    """
    kept = "".join(character for character in text.lower() if not _is_punctuation(character))
    return _TOKEN.findall(_ARTICLES.sub(" ", kept))


def _is_punctuation(character: str) -> bool:
    return character in string.punctuation or unicodedata.category(character).startswith("P")


def exact_match(sample: Sample, options: Options) -> Score:  # noqa: ARG001 (of every metric)
    """1 if the words of response and reference are the same (see `squad_tokens`), else 0.

    >>> exact_match(Sample(response="In 1820.", reference="in 1820"), Options()).value
    1.0
    """
    response, reference = _both(sample)
    return Score(float(squad_tokens(response) == squad_tokens(reference)))


def token_f1(sample: Sample, options: Options) -> Score:  # noqa: ARG001 (of every metric)
    """F1 of the words that response and reference share, each as often as both have it.

    Where either has no word left, such as the reference "A", it is 1 if both have none, else 0 (SQuAD 2.0).

    >>> token_f1(Sample(response="It was built in 1820.", reference="In 1820"), Options()).value
    0.5714285714285715
    """
    response, reference = map(squad_tokens, _both(sample))
    if not response or not reference:
        return Score(float(response == reference))
    shared = (Counter(response) & Counter(reference)).total()
    precision = shared / len(response)
    recall = shared / len(reference)
    return Score(f_score(precision, recall))


def chrf(sample: Sample, options: Options) -> Score:  # noqa: ARG001 (of every metric)
    """chrF2 of the response, 0 to 1, by sacrebleu: F-score of shared runs of 1 to 6 characters."""
    response, reference = _both(sample)
    return Score(min(1.0, _chrf_scorer().sentence_score(response, [reference]).score / 100))


def rouge_l(sample: Sample, options: Options) -> Score:  # noqa: ARG001 (of every metric)
    """F1 of the longest common subsequence of words, by rouge-score, without stemming.

    A word is a run of a to z and digits, or a Han character. Undefined (`no_reference_words`) where the
    reference has none; failed (`too_long_to_compare`) beyond `MAX_ROUGE_CELLS`.
    """
    response, reference = _both(sample)
    words = len(_ROUGE_TOKEN.findall(reference.lower()))
    if not words:
        return Score.undefined("no_reference_words")
    if words * len(_ROUGE_TOKEN.findall(response.lower())) > MAX_ROUGE_CELLS:
        return Score.failed("too_long_to_compare")
    return Score(_rouge_scorer().score(reference, response)["rougeL"].fmeasure)


def _both(sample: Sample) -> tuple[str, str]:
    """Return the response as it is judged, and the reference."""
    return response_of(sample), sample.reference or ""


@lru_cache(maxsize=1)
def _chrf_scorer() -> Any:
    from sacrebleu.metrics import CHRF

    return CHRF()


@lru_cache(maxsize=1)
def _rouge_scorer() -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(["rougeL"], tokenizer=_RougeTokenizer())


class _RougeTokenizer:
    """rouge-score's own tokenizer drops Han characters."""

    def tokenize(self, text: str) -> list[str]:
        return _ROUGE_TOKEN.findall(text.lower())


register(
    Metric(
        name="exact_match",
        version="1",
        columns=_COLUMNS,
        judgements=(),
        compute=exact_match,
        definition="1 if response and reference have the same words, without case, punctuation and articles",
        definition_zh="不计大小写、标点和冠词，回答与参考答案用词完全相同时为 1，否则为 0",
        source="SQuAD (Rajpurkar et al. 2016)",
        reads_sample=True,
    )
)
register(
    Metric(
        name="token_f1",
        version="1",
        columns=_COLUMNS,
        judgements=(),
        compute=token_f1,
        definition="F1 of the words that response and reference share; in Chinese, of the characters",
        definition_zh="回答与参考答案共有词语的 F1；中文按字计算",
        source="SQuAD (Rajpurkar et al. 2016); Chinese as in CMRC 2018 and MLQA",
        reads_sample=True,
    )
)
register(
    Metric(
        name="chrf",
        version="1",
        columns=_COLUMNS,
        judgements=(),
        compute=chrf,
        definition="F-score of runs of 1 to 6 characters that response and reference share",
        definition_zh="回答与参考答案共有的 1 至 6 字符片段的 F 值",
        source="chrF (Popović 2015), by sacrebleu",
        reads_sample=True,
        packages=("sacrebleu",),
        extra="strings",
    )
)
register(
    Metric(
        name="rouge_l",
        version="1",
        columns=_COLUMNS,
        judgements=(),
        compute=rouge_l,
        definition="F1 of the longest common subsequence of the words of response and reference",
        definition_zh="回答与参考答案的最长公共子序列的 F1；中文按字计算",
        source="ROUGE-L (Lin 2004), by rouge-score",
        undefined=("no_reference_words",),
        reads_sample=True,
        packages=("rouge-score",),
        extra="strings",
    )
)
