"""explorer_api.get_changes: the state changes that a block made."""

import pytest

from rpc.api.explorer import changes as changes_api
from rpc.records.rows import RECORDS, kinds_of
from state.chain import changes as state_changes
from state.chain.state_edits import SetBalance
from state.operations.content import Comment, DeleteComment, Vote
from state.operations.transfers import Transfer
from state.protocol.values.asset import COIN, Asset
from tests.helpers.api import ApiChain, secret
from tests.helpers.golden import same_as_golden

METHOD = "explorer_api.get_changes"
IRREVERSIBLE = "block ${number} is irreversible, so its changes are no longer available"


@pytest.fixture
def api() -> ApiChain:
    made = ApiChain("testnet")
    made.start()
    made.account("alice", balance=1_000_000)
    made.account("bob", vesting_shares=10**12, voting_mana=10**12)
    made.generate(25)
    return made


def push(api: ApiChain, *operations: object, by: str = "alice") -> None:
    api.chain.push_transaction(api.transaction(*operations, signers=(secret(by),)))  # type: ignore[arg-type]


def rows(api: ApiChain, number: int = 0) -> dict[tuple[str, str], dict[str, object]]:
    found = api.call(METHOD, block_num=number or api.state.props.head_block_number)
    assert found["rows_left_out"] == 0
    return {(row["table"], row["name"]): row for row in found["rows"]}


def fields(row: dict[str, object]) -> dict[str, tuple[object, object]]:
    return {field["field"]: (field["before"], field["after"]) for field in row["fields"]}  # type: ignore[attr-defined]


def amount(units: int) -> dict[str, object]:
    return {"amount": str(units), "precision": 3, "nai": "@@000000021"}


def test_a_transfer_with_the_values_before_and_after_it(api: ApiChain) -> None:
    push(api, Transfer("alice", "bob", Asset(5_000, COIN), ""))
    api.generate()
    number = api.state.props.head_block_number
    # Later blocks and pending transactions don't affect the changes of this block.
    push(api, Transfer("alice", "bob", Asset(7_000, COIN), ""))
    api.generate()
    push(api, Transfer("alice", "bob", Asset(11_000, COIN), ""))
    found = rows(api, number)
    alice = found["accounts", "alice"]
    assert (alice["change"], alice["account"], alice["fields_left_out"]) == ("changed", "alice", 0)
    assert fields(alice) == {"balance": (amount(1_000_000), amount(995_000))}
    assert fields(rows(api, number + 1)["accounts", "bob"])["balance"] == (amount(5_000), amount(12_000))
    (head,) = [row for row in found.values() if row["table"] == "global_properties"]
    assert fields(head)["head_block_number"] == (number - 1, number)
    assert fields(head)["time"][1] == api.call("block_api.get_block", block_num=number)["block"]["timestamp"]


def test_changes_of_the_head_include_edits_but_no_pending_transactions(api: ApiChain) -> None:
    push(api, Transfer("alice", "bob", Asset(5_000, COIN), ""))
    assert ("accounts", "alice") not in rows(api)
    api.chain.edit(SetBalance("alice", Asset(77, COIN)))
    assert fields(rows(api)["accounts", "alice"])["balance"] == (amount(1_000_000), amount(77))


def test_posts_and_votes_are_named(api: ApiChain) -> None:
    push(api, Comment("", "news", "alice", "hello", "Hello", "x" * 1000, "{}"))
    api.generate()
    post = rows(api)["comments", "alice/hello"]
    assert (post["change"], post["post"]) == ("created", {"author": "alice", "permlink": "hello"})
    assert fields(post)["author"] == ("", "alice")
    text = fields(rows(api)["comment_contents", "alice/hello"])["body"][1]
    assert text == "x" * 300 + "…"
    push(api, Vote("bob", "alice", "hello", 10_000), by="bob")
    api.generate()
    vote = rows(api)["comment_votes", "bob on alice/hello"]
    assert fields(vote)["vote_percent"] == (0, 10_000)
    assert vote["account"] == "bob"


def test_removed_rows_are_shown(api: ApiChain) -> None:
    push(api, Comment("", "news", "alice", "hello", "Hello", "text", "{}"))
    api.generate()
    push(api, DeleteComment("alice", "hello"))
    api.generate()
    post = rows(api)["comments", "alice/hello"]
    assert (post["change"], fields(post)["permlink"]) == ("removed", ("hello", ""))


def test_rows_created_and_removed_in_a_block_are_left_out(api: ApiChain) -> None:
    push(api, Comment("", "news", "alice", "hello", "Hello", "text", "{}"))
    push(api, DeleteComment("alice", "hello"))
    api.generate()
    assert ("comments", "alice/hello") not in rows(api)


def test_only_reversible_blocks_have_changes(api: ApiChain) -> None:
    last = api.state.props.last_irreversible_block_num
    assert api.refused(METHOD, block_num=last)[1].endswith(IRREVERSIBLE.replace("${number}", str(last)))
    same_as_golden(api.refused(METHOD, block_num=1000)[1])
    assert rows(api, last + 1)


def test_rows_fields_and_records_are_bounded(api: ApiChain, monkeypatch: pytest.MonkeyPatch) -> None:
    every = len(api.call(METHOD, block_num=api.state.props.head_block_number)["rows"])
    monkeypatch.setattr(changes_api, "ROWS_MAX", 1)
    monkeypatch.setattr(changes_api, "FIELDS_MAX", 1)
    found = api.call(METHOD, block_num=api.state.props.head_block_number)
    assert len(found["rows"]) == 1
    assert found["rows_left_out"] == every - 1
    (row,) = found["rows"]
    assert len(row["fields"]) == 1
    monkeypatch.setattr(state_changes, "RECORDS_MAX", 1)
    refused = api.refused(METHOD, block_num=api.state.props.head_block_number)[1]
    assert "too many changes since block" in refused
    assert "journal records, at most 1 are read" in refused


def test_records_declare_fields_of_their_rows() -> None:
    """Each record that RECORDS assigns to a row class declares the kind of at least one field of that row."""
    assert [cls.__name__ for cls in RECORDS if not kinds_of(cls)] == []
