"""Tools for checks: the decorator that registers them, assertions, and functions that read pages."""

import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from playwright.sync_api import Browser, Page

from tests.explorer.world import Node, pay

BRANCH = pay("alice", "bob", "7.777 COIN", "on the other branch")
# A check can return measurements, which are printed with its result.
Check = Callable[[Browser, Node], str | None]
CHECKS: dict[str, Check] = {}


def check(function: Check) -> Check:
    """Register a check under its function's name, with spaces for underscores."""
    CHECKS[function.__name__.replace("_", " ")] = function
    return function


def grouped(number: int | str) -> str:
    """Format a number with thousands separators."""
    whole, point, rest = str(number).partition(".")
    return f"{int(whole):,}{point}{rest}"


def money(text: str) -> str:
    """Format an amount as pages do."""
    number, symbol = text.split()
    return f"{grouped(number)} {symbol}"


def same(found: object, wanted: object) -> None:
    """Assert that two values are equal."""
    assert found == wanted, f"{found!r} is not {wanted!r}"


def holds(text: str, *wanted: str) -> None:
    """Assert that a text contains each string of `wanted`."""
    missing = [one for one in wanted if one not in text]
    assert not missing, f"{missing} not in {text[:1500]!r}"


def table(place: Any, caption: str) -> list[list[str]]:
    """Return the texts of a table's cells by row. The table can be collapsed."""
    script = """(place, caption) => {
        const table = [...place.querySelectorAll("table")].find((one) => one.caption?.textContent === caption);
        const words = (cell) => cell.textContent.trim().replace(/\\s+/g, " ");
        return table ? [...table.tBodies[0].rows].map((row) => [...row.cells].map(words)) : null;
    }"""
    found: list[list[str]] | None = place.evaluate(script, caption)
    assert found is not None, f"no table {caption!r}"
    return found


def facts(place: Any) -> dict[str, str]:
    """Return the values that a card displays, by their names."""
    script = """(place) => Object.fromEntries([...place.querySelectorAll("dl.facts dt")].map((one) =>
        [one.textContent, one.nextElementSibling.textContent.trim().replace(/\\s+/g, " ")]))"""
    found: dict[str, str] = place.evaluate(script)
    return found


def amount(value: Any) -> int:
    """Return an amount in its smallest units."""
    return int(value.split()[0].replace(".", ""))


def decimal(units: int, places: int) -> str:
    """Format smallest units as a decimal number with thousands separators."""
    return f"{units // 10**places:,}.{units % 10**places:0{places}}"


def head(node: Node) -> str:
    """Return the head block's number as pages print it."""
    return grouped(node.call("explorer_api.get_overview")["head_block_number"])


def sees(page: Page, number: str) -> None:
    """Assert that a page displays this block number and an active connection."""
    page.locator(".status dl").get_by_text(number, exact=True).first.wait_for()
    page.get_by_text("live", exact=True).wait_for()


@contextmanager
def passed_on(url: str) -> Iterator[str]:
    """Run a proxy for a node for the duration of the context; yields its address."""
    host, port = url.removeprefix("http://").split(":")

    class Passing(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with socket.create_connection((host, int(port))) as node, suppress(OSError):
                back = threading.Thread(target=pour, args=(node, self.request))
                back.start()
                pour(self.request, node)
                back.join()

    class Proxy(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Proxy(("127.0.0.1", 0), Passing) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        try:
            yield "http://{}:{}".format(*proxy.server_address)
        finally:
            proxy.shutdown()


def pour(source: socket.socket, target: socket.socket) -> None:
    """Forward bytes from one socket to the other until the source closes."""
    with suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
