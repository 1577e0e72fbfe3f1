-- Who earns most by posting
-- The ten authors whose posts were paid most, and their share of everything that was paid.
-- Beware: a payout below 0.020 SBD is none, so that many posts have no row here.
WITH rewards AS (
    SELECT author, count(*) AS payouts, sum(payout) AS reward FROM comment_reward GROUP BY author
), totals AS (
    SELECT sum(reward) AS total FROM rewards
)
SELECT author, payouts, coins(reward) AS payout, percent(reward, total) AS share
FROM rewards CROSS JOIN totals
ORDER BY reward DESC, author
LIMIT 10;
