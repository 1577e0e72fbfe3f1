"""Orders, conversions, escrows, savings withdrawals and proposals. Source: state-objects.md §7, §8."""

from state.protocol.values.asset import NULL_PRICE, Asset, Price, price_key
from state.store import Ordered, Part, Row, Table


def sell_price_key(price: Price) -> tuple[int, int, int]:
    """Descending order of prices: all three parts of the ascending key, negated."""
    base, quote, ratio = price_key(price)
    return -base, -quote, -ratio


class LimitOrder(Row):
    """An order on the market; `for_sale` in the smallest unit of sell_price's base."""

    created: int = 0
    expiration: int = 0
    seller: str = ""
    orderid: int = 0
    for_sale: int = 0
    sell_price: Price = NULL_PRICE


class LimitOrders(Table[LimitOrder]):
    """Open orders."""

    by_expiration = Ordered("expiration")
    by_price = Ordered(Part(sell_price_key, "sell_price"))
    by_account = Ordered("seller", "orderid", unique=True, lazy=True)


class ConvertRequest(Row):
    """SBD on its way to COIN."""

    owner: str = ""
    requestid: int = 0
    amount: int = 0
    conversion_date: int = 0


class ConvertRequests(Table[ConvertRequest]):
    """Pending conversions."""

    by_conversion_date = Ordered("conversion_date")
    by_owner = Ordered("owner", "requestid", unique=True)


class Escrow(Row):
    """Funds that an agent watches over."""

    escrow_id: int = 20
    from_: str = ""
    to: str = ""
    agent: str = ""
    ratification_deadline: int = 0
    escrow_expiration: int = 0
    sbd_balance: int = 0
    coin_balance: int = 0
    pending_fee: Asset = Asset()
    to_approved: bool = False
    agent_approved: bool = False
    disputed: bool = False

    @property
    def is_approved(self) -> bool:
        """Whether both the receiver and the agent agreed."""
        return self.to_approved and self.agent_approved


def both(to_approved: bool, agent_approved: bool) -> bool:
    """The key part by which approved escrows sort behind the others."""
    return to_approved and agent_approved


class Escrows(Table[Escrow]):
    """All escrows."""

    by_from_id = Ordered("from_", "escrow_id", unique=True)
    by_ratification_deadline = Ordered(Part(both, "to_approved", "agent_approved"), "ratification_deadline")


class SavingsWithdraw(Row):
    """A withdrawal from savings that waits for its time."""

    from_: str = ""
    to: str = ""
    memo: str = ""
    request_id: int = 0
    amount: Asset = Asset()
    complete: int = 0


class SavingsWithdraws(Table[SavingsWithdraw]):
    """Pending withdrawals from savings."""

    by_from_rid = Ordered("from_", "request_id", unique=True)
    by_complete_from_rid = Ordered("complete", "from_", "request_id", unique=True)
    by_to_complete = Ordered("to", "complete")


class LiquidityReward(Row):
    """Volumes of a market maker; only changed before hardfork 12."""

    owner: int = 0
    coin_volume: int = 0
    sbd_volume: int = 0
    weight: int = 0
    last_update: int = 0


class LiquidityRewards(Table[LiquidityReward]):
    """Market makers' volumes."""

    by_owner = Ordered("owner", unique=True)
    by_volume_weight = Ordered("-weight", "owner", unique=True)


class Proposal(Row):
    """A request for daily pay from the treasury, in SBD."""

    proposal_id: int = 0
    creator: str = ""
    receiver: str = ""
    start_date: int = 0
    end_date: int = 0
    daily_pay: int = 0
    subject: str = ""
    permlink: str = ""
    total_votes: int = 0
    removed: bool = False


class Proposals(Table[Proposal]):
    """All proposals. The reference sorts by end_date + 1 day, which is the same order."""

    by_proposal_id = Ordered("proposal_id", unique=True)
    by_start_date = Ordered("start_date", "proposal_id", unique=True)
    by_end_date = Ordered("end_date", "proposal_id", unique=True)
    by_creator = Ordered("creator", "proposal_id", unique=True)
    by_total_votes = Ordered("total_votes", "proposal_id", unique=True)


class ProposalVote(Row):
    """An account's vote for a proposal."""

    voter: str = ""
    proposal_id: int = 0


class ProposalVotes(Table[ProposalVote]):
    """All votes for proposals."""

    by_voter_proposal = Ordered("voter", "proposal_id", unique=True)
    by_proposal_voter = Ordered("proposal_id", "voter", unique=True)
