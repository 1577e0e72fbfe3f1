"""Partial chains under load: random operations of all accounts, while accounts of the source come in one by one."""

import zlib
from pathlib import Path
from random import Random

import pytest

from node.replicas.follow.replica_applier import ReplicaApplier
from node.snapshots.base import new_chain, read_base, write_base
from node.snapshots.dumps import dump
from node.snapshots.dumps import load as load_dump
from node.storage.disk import SystemDisk
from node.storage.edit_log import EditLog
from rpc.push.events import NewBlock, decode_line, encode_line, new_block
from state.chain.chain import Chain
from state.chain.digest import state_digest
from state.chain.invariants import validate_invariants
from state.chain.skip import Skip
from state.chain.slots import scheduled_witness, slot_time
from state.chain.state_edits import ImportRows, ScheduleHardfork, read_edit, write_edit
from state.portable import account_level, export_rows, import_rows, pack_batch
from state.portable.checks import HARDFORK_MIN
from state.protocol.errors import Refused
from state.protocol.transaction import SignedBlock, SignedTransaction
from tests.conformance.play import CASES, Player
from tests.helpers.nodes import SECRET, block_at
from tests.helpers.partial import partial_chain, posts_of, rows_of
from tests.random_walks.operations import operations
from tests.random_walks.walk import GAPS, Walk, attempt

BLOCKS = 200
AT_FIRST = 30  # accounts with which a chain begins
SOURCES = (
    ("", 0),
    ("", 1),
    ("walk_random", 900),
    ("walk_hardforks", 1900),
    ("proxies_and_votes", 80),
    ("power_down", 60),
    ("delegations", 70),
)


def source_of(case: str, number: int) -> Chain:
    """A recorded chain at a height, or a random walk."""
    if not case:
        chain = Walk(number).run().chain
        chain.pool.undo()
        return chain
    player = Player(CASES / case, plugins=())
    player.advance(number)
    return player.chain


def load(chain: Chain, draw: Random) -> None:
    """Push some random transactions."""
    state, head = chain.state, chain.head
    assert head is not None
    for _ in range(draw.randint(0, 5)):
        found, name, _ = operations(state, draw)
        if name != "null":  # its VESTS vanish without a change of its votes, since it can't vote
            trx = SignedTransaction(expiration=state.head_time + 60, operations=tuple(found))
            trx.ref_block_num, trx.ref_block_prefix = head.number & 0xFFFF, int.from_bytes(head.id[4:8], "little")
            attempt(chain, lambda trx=state.wire.seal(trx): chain.push_transaction(trx))  # noqa: B008 - called at once


