-- Highest-paid authors
-- The ten authors with the highest payouts, and their share of all payouts.
-- Note: payouts below 0.020 SBD are dropped, so many posts have no row here.
WITH rewards AS (
    SELECT author, count(*) AS payouts, sum(payout) AS reward FROM comment_reward GROUP BY author
), totals AS (
    SELECT sum(reward) AS total FROM rewards
)
SELECT author, payouts, coins(reward) AS payout, percent(reward, total) AS share
FROM rewards CROSS JOIN totals
ORDER BY reward DESC, author
LIMIT 10;
