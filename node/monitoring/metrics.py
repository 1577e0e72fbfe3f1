"""The page /metrics, in the text format of Prometheus. The families are made from plain numbers when somebody asks.

prometheus_client is loaded by the first request: the start must not wait for it. Nothing here walks over rows, so that a scrape takes the
same time whatever the size of the state. Labels have values from our own code only, never from requests.
"""

import platform
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from node.devchain.producer import SlotOutcome
from node.monitoring.counters import Counters
from node.monitoring.health import Parts, not_producing, trouble
from node.runtime.metric_families import Value, counter, gauge, histogram, items
from node.version import VERSION
from rpc.http.asgi_app import PageReply
from state.chain.pending import KEPT_SIZE, PENDING_SIZE_MAX
from state.plugins.operation_log import OperationLog
from state.store import AppendLists, Row, Table
from state.store.lazy.background_load import BackgroundLoadable
from state.tables import State

if TYPE_CHECKING:
    from prometheus_client import Metric

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
UNKNOWN = "unknown"  # the label of requests that call no method
SAMPLE_SIZE = 8  # rows that a row's size is guessed from
KINDS = (Table, AppendLists, OperationLog)
ENTRY_SIZE = 120  # bytes of an entry in an index, about
CONSENSUS = "chain"
# The names of version 0.1, which this version still shows.
OLD_NAMES = {
    "coind_client_resources_limit": "coind_guests_held_max",
    "coind_client_resources_used": "coind_guests_held",
    "coind_loop_iteration_longest_processor_seconds": "coind_loop_turn_longest_processor_seconds",
    "coind_loop_iteration_longest_seconds": "coind_loop_turn_longest_seconds",
    "coind_loop_iteration_seconds": "coind_loop_turn_seconds",
}


class Metrics:
    """The page /metrics of a node, which a call returns."""

    def __init__(self, parts: Parts, lines_lost: Callable[[], int] = lambda: 0) -> None:
        self._parts = parts
        self._lines_lost = lines_lost
        self._registry: Any = None

    def __call__(self) -> PageReply:
        """Return the reply to GET /metrics."""
        from prometheus_client import CollectorRegistry, GCCollector, ProcessCollector, generate_latest

        if self._registry is None:
            self._registry = CollectorRegistry()
            self._registry.register(self)
            ProcessCollector(registry=self._registry)
            GCCollector(registry=self._registry)
        return PageReply(generate_latest(self._registry), content_type=CONTENT_TYPE)

    def collect(self) -> "Iterator[Metric]":
        """Yield all families; the registry asks for them. It also does when we register, so that names can't be double."""
        parts = self._parts
        yield from node_families(parts)
        yield from chain_families(parts)
        yield from following_families(parts)
        yield from reader_families(parts)
        yield from counted(parts.counters)
        yield from with_old_names(queue_families(parts))
        yield from work_families(parts)
        yield from with_old_names(loop_families(parts))
        yield from table_families(parts.chain.state)
        yield from disk_families(parts)
        yield counter("coind_log_lines_lost", "Lines of the log that could not be written", self._lines_lost())


# ------------------------------------------------------------------ the families


def with_old_names(families: "Iterable[Metric]") -> "Iterator[Metric]":
    """Yield families, each also under its deprecated name, if it has one."""
    from prometheus_client import Metric

    for family in families:
        yield family
        if (old := OLD_NAMES.get(family.name)) is not None:
            copy = Metric(old, f"Deprecated: {family.name}", family.type)
            copy.samples = [sample._replace(name=old + sample.name.removeprefix(family.name)) for sample in family.samples]
            yield copy


def node_families(parts: Parts) -> "Iterator[Metric]":
    """Yield the versions, readiness and production."""
    spec = parts.chain.state.spec
    yield gauge(
        "coind_build_info",
        "1, with the versions and the chain as labels",
        labels=("version", "python", "chain", "chain_id"),
        values=[((VERSION, platform.python_version(), spec.name, spec.chain_id.hex()), 1)],
    )
    yield gauge("coind_ready", "1 when /health has no trouble to report, else 0", int(not trouble(parts)))
    producer = parts.producer
    on_demand = producer is not None and bool(producer.idle())
    yield gauge("coind_blocks_on_demand", "1 when the node makes blocks only when asked, or for a transaction; else 0", int(on_demand))
    yield gauge("coind_producing", "1 when the node produces blocks, else 0", int(producer is not None and not not_producing(parts)))
    if producer is not None:
        yield gauge("coind_next_block_seconds", "Time until the next slot that can get a block", producer.seconds_until_next())
        slots = [((outcome.name.lower(),), float(count)) for outcome, count in producer.outcomes.items()]
        yield counter("coind_producer_slots", "Slots that the producer has looked at, by outcome", labels=("outcome",), values=slots)
        yield counter("coind_blocks_produced", "Blocks that this node has produced", producer.outcomes[SlotOutcome.PRODUCED])


