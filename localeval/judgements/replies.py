"""The reply to a question of yes or no, as several judgements ask it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel

from localeval.engine.interface import Reply


class YesOrNo(BaseModel):
    verdict: Literal["yes", "no"]


def probability_of_yes(reply: Reply[Any]) -> float:
    return reply.probabilities["verdict"]["yes"]
