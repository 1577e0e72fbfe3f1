"""Creates the state before block 1 from a chain spec. Source: block-processing.md §1; state-objects.md §12."""

from collections.abc import Callable

from msgspec import structs

from state.chain.hardforks import set_hardfork, set_witness_versions
from state.effects.subsidies import subsidy_params, witness_params
from state.protocol import constants
from state.protocol.authority import Authority, key_authority
from state.protocol.spec import ChainSpec, GenesisAccount
from state.protocol.values.asset import COIN, NULL_PRICE, SBD, Asset, Price, convert
from state.protocol.values.integers import UINT128_MAX
from state.tables import State
from state.tables.accounts import Account, AccountAuthority, AccountMetadata
from state.tables.globals import ChainProperties, FeedHistory, GlobalProperties, HardforkProperties, WitnessSchedule
from state.tables.smt import NaiPool
from state.tables.witnesses import MINER, Witness

CLOSED = Authority(weight_threshold=1)
OPEN = Authority()


def new_state(spec: ChainSpec, prepare: Callable[[State], None] = lambda state: None) -> State:
    """Return a state at genesis, with an empty undo journal.

    `prepare` enables plugins. It is called before hardforks are applied, because some plugins listen to them.
    """
    state = State(spec)
    create_reference_accounts(state)
    for name in spec.genesis.witnesses:
        create_witness(state, name)
    for account in spec.accounts_at_genesis:
        create_extra_account(state, account)
    create_singletons(state)
    prepare(state)
    if spec.genesis.hardfork:
        set_hardfork(state, spec.genesis.hardfork, apply_now=True)
        set_witness_versions(state, spec.genesis.hardfork)
    set_witness_properties(state)
    start_periods(state, spec.constants.COIN_GENESIS_TIME)
    if spec.genesis.accounts_in_blocks:
        add_creation_fees(state)
    state.journal.commit(state.journal.position())
    return state


def create_reference_accounts(state: State) -> None:
    """Insert the accounts that every chain of this family has, in a fixed order, because the order determines the ids, on which rules
    depend.
    """
    spec = state.spec
    for name in (constants.COIN_MINER_ACCOUNT, constants.COIN_NULL_ACCOUNT):
        state.accounts.insert(Account(name=name))
        state.account_authorities.insert(AccountAuthority(account=name, owner=CLOSED, active=CLOSED, posting=OPEN))
    if spec.constants.TREASURY_AT_GENESIS:
        # Hardfork 21 inserts this account's authority. Until then a lookup of the authority is refused.
        state.accounts.insert(Account(name=spec.treasury))
    state.accounts.insert(Account(name=constants.COIN_TEMP_ACCOUNT))
    state.account_authorities.insert(AccountAuthority(account=constants.COIN_TEMP_ACCOUNT, owner=OPEN, active=OPEN, posting=OPEN))
    others = spec.accounts_at_genesis
    create_witness(
        state,
        spec.genesis.witness,
        coin=spec.genesis_supply - spec.witness_vesting - sum(account.coin + account.vesting for account in others),
        sbd=spec.constants.COIN_SBD_INIT_SUPPLY + spec.genesis_printed_sbd - sum(account.sbd for account in others),
        interest_since=spec.constants.COIN_GENESIS_TIME if spec.genesis.accounts_in_blocks else 0,
        vesting=spec.witness_vesting,
    )


def create_witness(state: State, name: str, coin: int = 0, sbd: int = 0, interest_since: int = 0, vesting: int = 0) -> None:
    """Insert a witness and its account, with the key of the witness."""
    spec, key = state.spec, state.spec.genesis.witness_settings(name).key
    state.accounts.insert(
        Account(
            name=name,
            memo_key=key,
            balance=coin,
            sbd_balance=sbd,
            sbd_seconds_last_update=interest_since,
            sbd_last_interest_payment=interest_since,
            vesting_shares=spec.genesis.shares(vesting),
        )
    )
    authority = key_authority(key)
    state.account_authorities.insert(AccountAuthority(account=name, owner=authority, active=authority, posting=authority))
    state.witnesses.insert(
        Witness(
            owner=name, signing_key=key, schedule=MINER, props=default_properties(spec), hardfork_time_vote=spec.constants.COIN_GENESIS_TIME
        )
    )


def default_properties(spec: ChainSpec) -> ChainProperties:
    """Return the default properties of a witness."""
    return ChainProperties(account_creation_fee=spec.constants.COIN_MIN_ACCOUNT_CREATION_FEE)


def add_creation_fees(state: State) -> None:
    """Credit the first witness with the fees for the accounts that it creates in the first blocks. The hardforks of genesis have changed
    the fee.
    """
    genesis, props = state.spec.genesis, state.props
    fees = state.schedule.median_props.account_creation_fee * len(genesis.accounts)
    creator = state.account(genesis.witness)
    state.accounts.modify(creator, balance=creator.balance + fees)
    state.set_props(current_supply=props.current_supply + fees, virtual_supply=props.virtual_supply + fees)


