-- Market depth
-- The open orders at the end, sorted from the best price: the amount at each price, and the running total.
-- Note: this query needs the table `limit_orders`. Prices are in SBD per COIN. Amounts of sell orders are in COIN, those of buy orders in SBD.
WITH orders AS (
    SELECT 'sell COIN' AS side, CAST(sell_price_quote AS DOUBLE) / sell_price_base AS price, for_sale
    FROM limit_orders JOIN chain ON sell_price_base_symbol = chain.coin AND sell_price_quote_symbol = chain.sbd
    UNION ALL
    SELECT 'buy COIN', CAST(sell_price_base AS DOUBLE) / sell_price_quote, for_sale
    FROM limit_orders JOIN chain ON sell_price_base_symbol = chain.sbd AND sell_price_quote_symbol = chain.coin
), levels AS (
    SELECT side, round(price, 3) AS price, count(*) AS orders, sum(for_sale) AS offered FROM orders GROUP BY side, round(price, 3)
), ranked AS (
    SELECT side, price, orders, offered,
           row_number() OVER (PARTITION BY side ORDER BY CASE WHEN side = 'sell COIN' THEN price ELSE -price END) AS place,
           sum(offered) OVER (PARTITION BY side ORDER BY CASE WHEN side = 'sell COIN' THEN price ELSE -price END) AS depth
    FROM levels
)
SELECT side, price, orders, coins(offered) AS offered, coins(depth) AS depth
FROM ranked
WHERE place <= 5
ORDER BY side, place;
