"""Fetch one file over HTTP(S) into a `.part` file, going on where an earlier try stopped."""

from __future__ import annotations

import errno
import http.client
import os
import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path

from localeval.errors import DownloadFailed, InputError
from localeval.models.catalog import CatalogFile, HubSource
from localeval.text.display import said

TRIES = 3
PAUSE_S = 0.5  # before the second try; doubled for the third
REACH_S = 8  # a machine without network must hear of it within seconds
READ_S = 30
BLOCK = 1 << 18
DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
PASSING = (408, 425, 429, 500, 502, 503, 504)  # answers that another try may change

Report = Callable[[int, int | None], None]  # bytes of this file so far, and in all where known


class HubUnreachable(DownloadFailed):
    """No connection to the hub: its other files need not be tried."""


class _EndedEarlyError(Exception):
    """The body or connection ended early; what came is kept and the next try goes on from there."""


def hub_url(source: HubSource, file: str) -> str:
    """The file's address under `LOCALEVAL_HUB` (or the public hub); InputError if that is no http(s) URL."""
    base = os.environ.get("LOCALEVAL_HUB") or "https://huggingface.co"
    if urllib.parse.urlsplit(base).scheme not in ("http", "https"):
        raise InputError(f"LOCALEVAL_HUB is {base!r}; it must begin with https:// or http://.")
    return f"{base.rstrip('/')}/{source.repo}/resolve/{source.revision}/{urllib.parse.quote(file)}"


def download(url: str, file: CatalogFile, part: Path, report: Report) -> None:
    """Fetch `url` into `part`; DownloadFailed with the server's answer, and `part` stays for the next try."""
    _reach(url)
    answer = ""
    for attempt in range(TRIES):
        if attempt:
            time.sleep(PAUSE_S * 2 ** (attempt - 1))
        try:
            return _attempt(url, file, part, report)
        except urllib.error.HTTPError as error:
            error.close()
            answer = f"HTTP {error.code} {said(error.reason)}"
            if error.code not in PASSING:
                break
        except (OSError, http.client.HTTPException, _EndedEarlyError) as error:
            if getattr(error, "errno", None) in DISK_FULL:
                raise
            answer = f"{said(error)}, {TRIES} tries" if attempt == TRIES - 1 else said(error)
    raise DownloadFailed(answer)


def _reach(url: str) -> None:
    """Raise HubUnreachable unless the server answers anything within REACH_S seconds.

    In a thread, because neither a resolver that is cut off nor a host of many dead addresses heeds a
    socket's timeout.
    """
    answers: list[str] = []

    def ask() -> None:
        try:
            _open(urllib.request.Request(url, method="HEAD"), REACH_S).close()  # noqa: S310
            answers.append("")
        except urllib.error.HTTPError as error:
            error.close()
            answers.append("")  # a refusal is an answer; the GET will say which
        except DownloadFailed as error:
            answers.append(str(error))
        except (OSError, http.client.HTTPException) as error:
            answers.append(said(getattr(error, "reason", error)) or type(error).__name__)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(REACH_S)
    answer = answers[0] if answers else f"no answer within {REACH_S} s"
    if answer:
        raise HubUnreachable(f"cannot be reached ({answer})")


def _open(request: urllib.request.Request, timeout: float) -> http.client.HTTPResponse:
    request.add_header("User-Agent", "localeval")
    response: http.client.HTTPResponse = urllib.request.urlopen(request, timeout=timeout)  # noqa: S310 (hub_url checks)
    if request.full_url.startswith("https:") and not response.url.startswith("https:"):
        response.close()
        raise DownloadFailed("redirects from https to an unprotected address")
    return response


def _attempt(url: str, file: CatalogFile, part: Path, report: Report) -> None:
    have = part.stat().st_size if part.exists() else 0
    if file.size is not None and have >= file.size:
        return  # whole, or too long: the caller's check tells
    request = urllib.request.Request(url)  # noqa: S310 (hub_url allows http and https only)
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        response = _open(request, READ_S)
    except urllib.error.HTTPError as error:
        if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE or not have:
            raise
        error.close()
        if error.headers.get("Content-Range") == f"bytes */{have}":
            return  # nothing is left to send
        part.unlink()
        raise _EndedEarlyError("the server knows a shorter file") from error
    with response:
        begin = _first_byte(response)
        if begin not in (0, have):
            part.unlink()
            raise _EndedEarlyError(f"the server sends from byte {begin:,} instead of {have:,}")
        have = begin  # 0: the server sends the whole file, so start over
        length = response.headers.get("Content-Length")
        total = have + int(length) if length and length.isdigit() else None
        if None not in (file.size, total) and file.size != total:
            raise DownloadFailed(f"wrong bytes: offers {total:,} bytes, expected {file.size:,}")
        _receive(response, part, have, total, file.size, report)


def _first_byte(response: http.client.HTTPResponse) -> int:
    """The place in the file where the body begins."""
    place = re.match(r"bytes (\d+)-", response.headers.get("Content-Range") or "")
    return int(place[1]) if response.status == http.HTTPStatus.PARTIAL_CONTENT and place else 0


def _receive(
    response: http.client.HTTPResponse,
    part: Path,
    have: int,
    total: int | None,
    limit: int | None,
    report: Report,
) -> None:
    with part.open("ab" if have else "wb") as stream:
        while block := response.read(BLOCK):
            have += len(block)
            if limit is not None and have > limit:
                stream.truncate(0)  # without a Content-Length a server could go on forever
                raise DownloadFailed(f"wrong bytes: sends more than the expected {limit:,} bytes")
            stream.write(block)
            report(have, total)
    # http.client takes a connection that ended early for the end of the body.
    if total is not None and have < total:
        raise _EndedEarlyError(f"the connection ended after {have:,} of {total:,} bytes")
