"""What calls and operations name: the accounts, posts and proposals that a fork fetches before it answers."""

from typing import Any

import pytest

import rpc.api
from rpc.declare.arguments import argument
from rpc.declare.demand import AccountKey, Key, NewKey, PostKey, PostsKey, ProposalKey, SignerKey
from rpc.declare.method import METHODS, Method
from rpc.declare.named_keys import named_by, named_by_transaction
from state.operations.content import Comment
from state.operations.custom import CustomJson
from state.operations.proposals import CreateProposal, UpdateProposalVotes
from state.operations.transfers import Transfer
from state.protocol.operation import Operation
from state.protocol.transaction import SignedTransaction, Wire
from state.protocol.values.asset import COIN, SBD, Asset
from state.protocol.values.text import is_valid_account_name
from tests.helpers.operations import CODECS, SAMPLES, sample

assert rpc.api
WIRE = Wire(CODECS.spec)
BOB_PAYS = Transfer("alice", "bob", Asset(1, COIN), "")
PAYMENT = {"from": "alice", "to": "bob", "amount": "0.001 COIN", "memo": ""}
TRANSACTION = SignedTransaction(operations=(BOB_PAYS,))


def named(method: Method, *values: Any) -> list[Key]:
    """Return what a call names. Arguments that the test doesn't give have their defaults."""
    defaults = [argument(one.annotation, WIRE, method.form).default() for one in method.parameters[len(values) :]]
    return list(dict.fromkeys(named_by(method, WIRE)([*values, *defaults])))


def account(*names: str) -> list[Key]:
    """Return the keys of accounts."""
    return [AccountKey(name) for name in names]


@pytest.mark.parametrize(
    ("method", "values", "keys"),
    [
        ("condenser_api.get_accounts", (["alice", "no name", "bob"],), account("alice", "bob")),
        ("condenser_api.lookup_accounts", ("alice", 10), account("alice")),
        ("database_api.list_accounts", ("alice",), []),
        ("condenser_api.get_vesting_delegations", ("alice", "bob", 10), account("alice")),
        ("condenser_api.get_content", ("alice", "first"), [*account("alice"), PostKey("alice", "first")]),
        ("database_api.find_votes", ("alice", "first"), [*account("alice"), PostKey("alice", "first")]),
        ("database_api.find_votes", ("", ""), []),
        ("database_api.find_comments", ([("alice", "first"), ("bob", "\n")],), [PostKey("alice", "first")]),
        ("condenser_api.get_open_orders", ("alice",), account("alice")),
        ("condenser_api.get_conversion_requests", ("alice",), account("alice")),
        ("condenser_api.get_conversion_requests", (7,), []),
        ("condenser_api.find_proposals", ([3, 4],), [ProposalKey(3), ProposalKey(4)]),
        ("condenser_api.get_blog", ("alice", 0, 10), [*account("alice"), PostsKey("alice")]),
        ("condenser_api.get_state", ("/@alice/transfers",), [*account("alice"), PostKey("alice", "transfers")]),
        ("condenser_api.get_state", ("/life/@alice/first",), [*account("alice"), PostKey("alice", "first")]),
        ("condenser_api.get_state", ("/trending",), []),
        ("explorer_api.find", ("@alice",), account("alice")),
        ("explorer_api.get_titles", ([("alice", "first")], ["hive-123456"]), []),
        ("bridge.get_profile", ("alice", "bob"), account("alice", "bob")),
        ("bridge.get_profiles", (["alice", "bob", 5],), account("alice", "bob")),
        ("bridge.get_post", ("alice", "first"), [*account("alice"), PostKey("alice", "first")]),
        ("bridge.get_account_posts", ("blog", "alice"), [*account("alice"), PostsKey("alice")]),
        ("bridge.get_community", ("hive-123456",), account("hive-123456")),
        ("bridge.get_ranked_posts", ("created", "", "", 10, "hive-123456"), account("hive-123456")),
        ("bridge.get_ranked_posts", ("created", "", "", 10, "life"), []),
        ("bridge.normalize_post", ({"author": "alice", "permlink": "first"},), [*account("alice"), PostKey("alice", "first")]),
        ("bridge.get_profile", ({"deep": []}, None), []),
        ("condenser_api.broadcast_transaction", (TRANSACTION,), [SignerKey("alice"), *account("alice", "bob")]),
        ("database_api.verify_authority", (TRANSACTION,), [SignerKey("alice"), *account("alice", "bob")]),
        (
            "dev_api.broadcast_operations",
            ([["transfer", PAYMENT], {"type": "transfer_operation", "value": PAYMENT | {"amount": CODECS.dump(Asset(1, COIN))}}, 7],),
            [SignerKey("alice"), *account("alice", "bob")],
        ),
    ],
)
def test_a_call_names_what_its_arguments_are_annotated_as(method: str, values: tuple[Any, ...], keys: list[Key]) -> None:
    assert named(METHODS[method], *values) == keys


