"""Groups: samples that are alike, such as answers to one question. They are drawn, and held out, together."""

from __future__ import annotations

from collections.abc import Sequence

from localeval.errors import InputError
from localeval.samples import Sample
from localeval.text.display import said

FEWEST_GROUPS = 2


def group(sample: Sample) -> str:
    """The sample's `group` as text; without one (or with null) it is a group of its own."""
    given = (sample.model_extra or {}).get("group")
    return f"sample {sample.id}" if given is None else str(given)


def check(samples: Sequence[Sample], what: str, where: str) -> None:
    """Raises InputError where all `samples`, which the message calls `what`, are of one group."""
    found = {group(sample) for sample in samples}
    if len(found) < FEWEST_GROUPS:
        one = said(next(iter(found)), 40)
        raise InputError(
            f"{where}: all {len(samples)} {what} are of one group ({one}), which says nothing of others; "
            f"give {what} of at least {FEWEST_GROUPS} groups, or leave the column group out."
        )
