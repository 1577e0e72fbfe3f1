"""Records of the data of plugins: reputations, resource credits, simulated payouts. Source: rpc-api.md §2.4, §3.13, §5.3."""

from typing import Annotated, ClassVar

from msgspec import Struct

from rpc.declare.record_fields import Big, CoinAmount, FieldPath, VestsAmount
from state.plugins.rc.rows import RcAccount
from state.protocol.codec.kinds import AccountName, Many, Text, UInt32, UInt128


class ReputationRecord(Struct):
    """The reputation of an account (R-reputation)."""

    account: AccountName
    reputation: Big


class ManabarRecord(Struct):
    """The manabar of an account's resource credits, read from the account's row in the plugin rc."""

    current_mana: Annotated[int, FieldPath("mana", Big)]
    last_update_time: Annotated[int, FieldPath("mana_time", UInt32)]


class CreditsView(Struct):
    """The object from which `CreditsRecord` is read: an account's row in the plugin rc, and the maximum of its resource credits."""

    row: RcAccount
    max_rc: int


class CreditsRecord(Struct):
    """The resource credits of an account, read from a `CreditsView`."""

    ROOT: ClassVar[str] = "row"

    account: AccountName
    rc_manabar: Annotated[ManabarRecord, FieldPath("row", ManabarRecord)]
    max_rc_creation_adjustment: Annotated[int, FieldPath("row.adjustment", VestsAmount)]
    max_rc: Annotated[int, FieldPath("max_rc", Big)]


class PayoutRecord(Struct):
    """A simulated payout of a comment."""

    author: AccountName
    permlink: Text
    payout: CoinAmount


class SimulationRecord(Struct):
    """Simulated payouts of all pending comments, and the simulated recent claims of the reward fund."""

    recent_claims: UInt128
    payouts: Annotated[tuple[PayoutRecord, ...], Many(PayoutRecord)]
