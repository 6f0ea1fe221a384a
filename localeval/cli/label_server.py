"""`label --serve`: show the page of labels to a browser on this machine, and save each label in the file.

The server listens on 127.0.0.1 alone. The guard of `system/offline.py` lets that pass, as no other machine
can reach it, and still refuses all that would go out. A long random token in the address keeps out other
users and other pages; a request that names another host, as by a name that leads here, is refused.
"""

from __future__ import annotations

import hmac
import json
import secrets
import sys
import threading
from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any

import click

from localeval.analysis.labelling.page import label_page
from localeval.analysis.labelling.session import LabelSession
from localeval.errors import InputError
from localeval.labels.store import LabelStore
from localeval.system.terminal import say

HOST = "127.0.0.1"
MAX_BODY = 100_000  # bytes of one label
MAX_NOTE = 2_000  # characters
SECONDS = 30.0  # for a request


class LabelServer(ThreadingTCPServer):
    """Serves one page, at an address with a token that only this program knows."""

    # The socketserver's own; the http.server's would look up a name.
    daemon_threads = True
    block_on_close = False

    def __init__(self, session: LabelSession, saved_in: str) -> None:
        self.session = session
        self.saved_in = saved_in
        self.token = secrets.token_urlsafe(24)
        self.saving = threading.Lock()
        super().__init__((HOST, 0), _Handler)

    @property
    def host(self) -> str:
        return f"{HOST}:{self.server_address[1]}"

    @property
    def url(self) -> str:
        return f"http://{self.host}/{self.token}/"

    def page(self) -> str:
        """Return the page with the labels that the file has now."""
        with self.saving:
            options = replace(self.session.options, known=dict(self.session.labels), saved_in=self.saved_in)
            return "".join(label_page(self.session.draw, options))

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a browser that went away; a label that was not answered is sent again."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)

    def save(self, label: Mapping[str, Any]) -> None:
        """Save a label as the page sends it. Raises ValueError for anything else, and InputError."""
        row_id, value, note, by = (label.get(name) for name in ("id", "label", "note", "by"))
        if row_id not in self.session.draw.items or not isinstance(note, str) or not isinstance(by, str):
            raise ValueError("no label of this page")
        if label.get("is_labelled") is not True:
            with self.saving:
                self.session.restore(row_id, None)
            return
        if value is not None and (type(value) not in (int, float) or not 0 <= value <= 1):
            raise ValueError("no label")
        with self.saving:
            self.session.give(row_id, value, note[:MAX_NOTE], by[:MAX_NOTE])


class _Handler(BaseHTTPRequestHandler):
    server: LabelServer
    timeout = SECONDS

    def do_GET(self) -> None:
        if not self._asks_for(""):
            self._answer(HTTPStatus.NOT_FOUND, "not found")
            return
        self._answer(HTTPStatus.OK, self.server.page(), "text/html")

    def do_POST(self) -> None:
        if not self._asks_for("label"):
            self._answer(HTTPStatus.NOT_FOUND, "not found")
            return
        try:
            self.server.save(self._read_label())
        except InputError as error:
            self._answer(HTTPStatus.INTERNAL_SERVER_ERROR, str(error))
        except (ValueError, TypeError, RecursionError):
            self._answer(HTTPStatus.BAD_REQUEST, "no label of this page")
        else:
            self._answer(HTTPStatus.NO_CONTENT, "")

    def _asks_for(self, name: str) -> bool:
        """Report whether the request is for this name below the token, by this host, from no other page."""
        path = f"/{self.server.token}/{name}"
        has_token = hmac.compare_digest(self.path.encode("utf-8", "replace"), path.encode())
        is_own_host = self.headers.get("Host") == self.server.host
        return (
            has_token and is_own_host and self.headers.get("Origin") in (None, f"http://{self.server.host}")
        )

    def _read_label(self) -> Mapping[str, Any]:
        length = int(self.headers.get("Content-Length", "0"))
        is_json = self.headers.get("Content-Type") == "application/json"
        if not is_json or not 0 < length <= MAX_BODY:
            raise ValueError("no label")
        label = json.loads(self.rfile.read(length))
        if not isinstance(label, dict):
            raise ValueError("no label")
        return label

    def _answer(self, status: HTTPStatus, text: str, kind: str = "text/plain") -> None:
        body = text.encode("utf-8", "replace")
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.end_headers()
        self.wfile.write(body)

    def version_string(self) -> str:
        return "localeval"

    def log_message(self, *_: Any) -> None:
        """Say nothing: the address has the token."""


def serve_page(session: LabelSession, store: LabelStore) -> None:
    """Show the page until Ctrl-C. Raises InputError where this machine lets nothing listen."""
    try:
        server = LabelServer(session, str(store.path))
    except OSError as error:
        raise InputError(
            f"--serve: nothing can listen on {HOST} here ({error.strerror}); leave --serve out, or "
            "make a page."
        ) from error
    with server:
        # From here on Ctrl-C ends it, also before the first request.
        try:
            click.echo(server.url)
            say(
                "Open this address in a browser on this machine; Ctrl-C ends it. Each label is saved at once."
            )
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            say("")
