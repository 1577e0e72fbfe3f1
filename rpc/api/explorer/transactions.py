"""Looks up a transaction by id, and returns its position, its bytes with field offsets, its signers and its costs."""

from collections.abc import Iterator
from itertools import islice
from typing import Annotated, NotRequired, TypedDict

from rpc.api.dev.explain import FieldPlace
from rpc.declare.arguments import Hash160, UInt16, UInt32
from rpc.declare.method import method
from rpc.declare.record_encoder import Json, ShowsRecord
from rpc.explain.authority.key_owners import KeyOwners, Place
from rpc.explain.authority.weights import REPLACED_BY, REQUIRED_MAX, SIGNATURES_MAX, Weigher
from rpc.explain.budget import Budget
from rpc.explain.case import RefusalCase
from rpc.explain.fields import parts
from state.chain.chain import Chain
from state.chain.transactions import authority_lookups, canonical_rule
from state.plugins.account_history import ACCOUNT_HISTORY, locate_transaction
from state.plugins.rc.plugin import RC, payer
from state.plugins.rc.prices import NO_USAGE
from state.plugins.rc.rows import Rc
from state.plugins.rc.usage import Usage, usage_of
from state.plugins.transaction_status import TRANSACTION_STATUS
from state.protocol.authority import Authority
from state.protocol.errors import ChainError, DivisionByZero, Refused, UnknownKey
from state.protocol.keys.keys import public_key_text
from state.protocol.keys.signatures import recover
from state.protocol.operation import Needed
from state.protocol.transaction import SignedTransaction, Wire
from state.protocol.values.text import time_text
from state.tables import State

FIELDS_MAX = 1000  # the maximum number of fields in the reply; a block of 64 KB can hold ten times as many
BLOCKS_MAX = 1000  # the number of newest blocks to search if no plugin indexes transactions
SEARCHED_MAX = 50_000  # the maximum number of transactions to search in these blocks
HISTORY_TRIES = 50  # the budget for searching one account's history for its former keys
SLOTS = 1 << 16  # how many different values a 16-bit reference block number has

TransactionJson = Annotated[Json, ShowsRecord(SignedTransaction)]


class KeyPlace(TypedDict):
    """An account and one of its roles."""

    account: str
    role: str


class SignedBy(TypedDict):
    """A key that signed the transaction, with the accounts that use it now or used it before. The key is null for an invalid signature."""

    key: str | None
    belongs_to: list[KeyPlace]
    belonged_to: NotRequired[list[KeyPlace]]


class NeededAuthority(TypedDict):
    """An authority that the transaction needs, and the weight that the transaction's signatures have in it now.

    `met_by` is the role whose authority the signatures satisfy: `role` itself, a higher role of the account, or null if they no longer
    satisfy any. The account is null for an authority that is part of an operation.
    """

    account: str | None
    role: str
    threshold: int
    reached: int
    met_by: str | None


class Reference(TypedDict):
    """The reference block, which ties the transaction to a branch. Its number and id are null if the block isn't available.

    `is_same` is true if the block is on the main branch.
    """

    ref_block_num: UInt16
    ref_block_prefix: UInt32
    block_num: UInt32 | None
    block_id: str | None
    is_same: bool


class ResourceUse(TypedDict):
    """The transaction's usage of a resource, in that resource's unit, and the current cost of this usage."""

    resource: str
    used: int
    cost: str


class Credits(TypedDict):
    """The account that pays, and what the transaction would cost now in resource credits, as text. The original cost isn't stored."""

    payer: str
    cost: str
    resources: list[ResourceUse]


class FoundTransaction(TypedDict):
    """A transaction of the main branch, or a pending one. The block and time of a pending transaction are null."""

    id: str
    block_num: UInt32 | None
    trx_in_block: UInt32 | None
    timestamp: str | None
    is_irreversible: bool
    is_impersonated: bool
    transaction: TransactionJson
    digest: str
    size: UInt32
    hex: str
    fields: list[FieldPlace]
    fields_left_out: bool
    signed_by: list[SignedBy]
    required: list[NeededAuthority]
    reference: Reference
    credits: Credits | None


