"""Calls about what was before the base of a fork: the source answers them in both forms, within limits, and its lies are refused."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from node.app.local_chain import LocalChain
from node.fork import history as history_module
from node.fork.calls import ForkCalls
from node.fork.history import SourceHistory
from node.fork.limits import SILENT_SECONDS, SourceLimits
from node.fork.source import Source
from node.snapshots.base import new_chain, read_base, write_base
from state.chain.chain import Chain
from state.plugins.account_history import ACCOUNT_HISTORY
from state.plugins.transaction_index import TransactionIndex
from tests.fork.forked import ForkedNode
from tests.fork.sources import FAULTS, SourceNode
from tests.fork.town import town

URL = "http://source"
PAYMENT = ["transfer", {"from": "alice", "to": "bob", "amount": "0.001 COIN", "memo": ""}]
ID = "0" * 40


@pytest.fixture(scope="module")
def source_chain() -> LocalChain:
    """The chain of the source. Its head is at first the base of the forks."""
    return town()


@pytest.fixture(scope="module")
def base(source_chain: LocalChain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fork file with the whole state of the source. Afterwards the source makes further blocks."""
    path = tmp_path_factory.mktemp("fork") / "base"
    write_base(source_chain.chain, path)
    for _ in range(3):
        source_chain.broadcast(PAYMENT)
        source_chain.mine()
    return path


class Forked(ForkedNode):
    """A fork of a chain that a node serves."""

    def __init__(self, path: Path, node: SourceNode, *, is_local: bool = False) -> None:
        super().__init__(new_chain(read_base(path), path, tuple(node.chain.state.plugins)))
        self.node = node
        forget_history(self.chain)
        source = None if is_local else Source(URL, transport=node.transport(), patience_seconds=1)
        limits = None if is_local else SourceLimits(URL, trio.current_time)
        self.serve(ForkCalls(None, SourceHistory(self.chain, source, limits)))

    async def live(self, blocks: int = 2) -> None:
        """Make blocks, in each of which alice pays bob."""
        for _ in range(blocks):
            assert (await self.call("dev_api.broadcast_operations", {"operations": [PAYMENT]}))["id"]
            self.devchain.make_block()


def forget_history(chain: Chain) -> None:
    """Drop the recorded operations, which a fork doesn't have."""
    kept = ACCOUNT_HISTORY.of(chain.state)
    for data in (kept.recorded.rows, kept.recorded.virtual, kept.recorded.held):
        data.clear()
    for entries in (kept.accounts.by_id.chunks, kept.accounts.early, kept.accounts.firsts):
        entries.clear()
    kept.transactions = TransactionIndex()


def calls_before(number: int, trx_id: str) -> Iterator[tuple[str, Any]]:
    """Yield calls about the block `number` and a transaction in it."""
    for method, params in (("get_block", [number]), ("get_block_header", [number]), ("get_ops_in_block", [number, False])):
        yield f"condenser_api.{method}", params
    yield "condenser_api.get_ops_in_block", [number, True]
    yield "condenser_api.get_transaction", [trx_id]
    yield "block_api.get_block", {"block_num": number}
    yield "block_api.get_block_header", {"block_num": number}
    yield "account_history_api.get_ops_in_block", {"block_num": number, "only_virtual": False}
    yield "account_history_api.enum_virtual_ops", {"block_range_begin": number, "block_range_end": number + 1}
    yield "account_history_api.get_transaction", {"id": trx_id}
    yield "transaction_status_api.find_transaction", {"transaction_id": trx_id}


@pytest.mark.parametrize("flavour", ["coind", "steemd", "jussi"])
async def test_the_source_answers_about_what_was_before(flavour: str, source_chain: LocalChain, base: Path) -> None:
    fork = Forked(base, SourceNode(source_chain, flavour))
    number, trx = max(
        (block.number, block.transactions[0].id.hex())
        for number in range(1, fork.chain.base + 1)
        if (block := source_chain.chain.block_by_number(number)) is not None and block.transactions
    )
    for method, params in calls_before(number, trx):
        if flavour == "jussi" and method == "account_history_api.enum_virtual_ops":
            assert "source" in (await fork.call(method, params))["message"]
            continue
        found, wanted = await fork.call(method, params), source_chain.call(method, params)
        if method.endswith("enum_virtual_ops"):  # the source's next block is not on the fork
            assert found.pop("next_block_range_begin") == 0 < wanted.pop("next_block_range_begin")
            found = await fork.call(method, params)
            wanted |= {"next_block_range_begin": 0}
        assert found == wanted, method
        requests = fork.node.request_count
        assert await fork.call(method, params) == found
        assert fork.node.request_count == requests


async def test_virtual_operations_of_before_and_of_this_chain(source_chain: LocalChain, base: Path) -> None:
    fork = Forked(base, SourceNode(source_chain))
    await fork.live(30)  # a round ends, which has virtual operations
    first, head, method = fork.chain.base + 1, fork.state.props.head_block_number, "account_history_api.enum_virtual_ops"

    async def ask(begin: int, end: int) -> Any:
        return await fork.call(method, {"block_range_begin": begin, "block_range_end": end})

    own, before = await ask(first, head + 1), source_chain.call(method, {"block_range_begin": first - 40, "block_range_end": first})
    assert own["ops"]
    assert before["ops"]
    assert (await ask(first - 40, head + 1)) == own | {"ops": before["ops"] + own["ops"]}
    begin, found = first - 40, list[Any]()
    while begin:
        part = await ask(begin, begin + 7)
        begin = part["next_block_range_begin"]
        found += part["ops"]
    assert found == before["ops"] + own["ops"]


