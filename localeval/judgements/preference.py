"""Which of two responses is better? Asked in both orders; swapping the two mirrors the record exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel

from localeval.engine.interface import Reply, TreeEngine
from localeval.judgements.base import (
    Choices,
    Inputs,
    Judgement,
    Models,
    Record,
    Records,
    register_judgement,
)
from localeval.judgements.decision import Decision, DecisionContext
from localeval.judgements.judged_text import response_of
from localeval.judgements.windows import windows
from localeval.prompts import PromptBySha256, PromptForm
from localeval.samples import Sample
from localeval.statistics.mirrored import share_from_log_odds
from localeval.text.language import language
from localeval.text.normalise import normalise
from localeval.text.sentences import has_words
from localeval.text.thoughts import strip_thinking

OTHER_RESPONSE = "other_response"
"""The column of a sample with the response that its own one is compared with."""
QUESTION = "preference_question"
"""The column with what the judge is asked of the two; without it the prompt's own question."""

Rule = Literal["", "equal", "both_empty", "empty_response", "empty_other"]
"""Why the judge was not asked, or ""."""

# Log-odds stay finite where a probability is read as 0.
_LEAST = 1e-9


class Better(BaseModel):
    better: Literal["first", "second"]


PROMPT = PromptForm("preference", replies={"better": Better})


class PreferenceRecord(Record):
    """How far the judge prefers the response to the other one, in each of the two orders.

    log_odds  of the response, where it was shown first, and where it was shown second
    rule      why the judge was not asked: both texts are equal, or at least one has no word; else ""
    mass      the lower of both orders; see `Reply.mass`
    windows   into how many the contexts were cut; the window in which both orders decide most counts
    """

    log_odds: tuple[float, float] = (0.0, 0.0)
    rule: Rule = ""
    question: str
    mass: float = 1.0
    language: str
    windows: int = 1

    @property
    def share(self) -> float:
        """P(the response is better): by the mean log-odds of both orders, in which the place cancels out."""
        if self.rule == "empty_response":
            return 0.0
        if self.rule == "empty_other":
            return 1.0
        first, second = self.log_odds
        return share_from_log_odds((first + second) / 2)

    @property
    def shares(self) -> tuple[float, float]:
        """P(the response is better) as the judge said: shown first, and shown second."""
        first, second = self.log_odds
        return share_from_log_odds(first), share_from_log_odds(second)

    @property
    def depends_on_order(self) -> bool:
        """Whether the judge prefers another response in the other order."""
        first, second = self.shares
        return (first > 0.5, first < 0.5) != (second > 0.5, second < 0.5)

    def decisions(self, context: DecisionContext) -> tuple[Decision, ...]:  # noqa: ARG002
        """List the one decision: whether the response is the better one."""
        decided = Decision(
            text=self.question,
            label="preferred to the other response",
            probability=self.share,
            is_yes=self.share > 0.5,
            mass=self.mass,
        )
        return (decided,)


class PreferenceInputs(Inputs):
    """Both responses in an order that does not depend on whose they are, and what the judge is shown.

    first, second   the responses, sorted; without `<think>...</think>`
    response_place  0 or 1: which of them is the sample's own response
    criterion       what the judge is asked of the two
    language        in which the judge is asked
    """

    first: str
    second: str
    response_place: Literal[0, 1]
    user_input: str
    contexts: tuple[str, ...]
    criterion: str
    language: str
    prompt: PromptBySha256

    @property
    def responses(self) -> tuple[str, str]:
        return self.first, self.second


class Preference(Judgement[PreferenceInputs, PreferenceRecord]):
    """Which of two responses is better. Both orders are asked, whichever of the two the sample's own is."""

    name = "preference"
    version = "1"
    record = PreferenceRecord
    prompts = (PROMPT,)

    def inputs(self, sample: Sample, records: Records, choices: Choices) -> PreferenceInputs:  # noqa: ARG002
        """Sort the responses, so that the same question is put whichever of them is the sample's own."""
        own = response_of(sample)
        columns = sample.model_extra or {}
        other = strip_thinking(str(columns.get(OTHER_RESPONSE) or ""))[0]
        first, second = sorted((own, other))
        question = sample.user_input or ""
        code = language(f"{first}\n{second}", question)
        prompt = choices.options.prompt(PROMPT.name, code)
        return PreferenceInputs(
            first=first,
            second=second,
            response_place=0 if own == first else 1,
            user_input=question,
            contexts=tuple(sample.retrieved_contexts or ()),
            criterion=str(columns.get(QUESTION) or "").strip() or prompt.words["criterion"],
            language=PROMPT.language_for(code),
            prompt=prompt,
        )

    def ask(self, inputs: PreferenceInputs, models: Models) -> PreferenceRecord:
        """Ask in both orders, unless a rule decides."""
        rule = _rule(inputs)
        if rule:
            return PreferenceRecord(rule=rule, question=inputs.criterion, language=inputs.language)
        by_window = _replies_by_window(inputs, models.engine)
        forward, reverse = max(by_window, key=_decidedness)
        # Of the first of the sorted responses: shown first, and shown second.
        log_odds = (_log_odds(forward), -_log_odds(reverse))
        if inputs.response_place == 1:
            log_odds = (-log_odds[1], -log_odds[0])
        return PreferenceRecord(
            log_odds=log_odds,
            question=inputs.criterion,
            mass=min(reply.mass.get("better", 1.0) for reply in (forward, reverse)),
            language=inputs.language,
            windows=len(by_window),
        )


def _rule(inputs: PreferenceInputs) -> Rule:
    """Return the rule that decides without the judge, or ""."""
    own = inputs.responses[inputs.response_place]
    other = inputs.responses[1 - inputs.response_place]
    if not has_words(own) and not has_words(other):
        return "both_empty"
    if not has_words(own):
        return "empty_response"
    if not has_words(other):
        return "empty_other"
    return "equal" if _as_compared(own) == _as_compared(other) else ""


def _as_compared(text: str) -> str:
    """Return a text in the form in which two are equal: what a reader sees, without white space.

    >>> _as_compared("the ﬁnal  one\\n") == _as_compared("the final one")
    True
    """
    return "".join(normalise(text).text.split())


def _replies_by_window(
    inputs: PreferenceInputs, engine: TreeEngine
) -> list[tuple[Reply[Better], Reply[Better]]]:
    """Return, for each window of the contexts, the replies with the sorted responses and in reverse order."""
    prompt = inputs.prompt
    prefix = prompt.prefix("better", Better)
    items = [
        prompt.render_item("better", first=first, second=second, criterion=inputs.criterion)
        for first, second in (inputs.responses, inputs.responses[::-1])
    ]

    def render(contexts: str) -> str:
        return prompt.render_context(contexts=contexts, user_input=inputs.user_input)

    parts = windows(engine, prefix, inputs.contexts, items, bare=render(""))
    by_window = []
    for part in parts:
        forward, reverse = engine.generate(prefix, render(part), items, Better, budget=0)
        by_window.append((forward, reverse))
    return by_window


def _log_odds(reply: Reply[Any]) -> float:
    """Return the log-odds of the response that was shown first; those of the second are its negative."""
    probabilities = reply.probabilities["better"]
    log_of_first = math.log(max(_LEAST, probabilities["first"]))
    log_of_second = math.log(max(_LEAST, probabilities["second"]))
    return log_of_first - log_of_second


def _decidedness(replies: Sequence[Reply[Any]]) -> float:
    """Return how far both orders together prefer one of the responses."""
    forward, reverse = replies
    return abs(_log_odds(forward) - _log_odds(reverse))


register_judgement(Preference())
