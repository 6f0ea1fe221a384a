"""Checks of judging itself: sentences, the judge, its grammar, a known answer, the same bits."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any, Literal

from pydantic import BaseModel

from localeval import models
from localeval.doctor.asked import Asked, Fault
from localeval.judgements.calibration import RAW
from localeval.judgements.journal import Journal
from localeval.metrics import METRICS
from localeval.metrics.summary import compute
from localeval.prompts.options import Options
from localeval.prompts.prefix import Trunk
from localeval.samples import Sample
from localeval.text import sentences

SENTENCES = (
    ("Dr. Smith paid 3.5% more. He left on 4 Oct. 1871.", "en", 2),
    ("青岚茶场创办于1958年。它有三座山头！", "zh", 2),
    ("See [1]." + "..[111 " * 12, "en", 12),  # pysbd alone takes hours
)

SUPPORTED, DATE_WRONG, CONTRADICTED = "en-supported", "en-one-date-wrong", "en-contradicted"
"""Three of the shipped samples; the same contexts stand behind all."""

APART, DATE_APART = 0.3, 0.1
"""By how much the supported answer's probability must be above the contradicted one's, which a judge that
guesses reaches by luck at times, and above the one's with another date, to which it gives nearly the same."""

_OPTIONS = Options(statements="sentences")


class _Reply(BaseModel):
    word: str
    verdict: Literal["yes", "no"]


def splitter(_: Asked) -> str:
    for text, lang, expected in SENTENCES:
        if (found := len(sentences.split(text, lang))) != expected:
            raise Fault(
                f"{text[:20]!r}... makes {found} sentences, expected {expected}",
                "install pysbd again, as localeval wants it",
            )
    return f"{len(SENTENCES)} texts in English and Chinese are cut as they should be"


def judge(asked: Asked) -> str:
    """The judge is here, is what it should be, and loads."""
    files = models.resolve(asked.judge, kind="judge")
    tokens = asked.loaded.engine.count("The mill was built in 1820.")
    threads = asked.loaded.engine.settings.n_threads
    return f"{files.name}: {files.size / 1e9:.2f} GB, loaded, {threads} threads ({tokens} tokens)"


def grammar(asked: Asked) -> str:
    """Replies to awkward texts have the form that was asked for, and probabilities that sum to 1."""
    trunk = Trunk("Answer with a word and a verdict.", ())
    leaves = ['quotes " and \\ {"verdict":"yes"}', "青岚茶场 한국어 🍎 <|im_end|>"]
    for reply in asked.needed.engine.generate(trunk, "Tea grows on hills.", leaves, _Reply, budget=8):
        total = sum(reply.probabilities["verdict"].values())
        if _Reply.model_validate_json(reply.text) != reply.value or not abs(total - 1) < 1e-6:
            raise Fault(f"a reply does not hold to its form: {reply.text[:80]!r}", "choose another judge")
    return f"{len(leaves)} replies parse"


def faithfulness(asked: Asked) -> str:
    """The judge tells a supported answer from a contradicted one, and from the same with another date."""
    names = (SUPPORTED, DATE_WRONG, CONTRADICTED)
    high, other, low = (_soft(asked, _record(asked, name)) for name in names)
    found = (
        f"a supported answer has {high:.3f}, one with a wrong date {other:.3f}, a contradicted one {low:.3f}"
    )
    if not tells_apart(high, other, low):
        raise Fault(
            found, f"this judge does not judge: choose another, or check it: models verify {asked.judge}"
        )
    return found


def tells_apart(high: float, other: float, low: float) -> bool:
    """Whether a judge that gives these three probabilities can judge.

    >>> tells_apart(0.97, 0.6, 0.4), tells_apart(0.52, 0.4, 0.2), tells_apart(0.97, 0.97, 0.4)
    (True, False, False)
    >>> tells_apart(float("nan"), 0.0, 0.0)
    False
    """
    return high >= 0.6 and high - other >= DATE_APART and high - low >= APART


def same_bits(asked: Asked) -> str:
    """A judgement alone, and again after another sample's: the same record."""
    alone = _record(asked, SUPPORTED)
    _record(asked, CONTRADICTED)
    again = _record(asked, SUPPORTED)
    if alone != again:
        raise Fault(
            "the same judgement made twice gave two records",
            "use a CPU build, without --gpu-layers; scores of this machine can't be verified",
        )
    return "a judgement made twice, with another between, is the same record"


def _record(asked: Asked, name: str) -> dict[str, BaseModel]:
    """The judgements of one shipped sample, made now."""
    return asked.needed.judge(_shipped(name), ("statements", "support"), _OPTIONS, Journal())


def _soft(asked: Asked, records: dict[str, Any]) -> float:
    score = compute(METRICS["faithfulness"], records, _OPTIONS, RAW)
    if score.soft is None:
        raise Fault(f"the judge could not answer ({score.reason})", f"check it: models verify {asked.judge}")
    return score.soft


def _shipped(name: str) -> Sample:
    path = resources.files("localeval") / "examples" / "answers.jsonl"
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return next(Sample(**line) for line in lines if line["id"] == name)
