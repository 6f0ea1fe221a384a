"""A prompt's beginning, which is the same for all samples."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PromptPrefix:
    """What is the same for a whole run: the instruction, and worked examples as (user, assistant) turns."""

    system: str
    examples: tuple[tuple[str, str], ...]
