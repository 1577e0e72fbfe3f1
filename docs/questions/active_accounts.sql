-- Active accounts
-- The number of accounts that voted, posted, transferred or traded on each day.
-- Note: an account is not a person. custom_json operations, which games and bots use, aren't counted.
WITH acts AS (
    SELECT time, voter AS account FROM vote
    UNION ALL SELECT time, author FROM comment
    UNION ALL SELECT time, "from" FROM transfer
    UNION ALL SELECT time, owner FROM limit_order_create
)
SELECT CAST(time AS DATE) AS day, count(DISTINCT account) AS accounts, count(*) AS acts
FROM acts
GROUP BY CAST(time AS DATE)
ORDER BY day;
