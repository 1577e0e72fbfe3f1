-- Activity by day
-- The number of operations, transactions and virtual operations on each day.
-- Note: days are those of the block time, in UTC. A day without blocks has no row.
SELECT CAST(time AS DATE) AS day,
       count(CASE WHEN virtual_op = 0 THEN 1 END) AS operations,
       count(DISTINCT trx_id) AS transactions,
       count(CASE WHEN virtual_op > 0 THEN 1 END) AS virtual_operations
FROM operations
GROUP BY CAST(time AS DATE)
ORDER BY day;
