"""Find the models that other programs have stored on this machine: Ollama, LM Studio, llama.cpp, the hub.

Their folders are only read; no program is started and no server is asked. A model is named by its program and
by what that calls it:

    ollama:qwen2.5:7b                 ollama:NAMESPACE/MODEL:TAG, ollama:REGISTRY/NAMESPACE/MODEL:TAG
    lmstudio:PUBLISHER/REPO           with several models in it: lmstudio:PUBLISHER/REPO/FILE
    hub:ORG/REPO                      likewise; a folder of sentence-transformers, or GGUF files
    llamacpp:FILE
"""

from __future__ import annotations

import difflib
import json
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from localeval.errors import InputError
from localeval.models.catalog import Kind
from localeval.models.gguf import split_files

STORES = ("ollama", "lmstudio", "llamacpp", "hub")  # the first part of a name
MAX_MANIFEST_BYTES = 1_000_000
MAX_NAMES_TOLD = 5

# The service that Ollama's installer sets up on Linux has a home folder of its own.
SERVICE_FOLDER = Path("/usr/share/ollama/.ollama/models")

_MODEL_LAYER = "application/vnd.ollama.image.model"
_ADAPTER_LAYER = "application/vnd.ollama.image.adapter"
_DIGEST = re.compile(r"sha256[:-]([0-9a-f]{64})")


@dataclass(frozen=True)
class FoundModel:
    """A model in the folder of another program.

    names    that are shown; several for tags of one file
    path     its GGUF file, the first of a split one, or its folder
    kind     "judge" for GGUF files, "embedder" for a folder of sentence-transformers
    aliases  further names by which `find` knows it, which other models may have too
    sha256   of the file, as its program has it; None where that is not known
    fault    why it can't be opened, as a sentence without its end; empty if nothing speaks against it
    """

    names: tuple[str, ...]
    path: Path
    kind: Kind
    aliases: tuple[str, ...] = ()
    sha256: str | None = None
    fault: str = ""

    def has_name(self, name: str) -> bool:
        """Return whether it is a name of this model; the end .gguf may be left out."""
        return any(own in (name, f"{name}.gguf") for own in (*self.names, *self.aliases))


@dataclass(frozen=True)
class Found:
    """The models that were found, and for each folder that can't be read one sentence."""

    models: tuple[FoundModel, ...]
    unreadable: tuple[str, ...]


def is_found_name(name: object) -> bool:
    """Return whether a name has the form of a found model's.

    >>> is_found_name("ollama:qwen2.5:7b"), is_found_name("qwen2.5-7b"), is_found_name("C:/qwen.gguf")
    (True, False, False)
    """
    return isinstance(name, str) and name.partition(":")[0] in STORES and ":" in name


def find(name: str, kind: Kind | None = None) -> FoundModel:
    """Return the found model of this name, of a kind if there are several. Every file of it is there.

    Raises InputError for a name that no model has, or two have, and for a model that can't be opened.
    """
    found = find_models(name.partition(":")[0])
    matching = [model for model in found.models if model.has_name(name)]
    if not matching:
        raise InputError(f"{name} is not on this machine; {_hint(name, found)}")
    chosen = [model for model in matching if kind in (None, model.kind)]
    if not chosen:
        raise InputError(
            f"{name} is {_DESCRIPTIONS[matching[0].kind]}, which can't be the {kind}; "
            "choose another: localeval models list"
        )
    if len(chosen) > 1:
        raise InputError(f"{name} is the name of {len(chosen)} models; give one of them: {_listed(chosen)}.")
    if chosen[0].fault:
        raise InputError(f"{name} can't be opened: {chosen[0].fault}.")
    return chosen[0]


_DESCRIPTIONS: Mapping[Kind, str] = {
    "judge": "a GGUF file",
    "embedder": "a folder of sentence-transformers",
}


