"""The page /metrics, in the text format of Prometheus. Metric families are built from plain numbers on each request.

The first request imports prometheus_client, so that the import doesn't delay the start. Nothing iterates over rows, so the time of a scrape
doesn't depend on the size of the state. Label values come from the code only, never from requests.
"""

import platform
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from node.devchain.producer import SlotOutcome
from node.monitoring.counters import Counters
from node.monitoring.health import Parts, not_producing, trouble
from node.runtime.metric_families import Value, counter, gauge, histogram
from node.version import VERSION
from rpc.http.pages import PageReply
from state.chain.pending import KEPT_SIZE, PENDING_SIZE_MAX
from state.plugins.operation_log import OperationLog
from state.store import AppendLists, Row, Table
from state.store.lazy.background_load import BackgroundLoadable
from state.tables import State

if TYPE_CHECKING:
    from prometheus_client import Metric

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
UNKNOWN = "unknown"  # the label of requests that call no method
SAMPLE_SIZE = 8  # rows from which the size of a row is estimated
KINDS = (Table, AppendLists, OperationLog)
ENTRY_SIZE = 120  # bytes of an index entry, estimated; lazy indices count as query memory
CONSENSUS = "chain"
# Deprecated names of version 0.1, which are still exported.
OLD_NAMES = {
    "coind_client_resources_limit": "coind_guests_held_max",
    "coind_client_resources_used": "coind_guests_held",
    "coind_loop_iteration_longest_processor_seconds": "coind_loop_turn_longest_processor_seconds",
    "coind_loop_iteration_longest_seconds": "coind_loop_turn_longest_seconds",
    "coind_loop_iteration_seconds": "coind_loop_turn_seconds",
}


class Metrics:
    """The page /metrics of a node. Calling the object returns the page."""

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
        """Yield all metric families. The registry calls this for each scrape, and when it registers this object, to find duplicate
        names.
        """
        parts = self._parts
        yield from node_families(parts)
        yield from chain_families(parts)
        yield from following_families(parts)
        yield from reader_families(parts)
        yield from counted(parts.counters)
        yield from with_old_names(queue_families(parts))
        yield from query_memory_families(parts)
        yield from work_families(parts)
        yield from with_old_names(loop_families(parts))
        yield from table_families(parts.chain.state)
        yield from disk_families(parts)
        yield counter("coind_log_lines_lost", "Lines of the log that could not be written", self._lines_lost())


# ------------------------------------------------------------------ the families


def with_old_names(families: "Iterable[Metric]") -> "Iterator[Metric]":
    """Yield all families, and a copy of each renamed family under its deprecated name."""
    from prometheus_client import Metric

    for family in families:
        yield family
        if (old := OLD_NAMES.get(family.name)) is not None:
            copy = Metric(old, f"Deprecated: {family.name}", family.type)
            copy.samples = [sample._replace(name=old + sample.name.removeprefix(family.name)) for sample in family.samples]
            yield copy


def node_families(parts: Parts) -> "Iterator[Metric]":
    """Yield the metrics of the program: its versions, its readiness and its block production."""
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
    yield gauge("coind_blocks_on_demand", "1 when the node makes blocks only on request or for a transaction, else 0", int(on_demand))
    yield gauge("coind_producing", "1 when the node produces blocks, else 0", int(producer is not None and not not_producing(parts)))
    if producer is not None:
        yield gauge("coind_next_block_seconds", "Time until the next slot that can get a block", producer.seconds_until_next())
        slots = [((outcome.name.lower(),), count) for outcome, count in producer.outcomes.items()]
        yield counter("coind_producer_slots", "Slots that the producer has processed, by outcome", labels=("outcome",), values=slots)
        yield counter("coind_blocks_produced", "Blocks that this node has produced", producer.outcomes[SlotOutcome.PRODUCED])


def chain_families(parts: Parts) -> "Iterator[Metric]":
    """Yield the metrics of the chain: the head, the last irreversible block and the pending transactions."""
    rest = parts.processor.summary
    yield gauge("coind_head_block_number", "Number of the head block", rest.head_block_number)
    yield gauge("coind_head_block_time_seconds", "Time of the head block, since 1970", rest.time)
    yield gauge("coind_head_block_age_seconds", "Age of the head block; negative if its time is later", parts.clock() / 1000 - rest.time)
    yield gauge("coind_last_irreversible_block_number", "Number of the last irreversible block", rest.last_irreversible_block_num)
    yield gauge("coind_transactions_pending", "Transactions that wait for a block", rest.pending)
    yield gauge("coind_transactions_pending_bytes", "Estimated memory of pending transactions", rest.pending_size)
    yield gauge("coind_transactions_pending_bytes_max", "Limit of that memory", PENDING_SIZE_MAX + KEPT_SIZE)


