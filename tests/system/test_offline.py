"""The network guard: what it refuses, counts and lets through, and where the command line sets it."""

import _socket
import asyncio
import os
import re
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import click
import pytest

import localeval
from localeval import NetworkRefused
from localeval.cli import commands, main
from localeval.system.offline import SWITCHES, attempts, is_offline


@pytest.fixture
def listener() -> Iterator[int]:
    """The port of a socket of this machine that would take any connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield int(server.getsockname()[1])


def connect(port: int, host: str = "127.0.0.1", family: int = socket.AF_INET, call: str = "connect") -> None:
    with closing(_socket.socket(family, _socket.SOCK_STREAM)) as below:
        getattr(below, call)((host, port))


def datagram(call: str, *arguments: object) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as sender:
        getattr(sender, call)(*arguments)


WAYS_OUT: dict[str, Callable[[int], object]] = {
    "connect": connect,
    "connect_ex": lambda port: connect(port, call="connect_ex"),
    "IPv6": lambda port: connect(port, "::1", socket.AF_INET6),
    "sendto": lambda port: datagram("sendto", b"x", ("127.0.0.1", port)),
    "sendmsg": lambda port: datagram("sendmsg", [b"x"], [], 0, ("127.0.0.1", port)),
    "asyncio": lambda port: asyncio.run(asyncio.open_connection("127.0.0.1", port)),
    "getaddrinfo": lambda port: socket.getaddrinfo("localhost", port),
    "gethostbyname": lambda port: socket.gethostbyname("localhost"),
    "gethostbyaddr": lambda port: socket.gethostbyaddr("127.0.0.1"),
    "getnameinfo": lambda port: socket.getnameinfo(("127.0.0.1", port), 0),
}


@pytest.mark.parametrize("way", WAYS_OUT.values(), ids=WAYS_OUT)
def test_every_way_out_is_refused_and_counted(way: Callable[[int], object], listener: int) -> None:
    """To the machine itself, too."""
    localeval.offline()
    before = attempts()
    with pytest.raises(NetworkRefused, match="was refused"):
        way(listener)
    assert attempts() == before + 1


@pytest.mark.parametrize(
    ("family", "host"),
    [
        (socket.AF_INET, "0.0.0.0"),  # noqa: S104
        (socket.AF_INET, ""),
        (socket.AF_INET, "192.0.2.1"),
        (socket.AF_INET6, "::"),
    ],
    ids=["all addresses", "no address", "one address", "all of IPv6"],
)
def test_listening_where_others_could_connect_is_refused_and_counted(
    family: socket.AddressFamily, host: str
) -> None:
    localeval.offline()
    before = attempts()
    with socket.socket(family) as server, pytest.raises(NetworkRefused, match="listening at"):
        server.bind((host, 0))
    assert attempts() == before + 1


def test_a_socket_that_only_this_machine_can_reach_may_listen() -> None:
    localeval.offline()
    before = attempts()
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
    assert attempts() == before


def test_sockets_of_the_file_system_work_on(tmp_path: Path) -> None:
    localeval.offline()
    before = attempts()
    if sys.platform == "win32":
        pytest.skip("Windows has no such sockets in Python")
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(str(tmp_path / "s"))
        server.listen()
        client.connect(str(tmp_path / "s"))
        client.sendmsg([b"hello"])
    assert attempts() == before


def test_event_loops_work_on() -> None:
    localeval.offline()
    before = attempts()
    assert asyncio.run(asyncio.sleep(0, "done")) == "done"
    assert attempts() == before


@pytest.mark.parametrize(
    ("words", "shut"),
    [("evaluate none.jsonl", True), ("models fetch none", False)],
    ids=["evaluate", "fetch"],
)
def test_only_fetch_has_no_guard(words: str, shut: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The switches of other libraries are set by every command."""
    for name in SWITCHES:
        monkeypatch.setenv(name, "0")
    with pytest.raises(SystemExit):
        main(words.split())
    assert is_offline() is shut
    assert {os.environ[name] for name in SWITCHES} == {"1"}


def test_the_command_line_counts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    phone = click.Command("phone", callback=partial(urlopen, "http://127.0.0.1:9"))
    monkeypatch.setitem(commands.commands, "phone", phone)
    with pytest.raises(URLError):
        main(["phone"])
    assert capsys.readouterr().err == "localeval: something tried to use the network; refused: 1 attempts\n"


def test_no_module_imports_a_pickle_and_only_one_opens_one_with_weights_only() -> None:
    pickles = r"(?:pickle|cPickle|_pickle|dill|cloudpickle|joblib|shelve|marshal|diskcache)\b"
    runs = r"(?<![.\w])(?:eval|exec|compile)\(|\bnp\.load\(|read_pickle|Llama(?:Disk|RAM)Cache|\.set_cache\("
    calls = []
    for path in Path(localeval.__file__).parent.rglob("*.py"):
        code = path.read_text(encoding="utf-8")
        assert not re.search(rf"^\s*(?:import|from) {pickles}|{runs}", code, re.MULTILINE), path
        assert not re.search(r"trust_remote_code\W+True|use_safetensors\W+False", code), path
        calls += [(path.name, call) for call in re.findall(r"torch\.load\([^)]*\)", code)]
    ((name, call),) = calls
    assert (name, "weights_only=True" in call) == ("conversion.py", True)
