"""Reads portable rows from the replies of a source. How each row is read is derived from the records that the replies consist of.

A record declares the column and the kind of each member. Both JSON forms, and the spellings of all chains of the family, are read by the
same declaration. A `Shape` says which parts of a record are rows.
"""

from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache
from typing import Any, get_args, get_origin, get_type_hints

from msgspec import Struct

from node.client.http import SHOWN_CHARACTERS_MAX
from node.fork.source import SourceWrong
from rpc.declare.record_fields import ConstantField, FieldPath, OptionalFieldPath, shown_asset
from rpc.records import chain
from rpc.records.accounts import AccountRecord
from rpc.records.comments import CommentRecord, VoteRecord
from rpc.records.discussions import DiscussionRecord, TagCountRecord, TagRecord, VoteStateRecord
from rpc.records.follow import AuthorCountRecord, BlogEntryRecord, FeedEntryRecord, FollowCountRecord, FollowRecord
from rpc.records.market import TokenBucketRecord, TradeRecord
from rpc.records.orders import LimitOrderRecord
from rpc.records.payments import ConversionRecord, EscrowRecord, SavingsWithdrawalRecord
from rpc.records.plugins import CreditsRecord, ReputationRecord
from rpc.records.proposals import ProposalRecord, ProposalVoteRecord
from rpc.records.recovery import ChangeRecoveryRequestRecord, DeclineVotingRightsRequestRecord, OwnerHistoryRecord, RecoveryRequestRecord
from rpc.records.tokens import ContributionRecord, EmissionRecord, IcoRecord, TokenRecord
from rpc.records.vesting import DelegationExpirationRecord, DelegationRecord, RouteRecord
from rpc.records.witnesses import WitnessRecord, WitnessVoteRecord
from state.plugins.follow.feeds import BlogEntry, FeedEntry
from state.plugins.follow.rows import BlogAuthor, Follow, FollowCount
from state.plugins.market_history import Bucket, TradeRow
from state.plugins.rc.rows import RcAccount
from state.plugins.reputation import Reputation
from state.plugins.tags.portable import AuthorTagRow
from state.plugins.tags.view import TagStats
from state.portable import PortableRow
from state.protocol.codec.codecs import ChainCodecs
from state.protocol.codec.fields import BUILT_IN, wire_fields
from state.protocol.codec.kinds import AssetKind, Codecs, Kind, Maybe, Parse, PriceKind
from state.protocol.codec.kinds.scalars import Int
from state.protocol.errors import ChainError, ParseError
from state.protocol.spec import ChainSpec
from state.protocol.values.asset import Asset, Price
from state.protocol.values.integers import INT64_MIN, UINT64_MAX
from state.protocol.values.text import is_valid_account_name
from state.protocol.virtual import FillOrder
from state.store import Row
from state.tables import accounts, content, globals, market, payments, proposals, smt, witnesses
from state.tables.texts import CommentContent

CHAINS_KEPT_MAX = 8
LIST_MAX, NOTES_MAX = 100_000, 200
# The names of members on Hive, whose names differ by more than the brand and the symbols.
RENAMED = {
    "percent_coin_dollars": "percent_hbd",
    "sps_fund_percent": "proposal_fund_percent",
    "sps_interval_ledger": "dhf_interval_ledger",
}
# Members of rules after hardfork 24, which aren't implemented here, with the effects of that.
BEYOND = {
    "delayed_votes": "VESTS of the last 30 days vote for witnesses here at once, at the source only later",
    "governance_vote_expiration_ts": "votes for witnesses and proposals don't expire here",
    "open_recurrent_transfers": "recurrent transfers end here",
    "early_voting_seconds": "curators earn by the rules of hardfork 24, which reward early votes",
}

Parts = dict[str, dict[str, Any]]


class Shape(Struct, frozen=True):
    """Which parts of a record are rows.

    `parts` gives the row class of each attribute path of the record's view that a row is at; "" is the view itself. `extras` are members of
    the view that aren't columns. Members in `optional` can be missing.
    """

    record: type[Struct]
    parts: tuple[tuple[str, type[Struct]], ...]
    extras: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()


