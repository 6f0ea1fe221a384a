"""`pack`, with small wheels in a folder as pip's index and a tiny model: manifest, resuming, refusals."""

from __future__ import annotations

import ensurepip
import hashlib
import json
import re
import resource
import shlex
import shutil
import sys
import zipfile
from importlib.metadata import distribution, version
from pathlib import Path

import pytest
from click.testing import CliRunner
from packaging.specifiers import SpecifierSet

from localeval.cli import main
from localeval.cli.pack import pack as pack_command
from localeval.errors import DownloadFailed, InputError, ModelMissing
from localeval.models import catalog, resolve
from localeval.pack import install
from localeval.pack.build import NO_AMX, PORTABLE, LlamaBuild, build_wheel, needed_glibc
from localeval.pack.collect import PackContents, choose_contents, closure, default_models, pack
from tests.loopback import BYTES, FILE, HUB, move_in, toml_row, write_wheel

PACKAGES = ("numpy", "outlines_core", "pysbd", "sentence_transformers", "sklearn")  # install.py imports them
LLAMA = version("llama-cpp-python").partition("+")[0]
FAKE_MAIN = b"""
import os, pathlib, sys
pathlib.Path(os.environ["LOCALEVAL_MODELS"], "asked").write_text(" ".join(sys.argv[1:]))
"""


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return set_up(monkeypatch, tmp_path)


