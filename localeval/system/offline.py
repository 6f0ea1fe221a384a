"""No network in this process: every outgoing connection and every look-up of a name is refused and counted.

The guard is an audit hook of Python itself. It sits below `socket`, so it sees what any library does with
Python's sockets, in any thread, and nothing can take it out again. What C code does with sockets of its own
it does not see; `scripts/prove network` watches the system calls of a whole run for that.
"""

from __future__ import annotations

import os
import sys
import threading
from _socket import AF_UNIX
from typing import Any

from localeval.errors import NetworkRefused
from localeval.text.display import shorten

# What libraries read at their import, so that they do not even try.
SWITCHES = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
}
_TO_ADDRESS = {"socket.connect", "socket.sendto", "socket.sendmsg"}
_LOOK_UPS = {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"}


class _Guard:
    """The audit hook, of which a process has one; from the first `offline` on it is shut."""

    def __init__(self) -> None:
        self.shut = self.hooked = False
        self.refused = 0
        self._lock = threading.Lock()

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Refuse what would leave the process; without an address `sendmsg` goes where it is connected."""
        if not self.shut:
            return
        if event in _LOOK_UPS:
            what = f"look-up of {_shown(arguments[0])}"
        elif event in _TO_ADDRESS and arguments[1] is not None and arguments[0].family != AF_UNIX:
            what = f"{event.rpartition('.')[2]} to {_shown(arguments[1])}"
        else:
            return
        with self._lock:
            self.refused += 1
        raise NetworkRefused(
            f"{what} was refused: localeval uses no network here; only its `models fetch` and `pack` do."
        )


def _shown(address: Any) -> str:
    """Turn an address or a name into text that fits a message."""
    parts = address[:2] if isinstance(address, tuple) else (address,)
    return shorten(":".join(p.decode(errors="replace") if isinstance(p, bytes) else str(p) for p in parts))


_GUARD = _Guard()


def offline() -> None:
    """Refuse, from now on and for as long as the process lives, all outgoing network in it.

    Connections, datagrams and look-ups of names raise `NetworkRefused` (an `OSError`, so that a library which
    can do without network does), to the machine's own address too; sockets of the AF_UNIX family, and so
    socketpairs and event loops, work on. Connections that are open already stay open, and a program that is
    started from here is not held. The hub's offline switches are set for what is imported later.
    The command line does this in every command but `models fetch` and `pack`.

    >>> offline()                                                             # doctest: +SKIP
    >>> urllib.request.urlopen("http://example.org")                          # doctest: +SKIP
    URLError: <urlopen error look-up of example.org was refused: ...>
    """
    set_switches()
    if not _GUARD.hooked:
        sys.addaudithook(_GUARD.hear)
    _GUARD.hooked = _GUARD.shut = True


def set_switches() -> None:
    """Set the offline switches of the libraries, for this process and the programs that it starts."""
    os.environ.update(SWITCHES)


def is_offline() -> bool:
    """Tell whether the guard stands in this process."""
    return _GUARD.shut


def attempts() -> int:
    """Count how often something in this process tried to use the network and was refused."""
    return _GUARD.refused
