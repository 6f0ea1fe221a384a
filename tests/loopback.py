"""What the tests of the model files share: a hub on the loopback address, small wheels, a small catalog."""

import hashlib
import json
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from localeval.models import catalog, fetch

BYTES = b"GGUF\3\0\0\0" + (bytes(range(256)) * 8)[4:]
SHA256 = hashlib.sha256(BYTES).hexdigest()
FILE = "tiny.gguf"
HUB = '{ hub = "org/tiny", revision = "abc" }'


@dataclass
class Hub:
    """A hub's behaviour, and the Range header of each request."""

    url: str
    files: dict[str, bytes] = field(default_factory=dict)
    cuts: list[int] = field(default_factory=list)  # answer number i ends before byte cuts[i] of the file
    ranges: bool = True
    failures: list[tuple[int, str]] = field(default_factory=list)  # the first answers
    asked: list[str | None] = field(default_factory=list)


@contextmanager
def loopback_hub(**files: bytes) -> Iterator[Hub]:
    """Serve files of `org/tiny` by name (`__` for the dot) until the block ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    hub = Hub(f"http://127.0.0.1:{server.server_port}")
    hub.files = {f"/org/tiny/resolve/abc/{name.replace('__', '.')}": body for name, body in files.items()}
    server.hub = hub  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        hub: Hub = self.server.hub  # type: ignore[attr-defined]
        wanted = self.headers.get("Range")
        hub.asked.append(wanted)
        if hub.failures:
            return self._answer(*hub.failures.pop(0))
        content = hub.files.get(self.path)
        if content is None:
            return self._answer(404, "Not Found")
        begin = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and hub.ranges else 0
        if begin >= len(content):
            return self._answer(416, "Range Not Satisfiable", place=f"bytes */{len(content)}")
        place = f"bytes {begin}-{len(content) - 1}/{len(content)}" if begin else ""
        self._answer(206 if begin else 200, "OK", len(content) - begin, place)
        self.wfile.write(content[begin : hub.cuts.pop(0) if hub.cuts else None])
        return None

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass

    def _answer(self, status: int, reason: str, length: int = 0, place: str = "") -> None:
        self.send_response(status, reason)
        self.send_header("Content-Length", str(length))
        if place:
            self.send_header("Content-Range", place)
        self.end_headers()


def write_wheel(folder: Path, distribution: str, members: dict[str, bytes], version: str = "1.0") -> Path:
    """A wheel that pip takes, with these members."""
    folder.mkdir(parents=True, exist_ok=True)
    name = distribution.replace("-", "_")
    info = f"{name}-{version}.dist-info"
    path = folder / f"{name}-{version}-py3-none-any.whl"
    about = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n".encode()
    tags = b"Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    facts = {f"{info}/METADATA": about, f"{info}/WHEEL": tags, f"{info}/RECORD": b""}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for member, content in (members | facts).items():
            wheel.writestr(member, content)
    return path


def toml_row(name: str, *sources: str, kind: str = "judge", files: str | None = None) -> str:
    """One table of a catalog; `files` is TOML, by default the pinned FILE."""
    pinned = f'{{ name = "{FILE}", size = {len(BYTES)}, sha256 = "{SHA256}" }}'
    return (
        f'[[model]]\nname = {json.dumps(name)}\nkind = "{kind}"\nlicence = "MIT"\nlanguages = ["en"]\n'
        f'ram_gb = 0.1\nnote = ""\nfiles = [{files or pinned}]\nsources = [{", ".join(sources)}]\n'
    )


def move_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *rows: str) -> Path:
    """Use these rows as catalog, and a models folder and cache under `tmp_path`; returns that folder."""
    path = tmp_path / "catalog.toml"
    path.write_text("\n".join(rows), encoding="utf-8")
    catalog.read_catalog.cache_clear()
    monkeypatch.setattr(catalog, "catalog_path", lambda: path)
    monkeypatch.setenv("LOCALEVAL_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(fetch, "PAUSE_S", 0.0)
    monkeypatch.delenv("LOCALEVAL_HUB", raising=False)
    return tmp_path / "models"
