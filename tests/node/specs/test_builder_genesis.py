"""What a chain spec sets at genesis: witnesses with their properties and prices, the price of VESTS, and claims on the reward fund."""

from pathlib import Path

import pytest

from node.app.local_chain import LocalChain
from node.runtime.errors import NodeError
from node.specs.builder import load_spec, with_witnesses
from node.storage.spec_copy import decisive
from state.chain.genesis import new_state
from state.chain.invariants import validate_invariants
from state.protocol import constants
from state.protocol.keys import keys
from state.protocol.spec import ChainSpec
from state.protocol.values.asset import COIN, NULL_PRICE, SBD, Asset, Price
from tests.helpers.golden import fails

OTHER_KEY = keys.public_key(keys.secret_from_seed("other"))
SPEC = f"""
base = "dev"
witness_keys = ["5JNHfZYKGaomSFvd4NUdQ9qMcEAC43kujbfjueTHpVapX1Kzq2n", "{keys.wif_from_secret(keys.secret_from_seed("other"))}"]

[genesis]
price_history = [{{ sbd = "0.200", coin = "1.000" }}, {{ sbd = "0.300", coin = "1.000" }}]
vests_per_coin = 2000
recent_claims = 20_000_000_000_000

[genesis.witness_properties]
account_creation_fee = "3.000"
maximum_block_size = 65536
sbd_interest_rate = 0
account_subsidy_budget = 1000
account_subsidy_decay = 400000
exchange_rate = {{ sbd = "0.250", coin = "1.000" }}

[[genesis.witnesses]]
names = ["mallory", "initminer3"]
key = "{keys.public_key_text(OTHER_KEY, "TST")}"
maximum_block_size = 131072

[[genesis.witnesses]]
names = ["initminer"]
exchange_rate = {{ sbd = "0.500", coin = "1.000" }}
"""
A_YEAR = 365 * constants.DAY_SECONDS


@pytest.fixture
def spec(tmp_path: Path) -> ChainSpec:
    path = tmp_path / "full.toml"
    path.write_text(SPEC)
    return load_spec(str(path))


def rate(sbd: int) -> Price:
    return Price(Asset(sbd, SBD), Asset(1000, COIN))


def steem_per_mvest(chain: LocalChain) -> float:
    """Return the amount of COIN for a million VESTS, computed as in hivemind (`hive/steem/client.py`), whose column for it holds less than
    100,000.
    """
    props = chain.call("database_api.get_dynamic_global_properties")
    fund, shares = int(props[chain.spec.spell("total_vesting_fund_coin")]["amount"]), int(props["total_vesting_shares"]["amount"])
    return fund / 1000 / (shares / 1e12)


def test_witnesses_have_their_keys_properties_and_prices(spec: ChainSpec) -> None:
    state = new_state(with_witnesses(spec, 21))
    assert len(state.witnesses) == 21
    first, named, numbered = (state.witness(name) for name in ("initminer", "mallory", "initminer20"))
    assert (first.sbd_exchange_rate, named.sbd_exchange_rate, numbered.sbd_exchange_rate) == (rate(500), rate(250), rate(250))
    assert (named.signing_key, numbered.signing_key) == (OTHER_KEY, first.signing_key)
    assert state.authority("initminer3").active.key_auths[0][0] == state.account("initminer3").memo_key == OTHER_KEY
    assert (first.props.maximum_block_size, named.props.maximum_block_size) == (65536, 131072)
    assert {witness.props.account_creation_fee for witness in state.witnesses} == {3000}
    assert state.schedule.median_props == first.props
    assert (state.props.maximum_block_size, state.props.sbd_interest_rate) == (65536, 0)
    assert (state.schedule.account_subsidy_rd.budget_per_time_unit, state.schedule.account_subsidy_rd.decay_per_time_unit) == (1000, 400000)
    validate_invariants(state)


def test_the_price_of_sbd_has_a_history(spec: ChainSpec) -> None:
    assert new_state(spec).feed.price_history == (rate(200), rate(300))
    chain = LocalChain(spec, witnesses=21)
    chain.mine(1200)
    # A vote of 21 witnesses every hour. Most publish 0.25.
    assert chain.call("condenser_api.get_feed_history")["price_history"][-1] == {"base": "0.250 SBD", "quote": "1.000 COIN"}