def _listed(models: Sequence[FoundModel]) -> str:
    """List what tells models apart: their names, or else their paths."""
    names = {model.names[0] for model in models}
    if len(names) == len(models):
        return ", ".join(sorted(names))
    return ", ".join(str(model.path) for model in models)


def _hint(name: str, found: Found) -> str:
    """Say which names are near, which folder can't be read, or that there is nothing."""
    names = [own for model in found.models for own in model.names]
    # A name without its tag, publisher or quantization is a part of the whole one.
    part = name.partition(":")[2].lower()
    near = [own for own in names if part in own.lower()]
    near = near or difflib.get_close_matches(name, names, MAX_NAMES_TOLD, 0.5)
    if near:
        return f"did you mean {' or '.join(near[:MAX_NAMES_TOLD])}?"
    if found.unreadable:
        return f"{found.unreadable[0]}: give permission to read it."
    if names:
        return f"there are: {', '.join(names[:MAX_NAMES_TOLD])} (see: localeval models list)."
    folders = " or ".join(str(folder) for folder in store_folders(name.partition(":")[0]))
    return f"no model is in {folders}."


def find_models(store: str = "") -> Found:
    """Find the models of one of STORES, of all for "", in the order of STORES and then of their names."""
    models: list[FoundModel] = []
    unreadable: list[str] = []
    for name in STORES:
        if store in ("", name):
            for folder in store_folders(name):
                try:
                    models += _READERS[name](folder)
                except OSError as error:
                    unreadable.append(f"{error.filename or folder} can't be read ({error.strerror})")
    return Found(tuple(models), tuple(unreadable))


def store_folders(store: str) -> list[Path]:
    """Return the folders in which a program keeps its models, whether they exist or not."""
    if store == "ollama":
        own = os.environ.get("OLLAMA_MODELS") or "~/.ollama/models"
        return list(dict.fromkeys((_path(own), SERVICE_FOLDER)))
    if store == "lmstudio":
        return [_path("~/.lmstudio/models"), _path("~/.cache/lm-studio/models")]
    if store == "llamacpp":
        return [_path(os.environ.get("LLAMA_CACHE") or f"{_user_cache()}/llama.cpp")]
    hub = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    home = os.environ.get("HF_HOME") or f"{_cache_home()}/huggingface"
    return [_path(hub or f"{home}/hub")]


def _path(path: str) -> Path:
    return Path(os.path.expanduser(path)).absolute()  # noqa: PTH111 (Path's raises for an unknown user)


def _cache_home() -> str:
    return os.environ.get("XDG_CACHE_HOME") or "~/.cache"


def _user_cache() -> str:
    """Return the folder of caches as llama.cpp chooses it on this system."""
    if sys.platform == "darwin":
        return "~/Library/Caches"
    if sys.platform == "win32":
        return os.environ.get("LOCALAPPDATA", "~/AppData/Local")
    return _cache_home()


def _ollama(folder: Path) -> list[FoundModel]:
    """Read all manifests; tags of the same blob are one model with several names."""
    by_blob: dict[object, FoundModel] = {}
    for manifest in _files_at_depth(folder / "manifests", 4):
        name = _ollama_name(manifest.relative_to(folder / "manifests").parts)
        model = _ollama_model(folder, manifest, name)
        # A manifest without a blob is one of its own.
        key = model.sha256 if model.sha256 and not model.fault else manifest
        if key in by_blob:
            first = by_blob[key]
            names = (*first.names, *model.names)
            model = replace(first, names=names, aliases=(*first.aliases, *model.aliases))
        by_blob[key] = model
    return list(by_blob.values())


def _ollama_name(parts: tuple[str, ...]) -> str:
    """Return a model's name as Ollama writes it, without what it leaves out.

    >>> _ollama_name(("registry.ollama.ai", "library", "qwen2.5", "7b"))
    'ollama:qwen2.5:7b'
    >>> _ollama_name(("hf.co", "Qwen", "Qwen3-4B-GGUF", "Q4_K_M"))
    'ollama:hf.co/Qwen/Qwen3-4B-GGUF:Q4_K_M'
    """
    *path, tag = parts
    if path[0] == "registry.ollama.ai":
        path = path[2:] if path[1] == "library" else path[1:]
    return f"ollama:{'/'.join(path)}:{tag}"


