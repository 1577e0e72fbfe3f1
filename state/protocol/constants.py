"""Constants that are the same on every chain, named as in the reference pages.

Durations are in seconds, amounts in the smallest unit, percentages in basis points, unless a comment says otherwise. Constants that differ
between chains are in the chain spec (spec.py). Sources: state-objects.md §15, §16; wire-format.md §8; block-processing.md Appendix A.
"""

MAIN_CHAIN_ID = bytes(32)  # of the public network
BRAND = "coin"  # the placeholder for a chain's brand word, and the brand of the product's own chains

# ------------------------------------------------------------------ time and blocks

COIN_BLOCK_INTERVAL = 3
COIN_BLOCKS_PER_YEAR = 10512000
COIN_BLOCKS_PER_DAY = 28800
COIN_BLOCKS_PER_HOUR = 1200
COIN_SECONDS_PER_YEAR = 31536000
COIN_INIT_TIME = 0
DAY_SECONDS = 86400
TIME_MAX = 4294967295
COIN_START_VESTING_BLOCK = 201600
COIN_START_MINER_VOTING_BLOCK = 864000
COIN_MAX_UNDO_HISTORY = 10000
COIN_MIN_UNDO_HISTORY = 10
COIN_IRREVERSIBLE_THRESHOLD = 7500
COIN_MAX_TRANSACTION_SIZE = 65536
COIN_MIN_TRANSACTION_SIZE_LIMIT = 1024
COIN_MIN_TRANSACTION_EXPIRATION_LIMIT = 15
COIN_MAX_TIME_UNTIL_EXPIRATION = 3600
COIN_MIN_BLOCK_SIZE_LIMIT = 65536
COIN_MAX_BLOCK_SIZE = 393216000
COIN_SOFT_MAX_BLOCK_SIZE = 2097152
COIN_MIN_BLOCK_SIZE = 115
COIN_BLOCK_GENERATION_POSTPONED_TX_LIMIT = 5
COIN_PENDING_TRANSACTION_EXECUTION_LIMIT = 200000  # microseconds
BLOCK_SUMMARY_COUNT = 65536
# Up to this head block number, on every chain, the maximum of the downvote pool is a 64-bit product that wraps.
COIN_HF_21_STALL_BLOCK = 35922615

# ------------------------------------------------------------------ names and sizes

COIN_INIT_MINER_NAME = "initminer"
COIN_MINER_ACCOUNT = "miners"
COIN_NULL_ACCOUNT = "null"
COIN_TEMP_ACCOUNT = "temp"
COIN_PROXY_TO_SELF_ACCOUNT = ""
COIN_ROOT_POST_PARENT = ""
COIN_TREASURY_ACCOUNT = "coin.dao"
HIVE_TREASURY_ACCOUNT = "community321"
COIN_POST_REWARD_FUND_NAME = "post"
COIN_COMMENT_REWARD_FUND_NAME = "comment"
COIN_MIN_ACCOUNT_NAME_LENGTH = 3
COIN_MAX_ACCOUNT_NAME_LENGTH = 16
COIN_MIN_PERMLINK_LENGTH = 0
COIN_MAX_PERMLINK_LENGTH = 256
COIN_MAX_WITNESS_URL_LENGTH = 2048
COIN_MAX_URL_LENGTH = 127
COIN_MAX_MEMO_SIZE = 2048
COIN_CUSTOM_OP_ID_MAX_LENGTH = 32
COIN_CUSTOM_OP_DATA_MAX_LENGTH = 8192
COIN_BENEFICIARY_LIMIT = 128
COIN_COMMENT_TITLE_LIMIT = 256
# Work budget for the body patches of one transaction, in steps of a few tenths of a microsecond (docs/differences.md, "Edits").
EDIT_STEPS_MAX = 100_000
COIN_MAX_COMMENT_DEPTH_PRE_HF17 = 6
COIN_MAX_COMMENT_DEPTH = 65535
COIN_SOFT_MAX_COMMENT_DEPTH = 255
COIN_MAX_INSTANCE_ID = 2**48 - 1
COIN_MAX_ASSET_WHITELIST_AUTHORITIES = 10
MAX_ARRAY_ALLOC_SIZE = 10485760
MAX_RECURSION_DEPTH = 20
JSON_MAX_RECURSION_DEPTH = 200

