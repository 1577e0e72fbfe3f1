"""Scheduled events of the chain in chronological order, for example payouts and expirations.

KINDS has an entry for each kind of event, with access to the kind's index by time and to the values in the reply. A call merges these
indices, beginning at a given time, and reads no other rows.
"""

from collections.abc import Callable, Iterable, Iterator
from heapq import merge
from itertools import islice, takewhile
from typing import Annotated, Any, NamedTuple, TypedDict

from rpc.api.explorer.changes import shortened
from rpc.declare.arguments import AccountName, MaxValue, Text, Timestamp, UInt32
from rpc.declare.method import method
from rpc.records.discussions import pending_payout
from state.effects.voting import payable_reward_pool
from state.protocol.constants import COIN_BLOCK_INTERVAL, COIN_FEED_INTERVAL_BLOCKS, COIN_PROPOSAL_MAINTENANCE_CLEANUP, TIME_MAX
from state.protocol.errors import require
from state.protocol.values.asset import COIN, SBD, VESTS, Asset
from state.protocol.values.text import time_text
from state.tables import State
from state.tables.payments import Escrow

DUE_MAX = 500
ROWS_SEEN_MAX = 10_000  # the maximum number of an account's rows to read per kind, since it can have any number of orders, for example
POSTS_SEEN_MAX = 200  # the number of an account's newest posts to read, which include all unpaid ones
DueLimit = Annotated[UInt32, MaxValue(DUE_MAX, f"At most {DUE_MAX} events can be requested at once")]


class Due(TypedDict):
    """A scheduled event. `account` is the account that owns the event (null for events of the whole chain). `other` is a second account,
    for example the receiver of the funds.

    Members that don't apply to an event's kind are null. `amount` is a string with the symbol, for a payout its pending amount. An
    escrow can hold two amounts, which are joined by a comma: "1.000 SBD, 3.000 COIN".
    """

    time: str
    kind: str
    account: str | None
    other: str | None
    id: int | None
    permlink: str | None
    amount: str | None


class DueItem(NamedTuple):
    """The members of the record `Due` whose values depend on the kind of event."""

    account: str | None = None
    other: str | None = None
    id: int | None = None
    permlink: str | None = None
    amounts: tuple[Asset, ...] = ()


class DueSource(NamedTuple):
    """Functions that read the scheduled events of one kind.

    `by_time` returns all rows from a time on, in chronological order. `of_account` returns the rows of an account in any order. `time`
    returns the time of a row, and `tell` returns its other values.
    """

    by_time: Callable[[State, int], Iterable[Any]]
    of_account: Callable[[State, str], Iterable[Any]]
    time: Callable[[Any], int]
    tell: Callable[[State, Any], DueItem]


def _power_downs(state: State, name: str) -> list[Any]:
    account = state.accounts.by_name.get(name)
    return [account] if account is not None and account.next_vesting_withdrawal < TIME_MAX else []


def _escrowed(row: Escrow) -> tuple[Asset, ...]:
    """Return the amounts that an escrow holds: SBD, COIN, or both."""
    return tuple([asset for asset in (Asset(row.sbd_balance, SBD), Asset(row.coin_balance, COIN)) if asset.amount])


def _row(table: str) -> Callable[[State, str], Iterable[Any]]:
    """Return a function that looks up an account's only row in a table, and returns it as a sequence of at most one row."""
    return lambda state, name: [row] if (row := getattr(state, table).by_account.get(name)) is not None else []


