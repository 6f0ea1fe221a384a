"""A machine's speed is measured once and remembered for just what it was measured with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from localeval.engine import build, calibration
from localeval.engine.calibration import measured, remembered
from localeval.engine.interface import EngineSettings
from localeval.engine.price import Speed

SETTINGS = EngineSettings(n_ctx=2048, n_threads=1)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / name)
    return tmp_path / "localeval" / "speed"


def test_a_speed_is_remembered_for_its_model_settings_build_and_processor(
    cache: Path, tiny_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert remembered("a" * 64, SETTINGS) is None
    speed = measured(tiny_path, "a" * 64, SETTINGS)
    assert all(seconds > 0 for seconds in speed)
    assert remembered("a" * 64, SETTINGS) == speed
    assert len(list(cache.iterdir())) == 1
    assert remembered("b" * 64, SETTINGS) is None
    assert remembered("a" * 64, EngineSettings(n_ctx=2048, n_threads=2)) is None
    for name, answer in (("processor", {"name": "another", "features": ""}), ("library", "another")):
        with monkeypatch.context() as patch:
            patch.setattr(build, name, lambda answer=answer: answer)
            assert remembered("a" * 64, SETTINGS) is None
    assert remembered("a" * 64, SETTINGS) == speed


@pytest.mark.parametrize(
    "damage", ["", "{", "[]", "torn", '"check": "x', '"prefill": -', '"model": "c', '"prefill": NaN, "a": ']
)
def test_a_damaged_or_strange_file_counts_as_none(cache: Path, damage: str) -> None:
    speed = Speed(0.01, 0.02, 0.05)
    calibration._keep(speed, calibration._made_with("a" * 64, SETTINGS))
    assert remembered("a" * 64, SETTINGS) == speed
    (file,) = cache.iterdir()
    whole = file.read_text()
    name = damage.partition(":")[0]
    spoilt = whole.replace(name + ": ", damage, 1) if ":" in damage else damage
    if damage == "torn":
        spoilt = whole[: len(whole) // 2]
    assert spoilt != whole
    file.write_text(spoilt)
    assert remembered("a" * 64, SETTINGS) is None


def test_a_cache_folder_that_cannot_be_written_costs_nothing_but_the_memory(
    cache: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "localeval").write_text("a file where the folder should be")
    calibration._keep(Speed(0.01, 0.02, 0.05), calibration._made_with("a" * 64, SETTINGS))
    assert "can't be remembered" in caplog.text
    assert remembered("a" * 64, SETTINGS) is None
    assert not cache.exists()


def test_an_engine_of_one_leaf_can_be_measured_too(cache: Path, tiny_path: Path) -> None:
    narrow = EngineSettings(n_ctx=2048, n_threads=1, width=1)
    assert measured(tiny_path, "a" * 64, narrow) == remembered("a" * 64, narrow)


def test_more_rows_in_a_call_take_longer_and_a_batch_is_the_cheapest_a_row() -> None:
    speed = Speed(0.0132, 0.0183, 0.046)
    times = [speed.call(rows) for rows in (1, 2, 8, 15, 32, 64, 512, 1024)]
    assert times == sorted(times)
    assert speed.call(1024) == 2 * speed.call(512)
    assert min(range(1, 513), key=lambda rows: speed.call(rows) / rows) == 512


def test_kept_text_is_json_that_a_person_can_read(cache: Path) -> None:
    calibration._keep(Speed(0.01, 0.02, 0.05), calibration._made_with("a" * 64, SETTINGS))
    (file,) = cache.iterdir()
    assert json.loads(file.read_text())["made_with"]["settings"]["n_threads"] == 1
