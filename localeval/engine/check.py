"""The trial of one GGUF file: `python -m localeval.engine.check PATH SETTINGS`; see `localeval.engine.trial`.

The last line on stdout is a JSON object, {"fault": null} or {"fault": sentence, "kind": error's name}. No
line, or an end by a signal, is a fault of the file too.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from localeval.engine.interface import EngineError, EngineSettings
from localeval.engine.trial import begin_trial
from localeval.errors import InputError, LocalevalError, ModelBroken, ModelError
from localeval.models.gguf import split_files
from localeval.prompts.prefix import Trunk
from localeval.system.offline import offline
from localeval.text.display import said

BESIDE = 6 << 30
"""Bytes of address space beside the weights: Python, its libraries, stacks of threads, buffers, a cache."""

_TRUNK = Trunk("Answer.", (("One?", '{"word":"a","verdict":"yes"}'), ("Two?", '{"word":"b","verdict":"no"}')))
_TEXT = "".join(map(chr, range(1, 256))) + "<|im_end|> 中文字 한국어 🍎👩‍👩‍👧 \U0010ffff naïve, 12 345.\r\n\t"


MOST_EXAMPLES = 64
"""A chat template is tried with so many worked examples, and with fewer; built-in prompts have up to 18."""


class _Answer(BaseModel):
    word: str
    verdict: Literal["yes", "no"]


def main(path: str, settings: str) -> None:
    """Print what came of it; the exit code is 0 whatever it is."""
    offline()
    print(json.dumps(tried(Path(path), EngineSettings(**json.loads(settings)))), flush=True)


def tried(path: Path, settings: EngineSettings) -> dict[str, str | None]:
    """`ask` as a JSON object: {"fault": None}, or the fault's sentence and the kind of its error."""
    try:
        ask(path, settings)
    except LocalevalError as error:
        kinds = (InputError, ModelBroken, ModelError)
        kind = next((kind.__name__ for kind in kinds if isinstance(error, kind)), "")
        return {"fault": str(error), "kind": kind}
    except Exception as error:  # noqa: BLE001 (a file can make the libraries raise anything)
        return {"fault": f"{path}: this file can't be used ({said(repr(error))}); choose another file."}
    return {"fault": None}


def ask(path: Path, settings: EngineSettings) -> None:
    """Load the model, put every sort of text through its tokenizer, frame prompts of every length with its
    template, and let it write one reply.

    Raises ModelBroken or InputError, and whatever a file can make the libraries raise.
    """
    from localeval.engine.tree import Engine

    begin_trial()
    limit(sum(file.stat().st_size for file in split_files(path) or [path]), settings)
    engine = Engine(path, settings)
    for examples in range(MOST_EXAMPLES + 1):  # what a template takes may hang on the number of turns
        engine.frame(Trunk("", (("", ""),) * examples))
    try:
        engine.generate(_TRUNK, _TEXT, ["One?", "Two?"], _Answer, budget=4)
    except EngineError as error:
        raise ModelBroken(f"{path}: {error}; copy or fetch it again, or choose another file.") from error
    engine.close()


def limit(weights: int, settings: EngineSettings) -> None:
    """Hold this process to the memory that an honest file of this size can need; it leaves no core file."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux" and not settings.n_gpu_layers:  # a GPU's driver maps far more than it uses
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        wanted = 2 * weights + BESIDE
        wanted = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))


if __name__ == "__main__":
    main(*sys.argv[1:])
