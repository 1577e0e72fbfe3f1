-- Inflation by source
-- New tokens by recipient: authors, beneficiaries, curators, witnesses, the proposal fund, interest.
-- Note: each symbol has its own sum. Rewards for proofs of work, and producers' rewards in liquid COIN, are missing: both ended with hardfork 16, and no operation records them.
WITH created AS (
    SELECT 'authors' AS source, sbd_payout AS amount, sbd_payout_symbol AS symbol FROM author_reward
    UNION ALL SELECT 'authors', steem_payout, steem_payout_symbol FROM author_reward
    UNION ALL SELECT 'authors', vesting_payout, vesting_payout_symbol FROM author_reward
    UNION ALL SELECT 'beneficiaries', sbd_payout, sbd_payout_symbol FROM comment_benefactor_reward
    UNION ALL SELECT 'beneficiaries', steem_payout, steem_payout_symbol FROM comment_benefactor_reward
    UNION ALL SELECT 'beneficiaries', vesting_payout, vesting_payout_symbol FROM comment_benefactor_reward
    UNION ALL SELECT 'curators', reward, reward_symbol FROM curation_reward
    UNION ALL SELECT 'witnesses', vesting_shares, vesting_shares_symbol FROM producer_reward
    UNION ALL SELECT 'proposal fund', additional_funds, additional_funds_symbol FROM sps_fund
    UNION ALL SELECT 'interest', interest, interest_symbol FROM interest
), sums AS (
    SELECT source, symbol, count(*) AS times, CAST(sum(amount) AS BIGINT) AS amount FROM created WHERE amount > 0 GROUP BY source, symbol
)
SELECT source, times, amount_text(amount, symbol) AS amount
FROM sums
ORDER BY source, symbol;
