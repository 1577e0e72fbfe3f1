-- Account creation by creator
-- The created accounts by creator and method, and the fees paid.
-- Note: claimed accounts cost nothing when they are created. Accounts of miners and of the genesis are missing, because none of the queried operations created them.
WITH made AS (
    SELECT creator, 'paid' AS way, fee FROM account_create
    UNION ALL SELECT creator, 'delegated', fee FROM account_create_with_delegation
    UNION ALL SELECT creator, 'claimed', 0 FROM create_claimed_account
), sums AS (
    SELECT creator, way, count(*) AS accounts, sum(fee) AS fees FROM made GROUP BY creator, way
)
SELECT creator, way, accounts, coins(fees) AS fees
FROM sums
ORDER BY accounts DESC, creator, way
LIMIT 10;