# ------------------------------------------------------------------ authorities and accounts

COIN_MAX_AUTHORITY_MEMBERSHIP = 40
COIN_MAX_SIG_CHECK_DEPTH = 2
COIN_MAX_SIG_CHECK_ACCOUNTS = 125
COIN_MAX_PROXY_RECURSION_DEPTH = 4
COIN_MAX_ACCOUNT_WITNESS_VOTES = 30
COIN_MAX_ACCOUNT_CREATION_FEE = 1000000000
COIN_CREATE_ACCOUNT_WITH_COIN_MODIFIER = 30
COIN_CREATE_ACCOUNT_DELEGATION_RATIO = 5
COIN_CREATE_ACCOUNT_DELEGATION_TIME = 2592000
COIN_ACTIVE_CHALLENGE_FEE = 2000
COIN_ACTIVE_CHALLENGE_COOLDOWN = 86400
COIN_OWNER_CHALLENGE_FEE = 30000
COIN_OWNER_CHALLENGE_COOLDOWN = 86400

# ------------------------------------------------------------------ money

COIN_100_PERCENT = 10000
COIN_1_PERCENT = 100
COIN_BLOCKCHAIN_PRECISION = 1000
COIN_BLOCKCHAIN_PRECISION_DIGITS = 3
COIN_MAX_SHARE_SUPPLY = 10**15
COIN_MAX_SATOSHIS = 4611686018427387903
VESTS_PER_COIN_SATOSHI = 1000  # price while the vesting fund is empty: 1.000000 VESTS for 1.000 COIN
VESTING_SPLIT = 1000000  # HF 1
COIN_DEFAULT_SBD_INTEREST_RATE = 1000
COIN_SBD_INTEREST_COMPOUND_INTERVAL_SEC = 2592000
COIN_SBD_START_PERCENT_HF14 = 200
COIN_SBD_START_PERCENT_HF20 = 900
COIN_SBD_STOP_PERCENT_HF14 = 500
COIN_SBD_STOP_PERCENT_HF20 = 1000
COIN_FEED_INTERVAL_BLOCKS = 1200
COIN_FEED_HISTORY_WINDOW_PRE_HF_16 = 168
COIN_FEED_HISTORY_WINDOW = 84
COIN_MAX_FEED_AGE_SECONDS = 604800
COIN_MIN_FEEDS = 7
COIN_CONVERSION_DELAY_PRE_HF_16 = 604800
COIN_CONVERSION_DELAY = 302400
COIN_MAX_LIMIT_ORDER_EXPIRATION = 2419200
COIN_SAVINGS_WITHDRAW_TIME = 259200
COIN_SAVINGS_WITHDRAW_REQUEST_LIMIT = 100
COIN_MAX_RESERVE_RATIO = 20000
COIN_BANDWIDTH_AVERAGE_WINDOW_SECONDS = 604800
COIN_BANDWIDTH_PRECISION = 1000000

# ------------------------------------------------------------------ vesting and delegation

COIN_VESTING_WITHDRAW_INTERVALS_PRE_HF_16 = 104
COIN_VESTING_WITHDRAW_INTERVALS = 13
COIN_VESTING_WITHDRAW_INTERVALS_HF_23 = 4
COIN_VESTING_WITHDRAW_INTERVAL_SECONDS = 604800
COIN_MAX_WITHDRAW_ROUTES = 10
COIN_DELEGATION_RETURN_PERIOD_HF20 = 432000

# ------------------------------------------------------------------ posts and votes