def _ollama_model(folder: Path, manifest: Path, name: str) -> FoundModel:
    """Read a manifest. The tag `latest` may be left out of a name."""
    names = (name,)
    aliases = (name.removesuffix(":latest"),) if name.endswith(":latest") else ()
    try:
        sha256 = _blob_of_manifest(manifest)
    except ValueError as error:
        fault = f"its manifest {manifest} {error}; pull it again with Ollama"
        return FoundModel(names, manifest, "judge", aliases, fault=fault)
    except OSError as error:
        fault = f"its manifest {manifest} can't be read ({error.strerror}); give permission to read it"
        return FoundModel(names, manifest, "judge", aliases, fault=fault)
    blob = folder / "blobs" / f"sha256-{sha256}"
    fault = _file_fault(blob, "pull it again with Ollama")
    return FoundModel(names, blob, "judge", aliases, sha256, fault)


def _blob_of_manifest(manifest: Path) -> str:
    """Return the sha256 of the GGUF file that a manifest names. Raises ValueError for a broken one."""
    if manifest.stat().st_size > MAX_MANIFEST_BYTES:
        raise ValueError(f"has more than {MAX_MANIFEST_BYTES:,} bytes")
    try:
        content: Any = json.loads(manifest.read_bytes())
        layers = [(str(layer["mediaType"]), str(layer["digest"])) for layer in content["layers"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError("is broken: it is no JSON with layers") from error
    if any(media_type == _ADAPTER_LAYER for media_type, _ in layers):
        raise ValueError("adds an adapter to its model, which localeval can't do")
    digests = [digest for media_type, digest in layers if media_type == _MODEL_LAYER]
    if len(digests) != 1:
        raise ValueError(f"names {len(digests)} layers {_MODEL_LAYER}, expected 1")
    # Nothing else becomes a part of a path.
    match = _DIGEST.fullmatch(digests[0])
    if match is None:
        raise ValueError("is broken: the digest of its model is no sha256")
    return match[1]


def _lmstudio(folder: Path) -> list[FoundModel]:
    """Find the GGUF files of PUBLISHER/REPO."""
    models: list[FoundModel] = []
    for repository in _subfolders(folder, 2):
        name = f"lmstudio:{repository.relative_to(folder).as_posix()}"
        files = _gguf_files(repository.iterdir())
        models += _gguf_models(name, repository, files, "load it again with LM Studio")
    return models


def _llamacpp(folder: Path) -> list[FoundModel]:
    """Find the GGUF files of llama.cpp's cache, which has no folders."""
    if not folder.is_dir():
        return []
    models = []
    for file in _first_files(_gguf_files(folder.iterdir())):
        fault = _split_fault(file, "fetch it again with llama.cpp")
        models.append(FoundModel((f"llamacpp:{file.name}",), file, "judge", fault=fault))
    return models


def _hub(folder: Path) -> list[FoundModel]:
    """Find the GGUF files and folders of sentence-transformers of the hub's cache."""
    models: list[FoundModel] = []
    for repository in _subfolders(folder, 1):
        prefix, _, repository_name = repository.name.partition("--")
        if prefix != "models":
            continue
        name = f"hub:{repository_name.replace('--', '/')}"
        contents: dict[Path, FoundModel] = {}
        for snapshot in _snapshots(repository):
            for model in _models_of_snapshot(name, snapshot):
                # Revisions share the files that are the same in them.
                contents.setdefault(model.path.resolve(), model)
        models += contents.values()
    return models


def _models_of_snapshot(name: str, snapshot: Path) -> list[FoundModel]:
    """Find the GGUF models of a revision, and the folder of sentence-transformers that it may be."""
    remedy = "fetch it again from the hub"
    models = _gguf_models(name, snapshot, _gguf_files(snapshot.rglob("*")), remedy)
    if (snapshot / "modules.json").is_file():
        fault = _first_fault(sorted(snapshot.rglob("*")), remedy)
        models.append(FoundModel((name,), snapshot, "embedder", fault=fault))
    return models


def _snapshots(repository: Path) -> list[Path]:
    """Return the folder of the revision that is `main`; without one, of all revisions."""
    folder = repository / "snapshots"
    try:
        main = (repository / "refs" / "main").read_text(encoding="ascii").strip()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        main = ""
    if re.fullmatch(r"\w+", main) and (folder / main).is_dir():
        return [folder / main]
    return _subfolders(folder, 1)


def _gguf_models(name: str, folder: Path, files: Sequence[Path], remedy: str) -> list[FoundModel]:
    """Make the models of a repository. A single one has its name, of several each has its file's name too."""
    firsts = _first_files(files)
    models = []
    for file in firsts:
        full_name = f"{name}/{file.relative_to(folder).as_posix()}"
        own, alias = (name, full_name) if len(firsts) == 1 else (full_name, name)
        models.append(FoundModel((own,), file, "judge", (alias,), fault=_split_fault(file, remedy)))
    return models


def _gguf_files(paths: Iterable[Path]) -> list[Path]:
    """Return the GGUF files of models, in order, broken links too; not those that read pictures."""
    files = []
    for path in sorted(paths):
        is_model = path.suffix == ".gguf" and "mmproj" not in path.name.lower()
        if is_model and not path.is_dir():
            files.append(path)
    return files


def _first_files(files: Iterable[Path]) -> list[Path]:
    """Return the first file of each model, in order, even if only others of its files are here."""
    return list(dict.fromkeys(split_files(file)[0] for file in files))


def _split_fault(file: Path, remedy: str) -> str:
    """Say which file of a split model is missing or can't be read; empty if none is."""
    files = split_files(file)
    missing = [part for part in files if not os.path.lexists(part)]
    if missing:
        return f"it has {len(files)} files, and {missing[0]} is missing; {remedy}"
    return _first_fault(files, remedy)


def _first_fault(files: Iterable[Path], remedy: str) -> str:
    faults = (_file_fault(file, remedy) for file in files)
    return next(filter(None, faults), "")


def _file_fault(file: Path, remedy: str) -> str:
    """Say why a file can't be read; empty if it can."""
    try:
        if file.is_symlink() or not file.is_dir():
            file.stat()
    except FileNotFoundError:
        return f"its file {file} is missing; {remedy}"
    except OSError as error:
        return f"its file {file} can't be read ({error.strerror}); give permission to read it"
    if not os.access(file, os.R_OK):
        return f"its file {file} can't be read (Permission denied); give permission to read it"
    return ""


def _subfolders(folder: Path, depth: int) -> list[Path]:
    """Return the folders at this depth below a folder, in order, without hidden ones; none where it is not.

    Raises OSError for one that can't be read.
    """
    folders = [folder] if folder.is_dir() else []
    for _ in range(depth):
        entries = [entry for parent in folders for entry in sorted(parent.iterdir())]
        folders = [entry for entry in entries if not entry.name.startswith(".") and entry.is_dir()]
    return folders


def _files_at_depth(folder: Path, depth: int) -> list[Path]:
    """Return the files at this depth below a folder, in order."""
    parents = _subfolders(folder, depth - 1)
    entries = [entry for parent in parents for entry in sorted(parent.iterdir())]
    return [entry for entry in entries if not entry.name.startswith(".") and entry.is_file()]


_READERS = {"ollama": _ollama, "lmstudio": _lmstudio, "llamacpp": _llamacpp, "hub": _hub}
