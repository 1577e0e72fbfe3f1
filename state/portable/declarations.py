"""Declarations of portable rows: the key, the references and the hidden columns of each table.

A hidden column is shown by no method of RPC, so a chain that was read over RPC doesn't have it. `docs/fork-limits.md` lists them.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any, get_type_hints

from msgspec import Struct

from state.operations.content import Beneficiary, VotableAssetInfo
from state.operations.smt.types import SmtCappedGenerationPolicy
from state.protocol.authority import Authority
from state.protocol.transaction import ExampleOptionalAction, ExampleRequiredAction
from state.store import Row, Table
from state.store.columns import Special
from state.tables import State, accounts, content, globals, market, payments, proposals, smt, witnesses
from state.tables.texts import CommentContent

PortableRow = dict[str, Any]
Batch = dict[str, list[PortableRow]]
"""Portable rows by the name of their table: the attribute of State, or the section of a plugin ("rc/accounts")."""

CommentKey = tuple[str, str]
"""Author and permlink."""


class Reference(Struct, frozen=True):
    """A kind of reference to a row of a table: the type of its key, and functions from a row's id to its key and back, or to None."""

    table: type[Table[Any]]
    key: Any
    key_of: Callable[[State, int], Any]
    id_of: Callable[[State, Any], int | None]


def _account_name(state: State, row_id: int) -> str | None:
    row = state.accounts.get(row_id)
    return None if row is None else row.name


def _account_id(state: State, name: str) -> int | None:
    row = state.accounts.by_name.get(name)
    return None if row is None else row.id


def _comment_key(state: State, row_id: int) -> CommentKey | None:
    row = state.comments.get(row_id)
    return None if row is None else (row.author, row.permlink)


def _comment_id(state: State, key: CommentKey) -> int | None:
    row = state.comments.by_permlink.get(*key)
    return None if row is None else row.id


ACCOUNT = Reference(accounts.Accounts, str, _account_name, _account_id)
COMMENT = Reference(content.Comments, CommentKey, _comment_key, _comment_id)