def chain_families(parts: Parts) -> "Iterator[Metric]":
    """Yield the head, the last irreversible block and the pending transactions."""
    rest = parts.processor.summary
    yield gauge("coind_head_block_number", "Number of the head block", rest.head_block_number)
    yield gauge("coind_head_block_time_seconds", "Time of the head block, since 1970", rest.time)
    yield gauge("coind_head_block_age_seconds", "How old the head block is; negative when it is ahead", parts.clock() / 1000 - rest.time)
    yield gauge("coind_last_irreversible_block_number", "Number of the last irreversible block", rest.last_irreversible_block_num)
    yield gauge("coind_transactions_pending", "Transactions that wait for a block", rest.pending)
    yield gauge("coind_transactions_pending_bytes", "Memory that they hold, estimated", rest.pending_size)
    yield gauge("coind_transactions_pending_bytes_max", "How much they may hold", PENDING_SIZE_MAX + KEPT_SIZE)


def following_families(parts: Parts) -> "Iterator[Metric]":
    """Yield where the followed node is."""
    replica = parts.replica
    if replica is None:
        return
    yield gauge("coind_followed_head_block_number", "Number of the followed node's head", replica.head)
    yield gauge("coind_followed_blocks_behind", "Blocks that the followed node is ahead", replica.blocks_behind)
    yield gauge("coind_followed_silent_seconds", "How long ago the followed node was heard of", replica.seconds_silent)
    unconfirmed = replica.seconds_unconfirmed
    yield gauge("coind_followed_unconfirmed_seconds", "How long ago the followed node itself said where its head is", unconfirmed)
    yield counter("coind_followed_attempts", "How often the following has begun", replica.attempts)


def reader_families(parts: Parts) -> "Iterator[Metric]":
    """Yield how each process is that answers reads, this one included as 0, from what it has reported last."""
    if parts.readers is None:
        return
    own, limiter = parts.counters.calls.values(), parts.clients
    connections = 0 if limiter is None else limiter.used()["connections"][0]
    made, seconds = sum(sum(each.counts) for each in own), sum(each.seconds for each in own)
    allowances = parts.processor.allowances
    shown: dict[str, tuple[float, ...]] = {
        "0": (1, 0, connections, made, seconds, sum(allowances.refused.values()), allowances.limited, 0),
    }
    for reader in parts.readers.each:
        said = reader.report
        behind = max(0, parts.readers.number - said.number)
        shown[str(reader.number)] = (
            int(not reader.problem),
            behind,
            said.connections,
            said.calls,
            said.seconds,
            said.refused_units,
            said.limited,
            said.memory,
        )
    labels = ("process",)
    values: list[list[Value]] = [[((name,), row[place]) for name, row in shown.items()] for place in range(8)]
    yield gauge("coind_process_ready", "1 when a process takes connections: 0 is the owner of the chain", labels=labels, values=values[0])
    yield gauge("coind_process_behind", "Changes of the chain that it had not reported yet", labels=labels, values=values[1])
    yield gauge("coind_process_connections", "Open connections of a process", labels=labels, values=values[2])
    yield counter("coind_process_calls", "Calls that a process has answered from its chain", labels=labels, values=values[3])
    yield counter("coind_process_call_seconds", "Time that these took", labels=labels, values=values[4])
    yield counter("coind_process_refused_work_units", "Units of work that it has spent on what it refused", labels=labels, values=values[5])
    yield gauge("coind_process_clients_limited", "Client addresses that it limits for that", labels=labels, values=values[6])
    yield gauge("coind_process_memory_bytes", "Resident memory of a reader", labels=labels, values=values[7][1:])


def counted(counters: Counters) -> "Iterator[Metric]":
    """Yield the counters since the start."""
    yield counter("coind_blocks_applied", "Blocks applied", counters.blocks_applied)
    yield counter("coind_blocks_popped", "Blocks undone", counters.blocks_popped)
    yield counter("coind_fork_switches", "Switches to another branch", counters.switches)
    yield counter("coind_slots_missed", "Slots without a block between those of applied blocks", counters.slots_missed)
    yield histogram("coind_block_seconds", "Time that a block took, with writing it", [((), counters.block_seconds)])
    yield counter("coind_transactions_applied", "Transactions in applied blocks", counters.transactions_applied)
    yield counter("coind_transactions_accepted", "Transactions taken from clients", counters.transactions_accepted)
    yield counter(
        "coind_transactions_refused",
        "Transactions of clients that were refused, by their first operation and the class of the refusal",
        labels=("operation", "reason"),
        values=items(counters.transactions_refused.items()),
    )
    refused = (((reason,), count) for reason, count in counters.blocks_refused.items())
    yield counter("coind_blocks_refused", "Blocks of clients that were refused", labels=("reason",), values=items(refused))
    calls = [((name or UNKNOWN,), durations) for name, durations in counters.calls.items()]
    yield histogram("coind_call_seconds", "Calls by method, and how long they took; `unknown` is what called no method", calls, ("method",))
    errors = (((name or UNKNOWN, reason), count) for (name, reason), count in counters.calls_refused.items())
    yield counter("coind_calls_refused", "Calls answered with an error", labels=("method", "reason"), values=items(errors))
    yield histogram("coind_disk_sync_seconds", "Time that syncing the block log took", [((), counters.sync_seconds)])


