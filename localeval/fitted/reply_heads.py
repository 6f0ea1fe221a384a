"""Heads for replies: fitted maps from the state in which a judge is about to reply to what is the case.

A small judge often says the wrong thing and yet knows better: the state before its yes or no tells more than
the yes or no. See README.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, PlainSerializer, field_validator

from localeval.errors import InputError
from localeval.fitted.files import FittedRow, shipped
from localeval.fitted.heads import MAX_LAYERS, LinearMap
from localeval.options import Options
from localeval.system.versions import digest

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class ReplyHead(FittedRow):
    """Probabilities of outcomes, from the state before a judge's reply to one item of a prompt.

    prompt         name of the prompt, such as "abstention"
    prompt_sha256  of its file: what is asked in other words leads to other states
    item           the kind of item that is asked, such as "gives"
    layer          after which the state is read
    outcomes       outcome -> the map of a state to its logit; the probabilities are their softmax
    """

    # There is no command for them: `scripts/fit_reply_head` writes the shipped ones.
    KIND = "reply_heads"
    COMMAND = "fit"

    prompt: str
    prompt_sha256: str
    item: str
    layer: int = Field(ge=0, le=MAX_LAYERS)
    outcomes: dict[str, LinearMap] = Field(min_length=2)

    @field_validator("outcomes")
    @classmethod
    def _one_width(cls, outcomes: dict[str, LinearMap]) -> dict[str, LinearMap]:
        if len({len(linear.states) for linear in outcomes.values()}) > 1:
            raise ValueError("the outcomes have different numbers of weights")
        return outcomes

    def of(self, state: npt.NDArray[np.float32]) -> dict[str, float]:
        """Return the probability of each outcome; they sum to 1.

        state  (width,)

        >>> import numpy as np
        >>> both = {"yes": LinearMap(states=(1.0, 0.0)), "no": LinearMap(states=(0.0, 1.0))}
        >>> head = ReplyHead(judge={"name": "tiny", "sha256": ""}, language="en", prompt="p",
        ...     prompt_sha256="", item="i", layer=1, outcomes=both)
        >>> head.of(np.array([2.0, 2.0], np.float32))
        {'yes': 0.5, 'no': 0.5}
        """
        logits = {name: float(linear.of(state[None])[0]) for name, linear in self.outcomes.items()}
        highest = max(logits.values())
        shares = {name: math.exp(logit - highest) for name, logit in logits.items()}
        total = math.fsum(shares.values())
        return {name: share / total for name, share in shares.items()}

    def check_fits(self, width: int, layers: int) -> None:
        """Raise InputError for a model whose states have another width, or with too few layers."""
        widths = {len(linear.states) for linear in self.outcomes.values()}
        if widths != {width} or self.layer >= layers:
            raise InputError(
                f"the head for replies to {self.prompt} does not fit {self.judge.name}, whose {layers} layers"
                f" have {width} numbers a state; leave it out with --head none."
            )

    @cached_property
    def sha256(self) -> str:
        """The digest of every field that affects a result."""
        return digest(self.model_dump(mode="json", exclude={"fitted_on", "figures", "fingerprints"}))


ReplyHeadBySha256 = Annotated[ReplyHead, PlainSerializer(lambda head: head.sha256)]
"""A head for replies in the inputs of a judgement, whose digest has the sha256 of what the head computes."""

ReplyHeads = Mapping[str, ReplyHead]
"""Heads for replies by "prompt/language", as "abstention/zh"."""


def reply_heads_for(model_sha256: str, options: Options) -> dict[str, ReplyHead]:
    """Return the shipped heads that were fitted for this judge and the prompts in use; often none.

    None with the option `head` at "none", and for a judge without a model, "".
    """
    if not model_sha256 or options.head == "none":
        return {}
    return {
        f"{head.prompt}/{head.language}": head
        for head in shipped(ReplyHead)
        if head.judge.sha256 == model_sha256
        and head.prompt_sha256 == options.prompt(head.prompt, head.language).sha256
    }
