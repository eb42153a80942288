"""HTTP servers on this machine for the tests of the data sets, sound and broken ones, and archives."""

from __future__ import annotations

import io
import socket
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

Answer = Callable[[BaseHTTPRequestHandler], None]


class Server(ThreadingHTTPServer):
    """A server that records its requests and never prints."""

    daemon_threads = True

    def __init__(self, answer: Answer) -> None:
        self.requests: list[str] = []
        self.stopping = threading.Event()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.server.requests.append(self.path)  # type: ignore[attr-defined]
                answer(self)

            def log_message(self, *args: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Print nothing: clients that disconnect are part of the tests."""


@contextmanager
def serve(answer: Answer) -> Iterator[Server]:
    with Server(answer) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.stopping.set()
            server.shutdown()
            thread.join()


def send(handler: BaseHTTPRequestHandler, body: bytes, length: int | None = None) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(body) if length is None else length))
    handler.end_headers()
    handler.wfile.write(body)


def folder(root: Path) -> Answer:
    """Answer with the files below `root`."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        path = root / handler.path.lstrip("/")
        if path.is_file():
            send(handler, path.read_bytes())
        else:
            handler.send_error(404)

    return answer


def content(body: bytes) -> Answer:
    """Answer every request with `body`."""
    return lambda handler: send(handler, body)


def status(code: int) -> Answer:
    """Answer every request with an HTTP error."""
    return lambda handler: handler.send_error(code)


def dropped(body: bytes) -> Answer:
    """Promise `body`, send half of it and close the connection."""
    return lambda handler: send(handler, body[: len(body) // 2], len(body))


def hangup(handler: BaseHTTPRequestHandler) -> None:
    """Close the connection without an answer."""
    handler.close_connection = True


def silent(handler: BaseHTTPRequestHandler) -> None:
    """Accept the request and send nothing until the server stops."""
    handler.server.stopping.wait()  # type: ignore[attr-defined]


def stalled(body: bytes) -> Answer:
    """Send half of `body`, then nothing more until the server stops."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        send(handler, body[: len(body) // 2], len(body))
        silent(handler)

    return answer


def dripping(beginning: str) -> Answer:
    """Send `beginning`, then a byte every now and then until the server stops or somebody hangs up."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(beginning.encode())
        while not handler.server.stopping.wait(0.01):  # type: ignore[attr-defined]
            handler.wfile.write(b"a")
            handler.server.dripped += 1  # type: ignore[attr-defined]

    return answer


def unused_url() -> str:
    """An address without a server."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


def files_in(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def pack_zip(members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, blob in members.items():
            archive.writestr(name, blob)
    return buffer.getvalue()


def pack_tar(members: dict[str, bytes], mode: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, blob in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(blob)
            archive.addfile(info, io.BytesIO(blob))
    return buffer.getvalue()
