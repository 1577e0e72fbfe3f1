"""A session of beem on the dev chain or on steem-testnet: `python -m tests.clients.beem.session URL CHAIN`."""

import sys
from typing import Any

from beem import Steem
from beem.account import Account
from beem.amount import Amount
from beem.block import Block
from beem.blockchain import Blockchain
from beem.comment import Comment, RankedPosts
from beem.exceptions import AccountDoesNotExistsException
from beem.instance import set_shared_blockchain_instance
from beem.market import Market
from beem.transactionbuilder import TransactionBuilder
from beemapi.exceptions import MissingRequiredActiveAuthority, NoMethodWithName, UnhandledRPCError
from beembase.operations import Account_create, Custom_json, Escrow_transfer
from beemgraphenebase.account import PasswordKey

from tests.clients.steps import equal, refused, step, wait_for_blocks

INIT_WIF = "5JNHfZYKGaomSFvd4NUdQ9qMcEAC43kujbfjueTHpVapX1Kzq2n"
ROLES = ("owner", "active", "posting")
PASSWORD = "dev"

# By default beem uses the symbols TESTS and TBD for every test chain.
DEV = {
    "chain_id": "bd145557a881b8677e017bf3c23a735ce0842845dd942860a86630b9cd2c7948",
    "min_version": "0.0.0",
    "prefix": "TST",
    "chain_assets": [
        {"asset": "@@000000013", "symbol": "SBD", "precision": 3, "id": 0},
        {"asset": "@@000000021", "symbol": "COIN", "precision": 3, "id": 1},
        {"asset": "@@000000037", "symbol": "VESTS", "precision": 6, "id": 2},
    ],
}
CHAINS: dict[str, dict[str, Any]] = {"dev": {"custom_chains": {"COIN": DEV}}, "steem-testnet": {}}
SYMBOLS = {"dev": ("COIN", "SBD"), "steem-testnet": ("TESTS", "TBD")}


def key(name: str, role: str) -> PasswordKey:
    """Return an account's key derived from its name and the password."""
    return PasswordKey(name, PASSWORD, role=role, prefix="TST")


def connect(url: str, chain: str, keys: list[str]) -> Steem:
    """Return a client with these private keys. It becomes beem's shared instance, since some beem calls otherwise use public nodes."""
    steem = Steem(node=url, keys=keys, nobroadcast=False, num_retries=2, **CHAINS[chain])
    set_shared_blockchain_instance(steem)
    return steem


def create_accounts(url: str, coin: str, debt: str) -> None:
    """Create alice and bob, with initminer as creator, and send them funds."""
    steem = connect(url, "steem-testnet", [INIT_WIF])
    # A transaction broadcast before the first block would expire with it, since its expiration is based on the genesis time.
    wait_for_blocks(Blockchain(blockchain_instance=steem, mode="head").get_current_block_num)
    creator = Account("initminer", blockchain_instance=steem)
    for name in ("alice", "bob"):
        authorities = {
            role: {
                "account_auths": [],
                "key_auths": [[format(key(name, role).get_public(), "TST"), 1]],
                "weight_threshold": 1,
                "address_auths": [],
            }
            for role in ROLES
        }
        memo = format(key(name, "memo").get_public(), "TST")
        operation = Account_create(
            fee=Amount(f"0.000 {coin}", blockchain_instance=steem),
            creator="initminer",
            new_account_name=name,
            memo_key=memo,
            json_metadata="",
            prefix="TST",
            **authorities,
        )
        steem.finalizeOp(operation, "initminer", "active")
        creator.transfer_to_vesting("100000.000", to=name)
        creator.transfer(name, "1000.000", coin)
        creator.transfer(name, "1000.000", debt)


def session(url: str, chain: str) -> None:
    """Run all steps in order."""
    coin, debt = SYMBOLS[chain]
    if chain == "steem-testnet":
        with step("create accounts"):
            create_accounts(url, coin, debt)
    else:
        with step("limit: it takes COIN for TESTS unless it is told"):
            equal(Steem(node=url).token_symbol, "TESTS")
    steem = connect(url, chain, [str(key("alice", role).get_private()) for role in ("active", "posting")])
    blocks = Blockchain(blockchain_instance=steem, mode="head")
    sent: dict[str, Any] = {}
    with step("connect"):
        equal((steem.prefix, steem.token_symbol, steem.backed_token_symbol), ("TST", coin, debt))
        wait_for_blocks(blocks.get_current_block_num)
    with step("read accounts"):
        alice = Account("alice", blockchain_instance=steem)
        equal(alice.get_balance("available", coin).symbol, coin)
        equal(Account("bob", blockchain_instance=steem)["name"], "bob")
    with step("read blocks"):
        first = Block(1, blockchain_instance=steem)
        equal((first.block_num, first["witness"]), (1, "initminer"))
        equal([block.block_num for block in blocks.blocks(start=1, stop=2)], [1, 2])
    with step("transfer"):
        sent["transfer"] = alice.transfer("bob", "1.000", coin, "from beem")
    with step("comment"):
        sent["comment"] = steem.post("A title", "A body", author="alice", permlink="from-beem", tags=["test"], self_vote=False)
    with step("vote"):
        sent["vote"] = steem.vote(100, "@alice/from-beem", account="alice")
    with step("custom_json"):
        sent["custom_json"] = steem.custom_json("beem", {"works": True}, required_posting_auths=["alice"])
    with step("follow"):
        alice.follow("bob")
    with step("power up"):
        sent["transfer_to_vesting"] = alice.transfer_to_vesting("2.000")
    with step("place and read an order"):
        Market(f"{debt}:{coin}", blockchain_instance=steem).sell(0.5, Amount(f"1.000 {debt}", blockchain_instance=steem), account="alice")
    refusals(steem, alice, coin)
    limits(steem, coin, debt)
    wait_for_blocks(blocks.get_current_block_num)
    read_back(steem, alice, sent)


