"""A pack: filled with small wheels and a tiny model, carried over, and taken only as it was packed."""

import ast
import ensurepip
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import distribution, version
from pathlib import Path

import pytest
from click.testing import CliRunner
from filelock import FileLock
from packaging.specifiers import SpecifierSet

from localeval.cli.models import pack_command
from localeval.errors import DownloadFailed, InputError, ModelBroken, ModelMissing
from localeval.models import catalog, resolve
from localeval.models.files import remember_sha256
from localeval.pack import install
from localeval.pack.build import NO_AMX, PORTABLE, LlamaBuild, build_wheel, needed_glibc
from localeval.pack.collect import PackContents, choose_contents, default_models, pack
from tests.commands import said
from tests.loopback import BYTES, FILE, HUB, SHA256, move_in, toml_row, write_wheel

PACKAGES = ("numpy", "outlines_core", "pysbd", "sentence_transformers", "sklearn")  # install.py imports them
LLAMA = version("llama-cpp-python").partition("+")[0]
FAKE_MAIN = b"""
import os, pathlib, sys
pathlib.Path(os.environ["LOCALEVAL_MODELS"], "asked").write_text(" ".join(sys.argv[1:]))
"""


def set_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """pip's only source; a store with two models; llama.cpp is compiled, and localeval is from a wheel."""
    store = move_in(monkeypatch, tmp_path, toml_row("tiny", HUB), toml_row("other", HUB, kind="embedder"))
    for path in (store / FILE, store / "other" / FILE):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(BYTES)
    monkeypatch.setattr(catalog, "checkout", lambda: None)
    members = {"localeval/__init__.py": b"", "localeval/__main__.py": FAKE_MAIN}
    wheel = write_wheel(tmp_path / "given", "localeval", members, version("localeval"))
    info = tmp_path / "site" / f"localeval-{version('localeval')}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Name: localeval\nVersion: {version('localeval')}\n")
    (info / "direct_url.json").write_text(json.dumps({"url": wheel.as_uri(), "archive_info": {}}))
    monkeypatch.syspath_prepend(str(info.parent))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    build = LlamaBuild()
    write_wheel(build.cache_folder, "llama_cpp_python", {"llama_cpp.py": b""}, build.version)
    for name in PACKAGES:
        write_wheel(tmp_path / "index", name, {f"{name}.py": b""})
    write_wheel(tmp_path / "index", "localeval", {"localeval/__main__.py": b"stranger"}, version("localeval"))
    shutil.copy(next((Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl")), tmp_path / "index")
    return tmp_path / "index"


index = pytest.fixture(set_up)


def contents(*models: str) -> PackContents:
    wheels = {"pip": "", **{name.replace("_", "-"): "1.0" for name in PACKAGES}}
    return PackContents(wheels, 10_000, LlamaBuild(), tuple(map(resolve, models)))


def files_of(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def check(folder: Path) -> None:
    """The pack is whole, and nothing else is in its folder."""
    manifest = install.read_manifest(folder)
    assert files_of(folder) == {"manifest.json", *manifest["files"]}
    assert "/pip-" in manifest["pip"]
    install.check_files(folder, manifest)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole pack with the model `tiny`."""
    folder = tmp_path_factory.mktemp("original")
    with pytest.MonkeyPatch.context() as monkeypatch:
        set_up(monkeypatch, folder)
        pack(contents("tiny"), folder / "pack")
    return folder / "pack"


def test_a_pack_is_what_its_manifest_says_and_nothing_else(original: Path) -> None:
    manifest = json.loads((original / "manifest.json").read_text())
    check(original)
    assert manifest["files"][f"models/{FILE}"] == {"size": len(BYTES), "sha256": SHA256}
    assert {f"models/{FILE}", "install.py"} < manifest["files"].keys()
    assert (manifest["models"], manifest["packages"]["llama-cpp-python"]) == (["tiny"], f"{LLAMA}+portable")
    assert manifest["llama"]["flags"] == ["-DGGML_NATIVE=OFF", "-DGGML_OPENMP=ON", "-DLLAVA_BUILD=OFF"]
    assert (original / "install.py").read_bytes() == Path(install.__file__).read_bytes()
    with zipfile.ZipFile(next((original / "wheels").glob("localeval-*"))) as archive:
        assert archive.read("localeval/__main__.py") == FAKE_MAIN  # and not what an index has by that name


def test_a_pack_that_fails_is_no_pack_and_the_remedy_is_told(
    index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "pack"
    next(index.glob("sklearn-*.whl")).unlink()
    assert "sklearn" in said(DownloadFailed, pack, contents("tiny"), folder)
    assert f"{folder} is unfinished: pack there again" in capsys.readouterr().err
    assert "is no finished pack" in said(install.Refused, install.read_manifest, folder)


def test_without_a_compiler_nothing_is_packed(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(LlamaBuild().cache_folder)
    monkeypatch.setenv("CC", "no-such-compiler")
    assert "no C compiler" in said(InputError, pack, contents("tiny"), tmp_path / "new")
    assert files_of(tmp_path / "new") <= {"unfinished/lock"}
    assert "unfinished" not in capsys.readouterr().err


@pytest.fixture
def unfinished(index: Path, tmp_path: Path) -> Path:
    """A pack of two models that ended at the second one; its wheels and the first model are done.

    What was wrong is mended, and pip has no wheels any more.
    """
    folder = tmp_path / "pack"
    chosen = contents("tiny", "other")
    second = tmp_path / "models" / "other" / FILE
    flip(second)
    remember_sha256(second, SHA256)  # as if it changed without a trace
    assert "is damaged" in said(ModelBroken, pack, chosen, folder)
    second.write_bytes(BYTES)
    shutil.rmtree(index)
    return folder


def test_an_interrupted_pack_goes_on_and_keeps_what_is_whole(unfinished: Path) -> None:
    model = unfinished / "models" / FILE
    before = model.stat()
    pack(contents("tiny", "other"), unfinished)
    check(unfinished)
    assert model.stat().st_ino == before.st_ino
    assert model.stat().st_mtime_ns == before.st_mtime_ns
    assert (unfinished / "models" / "other" / FILE).read_bytes() == BYTES


def test_a_pack_that_went_on_is_as_one_that_was_made_at_once(unfinished: Path, original: Path) -> None:
    pack(contents("tiny"), unfinished)
    assert files_of(unfinished) == files_of(original)


def test_a_file_that_was_damaged_after_an_interruption_is_packed_again(unfinished: Path) -> None:
    flip(unfinished / "models" / FILE)
    pack(contents("tiny", "other"), unfinished)
    check(unfinished)
    assert (unfinished / "models" / FILE).read_bytes() == BYTES


def test_what_is_half_written_when_a_pack_is_interrupted_is_made_again(unfinished: Path) -> None:
    half = unfinished / "unfinished" / "making" / "models" / "other" / FILE
    half.parent.mkdir(parents=True, exist_ok=True)
    half.write_bytes(BYTES[:9])
    pack(contents("tiny", "other"), unfinished)
    check(unfinished)


def test_another_file_in_an_unfinished_pack_is_refused_and_left(unfinished: Path) -> None:
    (unfinished / "models" / "mine.gguf").write_text("mine")
    before = files_of(unfinished)
    message = said(InputError, pack, contents("tiny", "other"), unfinished)
    assert f"{unfinished} is not empty (models/mine.gguf is there)" in message
    assert files_of(unfinished) == before


def test_a_record_of_an_unfinished_pack_that_names_a_path_outside_is_refused(unfinished: Path) -> None:
    record = unfinished / "unfinished" / "done.json"
    record.write_text(record.read_text().replace(f"models/{FILE}", "../models/tiny.gguf"))
    assert "changed by hand" in said(InputError, pack, contents("tiny", "other"), unfinished)


def test_a_second_pack_into_the_same_folder_waits_for_no_one(unfinished: Path) -> None:
    with FileLock(unfinished / "unfinished" / "lock"):
        message = said(InputError, pack, contents("tiny", "other"), unfinished)
    assert "another process is packing there" in message


def test_a_finished_pack_is_not_packed_again(packed: Path, index: Path) -> None:
    assert "is not empty" in said(InputError, pack, contents("tiny"), packed)


@pytest.mark.parametrize("name", ["notes.txt", "wheels/mine.whl", "manifest.json"])
def test_a_folder_with_other_things_is_left_as_it_is(index: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "pack"
    (folder / name).parent.mkdir(parents=True)
    (folder / name).write_text("mine")
    assert "is not empty" in said(InputError, pack, contents("tiny"), folder)
    assert files_of(folder) == {name}


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
    """A pip whose wheel of llama-cpp-python tells what it was made with; PATH's folder, with no compiler.
    A stranger's pip lies in the current folder, and the cache's name has a space."""
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
    ("name", "chosen"), [("gcc", None), ("clang", ""), ("ccache", "ccache gcc"), ("mine", "mine -m64")]
)
def test_a_portable_build_is_labelled_and_brings_openmp_with_any_compiler(
    name: str, chosen: str | None, pip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_compiler(pip, name)
    if chosen is not None:
        monkeypatch.setenv("CC", chosen)
    path = build_wheel(LlamaBuild())
    with zipfile.ZipFile(path) as wheel:
        assert wheel.read("init").decode() == f'__version__ = "{LLAMA}+portable"\n'
        cmake = wheel.read("cmake").decode().splitlines()
        assert cmake[0] == "set(LLAMA_BUILD_COMMON OFF)"
        (openmp,) = (line for line in cmake if line.startswith("install("))
        assert openmp.startswith(f'install(FILES "{Path("/lib/it").resolve()}" ')
        assert openmp.endswith("RENAME libgomp.so.1)")
        assert shlex.split(wheel.read("CMAKE_ARGS").decode()) == list(PORTABLE)
    assert SpecifierSet(f"=={LLAMA}").contains(LlamaBuild().version)  # localeval takes it
    shutil.rmtree(pip)
    assert build_wheel(LlamaBuild()) == path  # it took minutes


def test_a_build_for_this_processor_leaves_out_amx(pip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_compiler(pip, "cc")
    monkeypatch.setenv("CXXFLAGS", "-g")
    with zipfile.ZipFile(build_wheel(LlamaBuild(native=True))) as wheel:
        assert wheel.read("init").decode() == f'__version__ = "{LLAMA}"\n'
        assert wheel.read("cmake").decode() == "set(LLAMA_BUILD_COMMON ON)\n"
        assert wheel.read("CXXFLAGS").decode() == " ".join(["-g", *NO_AMX])
    assert f'no_amx="{" ".join(NO_AMX)}"' in (Path(__file__).parents[2] / "scripts/setup").read_text()


def test_the_glibc_that_a_compiled_wheel_needs_is_its_newest_symbols(tmp_path: Path) -> None:
    symbols = b"\x7fELF GLIBC_2.14 GLIBC_2.34 GLIBC_2.9"
    assert needed_glibc(write_wheel(tmp_path, "a", {"llama_cpp/lib/libllama.so": symbols})) == "2.34"


def test_the_plan_is_what_is_installed_here_with_torchs_cpu_build(tmp_path: Path) -> None:
    chosen = choose_contents([], LlamaBuild())
    requires = [each for each in distribution("localeval").requires or [] if "extra" not in each]
    needed = {re.split(r"[^\w-]", each)[0] for each in requires} - {"llama-cpp-python"}
    assert needed <= chosen.wheels.keys()
    assert chosen.wheels["numpy"] == version("numpy")
    assert not {"localeval", "llama-cpp-python", "pytest", "ruff"} & chosen.wheels.keys()
    if sys.platform == "linux":
        assert chosen.wheels["torch"] == f"{version('torch').partition('+')[0]}+cpu"
        assert not [name for name in chosen.wheels if name.startswith("nvidia")]
    text = "\n".join(chosen.lines(tmp_path / "new"))
    assert re.search(r"in all about [\d,]+ MB; [\d,]+ MB are free there", text)


def test_a_model_that_cannot_be_packed_is_refused(index: Path, tmp_path: Path) -> None:
    assert (default_models("tiny", None), default_models(None, None)) == (["tiny"], [])
    assert len(choose_contents(["tiny", "tiny"], LlamaBuild()).models) == 1
    message = said(ModelMissing, choose_contents, ["mine.gguf"], LlamaBuild())
    assert "'mine.gguf' is not in the catalog" in message
    chosen, path = contents("tiny"), tmp_path / "models" / FILE
    flip(path)
    remember_sha256(path, SHA256)  # as if it changed without a trace
    assert said(ModelBroken, pack, chosen, tmp_path / "pack").endswith("models verify tiny")
    path.unlink()
    assert "localeval models fetch tiny" in said(ModelMissing, choose_contents, ["tiny"], LlamaBuild())


def test_without_a_terminal_nothing_is_written_until_yes(index: Path, tmp_path: Path) -> None:
    folder = tmp_path / "pack"
    run = CliRunner().invoke(pack_command, ["--to", str(folder), "--models", "tiny"])
    assert "add --yes" in str(run.exception)
    assert "tiny: 0 MB, copied" in run.output
    assert not folder.exists()


@pytest.fixture
def packed(original: Path, tmp_path: Path) -> Path:
    """A copy of it on a disk that keeps no exec bits, to be spoiled."""
    return shutil.copytree(original, tmp_path / "a stick" / "über", copy_function=shutil.copyfile)


def change(manifest: Path, /, **facts: object) -> None:
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), **facts}))


def list_file(manifest: Path, name: str) -> None:
    files = json.loads(manifest.read_text())["files"]
    change(manifest, files={**files, name: {"size": 1, "sha256": "0" * 64}})


def run_installer(packed: Path, *arguments: str | Path, home: Path, code: int = 0) -> tuple[str, str]:
    """What it wrote to stdout and to stderr before it ended with this exit code."""
    command = [sys.executable, "-I", str(packed / "install.py"), *map(str, arguments)]
    run = subprocess.run(command, env={"HOME": str(home), "PATH": "/nowhere"}, capture_output=True, text=True)
    assert run.returncode == code, run.stderr
    return run.stdout, run.stderr


def test_the_installer_imports_only_the_standard_library_and_an_old_python_can_read_it() -> None:
    tree = ast.parse(Path(install.__file__).read_text(encoding="utf-8"), feature_version=(3, 7))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in imported} <= set(sys.stdlib_module_names)


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """The folder of the environment in the user's data folder: a link to another disk, and half installed."""
    disk = tmp_path / "disk"
    disk.mkdir()
    into = tmp_path / "home" / ".local" / "share" / "localeval" / "venv"
    into.parent.mkdir(parents=True)
    into.symlink_to(disk)
    (into / install.MARKER).write_text("unfinished\n")  # as an interruption leaves it
    (into / "half").touch()
    return into


def test_the_installer_makes_half_an_environment_again_and_keeps_a_whole_one(
    packed: Path, environment: Path, tmp_path: Path
) -> None:
    home, store = tmp_path / "home", tmp_path / "store"
    store.mkdir()
    stdout, _ = run_installer(packed, "--models", store, home=home)
    assert f"{tmp_path}/disk/bin/localeval doctor" in stdout
    assert list(environment.glob("lib/python*/site-packages/numpy.py"))
    assert not (environment / "half").exists()
    # The packed localeval copies the models.
    assert (store / "asked").read_text() == f"models fetch --from {packed}/models -- tiny"
    _, stderr = run_installer(packed, "--models", store, home=home)
    assert "made of this pack already" in stderr


def test_an_environment_of_another_pack_is_left_as_it_is(
    packed: Path, environment: Path, tmp_path: Path
) -> None:
    (environment / install.MARKER).write_text("another")
    _, stderr = run_installer(packed, home=tmp_path / "home", code=2)
    assert f"{tmp_path}/disk is there already, and not of this pack" in stderr
    assert (environment / "half").exists()


def refused_install(packed: Path, home: Path, code: int) -> str:
    """The last line of an installer that ends with this code, and has installed nothing."""
    into = home / "new"
    _, stderr = run_installer(packed, "--into", into, home=home, code=code)
    assert not into.exists()
    return stderr.splitlines()[-1]


def test_a_pack_with_a_damaged_file_is_not_installed(packed: Path, tmp_path: Path) -> None:
    flip(packed / "models" / FILE)
    assert re.search(f"{FILE} is .*copy the pack again", refused_install(packed, tmp_path, 3))


def test_a_pack_without_one_of_its_files_is_not_installed(packed: Path, tmp_path: Path) -> None:
    (packed / "models" / FILE).unlink()
    assert re.search(f"{FILE} is .*copy the pack again", refused_install(packed, tmp_path, 3))


def test_without_room_for_the_packages_nothing_is_installed(packed: Path, tmp_path: Path) -> None:
    change(packed / "manifest.json", installed_bytes=10**18)
    assert "are free; make room" in refused_install(packed, tmp_path, 2)


def refusal(packed: Path, sha256: str = "") -> install.Refused:
    """How the installer refuses the pack on this machine."""
    with pytest.raises(install.Refused) as refused:
        install.check_machine(install.read_manifest(packed, sha256))
    return refused.value


@pytest.mark.parametrize("text", ["[]", "{"])
def test_a_manifest_that_is_no_object_is_damaged(packed: Path, text: str) -> None:
    (packed / "manifest.json").write_text(text)
    assert "is damaged; copy the pack again" in str(refusal(packed))


@pytest.mark.parametrize("fact", ["sha256", "glibc", "files", "pip", "cpu", "python", "installed_bytes"])
def test_a_manifest_that_lacks_a_fact_is_damaged(packed: Path, fact: str) -> None:
    manifest = packed / "manifest.json"
    manifest.write_text(manifest.read_text().replace(f'"{fact}"', '"other"'))
    assert "is damaged" in str(refusal(packed))


@pytest.mark.parametrize(
    ("fact", "value"),
    [
        ("glibc", 5),
        ("cpu", None),
        ("models", [5]),
        ("models", "tiny"),
        ("python", 3),
        ("installed_bytes", "1000"),
        ("installed_bytes", 10**400),
        ("pip", "wheels/absent.whl"),
        ("files", []),
    ],
    ids=str,
)
def test_a_manifest_with_a_fact_of_another_type_is_damaged(packed: Path, fact: str, value: object) -> None:
    change(packed / "manifest.json", **{fact: value})
    refused = refusal(packed)
    assert "is damaged" in str(refused)
    assert refused.exit_code == 3


def test_a_manifest_with_a_size_that_is_no_number_is_damaged(packed: Path) -> None:
    manifest = packed / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"size": ', '"size": "x", "n": '))
    assert "is damaged" in str(refusal(packed))


def test_a_manifest_of_a_newer_pack_is_for_another_installer(packed: Path) -> None:
    change(packed / "manifest.json", localeval_pack=2)
    refused = refusal(packed)
    assert "is of a newer kind of pack" in str(refused)
    assert refused.exit_code == 2


def test_a_folder_without_a_manifest_is_no_finished_pack(packed: Path) -> None:
    (packed / "manifest.json").unlink()
    assert "is no finished pack of localeval's" in str(refusal(packed))


def test_a_manifest_with_another_sha256_than_was_told_is_refused(packed: Path) -> None:
    sha256 = install.read_manifest(packed)["sha256"]
    change(packed / "manifest.json", models=[])
    refused = refusal(packed, sha256)
    assert "it is not the pack you were told of" in str(refused)
    assert refused.exit_code == 3


@pytest.mark.parametrize("name", ["../evil", "/etc/passwd", "wheels\\a", "evil.py", "models/C:e"])
def test_a_manifest_that_names_a_file_outside_the_pack_is_refused(packed: Path, name: str) -> None:
    list_file(packed / "manifest.json", name)
    refused = refusal(packed)
    assert "which no pack holds" in str(refused)
    assert refused.exit_code == 3


@pytest.mark.parametrize(
    ("fact", "value", "message"),
    [
        ("python", "3.99", r"this pack is for CPython 3\.99 .*, and this is .*; run .* with python3\.99"),
        ("machine", "riscv64", f"this pack is for .* {platform.system()} riscv64, and this is"),
        ("glibc", "2.999", r"this pack needs glibc 2\.999 or newer, and this system has"),
        ("cpu", ["avx4096"], "this processor has no avx4096, which the pack's llama.cpp needs"),
    ],
    ids=["python", "machine", "glibc", "cpu"],
)
def test_a_pack_for_another_machine_is_refused(packed: Path, fact: str, value: object, message: str) -> None:
    change(packed / "manifest.json", **{fact: value})
    refused = refusal(packed)
    assert re.search(message, str(refused))
    assert refused.exit_code == 2


@pytest.mark.parametrize(("system", "path"), [("posix", "bin/localeval"), ("nt", "Scripts/localeval.exe")])
def test_a_program_of_an_environment_is_where_the_system_has_it(
    system: str, path: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "name", system)
    found = install.program(tmp_path, "localeval")
    monkeypatch.undo()
    assert found == tmp_path / path