def following_families(parts: Parts) -> "Iterator[Metric]":
    """Yield the metrics of a replica about the node that it follows."""
    replica = parts.replica
    if replica is None:
        return
    yield gauge("coind_followed_head_block_number", "Number of the followed node's head", replica.head)
    yield gauge("coind_followed_blocks_behind", "Blocks that the followed node is ahead", replica.blocks_behind)
    yield gauge("coind_followed_silent_seconds", "Time since the last message from the followed node", replica.seconds_silent)
    unconfirmed = replica.seconds_unconfirmed
    yield gauge("coind_followed_unconfirmed_seconds", "Time since the followed node itself last confirmed its head", unconfirmed)
    yield counter("coind_followed_attempts", "Connection attempts to the followed node", replica.attempts)


def reader_families(parts: Parts) -> "Iterator[Metric]":
    """Yield the metrics of each process that answers reads: this process, which has number 0, and the reader processes, as in their last
    reports.
    """
    if parts.readers is None:
        return
    from node.replicas.readers.messages import Report

    own, limiter, allowances = parts.counters.calls.values(), parts.clients, parts.processor.allowances
    here = Report(
        number=parts.readers.number,
        connections=0 if limiter is None else limiter.used()["connections"][0],
        calls=sum(sum(each.counts) for each in own),
        seconds=sum(each.seconds for each in own),
        refused_units=sum(allowances.refused.values()),
        limited=allowances.limited,
    )
    reports = {"0": here} | {str(reader.number): reader.report for reader in parts.readers.each}

    def values(value: Callable[[Report], float]) -> dict[str, Any]:
        """Return the keyword arguments of a family that has one value per process."""
        return {"labels": ("process",), "values": [((name,), value(report)) for name, report in reports.items()]}

    ready = [(("0",), 1), *(((str(reader.number),), int(reader.is_ready)) for reader in parts.readers.each)]
    yield gauge("coind_process_ready", "1 when a process accepts connections; process 0 owns the chain", labels=("process",), values=ready)
    behind = values(lambda report: max(0, here.number - report.number))
    yield gauge("coind_process_behind", "Changes of the chain that a process has not reported yet", **behind)
    yield gauge("coind_process_connections", "Open connections of a process", **values(lambda report: report.connections))
    yield counter("coind_process_calls", "Calls that a process has answered from its chain", **values(lambda report: report.calls))
    yield counter("coind_process_call_seconds", "Time of these calls", **values(lambda report: report.seconds))
    refused, limited = values(lambda report: report.refused_units), values(lambda report: report.limited)
    yield counter("coind_process_refused_work_units", "Units of work of a process for refused requests", **refused)
    yield gauge("coind_process_clients_limited", "Client addresses that a process limits for that", **limited)
    memory = [((str(reader.number),), reader.report.memory) for reader in parts.readers.each]
    yield gauge("coind_process_memory_bytes", "Resident memory of a reader", labels=("process",), values=memory)


def counted(counters: Counters) -> "Iterator[Metric]":
    """Yield the metrics that count events since the start of the node."""
    yield counter("coind_blocks_applied", "Blocks applied", counters.blocks_applied)
    yield counter("coind_blocks_popped", "Blocks undone", counters.blocks_popped)
    yield counter("coind_fork_switches", "Switches to another branch", counters.switches)
    yield counter("coind_slots_missed", "Slots without a block between those of applied blocks", counters.slots_missed)
    yield histogram("coind_block_seconds", "Time to apply and write a block", [((), counters.block_seconds)])
    yield counter("coind_transactions_applied", "Transactions in applied blocks", counters.transactions_applied)
    yield counter("coind_transactions_accepted", "Transactions accepted from clients", counters.transactions_accepted)
    yield counter(
        "coind_transactions_refused",
        "Refused transactions of clients, by first operation and class of the refusal",
        labels=("operation", "reason"),
        values=counters.transactions_refused.items(),
    )
    refused = (((reason,), count) for reason, count in counters.blocks_refused.items())
    yield counter("coind_blocks_refused", "Refused blocks of clients", labels=("reason",), values=refused)
    calls = [((name or UNKNOWN,), durations) for name, durations in counters.calls.items()]
    yield histogram("coind_call_seconds", "Duration of calls by method; `unknown` stands for no known method", calls, ("method",))
    errors = (((name or UNKNOWN, reason), count) for (name, reason), count in counters.calls_refused.items())
    yield counter("coind_calls_refused", "Calls answered with an error", labels=("method", "reason"), values=errors)
    yield histogram("coind_disk_sync_seconds", "Time to sync the block log", [((), counters.sync_seconds)])


def queue_families(parts: Parts) -> "Iterator[Metric]":
    """Yield the lengths of the queues, and the resources that connections use."""
    waiting = [(("processor",), parts.processor.queue_length), (("inclusion",), parts.processor.waiting)]
    yield gauge("coind_queue_length", "Queued jobs of the processor, and calls waiting for a block", labels=("queue",), values=waiting)
    if parts.clients is not None:
        resources = parts.clients.used() | parts.memory.used()
        amounts = [((kind,), amount) for kind, (amount, _) in resources.items()]
        bounds = [((kind,), bound) for kind, (_, bound) in resources.items()]
        yield gauge("coind_client_resources_used", "Resources that connections use", labels=("kind",), values=amounts)
        yield gauge("coind_client_resources_limit", "Limits of these resources", labels=("kind",), values=bounds)
    yield gauge("coind_journal_records", "Records of the undo journal", len(parts.chain.state.journal))