async def test_own_blocks_and_transactions_are_answered_without_the_source(source_chain: LocalChain, base: Path) -> None:
    fork = Forked(base, SourceNode(source_chain))
    await fork.live()
    own = fork.chain.head
    assert own is not None
    assert (await fork.call("condenser_api.get_block", [own.number]))["block_id"] == own.id.hex()
    assert await fork.call("condenser_api.get_block", [own.number + 1]) is None
    assert await fork.call("condenser_api.get_block", [0]) is None
    trx = own.transactions[0].id.hex()
    assert (await fork.call("condenser_api.get_transaction", [trx]))["block_num"] == own.number
    assert not fork.node.request_count


async def test_a_transaction_that_the_source_doesnt_have_or_made_later_is_unknown(source_chain: LocalChain, base: Path) -> None:
    fork = Forked(base, SourceNode(source_chain))
    later = source_chain.chain.head
    assert later is not None
    for trx in (ID, later.transactions[0].id.hex()):
        assert (await fork.call("transaction_status_api.find_transaction", {"transaction_id": trx})) == {"status": "unknown"}
        assert "Unknown Transaction" in (await fork.call("condenser_api.get_transaction", [trx]))["message"]


@pytest.mark.parametrize("flavour", ["coind", "jussi"])
async def test_the_history_of_an_account_is_that_of_before_and_then_its_own(flavour: str, source_chain: LocalChain, base: Path) -> None:
    fork = Forked(base, SourceNode(source_chain, flavour))
    await fork.live()
    older = [
        entry
        for entry in source_chain.call("condenser_api.get_account_history", ["alice", -1, 1000])
        if entry[1]["block"] <= fork.chain.base
    ]
    assert len(older) > 5
    every = await fork.call("condenser_api.get_account_history", ["alice", -1, 1000])
    assert every[: len(older)] == older
    first = older[0][0]  # the source has dropped those before
    assert [number for number, _ in every] == list(range(first, first + len(every)))
    assert [operation["block"] for _, operation in every[len(older) :]] == [fork.chain.base + 2, fork.chain.base + 3]
    newest, joint = every[-1][0], older[-1][0]
    for start, limit in ((-1, 1), (-1, 2), (-1, 5), (joint + 1, 4), (joint, 3), (first + 3, 3), (newest, len(every)), (newest + 5, 3)):
        last = newest if start < 0 else min(start, newest)
        wanted = [entry for entry in every if last - limit < entry[0] <= last]
        assert await fork.call("condenser_api.get_account_history", ["alice", start, limit]) == wanted
        shown = await fork.call("account_history_api.get_account_history", {"account": "alice", "start": start, "limit": limit})
        assert [number for number, _ in shown["history"]] == [number for number, _ in wanted]
        assert all("type" in operation["op"] for _, operation in shown["history"])


async def test_a_long_history_is_read_in_pages(source_chain: LocalChain, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_module, "PAGE", 2)
    fork = Forked(base, SourceNode(source_chain))
    found = await fork.call("condenser_api.get_account_history", ["alice", -1, 12])
    assert [number for number, _ in found] == list(range(found[0][0], found[0][0] + 12))
    monkeypatch.setattr(history_module, "PAGES_MAX", 1)
    assert (
        "operations since"
        in (await Forked(base, SourceNode(source_chain)).call("condenser_api.get_account_history", ["alice", -1, 12]))["message"]
    )


async def test_history_local_refuses_with_an_explanation(source_chain: LocalChain, base: Path) -> None:
    fork = Forked(base, SourceNode(source_chain), is_local=True)
    await fork.live()
    for method, params in (("condenser_api.get_block", [1]), ("account_history_api.get_ops_in_block", {"block_num": 1})):
        explain = (await fork.call(method, params))["data"]["explain"]
        assert (explain["rule"], explain["values"]["base"]) == ("history_is_not_here", fork.chain.base)
    assert "Unknown Transaction" in (await fork.call("condenser_api.get_transaction", [ID]))["message"]
    assert len(await fork.call("condenser_api.get_account_history", ["alice", -1, 1000])) == 2
    assert not fork.node.request_count


@pytest.mark.parametrize("name", FAULTS)
async def test_a_faulty_source_breaks_nothing(name: str, source_chain: LocalChain, base: Path, autojump_clock: trio.abc.Clock) -> None:
    fork = Forked(base, SourceNode(source_chain, "coind", name))
    await fork.live(1)
    for method, params in calls_before(fork.chain.base - 1, ID):
        assert "internal error" not in json.dumps(await fork.call(method, params))
        await trio.sleep(SILENT_SECONDS)
    assert "internal error" not in json.dumps(await fork.call("condenser_api.get_account_history", ["alice", -1, 10]))
    assert (await fork.call("condenser_api.get_block", [fork.state.props.head_block_number]))["transactions"]


async def test_replies_are_kept_up_to_a_size(source_chain: LocalChain, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_module, "REPLIES_MAX", 2)
    fork = Forked(base, SourceNode(source_chain))
    for number in (1, 2, 3, 3, 2, 1):
        await fork.call("condenser_api.get_block", [number])
    assert fork.node.calls["condenser_api.get_block"] == 4
    monkeypatch.setattr(history_module, "REPLY_SIZE_MAX", 100)
    assert "more than" in (await fork.call("condenser_api.get_block", [4]))["message"]