@method("explorer_api.get_transaction")
def get_transaction(chain: Chain, /, id_: Hash160) -> FoundTransaction | None:
    """Return a transaction of the main branch or a pending one, or null if it is unknown.

    The result includes its bytes with the offsets of at most 1,000 fields, the keys that signed it and their current owners, its reference
    block, and its current cost in resource credits. If the plugins account_history and transaction_status are off, only the newest blocks
    are searched.
    """
    found = find_transaction(chain, id_)
    if found is None:
        return None
    trx, number, index = found
    state, wire = chain.state, chain.state.wire
    fields = list(islice(fields_of(wire, trx), FIELDS_MAX + 1))
    keys = keys_of(state, trx)
    time = None if number is None else state.time_of_block(number)
    return {
        "id": trx.id.hex(),
        "block_num": number,
        "trx_in_block": index,
        "timestamp": None if time is None else time_text(time),
        "is_irreversible": number is not None and number <= state.props.last_irreversible_block_num,
        "is_impersonated": trx.id in state.impersonated.accepted,
        "transaction": wire.transaction_to_json(trx),
        "digest": wire.signature_digest(trx).hex(),
        "size": trx.size,
        "hex": wire.pack_transaction(trx).hex(),
        "fields": fields[:FIELDS_MAX],
        "fields_left_out": len(fields) > FIELDS_MAX,
        "signed_by": signed_by(chain, trx, keys),
        "required": list(required(state, trx, frozenset(key for key in keys if key is not None))),
        "reference": reference(chain, trx, number),
        "credits": credits_of(state, trx),
    }


# ------------------------------------------------------------------ position


def find_transaction(chain: Chain, trx_id: bytes) -> tuple[SignedTransaction, int | None, int | None] | None:
    """Return a transaction, its block number and its index in the block, or None if the transaction is unknown.

    For a pending transaction, the block number and the index are None.
    """
    state = chain.state
    number = block_of(state, trx_id)
    if number is not None:
        block = chain.block_by_number(number)
        # The block can be missing if the chain started from a snapshot.
        found = [] if block is None else [(trx, number, i) for i, trx in enumerate(block.transactions) if trx.id == trx_id]
        return found[0] if found else None
    waiting = next((trx for trx in (*chain.pending, *chain.pool.popped) if trx.id == trx_id), None)
    if waiting is not None:
        return waiting, None, None
    return None if ACCOUNT_HISTORY.is_on(state) or TRANSACTION_STATUS.is_on(state) else search(chain, trx_id)


def block_of(state: State, trx_id: bytes) -> int | None:
    """Return the number of a transaction's block, or None if no plugin has indexed the transaction."""
    if ACCOUNT_HISTORY.is_on(state):
        place = locate_transaction(state, trx_id)
        return None if place is None else place[0]
    known = TRANSACTION_STATUS.find(state)
    # The plugin stores 0 for a pending transaction.
    return None if known is None else known.block_of.get(trx_id) or None


def search(chain: Chain, trx_id: bytes) -> tuple[SignedTransaction, int, int] | None:
    """Search the newest reversible blocks, which are in memory as objects, for a transaction."""
    head, remaining = chain.state.props.head_block_number, SEARCHED_MAX
    for number in range(head, max(chain.irreversible, head - BLOCKS_MAX), -1):
        block = chain.block_by_number(number)
        for index, trx in enumerate(() if block is None else block.transactions):
            if trx.id == trx_id:
                return trx, number, index
        remaining -= 0 if block is None else len(block.transactions)
        if remaining <= 0:
            break
    return None


def reference(chain: Chain, trx: SignedTransaction, number: int | None) -> Reference:
    """Return a transaction's reference block: the newest earlier block whose number ends in the 16 bits `ref_block_num`."""
    last = chain.state.props.head_block_number if number is None else number - 1
    found = last - (last - trx.ref_block_num) % SLOTS
    block, base = chain.block_by_number(found) if found > 0 else None, chain.state.spec.base
    block_id = base.block_id if found == base.number > 0 else None if block is None else block.id
    return {
        "ref_block_num": trx.ref_block_num,
        "ref_block_prefix": trx.ref_block_prefix,
        "block_num": None if block_id is None else found,
        "block_id": None if block_id is None else block_id.hex(),
        "is_same": int.from_bytes((block_id or bytes(8))[4:8], "little") == trx.ref_block_prefix,
    }