def _row(record: type[Struct], row: type[Row], *optional: str) -> Shape:
    return Shape(record, ((getattr(record, "ROOT", ""), row),), optional=frozenset(optional))


ACCOUNT_PARTS = (("row", accounts.Account), ("authority", accounts.AccountAuthority), ("metadata", accounts.AccountMetadata))
COMMENT_PARTS = (("row", content.Comment), ("texts", CommentContent), ("root", content.Comment))
# Members that nodes behind an indexer leave out. posts.py computes them.
UNINDEXED = frozenset((
    "root_author", "root_permlink", "active", "net_rshares", "abs_rshares", "vote_rshares", "children_abs_rshares", "max_cashout_time",
    "total_vote_weight", "reward_weight", "author_rewards", "net_votes", "allow_replies", "allow_votes", "allow_curation_rewards",
    "last_payout", "curator_payout_value", "total_payout_value", "parent_author", "parent_permlink",
))  # fmt: skip
SHAPES: dict[str, Shape] = {
    "global_properties": _row(
        chain.DynamicGlobalPropertiesRecord,
        globals.GlobalProperties,
        *("confidential_supply", "confidential_sbd_supply", "init_sbd_supply", "total_reward_fund_coin", "total_reward_shares2"),
        "required_actions_partition_percent",
    ),
    "witness_schedules": _row(chain.WitnessScheduleRecord, globals.WitnessSchedule, "top19_weight"),
    "feed_histories": _row(chain.FeedHistoryRecord, globals.FeedHistory),
    "hardfork_properties": _row(chain.HardforkPropertiesRecord, globals.HardforkProperties),
    "reward_funds": _row(chain.RewardFundRecord, globals.RewardFund),
    "accounts": Shape(AccountRecord, ACCOUNT_PARTS, optional=frozenset(("reset_account", "lifetime_vote_count", "mined"))),
    "owner_histories": _row(OwnerHistoryRecord, accounts.OwnerHistory),
    "recovery_requests": _row(RecoveryRequestRecord, accounts.RecoveryRequest),
    "change_recovery_requests": _row(ChangeRecoveryRequestRecord, accounts.ChangeRecoveryRequest),
    "decline_voting_requests": _row(DeclineVotingRightsRequestRecord, accounts.DeclineVotingRequest),
    "vesting_delegations": _row(DelegationRecord, accounts.VestingDelegation),
    "delegation_expirations": _row(DelegationExpirationRecord, accounts.DelegationExpiration),
    "withdraw_routes": _row(RouteRecord, accounts.WithdrawRoute),
    "witnesses": _row(WitnessRecord, witnesses.Witness, "pow_worker", "last_work"),
    "witness_votes": _row(WitnessVoteRecord, witnesses.WitnessVote),
    "limit_orders": _row(LimitOrderRecord, market.LimitOrder),
    "convert_requests": _row(ConversionRecord, market.ConvertRequest),
    "escrows": _row(EscrowRecord, payments.Escrow),
    "savings_withdraws": _row(SavingsWithdrawalRecord, payments.SavingsWithdraw),
    "proposals": _row(ProposalRecord, proposals.Proposal),
    "proposal_votes": Shape(ProposalVoteRecord, (("row", proposals.ProposalVote), ("proposal.row", proposals.Proposal))),
    "smt_tokens": _row(TokenRecord, smt.SmtToken),
    "smt_icos": _row(IcoRecord, smt.SmtIco),
    "smt_emissions": _row(EmissionRecord, smt.SmtEmission),
    "smt_contributions": _row(ContributionRecord, smt.SmtContribution),
    "comments": Shape(CommentRecord, COMMENT_PARTS),
    "comment_votes": Shape(VoteRecord, (("row", content.CommentVote), ("comment", content.Comment)), extras=frozenset(("voter",))),
    "discussions": Shape(DiscussionRecord, COMMENT_PARTS, optional=UNINDEXED, extras=frozenset(("cashout_time", "body"))),
    "discussion_votes": Shape(
        VoteStateRecord, (("row", content.CommentVote),), extras=frozenset(("voter",)), optional=frozenset(("weight", "percent", "time"))
    ),
    "rc/accounts": _row(CreditsRecord, RcAccount),
    "reputation/rows": _row(ReputationRecord, Reputation),
    "market_history/buckets": _row(TokenBucketRecord, Bucket, "symbol"),
    "market_history/trades": Shape(TradeRecord, (("", TradeRow), ("operation", FillOrder))),
    "follow/follows": _row(FollowRecord, Follow),
    "follow/counts": _row(FollowCountRecord, FollowCount),
    "follow/blogs": Shape(BlogEntryRecord, (("entry", BlogEntry), ("comment.row", content.Comment))),
    "follow/feeds": Shape(FeedEntryRecord, (("entry", FeedEntry), ("comment.row", content.Comment)), extras=frozenset(("reblog_by",))),
    "follow/authors": _row(AuthorCountRecord, BlogAuthor),
    "tags/authors": _row(TagCountRecord, AuthorTagRow),
    "tags/totals": _row(TagRecord, TagStats, "net_votes", "trending"),
}
"""The shapes by table, or section of a plugin. Discussions and their votes are rows of comments and comment_votes, from other methods."""