COIN_VOTING_MANA_REGENERATION_SECONDS = 432000
COIN_INITIAL_VOTE_POWER_RATE = 40
COIN_REDUCED_VOTE_POWER_RATE = 10
COIN_MAX_VOTE_CHANGES = 5
COIN_MIN_VOTE_INTERVAL_SEC = 3
COIN_VOTE_DUST_THRESHOLD = 50000000
COIN_DOWNVOTE_POOL_PERCENT_HF21 = 2500
COIN_REVERSE_AUCTION_WINDOW_SECONDS_HF6 = 1800
COIN_REVERSE_AUCTION_WINDOW_SECONDS_HF20 = 900
COIN_REVERSE_AUCTION_WINDOW_SECONDS_HF21 = 300
COIN_MIN_ROOT_COMMENT_INTERVAL = 300
COIN_MIN_REPLY_INTERVAL = 20
COIN_MIN_REPLY_INTERVAL_HF20 = 3
COIN_MIN_COMMENT_EDIT_INTERVAL = 3
COIN_POST_AVERAGE_WINDOW = 86400
COIN_POST_WEIGHT_CONSTANT = 1600000000

# ------------------------------------------------------------------ rewards and inflation

COIN_INFLATION_RATE_START_PERCENT = 978
COIN_INFLATION_RATE_STOP_PERCENT = 95
COIN_INFLATION_NARROWING_PERIOD = 250000  # blocks per basis point
COIN_CONTENT_REWARD_PERCENT_HF16 = 7500
COIN_CONTENT_REWARD_PERCENT_HF21 = 6500
COIN_VESTING_FUND_PERCENT_HF16 = 1500
COIN_PROPOSAL_FUND_PERCENT_HF0 = 0
COIN_PROPOSAL_FUND_PERCENT_HF21 = 1000
COIN_CONTENT_CONSTANT_HF0 = 2000000000000
COIN_CONTENT_CONSTANT_HF21 = 2000000000000
COIN_RECENT_RSHARES_DECAY_TIME_HF17 = 2592000
COIN_RECENT_RSHARES_DECAY_TIME_HF19 = 1296000
COIN_HF_17_RECENT_CLAIMS = 14916744862149894120447332012073
COIN_HF_19_RECENT_CLAIMS = 140797515942543623
COIN_HF21_CONVERGENT_LINEAR_RECENT_CLAIMS = 503600561838938636
COIN_MIN_PAYOUT_SBD = 20
COIN_MIN_CONTENT_REWARD = 1000
COIN_MIN_CURATE_REWARD = 1000
COIN_MIN_PRODUCER_REWARD = 1000
COIN_MIN_POW_REWARD = 1000
COIN_MINING_REWARD = 1000
COIN_MIN_LIQUIDITY_REWARD = 1200000
COIN_MIN_LIQUIDITY_REWARD_PERIOD_SEC = 60
COIN_LIQUIDITY_REWARD_PERIOD_SEC = 3600
COIN_LIQUIDITY_REWARD_BLOCKS = 1200
COIN_LIQUIDITY_TIMEOUT_SEC = 604800
COIN_CONTENT_APR_PERCENT = 3875
COIN_CURATE_APR_PERCENT = 3875
COIN_LIQUIDITY_APR_PERCENT = 750
COIN_POW_APR_PERCENT = 750
COIN_PRODUCER_APR_PERCENT = 750
COIN_APR_PERCENT_MULTIPLY_PER_BLOCK = 102035135585887
COIN_APR_PERCENT_SHIFT_PER_BLOCK = 87
COIN_APR_PERCENT_MULTIPLY_PER_ROUND = 133921203762304
COIN_APR_PERCENT_SHIFT_PER_ROUND = 83
COIN_APR_PERCENT_MULTIPLY_PER_HOUR = 119577151364285
COIN_APR_PERCENT_SHIFT_PER_HOUR = 77
COIN_MINER_PAY_PERCENT = 100

# ------------------------------------------------------------------ witnesses

