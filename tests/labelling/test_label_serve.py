"""`label --serve`: a page for this machine alone, whose labels are in the file at once."""

import http.client
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from localeval.labels.file import read_labels
from tests.labelling.runs import mills_in


class Served:
    """The command in a process of its own, and requests to it."""

    def __init__(self, run: Path, labels: Path) -> None:
        self.labels = labels
        command = [sys.executable, "-m", "localeval", "label", str(run), "-o", str(labels), "--serve"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdout=pipe, stderr=pipe, encoding="utf-8")
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        self.address = urlsplit(self.url)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.address.port or 0, timeout=60)
        text = json.dumps(body) if body is not None else None
        usual = {"Content-Type": "application/json"} if body is not None else {}
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, text, {**usual, **given})
        answer = connection.getresponse()
        content = answer.read().decode()
        connection.close()
        return answer.status, content

    def label(self, row_id: str, value: Any, **more: Any) -> int:
        body = {"id": row_id, "label": value, "note": "", "by": "Ann", "is_labelled": True, **more}
        return self.ask("POST", f"{self.address.path}label", body)[0]

    def end(self) -> str:
        """Stop it as Ctrl-C does, and return what it said."""
        self.process.send_signal(signal.SIGINT)
        _, said = self.process.communicate(timeout=60)
        return said


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    served = Served(mills_in(tmp_path / "run", 2), tmp_path / "labels.jsonl")
    yield served
    if served.process.poll() is None:
        said = served.end()
        assert served.process.returncode == 0
        # The guard against the network was shut, and nothing tried to go out.
        assert "refused" not in said


def test_a_label_is_in_the_file_when_the_request_is_answered(served: Served) -> None:
    assert served.label("mill-0", 1) == 204
    assert served.label("mill-1", None, note="no year") == 204
    assert served.label("mill-0", 0) == 204
    labels = read_labels(served.labels).labels
    assert {label.sample.id: (label.value, label.note, label.by) for label in labels} == {
        "mill-0": (0.0, "", "Ann"),
        "mill-1": (None, "no year", "Ann"),
    }
    assert served.label("mill-1", None, is_labelled=False) == 204
    assert [label.sample.id for label in read_labels(served.labels).labels] == ["mill-0"]
    assert '"mill-0":{"label":0' in served.ask("GET", served.address.path)[1]


def test_the_page_may_talk_to_this_program_alone(served: Served) -> None:
    status, page = served.ask("GET", served.address.path)
    assert status == 200
    assert "connect-src 'self';" in page
    assert "default-src 'none'" in page


def test_only_this_machine_can_reach_it(served: Served) -> None:
    assert served.address.hostname == "127.0.0.1"
    others = {str(info[4][0]) for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in others - {"127.0.0.1"}:
        if not address.startswith("127."):
            with (
                pytest.raises(ConnectionRefusedError),
                socket.create_connection((address, served.address.port), timeout=5),
            ):
                pass


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/", {}),
        ("/wrong-token/", {}),
        ("", {"Host": "evil.example"}),
        ("", {"Origin": "https://evil.example"}),
        ("../", {}),
    ],
    ids=["no token", "another token", "another host", "another origin", "above"],
)
def test_who_does_not_know_the_address_is_told_nothing(
    served: Served, path: str, headers: dict[str, str]
) -> None:
    asked = path if path.startswith("/") else served.address.path + path
    assert served.ask("GET", asked, **headers) == (404, "not found")
    assert served.ask("POST", f"{asked}label", {"id": "mill-0"}, **headers)[0] == 404


@pytest.mark.parametrize(
    "body",
    [
        [],
        {"id": "mill-0"},
        {"id": "other", "label": 1, "note": "", "by": "", "is_labelled": True},
        {"id": ["mill-0"], "label": 1, "note": "", "by": "", "is_labelled": True},
        {"id": "mill-0", "label": 2, "note": "", "by": "", "is_labelled": True},
        {"id": "mill-0", "label": True, "note": "", "by": "", "is_labelled": True},
        {"id": "mill-0", "label": 1, "note": "x" * 200_000, "by": "", "is_labelled": True},
    ],
    ids=["list", "no label", "another row", "list as id", "2", "true", "too long"],
)
def test_what_is_no_label_is_refused(served: Served, body: Any) -> None:
    assert served.ask("POST", f"{served.address.path}label", body)[0] == 400
    assert not served.labels.exists()


def test_a_form_of_another_page_is_refused(served: Served) -> None:
    row = {"id": "mill-0", "label": 1, "note": "", "by": "", "is_labelled": True}
    assert served.ask("POST", f"{served.address.path}label", row, Content_Type="text/plain")[0] == 400


def test_a_label_that_cannot_be_saved_is_told_to_the_page(served: Served) -> None:
    assert served.label("mill-0", 1) == 204
    served.labels.write_text("of another program\n")
    body = {"id": "mill-1", "label": 1, "note": "", "by": "", "is_labelled": True}
    status, text = served.ask("POST", f"{served.address.path}label", body)
    assert status == 500
    assert "another program wrote this file" in text


def test_the_end_says_how_many_labels_are_there(served: Served) -> None:
    served.label("mill-0", 1)
    assert f"labels: {served.labels} (1 of 2)" in served.end()
