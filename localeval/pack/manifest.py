"""What a pack's manifest holds.

`install.py` checks it again by its own means, as it has only the standard library.
"""

from __future__ import annotations

import json
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class FileFacts(_Frozen):
    """One file of a pack: its bytes, and their sha256."""

    size: int = Field(ge=0)
    sha256: Sha256


class LlamaFacts(_Frozen):
    """The build of llama-cpp-python: its version, and the flags that it was compiled with."""

    version: str
    flags: list[str]


class Manifest(_Frozen):
    """The manifest of a pack.

    localeval_pack   the form of the pack; an installer of another form refuses it
    localeval        the version of localeval
    implementation, python, system, machine   what the wheels depend on
    glibc            the oldest that the compiled wheel runs with
    packed_on        the C library of the packing machine
    cpu              flags in /proc/cpuinfo that the processor needs
    packages         package -> version
    models           names in the catalog
    installed_bytes  of all packages, unpacked
    pip              path of pip's wheel, which installs the others
    files            path in the pack -> its facts
    """

    localeval_pack: int
    localeval: str
    implementation: str
    python: str
    system: str
    machine: str
    glibc: str
    packed_on: str
    cpu: list[str]
    llama: LlamaFacts
    packages: dict[str, str]
    models: list[str]
    installed_bytes: int
    pip: str
    files: dict[str, FileFacts]

    def text(self) -> str:
        return json.dumps(self.model_dump(), indent=1, sort_keys=True)
