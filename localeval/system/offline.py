"""Refuse the network in this process: every outgoing connection and every name lookup, and count them.

The guard is an audit hook of Python itself. It sits below `socket`, so it sees what any library does with
Python's sockets, in any thread, and nothing can remove it. It does not see sockets that C code opens itself;
for those `scripts/prove network` watches the system calls of a whole run.
"""

from __future__ import annotations

import os
import sys
import threading
from _socket import AF_UNIX
from typing import Any

from localeval.errors import NetworkRefused
from localeval.text.display import shorten

# Libraries read these at their import, and then do not even try.
SWITCHES = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
}
_OUTGOING = {"socket.connect", "socket.sendto", "socket.sendmsg"}
_LOOKUPS = {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"}


class _Guard:
    """The audit hook, one per process; from the first call of `offline` on it is shut."""

    def __init__(self) -> None:
        self.shut = self.hooked = False
        self.refused = 0
        self._lock = threading.Lock()

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Refuse what would leave the process; `sendmsg` without an address uses a connection made before."""
        if not self.shut:
            return
        if event in _LOOKUPS:
            action = f"look-up of {_format_address(arguments[0])}"
        elif event in _OUTGOING and arguments[1] is not None and arguments[0].family != AF_UNIX:
            action = f"{event.rpartition('.')[2]} to {_format_address(arguments[1])}"
        else:
            return
        with self._lock:
            self.refused += 1
        raise NetworkRefused(
            f"{action} was refused: localeval uses no network here; only its `models fetch` and `pack` do."
        )


def _format_address(address: Any) -> str:
    parts = address[:2] if isinstance(address, tuple) else (address,)
    return shorten(":".join(p.decode(errors="replace") if isinstance(p, bytes) else str(p) for p in parts))


_GUARD = _Guard()


def offline() -> None:
    """Refuse all outgoing network in this process, from now on and for as long as it lives.

    Connections, datagrams and name lookups raise `NetworkRefused` (an `OSError`, so that a library that can
    do without network does), also to the machine's own address; AF_UNIX sockets, and so socketpairs and event
    loops, go on working. Connections that are already open stay open, and programs that this process starts
    are not guarded. The hub's offline switches are set for what is imported later.
    The command line does this in every command but `models fetch` and `pack`.

    >>> offline()                                                             # doctest: +SKIP
    >>> urllib.request.urlopen("http://example.org")                          # doctest: +SKIP
    URLError: <urlopen error look-up of example.org was refused: ...>
    """
    set_switches()
    if not _GUARD.hooked:
        sys.addaudithook(_GUARD.audit)
    _GUARD.hooked = _GUARD.shut = True


def set_switches() -> None:
    """Set the libraries' offline switches, for this process and the programs that it starts."""
    os.environ.update(SWITCHES)


def is_offline() -> bool:
    """Return whether the guard is active in this process."""
    return _GUARD.shut


def attempts() -> int:
    """Return how many attempts to use the network were refused in this process."""
    return _GUARD.refused
