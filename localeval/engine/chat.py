"""Tokenize a prefix with the chat template of the model's GGUF file.

No text passes through the template: it is rendered with a marker for each text and split at the markers, and
only the template's own pieces are tokenized with control tokens and tokens that the model's maker added
(`<tool_call>`). So no text can contain one.
"""

from __future__ import annotations

from localeval.engine.chat_template import check_reply, render_pieces
from localeval.engine.interface import Frame
from localeval.engine.tokenizer import Tokenizer
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
    bos = model.special_text("bos")
    eos = model.special_text("eos")
    try:
        _, _, opening, closing, reply = render_pieces(source, 1, bos, eos)
        check_reply(opening, closing, reply)
        first, *pieces, last = render_pieces(source, len(prefix.examples), bos, eos)
        if model.adds_bos() and not first.startswith(bos):
            first = bos + first
        before = model.tokenize(first.encode(), special=True)
        for text, piece in zip(texts, pieces, strict=True):
            before += model.tokenize(text.encode())
            before += model.tokenize(piece.encode(), special=True)
    except Exception as error:  # a template comes with the weights and can raise anything
        raise ModelBroken(
            f"{model.path}: the chat template in this file can't be used ({str(error)[:200]!r}); "
            "choose a Qwen2.5 or Qwen3 instruct model."
        ) from error
    return Frame(before, model.tokenize(last.encode(), special=True))
