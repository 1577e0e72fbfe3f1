"""The page /metrics: its values, its format, and the absence of client data in labels."""

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import trio
from prometheus_client.parser import text_string_to_metric_families

from node.app.service import new_service
from node.devchain.devchain import DevChain
from node.devchain.producer import Producer, SlotOutcome
from node.monitoring.counters import Counters
from node.monitoring.health import Parts
from node.monitoring.metrics import CONTENT_TYPE, Metrics, row_size, tables
from node.processor.processor import Processor
from node.runtime.clock import ChainClock
from rpc.caller import LOCAL, Caller
from rpc.http.connection_limits import ConnectionLimiter, ConnectionLimits
from rpc.jsonrpc.allowance import ALLOWANCE_UNITS
from rpc.jsonrpc.memory import REMOTE_SIZE_MAX
from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.plugins.registry import enable
from state.protocol.work import TooMuchWork
from state.store import Table
from state.store.lazy.background_load import BackgroundLoad
from tests.conftest import ROOT
from tests.helpers.nodes import DEV, SECRET, START, make_block, transfer


def clock() -> int:
    """Return a fixed time."""
    return START * 1000


def node() -> Parts:
    """Return the components of a node at genesis with all plugins."""
    chain = Chain(new_state(DEV, lambda state: enable(state, DEV.plugins)))
    processor = Processor(chain, clock=ChainClock(clock))
    counters = Counters(chain, clock)
    counters.attach()
    processor.on_pushed.append(counters.pushed)
    producer = Producer(processor, DevChain(chain, ChainClock(clock), [SECRET]), is_stale_allowed=True)
    limiter = ConnectionLimiter(ConnectionLimits(connections=4, requests=3, sockets=2))
    return Parts(
        chain=chain, clock=ChainClock(clock), counters=counters, processor=processor, clients=limiter, ending=lambda: "", producer=producer
    )


def samples(page: Metrics) -> Iterator[Any]:
    """Yield all samples of the page, as Prometheus's parser returns them."""
    reply = page()
    assert (reply.status, reply.content_type) == (200, CONTENT_TYPE)
    for family in text_string_to_metric_families(reply.body.decode()):
        assert family.documentation
        yield from family.samples


def values(page: Metrics) -> dict[str, float]:
    """Return the values of the page, keyed by name (without `coind_`) and labels."""
    found: dict[str, float] = {}
    for sample in samples(page):
        labels = ",".join(f"{key}={value}" for key, value in sorted(sample.labels.items()))
        name = sample.name.removeprefix("coind_") + (f"{{{labels}}}" if labels else "")
        assert name not in found
        found[name] = sample.value
    return found


def test_a_fresh_node_has_chain_and_process_metrics() -> None:
    found = values(Metrics(node()))
    assert found["ready"] == found["producing"] == 1
    assert found["head_block_number"] == found["blocks_applied_total"] == 0
    assert found["table_rows{owner=chain,table=accounts}"] == 5 + len(DEV.genesis.accounts)
    assert found["table_bytes{owner=chain,table=accounts}"] > 1000
    assert found["process_resident_memory_bytes"] > 10_000_000
    assert found["python_gc_collections_total{generation=2}"] >= 0
    assert [name for name in found if name.startswith("build_info{chain=dev")]
    assert "block_log_bytes" not in found
    assert found["client_resources_used{kind=connections}"] == 0
    assert found["client_resources_limit{kind=requests}"] == 3
    assert (found["client_resources_used{kind=bytes}"], found["client_resources_used{kind=remote_bytes}"]) == (0, 0)
    assert found["client_resources_limit{kind=remote_bytes}"] == REMOTE_SIZE_MAX


def test_the_start_does_not_load_the_library() -> None:
    code = "import sys, node.cli.run_options; print('prometheus_client' in sys.modules, 'node.monitoring.metrics' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment).stdout
    assert said == "False True\n"


def test_blocks_and_transactions_are_counted() -> None:
    parts = node()
    page = Metrics(parts)
    make_block(parts.chain)
    parts.chain.push_transaction(transfer(parts.chain))
    assert values(page)["transactions_pending"] == 1
    make_block(parts.chain, 3)
    found = values(page)
    assert (found["head_block_number"], found["blocks_applied_total"], found["slots_missed_total"]) == (2, 2, 3)
    assert (found["transactions_pending"], found["transactions_applied_total"]) == (0, 1)
    assert found["head_block_age_seconds"] == START - parts.chain.state.props.time
    assert found["block_seconds_bucket{le=+Inf}"] == found["block_seconds_count"] == 2
    assert found["block_seconds_sum"] > 0


