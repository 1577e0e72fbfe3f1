"""The charts of a report for research: active accounts, rewards, weights of votes, transfers, and the market by day."""

from node.research.report.declarations import ACTS, TRADES, Chart, Series

DAY = "CAST(time AS DATE)"
# Payouts by author, and curation rewards by curator, as `rewards` with the columns `account`, `times` and `reward`.
AUTHORS = """
    SELECT author AS account, count(*) AS times, sum(payout) AS reward FROM comment_reward
    WHERE block <= {at} GROUP BY author HAVING sum(payout) > 0
"""
CURATORS = """
    SELECT curator AS account, count(*) AS times, sum(reward) AS reward FROM curation_reward
    WHERE block <= {at} GROUP BY curator HAVING sum(reward) > 0
"""
RANKED = """
    SELECT *, row_number() OVER (ORDER BY reward DESC, account) AS place, sum(reward) OVER (ORDER BY reward DESC, account) AS until,
           sum(reward) OVER () AS total
    FROM rewards
"""


def largest(rewards: str, amount: str) -> str:
    """Return the query for the twenty accounts with the largest rewards. The macro `amount` formats a reward."""
    return f"""
            WITH rewards AS ({rewards}), ranked AS ({RANKED})
            SELECT account, times, {amount}(reward), percent(reward, total), percent(until, total) FROM ranked ORDER BY place LIMIT 20"""


def concentration(name: str, rewards: str) -> str:
    """Return the query for the inequality of rewards. It gives one row, which begins with `name`, or no row if there are no rewards."""
    return f"""
            SELECT '{name}', count(*), percent(max(CASE WHEN rank = 1 THEN reward END), sum(reward)),
                   percent(sum(CASE WHEN rank <= ceil(accounts / 10) THEN reward END), sum(reward)),
                   percent(sum(CASE WHEN rank <= ceil(accounts / 2) THEN reward END), sum(reward)),
                   CAST((accounts + 1 - 2 * sum(CAST(reward AS DOUBLE) * rank) / sum(reward)) / accounts AS DECIMAL(5, 4))
            FROM (SELECT reward, row_number() OVER (ORDER BY reward DESC, account) AS rank, count(*) OVER () AS accounts FROM ({rewards}))
            GROUP BY accounts"""


