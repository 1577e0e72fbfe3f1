"""Transactions that rules refuse: times, reference blocks, resource credits, duplicates, unknown objects, funds, beginners' mistakes."""

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from state.operations.accounts import AccountCreate, CreateClaimedAccount
from state.operations.content import Comment, Vote
from state.operations.custom import CustomJson
from state.operations.escrow import EscrowDispute
from state.operations.market import LimitOrderCancel, LimitOrderCreate
from state.operations.rewards import ClaimRewardBalance
from state.operations.transfers import CancelTransferFromSavings, Transfer, TransferFromSavings
from state.operations.vesting import DelegateVestingShares, TransferToVesting, WithdrawVesting
from state.operations.witnesses import AccountWitnessVote
from state.protocol.authority import key_authority
from state.protocol.constants import HIVE_TREASURY_ACCOUNT
from state.protocol.keys.keys import secret_from_seed
from state.protocol.transaction import SignedTransaction
from state.protocol.values.asset import COIN, SBD, VESTS, Asset
from tests.rpc.explain.world import ONE, TRANSFER, Make, Way, World, key, secret, signed, with_secrets

POST = Comment(author="alice", permlink="second", parent_permlink="test", title="Second", body="Second")
BY_DAVE = replace(POST, author="dave", permlink="Second")
OWN = key_authority(key("bob"))
NEW = AccountCreate(Asset(0, COIN), "alice", "alice2", OWN, OWN, OWN, key("bob"), "")
JSON = CustomJson(required_posting_auths=("erin",), id="test", json="{}")


def later(seconds: int) -> Make:
    """Return a function that makes a transaction that expires `seconds` after the head block."""
    return lambda world: world.transaction(TRANSFER, signers=(secret("alice"),), expiration=world.state.head_time + seconds)


def referring(change: Callable[[World, int, int], tuple[int, int]]) -> Make:
    """Return a function that makes a transaction. `change` computes its reference block from the number and the prefix of a valid one."""

    def make(world: World) -> SignedTransaction:
        right = world.transaction(TRANSFER)
        number, prefix = change(world, right.ref_block_num, right.ref_block_prefix)
        return world.transaction(TRANSFER, signers=(secret("alice"),), ref_block_num=number, ref_block_prefix=prefix)

    return make


def reversed_bytes(number: int) -> int:
    """Return the prefix of a block id with its bytes in reverse order, as clients compute it by mistake."""
    return int.from_bytes(number.to_bytes(4, "little"), "big")


def popped(world: World, number: int, prefix: int) -> tuple[int, int]:
    """Replace the head block, to which the reference refers, with another block. Return the reference unchanged."""
    world.chain.pop_block()
    world.call("debug_node_api.debug_generate_blocks", debug_key=world.state.spec.witness_keys[0], count=1, miss_blocks=1)
    return number, prefix


def again(is_in_block: bool) -> Make:
    """Return a function that makes a transaction that the chain has already accepted as pending or, with `is_in_block`, in a block."""

    def make(world: World) -> SignedTransaction:
        trx = world.transaction(replace(TRANSFER, memo=f"again {is_in_block}"), signers=(secret("alice"),))
        world.chain.push_transaction(trx)
        if is_in_block:
            world.blocks(1)
        return trx

    return make


def many(count: int, operation: Any, *place: str) -> Make:
    """Return a function that makes a transaction with `count` copies of an operation."""
    return signed(*[operation] * count, by=(place,))  # type: ignore[arg-type]


def after(before: Make, operation: Any, *place: str) -> Make:
    """Return a function that makes a transaction that is refused only because of `before`, a transaction that was accepted first."""

    def make(world: World) -> Any:
        trx = before(world)
        assert isinstance(trx, SignedTransaction)
        world.chain.push_transaction(trx)
        return signed(operation, by=(place,))(world)  # type: ignore[arg-type]

    return make


