"""Models that other programs have stored: found in each layout, opened where they lie, or refused.

No real program has written these folders; they are laid out as the programs document it.
"""

import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from localeval import Judge
from localeval.auxiliary.models import AuxiliaryModels
from localeval.engine import memory
from localeval.errors import InputError, ModelBroken
from localeval.models import found, resolve
from localeval.models.files import hash_file
from tests.commands import localeval, refused, said
from tests.tiny import write_tiny_model

LIBRARY = "registry.ollama.ai/library"
MODEL_LAYER = "application/vnd.ollama.image.model"


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home folder in which no program has stored a model."""
    for name in ("OLLAMA_MODELS", "LLAMA_CACHE", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(found, "SERVICE_FOLDER", tmp_path / "service")
    return tmp_path / "home"


def store_blob(folder: Path, model: Path) -> str:
    """Copy a model into a folder of Ollama, and return its sha256."""
    sha256 = hash_file(model)
    (folder / "blobs").mkdir(parents=True, exist_ok=True)
    shutil.copy(model, folder / "blobs" / f"sha256-{sha256}")
    return sha256


def write_manifest(folder: Path, tag: str, *layers: tuple[str, str]) -> Path:
    """Write a manifest of Ollama, of layers with a media type and a digest."""
    manifest = folder / "manifests" / tag
    manifest.parent.mkdir(parents=True, exist_ok=True)
    rows = [{"mediaType": media_type, "digest": digest, "size": 1} for media_type, digest in layers]
    manifest.write_text(json.dumps({"schemaVersion": 2, "layers": rows}))
    return manifest


@pytest.fixture
def ollama(home: Path, tiny_path: Path) -> Path:
    """Ollama's folder with the tiny model as `tiny:1b`."""
    folder = home / ".ollama" / "models"
    sha256 = store_blob(folder, tiny_path)
    write_manifest(folder, f"{LIBRARY}/tiny/1b", (MODEL_LAYER, f"sha256:{sha256}"))
    return folder


def put(model: Path, path: Path) -> Path:
    """Copy a model to a path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(model, path)
    return path


def put_in_hub(model: Path, hub: Path, repository: str, file: str) -> Path:
    """Copy a model into the hub's cache as its library does: a blob, and a link to it in a snapshot."""
    blob = put(model, hub / repository / "blobs" / "abc")
    link = hub / repository / "snapshots" / "rev1" / file
    link.parent.mkdir(parents=True)
    link.symlink_to(os.path.relpath(blob, link.parent))
    (hub / repository / "refs").mkdir()
    (hub / repository / "refs" / "main").write_text("rev1")
    return link


def names(store: str = "") -> list[tuple[str, ...]]:
    return [model.names for model in found.find_models(store).models]


# --- each layout


def test_a_model_of_ollama_is_opened_where_it_lies(ollama: Path, tiny_path: Path) -> None:
    model = resolve("ollama:tiny:1b", kind="judge")
    sha256 = hash_file(tiny_path)
    assert model.path == ollama / "blobs" / f"sha256-{sha256}"
    assert model.sha256 == sha256
    assert model.name == model.source == "ollama:tiny:1b"


def test_the_variable_names_ollamas_folder(
    ollama: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ollama.rename(tmp_path / "elsewhere")
    assert names() == []
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path / "elsewhere"))
    assert names() == [("ollama:tiny:1b",)]


def test_the_models_of_ollamas_service_are_found(ollama: Path, tmp_path: Path) -> None:
    ollama.rename(tmp_path / "service")
    assert names() == [("ollama:tiny:1b",)]


def test_two_tags_of_a_blob_are_one_model_with_both_names(ollama: Path, tiny_path: Path) -> None:
    layer = (MODEL_LAYER, f"sha256:{hash_file(tiny_path)}")
    write_manifest(ollama, f"{LIBRARY}/tiny/latest", layer)
    assert names() == [("ollama:tiny:1b", "ollama:tiny:latest")]
    assert resolve("ollama:tiny").path == resolve("ollama:tiny:latest").path == resolve("ollama:tiny:1b").path


def test_a_model_of_another_namespace_or_registry_has_it_in_its_name(ollama: Path, tiny_path: Path) -> None:
    layer = (MODEL_LAYER, f"sha256:{hash_file(tiny_path)}")
    write_manifest(ollama, "registry.ollama.ai/ann/mine/8b", layer)
    write_manifest(ollama, "hf.co/Qwen/Qwen3-4B-GGUF/Q4_K_M", layer)
    told = {name for model in names() for name in model}
    assert told == {"ollama:tiny:1b", "ollama:ann/mine:8b", "ollama:hf.co/Qwen/Qwen3-4B-GGUF:Q4_K_M"}


