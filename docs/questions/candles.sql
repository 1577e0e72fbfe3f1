-- Hourly prices
-- First, highest, lowest and last price of each hour, and the traded volume in COIN.
-- Note: prices are in SBD per COIN. The table `market_buckets` contains the candles of the plugin `market_history`.
WITH trades AS (
    SELECT date_trunc('hour', time) AS hour,
           row_number() OVER (ORDER BY block, trx, op, virtual_op) AS place,
           CASE WHEN current_pays_symbol = chain.coin THEN current_pays ELSE open_pays END AS paid_coin,
           CASE WHEN current_pays_symbol = chain.coin THEN open_pays ELSE current_pays END AS paid_sbd
    FROM fill_order JOIN chain ON current_pays_symbol IN (chain.coin, chain.sbd) AND open_pays_symbol IN (chain.coin, chain.sbd)
), hours AS (
    SELECT hour, count(*) AS trades, sum(paid_coin) AS volume,
           min_by(CAST(paid_sbd AS DOUBLE) / paid_coin, place) AS first,
           max(CAST(paid_sbd AS DOUBLE) / paid_coin) AS highest,
           min(CAST(paid_sbd AS DOUBLE) / paid_coin) AS lowest,
           max_by(CAST(paid_sbd AS DOUBLE) / paid_coin, place) AS last
    FROM trades
    GROUP BY hour
)
SELECT hour, trades, coins(volume) AS volume, round(first, 4) AS first, round(highest, 4) AS highest,
       round(lowest, 4) AS lowest, round(last, 4) AS last
FROM hours
ORDER BY hour;
