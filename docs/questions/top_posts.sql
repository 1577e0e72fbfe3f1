-- Highest-paid posts
-- The ten posts and comments with the highest payouts, with their votes.
-- Note: vote operations are counted, so each change of a vote counts as another vote. The title is that of the first version.
WITH paid AS (
    SELECT author, permlink, sum(payout) AS reward FROM comment_reward GROUP BY author, permlink
), votes AS (
    SELECT author, permlink, count(*) AS votes FROM vote GROUP BY author, permlink
), posts AS (
    SELECT author, permlink, min(block) AS block FROM comment GROUP BY author, permlink
)
SELECT paid.author, substr(paid.permlink, 1, 24) AS permlink, posts.block, coalesce(votes.votes, 0) AS votes, coins(reward) AS payout
FROM paid
JOIN posts ON posts.author = paid.author AND posts.permlink = paid.permlink
LEFT JOIN votes ON votes.author = paid.author AND votes.permlink = paid.permlink
ORDER BY reward DESC, paid.author, paid.permlink
LIMIT 10;
