"""Where models live, and what is refused before an engine opens it."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from localeval import models
from localeval.engine.companions import Companions
from localeval.errors import InputError, ModelBroken, ModelMissing
from localeval.models import catalog, checksums
from localeval.models.download import fetch
from tests.loopback import BYTES, FILE, HUB, SHA256, move_in, toml_row

HEADER = struct.pack("<4sIQQ", b"GGUF", 3, 0, 0)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The models folder of a store whose catalog has `tiny` (a judge) and `small` (an embedder)."""
    embedder = toml_row("small", HUB, kind="embedder", files='{ name = "config.json" }')
    made = move_in(monkeypatch, tmp_path, toml_row("tiny", HUB), embedder)
    made.mkdir()
    return made


def test_every_row_of_the_real_catalog_is_well_formed() -> None:
    read = catalog.read_catalog(catalog.catalog_path())
    table = catalog.catalog_path().read_text(encoding="utf-8")
    assert len(read) == table.count("[[model]]") == 9
    places = [models.place(row, file) for row in read.values() for file in row.files]
    assert len(places) == len(set(places))
    for row in read.values():
        assert re.fullmatch(r"[a-z0-9.-]+", row.name)
        assert row.sources
        assert row.licence
        assert row.languages
        assert row.ram_gb > 0
        for file in row.files:
            assert not file.name.startswith("/")
            assert ".." not in Path(file.name).parts
            assert file.sha256 is None or re.fullmatch("[0-9a-f]{64}", file.sha256)
            assert file.size is None or file.size > 0
            assert row.kind != "judge" or (file.sha256 and file.name.endswith(".gguf"))
            assert any(
                not isinstance(source, catalog.HubSource) or not source.files or file.name in source.files
                for source in row.sources
            )


def test_a_catalog_that_cannot_be_read_is_an_input_error(tmp_path: Path) -> None:
    path = tmp_path / "catalog.toml"
    path.write_text('[[model]]\nname = "x"\nkind = "oracle"\n', encoding="utf-8")
    with pytest.raises(InputError, match="oracle"):
        catalog.read_catalog(path)


def test_the_models_folder_is_the_variables_or_the_checkouts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALEVAL_MODELS", "/somewhere")
    assert models.models_dir() == Path("/somewhere")
    monkeypatch.delenv("LOCALEVAL_MODELS")
    assert models.models_dir() == Path(models.__file__).resolve().parents[2] / "models"
    monkeypatch.setattr(catalog, "checkout", lambda: None)
    assert models.models_dir().parts[-2:] == ("localeval", "models")


def test_a_catalog_name_resolves_to_its_checked_file(folder: Path) -> None:
    (folder / FILE).write_bytes(BYTES)
    files = models.resolve("tiny")
    assert (files.name, files.path, files.sha256, files.size) == ("tiny", folder / FILE, SHA256, len(BYTES))
    assert files.row is catalog.rows()["tiny"]


def test_a_name_that_is_not_here_says_how_to_fetch_it(folder: Path) -> None:
    with pytest.raises(ModelMissing, match=r"tiny is not here .* run: localeval models fetch tiny$"):
        models.resolve("tiny")


def test_an_unknown_name_lists_the_catalog_and_what_is_near(folder: Path) -> None:
    with pytest.raises(ModelMissing, match=r"did you mean tiny\? Known: tiny, small\.$"):
        models.resolve("tinny")
    with pytest.raises(ModelMissing, match=r"no file; known: tiny, small\.$"):
        models.resolve("gpt-4")


def test_a_model_of_another_kind_is_refused(folder: Path) -> None:
    with pytest.raises(
        ModelMissing, match="small is a model of the kind embedder, not judge; of that kind: tiny"
    ):
        models.resolve("small", kind="judge")


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (BYTES[:-1], r"found 2,051 bytes, expected 2,052"),
        (BYTES[:-1] + b"\0", rf"found sha256 \w+, expected {SHA256}"),
    ],
)
def test_a_wrong_file_is_refused_with_found_and_expected_and_the_repair(
    folder: Path, content: bytes, found: str
) -> None:
    (folder / FILE).write_bytes(content)
    with pytest.raises(ModelBroken, match=rf"{found}; run: localeval models fetch tiny$"):
        models.resolve("tiny")
    assert [entry["state"] for entry in models.listing()] == ["wrong", "missing"]


def change_keeping_size_and_mtime(path: Path) -> None:
    status = path.stat()
    path.write_bytes(b"GGUF" + bytes(len(BYTES) - 4))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_a_checked_file_is_not_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / FILE).write_bytes(BYTES)
    assert models.listing()[0]["state"] == "present"
    models.resolve("tiny")
    assert models.listing()[0]["state"] == "verified"
    monkeypatch.setattr(checksums, "hash_file", lambda path: pytest.fail("read again"))
    assert models.resolve("tiny").sha256 == SHA256


