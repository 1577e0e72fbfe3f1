-- Largest transfers between two accounts
-- The ten pairs of accounts with the most COIN transferred between them.
-- Note: only transfers on the chain count. Exchanges settle most of their trades internally.
WITH pairs AS (
    SELECT "from" AS payer, "to" AS payee, count(*) AS transfers, sum(amount) AS total
    FROM transfer JOIN chain ON amount_symbol = chain.coin
    GROUP BY "from", "to"
)
SELECT payer, payee, transfers, coins(total) AS amount
FROM pairs
ORDER BY total DESC, payer, payee
LIMIT 10;
