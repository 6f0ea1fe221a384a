"""The campaign `network`: the real job without a network, and again with its system calls traced."""

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

# The command line itself, which then prints what its guard refused and how many pickled names it read.
JOB = """
import atexit, sys
pickles = []
sys.addaudithook(lambda event, of: pickles.append(".".join(of)) if event == "pickle.find_class" else None)
from localeval.cli import main
from localeval.system.offline import attempts
atexit.register(lambda: print("attempts:", attempts(), "pickled names:", len(pickles), file=sys.stderr))
main(sys.argv[1:])
"""
REACH_OUT = "import socket; socket.create_connection(('192.0.2.1', 9), 2)"  # an address that no host has
LOOK_UP = "import socket; socket.getaddrinfo('name.invalid', 9)"

_OUTWARD = re.compile(r"\b(connect|sendto|sendmsg|sendmmsg)\(\d+.*\bsa_family=AF_(?!UNIX|NETLINK)\w+")
# What the C library reads before it resolves a name. (It also uses nscd's socket, to find the user's name.)
_RESOLVER = re.compile(r'"/etc/(resolv\.conf|hosts)"')


def outward(lines: Iterable[str]) -> list[str]:
    """Return the lines of an strace log that contact a network or read the resolver's files.

    >>> outward(['7 connect(3, {sa_family=AF_INET, sin_port=htons(80)}, 16) = 0', '7 read(3, "", 1) = 0'])
    ['7 connect(3, {sa_family=AF_INET, sin_port=htons(80)}, 16) = 0']
    >>> outward(['7 connect(3, {sa_family=AF_UNIX, sun_path="/run/x"}, 9) = 0', '7 +++ exited with 0 +++'])
    []
    """
    return [line for line in lines if _OUTWARD.search(line) or _RESOLVER.search(line)]


def prove_network(options: Sequence[str]) -> int:
    """Return 0 if both runs finished and nothing reached out; each check first has to catch something."""
    if sys.platform != "linux" or not shutil.which("strace") or not shutil.which("unshare"):
        return _fail(
            "this campaign needs Linux with strace and unshare (Debian: apt install strace util-linux)."
        )
    isolated = _without_network()
    if isolated is None:
        return _fail("this user may make no network namespace; run it as root, or allow user namespaces.")
    with tempfile.TemporaryDirectory(prefix="prove-") as scratch:
        first = _job("no network interface", isolated, Path(scratch) / "alone", options)
        return first or _traced(Path(scratch), isolated, options)


def _traced(scratch: Path, isolated: Sequence[str], options: Sequence[str]) -> int:
    log = scratch / "strace.log"
    trace = ["strace", "-f", "--seccomp-bpf", "-e", "trace=%network,open,openat", "-o", str(log)]
    for code in (REACH_OUT, LOOK_UP):  # in isolation, so that nothing gets out
        subprocess.run([*isolated, *trace, sys.executable, "-c", code], capture_output=True, check=False)  # noqa: S603
        if not outward(_lines(log)):
            return _fail("strace does not see what it should, so it proves nothing here.")
    if failed := _job("under strace", trace, scratch / "traced", options):
        return failed
    lines = _lines(log)
    hits = outward(lines)
    print(
        f"   system calls logged: {len(lines):,}; connections, datagrams or look-ups among them: {len(hits)}"
    )
    for line in hits[:10]:
        print(f"   {line}")
    return 1 if hits or not lines else 0


def _without_network() -> list[str] | None:
    """Return a command that runs another one without a network interface; None where it is not allowed."""
    for command in (["unshare", "--net"], ["unshare", "--user", "--map-root-user", "--net"]):
        trial = subprocess.run([*command, sys.executable, "-c", REACH_OUT], capture_output=True, check=False)  # noqa: S603
        if b"Network is unreachable" in trial.stderr:
            return command
    return None


def _job(what: str, prefix: Sequence[str], folder: Path, options: Sequence[str]) -> int:
    """Judge the shipped example into a new folder; return 0 if all was judged and nothing reached out."""
    data = options[0] if options and not options[0].startswith("-") else str(EXAMPLE)
    remaining = options[1:] if options and not options[0].startswith("-") else options
    arguments = ["evaluate", data, "-o", str(folder), "-m", METRICS, "--embedder", EMBEDDER, "-q", *remaining]
    command = [*prefix, sys.executable, "-c", JOB, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)  # noqa: S603
    match = re.search(r"attempts: (\d+) pickled names: (\d+)", process.stderr)
    if process.returncode or match is None:
        print(process.stderr[-2000:], file=sys.stderr)
        return _fail(f"{what}: the job ended with exit code {process.returncode}.")
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    counts = {name: (s["scored"], s["undefined"], s["failed"]) for name, s in results["summary"].items()}
    print(f"   {what}: {len(results['samples'])} samples; (scored, undefined, failed): {counts}")
    refused, names = match.groups()
    print(f"   {what}: attempts refused by the guard: {refused}; pickled names: {names}", flush=True)
    clean = not int(refused) and results["network"] == {"watched": True, "refused": 0}
    return 0 if clean and not any(failed for _, _, failed in counts.values()) else 1


def _lines(log: Path) -> list[str]:
    return log.read_text(encoding="utf-8", errors="replace").splitlines()


def _fail(line: str) -> int:
    print(f"prove: {line}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(prove_network(sys.argv[1:]))
