-- Largest delegations
-- The ten accounts with the most received delegations at the end, and the number of their delegators.
-- Note: needs the table vesting_delegations. Returned VESTS belong to no account's sum for five days.
WITH sums AS (
    SELECT delegatee, count(*) AS delegators, sum(vesting_shares) AS received FROM vesting_delegations GROUP BY delegatee
)
SELECT delegatee, delegators, vests(received) AS received
FROM sums
ORDER BY received DESC, delegatee
LIMIT 10;
