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

FEW = 6  # of the shipped samples, three in each language
SECONDS = 1200


def prove_cluster(options: Sequence[str]) -> int:
    """Return 0 if a run that loses a worker, a node and its driver has the bytes of an undisturbed one.

    `options` are passed to both `evaluate` commands, as the metrics are.
    """
    from ray.cluster_utils import Cluster

    lines = (resources.files("localeval") / "examples" / "answers.jsonl").read_text("utf-8").splitlines()
    half = len(lines) // 2
    with tempfile.TemporaryDirectory(prefix="prove-") as scratch:
        folder = Path(scratch)
        data, journal = folder / "data.jsonl", folder / "ray" / "journal.jsonl"
        chosen = lines[: FEW // 2] + lines[half : half + FEW // 2]
        data.write_text("".join(line + "\n" for line in chosen), encoding="utf-8")
        arguments = ["evaluate", str(data), "--threads", "1", *(options or ["-m", "faithfulness"])]
        command = [sys.executable, "-m", "localeval", *arguments]

        def start() -> subprocess.Popen[bytes]:
            return subprocess.Popen([*command, "--ray", nodes.address, "-o", str(journal.parent)])  # noqa: S603

        def wait_for(count: int) -> None:
            """Wait until the journal has `count` judgements."""
            end = time.monotonic() + SECONDS
            while not journal.exists() or journal.read_bytes().count(b"\n") < count:
                if driver.poll() is not None or time.monotonic() > end:
                    raise SystemExit(f"the run ended, or was too slow, before {count} judgements")
                time.sleep(0.05)

        nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        node = nodes.add_node(num_cpus=1)
        driver = start()
        wait_for(2)
        os.kill(_workers()[0], signal.SIGKILL)
        print("   a worker was killed")
        wait_for(4)
        nodes.remove_node(node, allow_graceful=False)
        nodes.add_node(num_cpus=1)
        print("   a node was killed, and another one came")
        wait_for(6)
        driver.send_signal(signal.SIGKILL)
        driver.wait()
        before = journal.read_bytes()
        print(f"   the driver was killed after {len(before.splitlines())} judgements, and started again")
        driver = start()
        if driver.wait(SECONDS):
            return 1
        nodes.shutdown()
        subprocess.run([*command, "-o", str(folder / "alone")], check=True)  # noqa: S603
        alone = folder / "alone" / "journal.jsonl"
        ray, local = (
            [json.loads(line)["key"] for line in file.read_text().splitlines()] for file in (journal, alone)
        )
        same = all(
            (journal.parent / name).read_bytes() == (alone.parent / name).read_bytes()
            for name in ("results.json", "scores.csv", "statements.csv")
        )
        print(f"   {len(ray)} judgements on the cluster, {len(local)} in one process; the same bytes: {same}")
        return 0 if same and sorted(ray) == sorted(local) and journal.read_bytes().startswith(before) else 1


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
