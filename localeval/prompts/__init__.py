"""Prompts: TOML files, one per judgement and language. A caller may give files of the same form."""

from localeval.prompts.criteria import Criterion, read_criteria
from localeval.prompts.custom import load_prompt, register_prompt
from localeval.prompts.forms import (
    LANGUAGES,
    PROMPTS,
    PromptForm,
    find_form,
    is_prompt_text,
    read_file,
    text_of,
)
from localeval.prompts.template import (
    FENCES,
    Prompt,
    PromptBySha256,
    PromptPrefix,
    fence,
    fill,
    join,
)

__all__ = [
    "FENCES",
    "LANGUAGES",
    "PROMPTS",
    "Criterion",
    "Prompt",
    "PromptBySha256",
    "PromptForm",
    "PromptPrefix",
    "fence",
    "fill",
    "find_form",
    "is_prompt_text",
    "join",
    "load_prompt",
    "read_criteria",
    "read_file",
    "register_prompt",
    "text_of",
]
