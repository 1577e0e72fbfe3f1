-- Largest delegations
-- The ten accounts with the most VESTS delegated to them at the end, and the number of their delegators.
-- Note: this query needs the table `vesting_delegations`. For five days after a delegation ends, its VESTS count for neither account.
WITH sums AS (
    SELECT delegatee, count(*) AS delegators, sum(vesting_shares) AS received FROM vesting_delegations GROUP BY delegatee
)
SELECT delegatee, delegators, vests(received) AS received
FROM sums
ORDER BY received DESC, delegatee
LIMIT 10;
