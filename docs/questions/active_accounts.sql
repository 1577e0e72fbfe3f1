-- Active accounts
-- The number of accounts that voted, posted, transferred or traded on each day.
-- Note: one person can have several accounts. The query doesn't count `custom_json` operations, which games and bots use.
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