@pytest.mark.parametrize("are_in_blocks", [True, False])
@pytest.mark.parametrize("witnesses", [None, 21])
def test_the_state_adds_up_for_a_thousand_blocks(spec: ChainSpec, are_in_blocks: bool, witnesses: int | None) -> None:
    given = spec.with_accounts_in_blocks(are_in_blocks)
    validate_invariants(new_state(given))
    chain = LocalChain(given, witnesses=witnesses)
    validate_invariants(chain.chain.state)
    for _ in range(10):
        chain.mine(100)
        validate_invariants(chain.chain.state)
    makers = {witness.signing_key for witness in chain.chain.state.witnesses if witness.last_confirmed_block_num}
    assert makers == {spec.genesis.witness_key, OTHER_KEY}


@pytest.mark.parametrize("are_in_blocks", [True, False])
def test_the_price_of_vests_is_that_of_the_spec(spec: ChainSpec, are_in_blocks: bool) -> None:
    chain = LocalChain(spec.with_accounts_in_blocks(are_in_blocks))
    alice = chain.chain.state.account("alice")
    assert alice.vesting_shares == pytest.approx(2000 * 100_000 * 10**6, rel=1e-6)
    assert steem_per_mvest(chain) == pytest.approx(500, rel=1e-4)


def test_the_first_price_of_vests_needs_no_powered_up_account(spec: ChainSpec, tmp_path: Path) -> None:
    path = tmp_path / "plain.toml"
    path.write_text('base = "testnet"\nblock_limit = 0\ngenesis.vests_per_coin = 2000\ngenesis.hardfork = 24\n')
    chain = LocalChain(str(path))
    validate_invariants(chain.chain.state)
    assert steem_per_mvest(chain) == pytest.approx(500, rel=1e-3)


def test_claims_and_prices_are_as_of_block_1(spec: ChainSpec) -> None:
    chain = LocalChain(spec, time=spec.constants.COIN_GENESIS_TIME + A_YEAR)
    state = chain.chain.state
    fund, first = next(iter(state.reward_funds)), chain.chain.block_by_number(1)
    assert first is not None
    assert 0.999 * 20_000_000_000_000 < fund.recent_claims <= 20_000_000_000_000
    assert state.witness("initminer").last_sbd_exchange_update == first.timestamp


def test_claims_of_a_chain_whose_first_block_applies_the_hardforks(tmp_path: Path) -> None:
    path = tmp_path / "early.toml"
    path.write_text('base = "testnet"\nblock_limit = 0\ngenesis.recent_claims = 7_000_000\n')
    chain = LocalChain(str(path))
    assert 6_900_000 < next(iter(chain.chain.state.reward_funds)).recent_claims <= 7_000_000


@pytest.mark.parametrize("name", ["dev", "dev-tests", "mainnet-like"])
def test_indexers_can_store_the_price_of_a_million_vests(name: str) -> None:
    chain = LocalChain(name, plugins=())
    assert steem_per_mvest(chain) == pytest.approx(500 if name == "mainnet-like" else 10_000, rel=1e-4)


@pytest.mark.parametrize("name", ["dev", "spec"])
def test_a_pending_payout_is_in_sbd_from_the_first_post_on(name: str, spec: ChainSpec) -> None:
    chain = LocalChain(spec if name == "spec" else name)
    post = {"author": "alice", "permlink": "first", "title": "t", "body": "b", "json_metadata": ""}
    chain.broadcast("comment", {"parent_author": "", "parent_permlink": "tests", **post})
    for voters in ([], ["bob", "carol", "dave", "erin"]):
        for voter in voters:
            chain.broadcast("vote", {"voter": voter, "author": "alice", "permlink": "first", "weight": 10000})
        chain.mine(400)
        [condenser, bridge] = (
            chain.call("condenser_api.get_content", ["alice", "first"]),
            chain.call("bridge.get_post", {"author": "alice", "permlink": "first"}),
        )
        assert condenser["pending_payout_value"] == bridge["pending_payout_value"]
        assert condenser["pending_payout_value"].endswith(" SBD")
        assert (condenser["pending_payout_value"] != "0.000 SBD") == bool(voters)


def test_fewer_witnesses_than_the_spec_names_are_refused(spec: ChainSpec) -> None:
    assert with_witnesses(spec, None) is spec
    assert len(with_witnesses(spec, 3).genesis.witness_names) == 3
    assert with_witnesses(spec, 5).genesis.witnesses == ("mallory", "initminer3", "initminer2", "initminer4")
    with fails(NodeError):
        with_witnesses(spec, 2)


def test_folders_of_specs_without_these_keys_still_match() -> None:
    """The digest that identifies a folder's chain doesn't change for specs without these keys, because keys that are left out aren't
    encoded.
    """
    content = decisive(load_spec("testnet"))
    assert b"special_witnesses" not in content
    assert b"vests_per_coin" not in content
    assert load_spec("testnet").genesis.witness_settings("initminer").exchange_rate == NULL_PRICE
