"""A model's thoughts are cut off its answer."""

import pytest

from localeval.text.thoughts import strip_thinking


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("A <think>x</think>B<think></think> C", "A B C"),
        ("\n<think>a</think> <think>never closed", ""),
        ("Maybe 1700.\n</think>\n\nIt was 1820.", "It was 1820."),
        ("<Thinking>Hm.</Thinking>B", "B"),
        ("[THINK]Hm.[/THINK]B", "B"),
        ("\u25c1think\u25b7Hm.\u25c1/think\u25b7B", "B"),
        ("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>B", "B"),
    ],
)
def test_a_thought_is_stripped_and_reported(text: str, answer: str) -> None:
    assert strip_thinking(text) == (answer, True)


@pytest.mark.parametrize(
    "text",
    [
        "Paris.",
        "The tag <think> opens a block.",
        "Use </think>\nto close it. Bob.",
        "Put it in `<think>` and `</think>`.",
        "Write </think> to end it.",
    ],
)
def test_a_mark_that_is_only_mentioned_stays(text: str) -> None:
    assert strip_thinking(text) == (text, False)
