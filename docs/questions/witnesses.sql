-- Witnesses: blocks and misses
-- The blocks of each witness, its share of all blocks, its rewards, and its missed blocks.
-- Note: this query needs the table `witnesses`. The export contains only the total of missed blocks at the end, without their times.
WITH produced AS (
    SELECT witness, count(*) AS blocks FROM blocks GROUP BY witness
), rewards AS (
    SELECT producer, sum(vesting_shares) AS reward FROM producer_reward WHERE vesting_shares_symbol = 'VESTS' GROUP BY producer
), totals AS (
    SELECT count(*) AS total FROM blocks
)
SELECT owner AS witness, coalesce(blocks, 0) AS blocks, percent(coalesce(blocks, 0), total) AS share,
       vests(coalesce(reward, 0)) AS reward, total_missed AS missed
FROM witnesses
CROSS JOIN totals
LEFT JOIN produced ON produced.witness = witnesses.owner
LEFT JOIN rewards ON rewards.producer = witnesses.owner
ORDER BY blocks DESC, witness
LIMIT 10;
