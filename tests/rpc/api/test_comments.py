"""Comments and their votes in database_api: by name, and in every sort order."""

from typing import Any

import pytest

from state.operations.content import Beneficiary
from state.tables.content import Comment, CommentVote
from state.tables.texts import CommentContent
from tests.helpers.api import ApiChain

EPOCH = "1970-01-01T00:00:00"


@pytest.fixture
def api() -> ApiChain:
    """A chain on which alice's post has two replies, one of which has a reply, and bob has another post. carol and dan have voted."""
    api = ApiChain()
    for name in ("alice", "bob", "carol", "dan"):
        api.account(name)
    post = add(api, "alice", "post", None, cashout_time=300, beneficiaries=(Beneficiary("bob", 500),))
    reply = add(api, "bob", "re-post", post, cashout_time=100)
    add(api, "carol", "re-post", post, cashout_time=300)
    add(api, "dan", "re-re", reply, cashout_time=200)
    add(api, "bob", "a-post", None, cashout_time=2**32 - 1, net_rshares=2**40, percent_coin_dollars=5000)
    for voter, comment, rshares in (("dan", "post", -5), ("carol", "post", 2**40), ("carol", "re-post", 7)):
        author = "alice" if comment == "post" else "bob"
        row = api.state.comments.by_permlink.find(author, comment)
        account = api.state.account(voter)
        api.state.comment_votes.insert(CommentVote(voter=account.id, comment=row.id, rshares=rshares, weight=3, vote_percent=-100))
    return api


def add(api: ApiChain, author: str, permlink: str, parent: Comment | None, **fields: Any) -> Comment:
    """Insert a comment with its text. It is newer than the comments inserted before, by the time of its last update."""
    comments = api.state.comments
    row = comments.insert(Comment(author=author, permlink=permlink, category="cat", last_update=1000 + comments.next_id, **fields))
    if parent is None:
        comments.modify(row, root_comment=row.id)
    else:
        comments.modify(row, parent_author=parent.author, parent_permlink=parent.permlink, root_comment=parent.root_comment)
    api.state.comment_contents.insert(CommentContent(comment=row.id, title=f"title {row.id}", body="body", json_metadata="{}"))
    return row


def keys(comments: list[dict[str, Any]]) -> list[str]:
    return [f"{comment['author']}/{comment['permlink']}" for comment in comments]


def test_find_comments(api: ApiChain) -> None:
    wanted = [["nobody", "x"], ["bob", "a-post"], ["dan", "re-re"]]
    found = api.call("database_api.find_comments", start=wanted, limit=1, order="by_account")["comments"]
    assert keys(found) == ["bob/a-post"]
    assert api.call("database_api.find_comments") == {"comments": []}
    limit = "Assert Exception:args.comments.size() <= DATABASE_API_SINGLE_QUERY_LIMIT: "
    assert api.refused("database_api.find_comments", start=[["a", "b"]] * 1001) == (-32003, limit)
    assert api.refused("database_api.find_comments", comments=[["a", "b"]] * 1001) == (-32003, limit)


def test_starts_of_lists_of_comments_that_are_refused(api: ApiChain) -> None:
    def refused(order: str, *start: str) -> str:
        return api.refused("database_api.list_comments", start=list(start), order=order)[1]

    assert refused("by_root", "alice", "no", "", "") == "Assert Exception:root != nullptr: Could not find comment alice/no."
    assert refused("by_root", "alice", "post", "x", "") == "Assert Exception:child != nullptr: Could not find comment x/."
    assert refused("by_parent", "alice", "no", "x", "y") == "Assert Exception:child != nullptr: Could not find comment x/y."
    assert refused("by_cashout_time", EPOCH, "x", "y") == "Assert Exception:comment != nullptr: Could not find comment x/y."
    four = "start requires 4 values. (account_name_type, time_point_sec, account_name_type, string)"
    assert refused("by_last_update") == f"Assert Exception:key.size() == 4: by_last_update {four}"


NO_DATE = "never"
NO_TEXT: list[str] = []
DATE_CAST = "bad lexical cast:"
TEXT_CAST = "Bad Cast:Invalid cast from array_type to string"


@pytest.mark.parametrize(
    ("order", "start", "text"),
    [
        ("by_cashout_time", [NO_DATE, NO_TEXT, "y"], TEXT_CAST),
        ("by_cashout_time", [NO_DATE, "x", "y"], "Assert Exception:comment != nullptr: Could not find comment x/y."),
        ("by_cashout_time", [NO_DATE, "", ""], DATE_CAST),
        ("by_root", ["x", "y", NO_TEXT, "z"], "Assert Exception:root != nullptr: Could not find comment x/y."),
        ("by_root", ["", "", NO_TEXT, "z"], TEXT_CAST),
        ("by_parent", [NO_TEXT, NO_TEXT, "x", "y"], "Assert Exception:child != nullptr: Could not find comment x/y."),
        ("by_parent", [NO_TEXT, "", "", ""], TEXT_CAST),
        ("by_last_update", [NO_TEXT, NO_DATE, "x", "y"], "Assert Exception:child != nullptr: Could not find comment x/y."),
        ("by_last_update", [NO_TEXT, NO_DATE, "", ""], DATE_CAST),
        ("by_last_update", [NO_TEXT, NO_DATE, "", NO_TEXT], TEXT_CAST),
        ("by_author_last_update", [NO_TEXT, NO_DATE, "x", "y"], "Assert Exception:comment != nullptr: Could not find comment x/y."),
        ("by_author_last_update", [NO_TEXT, NO_DATE, "", ""], DATE_CAST),
        ("by_permlink", [NO_TEXT, {}], TEXT_CAST),
    ],
)
def test_the_first_invalid_member_in_the_order_of_the_reference_is_refused(api: ApiChain, order: str, start: list[Any], text: str) -> None:
    assert api.refused("database_api.list_comments", start=start, order=order)[1].startswith(text)


