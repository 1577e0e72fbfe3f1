"""Chain specs: the specs in `genesis/`, the spelling of names, and the errors for invalid spec files."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import asdict

from node.app.context import NodeContext
from node.app.local_chain import LocalChain
from node.app.settings import Settings
from node.runtime.errors import NodeError
from node.specs.builder import SpecError, load_spec, spec_names, with_accounts, with_witnesses
from node.storage.datafolder import mark_of
from state.chain.invariants import validate_invariants
from state.protocol import constants
from state.protocol.keys import keys
from state.protocol.spec import MAIN_BUILD, TEST_BUILD
from state.protocol.values.asset import COIN, NULL_PRICE, SBD
from tests.helpers.golden import fails

INIT_KEY = "TST6LLegbAgLAy28EHrffBVuANFWcFgmqRMW13wBmTExqFE9SCkg4"
DEV_NAMES = ["alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan", "judy"]


def user_spec(folder: Path, text: str, name: str = "mine.toml") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


# ------------------------------------------------------------------ the chains that come with the node


def test_the_built_in_chains() -> None:
    assert spec_names() == ["dev", "dev-tests", "mainnet-like", "steem-mainnet", "steem-testnet", "testnet"]
    assert [load_spec(name).name for name in spec_names()] == spec_names()


def test_dev() -> None:
    spec = load_spec("dev")
    assert (spec.brand, spec.coin_symbol, spec.debt_symbol, spec.vests_symbol, spec.key_prefix) == ("coin", "COIN", "SBD", "VESTS", "TST")
    assert spec.chain_id == hashlib.sha256(b"\x0acoin-dev-2").digest()
    assert spec.is_test
    assert spec.smt
    assert spec.block_limit == spec.required_participation == 0
    assert spec.genesis.hardfork == spec.constants.COIN_NUM_HARDFORKS == 24
    assert max(spec.constants.HARDFORK_TIMES) < spec.constants.COIN_GENESIS_TIME
    assert keys.public_key(keys.secret_from_wif(spec.witness_keys[0])) == spec.genesis.witness_key
    feed = spec.genesis.price_feed
    assert (feed.base.amount, feed.base.symbol, feed.quote.amount, feed.quote.symbol) == (250, SBD, 1000, COIN)


def test_dev_accounts_have_keys_made_from_the_password() -> None:
    accounts = load_spec("dev").genesis.accounts
    assert [account.name for account in accounts] == DEV_NAMES
    for account in accounts:
        assert account.password == "dev"
        for role, key in (("owner", account.owner), ("active", account.active), ("posting", account.posting), ("memo", account.memo)):
            assert key == keys.public_key(hashlib.sha256(f"{account.name}{role}dev".encode()).digest())


def test_the_genesis_supply_of_dev_adds_up() -> None:
    spec = load_spec("dev").with_accounts_in_blocks(False)
    accounts = spec.genesis.accounts
    assert all(account.coin > 0 and account.sbd > 0 and account.vesting > 0 for account in accounts)
    liquid = spec.constants.COIN_INIT_SUPPLY + sum(account.coin for account in accounts)
    assert spec.genesis_supply == liquid + spec.genesis_vesting_fund
    assert spec.genesis_printed_sbd == sum(account.sbd for account in accounts)
    assert spec.genesis_vesting_fund == spec.witness_vesting + sum(account.vesting for account in accounts)
    # After the split in hardfork 1, 1.000 COIN makes 100.000000 VESTS.
    assert spec.genesis_vesting_shares * constants.VESTING_SPLIT == spec.genesis_vesting_fund * 100 * constants.VESTS_PER_COIN_SATOSHI


def test_testnet_and_steem_testnet_differ_in_names_only() -> None:
    coin, steem = load_spec("testnet"), load_spec("steem-testnet")
    assert (steem.brand, steem.coin_symbol, steem.debt_symbol, steem.vests_symbol) == ("steem", "TESTS", "TBD", "VESTS")
    assert (coin.brand, coin.coin_symbol, coin.debt_symbol, coin.vests_symbol) == ("coin", "COIN", "SBD", "VESTS")
    assert coin.constants == steem.constants == TEST_BUILD
    assert coin.chain_id == steem.chain_id == hashlib.sha256(b"\x07testnet").digest()
    assert coin.block_limit == steem.block_limit == 3_000_000
    assert coin.genesis == steem.genesis
    assert keys.public_key_text(steem.genesis.witness_key, steem.key_prefix) == INIT_KEY
    assert (steem.genesis.price_feed.base.amount, steem.genesis.price_feed.quote.amount) == (1, 1)
    assert (steem.genesis_supply, steem.genesis_printed_sbd) == (250_000_000_000, 0)


def test_steem_mainnet() -> None:
    spec = load_spec("steem-mainnet")
    assert (spec.brand, spec.coin_symbol, spec.debt_symbol, spec.vests_symbol, spec.key_prefix) == ("steem", "STEEM", "SBD", "VESTS", "STM")
    assert spec.constants == MAIN_BUILD
    assert spec.constants.COIN_NUM_HARDFORKS == 23
    assert not spec.smt
    assert not spec.is_test
    assert spec.chain_id == bytes(32)
    assert spec.genesis.price_feed == NULL_PRICE
    assert spec.genesis_supply == spec.block_limit == 0
    assert spec.witness_keys == ()
    assert spec.community_prefix == "hive-"


# Constants whose values on the public network a new chain can't have: block numbers and times in its past, and its first supply.
NOT_BORNE = {
    "COIN_GENESIS_TIME",
    "COIN_MINING_TIME",
    "COIN_INIT_SUPPLY",
    "COIN_OWNER_AUTH_HISTORY_TRACKING_START_BLOCK_NUM",
    "COIN_PROTECTION_HARDFORK_TIME",
    "REVERSE_AUCTION_START_TIME",
    "SQUARE_ROOT_START_TIME",
    "RC_START_BLOCK",
    "NEGATIVE_WITHDRAW_REFUSED_AFTER_BLOCK",
    "TREASURY_AT_GENESIS",
    "PRESET_RECENT_CLAIMS",
    "SHUT_DOWN_INACTIVE_WITNESSES",
}


def test_mainnet_like_has_the_names_and_constants_of_the_public_network() -> None:
    spec, main = load_spec("mainnet-like"), load_spec("steem-mainnet")
    for name in ("brand", "coin_symbol", "debt_symbol", "vests_symbol", "key_prefix", "smt", "community_prefix", "treasury"):
        assert getattr(spec, name) == getattr(main, name)
    given, wanted = asdict(spec.constants), asdict(main.constants)
    assert {name for name in wanted if given[name] != wanted[name]} == NOT_BORNE
    assert spec.chain_id == hashlib.sha256(b"\x0cmainnet-like").digest()
    assert (spec.genesis.hardfork, len(spec.genesis.witness_names)) == (23, 21)
    assert {"guest123", "ned", "almost-digital", "beembot", "gtg", "emrebeyler"} < {account.name for account in spec.genesis.accounts}


@pytest.mark.parametrize("are_in_blocks", [True, False])
def test_mainnet_like_adds_up(are_in_blocks: bool) -> None:
    chain = LocalChain(load_spec("mainnet-like").with_accounts_in_blocks(are_in_blocks))
    for _ in range(2):
        validate_invariants(chain.chain.state)
        chain.mine(500)
    # Operations after hardforks 9 and 23 create accounts that those hardforks take away from a genesis.
    assert [account["name"] for account in chain.call("condenser_api.get_accounts", [["alice", "ned", "gtg"]])] == (
        ["alice", "ned", "gtg"] if are_in_blocks else ["alice"]
    )
    ned = chain.chain.state.accounts.by_name.get("ned")
    assert ned is None or (ned.balance, ned.sbd_balance) == (100_000_000, 1_000_000)


def test_mainnet_like_can_be_used_in_tests() -> None:
    chain = LocalChain("mainnet-like")
    chain.broadcast("transfer", {"from": "ned", "to": "guest123", "amount": "1.000 STEEM", "memo": ""})
    post = {"author": "gtg", "permlink": "first", "title": "t", "body": "b", "json_metadata": ""}
    chain.broadcast("comment", {"parent_author": "", "parent_permlink": "hive-148441", **post})
    chain.broadcast("vote", {"voter": "ned", "author": "gtg", "permlink": "first", "weight": 10000})
    chain.advance(8 * constants.DAY_SECONDS)
    paid = chain.call("condenser_api.get_content", ["gtg", "first"])
    assert paid["total_payout_value"] > "1.000 SBD"
    assert chain.call("bridge.get_community", {"name": "hive-148441"})["name"] == "hive-148441"


def test_hardforks_are_counted_from_genesis() -> None:
    spec = load_spec("testnet")
    assert spec.hardfork_times[0] == 1451606400
    assert spec.hardfork_times[1] == 1461605400
    assert spec.hardfork_times[24] == 1571065200
    assert spec.hardfork_versions[23] == 23 << 16
    assert list(constants.HARDFORK_TIMES) == sorted(constants.HARDFORK_TIMES)


def test_a_spec_is_a_value() -> None:
    assert load_spec("dev") == load_spec("dev")
    assert hash(load_spec("dev")) == hash(load_spec("dev"))
    with pytest.raises(AttributeError):
        load_spec("dev").brand = "steem"  # type: ignore[misc]


# ------------------------------------------------------------------ spelling


@pytest.mark.parametrize(
    ("product", "steem"),
    [
        ("total_vesting_fund_coin", "total_vesting_fund_steem"),
        ("COIN_BLOCK_INTERVAL", "STEEM_BLOCK_INTERVAL"),
        ("percent_coin_dollars", "percent_steem_dollars"),
        ("legacy_coin_asset", "legacy_steem_asset"),
        ("coin.dao", "steem.dao"),
        ("o.symbol == COIN_SYMBOL", "o.symbol == STEEM_SYMBOL"),
        ("Account creation fee must be COIN", "Account creation fee must be STEEM"),
        ("Coin Power", "Steem Power"),
        ("Weight is not a COINIT percentage", "Weight is not a STEEMIT percentage"),
        ("nothing of that kind", "nothing of that kind"),
    ],
)
def test_spelling(product: str, steem: str) -> None:
    spec = load_spec("steem-testnet")
    assert spec.spell(product) == steem
    assert load_spec("dev").spell(product) == product


def test_words_that_end_in_coin_are_not_respelled() -> None:
    assert load_spec("steem-testnet").spell("Bitcoin bitcoin BITCOIN") == "Bitcoin bitcoin BITCOIN"


def test_account_lists() -> None:
    main, dev = load_spec("steem-mainnet"), load_spec("dev")
    assert (len(main.hf9_accounts), len(main.hf23_accounts), len(main.protected_accounts)) == (151, 65, 8)
    assert {"steemit1", "coinfund", "bravenewcoin", "reddit2steem"} <= set(main.hf9_accounts)
    assert {"coinit1", "coinfund", "bravenewcoin", "reddit2coin"} <= set(dev.hf9_accounts)
    assert "steempress" in main.protected_accounts
    assert "steempress" in main.hf23_accounts
    assert list(main.hf9_accounts) == sorted(main.hf9_accounts)
    assert (main.treasury, dev.treasury) == ("steem.dao", "coin.dao")


# ------------------------------------------------------------------ a user's own files


def test_a_spec_on_top_of_another(tmp_path: Path) -> None:
    path = user_spec(tmp_path, 'base = "dev"\n[constants]\nCOIN_CASHOUT_WINDOW_SECONDS = 60\nCOIN_BLOCKCHAIN_VERSION = "0.24.7"\n')
    spec = load_spec(path)
    assert spec.name == "mine"
    assert spec.constants.COIN_CASHOUT_WINDOW_SECONDS == spec.constants.COIN_DELEGATION_RETURN_PERIOD_HF0 == 60
    assert spec.constants.COIN_BLOCKCHAIN_VERSION == 24 << 16 | 7
    assert spec.constants.COIN_BLOCKCHAIN_HARDFORK_VERSION == 24 << 16
    assert spec.constants.COIN_GENESIS_TIME == load_spec("dev").constants.COIN_GENESIS_TIME
    assert spec.genesis == load_spec("dev").genesis


def test_a_base_is_relative_to_its_file(tmp_path: Path) -> None:
    user_spec(tmp_path, 'base = "testnet"\nblock_limit = 7\n', "below.toml")
    spec = load_spec(user_spec(tmp_path, 'base = "./below.toml"\nkey_prefix = "XYZ"\n'))
    assert (spec.block_limit, spec.key_prefix) == (7, "XYZ")


def test_accounts_can_have_explicit_keys(tmp_path: Path) -> None:
    named = "".join(f'{role} = "{INIT_KEY}"\n' for role in ("owner", "active", "posting"))
    path = user_spec(tmp_path, f'base = "dev"\n[[genesis.accounts]]\nnames = ["mallory"]\nmemo = "{INIT_KEY}"\n{named}sbd = "0.001"\n')
    (account,) = load_spec(path).genesis.accounts
    assert account.owner == account.memo == keys.public_key_from_text(INIT_KEY, "TST")
    assert (account.name, account.coin, account.sbd, account.vesting, account.password) == ("mallory", 0, 1, 0, "")


ACCOUNTS = "[[genesis.accounts]]\npassword = 'x'\n"
WITNESSES = "[[genesis.witnesses]]\n"
WRONG = [
    ("colour = 1", "colour"),
    ("chainid = 1", "chainid"),
    ("bas = 1", "bas"),
    ("hardfork = 1", "hardfork"),
    ("COIN_GENESIS_TIME = 1", "COIN_GENESIS_TIME"),
    ("smt = 1", "smt"),
    ("block_limit = -1", "block_limit"),
    ("block_limit = '5'", "block_limit"),
    ("required_participation = 10001", "required_participation"),
    ("build = 'prod'", "build"),
    ("brand = 'Coin'", "brand"),
    ("chain_id = 'abc'", "chain_id"),
    ("community_prefix = 'c-'", "community_prefix"),
    ("plugins = ['tags', 'no-such']", "plugins[1]"),
    ("plugins = ['tags', 'no_such']", "plugins[1]"),
    ("constants.COIN_GENESIS_TIME = 'now'", "constants.COIN_GENESIS_TIME"),
    ("witness_keys = ['nonsense']", "witness_keys[0]"),
    ("witness_keys = []", "witness_keys"),
    ("symbols.debt = 'COIL'", "symbols.debt"),
    ("symbols.vests = 'SBD'", "symbols.vests"),
    ("symbols.coin = 'coin'", "symbols.coin"),
    ("symbols.smt = 'X'", "symbols.smt"),
    ("constants.COIN_CASHOUT = 1", "constants.COIN_CASHOUT"),
    ("constants.RC_START_BLOCK = 1.5", "constants.RC_START_BLOCK"),
    ("constants.COIN_BLOCKCHAIN_VERSION = 'new'", "constants.COIN_BLOCKCHAIN_VERSION"),
    ("genesis.hardfork = 25", "genesis.hardfork"),
    ("genesis.hardfork = 19", "genesis.hardfork"),
    ("genesis.accounts_in_blocks = 1", "genesis.accounts_in_blocks"),
    ("genesis.witness = 'no'", "genesis.witness"),
    ("genesis.witness_key = 'STM7sw22'", "genesis.witness_key"),
    ("genesis.price_feed.sbd = '0.000'", "genesis.price_feed"),
    ("genesis.price_feed.sbd = '1.000 SBD'", "genesis.price_feed.sbd"),
    ("genesis.price_feed = { sbd = '999999999999.999', coin = '0.001' }", "genesis.price_feed"),
    ("genesis.price_feed = { sbd = '0.001', coin = '999999999999.999' }", "genesis.price_feed"),
    ("genesis.price_history = [{ sbd = '999999999999.999', coin = '0.001' }]", "genesis.price_history[0]"),
    ("genesis.price_history = [{ sbd = '1.000', coin = '0.000' }]", "genesis.price_history[0]"),
    ("genesis.price_history = [" + "{ sbd = '1.000', coin = '1.000' }," * 85 + "]", "genesis.price_history"),
    ("genesis.vests_per_coin = 0", "genesis.vests_per_coin"),
    ("genesis.vests_per_coin = 1.5", "genesis.vests_per_coin"),
    ("genesis.vests_per_coin = 1000000\nconstants.COIN_INIT_SUPPLY = 100000000000000", "genesis.vests_per_coin"),
    (f"genesis.vests_per_coin = 2000\n{ACCOUNTS}names = ['bob']\nvesting = '1900000.000'", "genesis.vests_per_coin"),
    ("genesis.recent_claims = -1", "genesis.recent_claims"),
    (f"genesis.recent_claims = {2**128}", "genesis.recent_claims"),
    ("genesis.witness_properties.maximum_block_size = 65535", "genesis.witness_properties.maximum_block_size"),
    ("genesis.witness_properties.maximum_block_size = 2097153", "genesis.witness_properties.maximum_block_size"),
    ("genesis.witness_properties.account_creation_fee = 3", "genesis.witness_properties.account_creation_fee"),
    ("genesis.witness_properties.account_creation_fee = '1000000.001'", "genesis.witness_properties.account_creation_fee"),
    ("genesis.witness_properties.sbd_interest_rate = 10001", "genesis.witness_properties.sbd_interest_rate"),
    ("genesis.witness_properties.account_subsidy_budget = 0", "genesis.witness_properties.account_subsidy_budget"),
    ("genesis.witness_properties.account_subsidy_decay = 63", "genesis.witness_properties.account_subsidy_decay"),
    ("genesis.witness_properties.exchange_rate = { sbd = '0.000', coin = '1.000' }", "genesis.witness_properties.exchange_rate"),
    (
        "genesis.witness_properties.exchange_rate = { sbd = '0.001', coin = '999999999999.999' }",
        "genesis.witness_properties.exchange_rate",
    ),
    ("build = 'main'\ngenesis.hardfork = 23", "build"),
    ("genesis.witness_properties.url = 'x'", "genesis.witness_properties.url"),
    (f"{WITNESSES}names = ['No']", "genesis.witnesses[0].names[0]"),
    (f"{WITNESSES}names = ['wit', 'wit']", "genesis.witnesses[0].names[1]"),
    (f"{WITNESSES}names = ['alice']", "genesis.witnesses[0].names[0]"),
    (f"{WITNESSES}names = ['wit']\nkey = 'x'", "genesis.witnesses[0].key"),
    (f"{WITNESSES}names = ['initminer']\nkey = '{INIT_KEY}'", "genesis.witnesses[0].key"),
    (f"{WITNESSES}names = {[f'wit{number}' for number in range(21)]}", "genesis.witnesses"),
    (f"{WITNESSES}names = ['wit']\nexchange_rate = {{ sbd = '0.001', coin = '999999999999.999' }}", "genesis.witnesses"),
    (f"{WITNESSES}names = ['wit']\naccount_creation_fee = '9999999.000'", "genesis.witnesses[0].account_creation_fee"),
    (f"{ACCOUNTS}names = ['Bob']", "genesis.accounts[0].names[0]"),
    (f"{ACCOUNTS}names = ['bob', 'bob']", "genesis.accounts[0].names[1]"),
    (f"{ACCOUNTS}names = ['coin.dao']", "genesis.accounts[0].names[0]"),
    (f"genesis.accounts_in_blocks = false\n{ACCOUNTS}names = ['dan']", "genesis.accounts[0].names[0]"),
    (f"{ACCOUNTS}names = ['bob']\nvesting = '1.001'", "genesis.accounts[0].vesting"),
    (f"{ACCOUNTS}names = ['bob']\ncoin = '999999999999.999'", "genesis.accounts"),
    ("[[genesis.accounts]]\nnames = ['bob']", "genesis.accounts[0].owner"),
    (f"{ACCOUNTS}names = {['bob'] * 100_001}", "genesis.accounts"),
    (f"{ACCOUNTS}names = ['bob']\nage = 1", "genesis.accounts[0].age"),
]


@pytest.mark.parametrize(("line", "key"), WRONG, ids=[key for _, key in WRONG])
def test_errors_name_file_and_key(tmp_path: Path, line: str, key: str) -> None:
    path = user_spec(tmp_path, f'base = "dev"\n{line}\n')
    with fails(SpecError) as caught:
        load_spec(path)
    assert (caught.value.file, caught.value.key) == (path, key)


def test_all_clashing_names_are_reported_at_once(tmp_path: Path) -> None:
    path = user_spec(tmp_path, f'base = "testnet"\n{ACCOUNTS}names = ["bob", "bob", "Carl", "dan", "eve", "coin.dao"]\n')
    with pytest.raises(SpecError) as caught:
        load_spec(path)
    assert caught.value.key == "genesis.accounts[0].names[1]"
    assert all(name in caught.value.expected for name in ("bob", "Carl", "dan", "coin.dao"))
    assert "eve" not in caught.value.expected


def test_added_accounts_must_have_new_names(tmp_path: Path) -> None:
    spec = load_spec(user_spec(tmp_path, f'base = "dev"\n{ACCOUNTS}names = ["user3", "user5", "user9"]\n'))
    assert len(with_accounts(spec, 4).genesis.accounts) == 4
    with fails(NodeError):
        with_accounts(spec, 8)


def test_a_missing_key_is_reported(tmp_path: Path) -> None:
    with fails(SpecError):
        load_spec(user_spec(tmp_path, 'key_prefix = "TST"\n'))


def test_an_error_in_the_base_names_the_base(tmp_path: Path) -> None:
    below = user_spec(tmp_path, 'base = "dev"\nbrand = "X"\n', "below.toml")
    with pytest.raises(SpecError) as caught:
        load_spec(user_spec(tmp_path, 'base = "below.toml"\nblock_limit = 5\n'))
    assert (caught.value.file, caught.value.key) == (below, "brand")


def test_files_that_are_not_specs_are_refused(tmp_path: Path) -> None:
    with fails(SpecError):
        load_spec("prod")
    with fails(SpecError):
        load_spec(str(tmp_path / "absent.toml"))
    with fails(SpecError):
        load_spec(user_spec(tmp_path, "brand =\n"))
    (tmp_path / "latin.toml").write_bytes(b'brand = "\xe9"')
    with fails(SpecError):
        load_spec(str(tmp_path / "latin.toml"))
    with fails(SpecError):
        load_spec(user_spec(tmp_path, 'base = "mine.toml"\n'))
    with fails(SpecError):
        load_spec(user_spec(tmp_path, "base = 5\n"))
    for base in ("dave", "dave.toml"):
        with fails(SpecError):
            load_spec(user_spec(tmp_path, f'base = "{base}"\n'))


@pytest.mark.parametrize(
    "text",
    ["a = " + "[" * 10_000, "block_limit = " + "9" * 10_000, ".".join("a" * 3000) + " = 1", "k" * 1_000_000 + " = 1"],
)
def test_expensive_files_are_refused_with_a_short_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(SpecError) as caught:
        load_spec(user_spec(tmp_path, text))
    assert len(str(caught.value)) < 1000


def test_an_endless_file_is_refused() -> None:
    with fails(SpecError):
        load_spec("/dev/zero")


def test_an_overlong_name_is_refused() -> None:
    with fails(SpecError):
        load_spec("9" * 300)


# ------------------------------------------------------------------ witnesses and accounts by options


def test_added_witnesses_are_scheduled() -> None:
    spec = with_witnesses(load_spec("dev"), 4)
    assert spec.genesis.witnesses == ("initminer2", "initminer3", "initminer4")
    context = NodeContext(Settings(spec=load_spec("dev"), plugins=(), is_producing=True, witnesses=4))
    context.devchain.make_first_blocks()
    for _ in context.devchain.mine(40):
        pass
    assert context.chain.state.schedule.num_scheduled_witnesses == 4
    makers = [block.witness for number in range(45, 66) if (block := context.chain.block_by_number(number)) is not None]
    assert set(makers) == {"initminer", *spec.genesis.witnesses}
    validate_invariants(context.chain.state)


def test_the_number_of_accounts_can_be_chosen() -> None:
    dev = load_spec("dev")
    assert with_accounts(dev, None) is dev
    assert [account.name for account in with_accounts(dev, 3).genesis.accounts] == DEV_NAMES[:3]
    made = with_accounts(dev, 12).genesis.accounts
    assert [account.name for account in made] == [*DEV_NAMES, "user11", "user12"]
    assert made[-1].active == keys.public_key(keys.derive_secret("user12", "active", "dev"))
    assert (made[-1].coin, made[-1].vesting) == (made[0].coin, made[0].vesting)
    validate_invariants(NodeContext(Settings(spec=dev, plugins=(), accounts=1000)).chain.state)


@pytest.mark.parametrize(
    ("chain", "options"),
    [
        ("dev", {"witnesses": 0}),
        ("dev", {"witnesses": 22}),
        ("steem-mainnet", {"witnesses": 2}),
        ("dev", {"accounts": 0}),
        ("steem-testnet", {"accounts": 3}),
        ("dev", {"time": 5}),
        ("dev", {"time": 2**32 - 1}),
        ("dev", {"time": 2**32}),
        ("dev", {"time": -1}),
    ],
)
def test_options_that_a_chain_does_not_support_are_refused(chain: str, options: dict[str, Any]) -> None:
    with fails(NodeError):
        NodeContext(Settings(spec=load_spec(chain), plugins=(), **options))


def test_a_folder_of_another_genesis_is_refused() -> None:
    dev = load_spec("dev")
    marks = {mark_of(spec).genesis for spec in (dev, with_witnesses(dev, 2), with_accounts(dev, 11), dev.with_accounts_in_blocks(False))}
    assert len(marks) == 4


def test_with_a_start_time_blocks_are_reproducible() -> None:
    heads = set()
    for _ in range(2):
        context = NodeContext(Settings(spec=load_spec("dev"), plugins=(), is_producing=True, time=1_800_000_000))
        for _ in range(2):
            context.devchain.reset()
            heads.add(context.chain.state.props.head_block_id)
            assert context.chain.state.head_time == 1_800_000_000
            for _ in context.devchain.mine(3):
                pass
    assert len(heads) == 1
