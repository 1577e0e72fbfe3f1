"""Mining, which hardfork 17 ended, and reports of witnesses that sign two blocks for one slot.

Sources: operations.md §13, wire-format.md §4.1, §4.3.
"""

from __future__ import annotations

from hashlib import sha224, sha256
from typing import Annotated, Any

from msgspec import Struct, field, json, structs

from state.effects.accounts import create_account
from state.effects.balances import adjust_balance, adjust_supply, create_vesting
from state.effects.mining_rewards import pow_reward
from state.operations import checks
from state.operations.chain_properties import LegacyChainProperties, PowChainProperties, require_chain_properties
from state.protocol import pow as work
from state.protocol.authority import key_authority
from state.protocol.codec.kinds import (
    AccountName,
    Codecs,
    Dump,
    Hash160,
    Hash256,
    Int,
    Kind,
    Many,
    Pack,
    Parse,
    PublicKey,
    Signature,
    Text,
    Time,
    UInt32,
    UInt64,
    Unpack,
    Variant,
)
from state.protocol.constants import COIN_MAX_WITNESSES, COIN_MIN_BLOCK_SIZE_LIMIT, COIN_START_MINER_VOTING_BLOCK
from state.protocol.errors import Refused, require
from state.protocol.keys.keys import NULL_KEY
from state.protocol.keys.signatures import SIGNATURE_SIZE, Canonical, recover
from state.protocol.operation import Needed, Operation, operation
from state.protocol.transaction import ZERO_ID, HeaderExtensions, block_number
from state.protocol.values.asset import COIN
from state.protocol.values.integers import WORD32, WORD64
from state.tables import State
from state.tables.globals import ChainProperties
from state.tables.witnesses import Witness

TARGET_MAX = 2**256 - 1
POW_WITNESSES_MAX = 1004  # maximum number of queued miners; when it is reached, every proof is refused

# ------------------------------------------------------------------ pow


class PowWork(Struct, frozen=True):
    """A proof of work by signatures: the worker's key, the signed digest, the signature, and a hash, which must be below the target."""

    worker: PublicKey = bytes(33)
    input: Hash256 = bytes(32)
    signature: Signature = bytes(65)
    work: Hash256 = bytes(32)


