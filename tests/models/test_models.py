"""Model files: where they live, what is refused before an engine opens it, and how they are fetched."""

import errno
import hashlib
import json
import re
import socket
import struct
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import Any
from unittest.mock import Mock

import pytest
from click.testing import CliRunner
from filelock import FileLock

from localeval.cli.models import draw_progress, models_command
from localeval.errors import DownloadFailed, InputError, ModelBroken, ModelMissing
from localeval.models import SUMS, catalog, catalog_file_path, files, listing, models_dir, resolve
from localeval.models.catalog import Kind
from localeval.models.fetch import fetch
from tests.commands import said
from tests.loopback import BYTES, FILE, HUB, SHA256, Hub, loopback_hub, move_in, toml_row

WRONG = BYTES[:-1] + b"\0"
HEADER = struct.pack("<4sIQQ", b"GGUF", 3, 0, 0)
FULL = Mock(isatty=lambda: False, write=Mock(side_effect=OSError(28, "No space left on device")))
FULL_BEHIND_A_BUFFER = Mock(isatty=lambda: False, flush=FULL.write)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The models folder of a store whose hub can't be reached."""
    vocabulary = '{ hub = "org/other", revision = "abc", files = ["vocab.txt"] }'
    config = '{ hub = "org/tiny", revision = "abc", files = ["config.json"] }'
    names = '{ name = "config.json" }, { name = "vocab.txt" }'
    rows = (
        toml_row("tiny", HUB),
        toml_row("unsized", HUB, files=f'{{ name = "{FILE}", sha256 = "{SHA256}" }}'),
        toml_row("huge", HUB, files=f'{{ name = "{FILE}", size = {10**18}, sha256 = "{SHA256}" }}'),
        toml_row("folder", vocabulary, config, kind="embedder", files=names),
    )
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    path = move_in(monkeypatch, tmp_path, *rows)
    path.mkdir()
    monkeypatch.setenv("LOCALEVAL_HUB", "http://127.0.0.1:1")
    return path


@pytest.fixture
def hub(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub that can be reached."""
    with loopback_hub(tiny__gguf=BYTES) as running:
        monkeypatch.setenv("LOCALEVAL_HUB", running.url)
        yield running


def litter(folder: Path) -> list[str]:
    """All files but the model's and its lock, which stays: another process may be waiting for it."""
    names = (path.name for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")
    return sorted(name for name in names if name != FILE)


def test_every_file_of_the_real_catalog_has_a_place_and_a_source_and_every_judge_a_sha256() -> None:
    pairs = [(row, file) for row in catalog.entries().values() for file in row.files]
    assert len(pairs) == len({catalog_file_path(*pair) for pair in pairs})
    for row, file in pairs:
        assert models_dir() in catalog_file_path(row, file).resolve().parents
        assert row.source(file) in (row.sources or [None])
        assert row.kind != "judge" or (file.sha256 and file.name.endswith(".gguf"))


def test_the_models_folder_is_the_variables_or_the_checkouts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALEVAL_MODELS", "~/somewhere")
    assert models_dir() == Path.home() / "somewhere"
    monkeypatch.delenv("LOCALEVAL_MODELS")
    assert models_dir() == Path(catalog.__file__).resolve().parents[2] / "models"
    monkeypatch.setattr(catalog, "checkout", lambda: None)
    assert models_dir().parts[-2:] == ("localeval", "models")


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("tiny", "judge", "run: localeval models fetch tiny"),
        ("tinny", "judge", "did you mean tiny?"),
        ("tinny", "embedder", "choose from: folder."),
        ("folder", "judge", "of that kind: tiny"),
        ("~no-such-user/x.gguf", "judge", "is not there"),
    ],
    ids=["not fetched", "misspelt", "of another kind", "an embedder as judge", "no such file"],
)
def test_what_is_not_here_is_told(folder: Path, name: str, kind: Kind, message: str) -> None:
    assert message in said(ModelMissing, resolve, name, kind)


@pytest.mark.parametrize(
    ("content", "message"),
    [(BYTES[:-1], "2,051 bytes, expected 2,052"), (WRONG, rf"\w+, expected {SHA256}")],
    ids=["too short", "another byte"],
)
def test_a_wrong_file_is_refused_with_the_repair(folder: Path, content: bytes, message: str) -> None:
    (folder / FILE).write_bytes(content)
    with pytest.raises(ModelBroken, match=rf"{message}; run: localeval models fetch tiny$"):
        resolve("tiny")
    assert listing()[0]["state"] == "wrong"


