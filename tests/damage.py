"""Damaged GGUF files, and what becomes of a process that loads them.

`python -m tests.damage FOLDER SHARE` writes them one by one, does with each what localeval does (tables,
probe, load and a judgement) in forks of itself, and prints a JSON line for each. A fork has what a new
process has, and costs a hundredth: nothing of llama.cpp has run before it.
"""

import json
import multiprocessing
import os
import random
import signal
import sys
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from unittest.mock import patch

from localeval import Judge
from localeval.engine import grammar, llama, probe  # noqa: F401 (imported before the forks, and not run)
from localeval.engine.settings import EngineSettings
from localeval.errors import LocalevalError
from localeval.models import resolve
from tests.tiny import write_tiny_model

CPU_SECONDS = 20
WALL_SECONDS = 600
# Files of each kind in a whole campaign.
CUTS = 100
FLIPS = 1000
NOISE = 40
ARCHITECTURES = (b"llama", b"gemma", b"mamba", b"bloom", b"rwkv6", b"nomic", b"qwen3", b"?????", b"\0" * 5)


def damaged(whole: bytes, share: float, seed: int = 0) -> Iterator[tuple[str, bytes]]:
    """(what was done, the file), a seeded share of each kind."""
    rng = random.Random(seed)
    # Near the end of the table of tensors.
    tables_end = whole.index(b"blk.1.ffn_norm.weight")
    yield from _cut(whole, _share_of(CUTS, share))
    yield from _flipped(whole, _share_of(FLIPS, share), tables_end, rng)
    yield from _noise(whole, _share_of(NOISE, share), tables_end, rng)
    for name in ARCHITECTURES:
        yield f"architecture {name!r}", whole.replace(b"qwen2", name, 1)
        renamed = whole.replace(b"qwen2.", name + b".").replace(b"qwen2", name, 1)
        yield f"architecture {name!r} and its keys", renamed


def _share_of(number: int, share: float) -> int:
    return max(1, round(number * share))


def _cut(whole: bytes, count: int) -> Iterator[tuple[str, bytes]]:
    """Cut the file at places that are evenly spread."""
    for i in range(count):
        end = (2 * i + 1) * len(whole) // (2 * count)
        yield f"cut at {end}", whole[:end]


def _flipped(whole: bytes, count: int, tables_end: int, rng: random.Random) -> Iterator[tuple[str, bytes]]:
    """Change a byte of the tables. Most of these are words: three of four changes are elsewhere."""
    words = range(whole.index(b"tokenizer.ggml.tokens"), whole.index(b"tokenizer.ggml.eos_token_id"))
    for i in range(count):
        place = rng.randrange(tables_end)
        while i % 4 and place in words:
            place = rng.randrange(tables_end)
        changed = bytearray(whole)
        changed[place] ^= rng.randrange(1, 256)
        yield f"byte {place} is {changed[place]} not {whole[place]}", bytes(changed)


def _noise(whole: bytes, count: int, tables_end: int, rng: random.Random) -> Iterator[tuple[str, bytes]]:
    """Put random bytes behind a beginning of the file."""
    for i in range(count):
        beginnings = (b"", b"GGUF", whole[:8], whole[:24], whole[: rng.randrange(tables_end)])
        start = beginnings[i % len(beginnings)]
        yield f"noise after {len(start)} bytes", start + rng.randbytes(len(whole) - len(start))


def forked(work: Callable[[Path], None], path: Path) -> tuple[str, str]:
    """("ended", ""), ("fault", a LocalevalError's sentence), ("traceback", it), or how the fork ended."""
    if sys.platform == "win32":
        raise NotImplementedError("Windows has no fork")
    fork = multiprocessing.get_context("fork")
    read, write = fork.Pipe(duplex=False)
    child = fork.Process(target=_in_fork, args=(work, path, write))
    child.start()
    write.close()
    try:
        how, message = read.recv()
    except EOFError:
        how = ""
        message = ""
    child.join()
    if child.exitcode != 0:
        how = f"exit {child.exitcode}"
    return how, message


def _in_fork(work: Callable[[Path], None], path: Path, write: Connection) -> None:
    if sys.platform == "win32":
        raise NotImplementedError("Windows has no fork")
    import resource

    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(WALL_SECONDS)
    os.environ["GGML_NO_BACKTRACE"] = "1"
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        work(path)
        write.send(("ended", ""))
    except LocalevalError as error:
        write.send(("fault", str(error)))
    except BaseException as error:  # noqa: BLE001 (whatever it is, it is what would have been shown)
        write.send(("traceback", repr(error)))


def outcome(path: Path) -> dict[str, str]:
    """Where the file was stopped (`tables`, `probe`, `load` or not at all: `works`), how, and what was said.

    `harm` is what befell the process that stands for the user's: a signal or a traceback; else empty.
    """
    try:
        resolve(path, kind="judge")
    except LocalevalError as error:
        return {"stopped": "tables", "how": "fault", "said": str(error), "harm": ""}
    for stopped, work in (("probe", _probe), ("load", _judgement)):
        how, message = forked(work, path)
        if how != "ended":
            # A child process may end in any way, the user's only with a sentence.
            is_harmless = stopped == "probe" or how == "fault"
            harm = "" if is_harmless else how
            return {"stopped": stopped, "how": how, "said": message, "harm": harm}
    return {"stopped": "works", "how": "", "said": "", "harm": ""}


def _probe(path: Path) -> None:
    probe.load_and_ask([path], EngineSettings(n_ctx=2048, n_threads=1))


def _judgement(path: Path) -> None:
    text = "The mill was built in 1820. 青岚茶场创办于1958年。🍎 한국어 <|im_end|>"
    sample = {"user_input": "When?", "response": text, "retrieved_contexts": [text * 5]}
    # It was probed.
    with (
        patch("localeval.judge.probe_vocabulary"),
        patch("localeval.judge.check_weights"),
        Judge.load(path, n_threads=1) as judge,
    ):
        judge.score("faithfulness", sample, statements="sentences")


def main(folder: Path, share: float) -> None:
    whole = write_tiny_model(folder / "whole.gguf").read_bytes()
    broken = folder / "damaged.gguf"
    split = folder / "split-00001-of-00002.gguf"
    split.write_bytes(whole)
    for what, content in [*damaged(whole, share), ("nothing", b"")]:
        broken.write_bytes(content)
        print(json.dumps({"what": what, **outcome(broken)}), flush=True)
    bert = write_tiny_model(folder / "tokenizer.gguf", tokenizer="bert")
    pooled = write_tiny_model(folder / "embedding.gguf", pooling=3)
    base = write_tiny_model(folder / "base.gguf", template=None)
    for path in (bert, pooled, base, split, folder / "whole.gguf"):
        print(json.dumps({"what": path.stem, **outcome(path)}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]))
