"""Records of witnesses and of the votes for them. Source: rpc-api.md §2.4."""

from msgspec import Struct

from rpc.declare.record_fields import Big, BigText
from rpc.records.chain import ChainPropertiesRecord
from state.protocol.codec.kinds import AccountName, HardforkVersion, Hash256, PublicKey, Text, Time, UInt32, Version
from state.protocol.values.asset import Price


class WitnessRecord(Struct):
    """A witness (R-witness), read from its row."""

    id: UInt32
    owner: AccountName
    created: Time
    url: Text
    votes: BigText
    virtual_last_update: BigText
    virtual_position: BigText
    virtual_scheduled_time: BigText
    total_missed: UInt32
    last_aslot: Big
    last_confirmed_block_num: UInt32
    pow_worker: Big
    signing_key: PublicKey
    props: ChainPropertiesRecord
    sbd_exchange_rate: Price
    last_sbd_exchange_update: Time
    last_work: Hash256
    running_version: Version
    hardfork_version_vote: HardforkVersion
    hardfork_time_vote: Time
    available_witness_account_subsidies: Big


class WitnessVoteRecord(Struct):
    """A vote for a witness (R-witness-vote), read from its row."""

    id: UInt32
    witness: AccountName
    account: AccountName
