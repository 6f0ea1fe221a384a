"""The network guard: what it refuses, counts and lets through, and where the command line sets it."""

from __future__ import annotations

import _socket
import ast
import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import localeval
from localeval.errors import LocalevalError, NetworkRefused
from localeval.system.offline import SWITCHES, attempts, is_offline
from tests.loopback import loopback_hub

PACKAGE = Path(localeval.__file__).parent


@pytest.fixture
def listener() -> Iterator[int]:
    """The port of a socket of this machine that would take any connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield int(server.getsockname()[1])


def raw(port: int) -> None:
    below = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    try:
        below.connect(("127.0.0.1", port))
    finally:
        below.close()


def raw_without_exception(port: int) -> None:
    below = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    try:
        below.connect_ex(("127.0.0.1", port))
    finally:
        below.close()


def six(port: int) -> None:
    with socket.socket(socket.AF_INET6) as six:
        six.connect(("::1", port))


def datagram(port: int) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", ("127.0.0.1", port))


def message(port: int) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as sender:
        sender.sendmsg([b"x"], [], 0, ("127.0.0.1", port))


WAYS: list[Callable[[int], object]] = [
    raw,
    raw_without_exception,
    six,
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
    with pytest.raises(NetworkRefused, match=r"was refused: localeval uses no network here; .*\.$"):
        way(listener)
    assert attempts() == before + 1


def test_without_the_guard_the_same_calls_go_out(listener: int) -> None:
    assert not is_offline()
    socket.create_connection(("127.0.0.1", listener)).close()
    datagram(listener)


def test_a_library_meets_what_it_would_meet_without_network() -> None:
    with loopback_hub(tiny__gguf=b"x") as hub:
        localeval.offline()
        with pytest.raises(urllib.error.URLError, match="refused: localeval uses no network"):
            urllib.request.urlopen(f"{hub.url}/org/tiny/resolve/abc/tiny.gguf", timeout=5)  # noqa: S310
        assert hub.asked == []


def test_the_hubs_own_library_is_refused(tmp_path: Path) -> None:
    code = (
        "import huggingface_hub as hub, huggingface_hub.constants, localeval\n"
        "from localeval.system.offline import attempts\n"
        "localeval.offline()\n"  # after the import: the switches come too late, the guard does not
        "hub.constants.HF_HUB_OFFLINE = False\n"
        "try:\n hub.hf_hub_download('org/tiny', 'x', cache_dir='cache')\n"
        "except Exception as error:\n print(type(error).__name__, attempts())"
    )
    environment = {k: v for k, v in os.environ.items() if k not in SWITCHES}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, env=environment
    )
    assert done.stdout, done.stderr
    assert int(done.stdout.split()[-1]) >= 1


def test_threads_are_held_too_and_every_attempt_of_theirs_is_counted(listener: int) -> None:
    localeval.offline()
    before, refused = attempts(), []

    def try_out() -> None:
        try:
            raw(listener)
        except NetworkRefused as error:
            refused.append(error)

    threads = [threading.Thread(target=try_out) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == attempts() - before == 20


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


def test_a_refusal_is_an_error_of_the_tree_and_one_of_the_systems() -> None:
    assert issubclass(NetworkRefused, LocalevalError)
    assert issubclass(NetworkRefused, OSError)


def test_the_switches_are_set_whatever_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    localeval.offline()
    assert {name: os.environ[name] for name in SWITCHES} == dict.fromkeys(SWITCHES, "1")


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
        (("models", "list"), True),
        (("models", "path", "none"), True),
        (("models", "verify", "none"), True),
        (("evaluate", "none.jsonl"), True),
        (("score", "--response", "x", "--judge", "none"), True),
        (("verify", "none"), True),
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
        "try:\n main(['phone'])\nexcept OSError:\n pass"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr == "localeval: something tried to use the network; refused: 1 attempts\n"


# Pickles

PICKLES = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "diskcache"}


def calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """Each call by its dotted name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            with contextlib.suppress(ValueError):
                yield ast.unparse(node.func), node


def test_no_module_imports_a_pickle_and_only_one_opens_one_with_weights_only() -> None:
    opened = []
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {name.split(".")[0] for name in names} & PICKLES, path
        for name, call in calls(tree):
            assert name not in ("eval", "exec", "compile", "np.load", "numpy.load", "joblib.load"), path
            assert not name.endswith(("read_pickle", "LlamaDiskCache", "LlamaRAMCache", "set_cache")), path
            given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
            assert given.get("trust_remote_code", "False") == "False", path
            assert given.get("use_safetensors", "True") == "True", path
            if name == "torch.load":
                opened.append((path.name, given["weights_only"]))
    assert opened == [("conversion.py", "True")]