COIN_MAX_WITNESSES = 21
COIN_NUM_INIT_MINERS = 1
COIN_HARDFORK_REQUIRED_WITNESSES = 17
COIN_MAX_VOTED_WITNESSES_HF0 = 19
COIN_MAX_MINER_WITNESSES_HF0 = 1
COIN_MAX_RUNNER_WITNESSES_HF0 = 1
COIN_MAX_VOTED_WITNESSES_HF17 = 20
COIN_MAX_MINER_WITNESSES_HF17 = 0
COIN_MAX_RUNNER_WITNESSES_HF17 = 1
COIN_VIRTUAL_SCHEDULE_LAP_LENGTH = 2**64 - 1
COIN_VIRTUAL_SCHEDULE_LAP_LENGTH2 = 2**128 - 1
COIN_EQUIHASH_N = 140
COIN_EQUIHASH_K = 6

# ------------------------------------------------------------------ account subsidies (resource dynamics)

COIN_RD_MIN_DECAY_BITS = 6
COIN_RD_MAX_DECAY_BITS = 32
COIN_RD_DECAY_DENOM_SHIFT = 36
COIN_RD_MAX_POOL_BITS = 64
COIN_RD_MAX_BUDGET_1 = 2 ** (COIN_RD_MAX_POOL_BITS + COIN_RD_MIN_DECAY_BITS - COIN_RD_DECAY_DENOM_SHIFT) - 1
COIN_RD_MAX_BUDGET_2 = 2 ** (COIN_RD_MAX_POOL_BITS - COIN_RD_DECAY_DENOM_SHIFT) - 1
COIN_RD_MAX_BUDGET_3 = 2**31 - 1
COIN_RD_MAX_BUDGET = min(COIN_RD_MAX_BUDGET_1, COIN_RD_MAX_BUDGET_2, COIN_RD_MAX_BUDGET_3)
COIN_RD_MIN_DECAY = 2**COIN_RD_MIN_DECAY_BITS
COIN_RD_MIN_BUDGET = 1
COIN_RD_MAX_DECAY = 2**COIN_RD_MAX_DECAY_BITS - 1
COIN_MAX_RATION_DECAY_RATE = 1000000
COIN_ACCOUNT_SUBSIDY_PRECISION = 10000
COIN_WITNESS_SUBSIDY_BUDGET_PERCENT = 12500
COIN_WITNESS_SUBSIDY_DECAY_PERCENT = 210000
COIN_DECAY_BACKSTOP_PERCENT = 9000
COIN_DEFAULT_ACCOUNT_SUBSIDY_DECAY = 347321
COIN_DEFAULT_ACCOUNT_SUBSIDY_BUDGET = 797

# ------------------------------------------------------------------ proposals

COIN_TREASURY_FEE = 10000
COIN_PROPOSAL_MAINTENANCE_PERIOD = 3600
COIN_PROPOSAL_MAINTENANCE_CLEANUP = 86400
COIN_PROPOSAL_SUBJECT_MAX_LENGTH = 80
COIN_PROPOSAL_MAX_IDS_NUMBER = 5

# ------------------------------------------------------------------ SMTs

SMT_MAX_VOTABLE_ASSETS = 2
SMT_VESTING_WITHDRAW_INTERVAL_SECONDS = 604800
SMT_UPVOTE_LOCKOUT = 43200
SMT_EMISSION_MIN_INTERVAL_SECONDS = 21600
SMT_EMIT_INDEFINITELY = 4294967295
SMT_MAX_NOMINAL_VOTES_PER_DAY = 1000
SMT_MAX_VOTES_PER_REGENERATION = 7000
SMT_DEFAULT_VOTES_PER_REGEN_PERIOD = 50
SMT_DEFAULT_PERCENT_CURATION_REWARDS = 2500
SMT_MAX_UNIT_ROUTES = 10
SMT_MAX_UNIT_COUNT = 20
SMT_MIN_HARD_CAP_COIN_UNITS = 10000
SMT_MIN_SATURATION_COIN_UNITS = 1000
SMT_MIN_SOFT_CAP_COIN_UNITS = 1000
SMT_MIN_NAI = 1
SMT_MIN_NON_RESERVED_NAI = 10000000
SMT_MAX_NAI = 99999999
SMT_MAX_NAI_POOL_COUNT = 10
SMT_MAX_NAI_GENERATION_TRIES = 100