BY_RULES = (
    # times and reference blocks
    Way("expired", later(-3), "expired"),
    Way("expired by local time", later(-5 * 3600 + 60), "expired", "local_time"),
    Way("too far ahead", later(3601), "expiration_too_far"),
    Way("too far ahead by local time", later(2 * 3600 + 60), "expiration_too_far", "local_time"),
    Way(
        "the prefix of another block",
        referring(lambda world, number, prefix: (number - 1, prefix)),
        "wrong_reference_block",
        "other_block_number",
    ),
    Way(
        "the prefix from the wrong end",
        referring(lambda world, number, prefix: (number, reversed_bytes(prefix))),
        "wrong_reference_block",
        "byte_order",
    ),
    Way("a block that isn't there yet", referring(lambda world, number, prefix: (number + 9, 12345)), "wrong_reference_block"),
    Way("a block of no chain that is known", referring(lambda world, number, prefix: (number, 12345)), "wrong_reference_block"),
    Way("a block that was undone", referring(popped), "wrong_reference_block", "other_fork"),
    # resource credits
    Way("credits that come back", signed(Transfer("frank", "bob", ONE, ""), by=(("frank", "active"),)), "too_few_resource_credits", "wait"),
    Way(
        "credits that never suffice",
        with_secrets(secret_from_seed("team"), operation=Transfer("poor", "bob", ONE, "")),
        "insufficient_funds",
    ),
    Way(
        "an account without VESTS",
        with_secrets(secret_from_seed("team"), operation=Vote("poor", "alice", "hello", 1)),
        "too_few_resource_credits",
        "maximum_too_small",
    ),
    Way(
        "nobody pays",
        lambda world: world.transaction(CreateClaimedAccount("alice", "x1x", OWN, OWN, OWN, key("bob"), ""), signers=(secret("alice"),)),
        "no_claimed_accounts",
    ),
    # duplicates
    Way("the same transaction while it waits", again(False), "duplicate_transaction", "pending"),
    Way("the same transaction after its block", again(True), "duplicate_transaction", "in_block"),
    Way("an account that exists", signed(replace(NEW, new_account_name="bob")), "already_exists"),
    Way(
        "an order that exists",
        signed(LimitOrderCreate("carol", 7, ONE, Asset(900_000, SBD), False, 1_900_000_000), by=(("carol", "active"),)),
        "order_lasts_too_long",
    ),
    # unknown objects
    Way("an unknown receiver", signed(replace(TRANSFER, to="nobody")), "unknown_account"),
    Way("an unknown sender", signed(replace(TRANSFER, from_="nobody")), "unknown_account"),
    Way("an unknown post", signed(Vote("alice", "alice", "nothing", 1), by=(("alice", "posting"),)), "unknown_post"),
    Way("an unknown witness", signed(AccountWitnessVote("alice", "bob", True)), "unknown_witness"),
    Way("an unknown order", signed(LimitOrderCancel("alice", 9)), "unknown_order"),
    Way("an unknown escrow", signed(EscrowDispute("alice", "bob", "carol", "alice", 3)), "unknown_escrow"),
    Way("an unknown request", signed(CancelTransferFromSavings("alice", 4)), "unknown_savings_request"),
    # funds
    Way("too little COIN", signed(replace(TRANSFER, amount=Asset(10**12, COIN))), "insufficient_funds"),
    Way("too little SBD", signed(replace(TRANSFER, amount=Asset(10**9, SBD))), "insufficient_funds"),
    Way("too few savings", signed(TransferFromSavings("alice", 1, "alice", ONE, "")), "insufficient_funds"),
    Way("too few VESTS to power down", signed(WithdrawVesting("alice", Asset(10**15, VESTS))), "insufficient_funds"),
    Way("too few VESTS to delegate", signed(DelegateVestingShares("alice", "bob", Asset(10**15, VESTS))), "insufficient_funds"),
    # operations
    Way("a name that can't be one", signed(replace(TRANSFER, to="Bob")), "invalid_account_name"),
    Way("a name that is left out", signed(replace(TRANSFER, to="")), "invalid_account_name"),
    Way("a private key in the memo", signed(replace(TRANSFER, memo="dev")), "private_key_in_memo"),
    Way("a long memo", signed(replace(TRANSFER, memo="x" * 2048)), "memo_too_long"),
    Way("nothing to send", signed(replace(TRANSFER, amount=Asset(0, COIN))), "amount_not_positive"),
    Way("VESTS that are sent", signed(replace(TRANSFER, amount=Asset(1, VESTS))), "vests_not_transferable"),
    Way("COIN for the treasury", signed(replace(TRANSFER, to="coin.dao")), "sbd_only"),
    Way("no operation", signed(), "no_operations"),
    Way("a large transaction", many(70, replace(TRANSFER, memo="x" * 2000), "alice", "active"), "transaction_too_large"),
    Way("a post too soon", signed(POST, by=(("alice", "posting"),)), "posting_too_fast"),
    Way(
        "an edit too soon",
        after(
            signed(replace(POST, author="dave"), by=(("dave", "posting"),)), replace(POST, author="dave", body="Edited"), "dave", "posting"
        ),
        "editing_too_fast",
    ),
    Way("the same vote", signed(Vote("bob", "alice", "hello", 10_000), by=(("bob", "posting"),)), "same_vote"),
    Way(
        "a vote of too much weight",
        signed(Vote("carol", "alice", "hello", 20_000), by=(("carol", "posting"),)),
        "weight_is_not_a_coinit_percentage",
    ),
    Way("a vote of no weight", signed(Vote("carol", "alice", "hello", 0), by=(("carol", "posting"),)), "vote_without_weight"),
    Way(
        "votes too soon",
        signed(Vote("ivan", "alice", "hello", 1), Vote("ivan", "alice", "hello", 2), by=(("ivan", "posting"),)),
        "voting_too_fast",
    ),
    Way("a sixth custom_json", many(6, JSON, "erin", "posting"), "too_many_custom_operations"),
    Way("JSON that is none", signed(replace(JSON, json="{"), by=(("erin", "posting"),)), "invalid_json"),
    Way(
        "nothing to claim",
        signed(ClaimRewardBalance("alice", Asset(0, COIN), Asset(0, SBD), Asset(0, VESTS)), by=(("alice", "posting"),)),
        "nothing_to_claim",
    ),
    Way("a witness vote twice", signed(AccountWitnessVote("bob", "initminer", True), by=(("bob", "active"),)), "witness_vote_exists"),
    Way("more work than is done for a client", many(700, AccountWitnessVote("bob", "initminer", True), "bob", "active"), "too_much_work"),
    Way("a wrong fee", signed(replace(NEW, fee=ONE)), "wrong_account_creation_fee"),
    Way(
        "an order that nobody fills",
        signed(LimitOrderCreate("alice", 1, ONE, Asset(900_000, SBD), True, 1_900_000_000)),
        "order_lasts_too_long",
    ),
    Way("a delegation to oneself", signed(DelegateVestingShares("alice", "alice", Asset(1, VESTS))), "delegation_to_oneself"),
    Way("a permlink with a capital", signed(BY_DAVE, by=(("dave", "posting"),)), "invalid_permlink"),
    Way("a category with a capital", signed(replace(BY_DAVE, parent_permlink="Test"), by=(("dave", "posting"),)), "invalid_permlink"),
    Way("no category", signed(replace(BY_DAVE, parent_permlink=""), by=(("dave", "posting"),)), "invalid_permlink"),
    Way("JSON without anything", signed(replace(JSON, json=" "), by=(("erin", "posting"),)), "invalid_json"),
    Way(
        "an account that is locked",
        with_secrets(secret_from_seed("team"), operation=replace(TRANSFER, from_=HIVE_TREASURY_ACCOUNT)),
        "account_locked",
    ),
    Way("a rule without words of its own", signed(TransferToVesting("alice", "alice", Asset(1, SBD))), "amount_must_be_coin_or_smt_liquid"),
)
