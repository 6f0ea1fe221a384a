"""Where models live, and what is refused before an engine opens it."""

from __future__ import annotations

import hashlib
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from localeval import models
from localeval.errors import InputError, ModelBroken, ModelMissing
from localeval.models import catalog, files
from tests.loopback import BYTES, FILE, HUB, SHA256, move_in, toml_row

HEADER = struct.pack("<4sIQQ", b"GGUF", 3, 0, 0)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The models folder of a store whose catalog has `tiny` (a judge) and `small` (an embedder)."""
    embedder = toml_row("small", HUB, kind="embedder", files='{ name = "config.json" }')
    made = move_in(monkeypatch, tmp_path, toml_row("tiny", HUB), embedder)
    made.mkdir()
    return made


def states() -> list[object]:
    return [entry["state"] for entry in models.listing()]


def test_every_file_of_the_real_catalog_has_a_place_and_a_source_and_every_judge_a_sha256() -> None:
    rows = catalog.rows().values()
    places = [models.place(row, file) for row in rows for file in row.files]
    assert len(places) == len(set(places))
    for row in rows:
        for file in row.files:
            assert models.models_dir() in models.place(row, file).resolve().parents
            assert row.source(file) in (row.sources or [None])
            assert row.kind != "judge" or (file.sha256 and file.name.endswith(".gguf"))


def test_a_catalog_that_cannot_be_read_is_an_input_error(tmp_path: Path) -> None:
    path = tmp_path / "catalog.toml"
    for content, found in ((toml_row("x", HUB, kind="oracle"), "oracle"), ("[[model", "catalog")):
        path.write_text(content, encoding="utf-8")
        with pytest.raises(InputError, match=found):
            catalog.read_catalog(path)


def test_the_models_folder_is_the_variables_or_the_checkouts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALEVAL_MODELS", "~/somewhere")
    assert models.models_dir() == Path.home() / "somewhere"
    monkeypatch.delenv("LOCALEVAL_MODELS")
    assert models.models_dir() == Path(models.__file__).resolve().parents[2] / "models"
    monkeypatch.setattr(catalog, "checkout", lambda: None)
    assert models.models_dir().parts[-2:] == ("localeval", "models")


def test_a_catalog_name_resolves_to_its_checked_file(folder: Path) -> None:
    (folder / FILE).write_bytes(BYTES)
    found = models.resolve("tiny")
    assert (found.name, found.path, found.sha256, found.size) == ("tiny", folder / FILE, SHA256, len(BYTES))
    assert found.row is catalog.rows()["tiny"]


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ("tiny", None, "run: localeval models fetch tiny$"),
        ("tinny", None, r"did you mean tiny\?"),
        ("gpt-4", None, "choose from: tiny, small"),
        ("small", "judge", "of that kind: tiny"),
        ("/no/such", None, "/no/such is not there"),
        ("~no-such-user/x.gguf", None, "is not there"),
    ],
)
def test_what_is_not_here_is_said_with_what_to_do(
    folder: Path, given: str, kind: catalog.Kind | None, message: str
) -> None:
    with pytest.raises(ModelMissing, match=message):
        models.resolve(given, kind)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (BYTES[:-1], "found 2,051 bytes, expected 2,052"),
        (BYTES[:-1] + b"\0", rf"found sha256 \w+, expected {SHA256}"),
    ],
)
def test_a_wrong_file_is_refused_with_found_and_expected_and_the_repair(
    folder: Path, content: bytes, found: str
) -> None:
    (folder / FILE).write_bytes(content)
    with pytest.raises(ModelBroken, match=rf"{found}; run: localeval models fetch tiny$"):
        models.resolve("tiny")
    assert states() == ["wrong", "missing"]


def test_a_checked_file_is_read_again_only_to_verify_it(folder: Path) -> None:
    (folder / FILE).write_bytes(BYTES)
    assert states()[0] == "present"
    models.resolve("tiny")
    assert states()[0] == "verified"
    (folder / FILE).write_bytes(b"GGUF" + bytes(len(BYTES) - 4))
    files.remember(folder / FILE, SHA256)
    assert models.resolve("tiny").sha256 == SHA256
    with pytest.raises(ModelBroken, match="found sha256"):
        models.verify("tiny")
    with pytest.raises(ModelBroken, match="found sha256"):
        models.resolve("tiny")


def test_other_bytes_are_found_though_size_and_mtime_are_the_same(folder: Path) -> None:
    (folder / FILE).write_bytes(BYTES)
    models.resolve("tiny")
    status = (folder / FILE).stat()
    (folder / FILE).write_bytes(b"GGUF" + bytes(len(BYTES) - 4))
    os.utime(folder / FILE, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(ModelBroken, match="found sha256"):
        models.resolve("tiny")


def test_a_cache_that_cannot_be_written_or_read_is_no_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (folder / FILE).write_bytes(BYTES)
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert models.resolve("tiny").sha256 == SHA256
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    models.resolve("tiny")
    for memory in (tmp_path / "other").rglob("*.json"):
        memory.write_text("[1]", encoding="utf-8")
    assert models.resolve("tiny").sha256 == SHA256


def test_a_path_to_any_gguf_works_and_its_sha256_is_remembered(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(HEADER)
    first = models.resolve(mine)
    assert (first.name, first.path, first.row) == ("mine", mine, None)
    monkeypatch.setattr(files, "hash_file", lambda path: pytest.fail("read again"))
    monkeypatch.chdir(tmp_path)
    assert models.resolve("mine.gguf") == models.resolve("./mine.gguf") == first


def test_a_split_gguf_needs_all_its_files(folder: Path, tmp_path: Path) -> None:
    paths = [tmp_path / f"big-0000{n}-of-00003.gguf" for n in (1, 2, 3)]
    for path in paths[:2]:
        path.write_bytes(HEADER)
    with pytest.raises(ModelMissing, match=r"one of 3 files; big-00003-of-00003\.gguf is missing"):
        models.resolve(paths[0])
    paths[2].write_bytes(HEADER + b"x")
    found = models.resolve(paths[1])
    assert (found.path, found.size) == (paths[0], 3 * len(HEADER) + 1)
    lines = sorted(f"{files.hash_file(path)}  {path.name}\n" for path in paths)
    assert found.sha256 == hashlib.sha256("".join(lines).encode()).hexdigest()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "found 0 bytes"),
        (b"PK\x03\x04" + bytes(40), "expected b'GGUF'"),
        (HEADER[:20], "found 20 bytes"),
        (struct.pack("<4sIQQ", b"GGUF", 1, 0, 0), "of version 1, expected"),
        (struct.pack(">4sIQQ", b"GGUF", 3, 0, 0), "of version 50331648, expected"),
    ],
)
def test_what_is_no_gguf_is_refused_with_what_it_is(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(content)
    with pytest.raises(ModelBroken, match=message) as refused:
        models.resolve(path)
    assert str(path) in str(refused.value)


def test_a_folder_is_no_gguf_but_may_be_a_model_folder(tmp_path: Path) -> None:
    with pytest.raises(ModelBroken, match="found a folder"):
        models.resolve(tmp_path)
    with pytest.raises(ModelBroken, match=r"no config\.json"):
        models.resolve(tmp_path, kind="embedder")
    mine = tmp_path / "mine"
    for name in ("config.json", "1_Pooling/config.json", ".git/config"):
        (mine / name).parent.mkdir(parents=True, exist_ok=True)
        (mine / name).write_text(name, encoding="utf-8")
    found = models.resolve(mine, kind="embedder")
    assert (found.path, found.size) == (mine, len("config.json1_Pooling/config.json"))
    with pytest.raises(ModelBroken, match="found a folder"):
        models.resolve(mine, kind="judge")


def test_importing_the_models_loads_nothing_heavy() -> None:
    heavy = "{'torch', 'transformers', 'llama_cpp', 'outlines', 'rich', 'click'}"
    code = f"import sys, localeval.models.fetch; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
