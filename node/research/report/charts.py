"""The charts of a report about the chain itself. Each is declared once, with its query, its columns and its form."""

from node.research.report.charts_research import RESEARCH_CHARTS
from node.research.report.declarations import ACTS, TRADES, Chart, Series

PERIOD = "((block - 1) // {width}) * {width} + 1"

CHAIN_CHARTS = (
    Chart(
        key="supply",
        title="Supply and vesting",
        text="The supply of COIN, and its share in the vesting fund.",
        needs=("global_properties_at",),
        query="""
            SELECT at_block, coins(current_supply), coins({fund}), percent({fund}, current_supply)
            FROM global_properties_at WHERE at_block <= {at} ORDER BY at_block""",
        is_by_block=True,
        titles=("Block", "COIN", "of it vested", "%"),
        series=(Series("COIN", ("COIN",), "steps-line"), Series("Vested", ("of it vested",), "steps-line")),
        unit="COIN",
    ),
    Chart(
        key="debt",
        title="SBD",
        text="SBD in circulation, the debt of the chain to their holders.",
        needs=("global_properties_at",),
        query="SELECT at_block, coins(current_sbd_supply) FROM global_properties_at WHERE at_block <= {at} ORDER BY at_block",
        is_by_block=True,
        titles=("Block", "SBD"),
        series=(Series("SBD", ("SBD",), "steps-line"),),
        unit="SBD",
    ),
    Chart(
        key="kinds",
        title="Operations by kind",
        text="Operations of transactions by their kind, the most frequent first.",
        needs=("operations",),
        query="""
            SELECT kind, count(*) AS operations, percent(count(*), sum(count(*)) OVER ()) FROM operations
            WHERE block <= {at} AND virtual_op = 0 GROUP BY kind ORDER BY operations DESC, kind""",
        titles=("Kind", "Operations", "%"),
    ),
    Chart(
        key="operations",
        title="Operations over time",
        text="Operations of transactions per period: the most frequent kinds, and all others together.",
        needs=("operations",),
        query=f"""
            SELECT {PERIOD} AS period, kind, count(*) FROM operations
            WHERE block <= {{at}} AND virtual_op = 0 GROUP BY period, kind ORDER BY period, kind""",
        is_by_block=True,
        titles=("Block",),
        is_spread=True,
        is_filled=True,
        unit="operations per period",
    ),
    Chart(
        key="active",
        title="Active accounts",
        text="Accounts that voted, posted, transferred or placed an order in each period. A person can have several accounts.",
        needs=("vote", "comment", "transfer", "limit_order_create"),
        query=f"""
            SELECT {PERIOD} AS period, count(DISTINCT account) FROM ({ACTS})
            WHERE block <= {{at}} GROUP BY period ORDER BY period""",
        is_by_block=True,
        titles=("Block", "Accounts"),
        series=(Series("Accounts", ("Accounts",), "bars"),),
        is_filled=True,
        unit="accounts per period",
    ),
    Chart(
        key="payouts",
        title="Payouts",
        text="Payouts of posts to authors, beneficiaries and curators together, in SBD at the price of the time.",
        needs=("comment_reward",),
        query=f"""
            SELECT {PERIOD} AS period, count(*), coins(sum(payout)) FROM comment_reward
            WHERE block <= {{at}} GROUP BY period ORDER BY period""",
        is_by_block=True,
        titles=("Block", "Posts", "SBD"),
        series=(Series("SBD", ("SBD",), "bars"),),
        is_filled=True,
        unit="SBD per period",
    ),
    Chart(
        key="distribution",
        title="Distribution of payouts",
        text="The share of all payouts of the authors with the lowest payouts. The straight line shows equal payouts.",
        needs=("comment_reward",),
        query="""
            WITH rewards AS (
                SELECT author, sum(payout) AS reward FROM comment_reward WHERE block <= {at} GROUP BY author HAVING sum(payout) > 0
            ), ranked AS (
                SELECT row_number() OVER (ORDER BY reward, author) AS place, count(*) OVER () AS authors,
                       sum(reward) OVER (ORDER BY reward, author) AS until, sum(reward) OVER () AS total
                FROM rewards
            ), shares AS (
                SELECT percent(place, authors) AS part, percent(until, total) AS share FROM ranked
            )
            SELECT part, max(share), part FROM shares GROUP BY part UNION ALL SELECT 0, 0, 0 WHERE EXISTS (FROM shares) ORDER BY part""",
        titles=("% of the authors", "% of the payouts", "if equal"),
        series=(Series("Payouts", ("% of the payouts",), "area"), Series("Equal parts", ("if equal",))),
        x_label="% of the authors",
        unit="% of the payouts",
    ),
    Chart(
        key="missed",
        title="Missed slots",
        text="Slots of three seconds that passed without a block.",
        needs=("blocks",),
        query=f"""
            WITH gaps AS (
                SELECT block, CAST(floor(epoch(time) - lag(epoch(time)) OVER (ORDER BY block)) AS BIGINT) // 3 - 1 AS missed
                FROM blocks WHERE block <= {{at}}
            )
            SELECT {PERIOD} AS period, count(*), coalesce(sum(missed), 0) FROM gaps GROUP BY period ORDER BY period""",
        is_by_block=True,
        titles=("Block", "Blocks", "Missed"),
        series=(Series("Blocks", ("Blocks",), "steps-line"), Series("Missed", ("Missed",), "steps-line", "right")),
        is_filled=True,
        unit="slots per period",
    ),
    Chart(
        key="witnesses",
        title="Witnesses",
        text="The thirty witnesses with the most blocks, and all missed slots of each.",
        needs=("blocks", "witnesses_at"),
        query="""
            WITH made AS (SELECT witness, count(*) AS made FROM blocks WHERE block <= {at} GROUP BY witness),
            newest AS (SELECT * FROM witnesses_at WHERE at_block = (SELECT max(at_block) FROM witnesses_at WHERE at_block <= {at}))
            SELECT witness, made, percent(made, (SELECT sum(made) FROM made)), total_missed
            FROM made LEFT JOIN newest ON owner = witness ORDER BY made DESC, witness LIMIT 30""",
        titles=("Witness", "Blocks", "%", "Missed"),
    ),
    Chart(
        key="feed",
        title="Price feed",
        text="The price of a COIN: the median of the prices that witnesses published in each period.",
        needs=("feed_publish",),
        query=f"""
            SELECT {PERIOD} AS period, count(*), round(median(CASE WHEN exchange_rate_base_symbol = chain.sbd
                THEN exchange_rate_base / nullif(exchange_rate_quote, 0) ELSE exchange_rate_quote / nullif(exchange_rate_base, 0) END), 6)
            FROM feed_publish CROSS JOIN chain WHERE block <= {{at}} GROUP BY period ORDER BY period""",
        is_by_block=True,
        titles=("Block", "Published", "SBD per COIN"),
        series=(Series("Price", ("SBD per COIN",), "steps-line"),),
        unit="SBD per COIN",
    ),
    Chart(
        key="trades",
        title="Trades",
        text="First, highest, lowest and last price of the trades in each period. Green means that the price rose.",
        needs=("fill_order",),
        query=f"""
            WITH trades AS ({TRADES}), prices AS (
                SELECT {PERIOD} AS period, place, coin_paid, sbd_paid / coin_paid AS price FROM trades WHERE coin_paid > 0
            )
            SELECT period, round(min_by(price, place), 6), round(max(price), 6), round(min(price), 6), round(max_by(price, place), 6),
                   count(*), coins(sum(coin_paid))
            FROM prices GROUP BY period ORDER BY period""",
        is_by_block=True,
        titles=("Block", "First", "Highest", "Lowest", "Last", "Trades", "COIN"),
        series=(Series("Price", ("First", "Highest", "Lowest", "Last"), "candles"),),
        unit="SBD per COIN",
    ),
    Chart(
        key="richest",
        title="Richest accounts",
        text="The twenty accounts with the most VESTS. Delegated VESTS count for their owner.",
        needs=("accounts_at",),
        query="""
            WITH newest AS (SELECT * FROM accounts_at WHERE at_block = (SELECT max(at_block) FROM accounts_at WHERE at_block <= {at}))
            SELECT name, vests(vesting_shares), percent(vesting_shares, (SELECT sum(vesting_shares) FROM newest)),
                   coins(balance + savings_balance), coins(sbd_balance + savings_sbd_balance)
            FROM newest ORDER BY vesting_shares DESC, name LIMIT 20""",
        titles=("Account", "VESTS", "% of all", "COIN", "SBD"),
    ),
)
CHARTS = CHAIN_CHARTS + RESEARCH_CHARTS
