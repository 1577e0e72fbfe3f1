"""Tables that are derived from several tables of a state: `account_summaries`."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from node.research.columns.columns import ArrowSchemas, Columns
from node.research.columns.names import field_name
from rpc.declare.record_fields import Amount
from state.effects.balances import vests_to_coin
from state.plugins.follow.lists import follow_count
from state.plugins.follow.plugin import FOLLOW
from state.plugins.reputation import reputation_of
from state.protocol.codec.kinds import Int, Kind, String
from state.protocol.values.asset import COIN, SBD, VESTS
from state.tables import State
from state.tables.accounts import Account

INTEGER = Int(64, signed=True)

# The columns, each with the path of its value in an AccountSummary. The last part of the path names the column.
COLUMNS: tuple[tuple[str, Kind], ...] = (
    ("account.id", INTEGER),
    ("account.name", String()),
    ("account.balance", Amount(COIN)),
    ("account.savings_balance", Amount(COIN)),
    ("account.sbd_balance", Amount(SBD)),
    ("account.savings_sbd_balance", Amount(SBD)),
    ("account.vesting_shares", Amount(VESTS)),
    ("account.delegated_vesting_shares", Amount(VESTS)),
    ("account.received_vesting_shares", Amount(VESTS)),
    ("effective_vesting_shares", Amount(VESTS)),
    ("vests_in_coin", Amount(COIN)),
    ("account.reward_coin_balance", Amount(COIN)),
    ("account.reward_sbd_balance", Amount(SBD)),
    ("account.reward_vesting_balance", Amount(VESTS)),
    ("account.post_count", INTEGER),
    ("followers", INTEGER),
    ("following", INTEGER),
    ("reputation", INTEGER),
    ("account.witnesses_voted_for", INTEGER),
)


class AccountSummary(Struct):
    """An account with its numbers of followers and of followed accounts, its raw reputation, the VESTS with which it votes on comments, and
    the value of its own VESTS in COIN.
    """

    account: Account
    effective_vesting_shares: int
    vests_in_coin: int
    followers: int
    following: int
    reputation: int


def summary_columns(schemas: ArrowSchemas) -> Columns:
    """Return the columns of account summaries. Those of an account's fields have the names and types of the table `accounts`."""
    spec = schemas.codecs.spec
    own = set(AccountSummary.__struct_fields__)
    return schemas.columns(
        (path if path in own else field_name(spec, path.removeprefix("account.")), f"v.{path}", kind) for path, kind in COLUMNS
    )


def summaries(state: State, accounts: Iterable[Account]) -> Iterator[AccountSummary]:
    """Yield the summaries of these accounts. The state must have the plugin `follow`."""
    reputations = FOLLOW.of(state).reputations
    for account in accounts:
        followers, following = follow_count(state, account.name)
        yield AccountSummary(
            account,
            account.vote_weight,
            vests_to_coin(state, account.vesting_shares),
            followers,
            following,
            reputation_of(reputations, account.name),
        )
