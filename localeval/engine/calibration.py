"""The machine's speed with a model, measured once and remembered in the user's cache folder."""

from __future__ import annotations

import json
import logging
import math
import os
from pathlib import Path
from typing import Any

from localeval.engine.build import made_with
from localeval.engine.interface import EngineSettings
from localeval.engine.price import Speed
from localeval.system.versions import digest

BEHIND = 1500
"""Tokens that stand before a row on the way: a trunk of worked examples and half a branch."""

LOG = logging.getLogger("localeval")


def remembered(model: str, settings: EngineSettings) -> Speed | None:
    """The speed that was measured with this model file (its sha256) and settings on this machine.

    None where there is none, where it was measured with another llama-cpp-python or on another processor,
    and where the file that holds it is damaged.
    """
    made_with = _made_with(model, settings)
    try:
        kept = json.loads(_file(made_with).read_text(encoding="utf-8"))
        speed = Speed(**kept["seconds_a_row"])
        whole = kept["made_with"] == made_with and kept["check"] == digest(kept["seconds_a_row"])
        return speed if whole and all(math.isfinite(s) and s > 0 for s in speed) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def measured(path: Path, model: str, settings: EngineSettings) -> Speed:
    """Measure the speed, with some 3 800 rows, and remember it.

    Raises ModelBroken or InputError where the model can't be loaded.
    """
    from localeval.engine.speed import measure  # heavy: llama.cpp

    LOG.warning("measuring how fast this machine is with %s, once; this takes about a minute.", path.name)
    speed = measure(path, settings, BEHIND)
    _keep(speed, _made_with(model, settings))
    return speed


def _keep(speed: Speed, made_with: dict[str, Any]) -> None:
    file = _file(made_with)
    kept = {"made_with": made_with, "seconds_a_row": speed._asdict(), "check": digest(speed._asdict())}
    beside = file.with_suffix(f".{os.getpid()}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        beside.replace(file)
    except OSError as error:
        LOG.warning("%s: the speed can't be remembered there (%s).", file, error.strerror)


def _made_with(model: str, settings: EngineSettings) -> dict[str, Any]:
    """All that a speed depends on."""
    return {**made_with(model, settings), "behind": BEHIND}


def _file(made_with: dict[str, Any]) -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("localeval") / "speed" / f"{digest(made_with)[:16]}.json"
