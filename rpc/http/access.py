"""Access control: decides which requests come directly from a program on this machine, and which origins are allowed.

The client's address isn't sufficient: any website can make a browser send requests to a loopback address, and behind a proxy every client
looks local. The headers reveal such requests: a page sends `Origin` or `Sec-Fetch-Site`, a page that uses DNS rebinding sends its own name
as `Host`, and a proxy sends forwarding headers or HTTP/1.0. The explorer, the node's own page, is treated like a program. Its origin is the
address to which the request was sent.
"""

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from rpc.caller import Caller
from rpc.http.connection_limits import address_of

HOSTS_KEPT_MAX = 256
HOST_LENGTH_MAX = 255
HTTP_PORT = 80
FORWARDED_FOR = b"x-forwarded-for"

_FORWARDED = frozenset(
    {b"forwarded", b"via", b"client-ip", b"true-client-ip", b"cdn-loop", b"forwarded-for", b"fly-client-ip", b"fastly-client-ip"}
    | {
        b"x-real-ip",
        b"x-client-ip",
        b"x-cluster-client-ip",
        b"x-original-forwarded-for",
        b"x-proxyuser-ip",
        b"x-remote-ip",
        b"x-remote-addr",
    }
)
_FORWARDED_PREFIXES = (b"x-forwarded", b"cf-", b"x-envoy-", b"x-amzn-", b"x-azure-", b"x-original-")

Scope = dict[str, Any]
Headers = list[tuple[bytes, bytes]]
Network = IPv4Network | IPv6Network

EVERY_ORIGIN = "*"
NO_ORIGIN = "off"
_MAX_AGE = (b"access-control-max-age", b"86400")
_ALLOWED: Headers = [(b"access-control-allow-methods", b"POST, GET, OPTIONS"), (b"access-control-allow-headers", b"*"), _MAX_AGE]
_FOR_ALL: Headers = [(b"access-control-allow-origin", b"*"), *_ALLOWED]
_VARY = (b"vary", b"Origin")


class AccessPolicy(Struct, frozen=True):
    """Access control settings of a node that listens on `host`.

    `origins` are the allowed origins (None: all). `is_debug_allowed` serves the debug groups to other machines. `has_pages` means that the
    node serves the explorer, whose pages have the rights of a program. `addresses` are those of the host if it is a name. `proxies` are the
    networks of trusted proxies on other machines; proxies on this machine are always trusted.
    """

    host: str = "127.0.0.1"
    origins: tuple[str, ...] | None = None
    is_debug_allowed: bool = False
    has_pages: bool = False
    addresses: tuple[str, ...] = ()
    proxies: tuple[Network, ...] = ()

    @property
    def is_local(self) -> bool:
        """Whether only programs on this machine can connect."""
        return all(map(is_loopback, self.addresses or (self.host,)))

    @property
    def withheld(self) -> str:
        """The reason why the debug groups are not served to any client. It is "" if they are served to requests with local rights."""
        if self.is_debug_allowed or self.is_local:
            return ""
        return f"this is not served on {self.host}, which other machines can reach; start the node with --allow-debug, or on 127.0.0.1"

    def cors(self, scope: Scope) -> Headers | None:
        """Return the CORS headers for the reply to a request, or None if its origin is not allowed."""
        if self.origins is None:
            return _FOR_ALL
        origin = next((value for name, value in scope["headers"] if name == b"origin"), None)
        if origin is None:
            return [_VARY] if self.origins else []
        host, port = _header(scope, b"host"), (scope.get("server") or ("", None))[1]
        # DNS rebinding can bind a foreign name to this node's address, but can't change an address.
        if self._is_own([(b"origin", origin)], host) and (_is_ours(host, self.host, port) or _is_ours(host, _address(host), port)):
            return [_VARY]
        if origin.decode("latin-1") in self.origins:
            return [(b"access-control-allow-origin", origin), *_ALLOWED, _VARY]
        return None

    def caller(self, scope: Scope) -> Caller:
        """Return the `Caller` that describes the client of a request."""
        client = _client(scope)
        address, is_near = address_of(client)
        is_believed = is_near or _is_in(client, self.proxies)
        return Caller((is_believed and _forwarded(scope["headers"])) or address, self.why_not_local(scope))

    def why_not_local(self, scope: Scope) -> str:
        """Return the reason why a request has no local rights, or "" if it has local rights."""
        address = _client(scope)
        is_open = self.is_debug_allowed and not self.is_local
        if not is_open and not address_of(address)[1]:
            return "this is for programs on the machine of the node only"
        if scope["http_version"] < "1.1":
            return "this needs HTTP/1.1: proxies ask by HTTP/1.0 for clients of other machines"
        host = b""
        page: Headers = []  # headers that only a browser's page sends
        for sent, value in scope["headers"]:
            # Some programs behind a proxy treat `_` in header names as `-`.
            name = sent.replace(b"_", b"-")
            if name == b"host":
                host = value
            elif name == b"origin" or (name == b"sec-fetch-site" and value != b"none"):
                page.append((name, value))
            elif name in _FORWARDED or name.startswith(_FORWARDED_PREFIXES):
                return f"this is not for clients of a proxy, and the request has the header {name.decode('latin-1')}"
        if page and not self._is_own(page, host):
            return f"this is not for pages, and the request has the header {page[0][0].decode()}"
        port = (scope.get("server") or ("", None))[1]
        if (is_open and not page) or _is_ours(host, self.host, port) or (is_open and _is_ours(host, _address(host), port)):
            return ""
        return f"this needs a Host header that names the node: localhost:{port} or 127.0.0.1:{port}"

    def _is_own(self, page: Headers, host: bytes) -> bool:
        """Whether the headers `page` come from the explorer's page, whose origin is `host`, the host that the request names."""
        own = {b"origin": b"http://" + host, b"sec-fetch-site": b"same-origin"}
        return self.has_pages and all(value == own[name] for name, value in page)