def test_queries_name_the_account_of_a_blog_but_not_a_tag() -> None:
    blog, created = METHODS["condenser_api.get_discussions_by_blog"], METHODS["condenser_api.get_discussions_by_created"]
    query = argument(blog.parameters[0].annotation, WIRE, blog.form).read(
        {"tag": "alice", "start_author": "bob", "start_permlink": "first"}
    )
    assert named(blog, query) == [*account("bob"), PostKey("bob", "first"), *account("alice"), PostsKey("alice")]
    assert named(created, query) == [*account("bob"), PostKey("bob", "first")]
    tags = METHODS["tags_api.get_discussions_by_blog"]
    assert named(tags, "alice") == [*account("alice"), PostsKey("alice")]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_takes_its_defaults(name: str) -> None:
    method = METHODS[name]
    if not method.raw:
        assert all(isinstance(key, AccountKey) for key in named(method))


@pytest.mark.parametrize("name", [name for name in SAMPLES if not sample(name).VIRTUAL])
def test_an_operation_names_all_accounts_that_it_affects(name: str) -> None:
    operation = sample(name)
    keys = list(named_by_transaction([operation]))
    bare = [key.key if isinstance(key, NewKey) else key for key in keys]
    names = {key.name for key in bare if isinstance(key, AccountKey)}
    assert {one for one in operation.impacted() if is_valid_account_name(one)} <= names
    signers = [key for key in keys if isinstance(key, SignerKey)]
    assert keys[: len(signers)] == signers


@pytest.mark.parametrize(
    ("operation", "keys"),
    [
        (
            Comment(parent_author="bob", parent_permlink="first", author="alice", permlink="re"),
            [AccountKey("bob"), PostKey("bob", "first"), AccountKey("alice"), NewKey(PostKey("alice", "re"))],
        ),
        (
            Comment(parent_permlink="hive-123456", author="alice", permlink="new"),
            [AccountKey("hive-123456"), *account("alice"), NewKey(PostKey("alice", "new"))],
        ),
        (
            CreateProposal("alice", "bob", 0, 1, Asset(1, SBD), "S", "first"),
            [*account("alice", "bob"), PostKey("alice", "first"), PostKey("bob", "first")],
        ),
        (UpdateProposalVotes("alice", (3, 5), True), [*account("alice"), ProposalKey(3), ProposalKey(5)]),
        (
            CustomJson((), ("alice",), "follow", '["follow",{"follower":"alice","following":["bob","carol"],"what":["blog"]}]'),
            account("alice", "bob", "carol"),
        ),
        (
            CustomJson((), ("alice",), "community", '["mutePost",{"community":"hive-123456","account":"bob","permlink":"first"}]'),
            [*account("alice", "bob", "hive-123456"), PostKey("bob", "first")],
        ),
        (CustomJson((), ("alice",), "follow", "[" * 5000), account("alice")),
        (CustomJson((), ("alice",), "follow", "{"), account("alice")),
        (CustomJson((), ("alice",), "a-game", '{"account":"bob"}'), account("alice")),
        (Comment(parent_permlink="life", author="alice", permlink="old", body="@@ -1 +1 @@"), [*account("alice"), PostKey("alice", "old")]),
    ],
)
def test_operations_name_posts_proposals_and_what_their_json_names(operation: Operation, keys: list[Key]) -> None:
    assert [key for key in dict.fromkeys(named_by_transaction([operation])) if not isinstance(key, SignerKey)] == keys
