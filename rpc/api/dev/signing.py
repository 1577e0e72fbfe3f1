"""Transactions that the node signs itself, with the keys of accounts that its chain spec gives away, and those keys."""

from collections.abc import Mapping
from typing import Annotated, Any, TypedDict

from rpc.caller import Caller
from rpc.declare.arguments import AnyOf, Text, UInt32
from rpc.declare.errors import BadArgument, PushFailed
from rpc.declare.method import method
from rpc.processor import Processor
from state.chain.chain import Chain
from state.chain.known_keys import known_accounts, known_secrets, signed_transaction
from state.protocol.errors import ChainError, Refused
from state.protocol.keys.keys import is_secret, public_key, public_key_text, secret_from_wif, wif_from_secret
from state.protocol.operation import Operation
from state.protocol.spec import ChainSpec
from state.protocol.transaction import OPERATION, Wire

ATTEMPTS_MAX = 8  # for a transaction whose equal others broadcast at the same time

# Each operation in either of the two JSON forms.
Operations = Annotated[list[Any], AnyOf((list[Annotated[Operation, OPERATION]],))]


class KeyPair(TypedDict):
    """A key of an account: the public one, and the private one in wallet import format."""

    public: str
    private: str


class RoleKeys(TypedDict, total=False):
    """The keys of an account by role; a role whose private key the chain spec doesn't give away is left out."""

    owner: KeyPair
    active: KeyPair
    posting: KeyPair
    memo: KeyPair


class AccountKeys(TypedDict):
    """An account of the genesis with its keys."""

    name: str
    keys: RoleKeys


class Broadcast(TypedDict):
    """A transaction that was accepted: its id, and the number of its block; null while it is pending."""

    id: str
    block_num: UInt32 | None


@method("dev_api.list_keys", loopback_only=True)
def list_keys(spec: ChainSpec, /) -> list[AccountKeys]:
    """Return the accounts that have had known keys from the genesis on, with these keys: those of the chain spec, and its witnesses.

    They are the keys at genesis, whatever keys an account has been given since.
    """
    return [{"name": account.name, "keys": shown_keys(account.secrets, spec.key_prefix)} for account in known_accounts(spec)]


@method("dev_api.broadcast_operations", loopback_only=True)
async def broadcast_operations(
    chain: Chain, wire: Wire, processor: Processor, caller: Caller, /, operations: Operations, keys: list[Text] | None = None
) -> Broadcast:
    """Make a transaction of operations, sign it, push it, and return its id and its block; the block is null while it is pending.

    Each operation has one of the two forms: `["transfer", {...}]` with amounts as text, or `{"type": "transfer_operation", "value": {}}`.
    It is signed with as few as suffice of `keys`, which are private ones in wallet import format, and of those that the node knows
    (`dev_api.list_keys`). An equal transaction may be broadcast again: this one then expires at another second.
    """
    given = read_operations(operations, wire)
    secrets = dict(known_secrets(wire.spec)) | dict(read_key(text, index) for index, text in enumerate(keys or ()))
    state = chain.state
    for attempt in range(ATTEMPTS_MAX):
        trx = signed_transaction(state, given, secrets, len(chain.pending))
        before = state.props.head_block_number
        try:
            await processor.push_transaction(trx, caller)
        except PushFailed:
            # Somebody else's equal transaction may have been in the queue before this one.
            if attempt == ATTEMPTS_MAX - 1 or state.transactions.by_trx_id.get(trx.id) is None:
                raise
        else:
            break
    return {"id": trx.id.hex(), "block_num": block_of(chain, trx.id, before)}


def read_operations(values: list[Any], wire: Wire) -> tuple[Operation, ...]:
    """Read operations, each in either of its JSON forms."""
    read: list[Operation] = []
    for index, value in enumerate(values):
        is_legacy = isinstance(value, list)
        try:
            read.append(wire.codecs.parser(OPERATION, is_legacy)(value))
        except ChainError as error:
            raise BadArgument(error, f"operations[{index}]", ({"operations": values}, is_legacy)) from None
    return tuple(read)


def read_key(text: str, index: int) -> tuple[bytes, bytes]:
    """Read a private key; returns its public key and its secret."""
    try:
        secret = secret_from_wif(text)
        if not is_secret(secret):
            raise Refused("expected a private key in wallet import format", condition="private_key.valid()")
    except ChainError as error:
        raise BadArgument(error, f"keys[{index}]") from None
    return public_key(secret), secret


def block_of(chain: Chain, trx_id: bytes, before: int) -> int | None:
    """Return the number of the block after block `before` that has a transaction; None if none has."""
    for number in range(before + 1, chain.state.props.head_block_number + 1):
        block = chain.block_by_number(number)
        if block is not None and any(trx.id == trx_id for trx in block.transactions):
            return number
    return None


def shown_keys(secrets: Mapping[str, bytes], prefix: str) -> RoleKeys:
    """Return keys by role as text."""
    shown: RoleKeys = {}
    for role, secret in secrets.items():
        pair: KeyPair = {"public": public_key_text(public_key(secret), prefix), "private": wif_from_secret(secret)}
        shown[role] = pair  # type: ignore[literal-required]
    return shown
