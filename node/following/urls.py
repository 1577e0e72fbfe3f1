"""The addresses of what a node follows."""

from urllib.parse import urlsplit

from node.commands.client import parts_of
from node.failures import NodeError

BROKER = "nats://"


def followed_url(text: str) -> str:
    """Return the address of a node or a broker, as it is given to those who open it. Raises NodeError."""
    return broker_url(text) if text.startswith(BROKER) else node_url(text)


def node_url(text: str) -> str:
    """Return the address of a node: HOST:PORT stands for http://HOST:PORT. Raises NodeError."""
    parts_of(text)
    return text if "://" in text else f"http://{text}"


def broker_url(text: str) -> str:
    """Return the address of a broker. Raises NodeError."""
    try:
        parts = urlsplit(text)
        usable = parts.scheme == "nats" and parts.hostname and parts.port != 0 and text.isprintable() and " " not in text
        (parts.hostname or "").encode("idna")  # as it is looked up
    except ValueError:
        usable = False
    if not usable:
        raise NodeError(f"{text!r} is no address of a broker; expected one like nats://127.0.0.1:4222")
    return text
