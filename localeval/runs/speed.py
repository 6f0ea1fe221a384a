"""Remember how fast this machine is with a model, for the plan before a run."""

from __future__ import annotations

import json
import logging
import platform
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_cache_path

from localeval.judge import Judge
from localeval.system.files import atomic_write
from localeval.system.versions import digest

if TYPE_CHECKING:
    from localeval.engine.benchmark import Speed

LOG = logging.getLogger("localeval")


def store_speed(judge: Judge, speed: Speed) -> None:
    """Write the speed of a judge's model and settings to the user's cache folder, if the disk allows it."""
    path = speed_file(judge)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, [json.dumps(speed._asdict()) + "\n"])
    except OSError as error:
        LOG.warning("%s: the measured speed can't be kept there (%s).", path, error.strerror)


def load_speed(judge: Judge) -> Speed | None:
    """Return the speed that was measured last; None where it was not measured, or its file is damaged."""
    from localeval.engine.benchmark import Speed  # heavy: llama.cpp

    try:
        fields = json.loads(speed_file(judge).read_bytes())
        seconds = [float(fields[name]) for name in Speed._fields]
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return Speed(*seconds)


def speed_file(judge: Judge) -> Path:
    """Return where the speed of a judge is kept: by machine, model, settings and versions."""
    key = {"machine": [platform.node(), platform.machine()], "engine": judge.record_fingerprint()}
    return user_cache_path("localeval") / "speeds" / f"{digest(key)}.json"
