"""Digests that a client may have signed by mistake: for another chain, with other symbols, before a change, or in another packing.

The caller recovers a key from the signature and each digest. If the key belongs to an account, that digest was signed.
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
PACKED_AGAIN_MAX = 200  # operations; packing a larger transaction in other ways takes too long
Letters = tuple[str, str, str]


class Attempt(Struct, frozen=True):
    """A possible mistake: a stable word, a clause that describes it, advice, and the digest that was then signed."""

    cause: str
    clause: str
    what_to_do: str
    digest: bytes


def attempts(case: RefusalCase, trx: SignedTransaction) -> Iterator[Attempt]:
    """Yield attempts with distinct digests, the most frequent mistakes first."""
    seen = {case.wire.signature_digest(trx)}
    packed = (
        () if len(trx.operations) > PACKED_AGAIN_MAX else (of_other_symbols(case, trx), of_alterations(case, trx), of_packings(case, trx))
    )
    for attempt in joined((other_chain(case, known, trx.body) for known in case.known_chains()), *packed):
        if attempt.digest not in seen:
            seen.add(attempt.digest)
            yield attempt


def digest(chain_id: bytes, body: bytes) -> bytes:
    """Return the digest that is signed for a chain."""
    return sha256(chain_id + body).digest()


def of_other_symbols(case: RefusalCase, trx: SignedTransaction) -> Iterator[Attempt]:
    """Yield the transaction packed with the symbols of another chain, signed for this chain or for the other."""
    own = (case.spec.coin_symbol, case.spec.debt_symbol, case.spec.vests_symbol)
    bodies: dict[Letters, bytes] = {}
    for known in case.known_chains():
        letters = (known.coin, known.debt, known.vests)
        if letters == own:
            continue
        if letters not in bodies:
            bodies[letters] = body = wire_with(case.spec, *letters).pack_body(trx)
            clause = f"it was signed with the symbols {', '.join(letters)}, and those of this chain are {', '.join(own)}"
            to_do = f"Set the client's symbols to {', '.join(own)}, and sign again."
            yield Attempt("other_symbols", clause, to_do, digest(case.spec.chain_id, body))
        if bodies[letters] != trx.body:
            yield other_chain(case, known, bodies[letters], f" and with its symbols {', '.join(letters)}")


def other_chain(case: RefusalCase, known: KnownChain, body: bytes, addition: str = "") -> Attempt:
    """Return the attempt that a transaction was signed for a known chain."""
    clause = f"it was signed for the chain {known.name} with the id {known.chain_id.hex()}{addition}"
    to_do = f"Set the client's chain id to {case.spec.chain_id.hex()}"
    to_do += f" and its symbols to {case.spec.coin_symbol}, {case.spec.debt_symbol}, {case.spec.vests_symbol}" if addition else ""
    return Attempt("other_chain_id", clause, f"{to_do}, and sign again.", digest(known.chain_id, body))


@lru_cache(WIRES_KEPT_MAX)
def wire_with(spec: ChainSpec, coin: str, debt: str, vests: str) -> Wire:
    """Return the wire format of a chain with other symbols."""
    return Wire(replace(spec, coin_symbol=coin, debt_symbol=debt, vests_symbol=vests))


def of_alterations(case: RefusalCase, trx: SignedTransaction) -> Iterator[Attempt]:
    """Yield the transaction as it may have been before a change."""
    for alteration in altered_transactions(case, trx):
        body = case.wire.pack_body(alteration.trx)
        clause = f"{alteration.field} was changed after signing: it was signed with {alteration.signed}"
        to_do = f"Sign what is sent: {alteration.advice}."
        yield Attempt("altered_field", clause, to_do, digest(case.spec.chain_id, body))


def of_packings(case: RefusalCase, trx: SignedTransaction) -> Iterator[Attempt]:
    """Yield the transaction in the packings of other clients."""
    for packing in (*whole(case, trx), *other_packings(case, trx)):
        to_do = "Have the node pack what is signed (condenser_api.get_transaction_hex), or use a client that packs as it does."
        yield Attempt("other_serialization", f"it was packed otherwise: {packing.clause}", to_do, packing.digest)


def whole(case: RefusalCase, trx: SignedTransaction) -> Iterator[Packing]:
    """Yield the same bytes with other digests."""
    chain_id, body = case.spec.chain_id, trx.body
    yield Packing("the chain id is missing in front of the bytes that were hashed", sha256(body).digest())
    yield Packing("the digest was hashed once more", sha256(digest(chain_id, body)).digest())
    yield Packing("the chain id stood as text in front of the bytes", sha256(chain_id.hex().encode() + body).digest())
    yield Packing("the bytes were hashed as hex digits", sha256((chain_id + body).hex().encode()).digest())
    yield Packing("the id of the transaction was signed in place of the digest", trx.id + bytes(12))
