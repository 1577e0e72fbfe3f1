"""Display names for the rows of all tables, and the JSON encoding of their fields.

If a record is read from a row, its declaration determines how the row's fields are encoded. Other fields are encoded by the type of their
value.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from msgspec import Struct

from rpc.declare.errors import jsonable
from rpc.declare.record_encoder import record_codecs
from rpc.declare.record_fields import Amount, ConstantField, FieldPath
from rpc.records import chain
from rpc.records.accounts import AccountRecord, DownvoteManaRecord, VotingManaRecord
from rpc.records.comments import CommentRecord, VoteRecord
from rpc.records.orders import LimitOrderRecord
from rpc.records.payments import ConversionRecord, EscrowRecord, SavingsWithdrawalRecord
from rpc.records.plugins import CreditsRecord, ManabarRecord, ReputationRecord
from rpc.records.proposals import ProposalRecord
from rpc.records.recovery import ChangeRecoveryRequestRecord, DeclineVotingRightsRequestRecord, OwnerHistoryRecord, RecoveryRequestRecord
from rpc.records.tokens import ContributionRecord, EmissionRecord, IcoRecord, MarketMakerRecord, TokenRecord
from rpc.records.vesting import DelegationExpirationRecord, DelegationRecord
from rpc.records.witnesses import WitnessRecord
from state.plugins.market_history import Bucket
from state.plugins.rc.rows import RcAccount
from state.plugins.reputation import Reputation
from state.plugins.social.rows import Community, LastRead, Notification, Reblog, SentOnce, SocialPost, Subscription
from state.plugins.tags.rows import Tagged
from state.protocol.codec.fields import wire_fields
from state.protocol.codec.kinds import Dump, Kind, Many, Release, Seconds, SymbolKind, as_it_is
from state.protocol.keys.keys import public_key_text
from state.protocol.values import asset as assets
from state.protocol.values.asset import nai_text
from state.store import Ordered, Row, Table, Unique
from state.tables import State, content, globals, market, payments, proposals, smt, witnesses
from state.tables import accounts as accounts_tables
from state.tables.texts import CommentContent

KEY_BYTES = 33
TIME, SBD_AMOUNT, SYMBOL = Seconds(), Amount(assets.SBD), SymbolKind()

# The records that are read from each row class. If several of them have a field, the first one determines its kind.
RECORDS: dict[type[Row], tuple[type[Struct], ...]] = {
    accounts_tables.Account: (AccountRecord, VotingManaRecord, DownvoteManaRecord),
    accounts_tables.AccountAuthority: (AccountRecord,),
    accounts_tables.AccountMetadata: (AccountRecord,),
    accounts_tables.OwnerHistory: (OwnerHistoryRecord,),
    accounts_tables.RecoveryRequest: (RecoveryRequestRecord,),
    accounts_tables.ChangeRecoveryRequest: (ChangeRecoveryRequestRecord,),
    accounts_tables.DeclineVotingRequest: (DeclineVotingRightsRequestRecord,),
    accounts_tables.VestingDelegation: (DelegationRecord,),
    accounts_tables.DelegationExpiration: (DelegationExpirationRecord,),
    content.Comment: (CommentRecord,),
    content.CommentVote: (VoteRecord,),
    globals.GlobalProperties: (chain.DynamicGlobalPropertiesRecord,),
    globals.WitnessSchedule: (chain.WitnessScheduleRecord,),
    globals.FeedHistory: (chain.FeedHistoryRecord,),
    globals.HardforkProperties: (chain.HardforkPropertiesRecord,),
    globals.RewardFund: (chain.RewardFundRecord,),
    market.LimitOrder: (LimitOrderRecord,),
    market.ConvertRequest: (ConversionRecord,),
    payments.Escrow: (EscrowRecord,),
    payments.SavingsWithdraw: (SavingsWithdrawalRecord,),
    proposals.Proposal: (ProposalRecord,),
    witnesses.Witness: (WitnessRecord,),
    smt.SmtToken: (TokenRecord, MarketMakerRecord),
    smt.SmtIco: (IcoRecord,),
    smt.SmtEmission: (EmissionRecord,),
    smt.SmtContribution: (ContributionRecord,),
    RcAccount: (CreditsRecord, ManabarRecord),
    Reputation: (ReputationRecord,),
}
# Kinds of fields that are in no record and whose kind can't be derived from the type of the value.
OTHER_KINDS: dict[type[Row], dict[str, Kind]] = {
    content.Comment: {"beneficiary_payout_value": SBD_AMOUNT},
    globals.TransactionRecord: {"expiration": TIME},
    market.LiquidityReward: {"last_update": TIME},
    smt.RegularBalance: {"liquid_symbol": SYMBOL},
    smt.RewardsBalance: {"liquid_symbol": SYMBOL},
    smt.NaiPool: {"nais": Many(SYMBOL)},
    smt.PendingAction: {"execution_time": TIME},
    witnesses.Witness: {"running_version": Release()},
    Bucket: {"open": TIME, "symbol": SYMBOL},
    Community: {"created": TIME},
    Notification: {"created": TIME},
    Reblog: {"created": TIME},
    SocialPost: {"promoted": SBD_AMOUNT},
    Subscription: {"created": TIME},
    Tagged: {"created": TIME, "active": TIME, "cashout": TIME},
    LastRead: {"time": TIME},
}
# Fields that contain the name of the account to which a row belongs.
ACCOUNT_FIELDS = (
    "name", "account", "owner", "from_", "from_account", "delegator", "voter", "seller", "creator", "control_account", "contributor",
    "account_to_recover", "follower", "blogger", "dst",
)  # fmt: skip


class Named(Struct, frozen=True):
    """Display name of a row. If the row belongs to an account or a post, their names are included (a post as author and permlink)."""

    text: str
    account: str | None = None
    post: tuple[str, str] | None = None


def name_of(state: State, table: Table[Any], row: Any) -> Named:
    """Return the display name of a row: the values of its key fields, with names in place of the ids of other rows."""
    special = NAMES.get(type(row))
    if special is not None:
        return special(state, row)
    fields = key_fields(type(table))  # type: ignore[arg-type]  # mypy doesn't recognize classes as hashable
    parts = [str(shown_value(state, row, field, getattr(row, field))) for field in fields]
    account = next((getattr(row, field) for field in ACCOUNT_FIELDS if isinstance(getattr(row, field, None), str)), None)
    return Named(" / ".join(parts), account or None)


def shown_value(state: State, row: Any, field: str, value: Any) -> Any:
    """Encode a field of a row as JSON, in the format of all API groups except condenser_api."""
    kind = kinds_of(type(row)).get(field)  # type: ignore[arg-type]  # as above
    if value is None:
        return None
    if kind is not None:
        dump: Dump = record_codecs(state.spec).dumper(kind, False) or as_it_is
        return dump(value)
    if isinstance(value, bytes) and len(value) == KEY_BYTES:
        return public_key_text(value, state.spec.key_prefix)
    return plain(state, value)


def plain(state: State, value: Any) -> Any:
    """Encode a value as JSON, by the value's type."""
    if isinstance(value, (list, tuple)):
        return [plain(state, member) for member in value]
    if isinstance(value, Struct) and not wire_fields(type(value)) and not isinstance(value, (assets.Asset, assets.Price)):
        return {state.spec.spell(name): plain(state, getattr(value, name)) for name in value.__struct_fields__}
    return jsonable(value, state.wire)