class Notes:
    """Notes on data that a source doesn't show, and on rules that aren't implemented here. Each note is kept once, in order."""

    def __init__(self) -> None:
        self._texts: dict[str, None] = {}

    def add(self, text: str) -> None:
        """Add a note, unless it is known or empty. Notes beyond NOTES_MAX are dropped."""
        if text and len(self._texts) < NOTES_MAX:
            self._texts[text] = None

    @property
    def texts(self) -> tuple[str, ...]:
        """The notes."""
        return tuple(self._texts)


class Step(Struct, frozen=True):
    """How a member of a record is read: its possible names, and where its value goes.

    `path` is the row's part, the column, and for columns that are structs the names of their members. `steps` are those of a nested record.
    """

    names: tuple[str, ...]
    path: tuple[str, ...]
    parse: Parse | None
    is_required: bool
    steps: "tuple[Step, ...]" = ()


class Reader:
    """Reads the rows in a source's replies. `notes` names rules that aren't implemented here."""

    def __init__(self, url: str, spec: ChainSpec, *, with_ids: bool = False, notes: Notes | None = None) -> None:
        self.url, self.spec, self.with_ids = url, spec, with_ids
        self.notes = notes or Notes()
        self._codecs = row_codecs(spec)
        self._plans: dict[str, Plan] = {}

    def wrong(self, method: str, member: str, why: str) -> SourceWrong:
        """Return the error for a reply that can't be used."""
        return SourceWrong(self.url, method, member, why)

    def parts(self, shape: str, method: str, value: Any, member: str = "") -> Parts:
        """Return the rows in a record by the part of the record's view that they are. `member` is the record's path in the reply."""
        plan = self._plans.get(shape)
        if plan is None:
            plan = self._plans[shape] = Plan(SHAPES[shape], self._codecs, self.with_ids)
        try:
            found = plan.read(value)
        except WrongMember as error:
            raise self.wrong(method, ".".join(name for name in (member, *error.path) if name), error.why) from None
        for name in value.keys() & BEYOND.keys():
            if value[name]:
                self.notes.add(BEYOND[name])
        return found

    def row(self, table: str, method: str, value: Any, member: str = "") -> PortableRow:
        """Return the row in a record that has only one."""
        (row,) = self.parts(table, method, value, member).values()
        return row

    def rows(self, table: str, method: str, reply: Any, key: str = "") -> list[PortableRow]:
        """Return the rows in a reply that lists records that have only one. `key` is the member with the list."""
        return [self.row(table, method, value, f"{key}[{at}]") for at, value in enumerate(self.items(method, reply, key))]

    def items(self, method: str, reply: Any, key: str = "", most: int = LIST_MAX) -> list[Any]:
        """Return a reply that is a list, or the list in its member `key`."""
        values = reply.get(key) if key and type(reply) is dict else reply
        if type(values) is not list:
            raise self.wrong(method, key, "it is not a list")
        if len(values) > most:
            raise self.wrong(method, key, f"it is a list of {len(values)} members, more than {most}")
        return values

    def parse_name(self, method: str, value: Any, member: str = "") -> str:
        """Parse the name of an account."""
        if type(value) is not str or not is_valid_account_name(value):
            raise self.wrong(method, member, "it is not the name of an account")
        return value

    def parse(self, kind: Any, method: str, value: Any, member: str = "") -> Any:
        """Parse a single value."""
        try:
            return self._codecs.parser(kind)(value)
        except ChainError as error:
            raise self.wrong(method, member, str(error)) from None


