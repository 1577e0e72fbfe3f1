-- Reputations
-- How many accounts have which reputation, as people read it.
-- Beware: needs the table follow_reputations. Accounts whose posts nobody voted for have none, and are shown as 25.
WITH shown AS (
    SELECT floor(reputation(reputation)) AS score FROM follow_reputations
)
SELECT CAST(score AS INT) AS score, count(*) AS accounts
FROM shown
GROUP BY score
ORDER BY score DESC
LIMIT 10;