def test_verify_reads_it_again_whatever_is_remembered(folder: Path) -> None:
    (folder / FILE).write_bytes(BYTES)
    models.resolve("tiny")
    (folder / FILE).write_bytes(b"GGUF" + bytes(len(BYTES) - 4))
    checksums.remember(folder / FILE, SHA256)
    assert models.resolve("tiny").sha256 == SHA256
    with pytest.raises(ModelBroken, match="found sha256"):
        models.verify("tiny")
    (folder / FILE).write_bytes(BYTES)
    assert models.verify("tiny").sha256 == SHA256
    (folder / "mine.gguf").write_bytes(HEADER)
    assert models.verify(folder / "mine.gguf").sha256 == checksums.hash_file(folder / "mine.gguf")


def test_other_bytes_are_found_though_size_and_mtime_are_the_same(folder: Path, tmp_path: Path) -> None:
    (folder / FILE).write_bytes(BYTES)
    models.resolve("tiny")
    change_keeping_size_and_mtime(folder / FILE)
    with pytest.raises(ModelBroken, match="found sha256"):
        models.resolve("tiny")
    (folder / FILE).write_bytes(BYTES)
    models.resolve("tiny")
    shutil.copy2(folder / FILE, tmp_path / "other")
    change_keeping_size_and_mtime(tmp_path / "other")
    (tmp_path / "other").replace(folder / FILE)
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
    monkeypatch.setattr(checksums, "hash_file", lambda path: pytest.fail("read again"))
    monkeypatch.chdir(tmp_path)
    assert models.resolve("mine.gguf") == models.resolve("./mine.gguf") == first


def test_a_split_gguf_needs_all_its_files(folder: Path, tmp_path: Path) -> None:
    paths = [tmp_path / f"big-0000{n}-of-00003.gguf" for n in (1, 2, 3)]
    for path in paths[:2]:
        path.write_bytes(HEADER)
    with pytest.raises(ModelMissing, match=r"one of 3 files; .*big-00003-of-00003\.gguf is missing"):
        models.resolve(paths[0])
    paths[2].write_bytes(HEADER + b"x")
    files = models.resolve(paths[1])
    assert files.path == paths[0]
    assert files.size == 3 * len(HEADER) + 1
    sums = {path.name: checksums.hash_file(path) for path in paths}
    assert files.sha256 == checksums.combined_sha256(sums)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "found an empty file, expected a GGUF model"),
        (b"PK\x03\x04" + bytes(40), r"found b'PK\\x03\\x04' at its start, expected b'GGUF'"),
        (b"GG", "found 2 bytes, expected a GGUF header of 24 and more"),
        (HEADER[:20], "found 20 bytes, expected a GGUF header of 24 and more"),
        (struct.pack("<4sIQQ", b"GGUF", 1, 0, 0), "found GGUF version 1, expected 2 or 3"),
        (struct.pack(">4sIQQ", b"GGUF", 3, 0, 0), "found GGUF version 50331648, expected 2 or 3"),
    ],
)
def test_what_is_no_gguf_is_refused_with_what_it_is(
    folder: Path, tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(content)
    with pytest.raises(ModelBroken, match=message) as refused:
        models.resolve(path)
    assert str(path) in str(refused.value)


def test_a_folder_is_no_gguf_but_may_be_a_model_folder(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelBroken, match="found a folder, expected one GGUF file"):
        models.resolve(tmp_path)
    with pytest.raises(ModelBroken, match=r"found no config\.json in it"):
        models.resolve(tmp_path, kind="embedder")
    mine = tmp_path / "mine"
    (mine / "1_Pooling").mkdir(parents=True)
    (mine / ".git").mkdir()
    for name in ("config.json", "1_Pooling/config.json", ".git/config"):
        (mine / name).write_text(name, encoding="utf-8")
    files = models.resolve(mine, kind="embedder")
    assert (files.path, files.size) == (mine, len("config.json1_Pooling/config.json"))
    with pytest.raises(ModelBroken, match="found a folder, expected one GGUF file"):
        models.resolve(mine, kind="judge")


def test_a_path_that_does_not_exist_is_missing(folder: Path) -> None:
    with pytest.raises(ModelMissing, match="/no/such is not there"):
        models.resolve("/no/such")


def test_the_home_of_a_user_whom_nobody_knows_is_an_input_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = "~no-such-user/x.gguf"
    for ask in (models.resolve, models.verify, lambda given: fetch("tiny", given)):
        with pytest.raises(InputError, match=f"{there}: no home folder is known for its ~; give the whole"):
            ask(there)
    with pytest.raises(InputError, match=there):
        Companions(there).sources()
    monkeypatch.setenv("LOCALEVAL_MODELS", there)
    with pytest.raises(InputError, match=there):
        models.models_dir()


def test_importing_the_store_loads_nothing_heavy() -> None:
    heavy = "{'torch', 'llama_cpp', 'outlines', 'rich', 'click'}"
    code = f"import sys, localeval.models; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