def _client(scope: Scope) -> str:
    return (scope.get("client") or ("",))[0]


def _is_in(client: str, networks: Sequence[Network]) -> bool:
    """Whether an address is in one of the networks."""
    try:
        address = ip_address(client.partition("%")[0])
    except ValueError:
        return False
    return any((getattr(address, "ipv4_mapped", None) or address) in network for network in networks)


def _forwarded(headers: Headers) -> str:
    """Return the limit key of the last client in X-Forwarded-For, or "" if the last entry is not an address.

    All earlier entries can be forged by the client. A replica sends a /64 network instead of an IPv6 address.
    """
    named = b",".join(value for name, value in headers if name.replace(b"_", b"-") == FORWARDED_FOR).rpartition(b",")[2]
    try:
        return address_of(str(ip_address(named.strip().partition(b"/")[0].decode("latin-1"))))[0]
    except ValueError:
        return ""


def _header(scope: Scope, name: bytes) -> bytes:
    """Return the value of a request header, or b"" if it is missing."""
    return next((value for sent, value in scope["headers"] if sent == name), b"")


def is_loopback(host: str) -> bool:
    """Whether a host name or address is reachable only for programs on this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def read_origins(texts: Sequence[str]) -> tuple[str, ...] | None:
    """Parse the allowed origins: None (all) for `*` or an empty list, () (none) for `off`.

    Raises ValueError with a message for the user if a setting is not an origin, or if `*` or `off` is combined with other settings.
    """
    if not texts or list(texts) == [EVERY_ORIGIN]:
        return None
    if list(texts) == [NO_ORIGIN]:
        return ()
    return tuple(_read_origin(text) for text in texts)


def read_networks(texts: Sequence[str]) -> tuple[Network, ...]:
    """Parse networks or addresses, for example 10.0.0.0/8 or 10.0.0.7.

    Raises ValueError with a message for the user.
    """
    found: list[Network] = []
    for text in texts:
        try:
            found.append(ip_network(text, strict=False))
        except ValueError:
            raise ValueError(f"{text} is not an address; expected for example 10.0.0.7, or a network, for example 10.0.0.0/8") from None
    return tuple(found)


def _read_origin(text: str) -> str:
    if text in (EVERY_ORIGIN, NO_ORIGIN):
        raise ValueError(f"{text} allows all or no origins, so it can't be combined with others")
    problem = (
        f"{text} is not an origin; expected SCHEME://HOST or SCHEME://HOST:PORT, for example http://localhost:3000, or {EVERY_ORIGIN} or "
        f"{NO_ORIGIN}"
    )
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ValueError(problem) from None
    host = parts.hostname
    if not (parts.scheme and host and text.isascii()) or parts.path or parts.query or parts.fragment or "@" in parts.netloc:
        raise ValueError(problem)
    # Browsers send the origin in lower case, without the default port of the scheme.
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}" + ("" if port is None or port == usual else f":{port}")


def _address(header: bytes) -> str:
    """Return the host in a Host header if the host is an IP address. Otherwise return "/", which never occurs in a header."""
    try:
        name = urlsplit("//" + header.decode()).hostname or ""
        ip_address(name)
    except ValueError:
        return "/"
    return name


@lru_cache(HOSTS_KEPT_MAX)
def _is_ours(header: bytes, bound: str, port: int | None) -> bool:
    """Whether a Host header names this node: `localhost`, a loopback address, or the host that the node listens on, and its port."""
    # urlsplit removes white space inside the string.
    if len(header) > HOST_LENGTH_MAX or not header.isascii() or len(header.split()) != 1:
        return False
    try:
        parts = urlsplit("//" + header.decode())
        name, given = parts.hostname or "", parts.port
    except ValueError:
        return False
    if parts.path or parts.query or parts.fragment or "@" in parts.netloc or (HTTP_PORT if given is None else given) != port:
        return False
    return name == bound.lower() or is_loopback(name)
