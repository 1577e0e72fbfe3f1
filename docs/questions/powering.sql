-- Power-ups and power-downs
-- COIN converted to VESTS, and VESTS withdrawn, on each day.
-- Note: a power-down is paid in 13 weekly parts. The column `withdrawn` contains the payments, and the column `asked` the amounts that `withdraw_vesting` operations requested.
WITH moves AS (
    SELECT time, amount AS powered_up, 0 AS asked, 0 AS withdrawn FROM transfer_to_vesting
    UNION ALL SELECT time, 0, vesting_shares, 0 FROM withdraw_vesting
    UNION ALL SELECT time, 0, 0, withdrawn FROM fill_vesting_withdraw WHERE withdrawn_symbol = 'VESTS'
), days AS (
    SELECT CAST(time AS DATE) AS day, sum(powered_up) AS powered_up, sum(asked) AS asked, sum(withdrawn) AS withdrawn
    FROM moves
    GROUP BY CAST(time AS DATE)
)
SELECT day, coins(powered_up) AS powered_up, vests(asked) AS asked, vests(withdrawn) AS withdrawn
FROM days
ORDER BY day;
