"""The queries of the SQL cookbook. Each answer is compared with the blocks and the state of the workload."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest

from node.research.columns.names import names_of
from state.operations.content import Comment, Vote
from state.operations.market import LimitOrderCreate
from state.operations.rewards import ClaimRewardBalance
from state.operations.transfers import Transfer
from state.operations.vesting import TransferToVesting, WithdrawVesting
from state.plugins.follow.rows import BLOG
from state.plugins.social.scores import shown_reputation
from state.protocol.operation import Operation
from state.protocol.values.asset import COIN
from tests.helpers.exported import questions
from tests.node.research.sql.conftest import Exported

QUESTIONS = {each.name: each for each in questions()}
Rows = list[dict[str, Any]]


def coins(amount: int) -> Decimal:
    """Convert satoshis to an amount of COIN or SBD with decimals."""
    return Decimal(amount).scaleb(-3)


def vests(amount: int) -> Decimal:
    """Convert an amount of VESTS in its smallest unit to one with decimals."""
    return Decimal(amount).scaleb(-6)


def operations(workload: Exported, *kinds: type[Operation]) -> Iterator[Any]:
    """Yield the operations of these classes in the workload's blocks, or all operations if none is given."""
    for block in workload.blocks:
        for transaction in block.transactions:
            for operation in transaction.operations:
                if not kinds or type(operation) in kinds:
                    yield operation


def activity(rows: Rows, workload: Exported) -> None:
    assert sum(row["operations"] for row in rows) == sum(1 for _ in operations(workload))
    assert sum(row["transactions"] for row in rows) == sum(len(block.transactions) for block in workload.blocks)


def active_accounts(rows: Rows, workload: Exported) -> None:
    assert sum(row["acts"] for row in rows) == sum(1 for _ in operations(workload, Vote, Comment, Transfer, LimitOrderCreate))
    assert max(row["accounts"] for row in rows) <= len(workload.state.accounts)


def paid(workload: Exported) -> Counter[str]:
    """Return the total payout of each author."""
    found: Counter[str] = Counter()
    for row in workload.state.comments:
        found[row.author] += row.total_payout_value + row.curator_payout_value + row.beneficiary_payout_value
    return +found


def reward_inequality(rows: Rows, workload: Exported) -> None:
    (row,), rewards = rows, sorted(paid(workload).values())
    assert row["authors"] == len(rewards)
    # Each part of a payout is rounded down separately.
    assert abs(row["payout"] - coins(sum(rewards))) < Decimal("0.003") * len(workload.state.comments)
    gini = sum(abs(a - b) for a in rewards for b in rewards) / (2 * len(rewards) * sum(rewards))
    assert abs(row["gini"] - gini) < 0.005


def top_authors(rows: Rows, workload: Exported) -> None:
    rewards = paid(workload)
    assert all(abs(row["payout"] - coins(rewards[row["author"]])) <= Decimal("0.003") * row["payouts"] for row in rows)
    assert rows[0]["share"] == round(100 * rows[0]["payout"] / sum_of(workload, "SELECT coins(sum(payout)) AS n FROM comment_reward"), 2)


def top_posts(rows: Rows, workload: Exported) -> None:
    voted = Counter((vote.author, vote.permlink[:24]) for vote in operations(workload, Vote))
    assert [row["votes"] for row in rows] == [voted[row["author"], row["permlink"]] for row in rows]
    payouts = sorted(
        (row.total_payout_value + row.curator_payout_value + row.beneficiary_payout_value for row in workload.state.comments), reverse=True
    )
    assert all(abs(row["payout"] - coins(value)) <= Decimal("0.003") for row, value in zip(rows, payouts, strict=False))


def witnesses(rows: Rows, workload: Exported) -> None:
    made = Counter(block.witness for block in workload.blocks)
    state = {row.owner: row for row in workload.state.witnesses}
    assert [(row["blocks"], row["missed"]) for row in rows] == [(made[row["witness"]], state[row["witness"]].total_missed) for row in rows]
    assert rows[0]["blocks"] == max(made.values())


