"""The other side of a pack: install.py and `unpack` take nothing that is not as it was packed."""

from __future__ import annotations

import ast
import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from localeval import models
from localeval.cli import main
from localeval.errors import InputError
from localeval.pack import install
from localeval.pack.collect import pack
from localeval.pack.unpack import unpack
from tests.loopback import BYTES, FILE, HUB, loopback_hub, move_in, toml_row
from tests.test_pack import contents, files_of, set_up


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole pack with the model `tiny`."""
    folder = tmp_path_factory.mktemp("original")
    with pytest.MonkeyPatch.context() as monkeypatch:
        set_up(monkeypatch, folder)
        pack(contents("tiny"), folder / "pack")
    return folder / "pack"


@pytest.fixture
def packed(original: Path, tmp_path: Path) -> Path:
    """A copy of it on a disk that keeps no exec bits, to be spoiled."""
    return shutil.copytree(original, tmp_path / "a stick" / "über", copy_function=shutil.copyfile)


@pytest.fixture
def elsewhere(packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The models folder of another machine, which has none of the models yet."""
    (tmp_path / "there").mkdir()
    return move_in(monkeypatch, tmp_path / "there", toml_row("tiny", HUB))


def change(packed: Path, **facts: object) -> None:
    manifest = json.loads((packed / "manifest.json").read_text())
    (packed / "manifest.json").write_text(json.dumps({**manifest, **facts}))


def run_installer(packed: Path, *arguments: str | Path, home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", str(packed / "install.py"), *map(str, arguments)],
        env={"HOME": str(home), "PATH": "/nowhere"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_installer_imports_only_the_standard_library_and_an_old_python_can_read_it() -> None:
    tree = ast.parse(Path(install.__file__).read_text(encoding="utf-8"), feature_version=(3, 7))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in imported} <= set(sys.stdlib_module_names)


def test_the_installer_makes_an_environment_from_nothing_and_a_second_call_keeps_it(
    packed: Path, tmp_path: Path
) -> None:
    models, home = tmp_path / "store", tmp_path / "home"
    models.mkdir()
    into = home / ".local" / "share" / "localeval" / "venv"
    run = run_installer(packed, "--models", models, home=home)
    assert run.returncode == 0, run.stderr
    assert f"{into}/bin/localeval doctor" in run.stdout
    assert (models / "asked").read_text() == f"unpack {packed}"  # the packed localeval places the models
    assert list(into.glob("lib/python*/site-packages/numpy.py"))
    (models / "asked").unlink()
    again = run_installer(packed, "--models", models, home=home)
    assert again.returncode == 0
    assert "made of this pack already" in again.stderr
    assert (models / "asked").exists()
    (into / install.MARKER).write_text("another")
    other = run_installer(packed, home=home)
    assert other.returncode == 2
    assert f"{into} is there already, and not of this pack" in other.stderr
    (into / install.MARKER).write_text("unfinished\n")  # as an interruption leaves it
    (into / "half").touch()
    assert run_installer(packed, "--models", models, home=home).returncode == 0
    assert not (into / "half").exists()


def test_a_folder_with_other_things_is_no_place_for_an_environment(packed: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    run = run_installer(packed, "--into", tmp_path / "mine", home=tmp_path)
    assert run.returncode == 2
    assert "is there already, and not of this pack" in run.stderr
    assert files_of(tmp_path / "mine") == {"notes.txt"}


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.parametrize("damage", [flip, cut, Path.unlink], ids=["flip", "cut", "missing"])
@pytest.mark.parametrize("name", [f"models/{FILE}", "wheels/numpy-1.0-py3-none-any.whl"])
def test_a_damaged_file_is_named_and_nothing_is_installed(
    packed: Path, tmp_path: Path, damage: Callable[[Path], object], name: str
) -> None:
    damage(packed / name)
    run = run_installer(packed, "--into", tmp_path / "new", home=tmp_path)
    assert run.returncode == 3
    last = run.stderr.splitlines()[-1]
    assert last.startswith(f"install.py: {packed / name} is ")
    assert last.endswith("copy the pack again.")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "name",
    [
        *(
            "../evil",
            "/etc/passwd",
            "models/../../evil",
            "models/..",
            "wheels//a",
            "wheels\\a",
            "models/a\0b",
        ),
        *("evil.py", "models/C:evil", "models/a\nb", "models/a\n", "", "models", "./install.py"),
    ],
)
def test_a_path_that_leaves_the_pack_is_refused_before_any_file_is_read(packed: Path, name: str) -> None:
    files = install.read_manifest(packed)["files"]
    change(packed, files={**files, name: {"size": 1, "sha256": "0" * 64}})
    with pytest.raises(install.Refused, match="which no pack holds") as refused:
        install.read_manifest(packed)
    assert refused.value.exit_code == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        *((text, "is damaged") for text in ("", "[]", "{", "\x00" * 99)),
        ('{"localeval_pack": 1, "files": []}', "is damaged"),
        ('{"localeval_pack": 2}', "is of a newer kind of pack"),
        (None, "is no pack of localeval's"),
    ],
)
def test_a_folder_without_a_sound_manifest_is_told_apart(
    content: str | None, message: str, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(install.Refused, match=message):
        install.read_manifest(tmp_path)


def test_a_manifest_other_than_the_one_told_is_refused(packed: Path) -> None:
    told = install.read_manifest(packed)["sha256"]
    assert install.read_manifest(packed, told)["models"] == ["tiny"]
    change(packed, models=[])
    with pytest.raises(install.Refused, match="it is not the pack you were told of"):
        install.read_manifest(packed, told)


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"python": "3.99"}, r"this pack is for CPython 3\.99 .*, and this is .*; run .* with python3\.99"),
        ({"implementation": "PyPy"}, "this pack is for PyPy"),
        ({"machine": "riscv64"}, f"this pack is for .* {platform.system()} riscv64, and this is"),
        ({"system": "Plan9"}, "this pack is for .* Plan9"),
        ({"glibc": "2.999"}, r"this pack needs glibc 2\.999 or newer, and this system has"),
        ({"cpu": ["avx4096"]}, "this processor has no avx4096, which the pack's llama.cpp needs"),
    ],
)
def test_a_machine_that_does_not_fit_is_told_why(
    packed: Path, facts: dict[str, object], message: str
) -> None:
    change(packed, **facts)
    with pytest.raises(install.Refused, match=message) as refused:
        install.check_machine(install.read_manifest(packed))
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    ("here", "message"), [("", "has another C library"), ("2.9", r"has 2\.9"), ("2.28", None)]
)
def test_another_c_library_and_an_older_glibc_are_refused(
    here: str, message: str | None, packed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "libc_ver", lambda: ("glibc", here))
    change(packed, glibc="2.28")
    manifest = install.read_manifest(packed)
    if message is None:
        install.check_machine(manifest)
    else:
        with pytest.raises(install.Refused, match=f"needs glibc 2.28 or newer, and this system {message}"):
            install.check_machine(manifest)


