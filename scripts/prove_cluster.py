"""The campaign `cluster`: two Ray nodes on the loopback, the real model, and each kind of process killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

NUMBER = 6  # of the shipped samples, three in each language
MAX_SECONDS = 1200
JOURNAL = "journal.jsonl"


def prove_cluster(options: Sequence[str]) -> int:
    """Return 0 if a run that loses a worker, a node and its driver has the bytes of an undisturbed one.

    `options` are passed to both `evaluate` commands, as the metrics are.
    """
    with tempfile.TemporaryDirectory(prefix="prove-") as scratch:
        folder = Path(scratch)
        data = folder / "data.jsonl"
        _write_samples(data)
        arguments = ["evaluate", str(data), "--threads", "1", *(options or ["-m", "faithfulness"])]
        command = [sys.executable, "-m", "localeval", *arguments]
        on_cluster = folder / "ray"
        alone = folder / "alone"
        before = _run_with_kills(command, on_cluster)
        if before is None:
            return 1
        subprocess.run([*command, "-o", str(alone)], check=True)  # noqa: S603
        cluster_keys = _keys(on_cluster)
        local_keys = _keys(alone)
        same = _are_same(on_cluster, alone)
        print(
            f"   {len(cluster_keys)} judgements on the cluster, {len(local_keys)} in one process; "
            f"the same bytes: {same}"
        )
        is_kept = (on_cluster / JOURNAL).read_bytes().startswith(before)
        return 0 if same and is_kept and cluster_keys == local_keys else 1


def _write_samples(path: Path) -> None:
    """Write the first samples of each language: the shipped ones are half English, then half Chinese."""
    lines = (resources.files("localeval") / "examples" / "answers.jsonl").read_text("utf-8").splitlines()
    half = len(lines) // 2
    chosen = [*lines[: NUMBER // 2], *lines[half : half + NUMBER // 2]]
    path.write_text("".join(f"{line}\n" for line in chosen), encoding="utf-8")


def _run_with_kills(command: Sequence[str], folder: Path) -> bytes | None:
    """Run a command on two nodes; kill a worker, a node and the driver, and start the driver again.

    Returns the journal as it was when the driver was killed; None if the last run failed.
    """
    from ray.cluster_utils import Cluster

    journal = folder / JOURNAL
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    node = nodes.add_node(num_cpus=1)
    full_command = [*command, "--ray", nodes.address, "-o", str(folder)]
    driver = subprocess.Popen(full_command)  # noqa: S603
    _wait_for(2, journal, driver)
    os.kill(_workers()[0], signal.Signals["SIGKILL"])
    print("   a worker was killed")
    _wait_for(4, journal, driver)
    nodes.remove_node(node, allow_graceful=False)
    nodes.add_node(num_cpus=1)
    print("   a node was killed, and another one came")
    _wait_for(6, journal, driver)
    driver.send_signal(signal.Signals["SIGKILL"])
    driver.wait()
    before = journal.read_bytes()
    print(f"   the driver was killed after {len(before.splitlines())} judgements, and started again")
    driver = subprocess.Popen(full_command)  # noqa: S603
    if driver.wait(MAX_SECONDS):
        return None
    nodes.shutdown()
    return before


def _wait_for(count: int, journal: Path, driver: subprocess.Popen[bytes]) -> None:
    """Wait until the journal has `count` judgements."""
    end = time.monotonic() + MAX_SECONDS
    while not journal.exists() or journal.read_bytes().count(b"\n") < count:
        if driver.poll() is not None or time.monotonic() > end:
            raise SystemExit(f"the run ended, or was too slow, before {count} judgements")
        time.sleep(0.05)


def _keys(folder: Path) -> list[str]:
    """Return the sorted keys of a run's judgements."""
    lines = (folder / JOURNAL).read_text().splitlines()
    return sorted(json.loads(line)["key"] for line in lines)


def _are_same(folder: Path, other: Path) -> bool:
    """Return whether two runs have the same bytes in their results."""
    names = ("results.json", "scores.csv", "statements.csv")
    return all((folder / name).read_bytes() == (other / name).read_bytes() for name in names)


def _workers() -> list[int]:
    """List the processes of Ray's actors on this machine; at least one."""
    commands = [
        path
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if path.read_bytes().startswith(b"ray::_RemoteJudge")
    ]
    return [int(path.parent.name) for path in commands]


if __name__ == "__main__":
    sys.exit(prove_cluster(sys.argv[1:]))
