"""Prompts: texts as TOML files per judgement and language, and how outside text is put into them."""

from __future__ import annotations

from localeval.prompts.templates import FENCES, LANGUAGES, Prompt, fence, fill, join, load, text_of

__all__ = ["FENCES", "LANGUAGES", "Prompt", "fence", "fill", "join", "load", "text_of"]
