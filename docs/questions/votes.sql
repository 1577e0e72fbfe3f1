-- How people vote
-- Votes up, down and taken back, and how many voters use their whole weight.
-- Beware: the weight is that of the operation, from -10000 to 10000; what a vote was worth depends on the voter's mana and stake.
SELECT CASE WHEN weight > 0 THEN 'up' WHEN weight < 0 THEN 'down' ELSE 'taken back' END AS direction,
       count(*) AS votes,
       count(DISTINCT voter) AS voters,
       count(CASE WHEN abs(weight) = 10000 THEN 1 END) AS whole
FROM vote
GROUP BY 1
ORDER BY votes DESC;