def set_witness_properties(state: State) -> None:
    """Give each witness the chain properties and the price from the spec. The first witness's are in force, since it is alone in the first
    round.
    """
    genesis = state.spec.genesis
    for name in genesis.witness_names:
        given, witness = genesis.witness_settings(name), state.witness(name)
        state.witnesses.modify(witness, props=structs.replace(witness.props, **given.properties), sbd_exchange_rate=given.exchange_rate)
    given, props = genesis.witness_settings(genesis.witness), state.witness(genesis.witness).props
    if given.properties:
        budget, decay = props.account_subsidy_budget, props.account_subsidy_decay
        state.witness_schedules.modify(
            state.schedule,
            median_props=props,
            account_subsidy_rd=subsidy_params(budget, decay),
            account_subsidy_witness_rd=witness_params(budget, decay),
        )
    in_force = {name: value for name, value in given.properties.items() if name in ("maximum_block_size", "sbd_interest_rate")}
    state.set_props(**in_force)


def start_periods(state: State, time: int) -> None:
    """Let the periods of the spec's claims and prices begin at `time`, once at the genesis and again in block 1.

    The genesis can be months before block 1. By then, all claims would have decayed, and all prices be outdated.
    """
    genesis = state.spec.genesis
    fund = state.reward_funds.by_name.get(constants.COIN_POST_REWARD_FUND_NAME)
    if genesis.recent_claims and fund is not None:
        state.reward_funds.modify(fund, recent_claims=genesis.recent_claims, last_update=time)
    for name in genesis.witness_names:
        witness = state.witness(name)
        if witness.sbd_exchange_rate != NULL_PRICE:
            state.witnesses.modify(witness, last_sbd_exchange_update=time)


def create_extra_account(state: State, given: GenesisAccount) -> None:
    """Insert an account that the chain spec adds, with its balances and keys."""
    # Its interest times are genesis, not 0, which would pay interest for more than fifty years at once.
    name = given.name
    row = state.accounts.insert(
        Account(
            name=name,
            memo_key=given.memo,
            mined=False,
            balance=given.coin,
            sbd_balance=given.sbd,
            sbd_seconds_last_update=state.spec.constants.COIN_GENESIS_TIME,
            sbd_last_interest_payment=state.spec.constants.COIN_GENESIS_TIME,
            vesting_shares=state.spec.genesis.shares(given.vesting),
        )
    )
    state.account_metadata.insert(AccountMetadata(account=row.id))
    state.account_authorities.insert(
        AccountAuthority(
            account=name, owner=key_authority(given.owner), active=key_authority(given.active), posting=key_authority(given.posting)
        )
    )


def create_singletons(state: State) -> None:
    """Insert the rows of single-row tables, and set the state's attributes for them."""
    spec = state.spec
    price = spec.genesis.price_feed
    if price == NULL_PRICE and spec.is_test:
        price = Price(Asset(1, SBD), Asset(1, COIN))
    worth = 0 if price == NULL_PRICE else convert(Asset(spec.genesis_printed_sbd, SBD), price).amount
    state.global_properties.insert(
        GlobalProperties(
            time=spec.constants.COIN_GENESIS_TIME,
            current_witness=spec.genesis.witness,
            virtual_supply=spec.genesis_supply + worth,
            current_supply=spec.genesis_supply,
            init_sbd_supply=spec.constants.COIN_SBD_INIT_SUPPLY,
            current_sbd_supply=spec.genesis_printed_sbd,
            total_vesting_fund_coin=spec.genesis_vesting_fund,
            total_vesting_shares=spec.genesis_vesting_shares,
            maximum_block_size=constants.COIN_MAX_BLOCK_SIZE,
            recent_slots_filled=UINT128_MAX,
            participation_count=128,
            delegation_return_period=spec.constants.COIN_DELEGATION_RETURN_PERIOD_HF0,
            reverse_auction_seconds=constants.COIN_REVERSE_AUCTION_WINDOW_SECONDS_HF6,
            sbd_stop_percent=constants.COIN_SBD_STOP_PERCENT_HF14,
            sbd_start_percent=constants.COIN_SBD_START_PERCENT_HF14,
            next_maintenance_time=spec.constants.COIN_GENESIS_TIME,
            last_budget_time=spec.constants.COIN_GENESIS_TIME,
            max_virtual_bandwidth=constants.COIN_MAX_BLOCK_SIZE * 20000 * 1_000_000 * 604_800 // 3,
        )
    )
    state.feed_histories.insert(FeedHistory(current_median_history=price, price_history=spec.genesis.price_history))
    state.hardfork_properties.insert(HardforkProperties(processed_hardforks=(spec.constants.COIN_GENESIS_TIME,)))
    budget, decay = constants.COIN_DEFAULT_ACCOUNT_SUBSIDY_BUDGET, constants.COIN_DEFAULT_ACCOUNT_SUBSIDY_DECAY
    state.witness_schedules.insert(
        WitnessSchedule(
            current_shuffled_witnesses=(spec.genesis.witness, *("",) * (constants.COIN_MAX_WITNESSES - 1)),
            median_props=default_properties(spec),
            account_subsidy_rd=subsidy_params(budget, decay),
            account_subsidy_witness_rd=witness_params(budget, decay),
        )
    )
    state.nai_pools.insert(NaiPool())
    state.find_single_rows()
