"""Which clients have local rights, and which web pages can call the node."""

import json
from typing import Any

import pytest

from rpc.http.access import AccessPolicy, read_networks, read_origins
from tests.helpers.golden import fails
from tests.helpers.push import websocket
from tests.rpc.http.test_asgi_app import PING, PONG, ask, opens, server

HOST = (b"host", b"127.0.0.1:8090")
PAGE = "http://front.example:3000"


def scope(client: str = "127.0.0.1", *headers: tuple[bytes, bytes], version: str = "1.1") -> dict[str, Any]:
    """Return the ASGI scope of a request to port 8090."""
    return {"client": (client, 5), "server": ("127.0.0.1", 8090), "headers": list(headers) or [HOST], "http_version": version}


@pytest.mark.parametrize("client", ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"])
@pytest.mark.parametrize("host", ["127.0.0.1:8090", "localhost:8090", "LOCALHOST:8090", "[::1]:8090", "127.1.2.3:8090", "node.lan:8090"])
def test_programs_on_this_machine_have_local_rights(client: str, host: str) -> None:
    assert AccessPolicy("node.lan").why_not_local(scope(client, (b"host", host.encode()))) == ""


@pytest.mark.parametrize("client", ["10.0.0.1", "::2", "192.168.0.1", ""])
def test_other_machines_have_no_local_rights(client: str) -> None:
    assert "on the machine of the node" in AccessPolicy().why_not_local(scope(client))
    assert AccessPolicy().why_not_local({**scope(), "client": None})


@pytest.mark.parametrize(
    "host",
    [
        b"", b"x", b"127.0.0.1", b"localhost", b"127.0.0.1:80", b"127.0.0.1:8091", b"evil.example:8090", b"localhost.evil.example:8090",
        b"127.0.0.1.evil.example:8090", b"evil.example@127.0.0.1:8090", b"127.0.0.1:8090:8090", b"[::1", b"10.0.0.1:8090", b"\xff:8090",
        b"127.0.0.1:8090/x", b"127.0.0.1:99999999", b"2130706433:8090", b"0.0.0.0:8090",
        b"local\thost:8090", b"localhost:8090 x",
    ],
)  # fmt: skip
def test_foreign_host_header_denies_local_rights(host: bytes) -> None:
    assert "Host header" in AccessPolicy().why_not_local(scope("127.0.0.1", (b"host", host)))


@pytest.mark.parametrize(
    "header",
    [
        (b"origin", b"http://example.com"), (b"origin", b"null"), (b"origin", b"http://127.0.0.1:8090"), (b"sec-fetch-site", b"cross-site"),
        (b"sec-fetch-site", b"same-site"), (b"sec-fetch-site", b"same-origin"), (b"forwarded", b"for=10.0.0.1"),
        (b"x-forwarded-for", b"10.0.0.1"), (b"x-forwarded-proto", b"https"), (b"x-forwarded-host", b"x"), (b"x-real-ip", b"10.0.0.1"),
        (b"via", b"1.1 proxy"), (b"cf-connecting-ip", b"10.0.0.1"), (b"true-client-ip", b"10.0.0.1"), (b"x-client-ip", b""),
        (b"origin", b"none"), (b"x_forwarded_for", b"10.0.0.1"), (b"x_real_ip", b"10.0.0.1"),
    ],
)  # fmt: skip
def test_pages_and_proxied_clients_have_no_local_rights(header: tuple[bytes, bytes]) -> None:
    why = AccessPolicy().why_not_local(scope("127.0.0.1", HOST, header))
    assert header[0].decode().replace("_", "-") in why
    assert AccessPolicy("0.0.0.0", is_debug_allowed=True).why_not_local(scope("127.0.0.1", HOST, header)) == why


@pytest.mark.parametrize(
    ("client", "forwarded", "address"),
    [
        ("10.0.0.1", (), "10.0.0.1"),
        ("10.0.0.1", (b"10.9.9.9",), "10.0.0.1"),  # what a foreign client says of itself
        ("2001:db8::7", (b"10.9.9.9",), "2001:db8::/64"),
        ("127.0.0.1", (), "127.0.0.1"),
        ("127.0.0.1", (b"10.9.9.9",), "10.9.9.9"),
        ("::1", (b"2001:db8::7",), "2001:db8::/64"),
        ("::1", (b"2001:db8::/64",), "2001:db8::/64"),
        ("127.0.0.1", (b"10.1.1.1, 10.9.9.9 ",), "10.9.9.9"),  # what comes before may be the client's own
        ("127.0.0.1", (b"10.1.1.1", b"10.9.9.9"), "10.9.9.9"),
        ("127.0.0.1", (b"10.9.9.9, unknown",), "127.0.0.1"),
        ("127.0.0.1", (b"\xff",), "127.0.0.1"),
        ("127.0.0.1", (b"",), "127.0.0.1"),
    ],
)
def test_only_a_local_proxy_determines_the_client_address(client: str, forwarded: tuple[bytes, ...], address: str) -> None:
    caller = AccessPolicy().caller(scope(client, HOST, *((b"x-forwarded-for", value) for value in forwarded)))
    assert caller.address == address
    assert caller.is_local == (client == "127.0.0.1" and not forwarded)


@pytest.mark.parametrize(("client", "is_believed"), [("10.0.0.1", True), ("10.0.1.1", False), ("2001:db8::7", True), ("", False)])
def test_remote_proxy_is_trusted_only_if_configured(client: str, *, is_believed: bool) -> None:
    access = AccessPolicy("0.0.0.0", proxies=read_networks(["10.0.0.0/24", "2001:db8::7"]))
    caller = access.caller(scope(client, HOST, (b"x-forwarded-for", b"10.9.9.9")))
    assert (caller.address == "10.9.9.9") is is_believed
    assert not caller.is_local


def test_invalid_network_is_refused() -> None:
    with fails(ValueError):
        read_networks(["proxy_lan"])


def test_page_of_the_node_has_local_rights() -> None:
    own = [(b"origin", b"http://127.0.0.1:8090"), (b"sec-fetch-site", b"same-origin")]
    access = AccessPolicy(has_pages=True)
    assert access.why_not_local(scope("127.0.0.1", HOST, *own)) == access.why_not_local(scope("127.0.0.1", HOST, own[1])) == ""
    assert access.why_not_local(scope("10.0.0.1", HOST, *own)) != ""
    assert access.why_not_local(scope("127.0.0.1", HOST, *own, (b"via", b"1.1 proxy"))) != ""
    assert AccessPolicy(origins=(), has_pages=True).cors(scope("127.0.0.1", HOST, *own)) is not None


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize(
    ("host", "origin", "site"),
    [
        ("127.0.0.1:8090", "http://127.0.0.1:3000", "same-site"),
        ("127.0.0.1:8090", "http://localhost:8090", "cross-site"),
        ("127.0.0.1:8090", "https://127.0.0.1:8090", "cross-site"),
        ("127.0.0.1:8090", "null", "same-origin"),
        ("127.0.0.1:8090", "http://127.0.0.1:8090", "same-site"),
        ("evil.example:8090", "http://evil.example:8090", "same-origin"),  # a name that was bound to our address
        ("10.0.0.1", "http://10.0.0.1", "same-origin"),
    ],
)
def test_page_of_another_site_has_no_local_rights(host: str, origin: str, site: str, *, is_open: bool) -> None:
    sent = scope("127.0.0.1", (b"host", host.encode()), (b"origin", origin.encode()), (b"sec-fetch-site", site.encode()))
    access = AccessPolicy("0.0.0.0" if is_open else "127.0.0.1", (), is_debug_allowed=is_open, has_pages=True)
    assert access.why_not_local(sent) != ""
    if site == "same-origin" or origin != f"http://{host}":
        assert access.cors(sent) is None


def test_page_of_a_public_node_has_local_rights() -> None:
    access = AccessPolicy("0.0.0.0", is_debug_allowed=True, has_pages=True)
    sent = scope("10.0.0.9", (b"host", b"10.0.0.1:8090"), (b"origin", b"http://10.0.0.1:8090"), (b"sec-fetch-site", b"same-origin"))
    assert access.why_not_local(sent) == ""


def test_address_typed_into_a_browser_has_local_rights() -> None:
    assert AccessPolicy().why_not_local(scope("127.0.0.1", HOST, (b"sec-fetch-site", b"none"))) == ""


def test_http_1_0_request_has_no_local_rights() -> None:
    assert "HTTP/1.0" in AccessPolicy().why_not_local(scope(version="1.0"))


def test_debug_methods_are_withheld_on_public_addresses() -> None:
    for host in ("0.0.0.0", "::", "10.0.0.1", "node.lan"):
        assert "--allow-debug" in AccessPolicy(host).withheld
        assert host in AccessPolicy(host).withheld
        assert AccessPolicy(host, is_debug_allowed=True).withheld == ""
        assert AccessPolicy(host, is_debug_allowed=True).why_not_local(scope("10.0.0.9", (b"host", b"container:8090"))) == ""
        assert AccessPolicy(host).why_not_local(scope("10.0.0.9")) != ""
    assert AccessPolicy("127.0.0.1").withheld == AccessPolicy("localhost").withheld == ""
    assert AccessPolicy("127.0.0.1", is_debug_allowed=True).why_not_local(scope("10.0.0.9")) != ""


@pytest.mark.parametrize(
    ("texts", "origins"),
    [
        ([], None),
        (["*"], None),
        (["off"], ()),
        (["http://localhost:3000"], ("http://localhost:3000",)),
        (["HTTPS://Front.Example:443", "http://[::1]:80"], ("https://front.example", "http://[::1]")),
        (["app://x"], ("app://x",)),
    ],
)
def test_origins_are_parsed(texts: list[str], origins: tuple[str, ...] | None) -> None:
    assert read_origins(texts) == origins


@pytest.mark.parametrize(
    "text", ["", "x", "localhost:3000", "http://", "http://x/", "http://x/y", "http://x:y", "http://a@x", "http://é", "null"]
)
def test_invalid_origin_is_refused(text: str) -> None:
    with fails(ValueError):
        read_origins([text])
    with fails(ValueError):
        read_origins(["http://x", "*"])


@pytest.mark.usefixtures("both_paths")
async def test_all_pages_can_call_without_configured_origins() -> None:
    async with server() as port:
        for verb in ("POST", "OPTIONS"):
            status, headers, _ = await ask(port, verb, headers={"Origin": PAGE})
            assert (status, headers["access-control-allow-origin"], headers["access-control-allow-headers"]) == (200, "*", "*")
        assert (await ask(port, "GET", "/health", None))[1]["access-control-allow-origin"] == "*"


@pytest.mark.usefixtures("both_paths")
@pytest.mark.parametrize("origins", [(PAGE,), ()])
async def test_configured_origins_restrict_pages(origins: tuple[str, ...]) -> None:
    async with server(access=AccessPolicy(origins=origins)) as port:
        for verb, path, body in (("POST", "/", PING), ("OPTIONS", "/", None), ("GET", "/health", None)):
            status, headers, _ = await ask(port, verb, path, body)
            assert (status, headers.get("vary")) == (200, "Origin" if origins else None)
            assert "access-control-allow-origin" not in headers
            status, headers, said = await ask(port, verb, path, body, headers={"Origin": "http://evil.example"})
            assert (status, "access-control-allow-origin" in headers) == (403, False)
            assert b"--cors" in said
            if origins:
                status, headers, _ = await ask(port, verb, path, body, headers={"Origin": PAGE})
                assert (status, headers["access-control-allow-origin"], headers["vary"]) == (200, PAGE, "Origin")
        assert json.loads((await ask(port))[2]) == PONG
        async with websocket(port):
            pass
        assert await opens(port, (b"origin", PAGE.encode())) is bool(origins)
        assert not await opens(port, (b"origin", b"http://evil.example"))


@pytest.mark.usefixtures("both_paths")
async def test_refused_local_call_gives_the_reason() -> None:
    call = b'{"jsonrpc":"2.0","method":"debug_node_api.local","id":1}'
    async with server() as port:
        assert json.loads((await ask(port, body=call, headers={"Host": f"localhost:{port}"}))[2])["result"] is True
        for headers in ({"Host": f"evil.example:{port}"}, {"X-Forwarded-For": "10.0.0.1"}, {"Sec-Fetch-Site": "cross-site"}):
            error = json.loads((await ask(port, body=call, headers=headers))[2])["error"]
            assert error["code"] == -32002
            assert error["data"]["hint"].startswith("this ")
            batch = json.loads((await ask(port, body=b"[" + call + b"]", headers=headers))[2])
            assert batch[0]["error"]["data"]["hint"] == error["data"]["hint"]
