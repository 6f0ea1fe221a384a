"""An engine for many samples: answers that hang on the question alone, and nothing kept but a count."""

import hashlib
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, get_origin

import numpy as np
import numpy.typing as npt

from localeval import Judge
from localeval.auxiliary.models import AuxiliaryModels
from localeval.engine.dry_run import blank_states
from localeval.engine.interface import Frame, TokenValues
from localeval.engine.settings import EngineSettings
from localeval.prompts import PromptPrefix
from localeval.testing import FakeEngine


class SteadyEngine(FakeEngine):
    """`asked` counts the calls. A list of statements is the item's last line; a "token" is a character."""

    def __init__(self, n_ctx: int = 100_000) -> None:
        super().__init__([])
        self.settings = EngineSettings(n_ctx=n_ctx, n_threads=1)
        self.asked = 0

    def count(self, text: str) -> int:
        return len(text)

    def frame(self, prefix: PromptPrefix) -> Frame:
        return Frame((), ())

    def read(self, context: str, item: str, layer: int) -> TokenValues:
        return blank_states(item, max(1, self.count(item)))

    def generate(self, prefix: Any, context: str, items: Any, schema: Any, **options: Any) -> Any:
        self.asked += 1
        return [self._answer(f"{context}{item}{i}", item, schema) for i, item in enumerate(items)]

    def _answer(self, text: str, item: str, schema: Any) -> Any:
        drawn = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") / 2**32
        values: dict[str, Any] = {}
        for name, field in schema.model_fields.items():
            if get_origin(field.annotation) is Literal:
                values[name] = drawn
            elif field.annotation is str:
                # A key of so many digits is no word that a response could lack.
                values[name] = f"What is {hashlib.sha256(text.encode()).hexdigest()}?"
            else:
                values[name] = [item.strip().splitlines()[-1].removeprefix("Sentence: ")]
        self._answers = [values]
        return self._reply(schema)


class SteadyEmbedder:
    """A unit vector for each text, the same for the same text."""

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        seeds = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") for text in texts]
        rows = np.array([np.cos(np.arange(16) * (seed % 9973)) for seed in seeds], dtype=np.float32)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)

    def signature(self) -> dict[str, Any]:
        return {"name": "steady", "sha256": "0" * 64}


def steady_judge(engine: SteadyEngine, embedder: Any = None, classifier: Any = None) -> Judge:
    model = {"name": "steady", "sha256": "0" * 64, "size": 0}
    judge = Judge(engine, model, auxiliary_models=AuxiliaryModels(embedder or SteadyEmbedder(), classifier))
    judge.loader = partial(steady_judge, engine)  # a worker has a copy of the engine
    return judge