class Portable(Struct, frozen=True, kw_only=True, dict=True):
    """The declaration of a table's portable rows.

    `key` are the columns that identify a row, which no row may leave out; () for a table of one row. `references` are the columns with ids
    of other rows. `hidden` gives the meaning of each column that no method shows. Left out, a column has the default of its row class.
    If `all_hidden` isn't empty, no method shows the table, and it is the table's meaning. With `is_default_absent`, methods show a missing
    row like one with default values. `id_column` is a column that equals the row's id. `special` are the types of columns that the row
    class declares as Any. `owner` is the column with the name of the account to which a row belongs, and `names` are further columns with
    names of accounts. `marks` are the types of values that a portable row has besides its columns.
    """

    row: type[Row]
    key: tuple[str, ...] = ()
    references: dict[str, Reference] = {}
    hidden: dict[str, str] = {}
    all_hidden: str = ""
    is_default_absent: bool = False
    id_column: str = ""
    owner: str = ""
    names: tuple[str, ...] = ()
    marks: dict[str, Any] = {}
    special: Special = {}

    @cached_property
    def columns(self) -> dict[str, Any]:
        """The type of each column's portable values."""
        hints = get_type_hints(self.row) | self.special | {column: reference.key for column, reference in self.references.items()}
        return {column: hints[column] for column in self.row.__struct_fields__ if column != "id"}

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The sizes of the columns of bytes, which are those of their defaults."""
        blank = self.row()
        values = {column: getattr(blank, column) for column in self.columns}
        return {column: len(value) for column, value in values.items() if isinstance(value, bytes)}

    @cached_property
    def authorities(self) -> tuple[str, ...]:
        """The columns with authorities."""
        return tuple(column for column, kind in self.columns.items() if kind is Authority)

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """The columns that methods show."""
        return () if self.all_hidden else tuple(column for column in self.columns if column not in self.hidden)


NO_TOKENS = "accounts' balances in tokens: no operation of this version creates tokens, so only state edits do"

PORTABLE: dict[str, Portable] = {
    "global_properties": Portable(row=globals.GlobalProperties),
    "witness_schedules": Portable(row=globals.WitnessSchedule),
    "feed_histories": Portable(row=globals.FeedHistory),
    "hardfork_properties": Portable(row=globals.HardforkProperties),
    "reward_funds": Portable(row=globals.RewardFund, key=("name",)),
    "nai_pools": Portable(
        row=smt.NaiPool,
        hidden={
            "drawn_for": "the head block for which names of tokens were drawn last",
            "attempts": "draws of names for that block: the names that a block adds later can differ",
            "collisions": "draws of a name that was taken, for that block",
        },
    ),
    "accounts": Portable(row=accounts.Account, key=("name",), names=("name", "proxy"), marks={"is_light": bool}),
    "account_metadata": Portable(row=accounts.AccountMetadata, key=("account",), references={"account": ACCOUNT}, is_default_absent=True),
    "account_authorities": Portable(row=accounts.AccountAuthority, key=("account",), names=("account",), is_default_absent=True),
    "owner_histories": Portable(row=accounts.OwnerHistory, key=("account", "last_valid_time"), owner="account"),
    "recovery_requests": Portable(row=accounts.RecoveryRequest, key=("account_to_recover",), owner="account_to_recover"),
    "change_recovery_requests": Portable(
        row=accounts.ChangeRecoveryRequest, key=("account_to_recover",), owner="account_to_recover", names=("recovery_account",)
    ),
    "decline_voting_requests": Portable(row=accounts.DeclineVotingRequest, key=("account",), owner="account"),
    "witnesses": Portable(
        row=witnesses.Witness,
        key=("owner",),
        names=("owner",),
        hidden={"schedule": "how the witness got its slot in this round, which determines the pay of its blocks"},
    ),
    "witness_votes": Portable(row=witnesses.WitnessVote, key=("account", "witness"), owner="account"),
    "vesting_delegations": Portable(
        row=accounts.VestingDelegation, key=("delegator", "delegatee"), owner="delegator", names=("delegatee",)
    ),
    "delegation_expirations": Portable(row=accounts.DelegationExpiration, key=("delegator", "expiration"), owner="delegator"),
    "withdraw_routes": Portable(
        row=accounts.WithdrawRoute, key=("from_account", "to_account"), owner="from_account", names=("to_account",)
    ),
    "limit_orders": Portable(row=market.LimitOrder, key=("seller", "orderid"), owner="seller"),
    "convert_requests": Portable(row=market.ConvertRequest, key=("owner", "requestid"), owner="owner"),
    "liquidity_rewards": Portable(
        row=market.LiquidityReward,
        key=("owner",),
        references={"owner": ACCOUNT},
        all_hidden="traded volumes of market makers, which rules read only before hardfork 12",
    ),
    "escrows": Portable(row=payments.Escrow, key=("from_", "escrow_id"), owner="from_", names=("to", "agent")),
    "savings_withdraws": Portable(row=payments.SavingsWithdraw, key=("from_", "request_id"), owner="from_", names=("to",)),
    "comments": Portable(
        row=content.Comment,
        key=("author", "permlink"),
        names=("author",),
        references={"root_comment": COMMENT},
        hidden={
            "beneficiary_payout_value": "the total of the beneficiaries' payouts, which no rule reads",
            "allowed_vote_assets": "the tokens that can vote on the comment, which no rule reads after the comment's options are set",
        },
        special={"beneficiaries": tuple[Beneficiary, ...], "allowed_vote_assets": tuple[tuple[int, VotableAssetInfo], ...]},
    ),
    "comment_contents": Portable(row=CommentContent, key=("comment",), references={"comment": COMMENT}, is_default_absent=True),
    "comment_votes": Portable(
        row=content.CommentVote, key=("comment", "voter"), references={"comment": COMMENT, "voter": ACCOUNT}, names=("voter",)
    ),
    "proposals": Portable(
        row=proposals.Proposal,
        key=("proposal_id",),
        id_column="proposal_id",
        names=("creator", "receiver"),
        hidden={"removed": "set while a proposal and its votes are removed over several blocks: the removal starts again"},
    ),
    "proposal_votes": Portable(row=proposals.ProposalVote, key=("proposal_id", "voter"), owner="voter"),
    "smt_tokens": Portable(row=smt.SmtToken, key=("liquid_symbol",), names=("control_account",)),
    "smt_icos": Portable(row=smt.SmtIco, key=("symbol",), special={"capped_generation_policy": SmtCappedGenerationPolicy | None}),
    "smt_emissions": Portable(row=smt.SmtEmission, key=("symbol", "schedule_time")),
    "smt_contributions": Portable(row=smt.SmtContribution, key=("symbol", "contributor", "contribution_id"), owner="contributor"),
    "regular_balances": Portable(row=smt.RegularBalance, key=("owner", "liquid_symbol"), all_hidden=NO_TOKENS),
    "rewards_balances": Portable(row=smt.RewardsBalance, key=("owner", "liquid_symbol"), all_hidden=NO_TOKENS),
    "required_actions": Portable(
        row=smt.PendingAction,
        key=("execution_time",),
        special={"action": ExampleRequiredAction | None},
        all_hidden="actions of the test build, which have no effect: a block that should contain one is invalid without it",
    ),
    "optional_actions": Portable(
        row=smt.PendingAction,
        key=("execution_time",),
        special={"action": ExampleOptionalAction | None},
        all_hidden="actions of the test build, which have no effect",
    ),
    "transactions": Portable(
        row=globals.TransactionRecord,
        key=("trx_id",),
        all_hidden="ids of the transactions that haven't expired: without them, such a transaction can be applied again",
    ),
    "block_summaries": Portable(
        row=globals.BlockSummary,
        key=("slot",),
        all_hidden="ids of the last 65,536 blocks: a reference to a block before the fork is accepted without a check of its id",
    ),
}
"""The declarations by table. A table comes after the tables to which it refers. Plugins add their sections."""


def declare(section: str, portable: Portable) -> Portable:
    """Declare the portable rows of a plugin's section, for example "rc/accounts". Return the declaration."""
    assert section not in PORTABLE, f"{section} is declared already"
    PORTABLE[section] = portable
    return portable


# The types of the columns that tables declare as Any, because they can't import operations.
SPECIAL: dict[str, Special] = {name: portable.special for name, portable in PORTABLE.items() if portable.special}
content.Comments.SPECIAL = SPECIAL["comments"]
