"""Notices to subscribers of a chain, each sent once and in order: blocks, operations, transactions, refusals and undone blocks."""

import gc
from typing import Any

import pytest
import trio

from rpc.push import hub as hub_module
from rpc.push.hub import BROKEN
from rpc.push.session import ENTRY_SIZE, FULL, Filter, Topic
from rpc.records.large_blocks import SLICE_UNITS
from state.operations.transfers import Transfer
from state.protocol.errors import ChainError
from state.protocol.virtual import ProducerReward
from tests.helpers.log_capture import capture_logs
from tests.helpers.nodes import SECRET, transfer
from tests.helpers.push import PushClients, notices


@pytest.fixture
def world() -> PushClients:
    """A chain with three blocks."""
    made = PushClients()
    made.make(3)
    return made


def attached(world: PushClients) -> list[int]:
    """Return the length of each of the chain's lists of listeners."""
    listeners = world.chain.state.listeners
    lists: list[Any] = [world.chain.on_head_change, listeners.before_block, listeners.after_block, listeners.after_transaction]
    return [*map(len, lists), len(listeners.before_operation[Transfer])]


async def test_nothing_is_attached_without_subscribers(world: PushClients) -> None:
    before = attached(world)
    session = world.session()
    ids = [session.subscribe(kind) for kind in Topic]
    assert all(now > then for now, then in zip(attached(world), before, strict=True))
    for number in ids:
        session.unsubscribe(number)
    assert attached(world) == before
    with world.hub.stream(1, irreversible=False):
        assert attached(world)[0] == before[0] + 1
    session.subscribe(Topic.operations)
    session.set_callback(Topic.headers, 1)
    session.close()
    assert (attached(world), world.hub.count) == (before, 0)


async def test_large_blocks_have_the_same_form_and_count_as_work(world: PushClients, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "LARGE_SIZE", 0)
    session = world.session()
    session.subscribe(Topic.blocks)
    before = world.chain.state.work.spent
    [block] = world.make(1)
    [notice] = await notices(session, 1)
    shown = world.call(None, "block_api.get_block", {"block_num": block.number})["result"]["block"]
    assert notice["block"] == {"block_num": block.number, **shown}
    assert world.chain.state.work.spent - before >= SLICE_UNITS


async def test_block_notices_have_the_form_of_block_api(world: PushClients) -> None:
    session = world.session()
    number = session.subscribe(Topic.blocks)
    blocks = world.make(2)
    received = await notices(session, 2)
    for block, notice in zip(blocks, received, strict=True):
        shown = world.call(None, "block_api.get_block", {"block_num": block.number})["result"]["block"]
        assert notice == {"subscription": number, "kind": "blocks", "block": {"block_num": block.number, **shown}}


async def test_undone_blocks_are_one_notice(world: PushClients) -> None:
    world.make(30)
    session = world.session()
    session.subscribe(Topic.blocks)
    of_operations = world.session()
    of_operations.subscribe(Topic.operations, Filter(classes=frozenset({ProducerReward})))
    head = world.make(1)[0].number
    branch = world.switch(behind=1)
    received = await notices(session, 4)
    assert [list(notice)[-1] for notice in received] == ["block", "undone", "block", "block"]
    assert received[1]["undone"] == {"first": head, "last": head}
    assert [notice["block"]["block_id"] for notice in received[2:]] == [block.id.hex() for block in branch]
    received = await notices(of_operations, 4)
    assert [notice["operation"]["block"] if "operation" in notice else "undone" for notice in received] == [head, "undone", head, head + 1]
    world.chain.pop_block()
    assert (await notices(session, 1))[0]["undone"] == {"first": head + 1, "last": head + 1}


async def test_a_refused_branch_sends_no_notices(world: PushClients) -> None:
    world = PushClients()
    accounts = world.chain.state.accounts
    alice = accounts.by_name.get("alice")
    assert alice is not None
    accounts.modify(alice, balance=0)
    world.make(30)
    other = PushClients()
    for number in range(1, world.chain.state.props.head_block_number):
        block = world.chain.block_by_number(number)
        assert block is not None
        other.chain.push_block(block)
    session = world.session()
    for kind in (Topic.blocks, Topic.operations, Topic.irreversible_blocks):
        session.subscribe(kind)
    other.make(1)
    other.chain.push_transaction(transfer(other.chain))  # here alice has something
    other.chain.generate_block(other.chain.state.props.time + 6, "initminer", SECRET)
    first, bad = (other.chain.block_by_number(world.chain.state.props.head_block_number + i) for i in (0, 1))
    assert first is not None
    assert bad is not None
    assert bad.transactions
    world.chain.push_block(first)
    with pytest.raises(ChainError):
        world.chain.push_block(bad)
    assert session.size == 0
    world.make(1)
    received = [notice["kind"] for notice in await notices(session, 3)]
    assert received == ["blocks", "operations", "irreversible_blocks"]
    assert session.size == 0


async def test_irreversible_blocks_are_sent_once(world: PushClients) -> None:
    session = world.session()
    session.subscribe(Topic.irreversible_blocks)
    first = world.chain.irreversible + 1
    world.make(40)
    count = world.chain.irreversible - first + 1
    assert count > 10
    received = await notices(session, count)
    assert [notice["block"]["block_num"] for notice in received] == list(range(first, first + count))
    assert session.size == 0


