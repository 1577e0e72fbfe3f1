"""Lists that don't fit into one reply are read page by page."""

import pytest
import trio

from node.app.local_chain import LocalChain
from node.fork import world
from node.fork.accounts import ROWS_MAX, read_accounts
from node.fork.source import Source
from node.fork.spec import reader_of
from state.portable import Batch, export_rows
from state.protocol.values.asset import COIN, SBD, Asset, Price
from state.tables.accounts import VestingDelegation
from state.tables.market import LimitOrder
from tests.fork.sources import SourceNode
from tests.fork.town import town

URL = "http://there:8090"


@pytest.fixture
def crowd() -> LocalChain:
    """A chain on which alice has 2,500 delegations and orders."""
    chain = LocalChain("dev")
    state = chain.chain.state
    for i in range(2500):
        state.vesting_delegations.insert(VestingDelegation(delegator="alice", delegatee=f"user{i}", vesting_shares=i))
        state.limit_orders.insert(LimitOrder(seller="alice", orderid=i, for_sale=1, sell_price=Price(Asset(1, COIN), Asset(1, SBD))))
    state.vesting_delegations.insert(VestingDelegation(delegator="bob", delegatee="carol", vesting_shares=1))
    return chain


async def accounts(node: SourceNode, *names: str) -> tuple[Batch, tuple[str, ...]]:
    source = Source(URL, transport=node.transport())
    return await read_accounts(source, names), (await reader_of(source)).notes.texts


@pytest.mark.parametrize("flavour", ["coind", "jussi"])
def test_rows_of_an_account_come_in_pages(crowd: LocalChain, flavour: str) -> None:
    batch, _ = trio.run(accounts, SourceNode(crowd, flavour), "alice", "bob")
    expected = export_rows(crowd.chain.state)
    for table in ("vesting_delegations", "limit_orders"):
        assert sorted(batch[table], key=str) == sorted(expected[table], key=str)


def test_the_rows_of_an_account_are_bounded(crowd: LocalChain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("node.fork.accounts.ROWS_MAX", 1500)
    batch, notes = trio.run(accounts, SourceNode(crowd), "alice")
    assert 1500 <= len(batch["vesting_delegations"]) < 2500 < ROWS_MAX
    assert [note for note in notes if note.startswith("vesting delegations of alice: only the first")]


@pytest.mark.parametrize("flavour", ["coind", "jussi"])
def test_lists_of_the_world_come_in_pages(flavour: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world, "PAGE", 2)
    monkeypatch.setitem(world.PROPOSALS, "limit", 2)
    chain = town()
    found = trio.run(world.read_world, Source(URL, transport=SourceNode(chain, flavour).transport()))
    expected = export_rows(chain.chain.state)
    for table, key in (("witnesses", "owner"), ("proposals", "proposal_id")):
        assert sorted(row[key] for row in found.batch[table]) == sorted(row[key] for row in expected[table])
    if flavour == "coind":
        for table in ("smt_tokens", "smt_emissions"):
            assert len(found.batch[table]) == len(expected[table])