@operation(14, impacted=("worker_account",))
class Pow(Operation, frozen=True):
    """Submit a proof of work (before hardfork 13). Needs no signature."""

    worker_account: AccountName = ""
    block_id: Hash160 = ZERO_ID
    nonce: UInt64 = 0
    work: PowWork = PowWork()
    props: PowChainProperties = field(default_factory=PowChainProperties)

    def validate(self, codecs: Codecs) -> None:
        require_chain_properties(self.props, codecs, canonical=True)
        checks.require_account_name(self.worker_account)
        done = self.work
        work.require_pow_input(self.block_id, self.nonce, done.input)
        work.require_pow(done.worker, done.input, done.signature, done.work)

    def apply(self, state: State) -> None:
        # Hardfork 13 replaced it with pow2.
        require(state.hardfork < 13, "pow is deprecated. Use pow2 instead", condition="!db().has_hardfork( COIN_HARDFORK_0_13__256 )")
        if state.hardfork >= 5:
            self._require_new_work(state)
        if state.accounts.by_name.get(self.worker_account) is None:
            create_miner(state, self.worker_account, self.work.worker)
        self._require_worker(state)
        require(self.block_id == state.props.head_block_id, "pow not for last block", condition="o.block_id == db.head_block_id()")
        target = TARGET_MAX >> (state.props.num_pow_witnesses // 4 + 4)
        require(int.from_bytes(self.work.work, "big") < target, "Work lacks sufficient difficulty.", condition="o.work.work < target")

        count_work(state)
        enter_queue(state, self.worker_account, self.work.worker, self.props, last_work=self.work.work)
        reward = pow_reward(state)
        early = state.props.head_block_number < COIN_START_MINER_VOTING_BLOCK
        if early:
            reward *= COIN_MAX_WITNESSES
        pay_producer(state, reward, liquid=early)

    def _require_new_work(self, state: State) -> None:
        """Refuse a proof whose work is already recorded as the latest work of any witness."""
        if next(state.witnesses.by_work.equal(self.work.work), None) is None:
            return
        dump: Any = state.wire.codecs.dumper(Pow)
        # `${witness}` stays in the message, because the reference passes that value under another name.
        raise Refused("${w}  ${witness}", condition='!"DUPLICATE WORK DISCOVERED"', w=json.encode(dump(self)).decode())

    def _require_worker(self, state: State) -> None:
        """Refuse unless the account's active authority consists of exactly one key, the one that has done the work."""
        active = state.authority(self.worker_account).active
        require(
            active.members == 1, "Miners can only have one key authority. ${a}", condition="worker_auth.active.num_auths() == 1", a=active
        )
        require(len(active.key_auths) == 1, "Miners may only have one key authority.", condition="worker_auth.active.key_auths.size() == 1")
        require(
            active.key_auths[0][0] == self.work.worker,
            "Work must be performed by key that signed the work.",
            condition="worker_auth.active.key_auths.begin()->first == o.work.worker",
        )


# ------------------------------------------------------------------ pow2


class Pow2Input(Struct, frozen=True):
    """The packed input of a proof of work: the miner, a recent block, and a nonce."""

    worker_account: AccountName = ""
    prev_block: Hash160 = ZERO_ID
    nonce: UInt64 = 0


class Pow2Work(Struct, frozen=True):
    """A proof of work by signatures. The proof contains only the resulting difficulty, because every node can compute the rest."""

    TAG = 0
    input: Pow2Input = Pow2Input()
    pow_summary: UInt32 = 0

    def validate(self, codecs: Codecs) -> None:
        """Refuse unless the difficulty is that of the input."""
        checks.require_account_name(self.input.worker_account)
        work.require_pow2(codecs.pack(self.input), self.pow_summary)


class EquihashProof(Struct, frozen=True):
    """An Equihash solution: inputs whose hashes cancel out."""

    n: UInt32 = 0
    k: UInt32 = 0
    seed: Hash256 = bytes(32)
    inputs: Annotated[tuple[int, ...], Many(Int(32))] = ()


class EquihashPow(Struct, frozen=True):
    """A memory-hard proof of work (Equihash)."""

    TAG = 1
    input: Pow2Input = Pow2Input()
    proof: EquihashProof = EquihashProof()
    prev_block: Hash160 = ZERO_ID
    pow_summary: UInt32 = 0

    def validate(self, codecs: Codecs) -> None:
        """Refuse unless the proof is valid for the input, and the difficulty is that of the proof."""
        checks.require_account_name(self.input.worker_account)
        proof = self.proof
        work.require_equihash(codecs.pack(self.input), proof.n, proof.k, proof.seed, proof.inputs, self.pow_summary)


Pow2Variant = Annotated[Pow2Work | EquihashPow, Variant(("pow2", Pow2Work), ("equihash_pow", EquihashPow), legacy_pairs=True)]


@operation(30)
class Pow2(Operation, frozen=True):
    """Submit a proof of work (before hardfork 17). If it contains a new owner key, it also creates the miner's account."""

    work: Pow2Variant = Pow2Work()
    new_owner_key: PublicKey | None = None
    props: LegacyChainProperties = field(default_factory=LegacyChainProperties)

    def authorities(self, needed: Needed) -> None:
        if self.new_owner_key is None:
            needed.active.add(self.work.input.worker_account)
        else:
            needed.other.append(key_authority(self.new_owner_key))

    def impacted(self) -> set[str]:
        return {self.work.input.worker_account}

    def validate(self, codecs: Codecs) -> None:
        require_chain_properties(self.props, codecs, canonical=True)
        self.work.validate(codecs)

    def apply(self, state: State) -> None:
        # Hardfork 17 ended mining.
        require(state.hardfork < 17, "mining is now disabled", condition="!db.has_hardfork( COIN_HARDFORK_0_17__770 )")
        self._require_last_block(state)
        require_difficulty(state, self.work.pow_summary)
        require(
            self.props.maximum_block_size >= COIN_MIN_BLOCK_SIZE_LIMIT * 2,
            "Voted maximum block size is too small.",
            condition="o.props.maximum_block_size >= COIN_MIN_BLOCK_SIZE_LIMIT * 2",
        )
        name, key = self.work.input.worker_account, self.new_owner_key
        if state.accounts.by_name.get(name) is None:
            require(key is not None, "New owner key is not valid.", condition="o.new_owner_key.valid()")
            assert key is not None, "it has just been asked for"
            create_miner(state, name, key)
        else:
            require(key is None, "Cannot specify an owner key unless creating account.", condition="!o.new_owner_key.valid()")
            require(
                state.witnesses.by_name.get(name) is not None,
                "Witness must be created for existing account before mining.",
                condition="cur_witness",
            )

        count_work(state)
        enter_queue(state, name, key or NULL_KEY, self.props)
        if state.hardfork < 16:
            # Since hardfork 16 mining earned only a position in the schedule, not COIN.
            pay_producer(state, pow_reward(state), liquid=False)

    def _require_last_block(self, state: State) -> None:
        """Refuse work for any block but the head, and work of the wrong kind: hardfork 16 replaced pow2 with equihash."""
        head, done = state.props.head_block_id, self.work
        if state.hardfork < 16:
            if not isinstance(done, Pow2Work):
                raise Refused("static_variant does not contain a value of type coin::protocol::pow2")
            require(done.input.prev_block == head, "Work not for last block", condition="work.input.prev_block == db.head_block_id()")
            return
        if not isinstance(done, EquihashPow):
            raise Refused("static_variant does not contain a value of type coin::protocol::equihash_pow")
        require(done.prev_block == head, "Equihash pow op not for last block", condition="work.prev_block == db.head_block_id()")
        require(
            block_number(done.input.prev_block) > state.props.last_irreversible_block_num,
            "Equihash pow done for block older than last irreversible block num",
            condition="recent_block_num > dgp.last_irreversible_block_num",
        )


# ------------------------------------------------------------------ reports


class SignedHeader(Struct, frozen=True):
    """A block header with its signature, which proves that a witness signed it."""

    previous: Hash160 = ZERO_ID
    timestamp: Time = 0
    witness: Text = ""
    transaction_merkle_root: Hash160 = ZERO_ID
    extensions: HeaderExtensions = ()
    witness_signature: Signature = bytes(SIGNATURE_SIZE)

    def signer(self, codecs: Codecs) -> bytes:
        """Return the key that signed the header. An impossible signature is refused."""
        digest = sha256(codecs.pack(self)[:-SIGNATURE_SIZE]).digest()
        return recover(self.witness_signature, digest, Canonical.bip_0062)

    def id(self, codecs: Codecs) -> bytes:
        """Return the block's id: its number, then 16 bytes of a hash."""
        number = (block_number(self.previous) + 1) % WORD32
        return number.to_bytes(4, "big") + sha224(codecs.pack(self)).digest()[4:20]


class SharedForm(Kind):
    """Kind of a field that the condenser writes like the other API groups, although the elements of the field have a legacy form."""

    def __init__(self, element: type) -> None:
        self.element = element
        self.default = element()

    def packer(self, codecs: Codecs) -> Pack:
        return codecs.packer(self.element)

    def unpacker(self, codecs: Codecs) -> Unpack:
        return codecs.unpacker(self.element)

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return codecs.dumper(self.element)

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        return codecs.parser(self.element)


ReportedBlock = Annotated[SignedHeader, SharedForm(SignedHeader)]


@operation(16)
class ReportOverProduction(Operation, frozen=True):
    """Report a witness that signed two blocks for one slot. Needs no signature."""

    reporter: AccountName = ""
    first_block: ReportedBlock = SignedHeader()
    second_block: ReportedBlock = SignedHeader()

    def validate(self, codecs: Codecs) -> None:
        first, second = self.first_block, self.second_block
        checks.require_account_name(self.reporter)
        checks.require_account_name(first.witness)
        require(first.witness == second.witness, condition="first_block.witness == second_block.witness")
        require(first.timestamp == second.timestamp, condition="first_block.timestamp == second_block.timestamp")
        require(first.signer(codecs) == second.signer(codecs), condition="first_block.signee() == second_block.signee()")
        require(first.id(codecs) != second.id(codecs), condition="first_block.id() != second_block.id()")

    def apply(self, state: State) -> None:
        # Before hardfork 4 reports were accepted, without effect.
        require(state.hardfork < 4, "report_over_production_operation is disabled.", condition="!_db.has_hardfork( COIN_HARDFORK_0_4 )")


# ------------------------------------------------------------------ effects


def require_difficulty(state: State, summary: int) -> None:
    """Refuse a proof of work that isn't below the target. Each miner in the queue lowers the target."""
    waiting = state.props.num_pow_witnesses
    # Since hardfork 16, with equihash, targets are slightly higher.
    start = 0xFE00 if state.hardfork >= 16 else 0xFC00
    target = 0 if waiting >= POW_WITNESSES_MAX else (start - 0x40 * waiting) << 16
    require(
        summary < target,
        "Insufficient work difficulty. Work: ${w}, Target: ${t}",
        condition="work.pow_summary < target_pow",
        w=summary,
        t=target,
    )


def create_miner(state: State, name: str, key: bytes) -> None:
    """Create an account with one key for all authorities. Since the account has no creator, the top witness is its recovery partner."""
    authority = key_authority(key)
    create_account(state, name, "", key, (authority, authority, authority), mined=True)


def count_work(state: State) -> None:
    """Increment the number of proofs of work, and the number of miners in the queue.

    The number of proofs begins at 2^64 - 1 and wraps, so the first proof gets number 0, which is not a position in the queue.
    """
    props = state.props
    state.set_props(total_pow=(props.total_pow + 1) % WORD64, num_pow_witnesses=(props.num_pow_witnesses + 1) % WORD32)


def enter_queue(
    state: State, name: str, key: bytes, given: PowChainProperties | LegacyChainProperties, last_work: bytes | None = None
) -> None:
    """Add a miner to the end of the queue of block producers. Create its witness with `key` if it has none."""
    changes: dict[str, Any] = {"pow_worker": state.props.total_pow}
    if last_work is not None:
        changes["last_work"] = last_work
    witness = state.witnesses.by_name.get(name)
    if witness is None:
        props = ChainProperties(account_creation_fee=state.spec.constants.COIN_MIN_ACCOUNT_CREATION_FEE)
        genesis_time = state.spec.constants.COIN_GENESIS_TIME
        state.witnesses.insert(
            Witness(owner=name, signing_key=key, hardfork_time_vote=genesis_time, props=proposed(props, given), **changes)
        )
        return
    require(
        witness.pow_worker == 0, "This account is already scheduled for pow block production.", condition="cur_witness->pow_worker == 0"
    )
    state.witnesses.modify(witness, props=proposed(witness.props, given), **changes)


def proposed(props: ChainProperties, given: PowChainProperties | LegacyChainProperties) -> ChainProperties:
    """Return a witness's chain properties, with those in a proof of work (`given`) replacing the current values."""
    return structs.replace(
        props,
        account_creation_fee=given.account_creation_fee.amount,
        maximum_block_size=given.maximum_block_size,
        sbd_interest_rate=given.sbd_interest_rate,
    )


def pay_producer(state: State, reward: int, liquid: bool) -> None:
    """Pay the reward of a proof of work to the witness that included it, as COIN if `liquid`, else as VESTS."""
    adjust_supply(state, reward, COIN, adjust_vesting=True)
    producer = state.account(state.props.current_witness)
    if liquid:
        adjust_balance(state, producer, reward, COIN)
    else:
        create_vesting(state, producer, reward)
