"""The process that a GGUF file is probed in: `python -m localeval.engine.probe_child PATH SETTINGS`.

The last line on stdout is a JSON object: {"fault": null, "kind": ""}, or the fault's sentence and the name of
its error. No line, or an end by a signal, is a fault of the file too.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from localeval.engine import probe
from localeval.engine.interface import EngineError, EngineSettings
from localeval.errors import LocalevalError, ModelBroken
from localeval.models.gguf import split_files
from localeval.prompts.prefix import PromptPrefix
from localeval.system.offline import offline
from localeval.text.display import shorten

BESIDE = 6 << 30
"""Bytes of address space beside the weights: Python, its libraries, stacks of threads, buffers, a cache."""

MOST_EXAMPLES = 64
"""A chat template is tried with so many worked examples, and with fewer; built-in prompts have up to 18."""

_TRUNK = PromptPrefix(
    "Answer.", (("One?", '{"word":"a","verdict":"yes"}'), ("Two?", '{"word":"b","verdict":"no"}'))
)
_TEXT = "".join(map(chr, range(1, 256))) + "<|im_end|> 中文字 한국어 🍎👩‍👩‍👧 \U0010ffff naïve, 12 345.\r\n\t"


class _Answer(BaseModel):
    word: str
    verdict: Literal["yes", "no"]


def probed(path: Path, settings: EngineSettings) -> dict[str, str | None]:
    """What came of loading and asking the model, as a JSON object."""
    try:
        _ask(path, settings)
    except LocalevalError as error:
        return {"fault": str(error), "kind": type(error).__name__}
    except Exception as error:  # noqa: BLE001 (a file can make the libraries raise anything)
        fault = f"{path}: this file can't be used ({shorten(repr(error))}); choose another file."
        return {"fault": fault, "kind": "ModelBroken"}
    return {"fault": None, "kind": ""}


def _ask(path: Path, settings: EngineSettings) -> None:
    """Load the model, frame prompts of every length with its template, and let it write one reply to every
    sort of text.
    """
    from localeval.engine.engine import Engine

    probe.IN_CHILD = True
    _limit(sum(file.stat().st_size for file in split_files(path)), settings)
    engine = Engine(path, settings)
    assert engine.llama  # noqa: S101 (it loads)
    for examples in range(MOST_EXAMPLES + 1):  # what a template takes may hang on the number of turns
        engine.frame(PromptPrefix("", (("", ""),) * examples))
    try:
        engine.generate(_TRUNK, _TEXT, ["One?", "Two?"], _Answer, budget=4)
    except EngineError as error:
        raise ModelBroken(f"{path}: {error}; copy or fetch it again, or choose another file.") from error
    engine.close()


def _limit(weights: int, settings: EngineSettings) -> None:
    """Hold this process to the memory that an honest file of this size can need; it leaves no core file."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux" and not settings.n_gpu_layers:  # a GPU's driver maps far more than it uses
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        wanted = 2 * weights + BESIDE
        wanted = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))


if __name__ == "__main__":
    offline()
    print(json.dumps(probed(Path(sys.argv[1]), EngineSettings(**json.loads(sys.argv[2])))), flush=True)