def test_find_votes(api: ApiChain) -> None:
    first, second = api.call("database_api.find_votes", author="alice", permlink="post")["votes"]
    assert (first["voter"], first["rshares"], first["weight"]) == ("carol", str(2**40), "3")
    assert (second["voter"], second["rshares"], second["vote_percent"]) == ("dan", "-5", -100)
    text = "Assert Exception:comment != nullptr: Could not find comment alice/no"
    assert api.refused("database_api.find_votes", author="alice", permlink="no") == (-32003, text)


def votes(api: ApiChain, order: str, start: list[Any]) -> list[str]:
    found = api.call("database_api.list_votes", start=start, order=order)["votes"]
    return [f"{vote['voter']} {vote['author']}/{vote['permlink']}" for vote in found]


BY_COMMENT = ["carol alice/post", "dan alice/post", "carol bob/re-post"]
BY_VOTER = ["carol alice/post", "carol bob/re-post", "dan alice/post"]
NAI = {"nai": "@@000000021", "decimals": 3}


@pytest.mark.parametrize(
    ("order", "start", "wanted"),
    [
        ("by_comment_voter", ["", "", ""], BY_COMMENT),
        ("by_comment_voter", ["alice", "post", "dan"], BY_COMMENT[1:]),
        ("by_voter_comment", ["", "", ""], BY_VOTER),
        ("by_voter_comment", ["carol", "bob", "re-post"], BY_VOTER[1:]),
        ("by_comment_voter_symbol", ["alice", "post", "dan"], BY_COMMENT[1:]),
        ("by_comment_voter_symbol", ["alice", "post", "dan", NAI], BY_COMMENT[1:]),
        ("by_comment_symbol_voter", ["bob", "re-post"], BY_COMMENT[2:]),
        ("by_comment_symbol_voter", ["alice", "post", NAI, "dan"], BY_COMMENT[1:]),
        ("by_voter_comment_symbol", ["carol", "bob", "re-post", NAI], BY_VOTER[1:]),
        ("by_voter_symbol_comment", ["dan", NAI], BY_VOTER[2:]),
        ("by_voter_symbol_comment", ["carol", NAI, "bob", "re-post"], BY_VOTER[1:]),
    ],
)
def test_list_votes(api: ApiChain, order: str, start: list[Any], wanted: list[str]) -> None:
    assert votes(api, order, start) == wanted


def test_starts_of_lists_of_votes_that_are_refused(api: ApiChain) -> None:
    def refused(order: Any, start: Any) -> str:
        return api.refused("database_api.list_votes", start=start, order=order)[1]

    three = "Assert Exception:key.size() == nr_args: by_comment_voter start requires 3 values. "
    assert refused("by_comment_voter", []) == three + "(account_name_type, string, account_name_type)"
    assert refused("by_voter_comment", ["carol"]) == three + "(account_name_type, account_name_type, string)"
    assert refused("by_comment_voter", ["x", "y", "z"]) == "Assert Exception:account != nullptr: Could not find voter z."
    assert refused("by_comment_voter", ["x", "y", ""]) == "Assert Exception:comment != nullptr: Could not find comment x/y."
    assert refused("by_comment_symbol_voter", ["x", "y", NAI]).endswith("by_comment_symbol_voter start requires 2 or 4 values.")
    assert refused("by_comment_voter_symbol", ["x", "y"]).endswith("by_comment_voter_symbol start requires 3 or 4 values.")
    assert refused("by_name", "") == "Bad Cast:Invalid cast from string_type to Array"
    assert refused("by_name", []) == "Assert Exception:false: Unknown or unsupported sort order"
    assert refused("by_nothing", []).startswith("Bad Cast:invalid name 'by_nothing' in enum")
    assert refused("by_nothing", "").startswith("Bad Cast:invalid name 'by_nothing' in enum")
    object_cast = "Bad Cast:Invalid cast from object_type to string"
    assert refused("by_comment_voter", [[], {}, {}]) == "Bad Cast:Invalid cast from array_type to string"
    assert refused("by_voter_comment", [[], {}, []]) == refused("by_voter_comment", [[], "", {}]) == object_cast
    assert refused(["by_name"], []).startswith("Bad Cast:")
