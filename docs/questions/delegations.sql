-- Who lends VESTS to whom
-- The ten accounts that have most VESTS lent to them at the end, by how many others.
-- Beware: needs the table vesting_delegations. What is on its way back for five days belongs to nobody's count.
WITH sums AS (
    SELECT delegatee, count(*) AS delegators, sum(vesting_shares) AS received FROM vesting_delegations GROUP BY delegatee
)
SELECT delegatee, delegators, vests(received) AS received
FROM sums
ORDER BY received DESC, delegatee
LIMIT 10;