@cache
def kinds_of(cls: type[Row]) -> dict[str, Any]:
    """Return the wire types of a row class's fields by field name. Fields that no record declares are omitted."""
    found: dict[str, Any] = dict(OTHER_KINDS.get(cls, {}))
    for record in RECORDS.get(cls, ()):
        for field in wire_fields(record):
            kind, path = field.kind, field.name
            if isinstance(kind, FieldPath):
                path, kind = kind.path, kind.kind
            name = path.split(".")[-1]
            if name in cls.__struct_fields__ and not isinstance(kind, ConstantField):
                found.setdefault(name, kind)
    return found


@cache
def key_fields(table: type[Table[Any]]) -> tuple[str, ...]:
    """Return the fields of a table's first unique index. If it has no unique index, return those of its first ordered index."""
    declared = [value for _, value in table.declared if isinstance(value, Unique | Ordered)]
    unique = [one for one in declared if isinstance(one, Unique) or one.unique]
    return next((one.fields for one in (*unique, *declared)), ())


def _post(author: str, permlink: str, before: str = "") -> Named:
    return Named(f"{before}{author}/{permlink}", author, (author, permlink))


def _comment(state: State, comment_id: int, before: str = "") -> Named:
    row = state.comments.get(comment_id)
    return Named(f"{before}comment {comment_id}") if row is None else _post(row.author, row.permlink, before)


def _account(state: State, account_id: int) -> Named:
    row = state.accounts.get(account_id)
    return Named(f"account {account_id}") if row is None else Named(row.name, row.name)


def _vote(state: State, row: content.CommentVote) -> Named:
    found = _comment(state, row.comment, f"{_account(state, row.voter).text} on ")
    return Named(found.text, _account(state, row.voter).account, found.post)


def _of_post(state: State, row: Any) -> Named:
    """Return the display name of a social index row, with the account and the post to which the row refers."""
    posts = getattr(state.plugins.get("communities"), "posts", None)
    post = None if posts is None else posts.get(row.post)
    return Named(row.account) if post is None else _post(post.author, post.permlink, f"{row.account}: ")


NAMES: dict[type[Row], Callable[[State, Any], Named]] = {
    accounts_tables.AccountMetadata: lambda state, row: _account(state, row.account),
    content.Comment: lambda _, row: _post(row.author, row.permlink),
    CommentContent: lambda state, row: _comment(state, row.comment),
    content.CommentVote: _vote,
    globals.TransactionRecord: lambda _, row: Named(row.trx_id.hex()),
    market.LiquidityReward: lambda state, row: _account(state, row.owner),
    smt.SmtToken: lambda _, row: Named(nai_text(row.liquid_symbol), row.control_account),
    SocialPost: lambda _, row: _post(row.author, row.permlink),
    Reblog: _of_post,
    SentOnce: _of_post,
    Tagged: lambda state, row: _comment(state, row.comment),
}
