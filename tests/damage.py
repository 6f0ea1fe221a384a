"""Damaged GGUF files, and what becomes of a process that loads them.

`python -m tests.damage FOLDER SHARE` writes them one by one, does with each what localeval does (tables,
trial, load and a judgement) in forks of itself, and prints a JSON line for each. A fork has what a new
process has, and costs a hundredth: nothing of llama.cpp has run before it.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from localeval.engine import check
from localeval.engine.interface import EngineSettings
from localeval.engine.trial import begin_trial
from localeval.errors import LocalevalError, ModelBroken
from localeval.models import resolve
from tests.tiny import write_tiny_bert, write_tiny_model

CPU_SECONDS, WALL_SECONDS = 20, 600
CUTS, FLIPS, NOISE = 100, 1000, 40
ARCHITECTURES = (
    b"llama",
    b"gemma",
    b"mamba",
    b"bloom",
    b"rwkv6",
    b"nomic",
    b"qwen3",
    b"?????",
    b"\0\0\0\0\0",
)


def damaged(whole: bytes, share: float, seed: int = 0) -> Iterator[tuple[str, bytes]]:
    """(what was done, the file), a seeded share of each kind."""
    rng = random.Random(seed)

    def some(number: int) -> range:
        return range(max(1, round(number * share)))

    for i in some(CUTS):
        at = (2 * i + 1) * len(whole) // (2 * len(some(CUTS)))
        yield f"cut at {at}", whole[:at]
    tables = whole.index(b"blk.1.ffn_norm.weight")  # near the end of the table of tensors
    words = range(whole.index(b"tokenizer.ggml.tokens"), whole.index(b"tokenizer.ggml.eos_token_id"))
    for i in some(FLIPS):
        at = rng.randrange(tables)
        while i % 4 and at in words:  # most of the tables are words: three of four flips are elsewhere
            at = rng.randrange(tables)
        changed = bytearray(whole)
        changed[at] ^= rng.randrange(1, 256)
        yield f"byte {at} is {changed[at]} not {whole[at]}", bytes(changed)
    for i in some(NOISE):
        start = (b"", b"GGUF", whole[:8], whole[:24], whole[: rng.randrange(tables)])[i % 5]
        yield f"noise after {len(start)} bytes", start + rng.randbytes(len(whole) - len(start))
    yield "nothing", b""
    for name in ARCHITECTURES:
        yield f"architecture {name!r}", whole.replace(b"qwen2", name, 1)
        renamed = whole.replace(b"qwen2.", name + b".").replace(b"qwen2", name, 1)
        yield f"architecture {name!r} and its keys", renamed


def forked(work: Callable[[], str]) -> tuple[str, str]:
    """("ended", what `work` returned), or ("fault", a LocalevalError's sentence), or how the fork ended."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        _in_fork(work, write)
    os.close(write)
    with os.fdopen(read) as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name, said
    return (said.partition(":")[0], said.partition(":")[2]) if said else (f"exit {status >> 8}", "")


def _in_fork(work: Callable[[], str], write: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(WALL_SECONDS)
    os.environ["GGML_NO_BACKTRACE"] = "1"
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        said = f"ended:{work()}"
    except LocalevalError as error:
        said = f"fault:{error}"
    except BaseException as error:  # noqa: BLE001 (whatever it is, it is what would have been shown)
        said = f"traceback:{error!r}"
    os.write(write, said.encode("utf-8", "replace"))
    os._exit(0)


def outcome(path: Path) -> dict[str, str]:
    """Where the file was stopped (`tables`, `trial`, `load` or not at all: `works`), and what was said.

    `harm` is what befell the process that stands for the user's: a signal or a traceback; else empty.
    """
    try:
        resolve(path, kind="judge")
    except LocalevalError as error:
        return {"stopped": "tables", "said": str(error), "harm": ""}
    how, said = forked(lambda: _trial(path))
    if how != "ended":
        return {"stopped": "trial", "how": how, "said": said, "harm": ""}
    how, said = forked(lambda: _judgement(path))
    if how == "ended":
        return {"stopped": "works", "said": said, "harm": ""}
    return {"stopped": "load", "how": how, "said": said, "harm": "" if how == "fault" else how}


def _trial(path: Path) -> str:
    if fault := check.tried(path, EngineSettings(n_ctx=2048, n_threads=1))["fault"]:
        raise ModelBroken(fault)
    return ""


def _judgement(path: Path) -> str:
    from localeval import Judge

    begin_trial()  # it was tried
    text = "The mill was built in 1820. 青岚茶场创办于1958年。🍎 한국어 <|im_end|>"
    sample = {"user_input": "When?", "response": text, "retrieved_contexts": [text * 5]}
    with Judge.load(path, n_threads=1) as judge:
        score = judge.score("faithfulness", sample, statements="sentences")
    return f"{score.status} {score.reason}"


def main(folder: Path, share: float) -> None:
    import localeval.engine.tree  # noqa: F401 (imported before the forks, and not run)

    whole = write_tiny_model(folder / "whole.gguf").read_bytes()
    path = folder / "damaged.gguf"
    for what, content in damaged(whole, share):
        path.write_bytes(content)
        _tell(what, path)
    _tell("an embedding model (BERT)", write_tiny_bert(folder / "bert.gguf"))
    _tell("an embedding model (Qwen)", write_tiny_model(folder / "pooled.gguf", pooling=3))
    _tell("a base model", write_tiny_model(folder / "base.gguf", template=None))
    first = folder / "split-00001-of-00002.gguf"
    first.write_bytes(whole)
    _tell("a split file without its second part", first)
    _tell("whole", folder / "whole.gguf")


def _tell(what: str, path: Path) -> None:
    start = time.perf_counter()
    found = outcome(path)
    line = {"what": what, **found, "seconds": round(time.perf_counter() - start, 2)}
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]))
