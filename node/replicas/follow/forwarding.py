"""Processor of a replica. Clients can't change the replica's chain. Broadcasts are forwarded to the followed node, which answers them."""

from collections.abc import Awaitable, Callable, Generator, Iterator
from typing import Any, NoReturn

import trio

from node.client.errors import RefusedCall
from node.client.http import REPLY_SECONDS_MAX
from node.client.trio_http import connected
from node.processor.processor import Processor
from node.replicas.follow.stream_lines import PARSE_ERRORS
from node.runtime.errors import NodeError
from rpc.caller import LOCAL, Caller
from rpc.declare.errors import UpstreamError
from rpc.jsonrpc.allowance import refusal_units
from rpc.jsonrpc.fair_queue import FairLimiter
from rpc.jsonrpc.scheduler import ReplyScheduler
from rpc.log import Log
from rpc.processor import Inclusion, Result
from state.protocol.errors import Refused
from state.protocol.transaction import SignedBlock, SignedTransaction, Wire

CALLS_MAX = 64  # forwarded at a time; more are queued, round-robin by client address
WAITING_CALLS_MAX = 1024  # waiting for a block; more are refused
WAIT_SECONDS_MAX = 3700  # a transaction can be pending for an hour at most
HERE_SECONDS_MAX = 10  # how long a reply waits until this node has the block, too

PUSH = "network_broadcast_api.broadcast_transaction"
PUSH_BLOCK = "network_broadcast_api.broadcast_block"
WAIT = "condenser_api.broadcast_transaction_synchronous"

_log = Log("following")


class ForwardingProcessor:
    """The processor that the methods of a replica use. It forwards broadcasts to `url` ("": they are refused). `followed` is the followed
    node or broker.

    `reached` waits until this node has a block. A client that waits for the block of its transaction can therefore read the result here.
    """

    def __init__(self, own: Processor, wire: Wire, followed: str, url: str, reached: Callable[[int], Awaitable[None]]) -> None:
        self._own, self._wire, self._followed, self._url, self._reached = own, wire, followed, url, reached
        self._limiter, self._waiting_slots = FairLimiter(CALLS_MAX), trio.CapacityLimiter(WAITING_CALLS_MAX)
        self._scheduler = ReplyScheduler()

    async def push_transaction(self, trx: SignedTransaction, caller: Caller = LOCAL) -> None:
        """Forward a transaction to the followed node."""
        async with self._limiter.place(caller.queue):
            await self._forward(PUSH, {"trx": self._wire.transaction_to_json(trx), "max_block_age": -1}, trx, caller)

    async def push_block(self, block: SignedBlock, caller: Caller = LOCAL) -> None:
        """Forward a block to the followed node."""
        async with self._limiter.place(caller.queue):
            await self._call(PUSH_BLOCK, {"block": self._wire.block_to_json(block)})

    async def wait_for(self, trx: SignedTransaction, caller: Caller = LOCAL) -> Inclusion:
        """Forward a transaction, and wait until its block is on the followed node and then also on this node."""
        try:
            self._waiting_slots.acquire_on_behalf_of_nowait(place := object())
        except trio.WouldBlock:
            busy = "${n} calls wait for transactions already"
            raise Refused(busy, condition="waiting < max", n=WAITING_CALLS_MAX) from None
        try:
            given = await self._forward(WAIT, [self._wire.transaction_to_json(trx, legacy=True)], trx, caller, WAIT_SECONDS_MAX)
        finally:
            self._waiting_slots.release_on_behalf_of(place)
        try:
            found = Inclusion(bytes.fromhex(given["id"]), int(given["block_num"]), int(given["trx_num"]), bool(given["expired"]))
        except PARSE_ERRORS:
            raise self._no_answer("its answer is malformed") from None
        with trio.move_on_after(HERE_SECONDS_MAX):
            await self._reached(found.block_num)
        return found

    async def push_blocks_from(self, path: str, count: int, skip_flags: int) -> int:
        """Refuse the call, since a replica applies only blocks of the followed node."""
        self._refuse()

    async def run_steps(self, steps: Iterator[object]) -> int:
        """Refuse the call, since it would change the chain."""
        self._refuse()

    async def in_turn(self, work: Callable[[], Result]) -> Result:
        """Refuse the call, since it can change the chain."""
        self._refuse()

    async def in_steps(self, work: Callable[[], Generator[None, None, Result]]) -> Result:
        """Run a read-only job in steps."""
        return await self._own.in_steps(work)

    async def in_copy(self, work: Callable[[], Result]) -> Result:
        """Refuse the call, as before any call that is not a read."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        text = "this node is a replica of ${url} and can't change its chain. Send this call to that node."
        raise Refused(text, condition="chain.is_own()", url=self._followed)

    async def _forward(
        self, method: str, params: Any, trx: SignedTransaction, caller: Caller, seconds_max: float = REPLY_SECONDS_MAX
    ) -> Any:
        """Forward a call that has a transaction or a block as parameter. If the call is refused, charge the sender here too, because a
        remote node attributes all calls to this replica.
        """
        allowances = self._own.allowances
        allowances.units_max(caller)
        try:
            # A node on the same machine uses the address to distinguish forwarded calls from the replica's own.
            return await self._call(method, params, seconds_max, "" if caller.is_local else caller.address)
        except UpstreamError as error:
            data = error.error.get("data")
            units = data.get("units") if isinstance(data, dict) else None
            if isinstance(data, dict) and "retry_after_seconds" in data and not allowances.is_used_up(caller):
                _log.warning(
                    "the block producer refuses this node's clients for a while. If it counts them as one client, start it with --proxy "
                    "and this node's address",
                    client=caller.address,
                )
            allowances.charge(caller, units if type(units) is int and units > 0 else refusal_units(trx.size), error)
            raise

    async def _call(self, method: str, params: Any, seconds_max: float = REPLY_SECONDS_MAX, forwarded_for: str = "") -> Any:
        if not self._url:
            text = (
                "this node follows ${url}, which accepts no transactions. Start it with --broadcast-to and the URL of the block producer."
            )
            raise Refused(text, condition="has_owner()", url=self._followed)
        try:
            async with connected(self._url, self._scheduler) as connection:
                return await connection.call(method, params, seconds_max=seconds_max, forwarded_for=forwarded_for)
        except RefusedCall as error:
            raise UpstreamError(error.error) from None
        except NodeError as error:
            raise self._no_answer(str(error)) from None

    def _no_answer(self, why: str) -> Refused:
        text = "the block producer doesn't answer, so it is unknown whether it accepted this: ${why}"
        return Refused(text, condition="owner.answers()", why=why)
