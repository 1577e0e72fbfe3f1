-- Votes by direction
-- Upvotes, downvotes and removed votes, and the number of voters with full weight.
-- Note: the weight is the one in the operation, from -10000 to 10000. The effect of a vote depends on the voter's mana and stake.
SELECT CASE WHEN weight > 0 THEN 'up' WHEN weight < 0 THEN 'down' ELSE 'taken back' END AS direction,
       count(*) AS votes,
       count(DISTINCT voter) AS voters,
       count(CASE WHEN abs(weight) = 10000 THEN 1 END) AS whole
FROM vote
GROUP BY 1
ORDER BY votes DESC;
