-- Inequality of author rewards
-- The Gini coefficient of the payouts per author: 0 if all get the same, 1 if one gets everything.
-- Note: only authors with a payout count. A payout includes the shares of the author, the beneficiaries and the curators, converted to SBD at the price at that time.
WITH rewards AS (
    SELECT author, sum(payout) AS reward FROM comment_reward GROUP BY author
), ranked AS (
    SELECT reward, row_number() OVER (ORDER BY reward, author) AS place FROM rewards WHERE reward > 0
), totals AS (
    SELECT count(*) AS authors, sum(reward) AS total, max(reward) AS most, sum(place * reward) AS weighted FROM ranked
)
SELECT authors, coins(total) AS payout, coins(most) AS most,
       round(2 * CAST(weighted AS DOUBLE) / (authors * CAST(total AS DOUBLE)) - CAST(authors + 1 AS DOUBLE) / authors, 4) AS gini
FROM totals;