def set_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """pip's only source; a store with two models; llama.cpp is compiled, and localeval is from a wheel."""
    models = move_in(monkeypatch, tmp_path, toml_row("tiny", HUB), toml_row("other", HUB, kind="embedder"))
    for path in (models / FILE, models / "other" / FILE):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(BYTES)
    monkeypatch.setattr(catalog, "checkout", lambda: None)
    members = {"localeval/__init__.py": b"", "localeval/__main__.py": FAKE_MAIN}
    own = write_wheel(tmp_path / "given", "localeval", members, version("localeval"))
    info = tmp_path / "site" / f"localeval-{version('localeval')}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Name: localeval\nVersion: {version('localeval')}\n")
    (info / "direct_url.json").write_text(json.dumps({"url": own.as_uri(), "archive_info": {}}))
    monkeypatch.syspath_prepend(str(info.parent))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    build = LlamaBuild()
    write_wheel(build.cache_folder, "llama_cpp_python", {"llama_cpp.py": b""}, build.version)
    for name in PACKAGES:
        write_wheel(tmp_path / "index", name, {f"{name}.py": b""})
    shutil.copy(next((Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl")), tmp_path / "index")
    return tmp_path / "index"


def contents(*models: str, unpacked: int = 10_000) -> PackContents:
    wheels = {"pip": "", **{name.replace("_", "-"): "1.0" for name in PACKAGES}}
    return PackContents(wheels, unpacked, LlamaBuild(), tuple(map(resolve, models)))


def files_of(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def check(folder: Path) -> None:
    """The pack is whole, and nothing else is in its folder."""
    manifest = install.read_manifest(folder)
    assert files_of(folder) == {"manifest.json", *manifest["files"]}
    install.check_files(folder, manifest)


def test_a_pack_is_what_its_manifest_says_and_nothing_else(index: Path, tmp_path: Path) -> None:
    folder = tmp_path / "pack"
    manifest = json.loads(pack(contents("tiny", "other"), folder).read_text())
    check(folder)
    for name, entry in manifest["files"].items():
        content = (folder / name).read_bytes()
        assert entry == {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    assert {f"models/{FILE}", f"models/other/{FILE}", "install.py", "catalog.toml"} < manifest["files"].keys()
    assert manifest["models"] == ["tiny", "other"]
    assert manifest["python"] == ".".join(map(str, sys.version_info[:2]))
    assert manifest["packages"]["llama-cpp-python"] == f"{LLAMA}+portable"
    assert manifest["llama"]["flags"] == ["-DGGML_NATIVE=OFF", "-DGGML_OPENMP=ON", "-DLLAVA_BUILD=OFF"]
    assert (folder / "install.py").read_bytes() == Path(install.__file__).read_bytes()
    install.check_machine(install.read_manifest(folder))
    pack(contents("tiny"), folder)  # of another pack's files none is left
    check(folder)


def test_an_interrupted_pack_goes_on_and_keeps_what_is_whole(index: Path, tmp_path: Path) -> None:
    folder = tmp_path / "pack"
    held_back = next(index.glob("sklearn-*.whl")).rename(tmp_path / "held-back")
    with pytest.raises(DownloadFailed, match="sklearn"):
        pack(contents("tiny"), folder)
    with pytest.raises(install.Refused, match=r"is not finished; run localeval pack again"):
        install.read_manifest(folder)
    before = (folder / "models" / FILE).stat().st_mtime_ns
    held_back.rename(index / "sklearn-1.0-py3-none-any.whl")
    pack(contents("tiny"), folder)
    assert (folder / "models" / FILE).stat().st_mtime_ns == before
    check(folder)


def test_packing_again_asks_pip_for_nothing_but_what_is_damaged(index: Path, tmp_path: Path) -> None:
    folder = tmp_path / "pack"
    pack(contents("tiny"), folder)
    numpy, model = folder / "wheels" / "numpy-1.0-py3-none-any.whl", folder / "models" / FILE
    numpy.write_bytes(numpy.read_bytes()[:-1] + b"\1")
    model.write_bytes(model.read_bytes()[:-1])
    for wheel in index.glob("*.whl"):
        if wheel.name.split("-")[0] != "numpy":
            wheel.unlink()
    pack(contents("tiny"), folder)
    check(folder)
    assert model.read_bytes() == BYTES


def test_no_index_is_asked_for_localeval_itself(index: Path, tmp_path: Path) -> None:
    """It is on none; a wheel of its name there is a stranger's."""
    write_wheel(index, "localeval", {"localeval/__main__.py": b"stranger"}, version("localeval"))
    pack(contents(), tmp_path / "pack")
    with zipfile.ZipFile(next((tmp_path / "pack" / "wheels").glob("localeval-*"))) as archive:
        assert archive.read("localeval/__main__.py") == FAKE_MAIN


@pytest.mark.parametrize("lost", ["given/*.whl", "site/*/direct_url.json"])
def test_where_no_wheel_of_localeval_can_be_made_nothing_is_fetched(
    lost: str, index: Path, tmp_path: Path
) -> None:
    next(tmp_path.glob(lost)).unlink()
    with pytest.raises(InputError, match="pack from a checkout"):
        pack(contents("tiny"), tmp_path / "pack")
    assert files_of(tmp_path / "pack") == {install.PART}


@pytest.mark.parametrize("name", ["notes.txt", "wheels/mine.whl", "manifest.json"])
def test_a_folder_with_other_things_is_refused_and_left_as_it_is(
    index: Path, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "pack"
    (folder / name).parent.mkdir(parents=True)
    (folder / name).write_text('{"files": {"mine": {}}}')
    with pytest.raises(InputError, match="holds other things"):
        pack(contents("tiny"), folder)
    assert files_of(folder) == {name}


def test_what_a_user_laid_beside_a_pack_is_left_there(index: Path, tmp_path: Path) -> None:
    folder = tmp_path / "pack"
    pack(contents("tiny"), folder)
    (folder / "models" / "mine.gguf").write_text("mine")
    pack(contents(), folder)
    assert (folder / "models" / "mine.gguf").read_text() == "mine"


def test_a_target_too_small_is_refused_before_anything_is_fetched(index: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"needs about .* more bytes in .*, where .* are free; make room"):
        pack(contents(unpacked=10**18), tmp_path / "pack")


def test_a_full_target_is_one_sentence_and_the_next_call_goes_on(index: Path, tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1500, before[1]))  # a stand-in for a disk that is full
    try:
        with pytest.raises(InputError, match=r"File too large; .* pack again: it goes on from there"):
            pack(contents("tiny"), tmp_path / "pack")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    pack(contents(), tmp_path / "pack")
    check(tmp_path / "pack")


FAKE_PIP = f"""
import os, pathlib, shutil, sys, tarfile, zipfile
folder, last = pathlib.Path(sys.argv[-2]), sys.argv[-1]
if sys.argv[1] == "download":
    source = folder / last.replace("-", "_").replace("==", "-")
    (source / "llama_cpp").mkdir(parents=True)
    (source / "llama_cpp" / "__init__.py").write_text('__version__ = "{LLAMA}"\\n')
    (source / "CMakeLists.txt").write_text("set(LLAMA_BUILD_COMMON ON)\\n")
    with tarfile.open(f"{{source}}.tar.gz", "w:gz") as archive:
        archive.add(source, source.name)
    shutil.rmtree(source)
else:
    with zipfile.ZipFile(folder / "llama_cpp_python-1-py3-none-any.whl", "w") as wheel:
        wheel.write(pathlib.Path(last, "llama_cpp", "__init__.py"), "init")
        wheel.write(pathlib.Path(last, "CMakeLists.txt"), "cmake")
        for name in ("CMAKE_ARGS", "CXXFLAGS"):
            wheel.writestr(name, os.environ.get(name, ""))
"""


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A pip with llama-cpp-python's source, whose wheel tells what it was made with; a PATH with no compiler.

    A stranger's pip lies in the current folder, and the cache's name has a space.
    """
    for name, text in (("site", FAKE_PIP), ("here", "raise SystemExit('error: it was run')")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "pip.py").write_text(text)
    (tmp_path / "bin").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "John Doe"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for name in ("CC", "CFLAGS", "CXXFLAGS", "CMAKE_ARGS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "bin"


def write_compiler(folder: Path, name: str) -> None:
    """A compiler that compiles nothing, and knows where GCC's OpenMP is but not where Clang's is."""
    text = "#!/bin/sh\nfor last; do :; done\ncase $last in *gomp*) echo /lib/it;; *) echo none;; esac\n"
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


@pytest.mark.parametrize(
    ("here", "chosen"),
    [("gcc", None), ("clang", ""), ("ccache", "ccache gcc"), ("mine", "mine -m64")],
)
def test_a_portable_build_is_labelled_and_brings_openmp_with_any_compiler(
    here: str, chosen: str | None, pip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_compiler(pip, here)
    if chosen is not None:
        monkeypatch.setenv("CC", chosen)
    made = build_wheel(LlamaBuild())
    assert list(LlamaBuild().cache_folder.iterdir()) == [made]
    with zipfile.ZipFile(made) as wheel:
        assert wheel.read("init").decode() == f'__version__ = "{LLAMA}+portable"\n'
        cmake = wheel.read("cmake").decode().splitlines()
        assert cmake[0] == "set(LLAMA_BUILD_COMMON OFF)"
        (openmp,) = (line for line in cmake if line.startswith("install("))
        assert openmp.startswith(f'install(FILES "{Path("/lib/it").resolve()}" ')
        assert openmp.endswith("RENAME libgomp.so.1)")
        assert shlex.split(wheel.read("CMAKE_ARGS").decode()) == list(PORTABLE)
    assert SpecifierSet(f"=={LLAMA}").contains(LlamaBuild().version)  # localeval takes it
    shutil.rmtree(pip)
    assert build_wheel(LlamaBuild()) == made  # it took minutes


def test_a_build_for_this_processor_leaves_out_amx_as_the_set_up_does(
    pip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_compiler(pip, "cc")
    monkeypatch.setenv("CXXFLAGS", "-g")
    with zipfile.ZipFile(build_wheel(LlamaBuild(native=True))) as wheel:
        assert wheel.read("init").decode() == f'__version__ = "{LLAMA}"\n'
        assert wheel.read("cmake").decode() == "set(LLAMA_BUILD_COMMON ON)\n"
        assert wheel.read("CXXFLAGS").decode() == " ".join(["-g", *NO_AMX])
    assert f'no_amx="{" ".join(NO_AMX)}"' in (Path(__file__).parents[1] / "scripts/setup").read_text()


@pytest.mark.parametrize("chosen", ["", "nowhere -m64"])
def test_without_a_compiler_the_build_is_refused_before_anything_is_fetched(
    chosen: str, pip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", chosen)
    with pytest.raises(InputError, match=r"there is no C compiler here .*; install one"):
        build_wheel(LlamaBuild())


def test_the_glibc_that_a_compiled_wheel_needs_is_its_newest_symbols(tmp_path: Path) -> None:
    symbols = {"llama_cpp/lib/libllama.so": b"\x7fELF GLIBC_2.14 GLIBC_2.34 GLIBC_2.9"}
    assert needed_glibc(write_wheel(tmp_path, "a", symbols)) == "2.34"
    assert needed_glibc(write_wheel(tmp_path, "b", {"b.py": b""})) == ""


def test_the_plan_is_what_is_installed_here_with_torchs_cpu_build(tmp_path: Path) -> None:
    found = choose_contents([], LlamaBuild())
    requires = [each for each in distribution("localeval").requires or [] if "extra" not in each]
    needed = {re.split(r"[^\w-]", each)[0] for each in requires}
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
    rows = [toml_row("qwen2.5-coder-1.5b", HUB), toml_row("bge-m3", HUB, kind="embedder")]
    move_in(monkeypatch, tmp_path, *rows)
    assert default_models(None, "bge-m3") == ["qwen2.5-coder-1.5b", "bge-m3"]


def test_a_model_that_cannot_be_packed_is_refused(index: Path, tmp_path: Path) -> None:
    for judge, embedder in (("other", None), (None, "tiny")):
        with pytest.raises(InputError, match=r"is no (judge|embedder) but a model of another kind"):
            default_models(judge, embedder)
    with pytest.raises(ModelMissing, match=r"'mine\.gguf' is not in the catalog"):
        choose_contents(["mine.gguf"], LlamaBuild())
    (tmp_path / "models" / FILE).unlink()
    with pytest.raises(ModelMissing, match="run: localeval models fetch tiny"):
        choose_contents(["tiny"], LlamaBuild())


def test_without_a_terminal_sizes_are_said_and_nothing_is_written_until_yes(
    index: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "pack"
    run = CliRunner().invoke(pack_command, ["--to", str(folder), "--models", "tiny"])
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
