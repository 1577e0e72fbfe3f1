-- Activity by day
-- How many operations and transactions there were on each day, and how many virtual operations they led to.
-- Beware: days are those of the block's time, in UTC. A day without blocks has no row.
SELECT CAST(time AS DATE) AS day,
       count(CASE WHEN virtual_op = 0 THEN 1 END) AS operations,
       count(DISTINCT trx_id) AS transactions,
       count(CASE WHEN virtual_op > 0 THEN 1 END) AS virtual_operations
FROM operations
GROUP BY CAST(time AS DATE)
ORDER BY day;