class WrongMember(Exception):
    """A member of a record that is missing or can't be parsed."""

    def __init__(self, path: list[str], why: str) -> None:
        super().__init__(why)
        self.path, self.why = path, why


class Plan:
    """How records of one shape are read, on one chain."""

    def __init__(self, shape: Shape, codecs: Codecs, with_ids: bool) -> None:
        self._shape, self._codecs, self._with_ids = shape, codecs, with_ids
        self._hints = {part: get_type_hints(row) for part, row in shape.parts}
        self._steps = self._compile(shape.record, "")

    def read(self, value: Any) -> Parts:
        """Return the rows in a record. Raises WrongMember."""
        found: Parts = {part: {} for part, _ in self._shape.parts}
        if self._shape.extras:
            found["extras"] = {}
        _read(self._steps, value, found)
        for part, column, cls in self._structs:
            members = found[part].get(column)
            if members is not None:
                found[part][column] = cls(**members)
        return found

    @cached_property
    def _structs(self) -> tuple[tuple[str, str, Callable[..., Any]], ...]:
        """The columns that are structs, whose members are read one by one."""
        paths = dict.fromkeys(step.path[:2] for step in _leaves(self._steps) if len(step.path) > 2)
        return tuple((part, column, self._hints[part][column]) for part, column in paths)

    def _compile(self, record: type[Struct], base: str) -> tuple[Step, ...]:
        absent = {"id", *getattr(record, "LEGACY_ABSENT", ()), *getattr(record, "APPBASE_ABSENT", ()), *self._shape.optional}
        steps = []
        for field in wire_fields(record):
            kind = field.kind
            if isinstance(kind, ConstantField):
                continue
            is_optional = field.name in absent or isinstance(kind, Maybe)
            if isinstance(kind, FieldPath | OptionalFieldPath):
                path, kind = kind.path, kind.element if isinstance(kind, OptionalFieldPath) else kind.kind
            else:
                root = getattr(record, "ROOT", "")
                path = f"{root}.{field.name}" if root else field.name
            path = f"{base}.{path}".strip(".")
            names = _names(field.json, self._codecs.spec)
            target = self._target(path)
            if target and not (_is_record(kind) and self._hint(target) not in (kind, Any)):
                steps.append(Step(names, target, _sized(self._codecs.parser(kind), self._hint(target)), not is_optional))
            elif _is_record(kind) and (nested := self._compile(kind, path)):
                steps.append(Step(names, (), None, not is_optional, nested))
        return tuple(steps)

    def _target(self, path: str) -> tuple[str, ...]:
        """Return where the value at an attribute path of the view goes, () if it is in no row."""
        for part, _ in sorted(self._shape.parts, key=lambda named: -len(named[0])):
            rest = path.removeprefix(f"{part}.") if part else path
            if part and rest == path:
                continue
            column, *members = rest.split(".")
            if column in self._hints[part] and (column != "id" or (self._with_ids and not part.startswith(("root", "comment")))):
                return (part, column, *members)
        return ("extras", path) if path in self._shape.extras else ()

    def _hint(self, target: tuple[str, ...]) -> Any:
        return self._hints[target[0]].get(target[1]) if len(target) == 2 and target[0] != "extras" else None


