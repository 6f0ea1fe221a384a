"""The campaign `network`: the real job where there is no network, and again with its system calls watched."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "localeval" / "examples" / "answers.jsonl"
METRICS = "faithfulness,answer_relevance,context_relevance,context_precision"
EMBEDDER = "all-minilm-l6-v2"

# The command line itself, which then tells what its guard refused and which pickles were read.
JOB = """
import atexit, sys
pickles = []
sys.addaudithook(lambda event, of: pickles.append(".".join(of)) if event == "pickle.find_class" else None)
from localeval.cli import main
from localeval.system.offline import attempts
atexit.register(lambda: print("attempts:", attempts(), "pickled names:", len(pickles), file=sys.stderr))
main(sys.argv[1:])
"""
REACH_OUT = "import socket; socket.create_connection(('192.0.2.1', 9), 2)"  # an address that nobody has
LOOK_UP = "import socket; socket.getaddrinfo('name.invalid', 9)"

_OUTWARD = re.compile(r"\b(connect|sendto|sendmsg|sendmmsg)\(\d+.*\bsa_family=AF_(?!UNIX|NETLINK)\w+")
# What the C library reads before it looks a name up. (nscd's socket it also asks for the user's name.)
_RESOLVER = re.compile(r'"/etc/(resolv\.conf|hosts)"')


def outward(lines: Iterable[str]) -> list[str]:
    """The lines of an strace log that reach for a network or for what looks names up.

    >>> outward(['7 connect(3, {sa_family=AF_INET, sin_port=htons(80)}, 16) = 0', '7 read(3, "", 1) = 0'])
    ['7 connect(3, {sa_family=AF_INET, sin_port=htons(80)}, 16) = 0']
    >>> outward(['7 connect(3, {sa_family=AF_UNIX, sun_path="/run/x"}, 9) = 0', '7 +++ exited with 0 +++'])
    []
    """
    return [line for line in lines if _OUTWARD.search(line) or _RESOLVER.search(line)]


def prove_network(options: Sequence[str]) -> int:
    """0 if both runs did their job and nothing reached out; each trap is first shown to catch something."""
    if sys.platform != "linux" or not shutil.which("strace") or not shutil.which("unshare"):
        return _said(
            "this campaign needs Linux with strace and unshare (Debian: apt install strace util-linux)."
        )
    alone = _without_network()
    if alone is None:
        return _said("this user may make no network namespace; run it as root, or allow user namespaces.")
    with tempfile.TemporaryDirectory(prefix="prove-") as scratch:
        first = _job("no network interface", alone, Path(scratch) / "alone", options)
        return first or _traced(Path(scratch), alone, options)


def _traced(scratch: Path, alone: Sequence[str], options: Sequence[str]) -> int:
    log = scratch / "strace.log"
    trace = ["strace", "-f", "--seccomp-bpf", "-e", "trace=%network,open,openat", "-o", str(log)]
    for code in (REACH_OUT, LOOK_UP):  # where nothing can go out
        subprocess.run([*alone, *trace, sys.executable, "-c", code], capture_output=True, check=False)  # noqa: S603
        if not outward(_lines(log)):
            return _said("strace does not see what it should, so it proves nothing here.")
    if failed := _job("under strace", trace, scratch / "traced", options):
        return failed
    lines = _lines(log)
    found = outward(lines)
    print(
        f"   system calls logged: {len(lines):,}; connections, datagrams or look-ups among them: {len(found)}"
    )
    for line in found[:10]:
        print(f"   {line}")
    return 1 if found or not lines else 0


def _without_network() -> list[str] | None:
    """The command that runs another with no network interface that is up; None where it is not allowed."""
    for way in (["unshare", "--net"], ["unshare", "--user", "--map-root-user", "--net"]):
        here = subprocess.run([*way, sys.executable, "-c", REACH_OUT], capture_output=True, check=False)  # noqa: S603
        if b"Network is unreachable" in here.stderr:
            return way
    return None


def _job(what: str, prefix: Sequence[str], folder: Path, options: Sequence[str]) -> int:
    """Judge the shipped example into a new folder; 0 if it did all of it and tried nothing else."""
    data = options[0] if options and not options[0].startswith("-") else str(EXAMPLE)
    rest = options[1:] if options and not options[0].startswith("-") else options
    given = ["evaluate", data, "-o", str(folder), "-m", METRICS, "--embedder", EMBEDDER, "-q", *rest]
    command = [*prefix, sys.executable, "-c", JOB, *given]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)  # noqa: S603
    told = re.search(r"attempts: (\d+) pickled names: (\d+)", done.stderr)
    if done.returncode or told is None:
        print(done.stderr[-2000:], file=sys.stderr)
        return _said(f"{what}: the job ended with exit code {done.returncode}.")
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    counts = {name: (s["scored"], s["undefined"], s["failed"]) for name, s in results["summary"].items()}
    print(f"   {what}: {len(results['samples'])} samples; (scored, undefined, failed): {counts}")
    print(
        f"   {what}: attempts refused by the guard: {told[1]}; names read from pickles: {told[2]}", flush=True
    )
    clean = not int(told[1]) and results["network"] == {"watched": True, "refused": 0}
    return 0 if clean and not any(failed for _, _, failed in counts.values()) else 1


def _lines(log: Path) -> list[str]:
    return log.read_text(encoding="utf-8", errors="replace").splitlines()


def _said(line: str) -> int:
    print(f"prove: {line}", file=sys.stderr)
    return 1
