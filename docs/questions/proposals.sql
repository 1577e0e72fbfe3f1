-- Proposals and their payments
-- The proposals, the number of their supporters at the end, and the payments to their receivers.
-- Note: this query needs the table `proposal_votes`. A payment names its receiver, not its proposal, so the payments for proposals with the same receiver are added up.
WITH made AS (
    SELECT receiver, count(*) AS proposals, sum(daily_pay) AS daily_pay FROM create_proposal GROUP BY receiver
), paid AS (
    SELECT receiver, count(*) AS payments, sum(payment) AS payment FROM proposal_pay GROUP BY receiver
)
SELECT made.receiver, proposals, coins(daily_pay) AS daily_pay, coalesce(payments, 0) AS payments, coins(coalesce(payment, 0)) AS paid
FROM made LEFT JOIN paid ON paid.receiver = made.receiver
ORDER BY coalesce(payment, 0) DESC, made.receiver
LIMIT 10;
