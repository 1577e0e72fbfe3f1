"""Genesis of the chain that a newcomer starts: its books are balanced, and what its accounts own can be spent and burned."""

from node.specs.builder import load_spec
from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.chain.invariants import validate_invariants
from state.chain.slots import scheduled_witness, slot_time
from state.operations.transfers import Transfer
from state.protocol.keys.keys import derive_secret, secret_from_wif
from state.protocol.keys.signatures import Canonical, sign
from state.protocol.transaction import SignedTransaction
from state.protocol.values.asset import SBD, Asset

NOW = 1_800_000_000


def test_all_sbd_of_dev_can_be_burned() -> None:
    spec = load_spec("dev")
    chain = Chain(new_state(spec))
    secret = secret_from_wif(spec.witness_keys[0])
    chain.generate_block(NOW, "initminer", secret)
    state = chain.state
    assert state.props.sbd_print_rate == 10000
    for account in spec.genesis.accounts:
        trx = SignedTransaction(
            ref_block_num=state.props.head_block_number,
            ref_block_prefix=int.from_bytes(state.props.head_block_id[4:8], "little"),
            expiration=state.head_time + 60,
            operations=(Transfer(account.name, "null", Asset(account.sbd, SBD), ""),),
        )
        state.wire.seal(trx)
        trx.signatures = (sign(derive_secret(account.name, "active", "dev"), state.wire.signature_digest(trx), Canonical.bip_0062),)
        chain.push_transaction(state.wire.seal(trx))
    block = chain.generate_block(slot_time(state, 1), scheduled_witness(state, 1), secret)
    assert len(block.transactions) == len(spec.genesis.accounts)
    assert state.account("null").sbd_balance == 0
    validate_invariants(state)
