"""A trunk as tokens, by the chat template of the model's own GGUF file.

No text passes through the template: it is rendered with a marker in the place of each text, cut at the
markers, and only its own pieces are read with control tokens. So nothing a text contains can act.
"""

from __future__ import annotations

from typing import Any

import jinja2
import jinja2.sandbox

from localeval.engine.reading import Reader
from localeval.errors import ModelBroken
from localeval.prompts.prefix import Trunk


class Chat:
    """Turns a trunk, a branch and leaves into tokens for one model. Raises ModelBroken without a template."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        source = reader.chat_template()
        if source is None:
            raise ModelBroken(
                f"{reader.path}: the file has no chat template, as in a base model; choose an instruct model."
            )
        # A template comes with the weights, from outside: the sandbox keeps it to text.
        environment = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.globals["raise_exception"] = _refuse
        # The same every time: what a trial saw of a template is what it does here.
        environment.globals.pop("lipsum")
        environment.filters.pop("random")
        try:
            self._template = environment.from_string(source)
        except jinja2.TemplateError as error:
            raise self._broken(error) from error

    def frame(self, trunk: Trunk) -> tuple[list[int], list[int]]:
        """(the tokens before a branch, the tokens after a leaf)."""
        texts = [trunk.system, *(text for example in trunk.examples for text in example)]
        roles = ["system", *("user", "assistant") * len(trunk.examples), "user"]
        marks = [f"\ue000{i}\ue001" for i in range(len(roles))]
        rest = self._render([{"role": r, "content": m} for r, m in zip(roles, marks, strict=True)])
        before: list[int] = []
        for mark, text in zip(marks, [*texts, None], strict=True):
            if rest.count(mark) != 1:
                raise self._broken("it does not write every turn once, in order")
            own, rest = rest.split(mark)
            before += self._reader.tokenize(own.encode(), special=True)
            if text is not None:
                before += self._reader.tokenize(text.encode())
        return before, self._reader.tokenize(rest.encode(), special=True)

    def _render(self, messages: list[dict[str, str]]) -> str:
        bos = self._reader.special_text("bos")
        try:
            # enable_thinking: Qwen3's templates write an empty thought for False; others ignore it.
            text: str = self._template.render(
                messages=messages,
                add_generation_prompt=True,
                enable_thinking=False,
                bos_token=bos,
                eos_token=self._reader.special_text("eos"),
            )
        except Exception as error:
            raise self._broken(error) from error
        return bos + text if self._reader.adds_bos() and not text.startswith(bos) else text

    def _broken(self, why: object) -> ModelBroken:
        return ModelBroken(
            f"{self._reader.path}: the chat template in this file can't be used ({str(why)[:200]!r}); "
            "choose a Qwen2.5 or Qwen3 instruct model."
        )


def _refuse(message: Any) -> None:
    raise jinja2.TemplateRuntimeError(str(message))
