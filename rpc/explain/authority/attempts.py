"""Digests that a client may have signed by mistake.

Examples are the digests for another chain, with other symbols, before a field was changed, or of a differently serialized transaction. The
caller recovers a key from the signature and each digest. If the key belongs to an account, the client signed that digest.
"""

from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from itertools import chain as joined

from msgspec import Struct
from msgspec.structs import replace

from rpc.explain.authority.alterations import altered_transactions
from rpc.explain.authority.packings import Packing, other_packings
from rpc.explain.case import KnownChain, RefusalCase
from state.protocol.spec import ChainSpec
from state.protocol.transaction import SignedTransaction, Wire

WIRES_KEPT_MAX = 64
PACKED_AGAIN_MAX = 200  # operations; repacking a larger transaction takes too long
Letters = tuple[str, str, str]


class Attempt(Struct, frozen=True):
    """A possible signing mistake: its stable name, a clause that describes it, advice, and the digest that is then signed."""

    cause: str
    clause: str
    what_to_do: str
    digest: bytes


def attempts(case: RefusalCase, trx: SignedTransaction) -> Iterator[Attempt]:
    """Yield possible signing mistakes, the most frequent mistakes first. Each results in a different digest."""
    seen = {case.wire.signature_digest(trx)}
    packed = (
        () if len(trx.operations) > PACKED_AGAIN_MAX else (of_other_symbols(case, trx), of_alterations(case, trx), of_packings(case, trx))
    )
    for attempt in joined((other_chain(case, known, trx.body) for known in case.known_chains()), *packed):
        if attempt.digest not in seen:
            seen.add(attempt.digest)
            yield attempt


def digest(chain_id: bytes, body: bytes) -> bytes:
    """Return the digest that must be signed for a packed transaction on the chain with this id."""
    return sha256(chain_id + body).digest()


def of_other_symbols(case: RefusalCase, trx: SignedTransaction) -> Iterator[Attempt]:
    """Yield two mistakes for each other chain: serializing with its symbols and signing for this chain, or for that other chain."""
    own = (case.spec.coin_symbol, case.spec.debt_symbol, case.spec.vests_symbol)
    bodies: dict[Letters, bytes] = {}
    for known in case.known_chains():
        letters = (known.coin, known.debt, known.vests)
        if letters == own:
            continue
        if letters not in bodies:
            bodies[letters] = body = wire_with(case.spec, *letters).pack_body(trx)
            clause = f"it was signed with the symbols {', '.join(letters)}, but this chain's symbols are {', '.join(own)}"
            to_do = f"Set the client's symbols to {', '.join(own)}, and sign again."
            yield Attempt("other_symbols", clause, to_do, digest(case.spec.chain_id, body))
        if bodies[letters] != trx.body:
            yield other_chain(case, known, bodies[letters], f" and with its symbols {', '.join(letters)}")


def other_chain(case: RefusalCase, known: KnownChain, body: bytes, addition: str = "") -> Attempt:
    """Return the mistake of signing for another known chain. `addition` is appended to the clause that describes it."""
    clause = f"it was signed for the chain {known.name} with the id {known.chain_id.hex()}{addition}"
    to_do = f"Set the client's chain id to {case.spec.chain_id.hex()}"
    to_do += f" and its symbols to {case.spec.coin_symbol}, {case.spec.debt_symbol}, {case.spec.vests_symbol}" if addition else ""
    return Attempt("other_chain_id", clause, f"{to_do}, and sign again.", digest(known.chain_id, body))


@lru_cache(WIRES_KEPT_MAX)
def wire_with(spec: ChainSpec, coin: str, debt: str, vests: str) -> Wire:
    """Return the wire format of a chain with its three symbols replaced."""
    return Wire(replace(spec, coin_symbol=coin, debt_symbol=debt, vests_symbol=vests))


def of_alterations(case: RefusalCase, trx: SignedTransaction) -> Iterator[Attempt]:
    """Yield the mistakes of changing a field after signing."""
    for alteration in altered_transactions(case, trx):
        body = case.wire.pack_body(alteration.trx)
        clause = f"{alteration.change} after signing: it was signed with {alteration.signed}"
        to_do = f"Sign exactly what is sent: {alteration.advice}."
        yield Attempt("altered_field", clause, to_do, digest(case.spec.chain_id, body))


def of_packings(case: RefusalCase, trx: SignedTransaction) -> Iterator[Attempt]:
    """Yield the mistakes of clients that serialize or hash transactions incorrectly."""
    for packing in (*other_digests(case, trx), *other_packings(case, trx)):
        to_do = "Let the node serialize the transaction (condenser_api.get_transaction_hex), or use a client that serializes it correctly."
        yield Attempt("other_serialization", f"it was serialized differently: {packing.clause}", to_do, packing.digest)


def other_digests(case: RefusalCase, trx: SignedTransaction) -> Iterator[Packing]:
    """Yield wrong digests of the correctly packed transaction, for example without the chain id."""
    chain_id, body = case.spec.chain_id, trx.body
    yield Packing("the chain id was not prepended before hashing", sha256(body).digest())
    yield Packing("the digest was hashed twice", sha256(digest(chain_id, body)).digest())
    yield Packing("the chain id was prepended as hex digits", sha256(chain_id.hex().encode() + body).digest())
    yield Packing("the bytes were hashed as hex digits", sha256((chain_id + body).hex().encode()).digest())
    yield Packing("the transaction id was signed instead of the digest", trx.id + bytes(12))
