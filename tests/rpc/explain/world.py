"""A chain with accounts, posts and orders for tests of explanations, and functions that make wrongly signed transactions."""

import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from node.specs.builder import load_spec
from state.operations.accounts import AccountCreate
from state.operations.authorities import AccountUpdate
from state.operations.content import Comment, Vote
from state.operations.market import LimitOrderCreate
from state.operations.transfers import Transfer
from state.operations.vesting import DelegateVestingShares, TransferToVesting
from state.operations.witnesses import AccountWitnessVote
from state.plugins.rc.plugin import RC
from state.protocol.authority import Authority, key_authority
from state.protocol.constants import HIVE_TREASURY_ACCOUNT
from state.protocol.keys.keys import derive_secret, public_key, secret_from_seed
from state.protocol.keys.signatures import Canonical, sign
from state.protocol.operation import Operation
from state.protocol.transaction import SignedTransaction
from state.protocol.values.asset import COIN, SBD, VESTS, Asset
from tests.helpers.api import INIT_SECRET, INIT_WIF, ApiChain

PUSH = "condenser_api.broadcast_transaction"
ONE = Asset(1000, COIN)
TRANSFER = Transfer(from_="alice", to="bob", amount=ONE, memo="hi")
STRANGER = secret_from_seed("a stranger")
OLD_POSTING, OLD_OWNER = derive_secret("grace", "posting", "dev"), derive_secret("heidi", "owner", "dev")
BLOCKS = 30


def secret(name: str, role: str = "active") -> bytes:
    """Return the private key of a dev account's role."""
    return derive_secret(name, role, "dev")


def key(name: str, role: str = "active") -> bytes:
    """Return the public key of a dev account's role."""
    return public_key(secret(name, role))


def new_key(name: str) -> bytes:
    """Return the new public key of an account that has changed its key."""
    return public_key(secret_from_seed(f"new {name}"))


class World(ApiChain):
    """A dev chain with the data that the refused transactions need."""

    def __init__(self) -> None:
        super().__init__("dev", load_spec("dev").plugins)
        self.blocks(BLOCKS)
        self.do(Comment(author="alice", permlink="hello", parent_permlink="test", title="Hello", body="Hello"), by=("alice", "posting"))
        self.do(LimitOrderCreate("carol", 7, ONE, Asset(900_000, SBD), False, self.state.head_time + 3600), by=("carol", "active"))
        self.do(
            AccountUpdate(account="grace", posting=key_authority(new_key("grace")), memo_key=key("grace", "memo")), by=("grace", "active")
        )
        self.do(AccountUpdate(account="heidi", owner=key_authority(new_key("heidi")), memo_key=key("heidi", "memo")), by=("heidi", "owner"))
        own = key_authority(public_key(secret_from_seed("team")))
        two_of_three = Authority(2, (("alice", 1), ("bob", 1)), ((public_key(secret_from_seed("team")), 1),))
        create = AccountCreate(
            Asset(0, COIN), "initminer", "team", key_authority(new_key("team")), two_of_three, own, public_key(STRANGER[::-1]), ""
        )
        self.push(create, signers=(INIT_SECRET,))
        self.push(replace(create, new_account_name=HIVE_TREASURY_ACCOUNT, active=own), signers=(INIT_SECRET,))
        # This account has no VESTS, and therefore no resource credits.
        self.push(replace(create, new_account_name="poor", owner=own, active=own), signers=(INIT_SECRET,))
        self.blocks(1)
        self.do(TransferToVesting("alice", "team", Asset(1_000_000, COIN)), by=("alice", "active"))
        self.do(Vote("bob", "alice", "hello", 10_000), by=("bob", "posting"))
        self.do(AccountWitnessVote("bob", "initminer", True), by=("bob", "active"))
        self.do(DelegateVestingShares("judy", "ivan", Asset(10_000_000_000, VESTS)), by=("judy", "active"))
        self.blocks(2)
        credits = RC.of(self.state).accounts
        credits.modify(credits.by_account.find("frank"), mana=0, mana_time=self.state.head_time)
        self.now = self.state.head_time

    def blocks(self, count: int) -> None:
        """Make `count` blocks."""
        self.call("debug_node_api.debug_generate_blocks", debug_key=INIT_WIF, count=count)

    def push(self, operation: Operation, signers: tuple[bytes, ...]) -> None:
        """Push an operation in a transaction that must be accepted."""
        self.chain.push_transaction(self.transaction(operation, signers=signers))

    def do(self, operation: Operation, by: tuple[str, str]) -> None:
        """Push an operation, signed with the key of a dev account's role; it must be accepted."""
        self.push(operation, (secret(*by),))

    def refuse(self, trx: SignedTransaction | dict[str, Any], method: str = PUSH) -> dict[str, Any]:
        """Broadcast a transaction that must be refused, and return the error object."""
        is_legacy = method.startswith("condenser_api.")
        shown = trx if isinstance(trx, dict) else self.wire.transaction_to_json(trx, is_legacy)
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": [shown] if is_legacy else {"trx": shown}}
        reply = json.loads(self.answer(json.dumps(request).encode(), local=False))
        assert "error" in reply, "it was accepted"
        error: dict[str, Any] = reply["error"]
        return error


