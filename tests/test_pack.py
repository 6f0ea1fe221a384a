"""`pack`, with small wheels in a folder as pip's index and a tiny model: manifest, resuming, refusals."""

from __future__ import annotations

import ensurepip
import hashlib
import json
import re
import resource
import shlex
import shutil
import subprocess
import sys
import zipfile
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution, distributions, version
from pathlib import Path

import pytest
from click.testing import CliRunner
from packaging.specifiers import SpecifierSet

from localeval.cli import main
from localeval.cli.pack import pack as pack_command
from localeval.errors import DownloadFailed, InputError, ModelMissing
from localeval.models import catalog, resolve
from localeval.pack import install, llama, wheels
from localeval.pack.collect import pack
from localeval.pack.plan import Plan, closure, default_models, make_plan
from tests.loopback import BYTES, FILE, HUB, move_in, toml_row, write_wheel

BUNDLED_PIP = next((Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl"))
PIP = wheels.identity(BUNDLED_PIP.name)[1]
FAKE_MAIN = b"""
import os, pathlib, sys
pathlib.Path(os.environ["LOCALEVAL_MODELS"], "asked").write_text(" ".join(sys.argv[1:]))
"""


def write_index(folder: Path) -> Path:
    """Wheels that stand for the packages that the installer tries to import."""
    names = ("numpy", "outlines_core", "pysbd", "sentence_transformers", "sklearn")
    for name in names:
        write_wheel(folder, name, {f"{name}.py": b""})
    shutil.copy(BUNDLED_PIP, folder)
    return folder


def installed(folder: Path) -> Distribution:
    """What stands for localeval's own package, as pip leaves it in a folder; no index has it."""
    wheel = write_wheel(
        folder / "given",
        "localeval",
        {"localeval/__init__.py": b"", "localeval/__main__.py": FAKE_MAIN},
        version("localeval"),
    )
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
        record = "".join(f"{name},,\n" for name in archive.namelist())
    info = next(folder.glob("*.dist-info"))
    (info / "RECORD").write_text(record)
    return Distribution.at(info)


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return set_up(monkeypatch, tmp_path)


def set_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """pip's only source; a store with the model `tiny`; a cache in which llama.cpp is compiled already."""
    models = move_in(monkeypatch, tmp_path, toml_row("tiny", HUB), toml_row("other", HUB, kind="embedder"))
    models.mkdir()
    (models / FILE).write_bytes(BYTES)
    (models / "other").mkdir()
    (models / "other" / FILE).write_bytes(BYTES)
    monkeypatch.setattr(catalog, "checkout", lambda: None)
    package = installed(tmp_path / "site")
    monkeypatch.setattr(wheels, "distribution", lambda _: package)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    build = llama.Build()
    write_wheel(llama.cached(build), "llama_cpp_python", {"llama_cpp.py": b""}, build.version)
    return write_index(tmp_path / "index")


def plan(*models: str) -> Plan:
    names = ("numpy", "outlines-core", "pysbd", "sentence-transformers", "sklearn")
    found = tuple(resolve(name) for name in models)
    return Plan({"pip": PIP, **dict.fromkeys(names, "1.0")}, 10_000, llama.Build(), found)


def files_of(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def inodes(folder: Path) -> dict[str, int]:
    return {name: (folder / name).stat().st_ino for name in files_of(folder)}


def test_a_pack_is_what_its_manifest_says_and_nothing_else(index: Path, tmp_path: Path) -> None:
    folder = tmp_path / "pack"
    manifest = json.loads(pack(plan("tiny", "other"), folder).read_text())
    assert files_of(folder) == {"manifest.json", *manifest["files"]}
    for name, entry in manifest["files"].items():
        content = (folder / name).read_bytes()
        assert entry == {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    assert {f"models/{FILE}", f"models/other/{FILE}", "install.py", "catalog.toml"} < manifest["files"].keys()
    assert manifest["models"] == ["tiny", "other"]
    assert manifest["python"] == ".".join(map(str, sys.version_info[:2]))
    assert manifest["packages"]["llama-cpp-python"] == f"{version('llama-cpp-python')}+portable"
    assert manifest["llama"]["flags"] == ["-DGGML_NATIVE=OFF", "-DGGML_OPENMP=ON", "-DLLAVA_BUILD=OFF"]
    assert (folder / "install.py").read_bytes() == Path(install.__file__).read_bytes()
    checked = install.read_manifest(folder)
    install.check_machine(checked)
    assert install.check_files(folder, checked) == sum(e["size"] for e in manifest["files"].values())


def test_an_interrupted_pack_goes_on_and_keeps_what_is_whole(index: Path, tmp_path: Path) -> None:
    folder = tmp_path / "pack"
    held_back = next(index.glob("sklearn-*.whl")).rename(tmp_path / "held-back")
    with pytest.raises(DownloadFailed, match="sklearn"):
        pack(plan("tiny"), folder)
    assert not (folder / "manifest.json").exists()
    with pytest.raises(install.Refused, match=r"is not finished; run localeval pack again"):
        install.read_manifest(folder)
    before = inodes(folder)
    held_back.rename(index / "sklearn-1.0-py3-none-any.whl")
    pack(plan("tiny"), folder)
    after = inodes(folder)
    assert after[f"models/{FILE}"] == before[f"models/{FILE}"]
    assert not [name for name in after if name.endswith(".part")]
    install.check_files(folder, install.read_manifest(folder))


def test_packing_again_asks_pip_for_nothing_but_what_is_damaged(index: Path, tmp_path: Path) -> None:
    folder = tmp_path / "pack"
    pack(plan("tiny"), folder)
    before = inodes(folder)
    numpy, model = folder / "wheels" / "numpy-1.0-py3-none-any.whl", folder / "models" / FILE
    numpy.write_bytes(numpy.read_bytes()[:-1] + b"\1")
    model.write_bytes(model.read_bytes()[:-1])
    for wheel in index.glob("*.whl"):
        if wheel.name.split("-")[0] != "numpy":
            wheel.unlink()
    pack(plan("tiny"), folder)
    install.check_files(folder, install.read_manifest(folder))
    changed = {name for name, inode in inodes(folder).items() if before[name] != inode}
    again = {
        "manifest.json",
        "install.py",
        "catalog.toml",
        f"wheels/localeval-{version('localeval')}-py3-none-any.whl",
    }
    assert changed - again == {f"models/{FILE}", "wheels/numpy-1.0-py3-none-any.whl"}


def test_no_index_is_asked_for_localeval_itself(index: Path, tmp_path: Path) -> None:
    """It is on none; a wheel of its name there is a stranger's."""
    write_wheel(index, "localeval", {"localeval/__main__.py": b"stranger"}, version("localeval"))
    manifest = json.loads(pack(plan("tiny"), tmp_path / "pack").read_text())
    (name,) = [name for name in manifest["files"] if name.startswith("wheels/localeval-")]
    with zipfile.ZipFile(tmp_path / "pack" / name) as archive:
        assert archive.read("localeval/__main__.py") == FAKE_MAIN


def pip_install(wheel: Path, folder: Path) -> dict[str, bytes]:
    """The files that pip makes of a wheel, without its own notes."""
    options = ["--no-deps", "--no-index", "--no-compile", "--disable-pip-version-check", "--quiet"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(folder), str(wheel)]
    subprocess.run(command, check=True, capture_output=True)
    notes = ("RECORD", "direct_url.json")
    return {name: (folder / name).read_bytes() for name in files_of(folder) if Path(name).name not in notes}


def test_the_wheel_of_an_installed_localeval_installs_to_the_same_files(tmp_path: Path) -> None:
    info = f"localeval-{version('localeval')}.dist-info"
    members = {
        "localeval/__init__.py": b"x = 1\n",
        "localeval/models/catalog.toml": "茶".encode(),
        f"{info}/entry_points.txt": b"[console_scripts]\nlocaleval = localeval.cli:main\n",
        f"{info}/licenses/LICENSE": b"free",
    }
    given = write_wheel(tmp_path / "given", "localeval", members, version("localeval"))
    before = pip_install(given, tmp_path / "here")
    (package,) = distributions(path=[str(tmp_path / "here")])
    (tmp_path / "made").mkdir()
    made = wheels.of_installed(package, tmp_path / "made")
    assert made.name == given.name
    assert made.read_bytes() == wheels.of_installed(package, tmp_path / "here").read_bytes()
    with zipfile.ZipFile(made) as archive:
        assert {f"{info}/WHEEL", f"{info}/METADATA", f"{info}/RECORD", *members} == set(archive.namelist())
    assert pip_install(made, tmp_path / "there") == before
    assert before["bin/localeval"].startswith(b"#!")


@pytest.mark.parametrize("lost", ["localeval/__init__.py", "localeval/__main__.py", "*.dist-info/RECORD"])
def test_a_localeval_that_is_not_whole_here_is_refused_before_anything_is_fetched(
    lost: str, index: Path, tmp_path: Path
) -> None:
    next((tmp_path / "site").glob(lost)).unlink()
    shutil.rmtree(index)
    with pytest.raises(
        InputError, match=r"is not whole here .*; install it again with pip, or pack from a ch"
    ):
        pack(plan("tiny"), tmp_path / "pack")
    assert not list((tmp_path / "pack").glob("models/*"))


def test_what_only_an_earlier_pack_needed_is_removed(index: Path, tmp_path: Path) -> None:
    folder = tmp_path / "pack"
    pack(plan("tiny", "other"), folder)
    pack(plan("tiny"), folder)
    assert not (folder / "models" / "other" / FILE).exists()
    assert files_of(folder) == {"manifest.json", *install.read_manifest(folder)["files"]}


@pytest.mark.parametrize(
    "name",
    [
        "notes.txt",
        "wheels/mine.whl",
        "models/mine/a.gguf",
        ".hidden",
        "manifest.json",
        "manifest.json.part",
        "film.mkv.part",
        "models/film.mkv.part",
        "collecting.part/mine.txt",
    ],
)
def test_a_folder_with_other_things_is_refused_and_left_as_it_is(
    index: Path, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "pack"
    (folder / name).parent.mkdir(parents=True)
    (folder / name).write_text('{"files": {"mine": {}}}')
    with pytest.raises(InputError, match=f"holds other things \\({name}\\)"):
        pack(plan("tiny"), folder)
    assert files_of(folder) == {name}


def test_an_unfinished_download_beside_a_pack_is_left_as_it_is(index: Path, tmp_path: Path) -> None:
    folder = tmp_path / "pack"
    pack(plan("tiny"), folder)
    (folder / "models" / "film.mkv.part").write_text("mine")
    before = inodes(folder)
    with pytest.raises(InputError, match=r"holds other things \(models/film.mkv.part\)"):
        pack(plan("tiny"), folder)
    assert inodes(folder) == before


def test_links_in_the_target_are_refused(index: Path, tmp_path: Path) -> None:
    folder, outside = tmp_path / "pack", tmp_path / "outside"
    outside.mkdir()
    folder.mkdir()
    (folder / "models").symlink_to(outside)
    with pytest.raises(InputError, match="holds other things"):
        pack(plan("tiny"), folder)
    assert list(outside.iterdir()) == []


def test_a_target_too_small_is_refused_before_anything_is_fetched(index: Path, tmp_path: Path) -> None:
    huge = Plan({}, 10**18, llama.Build(), ())
    with pytest.raises(InputError, match=r"needs about .* more bytes in .*, where .* are free; make room"):
        pack(huge, tmp_path / "pack")


@pytest.fixture
def small_files() -> Iterator[None]:
    """No file of this process may pass 1 500 bytes: a stand-in for a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1500, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_target_is_one_sentence_and_the_next_call_goes_on(
    index: Path, tmp_path: Path, small_files: None
) -> None:
    folder = tmp_path / "pack"
    with pytest.raises(InputError, match=r"is full; make room and run the same command again"):
        pack(plan("tiny"), folder)
    assert f"models/{FILE}.part" in files_of(folder)
    resource.setrlimit(
        resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.getrlimit(resource.RLIMIT_FSIZE)[1])
    )
    pack(plan(), folder)
    assert not [name for name in files_of(folder) if name.endswith(".part")]
    install.check_files(folder, install.read_manifest(folder))


def test_without_a_compiler_the_build_is_refused_in_one_sentence(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(llama.cached(llama.Build()))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"there is no C compiler here; install one"):
        llama.wheel(llama.Build())


def test_neither_the_current_folder_nor_a_space_in_the_caches_name_gets_into_the_compiling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, here, scratch = tmp_path / "site", tmp_path / "here", tmp_path / "John Doe"
    for folder in (site, here, scratch):
        folder.mkdir()
    (here / "pip.py").write_text("raise SystemExit('error: it was run')")
    tell = "pathlib.Path(sys.argv[-2], 'a.whl').write_text(os.environ['CMAKE_ARGS'])"
    monkeypatch.delenv("CMAKE_ARGS", raising=False)
    (site / "pip.py").write_text(f"import os, pathlib, sys; {tell}")
    monkeypatch.setenv("PYTHONPATH", str(site))
    monkeypatch.chdir(here)
    made = llama._compile(llama.Build(), scratch)
    included = f"-DCMAKE_PROJECT_llama.cpp_INCLUDE={scratch / 'only-llama.cmake'}"
    assert shlex.split(made.read_text()) == [*llama.PORTABLE, included]


def test_a_build_for_this_processor_leaves_out_amx_as_the_set_up_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell = "pathlib.Path(sys.argv[-2], 'a.whl').write_text(os.environ.get('CXXFLAGS', ''))"
    (tmp_path / "pip.py").write_text(f"import os, pathlib, sys; {tell}")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("CC", str(write_compiler(tmp_path, "knows-amx")))
    monkeypatch.setenv("CXXFLAGS", "-g")
    assert llama._compile(llama.NATIVE, tmp_path).read_text() == " ".join(["-g", *llama.NO_AMX])
    assert f'no_amx="{" ".join(llama.NO_AMX)}"' in Path("scripts/setup").read_text()
    monkeypatch.setenv("CC", "false")
    assert llama._compile(llama.NATIVE, tmp_path).read_text() == "-g"


def test_another_build_has_another_version_and_place_in_the_cache() -> None:
    assert llama.Build().version == f"{llama.NATIVE.version}+portable"
    assert SpecifierSet(f"=={llama.NATIVE.version}").contains(llama.Build().version)  # localeval takes it
    assert llama.cached(llama.Build()) != llama.cached(llama.NATIVE)
    assert llama.cached(llama.Build(flags=("-DGGML_NATIVE=OFF",))) != llama.cached(llama.Build())


def test_a_relabelled_wheel_has_the_same_files_and_a_true_record(tmp_path: Path) -> None:
    lib = b"\x7fELF GLIBC_2.14 GLIBC_2.34 GLIBC_2.9"
    plain = write_wheel(tmp_path, "llama_cpp_python", {"llama_cpp/lib/libllama.so": lib}, "0.3.36")
    plain = plain.rename(tmp_path / "llama_cpp_python-0.3.36-py3-none-linux_x86_64.whl")
    assert llama.needed_glibc(plain) == "2.34"
    assert llama.openmp(plain, ["no-compiler-is-asked"]) == []
    copy = llama.relabel(plain, "0.3.36+portable", tmp_path / "new")
    assert copy.name == "llama_cpp_python-0.3.36+portable-py3-none-linux_x86_64.whl"
    with zipfile.ZipFile(copy) as archive:
        assert archive.read("llama_cpp/lib/libllama.so") == lib
        info = "llama_cpp_python-0.3.36+portable.dist-info"
        assert b"\nVersion: 0.3.36+portable\n" in archive.read(f"{info}/METADATA")
        rows = [row.split(",") for row in archive.read(f"{info}/RECORD").decode().splitlines()]
        assert {row[0] for row in rows} == set(archive.namelist())
        for name, digest, size in rows[:-1]:
            content = archive.read(name)
            found = urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            assert (digest, int(size)) == (f"sha256={found}", len(content))


def needs_openmp(folder: Path) -> Path:
    """A wheel as pip compiles it, in a folder, with a library that needs OpenMP."""
    libraries = {"llama_cpp/lib/libggml-cpu.so": b"\0libgomp.so.1\0"}
    return write_wheel(folder, "llama_cpp_python", libraries, llama.NATIVE.version)


def write_compiler(folder: Path, name: str) -> Path:
    """A compiler that tells where its libraries are, by its last argument, and compiles nothing."""
    compiler, library = folder / name, folder / "lib" / "libgomp.so.1"
    compiler.write_text(
        f'#!/bin/sh\nfor last in "$@"; do :; done\necho {folder}/lib/${{last#-print-file-name=}}\n'
    )
    compiler.chmod(0o755)
    library.parent.mkdir(exist_ok=True)
    library.write_bytes(b"threads")
    return compiler


@pytest.mark.parametrize(
    ("here", "chosen"),
    [(["gcc"], None), (["clang"], ""), (["ccache", "gcc"], "ccache gcc"), (["mine"], "mine -m64")],
)
def test_the_compiler_that_is_here_is_the_one_that_is_asked(
    here: list[str], chosen: str | None, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(llama.cached(llama.Build()))
    (tmp_path / "bin").mkdir()
    for name in here:
        write_compiler(tmp_path / "bin", name)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("CC", raising=False)
    if chosen is not None:
        monkeypatch.setenv("CC", chosen)
    monkeypatch.setattr(llama, "_compile", lambda build, folder: needs_openmp(folder))
    made = llama.wheel(llama.Build())
    assert made.name.startswith(f"llama_cpp_python-{llama.Build().version}-")
    with zipfile.ZipFile(made) as archive:
        assert archive.read("llama_cpp/lib/libgomp.so.1") == b"threads"


@pytest.mark.parametrize("chosen", ["nowhere -m64", "'gcc"])
def test_a_compiler_that_is_not_here_is_refused_before_anything_is_compiled(
    chosen: str, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(llama.cached(llama.Build()))
    (tmp_path / "bin").mkdir()
    write_compiler(tmp_path / "bin", "gcc")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("CC", chosen)
    with pytest.raises(InputError, match="which is no program here"):
        llama.wheel(llama.Build())


def test_what_was_compiled_is_there_when_something_goes_wrong_behind_it(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk, say: the next call goes on from the compiled wheel, and keeps one wheel only."""
    shutil.rmtree(llama.cached(llama.Build()))
    times = []

    def compiled(build: llama.Build, folder: Path) -> Path:
        times.append(1)
        return needs_openmp(folder)

    def full(*_: object) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(llama, "_compile", compiled)
    monkeypatch.setenv("CC", str(write_compiler(tmp_path, "cc")))
    with monkeypatch.context() as patch:
        patch.setattr(llama, "relabel", full)
        with pytest.raises(OSError, match="No space left"):
            llama.wheel(llama.Build())
    assert not llama.is_cached(llama.Build())
    made = llama.wheel(llama.Build())
    assert len(times) == 1
    assert files_of(llama.cached(llama.Build())) == {made.name}


def test_a_portable_wheel_brings_the_openmp_library_that_its_libraries_need(
    tmp_path: Path,
) -> None:
    needs = needs_openmp(tmp_path)
    compiler, library = write_compiler(tmp_path, "cc"), tmp_path / "lib" / "libgomp.so.1"
    assert llama.openmp(needs, [str(compiler)]) == [library]
    with zipfile.ZipFile(llama.relabel(needs, "1.0+portable", tmp_path / "new", [library])) as archive:
        assert archive.read("llama_cpp/lib/libgomp.so.1") == b"threads"


@pytest.mark.parametrize(
    ("name", "glibc"),
    [
        ("a-1-py3-none-any.whl", ""),
        ("a-1-cp311-cp311-manylinux_2_28_x86_64.whl", "2.28"),
        ("a-1-cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64.whl", "2.17"),
        ("a-1-cp311-cp311-manylinux_2_17_x86_64.manylinux_2_28_x86_64.whl", "2.17"),
        ("a-1-cp311-cp311-macosx_11_0_arm64.whl", ""),
    ],
)
def test_the_glibc_that_a_wheel_needs_is_its_tags(name: str, glibc: str) -> None:
    assert llama.needed_glibc(Path(name)) == glibc


def test_the_plan_is_what_is_installed_here_with_torchs_cpu_build(tmp_path: Path) -> None:
    found = make_plan([], llama.Build())
    needed = {
        re.split(r"[^\w-]", each)[0]
        for each in distribution("localeval").requires or []
        if "extra" not in each
    }
    needed -= {"tomli"} if sys.version_info >= (3, 11) else set()
    assert needed | {"localeval"} <= closure("localeval").keys()
    assert needed - {"llama-cpp-python"} <= found.wheels.keys()
    assert found.wheels["numpy"] == version("numpy")
    assert not {"localeval", "llama-cpp-python", "pytest", "ruff"} & found.wheels.keys()
    if sys.platform == "linux":
        assert found.wheels["torch"] == f"{version('torch').partition('+')[0]}+cpu"
        assert not [name for name in found.wheels if name.startswith("nvidia")]
    text = "\n".join(found.lines(tmp_path / "new"))
    assert re.search(r"\d+ wheels: about [\d,]+ MB, by pip", text)
    assert re.search(r"in all about [\d,]+ MB; [\d,]+ MB are free there", text)


def test_by_default_the_quick_starts_models_are_packed_if_they_are_here(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert default_models("tiny", None) == ["tiny"]
    assert default_models(None, None) == []
    move_in(
        monkeypatch, tmp_path, toml_row("qwen2.5-coder-1.5b", HUB), toml_row("bge-m3", HUB, kind="embedder")
    )
    assert default_models(None, "bge-m3") == ["qwen2.5-coder-1.5b", "bge-m3"]


@pytest.mark.parametrize(("judge", "embedder"), [("bge-m3", None), (None, "qwen2.5-coder-1.5b")])
def test_a_model_of_another_kind_is_not_packed_in_its_place(judge: str | None, embedder: str | None) -> None:
    with pytest.raises(InputError, match=r"is no (judge|embedder) but a model of another kind"):
        default_models(judge, embedder)


def test_a_model_that_is_no_row_of_the_catalog_or_not_here_is_refused(index: Path, tmp_path: Path) -> None:
    with pytest.raises(
        ModelMissing, match=r"'mine\.gguf' is not in the catalog, and a pack holds only its models"
    ):
        make_plan(["mine.gguf"], llama.Build())
    (tmp_path / "models" / FILE).unlink()
    with pytest.raises(ModelMissing, match="run: localeval models fetch tiny"):
        make_plan(["tiny"], llama.Build())


def test_without_a_terminal_sizes_are_said_and_nothing_is_written_until_yes(
    index: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "pack"
    run = CliRunner().invoke(pack_command, ["--to", str(folder), "--models", "tiny"])
    assert isinstance(run.exception, InputError)
    assert "add --yes" in str(run.exception)
    assert "tiny: 0 MB, copied" in run.output
    assert not folder.exists()


def test_options_that_exclude_one_another_are_told(
    index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["pack", "--to", str(tmp_path / "pack"), "--models", "tiny", "--no-models"])
    assert exit_.value.code == 2
    assert "give one of them" in capsys.readouterr().err