def queue_families(parts: Parts) -> "Iterator[Metric]":
    """Yield the lengths of queues, and what connections hold."""
    waiting = [(("processor",), float(parts.processor.queue_length)), (("inclusion",), float(parts.processor.waiting))]
    yield gauge("coind_queue_length", "Jobs for the chain that wait, and calls that wait for a block", labels=("queue",), values=waiting)
    if parts.clients is not None:
        held = parts.clients.used()
        amounts = [((kind,), float(amount)) for kind, (amount, _) in held.items()]
        bounds = [((kind,), float(bound)) for kind, (_, bound) in held.items()]
        yield gauge("coind_client_resources_used", "What connections hold", labels=("kind",), values=amounts)
        yield gauge("coind_client_resources_limit", "How much of it they may hold", labels=("kind",), values=bounds)
    yield gauge("coind_journal_records", "Writes that can be undone", len(parts.chain.state.journal))


def work_families(parts: Parts) -> "Iterator[Metric]":
    """Yield the work that was done, what of it was refused, and who is limited for that."""
    allowances = parts.processor.allowances
    yield counter("coind_work_units", "Units of work, of about 10 microseconds each, whatever they were for", parts.chain.state.work.spent)
    yield counter(
        "coind_refused_work_units",
        "Units that were spent on what was refused, by kind of work, `any` where the refusal names none, and the class of the refusal",
        labels=("kind", "reason"),
        values=items(allowances.refused.items()),
    )
    yield gauge("coind_clients_limited", "Client addresses whose limit is lower now, as what they sent was refused", allowances.limited)


def loop_families(parts: Parts) -> "Iterator[Metric]":
    """Yield how long the turns of the event loop take, in which nobody else is served."""
    if parts.loop is not None:
        yield histogram("coind_loop_iteration_seconds", "Turns of the event loop", [((), parts.loop.iterations)])
        seconds, processor = parts.loop.longest()
        yield gauge("coind_loop_iteration_longest_seconds", "The longest turn of the last minute or two", seconds)
        yield gauge(
            "coind_loop_iteration_longest_processor_seconds", "The most processor time of a turn in the last minute or two", processor
        )


def table_families(state: State) -> "Iterator[Metric]":
    """Yield the sizes of tables: those of the chain, and those of the plugins.

    After a start from a snapshot some are filled little by little; until then they are left out, since asking would fill them at once.
    """
    rows: list[Value] = []
    sizes: list[Value] = []
    for owner, name, kept in tables(state):
        if isinstance(kept, BackgroundLoadable) and kept.is_loading:
            continue
        rows.append(((owner, name), len(kept)))
        if isinstance(kept, Table):
            sizes.append(((owner, name), len(kept) * row_size(kept)))
    labels = ("owner", "table")
    yield gauge("coind_table_rows", "Rows of a table, keys of a list of histories", labels=labels, values=rows)
    yield gauge("coind_table_bytes", "Memory of a table, guessed from a few of its rows", labels=labels, values=sizes)


def disk_families(parts: Parts) -> "Iterator[Metric]":
    """Yield the block log and the room on its disk."""
    if parts.log is not None:
        yield gauge("coind_block_log_blocks", "Blocks in the block log", len(parts.log))
        yield gauge("coind_block_log_bytes", "Size of the block log", parts.log.size)
        yield gauge("coind_block_log_failed", "1 when the block log can't be written", int(bool(parts.processor.failure)))
    if parts.disk_space is not None and parts.disk_space.free is not None:
        yield gauge("coind_disk_free_bytes", "Free bytes on the disk of the data folder", parts.disk_space.free)


# ------------------------------------------------------------------ tables


def tables(state: State) -> Iterator[tuple[str, str, Table[Any] | AppendLists[Any, Any] | OperationLog]]:
    """Yield all tables, lists and records with the name of their owner, the chain or a plugin, and their own."""
    for owner, holder in ((CONSENSUS, state), *state.plugins.items()):
        if isinstance(holder, KINDS):
            yield owner, owner, holder
            continue
        for name, kept in vars(holder).items():
            if isinstance(kept, KINDS):
                yield owner, name.lstrip("_"), kept


def row_size(table: Table[Any]) -> float:
    """Return about how many bytes a row of a table takes, with its entries in indices."""
    rows = table.sample(SAMPLE_SIZE)
    return sum(map(size_of, rows)) / len(rows) + ENTRY_SIZE * (1 + table.index_count) if rows else 0


def size_of(row: Row) -> int:
    """Return the bytes of a row and of what its fields hold, one level deep."""
    return sys.getsizeof(row) + sum(sys.getsizeof(getattr(row, name)) for name in row.__struct_fields__)


# ------------------------------------------------------------------ making families
