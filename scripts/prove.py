"""Campaigns by name: checks that take too long for the test suite."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from prove_cluster import prove_cluster
from prove_network import prove_network
from prove_wheel import prove_wheel

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Campaign:
    """A row of the table: `run` takes the options after `--` and returns an exit code."""

    name: str
    shows: str
    run: Callable[[Sequence[str]], int]


def program(*command: str, **variables: str) -> Callable[[Sequence[str]], int]:
    """Return the `run` of a campaign that is a program, started in the root of the checkout."""

    def run(_: Sequence[str]) -> int:
        environment = {**os.environ, **variables}
        return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode  # noqa: S603

    return run


def tests(*targets: str, **variables: str) -> Callable[[Sequence[str]], int]:
    """Return the `run` of a campaign in test files: pytest on `targets`, in full by environment variables."""
    return program(sys.executable, "-m", "pytest", "-q", "-s", *targets, **variables)


CAMPAIGNS = (
    Campaign(
        "network",
        "the shipped example is judged with no network interface, and under strace: no attempt to get out",
        prove_network,
    ),
    Campaign(
        "wheel",
        "one wheel, the same from the sdist, lists models and plans the example with no checkout in reach",
        prove_wheel,
    ),
    Campaign(
        "cluster",
        "two Ray nodes with the real model; a worker, a node and the driver are killed: the same bytes",
        prove_cluster,
    ),
    Campaign(
        "damaged-models",
        "1,100 damaged GGUF files: none ends or hangs the process that was to load them",
        tests("tests/engine/test_probe.py", LOCALEVAL_TEST_DAMAGE="1"),
    ),
    Campaign(
        "engine",
        "1,000 items for each schema and temperature: every reply parses, and the same bits come out",
        tests("tests/engine/test_engine.py", LOCALEVAL_TEST_ITEMS="1000"),
    ),
    Campaign(
        "pack",
        "packed, carried into an empty environment with no network and no compiler, and evaluated there",
        program("scripts/prove_pack"),
    ),
    Campaign(
        "kills",
        "20 kills at random moments, 50 cuts and 50 flipped bits of a journal: the same results every time",
        tests(
            "tests/engine/test_kills.py",
            "tests/engine/test_faults.py",
            LOCALEVAL_TEST_KILLS="20",
            LOCALEVAL_TEST_FAULTS="50",
        ),
    ),
    Campaign(
        "scale",
        "20,000 samples: flat memory, and milliseconds of localeval's own work for each",
        program("scripts/scale"),
    ),
    Campaign(
        "report",
        "a page of 20,000 samples opens in Chromium",
        tests("tests/unit/test_report_browser.py", "-rP", LOCALEVAL_REPORT_SAMPLES="20000"),
    ),
    Campaign(
        "intervals",
        "1,000 draws: how often an interval holds the mean, and how often chance looks like a difference",
        tests("tests/unit/test_statistics.py", "-rP", LOCALEVAL_TEST_REPEATS="1000"),
    ),
    Campaign(
        "hostile-texts",
        "10,000 hostile texts: a score or a reason for each, in bounded time",
        tests("tests/contract/test_hostile.py", LOCALEVAL_TEST_HOSTILE="10000"),
    ),
    Campaign(
        "attacks",
        "texts that ask the judge for a good mark, compared with neutral ones of their length",
        program("scripts/attack"),
    ),
)


def main(arguments: list[str]) -> int:
    """Run the campaigns named, in the table's order; 1 if one of them failed, 2 for an unknown name."""
    separator = arguments.index("--") if "--" in arguments else len(arguments)
    names, options = arguments[:separator], arguments[separator + 1 :]
    valid = {campaign.name for campaign in CAMPAIGNS}
    if unknown := sorted(set(names) - valid - {"all"}):
        print(
            f"prove: {unknown[0]!r} is no campaign; choose from: {', '.join(sorted(valid))}, all.",
            file=sys.stderr,
        )
        return 2
    if not names:
        for campaign in CAMPAIGNS:
            print(f"{campaign.name:<16} {campaign.shows}")
        return 0
    failed = []
    for campaign in CAMPAIGNS:
        if campaign.name in names or "all" in names:
            print(f"== {campaign.name}: {campaign.shows}", flush=True)
            if campaign.run(options):
                failed.append(campaign.name)
    print(f"failed: {', '.join(failed)}" if failed else "all proved")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
