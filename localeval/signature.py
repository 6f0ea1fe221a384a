"""What a number was made with, as typed fields: two runs with equal signatures give equal scores."""

from __future__ import annotations

import hashlib
import json
import platform
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from pydantic import BaseModel, ConfigDict

from localeval.errors import InputError
from localeval.options import DEFAULTS
from localeval.texts import printable, said

DECIDING = ("llama-cpp-python", "outlines", "outlines-core", "pysbd", "numpy")
"""Packages whose version can move a score."""

_SURROUNDINGS = ("localeval", "machine", "packages", "engine.n_threads", "engine.n_gpu_layers", "engine.mmap")
_BESIDE = ("packages", "device", "batch_size", "threads")
"""Fields that differ between machines: of a signature, and of the embedder and the classifier in it."""


class Signature(BaseModel):
    """The recipe of a run. `str()` is its short form, in the manner of sacrebleu's, without default options.

    metrics, judgements   name -> version
    prompts               "judgement/language" -> sha256 of the prompt file
    judge                 name, sha256 and size of the model file
    embedder, classifier  what they are, if a metric needed one
    engine                the engine's settings, threads as resolved
    options               what the caller chose about the judging
    calibration           language -> the curve that the probabilities of `support` went through, if any
    heads                 language -> sha256 of the head that decided by reading, if any
    packages              package -> version
    """

    model_config = ConfigDict(frozen=True)

    localeval: str
    metrics: dict[str, str]
    judgements: dict[str, str]
    prompts: dict[str, str]
    judge: dict[str, Any]
    embedder: dict[str, Any] = {}
    classifier: dict[str, Any] = {}
    engine: dict[str, Any]
    options: dict[str, Any]
    calibration: dict[str, Any] = {}
    heads: dict[str, str] = {}
    packages: dict[str, str]
    machine: str

    @property
    def threshold(self) -> float:
        """The probability from which a verdict counted as yes."""
        return float(self.options.get("threshold", 0.5))

    @property
    def raw(self) -> bool:
        """Whether a score stands on the judge's raw probabilities of support, for want of a calibration."""
        return "support" in self.judgements and self.options["support_by"] == "llm" and not self.calibration

    def __str__(self) -> str:
        metrics = ",".join(f"{name}.{number}" for name, number in self.metrics.items())
        prompts = digest(self.prompts)[:8]
        # What is as this version has it by itself is not said: the version stands at the end.
        chosen = [f"{k}={v}" for k, v in self.options.items() if v != getattr(DEFAULTS, k, None)]
        beside = [
            f"{what}:{model['name']}@{model['sha256'][:8]}"
            for what, model in (("embedder", self.embedder), ("classifier", self.classifier))
            if model
        ]
        line = "|".join(
            (
                metrics,
                f"judge:{self.judge['name']}@{self.judge['sha256'][:8]}",
                *beside,
                f"prompts:{prompts}",
                *([f"calibration:{digest(self.calibration)[:8]}"] if self.calibration else []),
                *([f"head:{digest(self.heads)[:8]}"] if self.heads else []),
                *([",".join(chosen)] if chosen else []),
                f"ctx:{self.engine['n_ctx']}",
                f"threads:{self.engine['n_threads']}",
                f"llama:{self.packages['llama-cpp-python']}",
                f"localeval:{self.localeval}",
            )
        )
        return printable(line)


def differing(a: Signature, b: Signature) -> tuple[list[str], list[str]]:
    """(fields that move numbers, surroundings) in which the signatures differ, each with both values.

    What only one run used (a metric, a prompt, an embedder) has no part in what can be compared.
    """
    moving: list[str] = []
    surroundings: list[str] = []
    first, second = _fields(a), _fields(b)
    for field in first:
        if field in second and first[field] != second[field]:
            line = f"{field} ({_short(first[field])} and {_short(second[field])})"
            (surroundings if _is_surrounding(field) else moving).append(line)
    return moving, surroundings


def digest(value: Any) -> str:
    """sha256 of a JSON value, the same whatever the order of its keys.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    True
    """
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def check_told(model: Any, what: str) -> None:
    """Raises InputError where the caller's own embedder or classifier does not tell what it is."""
    ask = getattr(model, "signature", None)
    told: Any = ask() if callable(ask) else None
    named = isinstance(told, dict) and all(isinstance(told.get(name), str) for name in ("name", "sha256"))
    if not named or not _is_json(told):
        raise InputError(
            f"the {what} is a {type(model).__name__} whose signature() is {said(repr(told), 80)}; it has to "
            "give a dict of JSON values with the texts name and sha256."
        )


def _is_json(value: Any) -> bool:
    try:
        digest(value)
    except (TypeError, ValueError):
        return False
    return True


def package_versions() -> dict[str, str]:
    return {name: _version(name) for name in DECIDING}


def machine() -> str:
    """The type of processor: bits are promised for one build, CPU type and thread count."""
    return f"{platform.system()} {platform.machine()}"


def own_version() -> str:
    return _version("localeval")


@lru_cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _fields(signature: Signature) -> dict[str, Any]:
    """The signature as "judge.sha256" -> value. A model's name says nothing beside its sha256."""
    fields: dict[str, Any] = {}
    for name, value in signature.model_dump(mode="json").items():
        # A calibration moves numbers also where only one run has it.
        if not isinstance(value, dict) or name in ("calibration", "heads"):
            fields[name] = value
            continue
        for part, inner in value.items():
            if name not in ("judge", "embedder", "classifier") or part in ("sha256", *_BESIDE):
                fields[f"{name}.{part}"] = inner
    return fields


def _is_surrounding(field: str) -> bool:
    name, _, part = field.partition(".")
    beside = name in ("embedder", "classifier") and part in _BESIDE
    return beside or field in _SURROUNDINGS or name in _SURROUNDINGS


def _short(value: Any) -> str:
    """A hash by its first 8 signs, as in a printed signature; anything else as JSON has it, cut."""
    text = str(value)
    is_hash = len(text) == 64 and set(text) <= set("0123456789abcdef")
    return text[:8] if is_hash else said(text, 60)
