"""A run that was split into shards and merged is the run that one machine makes."""

import json
from pathlib import Path
from typing import Any

import pytest

from localeval import evaluate, merge, offline, rescore
from localeval.errors import InputError, NotComparable
from localeval.runs.folder import finish
from tests.commands import said
from tests.runs.test_workers import NAMES, SAMPLES, run, same
from tests.steady import SteadyEngine, steady_judge


def shards(folder: Path, count: int) -> list[Path]:
    """Make a run of each shard in a folder of its own, named by its number."""
    folders = [folder / str(number) for number in range(1, count + 1)]
    for number, path in enumerate(folders, 1):
        run(path, shard=f"{number}/{count}")
    return folders


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that one process made."""
    folder = tmp_path_factory.mktemp("alone")
    run(folder)
    return folder


@pytest.fixture
def halves(tmp_path: Path) -> list[Path]:
    """Both shards of a run."""
    return shards(tmp_path, 2)


def test_shards_merged_are_the_run_that_one_machine_makes(alone: Path, tmp_path: Path) -> None:
    parts = shards(tmp_path, 3)
    merge(parts[::-1], tmp_path / "whole")
    assert same(alone, tmp_path / "whole")
    assert sum((part / "samples.jsonl").read_text().count("\n") for part in parts) == len(SAMPLES)


def test_a_merged_run_goes_on_as_the_run_that_one_machine_makes(
    alone: Path, halves: list[Path], tmp_path: Path
) -> None:
    merge(halves, tmp_path / "whole")
    run(tmp_path / "whole")
    assert same(alone, tmp_path / "whole")


def test_a_folder_that_was_a_shard_before_is_none_after_a_merge_into_it(
    halves: list[Path], tmp_path: Path
) -> None:
    run(tmp_path / "again", shard="1/3")
    merge(halves, tmp_path / "again")
    assert not (tmp_path / "again" / "shard.json").exists()


def test_shards_that_were_scored_again_with_fewer_metrics_are_merged_with_these(
    halves: list[Path], tmp_path: Path
) -> None:
    """As `rescore -m ... -o` does in place."""
    for part in halves:
        finish(part, rescore(part, NAMES[:1]))
    merge(halves, tmp_path / "whole")
    assert rescore(tmp_path / "whole").metrics == NAMES[:1]


@pytest.mark.parametrize("shard", ["0/2", "3/2", "2", "-1/2", "1/2/3", 2])
def test_a_shard_is_given_as_number_and_number_of_parts(shard: Any, tmp_path: Path) -> None:
    assert "as 2/5" in said(InputError, run, tmp_path / "run", shard=shard)
    assert not (tmp_path / "run").exists()


def refused(parts: list[Path], output: Path) -> str:
    """What `merge` says to these parts; it leaves no folder."""
    told = said(InputError, merge, parts, output)
    assert not output.exists()
    return told


def test_a_shard_that_is_missing_is_named(halves: list[Path], tmp_path: Path) -> None:
    assert "2/2" in refused(halves[:1], tmp_path / "whole")


def test_a_shard_that_is_there_twice_is_named(halves: list[Path], tmp_path: Path) -> None:
    assert "1/2 is there twice" in refused([*halves, halves[0]], tmp_path / "whole")


def test_a_run_that_is_no_shard_is_refused(alone: Path, halves: list[Path], tmp_path: Path) -> None:
    assert "no shard" in refused([halves[0], alone], tmp_path / "whole")


def test_shards_of_different_numbers_of_parts_are_refused(halves: list[Path], tmp_path: Path) -> None:
    assert "different data" in refused([halves[0], *shards(tmp_path / "three", 3)], tmp_path / "whole")


def test_shards_of_different_data_are_refused(halves: list[Path], tmp_path: Path) -> None:
    changed = [sample.model_copy(update={"response": "Another."}) for sample in SAMPLES]
    evaluate(changed, NAMES, steady_judge(SteadyEngine()), tmp_path / "other", shard="2/2")
    assert "different data" in refused([halves[0], tmp_path / "other"], tmp_path / "whole")


def test_a_shard_file_that_was_changed_is_refused(halves: list[Path], tmp_path: Path) -> None:
    file = halves[1] / "shard.json"
    shard = json.loads(file.read_text())
    file.write_text(json.dumps({**shard, "places": shard["places"][:-1]}))
    assert "shard.json" in refused(halves, tmp_path / "whole")


def test_a_shard_whose_journal_lacks_a_judgement_is_refused(halves: list[Path], tmp_path: Path) -> None:
    journal = halves[1] / "journal.jsonl"
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[1:]))
    assert f"{halves[1]}: its journal lacks" in refused(halves, tmp_path / "whole")


def test_shards_that_were_made_differently_are_refused_and_leave_a_merged_run(
    halves: list[Path], tmp_path: Path
) -> None:
    merge(halves, tmp_path / "whole")
    before = (tmp_path / "whole" / "results.json").read_bytes()
    run(halves[1], shard="2/2", verdict="reasoned")
    assert "verdict" in said(NotComparable, merge, halves, tmp_path / "whole")
    assert (tmp_path / "whole" / "results.json").read_bytes() == before


def test_a_merged_run_is_watched_only_where_all_parts_were(tmp_path: Path) -> None:
    offline()
    parts = shards(tmp_path, 2)
    merge(parts, tmp_path / "watched")
    assert '"watched": true' in (tmp_path / "watched" / "run.json").read_text("utf-8")
    config = parts[1] / "run.json"
    config.write_text(config.read_text("utf-8").replace('"watched": true', '"watched": false'), "utf-8")
    merge(parts, tmp_path / "whole")
    assert '"watched": true' not in (tmp_path / "whole" / "run.json").read_text("utf-8")


def test_a_merged_run_keeps_the_direction_of_a_metric_that_is_not_registered_here(
    halves: list[Path], tmp_path: Path
) -> None:
    for file in [part / name for part in halves for name in ("results.json", "run.json")]:
        text = file.read_text("utf-8").replace(f'"{NAMES[0]}"', '"unheard"')
        file.write_text(text.replace('"higher_is_better": true', '"higher_is_better": false'), "utf-8")
    assert merge(halves, tmp_path / "whole").higher_is_better["unheard"] is False
