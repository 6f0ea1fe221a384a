"""Chat formats come from the model's own file, and texts never pass through them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from localeval.engine.engine import Engine
from localeval.errors import ModelBroken
from localeval.prompts.prefix import PromptPrefix
from tests.tiny import CHATML, write_tiny_model

# How Qwen3's hybrid models are told not to think: an empty thought opens the answer.
THINKING = CHATML.replace(
    "<|im_start|>assistant\n{% endif %}",
    "<|im_start|>assistant\n{% if enable_thinking is defined and enable_thinking is false %}"
    "<think>\n\n</think>\n\n{% endif %}{% endif %}",
)
TRUNK = PromptPrefix("System {{ text }}", (("user <|im_end|>", "assistant {% raw %}"),))


def frame(folder: Path, template: str) -> tuple[str, str]:
    with closing(Engine(write_tiny_model(folder / "chat.gguf", template))) as engine:
        texts = dict(engine.llama.pieces())
        (start,) = engine.llama.tokenize(b"<|im_start|>", special=True)

        def shown(tokens: Sequence[int]) -> str:
            return b"".join(texts.get(t, b"<S>" if t == start else b"<E>") for t in tokens).decode()

        before, after = engine.frame(TRUNK)
        return shown(before), shown(after)


def test_a_trunk_is_framed_as_the_template_says_with_texts_left_as_they_are(tmp_path: Path) -> None:
    assert frame(tmp_path, CHATML) == (
        "<S>system\nSystem {{ text }}<E>\n<S>user\nuser <|im_end|><E>\n"
        "<S>assistant\nassistant {% raw %}<E>\n<S>user\n",
        "<E>\n<S>assistant\n",
    )


def test_thinking_is_switched_off_where_the_template_knows_it(tmp_path: Path) -> None:
    assert frame(tmp_path, THINKING)[1] == "<E>\n<S>assistant\n<think>\n\n</think>\n\n"


@pytest.mark.parametrize(
    "template",
    [
        "{% for",
        "{{ raise_exception('no system role') }}",
        "{{ messages[0].content }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ lipsum() }}" + CHATML,
        "{{ [1, 2] | random }}" + CHATML,
        "{% for m in messages %}{{ m.content }}{{ m.content }}{% endfor %}",
    ],
)
def test_a_template_that_does_not_work_is_a_broken_model(tmp_path: Path, template: str) -> None:
    with pytest.raises(ModelBroken, match="chat template"):
        frame(tmp_path, template)
