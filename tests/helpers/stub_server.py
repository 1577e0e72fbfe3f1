"""A JSON-RPC server in a thread, for tests of programs that call a node. It replies from a table, or with arbitrary bytes."""

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any


class StubServer(HTTPServer):
    """The stub server. `results` are results by method, where functions are called with the parameters; `errors` are error objects by
    method.

    With `raw`, these bytes are the response to every request. `calls` records the requests.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.results: dict[str, Any] = {}
        self.errors: dict[str, dict[str, Any]] = {}
        self.raw: bytes | None = None
        self.calls: list[tuple[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def reply(self, request: dict[str, Any]) -> dict[str, Any]:
        method, params = request["method"], request["params"]
        self.calls.append((method, params))
        if method in self.errors:
            return {"jsonrpc": "2.0", "id": request["id"], "error": self.errors[method]}
        if method not in self.results:
            return {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": f"Could not find method {method}"}}
        found = self.results[method]
        return {"jsonrpc": "2.0", "id": request["id"], "result": found(params) if callable(found) else found}


class _Handler(BaseHTTPRequestHandler):
    server: StubServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        data = json.dumps(self.server.reply(json.loads(body))).encode() if self.server.raw is None else self.server.raw
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextlib.contextmanager
def answering() -> Iterator[StubServer]:
    """Run a server for the duration of the context."""
    server = StubServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
