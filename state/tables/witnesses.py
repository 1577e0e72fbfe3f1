"""Witnesses and the votes for them. Source: state-objects.md §5."""

from state.protocol.keys.keys import NULL_KEY
from state.protocol.values.asset import NULL_PRICE, Price
from state.protocol.values.integers import UINT128_MAX
from state.store import Grouped, Ordered, Row, Setter, Table
from state.tables.globals import ChainProperties

ELECTED, TIMESHARE, MINER, NO_SCHEDULE = range(4)
SCHEDULE_NAMES = ("elected", "timeshare", "miner", "none")
LAP_LENGTH = UINT128_MAX


class Witness(Row):
    """A witness. Its position in virtual time (effects/votes.py) is in unsigned 128-bit numbers."""

    owner: str = ""
    created: int = 0
    url: str = ""
    votes: int = 0
    schedule: int = NO_SCHEDULE
    virtual_last_update: int = 0
    virtual_position: int = 0
    virtual_scheduled_time: int = LAP_LENGTH
    total_missed: int = 0
    last_aslot: int = 0
    last_confirmed_block_num: int = 0
    pow_worker: int = 0
    signing_key: bytes = NULL_KEY
    props: ChainProperties = ChainProperties()
    sbd_exchange_rate: Price = NULL_PRICE
    last_sbd_exchange_update: int = 0
    last_work: bytes = bytes(32)
    running_version: int = 0
    hardfork_version_vote: int = 0
    hardfork_time_vote: int = 0
    available_witness_account_subsidies: int = 0


class Witnesses(Table[Witness]):
    """All witnesses.

    Votes change with every change of VESTS, but the orders by votes and by virtual time are read only once per round. The indices for these
    orders are lazy, so that they are sorted once per round.
    """

    by_name = Ordered("owner", unique=True, lazy=True)
    by_vote_name = Ordered("-votes", "owner", lazy=True)
    by_schedule_time = Ordered("virtual_scheduled_time", lazy=True)
    by_pow = Ordered("pow_worker")
    by_work = Ordered("last_work")
    set_last_block = Setter("last_aslot", "last_confirmed_block_num")
    set_subsidies = Setter("available_witness_account_subsidies")
    set_votes = Setter("votes", "virtual_position", "virtual_last_update", "virtual_scheduled_time")


class WitnessVote(Row):
    """An account's vote for a witness."""

    witness: str = ""
    account: str = ""


class WitnessVotes(Table[WitnessVote]):
    """All witness votes. Only queries read the order of lazy indices. Rules look votes up by complete keys, which needs no sorting."""

    of_account = Grouped("account")
    by_account_witness = Ordered("account", "witness", unique=True, lazy=True)
    by_witness_account = Ordered("witness", "account", lazy=True)