def query_memory_families(parts: Parts) -> "Iterator[Metric]":
    """Yield the memory of what only reads need, and its limit."""
    memory = parts.chain.state.journal.read_mode.memory
    yield gauge("coind_query_memory_bytes", "Memory of what only reads need, for example sorted lists, estimated", memory.size)
    if memory.limit is not None:
        yield gauge("coind_query_memory_bytes_max", "Limit of that memory", memory.limit)
    yield counter("coind_query_memory_dropped", "Sorted lists and the like that were dropped because of the limit", memory.dropped)


def work_families(parts: Parts) -> "Iterator[Metric]":
    """Yield the units of work done, the units spent on refused requests, and the number of clients limited because of refused requests."""
    allowances = parts.processor.allowances
    yield counter("coind_work_units", "All units of work, of about 10 microseconds each", parts.chain.state.work.spent)
    yield counter(
        "coind_refused_work_units",
        "Units of work for refused requests, by kind of work (`any` if the refusal names none) and class of the refusal",
        labels=("kind", "reason"),
        values=allowances.refused.items(),
    )
    yield gauge("coind_clients_limited", "Client addresses whose limit is lower now because of refused requests", allowances.limited)


def loop_families(parts: Parts) -> "Iterator[Metric]":
    """Yield the durations of event loop iterations. While an iteration runs, no other request is served."""
    if parts.loop is not None:
        yield histogram("coind_loop_iteration_seconds", "Duration of event loop iterations", [((), parts.loop.iterations)])
        seconds, processor = parts.loop.longest()
        yield gauge("coind_loop_iteration_longest_seconds", "Longest iteration of the last one to two minutes", seconds)
        yield gauge(
            "coind_loop_iteration_longest_processor_seconds", "Most CPU time of an iteration in the last one to two minutes", processor
        )


def table_families(state: State) -> "Iterator[Metric]":
    """Yield the sizes of the tables of the chain and of the plugins.

    After a start from a snapshot some tables load in the background. Until then they are left out, since reading a table would load all of
    it at once.
    """
    rows: list[Value] = []
    sizes: list[Value] = []
    for owner, name, table in tables(state):
        if isinstance(table, BackgroundLoadable) and table.is_loading:
            continue
        rows.append(((owner, name), len(table)))
        if isinstance(table, Table):
            sizes.append(((owner, name), table_size(table)))
    labels = ("owner", "table")
    yield gauge("coind_table_rows", "Rows of a table, or keys of a list of histories", labels=labels, values=rows)
    yield gauge("coind_table_bytes", "Memory of a table, estimated from a few rows", labels=labels, values=sizes)


def disk_families(parts: Parts) -> "Iterator[Metric]":
    """Yield the size of the block log and the free space on its disk."""
    if parts.log is not None:
        yield gauge("coind_block_log_blocks", "Blocks in the block log", len(parts.log))
        yield gauge("coind_block_log_bytes", "Size of the block log", parts.log.size)
        failed = int(bool(parts.processor.failure))
        yield gauge("coind_block_log_failed", "1 when the block log can't be written, or lacks a block that another needs", failed)
    if parts.disk_space is not None and parts.disk_space.free is not None:
        yield gauge("coind_disk_free_bytes", "Free bytes on the disk of the data folder", parts.disk_space.free)


# ------------------------------------------------------------------ tables


def tables(state: State) -> Iterator[tuple[str, str, Table[Any] | AppendLists[Any, Any] | OperationLog]]:
    """Yield each table, append list and operation log with the name of its owner (the chain or a plugin) and its own name."""
    for owner, holder in ((CONSENSUS, state), *state.plugins.items()):
        if isinstance(holder, KINDS):
            yield owner, owner, holder
            continue
        for name, table in vars(holder).items():
            if isinstance(table, KINDS):
                yield owner, name.lstrip("_"), table


def table_size(table: Table[Any]) -> float:
    """Return the estimated size of all rows in bytes. That of packed rows is exact."""
    packed = table.packing
    return len(table) * row_size(table) if packed is None else len(packed.hot) * row_size(table) + packed.size


def row_size(table: Table[Any]) -> float:
    """Return the estimated size of a row in bytes, including its index entries."""
    rows = table.sample(SAMPLE_SIZE)
    return sum(map(size_of, rows)) / len(rows) + ENTRY_SIZE * (1 + table.index_count) if rows else 0


def size_of(row: Row) -> int:
    """Return the size in bytes of a row and of its fields' values, without the objects inside the values."""
    return sys.getsizeof(row) + sum(sys.getsizeof(getattr(row, name)) for name in row.__struct_fields__)
