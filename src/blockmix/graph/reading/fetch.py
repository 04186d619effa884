"""Downloads: https only, with bounds of size and speed, and nothing of the server's text printed as it came.

An address of this machine itself (127.0.0.1, localhost) may also be http. A redirect may lead to https only, or stay
on this machine.
"""

from __future__ import annotations

import hashlib
import http.client
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import IO, Any, NamedTuple

from blockmix.errors import InputError, readable

TIMEOUT_SECONDS = 30.0
# Without a known size no download may be larger. The largest network of the table has 9 GB.
MOST_BYTES = 16 << 30
# After so many seconds, a download must have had at least this many bytes a second.
PATIENCE_SECONDS, SLOWEST = 60.0, 10_000
_BLOCK = 1 << 18
_OWN_MACHINE = {"127.0.0.1", "localhost", "::1"}


class FetchError(InputError):
    """A download that failed; the message says how."""


class _UnwritableError(Exception):
    def __init__(self, reason: OSError) -> None:
        self.reason = reason


class Fetched(NamedTuple):
    """What arrived: bytes and their SHA-256."""

    received: int
    sha256: str


def fetch(
    address: str,
    out: IO[bytes],
    most_bytes: int = MOST_BYTES,
    on_progress: Callable[[int, int | None], None] | None = None,
) -> Fetched:
    """Write what is at an address to a file; raise `FetchError` where it cannot be had whole.

    `on_progress` is called with the bytes so far and those promised, if the server said.
    """
    _check_address(address, address)
    opener = urllib.request.build_opener(_Redirects(address))
    try:
        request = urllib.request.Request(address, headers={"User-Agent": "blockmix"})
        with opener.open(request, timeout=TIMEOUT_SECONDS) as answer:
            return _copy(answer, out, most_bytes, on_progress)
    except _UnwritableError as error:
        raise error.reason from None
    except FetchError as error:
        raise FetchError(f"{_shown(address)}: {error}") from None
    except urllib.error.HTTPError as error:
        error.close()
        raise FetchError(
            f"{_shown(address)}: the server answered {error.code} {readable(str(error.reason))}"
        ) from None
    except (http.client.HTTPException, OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error or type(error).__name__
        raise FetchError(f"{_shown(address)}: no connection ({readable(str(reason))[1:-1]})") from None


def _copy(
    answer: Any, out: IO[bytes], most_bytes: int, on_progress: Callable[[int, int | None], None] | None
) -> Fetched:
    length = answer.headers.get("Content-Length")
    promised = int(length) if length and length.isascii() and length.isdigit() and len(length) < 19 else None
    if promised is not None and promised > most_bytes:
        raise FetchError(f"the file has {promised:,} bytes, and at most {most_bytes:,} are downloaded")
    digest = hashlib.sha256()
    received, began = 0, time.monotonic()
    while block := _read(answer):
        try:
            out.write(block)
        except OSError as error:
            # Not to be mistaken for an error of the connection.
            raise _UnwritableError(error) from None
        digest.update(block)
        received += len(block)
        if received > most_bytes:
            raise FetchError(f"more than the {most_bytes:,} bytes that are downloaded at most arrived")
        taken = time.monotonic() - began
        if taken > PATIENCE_SECONDS and received < SLOWEST * taken:
            raise FetchError(f"the download is too slow: {received:,} bytes in {taken:.0f} s")
        if on_progress is not None:
            on_progress(received, promised)
    if promised is not None and received != promised:
        raise FetchError(f"the download was cut short: {received:,} of {promised:,} bytes arrived")
    return Fetched(received, digest.hexdigest())


def _read(answer: Any) -> bytes:
    """Read what has arrived, at most a block; treat a connection that breaks off like one that ends too early."""
    try:
        return bytes(answer.read1(_BLOCK))
    except http.client.IncompleteRead as broken:
        return broken.partial
    except OSError as broken:
        raise FetchError(f"no connection ({readable(str(broken) or type(broken).__name__)[1:-1]})") from None


def _check_address(address: str, origin: str) -> None:
    """Refuse every scheme but https, except http on this machine when that is where the address leads from."""
    parts, start = urllib.parse.urlsplit(address), urllib.parse.urlsplit(origin)
    if parts.scheme.lower() == "https":
        return
    own = parts.hostname in _OWN_MACHINE and start.hostname in _OWN_MACHINE
    if parts.scheme.lower() == "http" and own:
        return
    raise FetchError(
        f"{_shown(address)}: only https addresses are read, not {readable(parts.scheme)}; "
        "download the file by other means and give its path"
    )


class _Redirects(urllib.request.HTTPRedirectHandler):
    def __init__(self, origin: str) -> None:
        self._origin = origin

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        try:
            _check_address(newurl, self._origin)
        except FetchError:
            fp.close()
            raise
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _shown(address: str) -> str:
    """Return an address without control characters; a long one is cut."""
    return "".join(c if c.isprintable() else "?" for c in address[:300])
