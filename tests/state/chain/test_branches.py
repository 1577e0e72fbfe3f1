"""Checks on blocks of other branches: a block is stored only if a scheduled witness can have signed it."""

from collections.abc import Callable

import pytest
from msgspec import structs

from state.chain.branches import keys_given
from state.chain.chain import Chain
from state.chain.debug import set_signing_key
from state.chain.digest import state_digest
from state.chain.skip import Skip
from state.chain.slots import scheduled_witness, slot_time
from state.operations.chain_properties import LegacyChainProperties
from state.operations.mining import Pow, Pow2, Pow2Input, Pow2Work, PowWork
from state.operations.witnesses import WitnessSetProperties, WitnessUpdate
from state.protocol.codec.kinds import CoinFee
from state.protocol.errors import ChainError
from state.protocol.keys.keys import CURVE_ORDER, derive_secret, public_key, secret_from_seed
from state.protocol.transaction import SignedBlock, SignedTransaction
from tests.helpers.nodes import SECRET, block_at, copy_of, dev_chain, make_block, signed_block, signed_transaction
from tests.helpers.sources import sources

NEW_SECRET = secret_from_seed("new")
NEW_KEY = public_key(NEW_SECRET)
OTHER_SECRET = secret_from_seed("other")


def copied(block: SignedBlock) -> SignedBlock:
    """Return a new block object with the same fields."""
    return structs.replace(block)


def rekey(chain: Chain, key: bytes = NEW_KEY, owner: str = "initminer") -> SignedTransaction:
    """Return a transaction in which an account becomes a witness with this signing key or, if it is one, changes its signing key."""
    props = LegacyChainProperties(account_creation_fee=CoinFee(3000), maximum_block_size=131072)
    operation = WitnessUpdate(owner=owner, url="https://example.org", block_signing_key=key, props=props)
    return signed_transaction(chain, [operation], SECRET if owner == "initminer" else derive_secret(owner, "active", "dev"), seconds=600)


def twins(blocks: int = 3) -> tuple[Chain, Chain]:
    """Return two chains with the same blocks."""
    one, other = dev_chain(), dev_chain()
    for _ in range(blocks):
        other.push_block(copied(make_block(one)))
    return one, other


def made_by(chain: Chain, secret: bytes, missed: int = 0) -> SignedBlock:
    """Return the chain's next block, signed with this secret."""
    state = chain.state
    return chain.generate_block(slot_time(state, missed + 1), scheduled_witness(state, missed + 1), secret)


def text_of(chain: Chain, block: SignedBlock, skip: int = Skip.NOTHING) -> str:
    """Return the text with which a chain refuses a block. Assert that the refusal changes nothing."""
    forks = chain.forks
    before = state_digest(chain.state), chain.head, len(forks), forks.bytes_used
    with pytest.raises(ChainError) as caught:
        chain.push_block(block, skip)
    assert (state_digest(chain.state), chain.head, len(forks), forks.bytes_used) == before
    return caught.value.message()


# ------------------------------------------------------------------ refusals


def unsigned(block: SignedBlock) -> None:
    block.witness_signature = bytes(65)


def wrong_root(block: SignedBlock) -> None:
    block.transaction_merkle_root = bytes(range(20))


def wrong_witness(block: SignedBlock) -> None:
    block.witness = "alice"


def early(block: SignedBlock) -> None:
    block.timestamp -= 60


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (unsigned, "unable to reconstruct public key from signature"),
        (wrong_root, "Merkle check failed"),
        (wrong_witness, "unknown key"),
        (early, "head_block_time() < next_block.timestamp"),
    ],
)
def test_blocks_that_no_witness_can_have_signed_are_refused(spoil: Callable[[SignedBlock], None], text: str) -> None:
    chain, other = twins()
    make_block(chain)
    block = copied(make_block(other, 1))
    spoil(block)
    chain.state.wire.seal_block(block)
    assert text in text_of(chain, block)
    # A block on top of the head is refused with the same text.
    assert text in text_of(copy_of(chain, 3), block)