def test_too_little_room_is_refused_before_anything_is_written(packed: Path, tmp_path: Path) -> None:
    change(packed, installed_bytes=10**18)
    run = run_installer(packed, "--into", tmp_path / "new", home=tmp_path)
    assert run.returncode == 2
    assert "free; make room, or choose another folder" in run.stderr
    assert not (tmp_path / "new").exists()


def test_unpack_puts_the_checked_models_in_place_and_asks_no_hub(
    packed: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with loopback_hub(tiny__gguf=BYTES) as hub:
        monkeypatch.setenv("LOCALEVAL_HUB", hub.url)
        assert [files.name for files in unpack(packed)] == ["tiny"]
        assert models.resolve("tiny").path.read_bytes() == BYTES
        before = (elsewhere / FILE).stat().st_ino
        unpack(packed)
        assert (elsewhere / FILE).stat().st_ino == before
        assert hub.asked == []


def test_unpack_of_a_damaged_model_names_it_and_leaves_the_store_as_it_was(
    packed: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    flip(packed / "models" / FILE)
    with loopback_hub(tiny__gguf=BYTES) as hub:
        monkeypatch.setenv("LOCALEVAL_HUB", hub.url)
        with pytest.raises(SystemExit) as exit_:
            main(["unpack", str(packed)])
        assert hub.asked == []
    assert exit_.value.code == 3
    assert f"{packed}/models/{FILE} is damaged" in capsys.readouterr().err
    assert not elsewhere.exists()


def test_models_that_this_localeval_does_not_know_are_refused(packed: Path, elsewhere: Path) -> None:
    change(packed, models=["tiny", "newer"])
    with pytest.raises(InputError, match=r"does not know \(newer\); install the pack's own localeval"):
        unpack(packed)
