"""The address that a node answers at: how it is written, and what a host name in it stands for. It knows no option and no connection."""

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
    """The host and the port to answer at. `hosts` are the addresses that a host name stands for; none where the host is an address."""

    host: str
    port: int
    hosts: tuple[str, ...] = ()

    @property
    def is_loopback(self) -> bool:
        """Whether only programs on this machine can connect."""
        return all(map(is_loopback, self.hosts or (self.host,)))


def read_address(text: str, option: str, port: int | None = None) -> Address:
    """Return the address that an option names, with `port` in place of its own; host names are looked up. Raises NodeError."""
    try:
        host, own = split(text)
        return Address(host, own if port is None else port, () if is_address(host) else looked_up(host))
    except ValueError as error:
        raise NodeError(f"{option}: {text!r}: {error}") from None


def has_port(text: str) -> bool:
    """Return whether a text for an address names the port, too."""
    return text.isdigit() or re.search(r":\d+\Z", text) is not None


def split(text: str) -> tuple[str, int]:
    """Return host and port of a port, a host, or both; an IPv6 host stands in brackets. Raises ValueError, whose text is for the user."""
    if "/" in text:
        raise ValueError(f"is no address but a URL or a path; {FORMS}")
    if text.isascii() and text.isdigit():
        return DEFAULT_HOST, port_of(text)
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket or ":" not in host or not is_address(host) or (rest and not rest.startswith(":")):
            raise ValueError(f"is no IPv6 address in brackets; {FORMS}")
        return host, port_of(rest[1:]) if rest else DEFAULT_PORT
    if text.count(":") > 1:
        raise ValueError(f"an IPv6 address stands in brackets, so that its end is seen: [::1] or [::1]:{DEFAULT_PORT}")
    host, colon, rest = text.partition(":")
    if not host:
        raise ValueError(
            f"the host is missing: 0.0.0.0{text} is at all addresses of this machine, {text[1:] or DEFAULT_PORT} for this machine only"
        )
    require_host(host)
    return host, port_of(rest) if colon else DEFAULT_PORT


def port_of(text: str) -> int:
    """Return a port. Raises ValueError."""
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and int(text) <= PORT_MAX):
        raise ValueError(f"{text or 'nothing'} is no port; expected a number from 0, which is any that is free, to {PORT_MAX}")
    return int(text)


def require_host(host: str) -> None:
    """Raise ValueError for what is neither an IPv4 address nor a host name: numbers with dots that are no whole address are neither."""
    if is_address(host):
        return
    if re.fullmatch(r"[0-9.]+", host):
        raise ValueError(f"{host} is no whole IPv4 address; expected four numbers up to 255, as {DEFAULT_HOST}")
    if len(host) > HOST_LENGTH_MAX or not _NAME.fullmatch(host):
        raise ValueError(f"{host} is no address and no host name; {FORMS}")


def is_address(host: str) -> bool:
    """Return whether a host is an address, and no name."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def looked_up(name: str) -> tuple[str, ...]:
    """Return the addresses of a host name, of both families, in the order of the system. Raises ValueError."""
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ValueError(f"the host name {name} isn't known here ({reason}); give an address of this machine, as {DEFAULT_HOST}") from None
    return tuple(dict.fromkeys(str(where[4][0]) for where in found))