@pytest.mark.parametrize("folder", [".lmstudio/models", ".cache/lm-studio/models"], ids=["now", "older"])
def test_a_single_model_of_lm_studio_is_named_by_its_repository(
    home: Path, tiny_path: Path, folder: str
) -> None:
    path = put(tiny_path, home / folder / "Qwen" / "Tiny-GGUF" / "tiny-q4.gguf")
    put(tiny_path, path.with_name("mmproj-tiny.gguf"))  # it reads pictures
    assert names() == [("lmstudio:Qwen/Tiny-GGUF",)]
    assert resolve("lmstudio:Qwen/Tiny-GGUF").path == path
    assert resolve("lmstudio:Qwen/Tiny-GGUF/tiny-q4.gguf").path == path
    assert resolve("lmstudio:Qwen/Tiny-GGUF/tiny-q4").path == path


def test_several_models_of_a_repository_are_named_by_their_files(home: Path, tiny_path: Path) -> None:
    folder = home / ".lmstudio/models/Qwen/Tiny-GGUF"
    for file in ("q4.gguf", "q8.gguf"):
        put(tiny_path, folder / file)
    assert names() == [("lmstudio:Qwen/Tiny-GGUF/q4.gguf",), ("lmstudio:Qwen/Tiny-GGUF/q8.gguf",)]
    assert resolve("lmstudio:Qwen/Tiny-GGUF/q8").path == folder / "q8.gguf"


