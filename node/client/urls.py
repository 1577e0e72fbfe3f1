"""The addresses of nodes and brokers."""

from urllib.parse import SplitResult, urlsplit

from node.runtime.errors import NodeError

DEFAULT_URL = "http://127.0.0.1:8090"
PORTS = {"http": 80, "https": 443}
BROKER = "nats://"


def followed_url(text: str) -> str:
    """Return the address of a node or a broker, as it is given to those who open it. Raises NodeError."""
    return broker_url(text) if text.startswith(BROKER) else node_url(text)


def node_url(text: str) -> str:
    """Return the address of a node: HOST:PORT stands for http://HOST:PORT. Raises NodeError."""
    parts_of(text)
    return text if "://" in text else f"http://{text}"


def parts_of(url: str) -> SplitResult:
    """Return the parts of the address of a node. Raises NodeError."""
    parts = _split(url if "://" in url else f"http://{url}", tuple(PORTS))
    if parts is None:
        raise NodeError(f"{url!r} is no address of a node; expected one like {DEFAULT_URL}")
    return parts


def broker_url(text: str) -> str:
    """Return the address of a broker. Raises NodeError."""
    if _split(text, ("nats",)) is None:
        raise NodeError(f"{text!r} is no address of a broker; expected one like nats://127.0.0.1:4222")
    return text


def _split(url: str, schemes: tuple[str, ...]) -> SplitResult | None:
    """Return the parts of an address with one of these schemes; None for what is not an address."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in schemes and parts.hostname and parts.port != 0 and url.isprintable() and " " not in url
        (parts.hostname or "").encode("idna")  # as it is looked up
    except ValueError:
        return None
    return parts if usable else None
