-- Largest net receivers of COIN
-- The ten accounts with the largest difference between the COIN that they received and sent by transfers.
-- Note: the query only counts transfers. Accounts also receive and spend COIN through rewards, power-ups, trades and savings.
WITH moves AS (
    SELECT "to" AS account, amount FROM transfer JOIN chain ON amount_symbol = chain.coin
    UNION ALL
    SELECT "from", -amount FROM transfer JOIN chain ON amount_symbol = chain.coin
), sums AS (
    SELECT account, sum(CASE WHEN amount > 0 THEN amount ELSE 0 END) AS received,
           sum(CASE WHEN amount < 0 THEN -amount ELSE 0 END) AS sent
    FROM moves
    GROUP BY account
)
SELECT account, coins(received) AS received, coins(sent) AS sent, coins(received - sent) AS net
FROM sums
ORDER BY received - sent DESC, account
LIMIT 10;
