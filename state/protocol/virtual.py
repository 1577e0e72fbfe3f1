"""Virtual operations, which report the effects of the chain's rules.

Their tags are those of a chain with SMT operations.
Sources: wire-format.md §4.7; operations.md §18; impacted accounts: block-processing.md §7.2.
"""

from __future__ import annotations

from typing import Annotated

from state.protocol.codec.kinds import AccountName, AssetKind, Hash160, Many, Text, UInt16, UInt32
from state.protocol.constants import COIN_INIT_MINER_NAME, COIN_TREASURY_ACCOUNT, HIVE_TREASURY_ACCOUNT
from state.protocol.operation import VirtualOperation, operation
from state.protocol.values.asset import SBD, Asset


@operation(54, impacted=("owner",))
class FillConvertRequest(VirtualOperation, frozen=True):
    """A conversion of SBD was due and was paid."""

    owner: AccountName = ""
    requestid: UInt32 = 0
    amount_in: Asset = Asset()
    amount_out: Asset = Asset()


@operation(55, impacted=("author",))
class AuthorReward(VirtualOperation, frozen=True):
    """The author of a comment received the author reward."""

    author: AccountName = ""
    permlink: Text = ""
    sbd_payout: Asset = Asset()
    coin_payout: Asset = Asset()
    vesting_payout: Asset = Asset()


@operation(56, impacted=("curator",))
class CurationReward(VirtualOperation, frozen=True):
    """A voter received the curation reward of a comment."""

    curator: AccountName = ""
    reward: Asset = Asset()
    comment_author: AccountName = ""
    comment_permlink: Text = ""


@operation(57)
class CommentReward(VirtualOperation, frozen=True):
    """A comment was paid out. `payout` is the total in SBD."""

    author: AccountName = ""
    permlink: Text = ""
    payout: Asset = Asset()


@operation(58, impacted=("owner",))
class LiquidityReward(VirtualOperation, frozen=True):
    """A market maker received the hourly liquidity reward."""

    owner: AccountName = ""
    payout: Asset = Asset()


@operation(59, impacted=("owner",))
class Interest(VirtualOperation, frozen=True):
    """Interest on SBD was paid."""

    owner: AccountName = ""
    interest: Asset = Asset(0, SBD)


@operation(60, impacted=("from_account", "to_account"))
class FillVestingWithdraw(VirtualOperation, frozen=True):
    """A weekly payment of a power-down was made."""

    from_account: AccountName = ""
    to_account: AccountName = ""
    withdrawn: Asset = Asset()
    deposited: Asset = Asset()


@operation(61, impacted=("current_owner", "open_owner"))
class FillOrder(VirtualOperation, frozen=True):
    """Two orders were matched: a new one (current) and an existing one (open)."""

    current_owner: AccountName = ""
    current_orderid: UInt32 = 0
    current_pays: Asset = Asset()
    open_owner: AccountName = ""
    open_orderid: UInt32 = 0
    open_pays: Asset = Asset()


@operation(62, impacted=("owner",))
class ShutdownWitness(VirtualOperation, frozen=True):
    """A witness lost its signing key because it missed blocks for a day."""

    owner: AccountName = ""


@operation(63, impacted=("from_", "to"))
class FillTransferFromSavings(VirtualOperation, frozen=True):
    """A withdrawal from savings completed."""

    from_: AccountName = ""
    to: AccountName = ""
    amount: Asset = Asset()
    request_id: UInt32 = 0
    memo: Text = ""


@operation(64)
class Hardfork(VirtualOperation, frozen=True):
    """A hardfork was applied."""

    hardfork_id: UInt32 = 0

    def impacted(self) -> set[str]:
        return {COIN_INIT_MINER_NAME}


@operation(65)
class CommentPayoutUpdate(VirtualOperation, frozen=True):
    """A comment's payout is complete."""

    author: AccountName = ""
    permlink: Text = ""


@operation(66, impacted=("account",))
class ReturnVestingDelegation(VirtualOperation, frozen=True):
    """Delegated vesting shares returned to their owner."""

    account: AccountName = ""
    vesting_shares: Asset = Asset()


@operation(67, impacted=("benefactor", "author"))
class CommentBenefactorReward(VirtualOperation, frozen=True):
    """A beneficiary received a share of a comment's author reward."""

    benefactor: AccountName = ""
    author: AccountName = ""
    permlink: Text = ""
    sbd_payout: Asset = Asset()
    coin_payout: Asset = Asset()
    vesting_payout: Asset = Asset()


@operation(68, impacted=("producer",))
class ProducerReward(VirtualOperation, frozen=True):
    """A witness received the reward for a block."""

    producer: AccountName = ""
    vesting_shares: Asset = Asset()


@operation(69)
class ClearNullAccountBalance(VirtualOperation, frozen=True):
    """The balances of the account `null` were destroyed. The condenser shows these assets in NAI form."""

    total_cleared: Annotated[tuple[Asset, ...], Many(AssetKind(nai_only=True))] = ()


@operation(70)
class ProposalPay(VirtualOperation, frozen=True):
    """The treasury paid a proposal."""

    receiver: AccountName = ""
    payment: Asset = Asset()
    trx_id: Hash160 = bytes(20)
    op_in_trx: UInt16 = 0

    def impacted(self) -> set[str]:
        return {self.receiver, COIN_TREASURY_ACCOUNT}


@operation(71)
class SpsFund(VirtualOperation, frozen=True):
    """The treasury received its share of the inflation."""

    additional_funds: Asset = Asset()

    def impacted(self) -> set[str]:
        return {COIN_TREASURY_ACCOUNT}


@operation(72)
class Hardfork23(VirtualOperation, frozen=True):
    """Hardfork 23 moved all funds of an account."""

    account: AccountName = ""
    sbd_transferred: Asset = Asset()
    coin_transferred: Asset = Asset()
    vests_converted: Asset = Asset()
    total_coin_from_vests: Asset = Asset()

    def impacted(self) -> set[str]:
        return {self.account, HIVE_TREASURY_ACCOUNT}