async def test_operations_are_filtered_by_account_and_name(world: PushClients) -> None:
    sessions = [world.session() for _ in range(5)]
    filters = [
        Filter(),
        Filter(accounts=frozenset({"alice", "bob"})),
        Filter(classes=frozenset({Transfer})),
        Filter(accounts=frozenset({"carol"})),
        Filter(accounts=frozenset({"alice"}), classes=frozenset({ProducerReward})),
    ]
    for session, wanted in zip(sessions, filters, strict=True):
        session.subscribe(Topic.operations, wanted)
    trx = transfer(world.chain)
    world.chain.push_transaction(trx)
    assert [session.size for session in sessions] == [0] * 5  # it waits for a block
    block = world.make(1)[0]
    everything = await notices(sessions[0], 2)
    assert [notice["operation"]["op"]["type"] for notice in everything] == ["transfer_operation", "producer_reward_operation"]
    assert everything[0]["operation"]["trx_id"] == trx.id.hex()
    assert everything[0]["operation"]["block"] == block.number
    assert [(await notices(session, 1))[0]["operation"] for session in sessions[1:3]] == [everything[0]["operation"]] * 2
    assert [session.size for session in sessions] == [0] * 5
    # The block is undone, its transaction becomes pending again, and the next block includes it. Subscribers are notified only once.
    world.chain.pop_block()
    assert "undone" in (await notices(sessions[2], 1))[0]
    world.make(2)
    assert (await notices(sessions[2], 1))[0]["operation"]["trx_id"] == trx.id.hex()
    assert sessions[2].size == 0


async def test_operations_of_the_first_block_are_sent() -> None:
    world = PushClients()
    session = world.session()
    session.subscribe(Topic.operations)
    world.make(1)
    received = await notices(session, 2)
    assert {notice["operation"]["block"] for notice in received} == {1}


async def test_accepted_and_refused_transactions_are_sent_separately(world: PushClients) -> None:
    accepted, refused, pending = world.session(), world.session(), world.session()
    accepted.subscribe(Topic.transactions)
    refused.subscribe(Topic.refusals)
    pending.set_callback(Topic.pending, 7)
    trx = transfer(world.chain)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(world.processor.run)
        await world.processor.push_transaction(trx)
        await world.call_and_wait("network_broadcast_api.broadcast_transaction", {"trx": world.chain.state.wire.transaction_to_json(trx)})
        world.make(2)
        nursery.cancel_scope.cancel()
    received = (await notices(accepted, 1))[0]
    assert received["transaction"]["transaction_id"] == trx.id.hex()
    assert received["transaction"]["operations"][0]["type"] == "transfer_operation"
    called: Any = (await notices(pending, 1))[0]
    number, values = called
    assert (number, values[0]["operations"][0][0]) == (7, "transfer")
    refusal = (await notices(refused, 1))[0]["refusal"]
    assert refusal["message"].endswith("Duplicate transaction check failed")
    assert refusal["explain"]["rule"] == "duplicate_transaction"
    assert (refusal["id"], refusal["head_block_number"]) == (trx.id.hex(), 3)
    assert [session.size for session in (accepted, refused, pending)] == [0, 0, 0]


async def test_headers_have_the_form_of_older_nodes(world: PushClients) -> None:
    session = world.session()
    session.set_callback(Topic.headers, 5)
    session.set_callback(Topic.headers, 6)  # takes the place of the first
    block = world.make(1)[0]
    received: Any = (await notices(session, 1))[0]
    header = {
        "previous": block.previous.hex(),
        "timestamp": received[1][0]["timestamp"],
        "witness": "initminer",
        "transaction_merkle_root": "00" * 20,
        "extensions": [],
        "witness_signature": block.witness_signature.hex(),
    }
    assert received == [6, [header]]
    session.cancel_callbacks()
    world.make(1)
    assert (session.size, world.hub.count) == (0, 0)


async def test_a_notice_is_stored_once_for_all_queues(world: PushClients, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = [world.session() for _ in range(50)]
    for session in sessions:
        session.subscribe(Topic.blocks)
    world.make(4)
    texts = sessions[0].size - 4 * ENTRY_SIZE
    assert texts > 4 * 500
    assert world.hub.held_size == 50 * 4 * ENTRY_SIZE + texts
    monkeypatch.setattr(hub_module, "HELD_SIZE_MAX", texts + 100 * ENTRY_SIZE)
    for session in sessions[1:]:
        await notices(session, 3)
    world.make(1)
    assert [session.reason for session in sessions] == [FULL] + [""] * 49
    for session in sessions:
        session.close()
    gc.collect()
    assert world.hub.held_size == 0


async def test_a_bug_does_not_refuse_the_block(world: PushClients, monkeypatch: pytest.MonkeyPatch) -> None:
    session = world.session()
    session.subscribe(Topic.blocks)
    monkeypatch.setattr(hub_module, "block_json", lambda *_given, **_named: 1 // 0)
    with capture_logs() as logged:
        world.make(1)
    assert [line["event"] for line in logged if line["log_level"] == "error"] == ["a notice could not be made"]
    assert (session.reason, await session.next()) == (BROKEN, None)


async def test_many_irreversible_blocks_are_sent_in_portions(world: PushClients, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "IRREVERSIBLE_AT_ONCE_MAX", 3)
    world.make(40)
    session = world.session()
    session.subscribe(Topic.irreversible_blocks)
    world.hub._irreversible = 1  # as if those after it had waited for witnesses
    world.make(2)
    assert [notice["block"]["block_num"] for notice in await notices(session, 6)] == [2, 3, 4, 5, 6, 7]
    assert session.size == 0