def fields_of(wire: Wire, trx: SignedTransaction) -> Iterator[FieldPlace]:
    """Yield the fields of a transaction with their offsets, in byte order."""
    offset = 0
    for path, data, value in parts(wire, trx):
        yield {"path": path, "offset": offset, "size": len(data), "hex": data.hex(), "value": value}
        offset += len(data)


# ------------------------------------------------------------------ signers


def keys_of(state: State, trx: SignedTransaction) -> list[bytes | None]:
    """Return the keys that signed a transaction, in the order of its signatures, with None for each invalid signature."""
    if trx.signers is not None:
        return list(trx.signers[:SIGNATURES_MAX])
    digest, rule = state.wire.signature_digest(trx), canonical_rule(state)
    keys: list[bytes | None] = []
    for signature in trx.signatures[:SIGNATURES_MAX]:
        try:
            keys.append(recover(signature, digest, rule))
        except ChainError:
            keys.append(None)
    return keys


def signed_by(chain: Chain, trx: SignedTransaction, keys: list[bytes | None]) -> list[SignedBy]:
    """Return the keys that signed, each with the accounts and roles that use it now or used it before."""
    key_owners = KeyOwners(RefusalCase(chain, Refused(""), trx, Budget(HISTORY_TRIES)), trx)
    prefix = chain.state.spec.key_prefix
    found: list[SignedBy] = []
    for key in keys:
        if key is None:
            found.append({"key": None, "belongs_to": []})
            continue
        places = key_owners.of(key)
        shown: SignedBy = {"key": public_key_text(key, prefix), "belongs_to": places_of(places)}
        former = [] if places else key_owners.former(key)
        if former:
            shown["belonged_to"] = places_of(former)
        found.append(shown)
    return found


def places_of(places: list[Place]) -> list[KeyPlace]:
    """Encode accounts with their roles."""
    return [{"account": name, "role": role} for name, role in places]


def required(state: State, trx: SignedTransaction, keys: frozenset[bytes]) -> Iterator[NeededAuthority]:
    """Yield the authorities that a transaction needs, each with the weight that `keys` reach in it now."""
    needed, lookups = Needed.by(trx.operations), authority_lookups(state)
    nested = lookups.posting if needed.posting else lookups.active

    def entry(name: str | None, role: str, authority: Authority) -> NeededAuthority:
        threshold, reached = authority.weight_threshold, Weigher(keys, nested).reached(authority)
        met_by = role if reached >= threshold else None
        for higher in REPLACED_BY[role] if met_by is None else ():
            other = getattr(state.authority(name or ""), higher)
            if Weigher(keys, nested).reached(other) >= other.weight_threshold:
                met_by = higher
                break
        return {"account": name, "role": role, "threshold": threshold, "reached": reached, "met_by": met_by}

    for role in ("owner", "active", "posting"):
        for name in sorted(getattr(needed, role))[:REQUIRED_MAX]:
            try:
                yield entry(name, role, getattr(state.authority(name), role))
            except UnknownKey:
                continue
    for authority in needed.other[:REQUIRED_MAX]:
        yield entry(None, "other", authority)


# ------------------------------------------------------------------ costs


def credits_of(state: State, trx: SignedTransaction) -> Credits | None:
    """Return a transaction's current cost, or None if the plugin `rc` isn't enabled or the cost can't be computed."""
    rc = RC.find(state)
    if rc is None or not rc.accounts.next_id:
        return None
    usage = usage_of(trx)
    try:
        each = zip(rc.resources, usage, costs_of(state, rc, usage), strict=True)
        return {
            "payer": payer(trx.operations),
            "cost": str(rc.price(state, usage)),
            "resources": [{"resource": resource.name, "used": used, "cost": str(cost)} for resource, used, cost in each if used],
        }
    except (Refused, DivisionByZero):
        return None


def costs_of(state: State, rc: Rc, usage: Usage) -> list[int]:
    """Return, for each resource, the cost of this usage."""
    costs = []
    for i, used in enumerate(usage):
        alone = list(NO_USAGE)
        alone[i] = used
        costs.append(rc.price(state, (alone[0], alone[1], alone[2], alone[3], alone[4])))
    return costs