def test_work_refused_work_and_limited_clients_are_shown() -> None:
    parts = node()
    page = Metrics(parts)
    make_block(parts.chain)
    before = values(page)
    parts.chain.push_transaction(transfer(parts.chain))
    parts.processor.allowances.charge(Caller("10.0.0.1", "far"), ALLOWANCE_UNITS, TooMuchWork("a call", 10, {"keys": 11}))
    found = values(page)
    assert found["work_units_total"] - before["work_units_total"] == parts.chain.pending[0].units
    assert found["refused_work_units_total{kind=keys,reason=TooMuchWork}"] == 11
    assert found["clients_limited"] == 1 > before["clients_limited"]
    assert found["transactions_pending_bytes_max"] > found["transactions_pending_bytes"] > before["transactions_pending_bytes"] == 0


def test_the_producer_is_shown() -> None:
    parts = node()
    assert parts.producer is not None
    parts.producer.record_outcome(SlotOutcome.PRODUCED)
    for _ in range(3):
        parts.producer.record_outcome(SlotOutcome.LAG)
    found = values(Metrics(parts))
    assert found["producer_slots_total{outcome=lag}"] == 3
    assert found["blocks_produced_total"] == 1
    assert found["ready"] == found["producing"] == 0


async def test_calls_are_counted_by_method_and_labels_hold_no_client_data() -> None:
    parts = node()
    page = Metrics(parts)
    service = new_service(
        parts.chain, parts.processor, DevChain(parts.chain, ChainClock(clock)), DEV.plugins, observe=parts.counters.observe
    )
    bodies = (
        b'{"jsonrpc":"2.0","id":1,"method":"condenser_api.get_accounts","params":[["alice"]]}',
        b'{"jsonrpc":"2.0","id":1,"method":"call","params":["condenser_api","get_accounts",[["alice"]]]}',
        b'{"jsonrpc":"2.0","id":1,"method":"condenser_api.get_accounts","params":[["evil"],["evil"]]}',
        b'{"jsonrpc":"2.0","id":1,"method":"evil_api.evil"}',
        b'{"jsonrpc":"evil"}',
        b'"evil"',
        b"evil",
        b"[]",
        b'[{"jsonrpc":"2.0","id":1,"method":"call","params":"evil"}]',
    )
    for body in bodies:
        reply = service.answer(body, LOCAL)
        if not isinstance(reply, bytes):
            await reply
    text = page().body.decode()
    assert "evil" not in text
    found = values(page)
    assert found["call_seconds_count{method=condenser_api.get_accounts}"] == 3
    assert found["call_seconds_bucket{le=10.0,method=condenser_api.get_accounts}"] == 3
    assert found["call_seconds_count{method=unknown}"] == 6
    assert sum(value for name, value in found.items() if name.startswith("calls_refused_total")) == 7
    assert found["calls_refused_total{method=unknown,reason=InvalidRequest}"] == 2


async def test_a_waiting_method_is_counted_when_it_ends(nursery: trio.Nursery) -> None:
    parts = node()
    nursery.start_soon(parts.processor.run)
    service = new_service(
        parts.chain, parts.processor, DevChain(parts.chain, ChainClock(clock)), DEV.plugins, observe=parts.counters.observe
    )
    body = b'{"jsonrpc":"2.0","id":1,"method":"debug_node_api.debug_generate_blocks","params":{"debug_key":"%s","count":2}}'
    reply = service.answer(body % DEV.witness_keys[0].encode(), LOCAL)
    assert not isinstance(reply, bytes)
    assert "call_seconds_count{method=debug_node_api.debug_generate_blocks}" not in values(Metrics(parts))
    await reply
    found = values(Metrics(parts))
    assert found["call_seconds_count{method=debug_node_api.debug_generate_blocks}"] == 1
    assert found["blocks_applied_total"] == 2


def test_refusals_of_pushes_are_shown() -> None:
    parts = node()
    counters = parts.counters
    counters.transactions_refused["transfer", "Refused"] += 2
    counters.blocks_refused["UnlinkableBlock"] += 1
    found = values(Metrics(parts, lambda: 7))
    assert found["transactions_refused_total{operation=transfer,reason=Refused}"] == 2
    assert found["blocks_refused_total{reason=UnlinkableBlock}"] == 1
    assert found["log_lines_lost_total"] == 7


def test_every_table_has_a_unique_name() -> None:
    state = node().chain.state
    found = [(owner, name) for owner, name, _ in tables(state)]
    assert len(found) == len(set(found))
    assert {owner for owner, _ in found} >= {"chain", "account_history", "follow", "rc", "reputation", "tags"}


def test_the_row_size_is_estimated_from_a_sample() -> None:
    state = node().chain.state
    assert 500 < row_size(state.accounts) < 20_000
    empty: Table[Any] = state.comments
    assert row_size(empty) == 0


def test_a_table_that_is_still_loading_is_left_out() -> None:
    parts = node()
    page = Metrics(parts, lambda: 0)
    deferred = BackgroundLoad((parts.chain.state.comments,), iter([None, None]))
    assert "table_rows{owner=chain,table=comments}" not in values(page)
    assert not deferred.is_done
    deferred.finish()
    assert values(page)["table_rows{owner=chain,table=comments}"] == 0
