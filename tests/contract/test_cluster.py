"""A Ray cluster of two machines, here on one, does what one process does."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from localeval.errors import InputError
from localeval.report.progress import live_line
from localeval.runs import cluster as ray_cluster
from tests.commands import said
from tests.contract.test_workers import _Odd, run, same

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