def _read(steps: Iterable[Step], value: Any, found: Parts) -> None:
    if type(value) is not dict:
        raise WrongMember([], "it is not an object")
    for step in steps:
        for name in step.names:
            if name in value:
                break
        else:
            if step.is_required:
                raise WrongMember([step.names[0]], "it is missing")
            continue
        try:
            if step.parse is None:
                _read(step.steps, value[name], found)
                continue
            parsed = step.parse(value[name])
        except ChainError as error:
            raise WrongMember([name], str(error)[:SHOWN_CHARACTERS_MAX]) from None
        except WrongMember as error:
            error.path.insert(0, name)
            raise
        into = found[step.path[0]]
        for column in step.path[1:-1]:
            into = into.setdefault(column, {})
        into[step.path[-1]] = parsed


def _leaves(steps: Iterable[Step]) -> Iterable[Step]:
    for step in steps:
        if step.parse is None:
            yield from _leaves(step.steps)
        else:
            yield step


def _sized(parse: Parse, hint: Any) -> Parse:
    """Return the parser of a column with the type `hint`. For a tuple of fixed size, it refuses values of other sizes."""
    members = get_args(hint) if get_origin(hint) is tuple else ()
    if not members or members[-1] is ...:
        return parse

    def parse_sized(value: Any) -> Any:
        found = parse(value)
        if len(found) != len(members):
            raise ParseError(f"it has {len(found)} members instead of {len(members)}")
        return found

    return parse_sized


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct) and kind not in BUILT_IN


def _names(member: str, spec: ChainSpec) -> tuple[str, ...]:
    """Return the names of a member on the source's chain, and on other chains of the family."""
    spelled = spec.spell(member)
    names = (spelled, member, spelled.replace("sbd", spec.debt_symbol.lower()), RENAMED.get(member, member))
    return tuple(dict.fromkeys(names))


# ------------------------------------------------------------------ kinds


class RowCodecs(ChainCodecs):
    """Codecs that parse the values of rows in all their JSON forms.

    Unlike the values of requests, integers out of their range are refused instead of wrapped, and prices can be null.
    """

    def _of_kind(self, what: str, kind: Kind) -> Any:
        parse = PARSERS.get(type(kind)) if what.endswith("parse") else None
        return parse(self, kind) if parse is not None else super()._of_kind(what, kind)


def _integer(codecs: ChainCodecs, kind: Any) -> Parse:
    """Return the parser of an integer. Records declare some signed columns as unsigned, so its range includes both."""
    least, most = (INT64_MIN, UINT64_MAX) if kind.bits == 64 else (-(1 << kind.bits - 1), (1 << kind.bits) - 1)

    def parse(value: Any) -> int:
        if type(value) is str and len(value) <= 20 and value.isascii() and value.removeprefix("-").isdigit():
            value = int(value)
        if type(value) is not int or not least <= value <= most:
            raise ParseError("it is not an integer, or it is out of range")
        return value

    return parse


def _asset(codecs: ChainCodecs, kind: Any) -> Parse:
    from_text = codecs.symbols.asset_from_text
    return lambda value: shown_asset(value, from_text)


def _price(codecs: ChainCodecs, kind: Any) -> Parse:
    asset = codecs.parser(Asset)

    def parse(value: Any) -> Price:
        if type(value) is not dict or not ("base" in value and "quote" in value):
            raise ParseError("it is not a price")
        return Price(asset(value["base"]), asset(value["quote"]))

    return parse


PARSERS: dict[type[Kind], Callable[[ChainCodecs, Any], Parse]] = {Int: _integer, AssetKind: _asset, PriceKind: _price}


@lru_cache(CHAINS_KEPT_MAX)
def row_codecs(spec: ChainSpec) -> RowCodecs:
    """Return the codecs for the rows of a chain."""
    return RowCodecs(spec)
