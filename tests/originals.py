"""What the tests of the original names share: inputs, and fakes that answer them."""

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import localeval
from localeval import Judge
from localeval.prompts import load_prompt
from localeval.testing import FakeEngine, fake_judge

QUESTION = "Where is tea grown?"
ANSWER = "Tea is grown in Assam. It was planted there in 1937."
CONTEXTS = ["Tea is grown in Assam. It was planted there in 1837.", "Coffee is grown in Kodagu."]
INPUTS: dict[str, Any] = {"answer": ANSWER, "document_list": CONTEXTS}

# Two sentences, a statement each; the first is supported.
FIRST, SECOND = "Tea is grown in Assam.", "Tea was planted in Assam in 1937."
STATEMENTS: list[dict[str, Any]] = [{"statements": [FIRST]}, {"statements": [SECOND]}]
HALF: list[dict[str, Any]] = [*STATEMENTS, {"verdict": 0.9}, {"verdict": 0.2}]


def judge(*answers: dict[str, Any] | Exception) -> Judge:
    return fake_judge(FakeEngine(answers))


class Asking(FakeEngine):
    """Draws the questions in turn, and finds the answer sufficient, or not, for all of them."""

    def __init__(self, questions: Sequence[str], sufficient: float = 0.9) -> None:
        super().__init__([])
        self._questions, self._sufficient = cycle(questions), sufficient

    def _reply(self, schema: type[Any]) -> Any:
        fields = schema.model_fields
        values = {"sufficient": self._sufficient, "analysis": "It names the place.", "statements": []}
        if "question" in fields:
            values["question"] = next(self._questions)
        self._answers = [{name: values[name] for name in fields}]
        return super()._reply(schema)


VECTORS = {QUESTION: (1.0, 0.0), "Where does tea grow?": (0.6, 0.8)}
PAIR = {"query": QUESTION, "answer": "Tea is grown in Assam."}


def built_in(judgement: str) -> str:
    """The text of a built-in prompt, with another system text."""
    path = Path(localeval.__file__).parent / "prompts" / "en" / f"{judgement}.toml"
    system = load_prompt(judgement, "en").system
    return path.read_text(encoding="utf-8").replace(system, "Take care.")
