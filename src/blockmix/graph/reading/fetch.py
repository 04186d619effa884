"""Downloads: https only, with bounds of size and speed, and nothing of the server's text printed as it came.

An address of this machine itself (127.0.0.1, localhost) may also be http. A redirect may lead to https only, or stay
on this machine. The connection is read on a thread of its own: a limit of time for one call of the system is none for
a name that is looked up, or for an answer whose first lines come byte by byte.
"""

from __future__ import annotations

import hashlib
import http.client
import queue
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import IO, Any, NamedTuple

from blockmix.errors import InputError, readable

TIMEOUT_SECONDS = 30.0
# Without a known size no download may be larger. The largest network of the table has 9 GB.
MOST_BYTES = 16 << 30
# After so many seconds, a download must have had at least this many bytes a second.
PATIENCE_SECONDS, SLOWEST = 60.0, 10_000
_BLOCK = 1 << 18
# Blocks that wait to be written, and seconds after which the speed is looked at where none arrives.
_AHEAD, _LOOKED_AT = 8, 1.0
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
    connection = _Connection(address)
    try:
        return _copy(connection, out, most_bytes, on_progress)
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
    finally:
        connection.stopped = True


class _Connection(threading.Thread):
    """Reads what is at an address: first the length that the server promises, then blocks, then an empty one.

    What goes wrong is raised where the blocks are taken. A thread that still waits when nobody wants them any more ends
    with the next one, or with the program.
    """

    def __init__(self, address: str) -> None:
        super().__init__(name="blockmix-download", daemon=True)
        self._address, self.stopped = address, False
        self._arrived: queue.Queue[int | bytes | Exception | None] = queue.Queue(_AHEAD)
        self.received, self._began = 0, time.monotonic()
        self.start()

    def run(self) -> None:
        """Read all, as long as it is wanted."""
        try:
            for item in self._items():
                if not self._give(item):
                    return
        except Exception as error:
            self._give(error)

    def _items(self) -> Iterator[int | bytes | None]:
        opener = urllib.request.build_opener(_Redirects(self._address))
        request = urllib.request.Request(self._address, headers={"User-Agent": "blockmix"})
        with opener.open(request, timeout=TIMEOUT_SECONDS) as answer:
            length = answer.headers.get("Content-Length")
            is_size = length and length.isascii() and length.isdigit() and len(length) < 19
            yield int(length) if is_size else None
            while block := _read(answer):
                yield block
            yield b""

    def _give(self, item: int | bytes | Exception | None) -> bool:
        while not self.stopped:
            with suppress(queue.Full):
                self._arrived.put(item, timeout=_LOOKED_AT)
                return True
        return False

    def take(self) -> Any:
        """Return what arrived next; raise an error where it takes too long."""
        while True:
            try:
                item = self._arrived.get(timeout=_LOOKED_AT)
            except queue.Empty:
                self._check_speed()
                continue
            if isinstance(item, Exception):
                raise item
            if isinstance(item, bytes) and item:
                self.received += len(item)
                self._check_speed()
            return item

    def _check_speed(self) -> None:
        taken = time.monotonic() - self._began
        if taken > PATIENCE_SECONDS and self.received < SLOWEST * taken:
            raise FetchError(f"the download is too slow: {self.received:,} bytes in {taken:.0f} s")


def _copy(
    connection: _Connection,
    out: IO[bytes],
    most_bytes: int,
    on_progress: Callable[[int, int | None], None] | None,
) -> Fetched:
    promised: int | None = connection.take()
    if promised is not None and promised > most_bytes:
        raise FetchError(f"the file has {promised:,} bytes, and at most {most_bytes:,} are downloaded")
    digest = hashlib.sha256()
    while block := connection.take():
        try:
            out.write(block)
        except OSError as error:
            # Not to be mistaken for an error of the connection.
            raise _UnwritableError(error) from None
        digest.update(block)
        if connection.received > most_bytes:
            raise FetchError(f"more than the {most_bytes:,} bytes that are downloaded at most arrived")
        if on_progress is not None:
            on_progress(connection.received, promised)
    received = connection.received
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