def test_a_file_of_llama_cpps_cache_is_found(
    home: Path, tiny_path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = put(tiny_path, home / ".cache" / "llama.cpp" / "tiny.gguf")
    assert resolve("llamacpp:tiny").path == resolve("llamacpp:tiny.gguf").path == path
    other = put(tiny_path, tmp_path / "other" / "b.gguf")
    monkeypatch.setenv("LLAMA_CACHE", str(tmp_path / "other"))
    assert names() == [("llamacpp:b.gguf",)]
    assert resolve("llamacpp:b").path == other


@pytest.mark.parametrize(
    ("variable", "folder"),
    [("", ".cache/huggingface/hub"), ("HF_HOME", "hf/hub"), ("HF_HUB_CACHE", "cache")],
    ids=["default", "HF_HOME", "HF_HUB_CACHE"],
)
def test_a_file_of_the_hubs_cache_is_found(
    home: Path, tiny_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, folder: str
) -> None:
    if variable:
        monkeypatch.setenv(variable, str(home / folder.partition("/")[0]))
    link = put_in_hub(tiny_path, home / folder, "models--Qwen--Tiny-GGUF", "q4/tiny.gguf")
    assert names() == [("hub:Qwen/Tiny-GGUF",)]
    assert resolve("hub:Qwen/Tiny-GGUF").path == link
    assert resolve("hub:Qwen/Tiny-GGUF/q4/tiny.gguf").sha256 == hash_file(tiny_path)


def test_of_several_revisions_the_one_that_is_main_is_opened(home: Path, tiny_path: Path) -> None:
    hub = home / ".cache/huggingface/hub"
    link = put_in_hub(tiny_path, hub, "models--a--b", "tiny.gguf")
    put(tiny_path, link.parents[1] / "rev0" / "tiny.gguf")
    assert resolve("hub:a/b").path == link


def test_a_revision_that_shares_a_file_with_another_adds_no_model(home: Path, tiny_path: Path) -> None:
    hub = home / ".cache/huggingface/hub"
    link = put_in_hub(tiny_path, hub, "models--a--b", "tiny.gguf")
    (link.parents[2] / "refs" / "main").unlink()
    other = link.parents[1] / "rev2" / "tiny.gguf"
    other.parent.mkdir()
    other.symlink_to(link.resolve())
    assert names() == [("hub:a/b",)]


def test_a_folder_of_sentence_transformers_is_an_embedder(home: Path) -> None:
    snapshot = home / ".cache/huggingface/hub/models--org--embed/snapshots/rev"
    snapshot.mkdir(parents=True)
    for name in ("modules.json", "config.json", "model.safetensors"):
        (snapshot / name).write_text("[]")
    files = resolve("hub:org/embed", kind="embedder")
    assert files.path == snapshot
    assert files.source == "hub:org/embed"
    assert AuxiliaryModels("hub:org/embed").sources()["embedder"] == "hub:org/embed"
    assert "can't be the judge" in said(InputError, resolve, "hub:org/embed", kind="judge")


def test_a_split_model_is_one_model(home: Path, tiny_path: Path) -> None:
    folder = home / ".lmstudio/models/a/b"
    for part in (1, 2):
        put(tiny_path, folder / f"m-0000{part}-of-00002.gguf")
    assert names() == [("lmstudio:a/b",)]
    assert len(resolve("lmstudio:a/b").paths) == 2


def test_folders_that_are_not_there_hold_nothing(home: Path) -> None:
    assert found.find_models() == found.Found((), ())


def test_nothing_is_written_to_another_programs_folder(ollama: Path) -> None:
    before = sorted((path, path.stat().st_mtime_ns) for path in ollama.rglob("*"))
    resolve("ollama:tiny:1b", read_again=True)
    found.find_models()
    assert sorted((path, path.stat().st_mtime_ns) for path in ollama.rglob("*")) == before


# --- a judge and the command line


def test_a_found_judge_judges_as_its_file_does_by_its_path(
    ollama: Path, tiny_path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    sample = {"response": "Tea is green.", "retrieved_contexts": ["Tea is green."]}
    with Judge.load("ollama:tiny:1b", n_threads=1) as by_name, Judge.load(tiny_path, n_threads=1) as by_path:
        assert by_name.score("faithfulness", sample) == by_path.score("faithfulness", sample)
        assert by_name.model["sha256"] == by_path.model["sha256"]
        assert by_name.source == "ollama:tiny:1b"  # what a worker loads


def test_a_found_judge_that_does_not_fit_is_refused_by_its_name(
    ollama: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(memory, "available", lambda: 1_000)
    assert said(InputError, Judge.load, "ollama:tiny:1b").startswith("ollama:tiny:1b needs about")


def test_a_worker_loads_a_found_judge_by_its_name(
    ollama: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with Judge.load("ollama:tiny:1b", n_threads=1) as judge:
        load = judge.loader_for_workers()
        assert load is not None
        with pickle.loads(pickle.dumps(load))() as other:  # noqa: S301
            assert other.model == judge.model


def test_list_has_the_found_models_below_the_catalogs(ollama: Path, tmp_path: Path) -> None:
    write_manifest(ollama, f"{LIBRARY}/gone/1b", (MODEL_LAYER, f"sha256:{'0' * 64}"))
    done = localeval("models", "list", cwd=tmp_path)
    header, gone, tiny = done.stdout.split("\n\n")[1].splitlines()
    assert header.split() == ["FOUND", "SIZE", "QUANTIZATION", "PARAMETERS", "CONTEXT", "CAN"]
    assert "is missing; pull it again with Ollama" in gone
    assert tiny.split()[0] == "ollama:tiny:1b"
    assert tiny.split()[-2:] == ["16384", "judge"]
    assert done.returncode == 0


def test_the_list_in_json_has_the_found_models_too(ollama: Path, tmp_path: Path) -> None:
    rows = json.loads(localeval("models", "list", "--json", cwd=tmp_path).stdout)
    row = next(row for row in rows if row["state"] == "found")
    assert row["name"] == "ollama:tiny:1b"
    assert row["kind"] == "judge"
    assert row["context_length"] == 16384
    assert row["parameters"] > 0
    assert row["fault"] == ""


def test_a_folder_without_permission_is_told_and_the_others_are_listed(
    ollama: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = home / ".lmstudio/models"
    folder.mkdir(parents=True)
    forbid(monkeypatch, folder)
    done = localeval("models", "list", cwd=tmp_path)
    assert "ollama:tiny:1b" in done.stdout
    assert f"{folder} can't be read (Permission denied): its models are not listed" in done.stderr


def forbid(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let no one list a folder; a superuser could, whatever its permissions are."""
    iterdir = Path.iterdir

    def guarded(path: Path) -> object:
        if path == folder:
            raise PermissionError(13, "Permission denied", str(folder))
        return iterdir(path)

    monkeypatch.setattr(Path, "iterdir", guarded)


# --- what can't be opened: one sentence, exit code 2


def test_an_unknown_name_is_refused_with_the_nearest(ollama: Path) -> None:
    assert refused("models", "path", "ollama:tiny:7b").endswith("did you mean ollama:tiny:1b?")


def test_a_part_of_a_name_is_refused_with_those_that_have_it(home: Path, tiny_path: Path) -> None:
    put(tiny_path, home / ".lmstudio/models/Qwen/Tiny-GGUF/tiny-q4.gguf")
    assert refused("models", "path", "lmstudio:tiny").endswith("did you mean lmstudio:Qwen/Tiny-GGUF?")


def test_a_name_where_nothing_is_stored_is_refused_with_the_folders(home: Path) -> None:
    assert f"no model is in {home}/.cache/llama.cpp." in refused("models", "path", "llamacpp:x")


def test_a_name_of_two_models_is_refused_with_both(home: Path, tiny_path: Path) -> None:
    for file in ("q4.gguf", "q8.gguf"):
        put(tiny_path, home / ".lmstudio/models/a/b" / file)
    message = refused("models", "path", "lmstudio:a/b")
    assert message.endswith("2 models; give one of them: lmstudio:a/b/q4.gguf, lmstudio:a/b/q8.gguf.")


def test_a_model_that_two_folders_have_is_refused_with_both_paths(home: Path, tiny_path: Path) -> None:
    first = put(tiny_path, home / ".lmstudio/models/a/b/q4.gguf")
    second = put(tiny_path, home / ".cache/lm-studio/models/a/b/q4.gguf")
    assert f"give one of them: {first}, {second}." in refused("models", "path", "lmstudio:a/b")


def damaged_json(ollama: Path, manifest: Path) -> str:
    manifest.write_text("{")
    return "is broken: it is no JSON with layers"


def layers_of_another_shape(ollama: Path, manifest: Path) -> str:
    manifest.write_text('{"layers": [3]}')
    return "is broken: it is no JSON with layers"


def no_model_layer(ollama: Path, manifest: Path) -> str:
    write_manifest(ollama, f"{LIBRARY}/tiny/1b", ("application/vnd.ollama.image.license", "sha256:00"))
    return f"names 0 layers {MODEL_LAYER}, expected 1"


def digest_that_leads_elsewhere(ollama: Path, manifest: Path) -> str:
    write_manifest(ollama, f"{LIBRARY}/tiny/1b", (MODEL_LAYER, "sha256:../../../secret"))
    return "the digest of its model is no sha256"


def adapter(ollama: Path, manifest: Path) -> str:
    digest = json.loads(manifest.read_text())["layers"][0]["digest"]
    layers = (MODEL_LAYER, digest), ("application/vnd.ollama.image.adapter", digest)
    write_manifest(ollama, f"{LIBRARY}/tiny/1b", *layers)
    return "adds an adapter to its model"


def missing_blob(ollama: Path, manifest: Path) -> str:
    next((ollama / "blobs").iterdir()).unlink()
    return "is missing; pull it again with Ollama"


@pytest.mark.parametrize(
    "spoil",
    [
        damaged_json,
        layers_of_another_shape,
        no_model_layer,
        digest_that_leads_elsewhere,
        adapter,
        missing_blob,
    ],
)
def test_a_model_of_ollama_that_is_not_whole_is_refused(
    ollama: Path, spoil: Callable[[Path, Path], str]
) -> None:
    fault = spoil(ollama, ollama / "manifests" / LIBRARY / "tiny" / "1b")
    message = refused("models", "path", "ollama:tiny:1b")
    assert message.startswith("localeval: ollama:tiny:1b can't be opened: ")
    assert fault in message


def test_a_file_without_permission_is_refused(ollama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "give permission to read it" in refused("models", "path", "ollama:tiny:1b")


def test_a_name_that_may_be_in_a_folder_without_permission_is_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = home / ".lmstudio/models"
    folder.mkdir(parents=True)
    forbid(monkeypatch, folder)
    message = refused("models", "path", "lmstudio:a/b")
    assert message.endswith(f"{folder} can't be read (Permission denied): give permission to read it.")


def test_a_link_of_the_hub_whose_blob_is_missing_is_refused(home: Path, tiny_path: Path) -> None:
    link = put_in_hub(tiny_path, home / ".cache/huggingface/hub", "models--a--b", "tiny.gguf")
    link.resolve().unlink()
    assert f"{link} is missing" in refused("models", "path", "hub:a/b")


@pytest.mark.parametrize("missing", [1, 2], ids=["the first", "the second"])
def test_a_split_model_without_one_of_its_files_is_refused(home: Path, tiny_path: Path, missing: int) -> None:
    other = 3 - missing
    put(tiny_path, home / f".lmstudio/models/a/b/m-0000{other}-of-00002.gguf")
    message = refused("models", "path", "lmstudio:a/b")
    assert (
        f"it has 2 files, and {home}/.lmstudio/models/a/b/m-0000{missing}-of-00002.gguf is missing" in message
    )


def test_a_blob_with_other_bytes_than_its_name_says_is_refused(ollama: Path, tmp_path: Path) -> None:
    blob = next((ollama / "blobs").iterdir())
    write_tiny_model(tmp_path / "other.gguf", trained=4096)
    shutil.copy(tmp_path / "other.gguf", blob)
    message = said(ModelBroken, resolve, "ollama:tiny:1b")
    assert f"expected {blob.name.removeprefix('sha256-')}" in message