KINDS: dict[str, DueSource] = {
    "payout": DueSource(
        lambda state, start: state.comments.by_cashout_time.starting(start),
        lambda state, name: islice(state.comments.by_author_last_update.equal(name), POSTS_SEEN_MAX),
        lambda row: int(row.cashout_time),
        lambda state, row: DueItem(
            row.author, permlink=row.permlink, amounts=(pending_payout(payable_reward_pool(state), row.net_rshares),)
        ),
    ),
    "conversion": DueSource(
        lambda state, start: state.convert_requests.by_conversion_date.starting(start),
        lambda state, name: state.convert_requests.by_owner.equal(name),
        lambda row: int(row.conversion_date),
        lambda state, row: DueItem(row.owner, id=row.requestid, amounts=(Asset(row.amount, SBD),)),
    ),
    "power_down": DueSource(
        lambda state, start: state.accounts.by_due_withdrawal.starting(start),
        _power_downs,
        lambda row: int(row.next_vesting_withdrawal),
        lambda state, row: DueItem(row.name, amounts=(Asset(min(row.vesting_withdraw_rate, row.to_withdraw - row.withdrawn), VESTS),)),
    ),
    "savings": DueSource(
        lambda state, start: state.savings_withdraws.by_complete_from_rid.starting(start),
        lambda state, name: state.savings_withdraws.by_from_rid.equal(name),
        lambda row: int(row.complete),
        lambda state, row: DueItem(row.from_, row.to, row.request_id, amounts=(row.amount,)),
    ),
    "escrow_ratification": DueSource(
        lambda state, start: takewhile(lambda row: not row.is_approved, state.escrows.by_ratification_deadline.starting(False, start)),
        lambda state, name: (row for row in state.escrows.by_from_id.equal(name) if not row.is_approved),
        lambda row: int(row.ratification_deadline),
        lambda state, row: DueItem(row.from_, row.to, row.escrow_id, amounts=_escrowed(row)),
    ),
    "order_expiration": DueSource(
        lambda state, start: state.limit_orders.by_expiration.starting(start),
        lambda state, name: state.limit_orders.by_account.equal(name),
        lambda row: int(row.expiration),
        lambda state, row: DueItem(row.seller, id=row.orderid, amounts=(Asset(row.for_sale, row.sell_price.base.symbol),)),
    ),
    "delegation_return": DueSource(
        lambda state, start: state.delegation_expirations.by_expiration.starting(start),
        lambda state, name: state.delegation_expirations.by_account_expiration.equal(name),
        lambda row: int(row.expiration),
        lambda state, row: DueItem(row.delegator, amounts=(Asset(row.vesting_shares, VESTS),)),
    ),
    "proposal_start": DueSource(
        lambda state, start: state.proposals.by_start_date.starting(max(start, state.props.time + 1)),
        lambda state, name: (row for row in state.proposals.by_creator.equal(name) if row.start_date > state.props.time),
        lambda row: int(row.start_date),
        lambda state, row: DueItem(row.creator, row.receiver, row.proposal_id, row.permlink, (Asset(row.daily_pay, SBD),)),
    ),
    "proposal_removal": DueSource(
        lambda state, start: state.proposals.by_end_date.starting(max(0, start - COIN_PROPOSAL_MAINTENANCE_CLEANUP)),
        lambda state, name: state.proposals.by_creator.equal(name),
        lambda row: int(row.end_date + COIN_PROPOSAL_MAINTENANCE_CLEANUP),
        lambda state, row: DueItem(row.creator, row.receiver, row.proposal_id, row.permlink, (Asset(row.daily_pay, SBD),)),
    ),
    "recovery_expiration": DueSource(
        lambda state, start: state.recovery_requests.by_expiration.starting(start),
        _row("recovery_requests"),
        lambda row: int(row.expires),
        lambda state, row: DueItem(row.account_to_recover),
    ),
    "recovery_account_change": DueSource(
        lambda state, start: state.change_recovery_requests.by_effective_date.starting(start),
        _row("change_recovery_requests"),
        lambda row: int(row.effective_on),
        lambda state, row: DueItem(row.account_to_recover, row.recovery_account),
    ),
    "voting_declined": DueSource(
        lambda state, start: state.decline_voting_requests.by_effective_date.starting(start),
        _row("decline_voting_requests"),
        lambda row: int(row.effective_date),
        lambda state, row: DueItem(row.account),
    ),
    "maintenance": DueSource(
        lambda state, start: [state.props.next_maintenance_time] if state.hardfork >= 21 else [],
        lambda state, name: (),
        int,
        lambda state, row: DueItem(),
    ),
    "median_price": DueSource(
        lambda state, start: [_time_of_block(state, next_multiple(state.props.head_block_number, COIN_FEED_INTERVAL_BLOCKS))],
        lambda state, name: (),
        int,
        lambda state, row: DueItem(),
    ),
}


def next_multiple(number: int, of: int) -> int:
    """Return the smallest multiple of `of` that is greater than `number`."""
    return (number // of + 1) * of


def _time_of_block(state: State, number: int) -> int:
    """Estimate the time of a future block. The estimate assumes that no slot is missed until then."""
    return state.props.time + (number - state.props.head_block_number) * COIN_BLOCK_INTERVAL


@method("explorer_api.list_due")
def list_due(
    state: State, /, start: Timestamp = 0, limit: DueLimit = 100, account: AccountName = "", kinds: list[Text] | None = None
) -> list[Due]:
    """Return scheduled events (payouts, conversions, power-downs, ...) from a time on, earliest first.

    `account` selects the events of one account: those of its newest 200 posts, and up to 10,000 events of every other kind. `kinds` selects
    events by kind: payout, conversion, power_down, savings, escrow_ratification, order_expiration, delegation_return, proposal_start,
    proposal_removal, recovery_expiration, recovery_account_change, voting_declined, maintenance, median_price. The last two concern the
    whole chain.
    """
    names = list(KINDS) if kinds is None else kinds
    for name in names:
        require(
            name in KINDS,
            "unknown kind ${kind}, expected one of ${kinds}",
            condition="kinds.contains( kind )",
            kind=shortened(name),
            kinds=", ".join(KINDS),
        )
    found = merge(*[_of_kind(state, name, start, account) for name in dict.fromkeys(names)], key=lambda entry: entry[0])
    return [shown(state, time, name, item) for time, name, item in islice(found, limit)]


def _of_kind(state: State, name: str, start: int, account: str) -> Iterator[tuple[int, str, DueItem]]:
    kind = KINDS[name]
    rows = kind.by_time(state, start) if not account else sorted(islice(kind.of_account(state, account), ROWS_SEEN_MAX), key=kind.time)
    for row in rows:
        time = kind.time(row)
        # TIME_MAX means never, for example for paid posts.
        if time >= TIME_MAX:
            return
        if time >= start:
            yield time, name, kind.tell(state, row)


def shown(state: State, time: int, name: str, item: DueItem) -> Due:
    """Encode a scheduled event. `name` is its kind."""
    asset_text = state.wire.codecs.symbols.asset_text
    return {
        "time": time_text(time),
        "kind": name,
        "account": item.account,
        "other": item.other,
        "id": item.id,
        "permlink": item.permlink,
        "amount": ", ".join(map(asset_text, item.amounts)) or None,
    }
