"""The same bytes on two connections, of which one has lanes and the other hypercorn alone: what each gets, and whether it stays open."""

import re
import socket

import trio
import trio.testing
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.utils import wrap_app
from msgspec import Struct

from rpc.service.arguments import Text
from rpc.service.envelope import Service
from rpc.service.method import Method, method
from rpc.service.transport.asgi import Gateway, PageReply, server_config
from rpc.service.transport.connection import Complaints, Connection
from rpc.service.transport.guests import Guests, bounds_for
from rpc.service.transport.intake import Intake
from rpc.service.transport.lanes.calls import CallLane
from rpc.service.transport.rights import Access
from rpc.service.transport.sockets.lane import SocketLane
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
        self._config = server_config(*SERVER)
        service = _service()
        self._gateway = Gateway(service, {"/health": lambda: PageReply(b"{}")}, self._guests, access)
        self._socket_lane = SocketLane(
            Talk(service, self._guests, None, self._intake.enter), access, self._guests, self._intake, self._config
        )
        self._app = wrap_app(self._gateway, self._config.wsgi_max_body_size, "asgi")  # type: ignore[arg-type]
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
        lanes = [self._lane] if has_lane else []
        connection = Connection(self._unused.dup(), CLIENT, self._config, self._guests, self._intake, lanes)
        line = Line(pieces[1:], SERVER, is_patient=True, is_slow=is_slow)
        line.plug(connection)
        guest = self._guests.enter(CLIENT[0], connection.cut)
        assert guest is not None
        with trio.fail_after(SECONDS_MAX):
            async with trio.open_nursery() as nursery:

                async def serve() -> None:
                    given = pieces[0], self._app, self._socket_lane, WorkerContext(None), self._complaints
                    await connection.run(guest, *given, is_http2=False)

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
        """It waits."""
        for _ in range(5):
            await trio.lowlevel.checkpoint()
        return "done"

    return Service(registry.values(), wire=fake_wire(), state=None, processor=None, clock=lambda: 0)
