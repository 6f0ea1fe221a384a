"""Try the chat template of a model in a child process, which runs this module.

A template is a program that comes with the file: it can loop for ever, or fill the memory. Where a model is
to be loaded, `engine.probe` tries its template with all else of it; here only the text is at hand.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from functools import lru_cache

from localeval.engine.chat_template import check_reply, render_pieces
from localeval.system import subprocesses
from localeval.system.offline import SWITCHES, offline
from localeval.text.display import shorten

# A usual template takes a few milliseconds. The processor's time is limited, as other processes may be busy;
# the limit by the clock is for systems without the other one, and for a template that waits.
CPU_SECONDS = 3
SECONDS = 30
_ADDRESS_SPACE = 2 << 30
TOO_LONG = "its chat template does not come to an end"


@lru_cache(maxsize=256)  # many models have the same template
def fault_of_template(source: str, bos: str, eos: str) -> str:
    """Say why a judge can't use a chat template, in a few words; empty if it can."""
    try:
        child = subprocess.run(  # noqa: S603 (this Python; the template is data on its stdin)
            subprocesses.module("localeval.engine.template_probe"),
            input=json.dumps([source, bos, eos]),
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=SECONDS,
            check=False,
            env=subprocesses.environment(**SWITCHES, PYTHONIOENCODING="utf-8"),
        )
    except subprocess.TimeoutExpired:
        return TOO_LONG
    except OSError as error:
        return f"no process can be started to try its chat template in ({error.strerror})"
    if child.returncode or not child.stdout:
        return TOO_LONG
    fault: str = json.loads(child.stdout.splitlines()[-1])
    return fault


def describe_fault(source: str, bos: str, eos: str) -> str:
    """Render the template in this process, and say why a judge can't use it; empty if it can.

    >>> describe_fault("{% if %}", "", "")[:32]
    "its chat template can't be used:"
    """
    try:
        pieces = render_pieces(source, 1, bos, eos)
        check_reply(*pieces[2:])
    except Exception as error:  # noqa: BLE001 (a template comes with the file and can raise anything)
        return f"its chat template can't be used: {shorten(error, 100) or type(error).__name__}"
    return ""


def _limit() -> None:
    """Limit time and memory of this process, where the system has such limits."""
    if sys.platform == "win32":
        return
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # On macOS the address space can't be limited.
    for kind, limit in ((resource.RLIMIT_CPU, CPU_SECONDS), (resource.RLIMIT_AS, _ADDRESS_SPACE)):
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(kind, (limit, limit))


def main() -> None:
    """Read a template with its marks from stdin, and print its fault, or ""."""
    offline()
    source, bos, eos = json.load(sys.stdin)
    _limit()
    print(json.dumps(describe_fault(source, bos, eos)), flush=True)


if __name__ == "__main__":
    main()
