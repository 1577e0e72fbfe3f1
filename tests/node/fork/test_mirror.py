"""A fork that goes along with its source: which of the source's later operations are applied, and how the others are counted."""

from pathlib import Path
from typing import Any

import pytest
import trio

from node.app.local_chain import LocalChain
from node.fork.mirror import ABSENT, APPLIED, REFUSED, REPLACED, UNREADABLE, Mirror, needed
from node.fork.source import Source, SourceWrong
from node.snapshots.base import new_chain, read_base, write_base
from node.storage.disk import SystemDisk
from rpc.declare.demand import AccountKey, PostKey
from rpc.fork import Fork, ForkOrigin
from state.chain.chain import Chain
from state.operations.content import Comment, Vote
from state.tables.partial import PartialAccount
from tests.fork.forked import ForkedNode
from tests.fork.sources import FAULTS, Fault, SourceNode
from tests.fork.town import town

URL = "http://source"


def transfer(sender: str, receiver: str, amount: int = 1) -> list[Any]:
    """Return a transfer of `amount` thousandths."""
    return ["transfer", {"from": sender, "to": receiver, "amount": f"{amount / 1000:.3f} COIN", "memo": ""}]


@pytest.fixture(name="source_chain", scope="module")
def made_source_chain() -> LocalChain:
    """The chain of the source."""
    return town()


class Mirrored(ForkedNode):
    """A fork that goes along with a chain. Of the accounts `absent`, only the names are here."""

    def __init__(
        self, source_chain: LocalChain, folder: Path, *absent: str, flavour: str = "coind", faults: tuple[Fault | str, ...] = ()
    ) -> None:
        path = folder / "base"
        if not path.exists():
            write_base(source_chain.chain, path)
        super().__init__(new_chain(read_base(path), path, tuple(source_chain.chain.state.plugins)))
        self.fork = Fork(ForkOrigin(source=URL, chain_id="", number=self.chain.base, block_id="", time=0))
        self.node = SourceNode(source_chain, flavour, *faults)
        source = Source(URL, transport=self.node.transport(), patience_seconds=1)
        disk = SystemDisk()
        for name in absent:
            self.state.partial_accounts.insert(PartialAccount(account=name))
        self.mirror = Mirror(self.chain, source, self.processor, self.fork, folder / "mirror", disk)


def balance(chain: Chain, name: str) -> int:
    """Return the balance of an account."""
    return chain.state.account(name).balance


@pytest.mark.parametrize("flavour", ["coind", "steemd", "jussi"])
async def test_later_transactions_are_applied_where_all_is_here(flavour: str, source_chain: LocalChain, tmp_path: Path) -> None:
    fork = Mirrored(source_chain, tmp_path, "carol", flavour=flavour)
    before = {name: balance(fork.chain, name) for name in ("alice", "bob", "carol")}
    source_chain.broadcast(transfer("alice", "bob"), transfer("alice", "bob", 2))
    source_chain.broadcast(transfer("alice", "carol"))
    source_chain.mine()
    source_chain.broadcast(transfer("alice", "bob"))
    source_chain.mine(2)
    await fork.mirror.follow()
    fork.devchain.make_block()
    assert fork.fork.mirrored == {APPLIED: 3, ABSENT: 1}
    after = {name: balance(fork.chain, name) for name in before}
    assert after == {"alice": before["alice"] - 4, "bob": before["bob"] + 4, "carol": before["carol"]}
    assert fork.chain.head is not None
    assert [trx.signatures for trx in fork.chain.head.transactions] == [(), ()]
    await fork.mirror.follow()
    assert fork.fork.mirrored == {APPLIED: 3, ABSENT: 1}


async def test_what_the_rules_of_the_fork_refuse_is_counted(source_chain: LocalChain, tmp_path: Path) -> None:
    fork = Mirrored(source_chain, tmp_path)
    fork.serve(None)  # type: ignore[arg-type]
    await fork.call("dev_api.set_balance", {"account": "alice", "balance": "0.000 COIN"})
    source_chain.broadcast(transfer("alice", "bob"))
    source_chain.mine()
    await fork.mirror.follow()
    assert fork.fork.mirrored == {REFUSED: 1}
    assert not fork.state.impersonated.accepted
    assert not fork.chain.pending


