"""Chain for benchmarks, with all plugins. Its accounts are inserted into the tables, and its posts and orders are made by operations."""

from node.specs.builder import load_spec
from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.chain.skip import TRUSTED
from state.chain.slots import scheduled_witness, slot_at_time, slot_time
from state.chain.transactions import apply_transaction
from state.operations.content import Comment
from state.operations.market import LimitOrderCreate
from state.plugins.registry import PLUGINS, enable
from state.protocol.authority import key_authority
from state.protocol.keys.keys import public_key, secret_from_wif
from state.protocol.keys.signatures import Canonical, sign
from state.protocol.operation import Operation
from state.protocol.transaction import SignedBlock, SignedTransaction, Wire, merkle_root
from state.protocol.values.asset import COIN, SBD, Asset
from state.tables.accounts import Account, AccountAuthority, AccountMetadata

VESTS = 1_000_000_000_000
NOW = 1_700_000_000
METADATA = '{"tags":["one","two"],"app":"bench/1"}'


def user(number: int) -> str:
    """Return the name of an account."""
    return f"user-{number:06d}"


def signed(wire: Wire, secret: bytes, head_id: bytes, expiration: int, *operations: Operation) -> SignedTransaction:
    """Return a signed transaction that uses the block with id `head_id` as its reference block."""
    reference = int.from_bytes(head_id[2:4], "big"), int.from_bytes(head_id[4:8], "little")
    trx = wire.seal(SignedTransaction(*reference, expiration, operations))
    trx.signatures = (sign(secret, wire.signature_digest(trx), Canonical.bip_0062),)
    return wire.seal(trx)


class BenchChain(Chain):
    """A chain at genesis. With `size`, it has that number of accounts, each with its own keys, a post and an order."""

    KEYS = 1  # number of different keys of an account, for its three roles

    def __init__(self, size: int = 0) -> None:
        spec = load_spec("testnet")
        super().__init__(new_state(spec, lambda state: enable(state, PLUGINS)))
        self.secret = secret_from_wif(spec.witness_keys[0])
        self._serial = 0
        if size:
            self.produce(NOW)
            self.add_accounts(size)
            self.add_content(size)
            self.state.journal.commit(self.state.journal.position())
            self.produce()

    def produce(self, when: int = 0) -> None:
        """Make a block of the pending transactions, in the next slot, or in the slot of the time `when` if it is given."""
        when = when or slot_time(self.state, 1)
        self.generate_block(when, scheduled_witness(self.state, slot_at_time(self.state, when)), self.secret)

    def add_accounts(self, count: int) -> None:
        """Insert accounts into the tables, as if the head block had created them."""
        state = self.state
        for i in range(count):
            keys = [key_authority(bytes([2, role]) + i.to_bytes(31, "big")) for role in range(self.KEYS)] * 3
            row = state.accounts.insert(Account(name=user(i), balance=10**9, sbd_balance=10**9, vesting_shares=VESTS, created=NOW))
            state.account_authorities.insert(AccountAuthority(account=row.name, owner=keys[0], active=keys[1], posting=keys[2]))
            state.account_metadata.insert(AccountMetadata(account=row.id))
            if not i % 1000:
                state.journal.commit(state.journal.position())
        state.set_props(total_vesting_shares=count * VESTS, total_vesting_fund_coin=count * VESTS // 1000)
        state.journal.commit(state.journal.position())

    def add_content(self, size: int) -> None:
        """Apply one post and one order of each account, as if they were part of the head block."""
        for i in range(size):
            for operation in self.content(i):
                self.apply(operation)
            if not i % 1000:
                self.state.journal.commit(self.state.journal.position())

    def content(self, number: int) -> tuple[Operation, Operation]:
        """Return a post and an order of an account. The orders of several accounts don't match each other."""
        sell, receive = Asset(1000, COIN), Asset(10_000_000 + number % 1000, SBD)
        return (
            Comment("", f"topic-{number % 50}", user(number), "post", "A title", "A body", METADATA),
            LimitOrderCreate(user(number), number, sell, receive, False, self.state.head_time + 7200),
        )

    def push(self, *operations: Operation) -> None:
        """Push a block in which each operation is in a separate, unsigned transaction."""
        self.push_block(self.block(*operations), TRUSTED)

    def block(self, *operations: Operation) -> SignedBlock:
        """Return a block that follows the head."""
        state, transactions = self.state, tuple([self.transaction(operation) for operation in operations])
        slot, root = (slot_time(state, 1), scheduled_witness(state, 1)), merkle_root(transactions)
        return state.wire.seal_block(SignedBlock(state.props.head_block_id, *slot, root, transactions=transactions))

    def give_key(self, name: str) -> None:
        """Replace an account's active key with the witness's key, so that `secret` can sign for the account."""
        self.state.account_authorities.modify(self.state.authority(name), active=key_authority(public_key(self.secret)))

    def signed(self, *operations: Operation) -> SignedTransaction:
        """Return a transaction that is signed with `secret`."""
        state = self.state
        return signed(state.wire, self.secret, state.props.head_block_id, state.head_time + 60, *operations)

    def transaction(self, *operations: Operation) -> SignedTransaction:
        """Return a unique transaction with an invalid signature."""
        self._serial += 1
        return self.state.wire.seal(SignedTransaction(0, self._serial, self.state.head_time + 60, operations, signatures=(bytes(65),)))

    def apply(self, operation: Operation) -> None:
        """Apply an operation outside of any block, in a separate transaction without signatures."""
        apply_transaction(self.state, self.transaction(operation), TRUSTED)
