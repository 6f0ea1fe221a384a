"""Render the chat template of a GGUF file, a Jinja text, and check that a judge can use it.

A template comes with the weights and is not trusted; this module needs no model, only the text.
"""

from __future__ import annotations

import re
from functools import lru_cache

import jinja2
import jinja2.sandbox

# Tags as <think>, [THINK] and ◁think▷.
_TAG = re.compile(r"[<\[◁]\w+[>\]▷]")
_EMPTY_THOUGHT = re.compile(r"[<\[◁](\w+)[>\]▷]\s*[<\[◁]/\1[>\]▷]")


def render_pieces(source: str, examples: int, bos: str, eos: str) -> list[str]:
    """Return what the template writes before, between and after the texts of a prefix and a question.

    Raises ValueError if it does not write each text once, in order, as it is.
    """
    roles = ["system", *("user", "assistant") * examples, "user"]
    # Letters of both cases: a template that changes the case of texts writes another marker.
    markers = [f"\ue000Text{i}\ue001" for i in range(len(roles))]
    messages = [{"role": role, "content": marker} for role, marker in zip(roles, markers, strict=True)]
    # enable_thinking: Qwen3's templates write an empty thought for False; others ignore it.
    rest = _compiled(source).render(
        messages=messages,
        add_generation_prompt=True,
        enable_thinking=False,
        bos_token=bos,
        eos_token=eos,
    )
    pieces = []
    for marker in markers:
        if rest.count(marker) != 1:
            raise ValueError("it does not write every turn once, in order, as it is")
        piece, rest = rest.split(marker)
        pieces.append(piece)
    return [*pieces, rest]


def check_reply(opening: str, closing: str, reply: str) -> None:
    r"""Raise ValueError if a reply would not begin where the template opens the assistant's turn.

    opening  what stands between a question and the assistant's reply
    closing  what stands between this and the next question
    reply    what stands behind the last question, before the reply that the model writes

    An empty thought may follow, as in Qwen3.

    >>> check_reply("<|assistant|>\n", "<|user|>\n", "<|assistant|>\n<think>\n\n</think>\n\n")
    >>> check_reply("<|assistant|>\n", "<|user|>\n", "<|assistant|>\n<think>\n")
    Traceback (most recent call last):
    ValueError: it opens a thought that it does not close, and a judge that thinks can't answer at once
    """
    header = opening.rstrip()
    if not header or header == closing.rstrip() or not reply.startswith(header):
        raise ValueError("it does not open the assistant's turn after a question")
    written = _EMPTY_THOUGHT.sub("", reply.removeprefix(header)).strip()
    if _TAG.search(written):
        raise ValueError(
            "it opens a thought that it does not close, and a judge that thinks can't answer at once"
        )
    if written:
        raise ValueError(f"it writes the beginning of every reply itself: {written}")


@lru_cache(maxsize=4)
def _compiled(source: str) -> jinja2.Template:
    # A template is not trusted: the sandbox lets it only produce text. (`raise_exception` is undefined in it,
    # and raises too.)
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(source)