def refusals(steem: Steem, alice: Account, coin: str) -> None:
    """Check refusals. beem recognises errors by the node's messages."""
    with step("refusal: an account that isn't there"):
        refused(lambda: Account("nobody-here", blockchain_instance=steem), AccountDoesNotExistsException, "nobody-here")
    with step("refusal: more than there is"):
        refused(lambda: alice.transfer("bob", "99999999.000", coin), UnhandledRPCError, "does not have sufficient funds")
    with step("refusal: the key of somebody else"):
        builder = TransactionBuilder(blockchain_instance=steem)
        builder.appendOps(Custom_json(id="x", json="{}", required_auths=["alice"], required_posting_auths=[]))
        builder.appendWif(str(key("bob", "active").get_private()))
        builder.sign()
        refused(builder.broadcast, MissingRequiredActiveAuthority, "")
    with step("refusal: a method that isn't there"):
        refused(lambda: steem.rpc.get_i_like_turtles(api="condenser"), NoMethodWithName, "Could not find method get_i_like_turtles")


def limits(steem: Steem, coin: str, debt: str) -> None:
    """Check operations that beem encodes differently from the chain, so that the node refuses their signatures (docs/clients.md)."""
    with step("limit: control characters"):
        alice = Account("alice", blockchain_instance=steem)
        refused(lambda: alice.transfer("bob", "1.000", coin, memo="bell \x07"), MissingRequiredActiveAuthority, "")
    with step("limit: escrows"):
        escrow = Escrow_transfer(
            **{"from": "alice", "to": "bob", "agent": "initminer", "escrow_id": 1, "json_meta": "", "prefix": "TST"},
            sbd_amount=Amount(f"1.000 {debt}", blockchain_instance=steem),
            steem_amount=Amount(f"0.000 {coin}", blockchain_instance=steem),
            fee=Amount(f"0.001 {debt}", blockchain_instance=steem),
            ratification_deadline="2030-01-01T00:00:00",
            escrow_expiration="2030-01-02T00:00:00",
        )
        refused(lambda: steem.finalizeOp(escrow, "alice", "active"), MissingRequiredActiveAuthority, "")


def read_back(steem: Steem, alice: Account, sent: dict[str, Any]) -> None:
    """Read the results of the earlier steps from the chain."""
    with step("ids are those of the node"):
        for trx in sent.values():
            found = Blockchain(blockchain_instance=steem).get_transaction(trx["trx_id"])
            equal(found["transaction_id"], trx["trx_id"])
    with step("read history"):
        made = [entry["type"] for entry in alice.history()]
        equal([name for name in sent if name not in made], [])
        equal(next(entry["memo"] for entry in alice.history_reverse(only_ops=["transfer"])), "from beem")
    with step("read the comment and its vote"):
        for api in ("bridge", "condenser", "tags"):
            comment = Comment("@alice/from-beem", api=api, blockchain_instance=steem)
            equal((comment["title"], comment["active_votes"][0]["voter"]), ("A title", "alice"))
    with step("read followers"):
        equal(Account("bob", blockchain_instance=steem).get_followers(), ["alice"])
        equal(alice.get_following(), ["bob"])
    with step("read the feed of discussions"):
        equal([entry["permlink"] for entry in alice.get_blog()], ["from-beem"])
    with step("read posts and notifications by bridge"):
        equal([entry["permlink"] for entry in alice.get_account_posts("posts")], ["from-beem"])
        equal([entry["permlink"] for entry in RankedPosts("created", blockchain_instance=steem)], ["from-beem"])
        equal([entry["type"] for entry in Account("bob", blockchain_instance=steem).get_notifications(only_unread=False)], ["follow"])
    with step("read resource credits"):
        mana = alice.get_rc_manabar()
        equal(0 < mana["current_mana"] <= mana["max_mana"], True)


if __name__ == "__main__":
    session(*sys.argv[1:3])