# A function that makes a transaction, or its JSON.
Make = Callable[[World], Any]


class Way(Struct, frozen=True):
    """A transaction that is refused, with the rule and the cause that the explanation must have."""

    name: str
    make: Make
    rule: str
    cause: str | None = None
    method: str = PUSH


# ------------------------------------------------------------------ ways to sign


def signed(*operations: Operation, by: tuple[tuple[str, str], ...] = (("alice", "active"),), **fields: Any) -> Make:
    """Return a function that makes a correctly signed transaction. `by` lists the dev accounts and roles that sign it."""
    return lambda world: world.transaction(*operations, signers=tuple(secret(*place) for place in by), **fields)


def with_secrets(*secrets: bytes, operation: Operation = TRANSFER) -> Make:
    """Return a function that makes a transaction signed with these private keys."""
    return lambda world: world.transaction(operation, signers=secrets)


def with_digest(digest: Callable[[World, SignedTransaction], bytes], operation: Operation = TRANSFER, role: str = "active") -> Make:
    """Return a function that makes a transaction on which alice signs a wrong digest, the one that `digest` computes."""

    def make(world: World) -> SignedTransaction:
        trx = world.transaction(operation)
        return with_signature(world, trx, digest(world, trx), role)

    return make


def with_signature(world: World, trx: SignedTransaction, digest: bytes, role: str = "active") -> SignedTransaction:
    """Sign `digest` as alice, and return the transaction with this signature."""
    trx.signatures = (sign(secret("alice", role), digest, Canonical.bip_0062),)
    trx.signers = None
    return world.wire.seal(trx)


def altered(operation: Operation = TRANSFER, role: str = "active", head: dict[str, int] | None = None, **fields: Any) -> Make:
    """Return a function that makes a transaction that is changed after alice has signed it. `fields` replaces fields of the operation.
    `head` adds offsets to fields of the transaction.
    """

    def make(world: World) -> SignedTransaction:
        trx = world.transaction(operation, signers=(secret("alice", role),))
        shifted = {name: getattr(trx, name) + offset for name, offset in (head or {}).items()}
        changed = replace(trx, operations=(replace(operation, **fields),), signers=None, **shifted)
        return world.wire.seal(changed)

    return make


def for_chain(chain_id: bytes) -> Callable[[World, SignedTransaction], bytes]:
    """Return a function that computes a transaction's digest for the chain with this id."""
    return lambda world, trx: sha256(chain_id + trx.body).digest()


def body(change: Callable[[bytes], bytes]) -> Callable[[World, SignedTransaction], bytes]:
    """Return a function that computes a transaction's digest after `change` has been applied to the packed transaction."""
    return lambda world, trx: sha256(world.state.spec.chain_id + change(trx.body)).digest()


def written(change: Callable[[dict[str, Any]], object], make: Make | None = None) -> Make:
    """Return a function that makes the JSON of a transaction, changed by `change`."""

    def made(world: World) -> dict[str, Any]:
        trx = (make or signed(TRANSFER))(world)
        assert isinstance(trx, SignedTransaction)
        shown = world.wire.transaction_to_json(trx, legacy=True)
        change(shown)
        return shown

    return made
