"""Prints the notices of a node, one per line: KIND [ACCOUNT...] [--url URL] [--count N].

KIND is blocks, irreversible_blocks, operations, transactions or refusals. ACCOUNT selects operations. The program shows the steps of a
client: open a WebSocket, subscribe, read. Run it from the project's root with .venv/bin/python.
"""

import argparse
import json
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from wsproto import ConnectionType, WSConnection
from wsproto.events import CloseConnection, Event, Request, TextMessage


def messages(sock: socket.socket, protocol: WSConnection) -> Iterator[Any]:
    """Yield the messages of a WebSocket. If the node closes it, raises ConnectionError with the node's reason."""
    text = ""
    while data := sock.recv(65536):
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
    """Subscribe, and print each notice."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kind")
    parser.add_argument("accounts", nargs="*")
    parser.add_argument("--url", default="ws://127.0.0.1:8090")
    parser.add_argument("--count", type=int, default=0, help="stop after N notices")
    options = parser.parse_args()
    url = urlsplit(options.url)
    assert url.hostname
    protocol = WSConnection(ConnectionType.CLIENT)
    params = {"kind": options.kind, "accounts": options.accounts}
    request = {"jsonrpc": "2.0", "id": 1, "method": "dev_api.subscribe", "params": params}
    with socket.create_connection((url.hostname, url.port or 80)) as sock:

        def send(event: Event) -> None:
            sock.sendall(protocol.send(event))

        send(Request(host=url.netloc, target="/"))
        protocol.receive_data(sock.recv(65536))
        list(protocol.events())
        send(TextMessage(json.dumps(request)))
        for number, message in enumerate(messages(sock, protocol)):
            print(json.dumps(message.get("params") or message), flush=True)
            if "error" in message or number == options.count > 0:
                break


if __name__ == "__main__":
    main()
