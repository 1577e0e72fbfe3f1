"""Witnesses and the votes for them: by name, and in every sort order."""

import pytest

from state.tables.witnesses import Witness, WitnessVote
from tests.helpers.api import ApiChain

HUGE = "9223372036854775807"


@pytest.fixture
def api() -> ApiChain:
    """A chain with four witnesses: `initminer`, which has no votes, and three more."""
    api = ApiChain()
    for owner, votes, time in (("wit-a", 50, 7), ("wit-b", 2**40, 9), ("wit-c", 50, 9)):
        api.state.witnesses.insert(Witness(owner=owner, votes=votes, virtual_scheduled_time=time, url=f"https://{owner}.example"))
    for account, witness in (("bob", "wit-a"), ("alice", "wit-b"), ("alice", "wit-a")):
        api.state.witness_votes.insert(WitnessVote(account=account, witness=witness))
    return api


def owners(witnesses: list[dict[str, str]]) -> list[str]:
    return [witness["owner"] for witness in witnesses]


def test_find_witnesses(api: ApiChain) -> None:
    found = api.call("database_api.find_witnesses", owners=["wit-b", "nobody", "initminer"])["witnesses"]
    assert owners(found) == ["wit-b", "initminer"]
    assert found[0]["votes"] == str(2**40)
    assert found[1]["votes"] == "0"
    assert found[1]["virtual_scheduled_time"] == str(2**128 - 1)
    assert found[0]["props"]["account_creation_fee"] == {"amount": "0", "precision": 3, "nai": "@@000000021"}
    limit = "Assert Exception:args.owners.size() <= DATABASE_API_SINGLE_QUERY_LIMIT: "
    assert api.refused("database_api.find_witnesses", owners=["x"] * 1001) == (-32003, limit)


def test_list_witnesses(api: ApiChain) -> None:
    def listed(order: str, start: object, limit: int = 10) -> list[str]:
        return owners(api.call("database_api.list_witnesses", start=start, limit=limit, order=order)["witnesses"])

    assert listed("by_name", "wit-a", 2) == ["wit-a", "wit-b"]
    assert listed("by_vote_name", [HUGE, ""]) == ["wit-b", "wit-a", "wit-c", "initminer"]
    assert listed("by_vote_name", [50, "wit-b"]) == ["wit-c", "initminer"]
    assert listed("by_vote_name", [0, ""]) == ["initminer"]
    # Missing elements of the start default to 0 and "". Witnesses without votes come last.
    assert listed("by_vote_name", []) == ["initminer"]
    assert listed("by_vote_name", [50]) == ["wit-a", "wit-c", "initminer"]
    assert listed("by_schedule_time", []) == ["wit-a", "wit-b", "wit-c", "initminer"]
    assert listed("by_schedule_time", ["0", ""]) == ["wit-a", "wit-b", "wit-c", "initminer"]
    assert listed("by_schedule_time", ["9", "wit-c"]) == ["wit-c", "initminer"]
    assert listed("by_schedule_time", ["9", "nobody"]) == ["wit-b", "wit-c", "initminer"]
    assert listed("by_schedule_time", [str(2**128 - 1), "initminer"]) == ["initminer"]
    assert owners(api.call("database_api.list_witnesses")["witnesses"]) == ["initminer", "wit-a", "wit-b", "wit-c"]
    bad = api.refused("database_api.list_witnesses", start=["wit-a", 1], limit=3, order="by_vote_name")
    assert bad == (-32000, "Parse Error:Couldn't parse uint64_t")
    array = api.refused("database_api.list_witnesses", start=["wit-a"], order="by_name")
    assert array == (-32000, "Bad Cast:Invalid cast from array_type to string")


def test_list_witness_votes(api: ApiChain) -> None:
    def listed(order: str, start: object) -> list[tuple[str, str]]:
        votes = api.call("database_api.list_witness_votes", start=start, limit=10, order=order)["votes"]
        return [(vote["account"], vote["witness"]) for vote in votes]

    assert listed("by_account_witness", ["", ""]) == [("alice", "wit-a"), ("alice", "wit-b"), ("bob", "wit-a")]
    assert listed("by_account_witness", ["alice", "wit-b"]) == [("alice", "wit-b"), ("bob", "wit-a")]
    assert listed("by_witness_account", ["wit-a", "b"]) == [("bob", "wit-a"), ("alice", "wit-b")]
    assert listed("by_witness_account", ["wit-b"]) == [("alice", "wit-b")]
    text = "Assert Exception:false: Unknown or unsupported sort order"
    assert api.refused("database_api.list_witness_votes", start=["", ""], limit=2, order="by_name") == (-32003, text)