RESEARCH_CHARTS = (
    Chart(
        heading="For research",
        key="active_days",
        title="Active accounts by day",
        text="Accounts that voted, posted, transferred or placed an order on each day, and the number of these operations.",
        needs=("vote", "comment", "transfer", "limit_order_create"),
        query=f"""
            SELECT {DAY} AS day, count(DISTINCT account), count(*) FROM ({ACTS})
            WHERE block <= {{at}} GROUP BY day ORDER BY day""",
        titles=("Day", "Accounts", "Operations"),
        series=(Series("Accounts", ("Accounts",), "bars"),),
        is_by_day=True,
        unit="accounts per day",
    ),
    Chart(
        key="authors",
        title="Authors by payout",
        text="The twenty authors with the highest payouts, in SBD at the price of the time, with their beneficiaries and curators.",
        needs=("comment_reward",),
        query=largest(AUTHORS, "coins"),
        titles=("Author", "Posts", "SBD", "% of all", "% with those above"),
    ),
    Chart(
        key="curators",
        title="Curators by reward",
        text="The twenty curators with the highest rewards.",
        needs=("curation_reward",),
        query=largest(CURATORS, "vests"),
        titles=("Curator", "Rewards", "VESTS", "% of all", "% with those above"),
    ),
    Chart(
        key="concentration",
        title="Concentration of rewards",
        text="The shares of the accounts with the highest rewards. The Gini coefficient is 0 if all get the same, and 1 if one gets all.",
        needs=("comment_reward", "curation_reward"),
        query=f"{concentration('authors', AUTHORS)}\n            UNION ALL{concentration('curators', CURATORS)}",
        titles=("Rewards of", "Accounts", "% of the first", "% of the first tenth", "% of the first half", "Gini"),
    ),
    Chart(
        key="weights",
        title="Weight of votes",
        text="Votes by their weight in the operation, in steps of 10 %. Negative weights are downvotes, and 0 removes a vote.",
        needs=("vote",),
        query="""
            WITH votes AS (
                SELECT CAST(sign(weight) * ceil(abs(weight) / 1000) * 10 AS INTEGER) AS step, voter FROM vote WHERE block <= {at}
            )
            SELECT step, count(votes.voter), count(DISTINCT votes.voter) FROM (SELECT unnest(range(-100, 101, 10)) AS step) AS steps
            LEFT JOIN votes USING (step) WHERE EXISTS (FROM votes) GROUP BY step ORDER BY step""",
        titles=("Weight up to %", "Votes", "Voters"),
        series=(Series("Votes", ("Votes",), "bars"),),
        x_label="Weight up to %",
        step=10,
        unit="votes",
    ),
    Chart(
        key="pairs",
        title="Transfers between two accounts",
        text="The thirty pairs of accounts with the most transfers from the first to the second.",
        needs=("transfer",),
        query="""
            SELECT "from", "to", count(*) AS transfers, coins(coalesce(sum(amount) FILTER (amount_symbol = chain.coin), 0)),
                   coins(coalesce(sum(amount) FILTER (amount_symbol = chain.sbd), 0))
            FROM transfer CROSS JOIN chain WHERE block <= {at} GROUP BY "from", "to" ORDER BY transfers DESC, "from", "to" LIMIT 30""",
        titles=("From", "To", "Transfers", "COIN", "SBD"),
    ),
    Chart(
        key="partners",
        title="Accounts with the most partners",
        text="The twenty accounts that transferred to and from the most other accounts.",
        needs=("transfer",),
        query="""
            WITH moves AS (
                SELECT "from" AS account, "to" AS payee, NULL AS payer FROM transfer WHERE block <= {at}
                UNION ALL SELECT "to", NULL, "from" FROM transfer WHERE block <= {at}
            )
            SELECT account, count(DISTINCT payee) AS payees, count(DISTINCT payer) AS payers, count(payee), count(payer)
            FROM moves GROUP BY account ORDER BY payees + payers DESC, account LIMIT 20""",
        titles=("Account", "Transferred to", "Received from", "Transfers sent", "Transfers received"),
    ),
    Chart(
        key="powering",
        title="Power-ups and power-downs by day",
        text="COIN converted to VESTS on each day, and, below zero, COIN paid out by power-downs.",
        needs=("transfer_to_vesting", "fill_vesting_withdraw"),
        query=f"""
            WITH moves AS (
                SELECT block, time, amount AS up, 0 AS down FROM transfer_to_vesting
                UNION ALL SELECT block, time, 0, deposited FROM fill_vesting_withdraw JOIN chain ON deposited_symbol = chain.coin
            )
            SELECT {DAY} AS day, coins(sum(up)), coins(-sum(down)) FROM moves WHERE block <= {{at}} GROUP BY day ORDER BY day""",
        titles=("Day", "Powered up", "Powered down"),
        series=(Series("Powered up", ("Powered up",), "bars"), Series("Powered down", ("Powered down",), "bars")),
        is_by_day=True,
        unit="COIN per day",
    ),
    Chart(
        key="market_days",
        title="Market by day",
        text="First, highest, lowest and last price of each day, and the traded amounts. Green means that the price rose.",
        needs=("fill_order",),
        query=f"""
            WITH trades AS ({TRADES})
            SELECT {DAY} AS day, round(min_by(sbd_paid / coin_paid, place), 6), round(max(sbd_paid / coin_paid), 6),
                   round(min(sbd_paid / coin_paid), 6), round(max_by(sbd_paid / coin_paid, place), 6), count(*), coins(sum(coin_paid)),
                   coins(sum(sbd_paid))
            FROM trades WHERE coin_paid > 0 GROUP BY day ORDER BY day""",
        titles=("Day", "First", "Highest", "Lowest", "Last", "Trades", "COIN", "SBD"),
        series=(Series("Price", ("First", "Highest", "Lowest", "Last"), "candles"),),
        is_by_day=True,
        unit="SBD per COIN",
    ),
)
