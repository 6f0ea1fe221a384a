"""Tokenize a prefix with the chat template of the model's GGUF file.

No text passes through the template: it is rendered with a marker for each text and split at the markers, and
only the template's own pieces are tokenized with control tokens. So no text can contain one.
"""

from __future__ import annotations

from functools import lru_cache

import jinja2
import jinja2.sandbox

from localeval.engine.interface import Frame
from localeval.engine.llama import Tokenizer
from localeval.errors import ModelBroken
from localeval.prompts import PromptPrefix


def frame(model: Tokenizer, prefix: PromptPrefix) -> Frame:
    """Return the tokens before a context and after an item. Raises ModelBroken without a usable template."""
    source = model.chat_template()
    if source is None:
        raise ModelBroken(
            f"{model.path}: the file has no chat template, as in a base model; choose an instruct model."
        )
    texts = [prefix.system, *(text for example in prefix.examples for text in example)]
    roles = ["system", *("user", "assistant") * len(prefix.examples), "user"]
    markers = [f"\ue000{i}\ue001" for i in range(len(roles))]
    bos = model.special_text("bos")
    try:
        # enable_thinking: Qwen3's templates write an empty thought for False; others ignore it.
        rest = _compiled(source).render(
            messages=[{"role": r, "content": m} for r, m in zip(roles, markers, strict=True)],
            add_generation_prompt=True,
            enable_thinking=False,
            bos_token=bos,
            eos_token=model.special_text("eos"),
        )
        if model.adds_bos() and not rest.startswith(bos):
            rest = bos + rest
        before: list[int] = []
        for marker, text in zip(markers, [*texts, None], strict=True):
            if rest.count(marker) != 1:
                raise ValueError("it does not write every turn once, in order")
            piece, rest = rest.split(marker)
            before += model.tokenize(piece.encode(), special=True)
            if text is not None:
                before += model.tokenize(text.encode())
    except Exception as error:  # a template comes with the weights and can raise anything
        raise ModelBroken(
            f"{model.path}: the chat template in this file can't be used ({str(error)[:200]!r}); "
            "choose a Qwen2.5 or Qwen3 instruct model."
        ) from error
    return Frame(before, model.tokenize(rest.encode(), special=True))


@lru_cache(maxsize=4)
def _compiled(source: str) -> jinja2.Template:
    # A template is not trusted: the sandbox lets it only produce text. (`raise_exception` is undefined in it,
    # and raises too.)
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(source)