async def test_a_restart_goes_on_from_the_last_block(source_chain: LocalChain, tmp_path: Path) -> None:
    fork = Mirrored(source_chain, tmp_path)
    source_chain.broadcast(transfer("alice", "bob"))
    source_chain.mine()
    await fork.mirror.follow()
    assert fork.mirror.next == source_chain.chain.state.props.head_block_number + 1
    again = Mirrored(source_chain, tmp_path)
    assert again.mirror.next == fork.mirror.next
    (tmp_path / "mirror").write_bytes(b"nonsense")
    assert Mirrored(source_chain, tmp_path).mirror.next == fork.chain.base + 1


async def test_a_source_that_switches_to_another_fork(source_chain: LocalChain, tmp_path: Path) -> None:
    fork = Mirrored(source_chain, tmp_path)
    before = balance(fork.chain, "bob")
    source_chain.mine()
    snapshot = source_chain.snapshot()
    first, both = transfer("alice", "bob", 1), transfer("alice", "bob", 2)
    source_chain.broadcast(first)
    source_chain.broadcast(both)
    source_chain.mine()
    assert source_chain.chain.head is not None
    repeated = source_chain.chain.head.transactions[1]
    await fork.mirror.follow()
    assert balance(fork.chain, "bob") == before + 3
    source_chain.revert(snapshot)
    source_chain.mine()
    source_chain.broadcast(transfer("alice", "bob", 4))
    source_chain.chain.push_transaction(repeated)
    source_chain.mine(3)
    await fork.mirror.follow()
    fork.devchain.make_block()
    assert fork.fork.mirrored == {APPLIED: 3, REPLACED: 2}
    assert balance(fork.chain, "bob") == before + 7
    assert fork.mirror.next == source_chain.chain.state.props.head_block_number + 1


async def test_blocks_that_dont_follow_each_other_are_wrong(source_chain: LocalChain, tmp_path: Path) -> None:
    fork = Mirrored(source_chain, tmp_path)
    source_chain.mine()
    await fork.mirror.follow()
    fork.node.faults.append(Fault(result=lambda _, __, found: {"block": found["block"] | {"previous": "0" * 40}}, methods=r".*get_block"))
    source_chain.mine()
    with pytest.raises(SourceWrong):
        await fork.mirror.follow()


async def test_operations_that_cant_be_read_are_counted(source_chain: LocalChain, tmp_path: Path) -> None:
    def unknown(method: str, params: Any, result: Any) -> Any:
        if "get_block" in method:
            result["block"]["transactions"] = [
                {"operations": [{"type": "recurrent_transfer_operation", "value": {}}] * 2},
                {"operations": 5},
                7,
            ]
        return result

    fork = Mirrored(source_chain, tmp_path, faults=(Fault(result=unknown),))
    source_chain.mine()
    await fork.mirror.follow()
    assert fork.fork.mirrored == {UNREADABLE: 4}


@pytest.mark.parametrize("name", FAULTS)
async def test_a_faulty_source_stops_nothing(name: str, source_chain: LocalChain, tmp_path: Path, autojump_clock: trio.abc.Clock) -> None:
    fork = Mirrored(source_chain, tmp_path, faults=(name,))
    source_chain.broadcast(transfer("alice", "bob"))
    source_chain.mine()
    with trio.move_on_after(30):
        await fork.mirror.run()
    fork.node.faults.clear()
    fork.devchain.make_block()


async def test_a_block_without_transactions_is_wrong(source_chain: LocalChain, tmp_path: Path) -> None:
    fork = Mirrored(source_chain, tmp_path, faults=(Fault(result=lambda *_: {}, methods="block_api.get_block"),))
    source_chain.mine()
    with pytest.raises(SourceWrong):
        await fork.mirror.follow()


def test_what_operations_create_neednt_be_here() -> None:
    post = Comment(parent_permlink="life", author="alice", permlink="new", body="text")
    assert needed([post, Vote("bob", "alice", "new", 1)]) == [AccountKey("alice"), AccountKey("bob")]
    change = Comment(parent_permlink="life", author="alice", permlink="old", body="@@ -1 +1 @@")
    assert needed([change]) == [AccountKey("alice"), PostKey("alice", "old")]
