"""The page /health: whether the node does what it was started for, and if not why. It must not know HTTP, and awaits nothing."""

import socket
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from node.clock import ChainClock
from node.driving.producer import Producer
from node.processor import Processor
from node.storage.blocklog import BlockLog
from node.watch.counters import Counters
from node.watch.loop import LoopTurns
from node.watch.room import Room
from rpc.service.encoding import encoded
from rpc.service.envelope import Service
from rpc.service.transport.asgi import PageReply
from rpc.service.transport.guests import Guests
from state.chain.chain import Chain
from state.chain.pending import KEPT_SIZE, PENDING_SIZE_MAX
from state.protocol.values.text import time_text

if TYPE_CHECKING:
    from node.readers.messages import Report

OK, UNAVAILABLE = 200, 503
NOT_ENABLED = "it was started without (--no-produce, a chain spec without witness_keys, or replay)"


class Following(Protocol):
    """The task that keeps this node where another one is."""

    @property
    def url(self) -> str:
        """What is followed."""

    @property
    def head(self) -> int:
        """The number of the other node's head, as far as is known."""

    @property
    def blocks_behind(self) -> int:
        """How many blocks the other node is ahead."""

    @property
    def seconds_silent(self) -> float:
        """How long ago the other node was heard of."""

    @property
    def seconds_unconfirmed(self) -> float:
        """How long ago the other node itself said where its head is; infinite where it never did."""

    @property
    def problem(self) -> str:
        """Why nothing comes now; empty while all is well."""

    @property
    def attempts(self) -> int:
        """How often the following has begun."""

    def trouble(self) -> str:
        """Return why this node isn't where the other one is; empty as long as it is."""

    async def reached(self, number: int) -> None:
        """Wait until a block is here."""

    async def run(self) -> None:
        """Follow until cancelled."""


class Reader(Protocol):
    """A process that answers reads beside this one."""

    number: int
    pid: int
    starts: int
    handed: int
    problem: str
    report: "Report"


class Readers(Protocol):
    """All of them."""

    @property
    def each(self) -> Sequence[Reader]:
        """Their places."""

    @property
    def number(self) -> int:
        """The number of the last message that they were sent about the chain."""

    def serve(self, service: Service, pages: dict[str, Callable[[], PageReply]]) -> None:
        """Answer what they pass on by a service, and show these pages."""

    def refuse(self, said: bytes) -> None:
        """Tell their subscribers of a refusal."""

    def hand_on(self, line: socket.socket, peer: Any) -> bool:
        """Hand a connection to one of them, or don't; whether that was done."""

    def stop(self) -> None:
        """Have them end in order."""

    async def stopped(self) -> None:
        """Wait until they have ended."""

    async def ready(self) -> None:
        """Wait until they answer, for a bounded time."""

    async def run(self) -> None:
        """Keep them running until cancelled."""


class Parts(Struct, kw_only=True):
    """The parts of a running node that its pages show; `ending` says why it is about to end, "" as long as it isn't."""

    chain: Chain
    clock: ChainClock
    counters: Counters
    processor: Processor
    ending: Callable[[], str]
    guests: Guests | None = None
    producer: Producer | None = None
    following: Following | None = None
    readers: Readers | None = None
    log: BlockLog | None = None
    room: Room | None = None
    loop: LoopTurns | None = None


def trouble(parts: Parts) -> str:
    """Return why the node doesn't do what it was started for, in words; empty as long as it does."""
    idle = not_producing(parts)
    return parts.ending() or parts.processor.failure or (idle and f"no block is produced: {idle}") or not_following(parts)


def not_following(parts: Parts) -> str:
    """Return why a node that should be where another one is isn't; empty when it is or needn't."""
    return "" if parts.following is None else parts.following.trouble()


def not_producing(parts: Parts) -> str:
    """Return why a node that should produce doesn't; empty when it does or needn't."""
    return "" if parts.producer is None else parts.producer.trouble()


def health(parts: Parts) -> PageReply:
    """Return the reply to GET /health; its status is an error's when there is trouble."""
    reason = trouble(parts)
    shown = members(parts, reason)
    return PageReply(encoded(shown), UNAVAILABLE if reason else OK)


def members(parts: Parts, reason: str) -> dict[str, Any]:
    """Return the members of the reply, with the reason of trouble."""
    spec, rest, producer = parts.chain.state.spec, parts.processor.rest, parts.producer
    because = NOT_ENABLED if producer is None else producer.trouble() or producer.idle()
    return (
        {
            "status": "error" if reason else "ok",
            "reason": reason,
            "ready": not reason,
            "chain": spec.name,
            "chain_id": spec.chain_id.hex(),
            "head_block_number": rest.head_block_number,
            "head_block_id": rest.head_block_id.hex(),
            "head_block_time": time_text(rest.time),
            "head_block_age_seconds": parts.clock() // 1000 - rest.time,
            "clock_ahead_seconds": parts.clock.ahead_ms // 1000,
            "clock_set_back_seconds": parts.clock.behind_ms // 1000,
            "last_irreversible_block_num": rest.last_irreversible_block_num,
            "pending_transactions": rest.pending,
            "pending_bytes": rest.pending_size,
            "pending_bytes_max": PENDING_SIZE_MAX + KEPT_SIZE,
            "producing": not because,
            "not_producing_because": because,
            "last_slot": None if producer is None else producer.outcome.name.lower(),
            "seconds_until_next_block": None if producer is None else producer.seconds_until_next(),
            "block_log": log_members(parts),
        }
        | following_members(parts)
        | reader_members(parts)
    )


def reader_members(parts: Parts) -> dict[str, Any]:
    """Return the member that shows the readers, with what each has reported last; none for a node without."""
    if parts.readers is None:
        return {}
    shown = [
        {
            "reader": reader.number,
            "pid": reader.pid,
            "status": "error" if reader.problem else "ok",
            "reason": reader.problem,
            "starts": reader.starts,
            "connections": reader.report.connections,
            "connections_handed_on": reader.handed,
            "calls": reader.report.calls,
            "memory_bytes": reader.report.memory,
        }
        for reader in parts.readers.each
    ]
    return {"readers": shown}


def following_members(parts: Parts) -> dict[str, Any]:
    """Return the member that shows what is followed; none for a node that follows nobody."""
    following = parts.following
    if following is None:
        return {}
    shown = {
        "url": following.url,
        "head_block_number": following.head,
        "blocks_behind": following.blocks_behind,
        "seconds_since_heard": round(following.seconds_silent, 3),
        "seconds_unconfirmed": round(following.seconds_unconfirmed, 3),
        "problem": following.problem,
    }
    return {"following": shown}


def log_members(parts: Parts) -> dict[str, Any]:
    """Return the members that show the block log and its disk."""
    if parts.log is None:
        return {"state": "none"}
    return {
        "state": "failed" if parts.processor.failure else "ok",
        "blocks": len(parts.log),
        "disk_free_bytes": None if parts.room is None else parts.room.free,
    }
