-- Curation by the age of the vote
-- Curation rewards by the time between post and vote.
-- Note: the age of a vote is that of its last change. Votes in the first minutes earn less: see `reverse_auction_seconds` in `global_properties`.
WITH posts AS (
    SELECT author, permlink, min(time) AS created FROM comment GROUP BY author, permlink
), votes AS (
    SELECT voter, author, permlink, max(time) AS voted FROM vote GROUP BY voter, author, permlink
), paid AS (
    SELECT seconds_between(created, voted) AS age, reward
    FROM curation_reward
    JOIN votes ON votes.voter = curator AND votes.author = comment_author AND votes.permlink = comment_permlink
    JOIN posts ON posts.author = comment_author AND posts.permlink = comment_permlink
), grouped AS (
    SELECT CASE WHEN age < 60 THEN 'a: first minute' WHEN age < 300 THEN 'b: 5 minutes' WHEN age < 3600 THEN 'c: hour' ELSE 'd: later' END AS age,
           count(*) AS rewards, sum(reward) AS total
    FROM paid
    GROUP BY 1
)
SELECT age, rewards, vests(total) AS reward, vests(total / rewards) AS each
FROM grouped
ORDER BY age;
