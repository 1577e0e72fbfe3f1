-- Supply over time
-- COIN, SBD and vested COIN after each block for which global properties were exported, and the vested share of all COIN.
-- Note: this query needs the table `global_properties@N`. The virtual supply counts SBD as the COIN into which they can be converted.
SELECT at_block, coins(current_supply) AS coin, coins(current_sbd_supply) AS sbd, coins(virtual_supply) AS virtual_supply,
       coins(total_vesting_fund_steem) AS vested, percent(total_vesting_fund_steem, current_supply) AS share
FROM global_properties_at
ORDER BY at_block;