def curation_age(rows: Rows, workload: Exported) -> None:
    shares = sum(int(row["reward"] * 1_000_000) for row in rows)
    props = workload.state.props
    rewards = sum(row.curation_rewards for row in workload.state.accounts)
    assert abs(shares * props.total_vesting_fund_coin // props.total_vesting_shares - rewards) <= sum(row["rewards"] for row in rows)


def votes(rows: Rows, workload: Exported) -> None:
    assert sum(row["votes"] for row in rows) == sum(1 for _ in operations(workload, Vote))
    assert sum(row["votes"] for row in rows) == sum(max(row.num_changes, 0) + 1 for row in workload.state.comment_votes)
    assert {row["direction"]: row["votes"] for row in rows}["down"] == sum(vote.weight < 0 for vote in operations(workload, Vote))


def followers(rows: Rows, workload: Exported) -> None:
    follows = names_of(workload.state)["follow_follows"]
    known = Counter(row.following for row in follows if row.what & BLOG)
    assert [(row["account"], row["followers"]) for row in rows] == sorted(known.items(), key=lambda each: (-each[1], each[0]))[:10]


def market_depth(rows: Rows, workload: Exported) -> None:
    sold = [row for row in workload.state.limit_orders if row.sell_price.base.symbol == COIN]
    best = min(row.sell_price.quote.amount / row.sell_price.base.amount for row in sold)
    asked = [row for row in rows if row["side"] == "sell COIN"]
    assert asked[0]["price"] == round(best, 3)
    assert [row["depth"] for row in asked] == [sum(row["offered"] for row in asked[: place + 1]) for place in range(len(asked))]


def candles(rows: Rows, workload: Exported) -> None:
    buckets = [row for row in names_of(workload.state)["market_buckets"] if row.seconds == 3600]
    assert {row["hour"].timestamp(): row["volume"] for row in rows} == {row.open: coins(row.coin.volume) for row in buckets}


def transfers(rows: Rows, workload: Exported) -> None:
    sums: Counter[tuple[str, str]] = Counter()
    for each in operations(workload, Transfer):
        if each.amount.symbol == COIN:
            sums[each.from_, each.to] += each.amount.amount
    assert [row["amount"] for row in rows] == [coins(amount) for amount in sorted(sums.values(), reverse=True)[:10]]
    assert all(row["amount"] == coins(sums[row["payer"], row["payee"]]) for row in rows)


def net_transfers(rows: Rows, workload: Exported) -> None:
    sums: Counter[str] = Counter()
    for each in operations(workload, Transfer):
        if each.amount.symbol == COIN:
            sums[each.to] += each.amount.amount
            sums[each.from_] -= each.amount.amount
    assert {row["account"]: row["net"] for row in rows} == {name: coins(amount) for name, amount in sums.most_common(10)}


def powering(rows: Rows, workload: Exported) -> None:
    assert sum(row["powered_up"] for row in rows) == coins(sum(each.amount.amount for each in operations(workload, TransferToVesting)))
    assert sum(row["asked"] for row in rows) == vests(sum(each.vesting_shares.amount for each in operations(workload, WithdrawVesting)))
    assert sum(row["withdrawn"] for row in rows) == vests(sum(row.withdrawn for row in workload.state.accounts))


def proposals(rows: Rows, workload: Exported) -> None:
    wanted: Counter[str] = Counter()
    for row in workload.state.proposals:
        wanted[row.receiver] += row.daily_pay
    assert {row["receiver"]: row["daily_pay"] for row in rows} == {name: coins(amount) for name, amount in wanted.items()}


def richest(rows: Rows, workload: Exported) -> None:
    state, head = workload.state, workload.state.props.head_block_number
    shares = sorted((row.vesting_shares for row in state.accounts), reverse=True)[:3]
    worth = [amount * state.props.total_vesting_fund_coin // state.props.total_vesting_shares for amount in shares]
    newest = [row for row in rows if row["at_block"] == head]
    assert [(row["vests"], row["coin"]) for row in newest] == [
        (vests(share), coins(coin)) for share, coin in zip(shares, worth, strict=True)
    ]
    assert {row["at_block"] for row in rows} == {50, 100, 150, head}


def inflation(rows: Rows, workload: Exported) -> None:
    sums: defaultdict[str, Decimal] = defaultdict(Decimal)
    for row in rows:
        amount, symbol = row["amount"].split()
        if row["source"] in ("authors", "beneficiaries", "curators"):
            sums[symbol] += Decimal(amount)
    claims = list(operations(workload, ClaimRewardBalance))
    accounts = list(workload.state.accounts)
    assert sums["VESTS"] == vests(sum(row.reward_vesting_balance for row in accounts) + sum(each.reward_vests.amount for each in claims))
    assert sums["TESTS"] == coins(sum(row.reward_coin_balance for row in accounts) + sum(each.reward_coin.amount for each in claims))
    assert next(row["times"] for row in rows if row["source"] == "witnesses") == len(workload.blocks)


def supply(rows: Rows, workload: Exported) -> None:
    props = workload.state.props
    assert rows[-1]["at_block"] == props.head_block_number
    assert [rows[-1][name] for name in ("coin", "sbd", "virtual_supply", "vested")] == [
        coins(each) for each in (props.current_supply, props.current_sbd_supply, props.virtual_supply, props.total_vesting_fund_coin)
    ]


def new_accounts(rows: Rows, workload: Exported) -> None:
    made_by_no_operation = {"initminer", "miners", "null", "steem.dao", "temp"}
    assert sum(row["accounts"] for row in rows) == len({row.name for row in workload.state.accounts} - made_by_no_operation)


def reputations(rows: Rows, workload: Exported) -> None:
    known = Counter(int(shown_reputation(row.reputation)) for row in names_of(workload.state)["follow_reputations"])
    assert {row["score"]: row["accounts"] for row in rows} == dict(sorted(known.items(), reverse=True)[:10])


def delegations(rows: Rows, workload: Exported) -> None:
    lent = {row.name: vests(row.received_vesting_shares) for row in workload.state.accounts}
    assert [row["received"] for row in rows] == sorted(lent.values(), reverse=True)[:10]
    assert all(row["received"] == lent[row["delegatee"]] for row in rows)


def sum_of(workload: Exported, sql: str) -> Any:
    """Run a query that returns a single value, and return the value."""
    return workload.rows(sql)[0]["n"]


CHECKS: dict[str, Callable[[Rows, Exported], None]] = {
    check.__name__: check
    for check in (
        active_accounts, activity, candles, curation_age, delegations, followers, inflation, market_depth, net_transfers, new_accounts,
        powering, proposals, reputations, reward_inequality, richest, supply, top_authors, top_posts, transfers, votes, witnesses,
    )
}  # fmt: skip


@pytest.mark.parametrize("name", QUESTIONS)
def test_an_answer_agrees_with_the_chain(name: str, workload: Exported) -> None:
    rows = workload.rows(QUESTIONS[name].sql)
    assert rows
    CHECKS[name](rows, workload)


def test_every_question_has_a_check() -> None:
    assert QUESTIONS.keys() == CHECKS.keys()
