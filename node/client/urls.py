"""Validation of the URLs of nodes and brokers."""

import re
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from node.runtime.errors import NodeError

DEFAULT_URL = "http://127.0.0.1:8090"
PORTS = {"http": 80, "https": 443}
BROKER = "nats://"


def followed_url(text: str) -> str:
    """Return the normalized URL of a node or a broker. Raises NodeError."""
    return broker_url(text) if text.startswith(BROKER) else node_url(text)


def node_url(text: str) -> str:
    """Return the URL of a node; HOST:PORT becomes http://HOST:PORT. Raises NodeError."""
    parts_of(text)
    return text if "://" in text else f"http://{text}"


def shown_url(url: str) -> str:
    """Return a URL without user name, password and query, which can be secrets. For messages and files."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def is_url(text: str) -> bool:
    """Whether a text is the URL of a node rather than the path of a file. HOST:PORT is a URL unless there is such a file."""
    return "://" in text or (re.fullmatch(r"[\w.-]+:\d+", text) is not None and not Path(text).exists())


def parts_of(url: str) -> SplitResult:
    """Parse the URL of a node into its parts. Raises NodeError."""
    parts = _split(url if "://" in url else f"http://{url}", tuple(PORTS))
    if parts is None:
        raise NodeError(f"{url!r} is not the address of a node; expected one like {DEFAULT_URL}")
    return parts


def broker_url(text: str) -> str:
    """Return the URL of a broker. Raises NodeError."""
    if _split(text, ("nats",)) is None:
        raise NodeError(f"{text!r} is not the address of a broker; expected one like nats://127.0.0.1:4222")
    return text


def _split(url: str, schemes: tuple[str, ...]) -> SplitResult | None:
    """Parse a URL that has one of these schemes. Return None if it is malformed."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in schemes and parts.hostname and parts.port != 0 and url.isprintable() and " " not in url
        (parts.hostname or "").encode("idna")  # the form used by DNS
    except ValueError:
        return None
    return parts if usable else None
