"""Records of what single plugins know: reputations, resource credits, simulated payouts.
Source: rpc-api.md §2.4, §3.13, §5.3.
"""

from typing import Annotated, ClassVar

from msgspec import Struct

from rpc.service.shown import At, Big, CoinAmount, VestsAmount
from state.plugins.rc.rows import RcAccount
from state.protocol.codec.kinds import AccountName, Many, Text, UInt32, UInt128


class Reputation(Struct):
    """R-reputation, of this record itself."""

    account: AccountName
    reputation: Big


class Manabar(Struct):
    """The manabar of an account's credits, of its row."""

    current_mana: Annotated[int, At("mana", Big)]
    last_update_time: Annotated[int, At("mana_time", UInt32)]


class CreditsView(Struct):
    """An account's row of credits, and its maximum."""

    row: RcAccount
    max_rc: int


class Credits(Struct):
    """An account's credits, of a `CreditsView`."""

    ROOT: ClassVar[str] = "row"

    account: AccountName
    rc_manabar: Annotated[Manabar, At("row", Manabar)]
    max_rc_creation_adjustment: Annotated[int, At("row.adjustment", VestsAmount)]
    max_rc: Annotated[int, At("max_rc", Big)]


class Payout(Struct):
    """What a comment would be paid, of this record itself."""

    author: AccountName
    permlink: Text
    payout: CoinAmount


class Simulation(Struct):
    """What all pending comments would be paid, and the claims that the fund would remember; of this record itself."""

    recent_claims: UInt128
    payouts: Annotated[tuple[Payout, ...], Many(Payout)]
