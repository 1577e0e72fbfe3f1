"""Prints what happens on a node, a line for each notice: KIND [ACCOUNT...] [--url URL] [--count N].

KIND is blocks, irreversible_blocks, operations, transactions or refusals; accounts are for operations. It shows what a client does: open a
WebSocket, subscribe, read. Run it from the project's root with .venv/bin/python.
"""

import argparse
import json
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from wsproto import ConnectionType, WSConnection
from wsproto.events import CloseConnection, Event, Request, TextMessage


def messages(line: socket.socket, protocol: WSConnection) -> Iterator[Any]:
    """The messages of a WebSocket; ends with it, and raises ConnectionError with the reason of the node."""
    text = ""
    while data := line.recv(65536):
        protocol.receive_data(data)
        for event in protocol.events():
            if isinstance(event, CloseConnection):
                raise ConnectionError(f"{event.code} {event.reason}")
            if isinstance(event, TextMessage):
                text += event.data
                if event.message_finished:
                    yield json.loads(text)
                    text = ""


def main() -> None:
    """Subscribe and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kind")
    parser.add_argument("accounts", nargs="*")
    parser.add_argument("--url", default="ws://127.0.0.1:8090")
    parser.add_argument("--count", type=int, default=0, help="end after so many notices")
    given = parser.parse_args()
    where = urlsplit(given.url)
    assert where.hostname
    protocol = WSConnection(ConnectionType.CLIENT)
    params = {"kind": given.kind, "accounts": given.accounts}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "dev_api.subscribe", "params": params}
    with socket.create_connection((where.hostname, where.port or 80)) as line:

        def send(event: Event) -> None:
            line.sendall(protocol.send(event))

        send(Request(host=where.netloc, target="/"))
        protocol.receive_data(line.recv(65536))
        list(protocol.events())
        send(TextMessage(json.dumps(asked)))
        for number, message in enumerate(messages(line, protocol)):
            print(json.dumps(message.get("params") or message), flush=True)
            if "error" in message or number == given.count > 0:
                break


if __name__ == "__main__":
    main()
