"""Parsing of listen addresses, with lookup of host names."""

import re
import socket
from ipaddress import ip_address

from msgspec import Struct

from node.runtime.errors import NodeError
from rpc.http.access import is_loopback

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8090
PORT_MAX = 65535
HOST_LENGTH_MAX = 253
FORMS = f"expected a port ({DEFAULT_PORT}), a host (0.0.0.0, localhost, [::1]) or both ({DEFAULT_HOST}:{DEFAULT_PORT})"

_NAME = re.compile(r"(?:[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?\.)*[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?\.?", re.ASCII)


class Address(Struct, frozen=True):
    """A host and a port to listen on. If `host` is a host name, `hosts` are the addresses that it resolves to; otherwise `hosts` is
    empty.
    """

    host: str
    port: int
    hosts: tuple[str, ...] = ()

    @property
    def is_loopback(self) -> bool:
        """Whether only programs on this machine can connect."""
        return all(map(is_loopback, self.hosts or (self.host,)))


def read_address(text: str, option: str, port: int | None = None) -> Address:
    """Parse the address given for `option` and resolve a host name. If `port` is given, it replaces the address's port. Raises
    NodeError.
    """
    try:
        host, own = split(text)
        return Address(host, own if port is None else port, () if is_address(host) else looked_up(host))
    except ValueError as error:
        raise NodeError(f"{option}: {text!r}: {error}") from None


def has_port(text: str) -> bool:
    """Return whether an address, given as text, includes a port."""
    return text.isdigit() or re.search(r":\d+\Z", text) is not None


def split(text: str) -> tuple[str, int]:
    """Split a port, a host, or both into a host and a port. IPv6 hosts are in brackets. Raises ValueError with a message for the user."""
    if "/" in text:
        raise ValueError(f"is a URL or a path, not an address; {FORMS}")
    if text.isascii() and text.isdigit():
        return DEFAULT_HOST, port_of(text)
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket or ":" not in host or not is_address(host) or (rest and not rest.startswith(":")):
            raise ValueError(f"is not an IPv6 address in brackets; {FORMS}")
        return host, port_of(rest[1:]) if rest else DEFAULT_PORT
    if text.count(":") > 1:
        raise ValueError(f"an IPv6 address must be in brackets: [::1] or [::1]:{DEFAULT_PORT}")
    host, colon, rest = text.partition(":")
    if not host:
        raise ValueError(f"the host is missing: 0.0.0.0{text} listens on all addresses, {text[1:] or DEFAULT_PORT} on this machine only")
    require_host(host)
    return host, port_of(rest) if colon else DEFAULT_PORT


def port_of(text: str) -> int:
    """Parse a port. Raises ValueError."""
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and int(text) <= PORT_MAX):
        raise ValueError(f"{text or 'nothing'} is not a port; expected a number from 0 (any free port) to {PORT_MAX}")
    return int(text)


def require_host(host: str) -> None:
    """Raise ValueError unless a host is an IPv4 address or a host name. An incomplete IPv4 address, such as 10.1, is refused too."""
    if is_address(host):
        return
    if re.fullmatch(r"[0-9.]+", host):
        raise ValueError(f"{host} is not a whole IPv4 address; expected four numbers up to 255, for example {DEFAULT_HOST}")
    if len(host) > HOST_LENGTH_MAX or not _NAME.fullmatch(host):
        raise ValueError(f"{host} is neither an address nor a host name; {FORMS}")


def is_address(host: str) -> bool:
    """Return whether a host is an IP address."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def looked_up(name: str) -> tuple[str, ...]:
    """Resolve a host name to its IPv4 and IPv6 addresses, in the system's order. Raises ValueError."""
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ValueError(
            f"the host name {name} isn't known here ({reason}); give an address of this machine, for example {DEFAULT_HOST}"
        ) from None
    return tuple(dict.fromkeys(str(where[4][0]) for where in found))