def test_a_checked_file_is_read_again_only_to_verify_it(folder: Path) -> None:
    (folder / FILE).write_bytes(BYTES)
    assert listing()[0]["state"] == "present"
    model = resolve("tiny")
    assert model.name == "tiny"
    assert model.path == folder / FILE
    assert model.sha256 == SHA256
    assert model.size == len(BYTES)
    assert listing()[0]["state"] == "verified"
    (folder / FILE).write_bytes(b"GGUF" + bytes(len(BYTES) - 4))
    files.remember_sha256(folder / FILE, SHA256)
    assert resolve("tiny").sha256 == SHA256
    assert "found sha256" in said(ModelBroken, resolve, "tiny", read_again=True)


def test_a_file_is_read_once_even_if_no_sum_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / FILE).write_bytes(BYTES)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / FILE))
    read = Mock(side_effect=files.hash_file)
    monkeypatch.setattr(files, "hash_file", read)
    assert resolve("tiny").sha256 == resolve("tiny", read_again=True).sha256 == SHA256
    assert read.call_count == 2


def test_a_path_to_any_gguf_works(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "mine.gguf"
    path.write_bytes(HEADER)
    model = resolve(path)
    assert model.name == "mine"
    assert model.path == path
    assert model.entry is None
    monkeypatch.setattr(files, "hash_file", lambda path: pytest.fail("read again"))
    monkeypatch.chdir(tmp_path)
    assert resolve("mine.gguf") == resolve("./mine.gguf") == model


def test_a_split_gguf_needs_all_its_files(folder: Path, tmp_path: Path) -> None:
    paths = [tmp_path / f"big-0000{n}-of-00003.gguf" for n in (1, 2, 3)]
    for path in paths[:2]:
        path.write_bytes(HEADER)
    message = said(ModelMissing, resolve, paths[0])
    assert "one of 3 files; big-00003-of-00003.gguf is missing" in message
    paths[2].write_bytes(HEADER + b"x")
    model = resolve(paths[1])
    assert (model.path, model.size) == (paths[0], 3 * len(HEADER) + 1)
    lines = sorted(f"{files.hash_file(path)}  {path.name}\n" for path in paths)
    assert model.sha256 == hashlib.sha256("".join(lines).encode()).hexdigest()


def test_a_folder_is_no_gguf_but_may_be_a_model_folder(tmp_path: Path) -> None:
    assert "found a folder" in said(ModelBroken, resolve, tmp_path)
    assert "no config.json" in said(ModelBroken, resolve, tmp_path, kind="embedder")
    path = tmp_path / "mine"
    for name in ("config.json", "1_Pooling/config.json", ".git/config"):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(name, encoding="utf-8")
    model = resolve(path, kind="embedder")
    assert (model.path, model.size) == (path, len("config.json1_Pooling/config.json"))


def test_a_connection_that_ends_is_taken_up_where_it_ended(folder: Path, hub: Hub) -> None:
    hub.cuts = [100, 1000, 1500]
    assert "ended after 1,500 of 2,052 bytes" in said(DownloadFailed, fetch, "tiny")
    assert litter(folder) == [f"{FILE}.part"]
    hub.failures = [(503, "Busy"), (500, "Oops")]
    seen: list[tuple[int, int]] = []
    model = fetch("tiny", progress=lambda done, total: seen.append((done, total)))
    assert hub.asked == [None, "bytes=100-", "bytes=1000-", *["bytes=1500-"] * 3]
    assert model.path.read_bytes() == BYTES
    assert model.sha256 == SHA256
    assert litter(folder) == []
    assert seen == sorted(seen)
    assert seen[-1] == (len(BYTES), len(BYTES))


@pytest.mark.parametrize(
    ("left", "ranges", "answers"),
    [(BYTES[:9], False, 1), (WRONG, True, 2), (BYTES, True, 1), (BYTES + b"more", True, 2)],
    ids=["a hub without ranges", "wrong bytes", "complete, but not renamed", "too long"],
)
def test_what_is_left_of_a_download_is_gone_on_with_or_fetched_anew(
    folder: Path, hub: Hub, left: bytes, ranges: bool, answers: int
) -> None:
    (folder / f"{FILE}.part").write_bytes(left)
    hub.ranges = ranges
    assert fetch("unsized").path.read_bytes() == BYTES
    assert hub.asked == [f"bytes={len(left)}-", None][:answers]


@pytest.mark.parametrize(
    ("served", "message"),
    [(WRONG, "found sha256"), (BYTES[:-1], "offers 2,051 bytes")],
    ids=["another byte", "too short"],
)
def test_wrong_bytes_are_refused_and_deleted(folder: Path, hub: Hub, served: bytes, message: str) -> None:
    hub.files = dict.fromkeys(hub.files, served)
    assert f"wrong bytes: {message}" in said(DownloadFailed, fetch, "tiny")
    assert litter(folder) == []
    assert not (folder / FILE).exists()


@pytest.mark.parametrize("listens", [False, True], ids=["closed", "silent"])
def test_a_silent_hub_is_soon_given_up(folder: Path, monkeypatch: pytest.MonkeyPatch, listens: bool) -> None:
    monkeypatch.setattr("localeval.models.fetch.TIMEOUT_S", 0.2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        if listens:
            silent.listen()
        monkeypatch.setenv("LOCALEVAL_HUB", f"http://127.0.0.1:{silent.getsockname()[1]}")
        begin = time.monotonic()
        with pytest.raises(DownloadFailed, match=r"--from\.$") as failed:
            fetch("tiny")
    assert time.monotonic() - begin < 5
    assert failed.value.exit_code == 3


def test_a_second_fetch_waits_for_the_first(folder: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    messages: Queue[str] = Queue()
    monkeypatch.setattr("localeval.models.fetch.say", messages.put)
    with ThreadPoolExecutor(1) as pool:
        with FileLock(folder / ".tiny.lock"):
            fetching = pool.submit(fetch, "tiny")
            assert "another process is fetching tiny" in messages.get(timeout=60)
            (folder / FILE).write_bytes(BYTES)
        assert fetching.result(60).sha256 == SHA256
    assert hub.asked == []


def test_each_file_comes_from_its_repository_and_unpinned_sums_are_kept(folder: Path, hub: Hub) -> None:
    hub.files = {"/org/tiny/resolve/abc/config.json": b"{}", "/org/other/resolve/abc/vocab.txt": b"a"}
    model = fetch("folder")
    assert (model.path, model.unpinned) == (folder / "folder", True)
    sums = (model.path / SUMS).read_text()
    assert f"{hashlib.sha256(b'{}').hexdigest()}  config.json\n" in sums
    assert f"{hashlib.sha256(b'a').hexdigest()}  vocab.txt\n" in sums
    (folder / "folder" / "config.json").write_bytes(b"{!")
    assert "run: localeval models fetch folder" in said(ModelBroken, resolve, "folder")
    assert fetch("folder").sha256 == model.sha256


@pytest.mark.parametrize("stderr", [None, FULL, FULL_BEHIND_A_BUFFER], ids=["closed", "full", "buffered"])
def test_a_fetch_goes_on_where_stderr_is_closed_or_full_and_no_message_gets_into_the_data(
    stderr: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder.parent / FILE).write_bytes(BYTES)
    monkeypatch.setattr("sys.stderr", stderr)
    with draw_progress() as report:
        assert fetch("tiny", folder.parent, report).size == len(BYTES)
        report(50, 100)
    assert capsys.readouterr().out == ""


def test_a_fetch_tells_each_tenth_or_each_100_megabytes(capsys: pytest.CaptureFixture[str]) -> None:
    with draw_progress() as report:
        for done, total in (*((n, 1000) for n in (99, 100, 199, 200, 550, 1000)), (10**8 - 1, 0), (10**8, 0)):
            report(done, total)
    numbers = [re.findall(r"[\d,]+", line) for line in capsys.readouterr().err.splitlines()]
    assert numbers == [["100", "10"], ["200", "20"], ["550", "55"], ["1,000", "100"], ["100,000,000"]]


def test_what_is_there_is_kept_without_asking_and_a_wrong_file_is_replaced(folder: Path, hub: Hub) -> None:
    (folder / FILE).write_bytes(WRONG)
    model = fetch("tiny")
    assert model.path.read_bytes() == BYTES
    assert fetch("tiny") == model
    assert len(hub.asked) == 1


def test_a_users_file_is_copied_and_left_alone_and_the_hub_is_not_asked(folder: Path, hub: Hub) -> None:
    path, part = folder.parent / "usb" / FILE, folder / f"{FILE}.part"
    path.parent.mkdir()
    path.write_bytes(BYTES)
    for source in (path, path.parent, part):
        part.hardlink_to(path)  # what is left of another call, or brought by hand
        assert fetch("tiny", source).path.read_bytes() == BYTES
        assert litter(folder) == []
        (folder / FILE).unlink()
    path.write_bytes(WRONG)
    assert "wrong bytes" in said(DownloadFailed, fetch, "tiny", path)
    assert (path.read_bytes(), litter(folder)) == (WRONG, [])
    assert "does not hold config.json" in said(DownloadFailed, fetch, "folder", path.parent)
    assert hub.asked == []


@pytest.mark.parametrize(("number", "blamed"), [(errno.ENOSPC, "models"), (errno.EIO, "usb")])
def test_a_copy_that_fails_is_told_with_the_folder_at_fault(
    folder: Path, monkeypatch: pytest.MonkeyPatch, number: int, blamed: str
) -> None:
    path = folder.parent / "usb" / FILE
    path.parent.mkdir()
    path.write_bytes(BYTES)
    monkeypatch.setattr("localeval.models.fetch._write", Mock(side_effect=OSError(number, "No way")))
    assert f"{folder.parent / blamed} can't be used (No way)" in said(InputError, fetch, "tiny", path.parent)


def test_a_place_that_is_not_there_is_refused(hub: Hub, tmp_path: Path) -> None:
    assert "no such file or folder" in said(InputError, fetch, "tiny", tmp_path / "typo")
    assert hub.asked == []


def test_a_name_that_is_not_in_the_catalog_is_refused(hub: Hub) -> None:
    assert "it has: tiny, unsized" in said(ModelMissing, fetch, "tinny")
    assert hub.asked == []


def test_a_model_for_which_there_is_no_room_is_refused(hub: Hub) -> None:
    assert "huge needs 1,000,000,000,000,000,000 more bytes" in said(InputError, fetch, "huge")
    assert hub.asked == []


@pytest.mark.parametrize(
    "address",
    [
        "file:///x",
        "ftp://x",
        "http://[::1",
        "http://a..b",
        "http://a b/",
        "http://127.0.0.1:1/ä",
        "http://127.0.0.1:port",
    ],
)
def test_an_address_of_a_hub_that_is_none_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("LOCALEVAL_HUB", address)
    assert "LOCALEVAL_HUB" in said(InputError, fetch, "tiny")


def test_a_models_folder_that_is_a_file_is_refused(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALEVAL_MODELS", __file__)
    assert f"{__file__} can't be used" in said(InputError, fetch, "tiny")
    assert hub.asked == []


def run(*arguments: str) -> tuple[str, str]:
    """What a command of `localeval models` prints on stdout, and on stderr."""
    outcome = CliRunner().invoke(models_command, arguments, catch_exceptions=False)
    return outcome.stdout, outcome.stderr


@pytest.fixture
def fetched(folder: Path, tmp_path: Path) -> Path:
    """The file of `tiny` in the models folder."""
    (tmp_path / FILE).write_bytes(BYTES)
    fetch("tiny", tmp_path)
    return folder / FILE


def test_fetch_talks_on_stderr_and_prints_no_data(folder: Path, tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(BYTES)
    data, talk = run("fetch", "tiny", "--from", str(tmp_path))
    assert data == ""
    assert f"tiny: 1 file(s), 2,052 bytes, to {folder}" in talk
    assert SHA256 in talk


def test_path_prints_where_the_model_is(fetched: Path) -> None:
    data, _ = run("path", "tiny")
    assert data == f"{fetched}\n"


def test_verify_says_what_it_found(fetched: Path) -> None:
    _, talk = run("verify", "tiny")
    assert "as in the catalog" in talk


def test_list_prints_the_state_of_each_model(fetched: Path) -> None:
    data, _ = run("list", "--json")
    states = {row["name"]: row["state"] for row in json.loads(data)}
    assert states["tiny"] == "verified"
    assert states["folder"] == "missing"
    table, _ = run("list")
    assert table.splitlines()[1].split()[:2] == ["tiny", "judge"]
