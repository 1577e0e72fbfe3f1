"""Listen addresses: syntax, host names, and whether clients have local rights."""

import socket
from typing import Any

import pytest

from node.runtime.address import Address, has_port, read_address
from node.runtime.errors import NodeError
from rpc.http.access import AccessPolicy
from rpc.http.listener import Listener
from tests.helpers.golden import fails, same_as_golden

BOTH = ("127.0.0.1", "::1")


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[str, ...]]:
    """The host names that can be resolved in the test, with their addresses."""
    known = {"localhost": BOTH, "node.lan": ("192.0.2.7",), "mine": ("127.0.1.1",), "half": ("::1", "192.0.2.7"), "db_1": ("::1",)}

    def getaddrinfo(name: str, *_others: Any, **_more: Any) -> list[Any]:
        if name not in known:
            raise socket.gaierror(-2, "Name or service not known")
        return [(0, 0, 0, "", (host, 0)) for host in (*known[name], known[name][0])]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return known


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("8091", "127.0.0.1", 8091),
        ("0", "127.0.0.1", 0),
        ("0.0.0.0", "0.0.0.0", 8090),
        ("127.0.0.1:9000", "127.0.0.1", 9000),
        ("[::1]", "::1", 8090),
        ("[::1]:0", "::1", 0),
        ("[::]:65535", "::", 65535),
        ("[fe80::1%eth0]:1", "fe80::1%eth0", 1),
    ],
)
def test_ports_and_addresses(text: str, host: str, port: int) -> None:
    assert read_address(text, "--http") == Address(host, port)
    assert read_address(text, "--http", 7) == Address(host, 7)


def test_host_names_are_looked_up(names: dict[str, tuple[str, ...]]) -> None:
    for name, hosts in names.items():
        assert read_address(name, "--http") == Address(name, 8090, hosts)
        assert read_address(f"{name}:1", "--serve") == Address(name, 1, hosts)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":1",
        "127.0.0.1:",
        "127.0.0.1:-1",
        "127.0.0.1:٣",
        "65536",
        "9" * 5000,
        "localhost:http",
        "::1",
        "::1:8090",
        "[::1",
        "[::1]8090",
        "[127.0.0.1]:1",
        "127.1",
        "1.2.3.256:1",
        "http://localhost:8090",
        "*:8090",
        "a b",
        "-x",
        "x" * 300,
        "bücher",
        "nowhere:1",
    ],
)
@pytest.mark.usefixtures("names")
def test_invalid_addresses_are_refused(text: str) -> None:
    with fails(NodeError):
        read_address(text, "--serve")


def test_whether_a_text_has_a_port() -> None:
    texts = ("8091", "localhost", "h:1", "[::1]", "[::1]:1", "0.0.0.0", "")
    assert list(filter(has_port, texts)) == ["8091", "h:1", "[::1]:1"]


# ------------------------------------------------------------------ rights


@pytest.mark.parametrize(
    ("text", "is_near"),
    [
        ("127.9.9.9", True),
        ("[::1]", True),
        ("0.0.0.0", False),
        ("[::]", False),
        ("localhost", True),
        ("mine", True),
        ("node.lan", False),
        ("half", False),
    ],
)
@pytest.mark.usefixtures("names")
def test_rights_follow_from_all_addresses_of_a_name(text: str, is_near: bool) -> None:
    where = read_address(text, "--http")
    access = AccessPolicy(where.host, addresses=where.hosts)
    assert (where.is_loopback, access.is_local, not access.withheld) == (is_near, is_near, is_near)


def test_a_localhost_that_others_can_reach_has_no_local_rights(names: dict[str, tuple[str, ...]]) -> None:
    names["localhost"] = ("127.0.0.1", "192.0.2.7")
    where = read_address("localhost", "--http")
    assert not where.is_loopback
    same_as_golden(AccessPolicy(where.host, addresses=where.hosts).withheld)


# ------------------------------------------------------------------ sockets


def test_a_name_of_both_families_is_answered_at_both_with_one_port() -> None:
    listener = Listener("localhost", 0, hosts=("127.0.0.1", "::1"))
    try:
        ports = {url.rpartition(":")[2] for url in listener.addresses}
        assert [url.rpartition(":")[0] for url in listener.addresses] == ["http://127.0.0.1", "http://[::1]"]
        assert len(ports) == 1
        for host in BOTH:
            socket.create_connection((host, int(min(ports))), 5).close()
    finally:
        listener.close()


def test_a_foreign_address_is_skipped_if_another_one_works() -> None:
    listener = Listener("name", 0, hosts=("192.0.2.7", "127.0.0.1"))
    listener.close()
    assert [url.rpartition(":")[0] for url in listener.addresses] == ["http://127.0.0.1"]
    with pytest.raises(OSError, match="assign requested address"):
        Listener("name", 0, hosts=("192.0.2.7", "192.0.2.8"))


def test_an_address_in_use_is_an_error_even_if_another_one_is_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        Listener("localhost", taken.getsockname()[1], hosts=("::1", "127.0.0.1"))
