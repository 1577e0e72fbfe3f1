"""Methods that sign with the private keys of the chain spec, and list these keys."""

from collections.abc import Mapping
from typing import Annotated, Any, TypedDict

from rpc.caller import Caller
from rpc.declare.arguments import AnyOf, Text, UInt32
from rpc.declare.errors import BadArgument, PushFailed
from rpc.declare.method import method
from rpc.processor import Processor
from state.chain.chain import Chain
from state.chain.known_keys import listed_accounts, signed_transaction, usable_secrets
from state.protocol.errors import ChainError, Refused
from state.protocol.keys.keys import is_secret, public_key, public_key_text, secret_from_wif, wif_from_secret
from state.protocol.operation import Operation
from state.protocol.transaction import OPERATION, Wire
from state.tables import State

ATTEMPTS_MAX = 8  # attempts to build a transaction that differs from those that other clients broadcast at the same time

# An operation in either JSON form.
Operations = Annotated[list[Any], AnyOf((list[Annotated[Operation, OPERATION]],))]


class KeyPair(TypedDict):
    """The public and private key of an account, the private key in wallet import format."""

    public: str
    private: str


class RoleKeys(TypedDict, total=False):
    """An account's keys by role. Roles whose private key is not in the chain spec are omitted."""

    owner: KeyPair
    active: KeyPair
    posting: KeyPair
    memo: KeyPair


class AccountKeys(TypedDict):
    """An account and its keys."""

    name: str
    keys: RoleKeys


class Broadcast(TypedDict):
    """An accepted transaction: its id, and its block's number (null while it is pending)."""

    id: str
    block_num: UInt32 | None


@method("dev_api.list_keys", loopback_only=True)
def list_keys(state: State, /) -> list[AccountKeys]:
    """List the accounts and witnesses whose private keys are in the chain spec, with their private keys.

    These are the keys at genesis. An account's keys can have changed since then. On a fork, these are the first 10,000 accounts whose keys
    are derived from their names.
    """
    prefix = state.spec.key_prefix
    return [{"name": account.name, "keys": shown_keys(account.secrets, prefix)} for account in listed_accounts(state)]


@method("dev_api.broadcast_operations", loopback_only=True)
async def broadcast_operations(
    chain: Chain, wire: Wire, processor: Processor, caller: Caller, /, operations: Operations, keys: list[Text] | None = None
) -> Broadcast:
    """Build a transaction from operations, sign it, push it, and return its id and its block (null while it is pending).

    Each operation has one of two formats: `["transfer", {...}]` with amounts as strings, or `{"type": "transfer_operation", "value": {}}`.
    The node chooses as few keys as suffice from `keys` (private keys in wallet import format) and from those that `dev_api.list_keys`
    returns. If a call is repeated, the new transaction gets another expiration, so that it isn't a duplicate.
    """
    given = read_operations(operations, wire)
    state = chain.state
    secrets = usable_secrets(state, given) | dict(read_key(text, index) for index, text in enumerate(keys or ()))
    for attempt in range(ATTEMPTS_MAX):
        trx = signed_transaction(state, given, secrets, len(chain.pending))
        before = state.props.head_block_number
        try:
            await processor.push_transaction(trx, caller)
        except PushFailed:
            # An equal transaction of another client can have been queued before this one.
            if attempt == ATTEMPTS_MAX - 1 or state.transactions.by_trx_id.get(trx.id) is None:
                raise
        else:
            break
    return {"id": trx.id.hex(), "block_num": block_of(chain, trx.id, before)}


def read_operations(values: list[Any], wire: Wire) -> tuple[Operation, ...]:
    """Parse operations, each of which may be in the condenser's JSON form or in that of the other API groups."""
    read: list[Operation] = []
    for index, value in enumerate(values):
        is_legacy = isinstance(value, list)
        try:
            read.append(wire.codecs.parser(OPERATION, is_legacy)(value))
        except ChainError as error:
            raise BadArgument(error, f"operations[{index}]", ({"operations": values}, not isinstance(value, dict))) from None
    return tuple(read)


def read_key(text: str, index: int) -> tuple[bytes, bytes]:
    """Parse a private key. Return the public key and the secret bytes."""
    try:
        secret = secret_from_wif(text)
        if not is_secret(secret):
            raise Refused("expected a private key in wallet import format", condition="private_key.valid()")
    except ChainError as error:
        raise BadArgument(error, f"keys[{index}]") from None
    return public_key(secret), secret


def block_of(chain: Chain, trx_id: bytes, before: int) -> int | None:
    """Return the number of the first block after the block `before` that includes a transaction, or None if there is none."""
    for number in range(before + 1, chain.state.props.head_block_number + 1):
        block = chain.block_by_number(number)
        if block is not None and any(trx.id == trx_id for trx in block.transactions):
            return number
    return None


def shown_keys(secrets: Mapping[str, bytes], prefix: str) -> RoleKeys:
    """Encode private keys by role, with their public keys, as text."""
    shown: RoleKeys = {}
    for role, secret in secrets.items():
        pair: KeyPair = {"public": public_key_text(public_key(secret), prefix), "private": wif_from_secret(secret)}
        shown[role] = pair  # type: ignore[literal-required]
    return shown
