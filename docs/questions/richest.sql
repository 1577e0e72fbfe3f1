-- The richest accounts over time
-- The three accounts with the most VESTS after each block for which accounts were exported, the value of these VESTS, and their share of all VESTS.
-- Note: this query needs the tables `accounts@N` and `global_properties@N`. Delegated VESTS count for their owner.
WITH ranked AS (
    SELECT at_block, name, vesting_shares, sum(vesting_shares) OVER (PARTITION BY at_block) AS total,
           row_number() OVER (PARTITION BY at_block ORDER BY vesting_shares DESC, name) AS place
    FROM accounts_at
)
SELECT at_block, place, name, vests(vesting_shares) AS vests, coins(CAST(coin_of_vests(vesting_shares, at_block) AS DECIMAL(19, 0))) AS coin,
       percent(vesting_shares, total) AS share
FROM ranked
WHERE place <= 3
ORDER BY at_block, place;
