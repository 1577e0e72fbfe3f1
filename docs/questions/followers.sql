-- Most followed accounts
-- The most followed accounts, from the `custom_json` operations of the social index.
-- Note: if an account follows or unfollows another one repeatedly, the last operation counts. The query only reads operations of the usual form `["follow", {...}]` with one account.
WITH said AS (
    SELECT json_text(json, '$[1].follower') AS follower, json_text(json, '$[1].following') AS following,
           coalesce(json_text(json, '$[1].what[0]'), '') AS what,
           first_of(required_posting_auths) AS signer, block, trx, op
    FROM custom_json
    WHERE id = 'follow' AND json_text(json, '$[0]') = 'follow'
), newest AS (
    SELECT follower, following, what,
           row_number() OVER (PARTITION BY follower, following ORDER BY block DESC, trx DESC, op DESC) AS age
    FROM said
    WHERE follower = signer AND follower <> following AND following IN (SELECT name FROM accounts)
)
SELECT following AS account, count(*) AS followers
FROM newest
WHERE age = 1 AND what = 'blog'
GROUP BY following
ORDER BY followers DESC, account
LIMIT 10;
