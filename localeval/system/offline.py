"""Refuse the network in this process: connections, name lookups, and sockets that others could reach.

The guard is an audit hook of Python itself, which can't be removed. It sits below `socket`, so it sees what
any library does with Python's sockets, in any thread. It is no wall against code that means to get out: code
in this process can open it by its own switch; a name given to a bare socket is looked up before the hook
sees it; and it does not see sockets that C code opens, also through `ctypes`, nor programs that this process
starts. For those `scripts/prove network` watches the system calls of a whole run.
"""

from __future__ import annotations

import _socket
import ipaddress
import os
import sys
import threading
from _socket import AF_INET, AF_INET6
from types import FrameType
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
# The families of sockets that leave no machine: Unix sockets, where the system has them.
_LOCAL_FAMILIES = {getattr(_socket, "AF_UNIX", None)}
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
        elif event == "socket.bind" and _is_reachable(arguments[0].family, arguments[1]):
            action = f"listening at {_format_address(arguments[1])}"
        elif event in _OUTGOING and arguments[1] is not None:
            # The hook's caller is what connects.
            if arguments[0].family in _LOCAL_FAMILIES or _makes_pair(sys._getframe(1), arguments[1]):
                return
            action = f"{event.rpartition('.')[2]} to {_format_address(arguments[1])}"
        else:
            return
        with self._lock:
            self.refused += 1
        raise NetworkRefused(
            f"{action} was refused: localeval uses no network here; only its `models fetch` and `pack` do."
        )


def _is_reachable(family: int, address: Any) -> bool:
    """Report whether another machine could reach a socket at `address`.

    >>> [_is_reachable(AF_INET, (host, 80)) for host in ("127.0.0.1", "localhost", "127.net", "0.0.0.0", "")]
    [False, False, True, True, True]
    """
    if family not in (AF_INET, AF_INET6) or not isinstance(address, tuple):
        return False
    host = address[0].decode(errors="replace") if isinstance(address[0], bytes) else str(address[0])
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host != "localhost"


def _makes_pair(caller: FrameType, address: Any) -> bool:
    """Report whether Python's own `socketpair` connects two sockets of this process with each other.

    It does so over the loopback where the system makes no pairs, as on Windows, and every event loop needs a
    pair. Nothing else of this process may connect to the machine itself.
    """
    module = sys.modules.get("socket")
    makers = (getattr(module, name, None) for name in ("socketpair", "_fallback_socketpair"))
    codes = [getattr(maker, "__code__", None) for maker in makers]
    return caller.f_code in codes and isinstance(address, tuple) and address[0] in ("127.0.0.1", "::1")


def _format_address(address: Any) -> str:
    parts = address[:2] if isinstance(address, tuple) else (address,)
    return shorten(":".join(p.decode(errors="replace") if isinstance(p, bytes) else str(p) for p in parts))


_GUARD = _Guard()


def offline() -> None:
    """Refuse the network in this process, from now on and for as long as it lives.

    Connections, datagrams and name lookups raise `NetworkRefused` (an `OSError`, so that a library that can
    do without network does), also to the machine's own address; so does binding a socket to an address that
    others can reach. AF_UNIX sockets, socketpairs and event loops
    go on working. Connections that are already open stay open, and programs that this process starts
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