# ------------------------------------------------------------------ hardforks

# Times of hardforks 1 to 23 in both builds.
HARDFORK_TIMES = (
    1461605400,
    1461693600,
    1461762000,
    1462028400,
    1464714000,
    1467295200,
    1467590400,
    1467594000,
    1468454400,
    1468584000,
    1468767600,
    1469545200,
    1471269600,
    1474383600,
    1478620800,
    1481040000,
    1490886000,
    1490886000,
    1497970800,
    1537887600,
    1566918000,
    1567090800,
    1589983200,
)
COIN_PROTECTION_HARDFORK_TIME231 = 1590148800

# The text is parsed with the chain's own key prefix, so on a test chain HF 9 fails if one of its accounts exists.
HF9_PUBLIC_KEY = "STM7sw22HqsXbz7D2CmJfmMwt9rimtk518dRzsR1f8Cgw52dQR1pR"

# Account names of the public chain, separated by spaces; `{brand}` is replaced by the brand word. `ChainSpec.spell` must not be applied:
# names like `coinfund` contain the product's spelling by coincidence.
HF9_ACCOUNTS = """
    aeico aenor aizensou albertogm alibaba alyssas amartinezque amazon animalrobot arsahk arwani-wawan auxon b0y2k binwah-de-rese
    bitcube blackjincrypto boatymcboatface boy bravenewcoin bryner btcturbo bu328281 bue bue-witness bunny cheftony chhayll chitty
    chryspano citibank cmtzco coinbitgold coinfund complexring cyrano.witness3 dahaz159 dan dantheman daycrypter dragonslayer109
    dulila ebay elyaque estin expanse fanie-vanhoten felipemachado fex fishayley fminerten1 gabbans gatoso gazm gottahaveit
    graavor gregm grumpymutt gtg hcf27 hello hipster hsbc ibnu ihashfury ikigai jacor james1337 jamie john-kimmel jpmorgan
    justiciar kaptainkrayola karen13 kevinwong kingofchaos lighthil linouxis9 loewan luiz-marchi lux marcelhattingh mathiasbaer
    mauricemikkers mexbit mikemiziner mldorton mynameisbrian ned ned-scott news nicolaswsk norbu nuno-nutcrusherz omarb
    omarbitcoin opengas ossama-benjohn owdy ozmaster ozzy-vega pal penambang pierregi pwlaslo qamarpinkpanda recursive
    reddit2{brand} rimantas rok-sivante rseixas samuel-stone samupaha schro sebastien signalandnoise simoneighties slocum softbank
    sonzweil spartako stan {brand}-id {brand}it1 {brand}itblog {brand}power {brand}ychicken1 str11ngfello streemian streetstyle
    summon teatree techemist the-alien thecryptodrive thegoodguy tonykent top10 trevonjb troller trung81 ukon val vippero walmart
    windsok wingz world worldfamous yan-kovalenko zebbra2014 zer0sum
"""
HF23_ACCOUNTS = """
    abusereports acidyo agent14 arsahk ats-david ausbitbank berniesanders bittrix blocktrades clappy curatorhulk darthknight dhenz
    drakos drbanner fefemz freedom gokuisreal gtg howo jawnz johnmadden kevtorin kingdong klobu kriborin lessys likwid liondani
    mottler mottler-1 neoxian netuoso nextgencrypto ngc ocd-witness ozchartart pfunk pharesim realself roelandp roundbeargames
    safari sirvotesalot smooth smooth-a smooth-b smooth-c smooth-d smooth-e smooth-f smooth.witness sockpuppet sooty {brand}press
    thecyclist themarkymark therealwolf theycallmedan timetickertickin transisto xx0xx xxxxxxxxxx z8teyb289qav9z znnuksfe
"""
PROTECTED_ACCOUNTS = "freedom pumpkin blocktrades gtg good-karma roelandp {brand}press darthknight"