def test_a_signature_by_another_key_is_refused() -> None:
    chain, other = twins()
    make_block(chain)
    block = signed_block(chain, copied(make_block(other, 1)), OTHER_SECRET)
    assert "validate_signee" in text_of(chain, block)
    assert not chain.push_block(block, Skip.WITNESS_SIGNATURE)


def test_a_witness_outside_of_its_slot_is_refused() -> None:
    chain, other = twins()
    trx = rekey(chain, NEW_KEY, "alice")
    for each in (chain, other):
        each.push_transaction(trx)
    other.push_block(copied(make_block(chain)))
    make_block(chain)
    # Any account can become a witness, but only the witnesses of the round produce blocks.
    block = copied(make_block(other, 1))
    block.witness = "alice"
    assert "Witness produced block at wrong time" in text_of(chain, signed_block(chain, block, NEW_SECRET))
    assert not chain.push_block(block, Skip.WITNESS_SCHEDULE_CHECK)


def test_an_unsigned_branch_starts_no_switch() -> None:
    chain, other = twins()
    head = make_block(chain)
    moves: list[object] = []
    chain.on_head_change.append(moves.append)
    first = copied(make_block(other, 1))
    first.witness_signature = bytes(65)
    chain.state.wire.seal_block(first)
    second = signed_block(chain, structs.replace(copied(make_block(other)), previous=first.id), SECRET)
    text_of(chain, first)
    assert "does not link" in text_of(chain, second)
    assert chain.head is head
    assert moves == []


# ------------------------------------------------------------------ blocks that must be stored


def switched(chain: Chain, blocks: list[SignedBlock]) -> None:
    """Push blocks of another branch. The last one must cause a switch to that branch."""
    assert [chain.push_block(copied(block)) for block in blocks] == [False] * (len(blocks) - 1) + [True]
    assert chain.state.props.head_block_id == blocks[-1].id


def test_a_key_that_was_changed_on_the_main_branch_still_signs_the_other() -> None:
    chain, other = twins()
    chain.push_transaction(rekey(chain))
    make_block(chain)
    made_by(chain, NEW_SECRET)
    switched(chain, [make_block(other, 1), make_block(other), make_block(other)])
    chain.clear_pending()  # the change of the key waits for a block now
    assert chain.state.witness("initminer").signing_key == public_key(SECRET)


def test_a_signing_key_set_on_the_branch_is_accepted() -> None:
    chain, other = twins()
    make_block(chain)
    make_block(chain)
    other.push_transaction(rekey(other))
    branch = [make_block(other, 1), made_by(other, NEW_SECRET), made_by(other, NEW_SECRET)]
    wrong = signed_block(chain, copied(branch[2]), OTHER_SECRET)
    for block in branch[:2]:
        assert not chain.push_block(copied(block))
    assert "validate_signee" in text_of(chain, wrong)
    assert chain.push_block(branch[2])


def test_keys_given_by_properties_and_by_mining_count() -> None:
    chain = dev_chain()
    codecs = chain.state.wire.codecs
    operations = (
        WitnessSetProperties(owner="alice", props=(("key", NEW_KEY), ("new_signing_key", NEW_KEY))),
        WitnessSetProperties(owner="bob", props=(("key", NEW_KEY), ("new_signing_key", b"short"))),
        WitnessSetProperties(owner="carol", props=(("key", NEW_KEY),)),
        Pow(worker_account="dave", work=PowWork(worker=NEW_KEY)),
        Pow2(work=Pow2Work(input=Pow2Input(worker_account="erin")), new_owner_key=NEW_KEY),
        Pow2(work=Pow2Work(input=Pow2Input(worker_account="frank"))),
    )
    block = SignedBlock(transactions=(SignedTransaction(operations=operations),))
    assert list(keys_given(block, codecs)) == [("alice", NEW_KEY), ("dave", NEW_KEY), ("erin", NEW_KEY)]


