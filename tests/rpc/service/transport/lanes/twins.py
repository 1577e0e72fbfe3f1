"""The same bytes on two connections, of which one has lanes and the other hypercorn alone: what each gets, and whether it stays open."""

import re
import socket

import trio
import trio.testing
from msgspec import Struct

from rpc.service.arguments import Text
from rpc.service.envelope import Service
from rpc.service.method import Method, method
from rpc.service.transport.asgi import IDLE_SECONDS_MAX, Gateway, OuterLane, PageReply
from rpc.service.transport.connection import Complaints, Connection, Lane
from rpc.service.transport.guests import Guests, bounds_for
from rpc.service.transport.intake import Intake
from rpc.service.transport.lanes.calls import CallLane
from rpc.service.transport.rights import Access
from rpc.service.transport.sockets.talk import Talk
from tests.helpers.fakes import fake_wire
from tests.helpers.lines import Line

CLIENT, SERVER = ("127.0.0.1", 40000), ("127.0.0.1", 8090)
SECONDS_MAX = 20
_DATE = re.compile(rb"date: [^\r]+")


class Outcome(Struct, frozen=True):
    """What a client got until it had sent everything, whether the connection was open then, and what it got after it had left."""

    sent: bytes
    is_open: bool
    sent_in_the_end: bytes


class Twins:
    """A server of both kinds of connections."""

    def __init__(self, access: Access) -> None:
        self._guests = Guests(bounds_for())
        self._intake = Intake()
        service = _service()
        self._gateway = Gateway(service, {"/health": lambda: PageReply(b"{}")}, self._guests, access)
        self._outer = OuterLane(self._gateway, Talk(service, self._guests, None, self._intake.enter), self._intake, is_http2=False)
        # A thread would come between two pieces.
        self._outer.load_now()
        self._lane = CallLane(self._gateway, self._intake)
        self._complaints = Complaints()
        self._unused = socket.socket()

    async def run(self) -> None:
        """Let in what waits, and look after who does."""
        with self._unused:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._intake.run)
                nursery.start_soon(self._lane.run)

    async def outcome(self, pieces: list[bytes], *, has_lane: bool, is_slow: bool = False) -> Outcome:
        """Send pieces over a new connection; slowly: each when what the one before asked for is done."""
        lanes: list[Lane] = [self._lane, self._outer] if has_lane else [self._outer]
        connection = Connection(self._unused.dup(), CLIENT, IDLE_SECONDS_MAX, self._guests, self._intake, lanes)
        line = Line(pieces[1:], SERVER, is_patient=True, is_slow=is_slow)
        line.plug(connection)
        guest = self._guests.enter(CLIENT[0], connection.cut)
        assert guest is not None
        with trio.fail_after(SECONDS_MAX):
            async with trio.open_nursery() as nursery:

                async def serve() -> None:
                    await connection.run(guest, pieces[0], self._complaints)

                nursery.start_soon(serve)
                await trio.testing.wait_all_tasks_blocked()
                sent, is_open = bytes(line.sent), not line.is_closed
                line.leave()
        assert all(now == 0 for kind, (now, _) in self._guests.held().items()), self._guests.held()
        return Outcome(_dateless(sent), is_open, _dateless(bytes(line.sent[len(sent) :])))


def _dateless(data: bytes) -> bytes:
    return _DATE.sub(b"date: X", data)


def _service() -> Service:
    registry: dict[str, Method] = {}

    @method("a_api.echo", registry=registry)
    def echo(state: None, text: Text) -> str:
        """Its argument."""
        return text

    @method("a_api.long", registry=registry)
    def long(state: None) -> str:
        """A long text."""
        return "x" * 100_000

    @method("debug_node_api.local", loopback_only=True, registry=registry)
    def local(state: None) -> bool:
        """Only here."""
        return True

    @method("a_api.wait", registry=registry)
    async def wait(processor: None) -> str:
        """It waits, in scopes of its own."""
        with trio.fail_after(SECONDS_MAX):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.lowlevel.checkpoint)
                await trio.lowlevel.checkpoint()
        return "done"

    return Service(registry.values(), wire=fake_wire(), state=None, processor=None, clock=lambda: 0)