@pytest.mark.parametrize(("case", "number"), SOURCES)
def test_invariants_hold_under_load_while_accounts_come_in(case: str, number: int) -> None:
    draw, source = Random(number), source_of(case, number)
    batch = export_rows(source.state)
    names = [row["name"] for row in batch["accounts"]]
    draw.shuffle(names)
    first = names[: min(AT_FIRST, len(names) // 2)]
    left, light = names[len(first) :], list[str]()
    chain = partial_chain(source, first)
    validate_invariants(chain.state)
    chain.state.impersonated.set((), is_everyone=True)
    gaps, weights = zip(*GAPS, strict=True)
    for _ in range(BLOCKS):
        load(chain, draw)
        slot = draw.choices(gaps, weights)[0] + 1
        witness = scheduled_witness(chain.state, slot)
        chain.generate_block(slot_time(chain.state, slot), witness, SECRET, Skip.WITNESS_SIGNATURE)
        validate_invariants(chain.state)
        if (left or light) and draw.random() < 0.5:
            is_light = bool(left) and draw.random() < 0.5
            name = left.pop() if left else light.pop()
            if is_light:
                light.append(name)
            more = rows_of(batch, [name], is_light=is_light) | ({} if is_light else posts_of(batch, [name]))
            chain.edit(ImportRows(packed=pack_batch(more)))
            validate_invariants(chain.state)
            assert account_level(chain.state, name) == ("light" if is_light else "full")
    assert not left
    assert not light
    for _, table in chain.state.tables():
        table.check()


def test_hardforks_can_be_applied() -> None:
    """Of the hardforks after the first one under which a partial chain can begin, each changes rows of accounts or funds."""
    player = Player(CASES / "walk_hardforks", plugins=())
    begun = []
    for height in range(1440, len(player.places), 40):
        player.advance(height)
        hardfork = player.chain.state.hardfork
        if hardfork in begun or hardfork < HARDFORK_MIN:
            continue
        begun.append(hardfork)
        names = [row.name for row in player.chain.state.accounts]
        chain = partial_chain(player.chain, names[: len(names) // 2])
        next_block(chain)
        next_block(chain)
        for number in range(hardfork + 1, 25):
            chain.edit(ScheduleHardfork(number))
            next_block(chain)
            validate_invariants(chain.state)
        assert chain.state.hardfork == 24
    assert begun == [17, 18, 19, 20, 21, 22, 23, 24]


def test_payouts_a_week_later_are_those_of_the_source() -> None:
    """All posts are here, but only some accounts. Others vote and are beneficiaries by name only, and get the same."""
    player = Player(CASES / "discussions", plugins=())
    player.advance(90)
    source = player.chain
    batch = export_rows(source.state)
    chosen = {row["name"] for row in batch["accounts"][::3]}
    authors = {row["author"] for row in batch["comments"]}
    chain = partial_chain(source, chosen)
    state = chain.state
    import_rows(state, posts_of(batch, authors))
    assert any(account_level(state, row.author) == "name" for row in state.comments)
    assert any(row.cashout_time > state.head_time and row.net_rshares for row in state.comments)
    gaps = (1, 1, 1200, 28_800, 201_700, 1, 28_800)
    for slot in gaps:
        for each in (source, chain):
            witness = scheduled_witness(each.state, slot)
            each.generate_block(slot_time(each.state, slot), witness, SECRET, Skip.WITNESS_SIGNATURE)
    for comment in source.state.comments:
        ours = state.comments.by_permlink.find(comment.author, comment.permlink)
        assert ours.last_payout == comment.last_payout > 0
        assert (ours.total_payout_value, ours.curator_payout_value) == (comment.total_payout_value, comment.curator_payout_value)
    earned = ("posting_rewards", "curation_rewards", "reward_sbd_balance", "reward_vesting_balance", "reward_vesting_coin")
    before = {row["name"]: row for row in batch["accounts"]}
    for account in source.state.accounts:
        for column in earned if account_level(state, account.name) else ():
            known = 0 if account.name in chosen else before[account.name][column]
            assert getattr(state.account(account.name), column) + known == getattr(account, column), (account.name, column)
    validate_invariants(state)


# ------------------------------------------------------------------ imports as edits of blocks


@pytest.fixture(scope="module")
def source() -> Chain:
    """A recorded chain with many kinds of rows."""
    return source_of("walk_random", 900)


def grown(source: Chain, *plugins: str) -> tuple[Chain, list[str]]:
    """A partial chain with three accounts and some blocks, and the names of the others."""
    names = [row.name for row in source.state.accounts]
    chain = partial_chain(source, names[:3], *plugins)
    for _ in range(3):
        next_block(chain)
    return chain, names[3:]


def next_block(chain: Chain) -> SignedBlock:
    """Make a block."""
    return chain.generate_block(slot_time(chain.state, 1), scheduled_witness(chain.state, 1), SECRET, Skip.WITNESS_SIGNATURE)


def test_rows_of_an_unknown_column_are_refused(source: Chain) -> None:
    chain, _ = grown(source)
    before = state_digest(chain.state)
    with pytest.raises(Refused, match="the rows can't be imported"):
        chain.edit(ImportRows(packed=pack_batch({"accounts": [{"name": "zoe", "wealth": 1}]})))
    assert state_digest(chain.state) == before


def test_an_import_is_undone_and_made_again_with_its_block(source: Chain) -> None:
    chain, names = grown(source)
    batch = export_rows(source.state)
    before, blocks = state_digest(chain.state), []
    for at in range(3):
        blocks.append(next_block(chain))
        for name in names[2 * at : 2 * at + 2]:
            chain.edit(ImportRows(packed=pack_batch(rows_of(batch, [name]) | posts_of(batch, [name]))))
    edits = [chain.sidecars.edits_of(block.id) for block in blocks]
    after = state_digest(chain.state)
    chain.pop_blocks(3)
    assert state_digest(chain.state) == before
    for block, made in zip(blocks, edits, strict=True):
        chain.plan_edits(block.id, [read_edit(write_edit(edit)) for edit in made])
        chain.push_block(block, Skip.WITNESS_SIGNATURE)
    assert state_digest(chain.state) == after
    validate_invariants(chain.state)


def test_a_dump_continues_on_a_chain_with_the_same_base(source: Chain, tmp_path: Path) -> None:
    names = [row.name for row in source.state.accounts]
    base = tmp_path / "base"
    batch = export_rows(source.state)
    write_base(partial_chain(source, names[:3]), base)
    one, other = [new_chain(read_base(base), base) for _ in range(2)]
    for at in range(3):
        next_block(one)
        one.edit(ImportRows(packed=pack_batch(rows_of(batch, [names[3 + at]]))))
    dump(one, tmp_path / "dump", SystemDisk())
    load_dump(other, tmp_path / "dump", SystemDisk(), bytes)
    assert state_digest(other.state) == state_digest(one.state)
    assert other.sidecars.edits == one.sidecars.edits
    validate_invariants(other.state)


def test_a_replica_and_an_edit_log_take_imports_over(source: Chain, tmp_path: Path) -> None:
    names, batch = [row.name for row in source.state.accounts], export_rows(source.state)
    base = tmp_path / "base"
    write_base(partial_chain(source, names[:3]), base)
    one, follower, restarted = [new_chain(read_base(base), base) for _ in range(3)]
    replica = ReplicaApplier(follower, is_trusting=True)
    tags: list[str] = []
    one.sidecars.on_added.append(EditLog(tmp_path, SystemDisk(), on_first=tags.append).append)
    for at in range(3):
        block = next_block(one)
        chosen = names[3 + 8 * at : 11 + 8 * at]
        one.edit(ImportRows(packed=pack_batch(rows_of(batch, chosen) | posts_of(batch, chosen))))
        event = decode_line(encode_line(new_block(one, block)))
        assert isinstance(event, NewBlock)
        replica.apply(event)
    replica.close()
    assert state_digest(follower.state) == state_digest(one.state)
    for block_id, edits in EditLog(tmp_path, SystemDisk(), tags[0]).read().items():
        restarted.plan_edits(block_id, edits)
    for number in range(one.base + 1, one.base + 4):
        restarted.push_block(block_at(one, number), Skip.WITNESS_SIGNATURE)
    assert state_digest(restarted.state) == state_digest(one.state)
    validate_invariants(restarted.state)


@pytest.mark.parametrize("data", [b"", b"x" * 100, pack_batch({"accounts": [{"name": "Bad Name"}]}), zlib.compress(b"\x81" * 500_000)])
def test_an_invalid_import_is_refused_and_changes_nothing(source: Chain, data: bytes) -> None:
    chain, _ = grown(source)
    before = state_digest(chain.state)
    with pytest.raises(Refused):
        chain.edit(ImportRows(packed=data))
    assert state_digest(chain.state) == before
