"""Tables of a chain that began with a part of another chain's state (`ChainSpec.is_partial`).

Other chains don't have them: `State.tables` omits them there.
"""

from state.store import Row, Table, Unique


class PartialAccount(Row):
    """An account of which only a part is here.

    A light account has its own columns and authorities, without the rows that belong to it. Of an account that isn't light, only the name
    is here, because another row refers to it. `vests` are the VESTS that such an account got to cover what it has delegated.
    """

    account: str = ""
    is_light: bool = False
    vests: int = 0


class PartialAccounts(Table[PartialAccount]):
    """All partial accounts."""

    by_account = Unique("account")


class OutsideWitnessVotes(Row):
    """The weight of all votes for a witness by accounts that aren't here."""

    witness: str = ""
    weight: int = 0


class OutsideWitnessVotesTable(Table[OutsideWitnessVotes]):
    """The weights of outside votes for witnesses."""

    by_witness = Unique("witness")


class OutsideProposalVotes(Row):
    """The weight of all votes for a proposal by accounts that aren't here."""

    proposal_id: int = 0
    weight: int = 0


class OutsideProposalVotesTable(Table[OutsideProposalVotes]):
    """The weights of outside votes for proposals."""

    by_proposal_id = Unique("proposal_id")
