-- Reputations
-- The number of accounts by displayed reputation.
-- Note: this query needs the table `follow_reputations`. Accounts whose posts got no votes have no reputation, and are shown as 25.
WITH shown AS (
    SELECT floor(reputation(reputation)) AS score FROM follow_reputations
)
SELECT CAST(score AS INT) AS score, count(*) AS accounts
FROM shown
GROUP BY score
ORDER BY score DESC
LIMIT 10;
