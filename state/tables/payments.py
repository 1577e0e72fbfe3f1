"""Pending payments: escrows and withdrawals from savings. Source: state-objects.md §7.3, §7.4."""

from state.protocol.values.asset import Asset
from state.store import ComputedKey, Ordered, Row, Table


class Escrow(Row):
    """Funds held between two parties, which an agent can release in a dispute."""

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
        """Whether both the receiver and the agent have approved the escrow."""
        return self.to_approved and self.agent_approved


def both(to_approved: bool, agent_approved: bool) -> bool:
    """Return whether an escrow has both approvals. As a part of the index key, this sorts approved escrows after the others."""
    return to_approved and agent_approved


class Escrows(Table[Escrow]):
    """All escrows."""

    by_from_id = Ordered("from_", "escrow_id", unique=True)
    by_ratification_deadline = Ordered(ComputedKey(both, "to_approved", "agent_approved"), "ratification_deadline")


class SavingsWithdraw(Row):
    """A withdrawal from savings that completes at `complete`."""

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
