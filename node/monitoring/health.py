"""The page /health: whether the node works, and the reason if it doesn't. It never awaits."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from node.devchain.producer import Producer
from node.monitoring.counters import Counters
from node.monitoring.disk_space import DiskSpace
from node.monitoring.event_loop import EventLoopMonitor
from node.processor.processor import Processor
from node.runtime.clock import ChainClock
from node.storage.blocklog import BlockLog
from rpc.fork import Fork
from rpc.http.connection_limits import ConnectionLimiter
from rpc.http.pages import PageReply
from rpc.json.encoding import encoded
from rpc.jsonrpc.memory import MemoryLimiter
from state.chain.chain import Chain
from state.chain.pending import KEPT_SIZE, PENDING_SIZE_MAX
from state.protocol.values.text import time_text

if TYPE_CHECKING:
    from node.replicas.follow.replica_task import ReplicaTask
    from node.replicas.readers.pool import ReaderPool

OK, UNAVAILABLE = 200, 503
NOT_ENABLED = "it was started without (--no-produce, a chain spec without witness_keys, or replay)"


class Parts(Struct, kw_only=True):
    """The components of a running node that /health and /metrics report on. `ending` returns the reason for the shutdown, or ""."""

    chain: Chain
    clock: ChainClock
    counters: Counters
    processor: Processor
    ending: Callable[[], str]
    clients: ConnectionLimiter | None = None
    memory: MemoryLimiter = field(default_factory=MemoryLimiter)
    producer: Producer | None = None
    replica: "ReplicaTask | None" = None
    readers: "ReaderPool | None" = None
    log: BlockLog | None = None
    disk_space: DiskSpace | None = None
    loop: EventLoopMonitor | None = None
    fork: Fork | None = None


def trouble(parts: Parts) -> str:
    """Return the reason why the node doesn't work, or ""."""
    idle = not_producing(parts)
    return parts.ending() or parts.processor.failure or (idle and f"no block is produced: {idle}") or not_following(parts)


def not_following(parts: Parts) -> str:
    """Return the reason why a replica is out of sync, or ""."""
    return "" if parts.replica is None else parts.replica.trouble()


def not_producing(parts: Parts) -> str:
    """Return the reason why a node that should produce blocks doesn't, or ""."""
    return "" if parts.producer is None else parts.producer.trouble()


def health(parts: Parts) -> PageReply:
    """Return the reply to GET /health. Its status is 503 if the node doesn't work."""
    reason = trouble(parts)
    shown = members(parts, reason)
    return PageReply(encoded(shown), UNAVAILABLE if reason else OK)


def members(parts: Parts, reason: str) -> dict[str, Any]:
    """Return the fields of the reply's JSON object, including `reason`."""
    spec, rest, producer = parts.chain.state.spec, parts.processor.summary, parts.producer
    memory = parts.chain.state.journal.read_mode.memory
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
            "query_memory_bytes": memory.size,
            "query_memory_bytes_max": memory.limit,
            "producing": not because,
            "not_producing_because": because,
            "last_slot": None if producer is None else producer.outcome.name.lower(),
            "seconds_until_next_block": None if producer is None else producer.seconds_until_next(),
            "block_log": log_members(parts),
        }
        | following_members(parts)
        | fork_members(parts)
        | reader_members(parts)
    )


def reader_members(parts: Parts) -> dict[str, Any]:
    """Return the reply's field about reader processes, with their last reports. The result is empty for a node without reader processes."""
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
            "connections_handed_on": reader.connections,
            "calls": reader.report.calls,
            "memory_bytes": reader.report.memory,
        }
        for reader in parts.readers.each
    ]
    return {"readers": shown}


def following_members(parts: Parts) -> dict[str, Any]:
    """Return the reply's field about the followed node. The result is empty for a node that isn't a replica."""
    replica = parts.replica
    if replica is None:
        return {}
    shown = {
        "url": replica.url,
        "head_block_number": replica.head,
        "blocks_behind": replica.blocks_behind,
        "seconds_since_heard": round(replica.seconds_silent, 3),
        "seconds_unconfirmed": round(replica.seconds_unconfirmed, 3),
        "problem": replica.problem,
    }
    return {"following": shown}


def fork_members(parts: Parts) -> dict[str, Any]:
    """Return the reply's field about the source of a forked chain. The result is empty for other chains."""
    fork = parts.fork
    if fork is None:
        return {}
    last = fork.fetches[0] if fork.fetches else None
    shown = {
        "source": fork.origin.source,
        "block_num": fork.origin.number,
        "block_id": fork.origin.block_id,
        "time": time_text(fork.origin.time),
        "is_complete": fork.origin.is_complete,
        "is_on_demand": fork.is_on_demand,
        "fetches": fork.fetch_count,
        "failed_fetches": fork.failed_count,
        "fetched_rows": fork.row_count,
        "fetched_bytes": fork.byte_count,
        "last_fetch": last and {"time": time_text(last.time), "what": last.what, "error": last.error},
        "mirrored": fork.mirrored,
    }
    return {"fork": shown}


def log_members(parts: Parts) -> dict[str, Any]:
    """Return the reply's fields about the block log and its disk."""
    if parts.log is None:
        return {"state": "none"}
    return {
        "state": "failed" if parts.processor.failure else "ok",
        "blocks": len(parts.log),
        "disk_free_bytes": None if parts.disk_space is None else parts.disk_space.free,
    }