def test_every_operation_that_sets_a_signing_key_is_known() -> None:
    """state/chain/branches.py must list each operation that sets a signing key."""
    writers = {
        source.path.removeprefix("state/")
        for source in sources("state")
        if "signing_key=" in source.text.replace("new_signing_key=", "").replace("block_signing_key=", "")
        or 'changes["signing_key"]' in source.text
    }
    assert writers == {
        "chain/genesis.py",  # before every branch
        "chain/steps/heads.py",  # the key of nobody
        "chain/state_edits.py",  # read back from the journal
        "operations/witnesses.py",
        "operations/mining.py",
    }


def test_a_key_given_by_an_edit_signs_on_both_sides() -> None:
    chain, other = twins()
    set_signing_key(chain, "initminer", NEW_KEY, Skip.NOTHING)
    first = [made_by(chain, NEW_SECRET) for _ in range(2)]
    # The other branch starts before the block with the edit.
    other.pop_block()
    other.clear_pending()
    old = [make_block(other, 1), make_block(other), make_block(other), make_block(other)]
    switched(chain, old)
    # A switch back to the first branch restores its edit, so its blocks are signed with the edit's key.
    back = first[-1]
    more = []
    for missed in (0, 0, 0):
        block = SignedBlock(previous=back.id, timestamp=back.timestamp + 3 + missed, witness="initminer")
        back = signed_block(chain, block, NEW_SECRET)
        more.append(back)
    switched(chain, more[:2])
    assert chain.state.witness("initminer").signing_key == NEW_KEY
    chain.push_block(more[2])


def test_a_branch_can_cross_the_end_of_a_round() -> None:
    chain, other = twins(18)
    for _ in range(5):
        make_block(chain)
    other.push_transaction(rekey(other, NEW_KEY, "alice"))
    # Block 21 begins a round that includes the new witness alice.
    branch = [make_block(other, 1)]
    while other.state.props.head_block_number < 25:
        scheduled = scheduled_witness(other.state, 1)
        branch.append(made_by(other, NEW_SECRET if scheduled == "alice" else SECRET))
    assert {block.witness for block in branch} == {"alice", "initminer"}
    for block in branch:
        chain.push_block(copied(block))
    assert chain.state.props.head_block_id == branch[-1].id
    assert state_digest(chain.state) == state_digest(other.state)
    # Now the main branch has a round of two witnesses, and the old branch a round of one.
    old = block_at(chain, 18)
    late = SignedBlock(previous=old.id, timestamp=old.timestamp + 60, witness="initminer")
    assert not chain.push_block(signed_block(chain, late, SECRET))


def test_branches_of_the_first_block() -> None:
    chain, other = dev_chain(), dev_chain()
    make_block(chain)
    switched(chain, [make_block(other, 1), make_block(other)])
    assert state_digest(chain.state) == state_digest(other.state)


def test_a_signature_can_be_written_in_four_ways() -> None:
    """From any signature, three other valid ones can be derived. The limit of blocks per witness must therefore allow all four."""
    chain, other = twins()
    make_block(chain)
    block = make_block(other, 1)
    s = int.from_bytes(block.witness_signature[33:], "big")
    recovery = (block.witness_signature[0] - 27) & 3
    spellings: list[SignedBlock] = []
    for which, number in ((recovery, s), (recovery ^ 1, CURVE_ORDER - s)) * 2:
        header = which + (27 if len(spellings) < 2 else 31)
        twin = copied(block)
        twin.witness_signature = bytes((header,)) + block.witness_signature[1:33] + number.to_bytes(32, "big")
        spellings.append(chain.state.wire.seal_block(twin))
    assert len({twin.id for twin in spellings}) == 4
    for twin in spellings:
        assert not chain.push_block(twin)
