"""The network guard: what it refuses, counts and lets through, and where the command line sets it."""

from __future__ import annotations

import _socket
import ast
import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import localeval
from localeval.errors import NetworkRefused
from localeval.system.offline import attempts

PACKAGE = Path(localeval.__file__).parent


@pytest.fixture
def listener() -> Iterator[int]:
    """The port of a socket of this machine that would take any connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield int(server.getsockname()[1])


def connect(port: int, host: str = "127.0.0.1", family: int = socket.AF_INET, call: str = "connect") -> None:
    below = _socket.socket(family, _socket.SOCK_STREAM)
    try:
        getattr(below, call)((host, port))
    finally:
        below.close()


def datagram(port: int) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", ("127.0.0.1", port))


def message(port: int) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as sender:
        sender.sendmsg([b"x"], [], 0, ("127.0.0.1", port))


WAYS: list[Callable[[int], object]] = [
    connect,
    lambda port: connect(port, call="connect_ex"),
    lambda port: connect(port, "::1", socket.AF_INET6),
    datagram,
    message,
    lambda port: socket.create_connection(("127.0.0.1", port)),
    lambda port: asyncio.run(asyncio.open_connection("127.0.0.1", port)),
    lambda port: socket.getaddrinfo("localhost", port),
    lambda port: socket.gethostbyname("localhost"),
    lambda port: socket.gethostbyname_ex("localhost"),
    lambda port: socket.gethostbyaddr("127.0.0.1"),
    lambda port: socket.getnameinfo(("127.0.0.1", port), 0),
]


@pytest.mark.parametrize("way", WAYS)
def test_every_way_out_is_refused_and_counted_to_the_machine_itself_too(
    way: Callable[[int], object], listener: int
) -> None:
    localeval.offline()
    before = attempts()
    with pytest.raises(NetworkRefused, match="was refused"):
        way(listener)
    assert attempts() == before + 1


def test_sockets_of_the_file_system_and_event_loops_work_on(tmp_path: Path) -> None:
    localeval.offline()
    before = attempts()
    one, other = socket.socketpair()
    one.sendmsg([b"hello"])
    assert other.recv(5) == b"hello"
    one.close()
    other.close()
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(str(tmp_path / "s"))
        server.listen()
        client.connect(str(tmp_path / "s"))
    assert asyncio.run(asyncio.sleep(0, "done")) == "done"
    assert attempts() == before


TOLD = """
import os, sys
import localeval.cli
from localeval.system.offline import SWITCHES, is_offline
with __import__("contextlib").suppress(SystemExit):
    localeval.cli.main(sys.argv[1:])
print("guard:", is_offline(), "switches:", all(os.environ.get(name) == "1" for name in SWITCHES))
"""


@pytest.mark.parametrize(
    ("arguments", "shut"),
    [
        (("evaluate", "none.jsonl"), True),
        (("models", "fetch", "none"), False),
    ],
)
def test_every_command_but_fetch_has_guard_and_switches(
    arguments: tuple[str, ...], shut: bool, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", TOLD, *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "0", "LOCALEVAL_MODELS": str(tmp_path)},
    )
    assert done.stdout.splitlines()[-1] == f"guard: {shut} switches: True", done.stderr


def test_the_command_line_tells_how_often_it_refused(tmp_path: Path) -> None:
    code = (
        "import urllib.request\nfrom localeval.cli import commands, main\n"
        "@commands.command()\ndef phone():\n urllib.request.urlopen('http://127.0.0.1:9')\n"
        "try:\n main(['phone'])\nexcept urllib.error.URLError:\n pass"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr == "localeval: something tried to use the network; refused: 1 attempts\n"


# Pickles

PICKLES = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "diskcache"}


def test_no_module_imports_a_pickle_and_only_one_opens_one_with_weights_only() -> None:
    opened = []
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {name.split(".")[0] for name in names} & PICKLES, path
        for call in [node for node in ast.walk(tree) if isinstance(node, ast.Call)]:
            name = ast.unparse(call.func)
            assert name not in ("eval", "exec", "compile", "np.load", "numpy.load", "joblib.load"), path
            assert not name.endswith(("read_pickle", "LlamaDiskCache", "LlamaRAMCache", "set_cache")), path
            given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
            assert given.get("trust_remote_code", "False") == "False", path
            assert given.get("use_safetensors", "True") == "True", path
            if name == "torch.load":
                opened.append((path.name, given["weights_only"]))
    assert opened == [("conversion.py", "True")]
