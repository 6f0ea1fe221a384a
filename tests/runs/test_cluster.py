"""A Ray cluster of two machines, here on one, does what one process does."""

import re
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from localeval.engine.settings import EngineSettings
from localeval.errors import InputError
from localeval.report.progress import live_line
from localeval.runs import cluster as ray_cluster
from tests.commands import said
from tests.runs.test_workers import _Odd, run, same
from tests.steady import SteadyEngine

ray = pytest.importorskip("ray", reason="the extra `ray`")
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own


def test_a_cluster_that_does_not_answer_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ray_cluster, "SECONDS_TO_ANSWER", 1)
    assert "127.0.0.1:9" in said(InputError, run, tmp_path / "run", ray="127.0.0.1:9")
    monkeypatch.setattr(ray, "init", Mock(side_effect=TimeoutError))  # without a word
    assert "at auto (TimeoutError" in said(InputError, run, tmp_path / "run", ray="auto")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes of one core each."""
    from ray.cluster_utils import Cluster

    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    nodes.add_node(num_cpus=1)
    yield nodes
    ray.shutdown()
    nodes.shutdown()


class _Engine(SteadyEngine):
    """One that asks for so many threads, and layers on a GPU."""

    def __init__(self, threads: int, layers: int = 0) -> None:
        super().__init__()
        self.settings = EngineSettings(n_ctx=100_000, n_threads=threads, n_gpu_layers=layers)


@pytest.mark.parametrize(
    ("threads", "layers", "told"), [(2, 0, "2 cores.*largest has 1.*--threads 1"), (1, -1, "a GPU")]
)
def test_a_cluster_none_of_whose_machines_has_room_for_a_worker_is_refused_at_once(
    threads: int, layers: int, told: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Two machines of one core each, and one that is gone."""
    machines = [
        {"Alive": alive, "Resources": {"CPU": cores}} for alive, cores in ((1, 1.0), (1, 1.0), (0, 64))
    ]
    monkeypatch.setattr(ray_cluster, "connect", Mock())
    monkeypatch.setattr(ray, "nodes", lambda: machines)
    start = time.monotonic()
    assert re.search(told, said(InputError, run, tmp_path / "run", _Engine(threads, layers), ray="auto"))
    assert time.monotonic() - start < 5
    assert not (tmp_path / "run").exists()


def test_workers_are_counted_by_machine_and_not_by_the_cores_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three machines of three cores have room for three workers of two threads, not for four."""
    monkeypatch.setattr(ray, "nodes", lambda: [{"Alive": True, "Resources": {"CPU": 3.0}}] * 3)
    assert ray_cluster.count(EngineSettings(n_threads=2)) == 3


def test_a_judgement_that_sleeps_for_ever_on_a_cluster_fails_by_timeout(cluster: Any, tmp_path: Path) -> None:
    slow = _Odd(tmp_path / "marks", 1)
    slow.odd = partial(time.sleep, 600)  # type: ignore[method-assign]
    # Long enough for the other samples on a busy machine.
    result = run(tmp_path / "run", slow, ray=cluster.address, timeout=25)
    reasons = {row.sample.id: score.reason for row in result.samples for score in row.scores.values()}
    assert {name for name, reason in reasons.items() if reason == "timeout"} == {"2"}
    run(tmp_path / "alone")
    run(tmp_path / "run", ray=cluster.address)
    results = [(tmp_path / name / "results.json").read_bytes() for name in ("alone", "run")]
    assert results[0] == results[1]


def test_two_nodes_write_what_one_process_writes(
    cluster: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path / "alone")
    with live_line() as line:
        run(tmp_path / "run", ray=cluster.address, watch=line)
    assert same(tmp_path / "alone", tmp_path / "run")
    assert "12/12, 2 workers on 2 nodes" in capsys.readouterr().err
    run(tmp_path / "again", _Odd(tmp_path / "marks", 2), ray=cluster.address)  # two actors are killed
    assert len(list((tmp_path / "marks").iterdir())) == 2
    assert same(tmp_path / "alone", tmp_path / "again")


def test_a_node_that_goes_loses_no_sample(cluster: Any, tmp_path: Path) -> None:
    run(tmp_path / "alone")
    going = cluster.add_node(num_cpus=2)

    def go(done: int, _: object) -> None:
        if done == 3:
            cluster.remove_node(going)

    run(tmp_path / "run", ray=cluster.address, progress=go)
    assert same(tmp_path / "alone", tmp_path / "run")
