"""Witnesses, the votes for them, and the schedule."""

import pytest

from state.tables.witnesses import Witness, WitnessVote
from tests.helpers.api import ApiChain

HUGE = "9223372036854775807"


@pytest.fixture
def api() -> ApiChain:
    """Four witnesses: `initminer` without votes, and three more."""
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


def test_one_witness(api: ApiChain) -> None:
    assert api.call("condenser_api.get_witness_by_account", "wit-a")["url"] == "https://wit-a.example"
    assert api.call("condenser_api.get_witness_by_account", "alice") is None
    assert api.call("condenser_api.get_witness_by_account", "wit-a")["props"]["account_creation_fee"] == "0.000 COIN"


def test_witnesses_by_record_id(api: ApiChain) -> None:
    second, unknown, first = api.call("condenser_api.get_witnesses", [1, 99, 0])
    assert (second["owner"], unknown, first["owner"]) == ("wit-a", None, "initminer")
    assert api.call("condenser_api.get_witnesses", [-1, 2**64 - 1, None, "1"])[:2] == [None, None]
    # Record ids are signed numbers in the reference.
    assert api.refused("condenser_api.get_witnesses", ["9223372036854775808"]) == (-32000, "Parse Error:Couldn't parse int64_t")
    assert api.refused("condenser_api.get_witnesses", [[]]) == (-32000, "Bad Cast:Invalid cast from array_type to int64")


def test_witnesses_by_vote(api: ApiChain) -> None:
    def ranked(start: object, limit: int) -> list[str]:
        return owners(api.call("condenser_api.get_witnesses_by_vote", start, limit))

    everybody = ["wit-b", "wit-a", "wit-c", "initminer"]
    assert ranked("", 1000) == ranked(None, 10) == everybody
    assert ranked("wit-a", 2) == ["wit-a", "wit-c"]
    # After `wit-aa` the next one by name is `wit-b`, which stands first.
    assert ranked("wit-aa", 2) == ["wit-b", "wit-a"]
    assert ranked("zz", 2) == []
    limit = "Assert Exception:args.limit <= DATABASE_API_SINGLE_QUERY_LIMIT: "
    assert api.refused("condenser_api.get_witnesses_by_vote", "", 1001) == (-32003, limit)


def test_names_and_counts(api: ApiChain) -> None:
    assert api.call("condenser_api.lookup_witness_accounts", "wit-a", 2) == ["wit-a", "wit-b"]
    assert api.call("condenser_api.lookup_witness_accounts", "", 1000)[0] == "initminer"
    assert api.refused("condenser_api.lookup_witness_accounts", "", 1001)[0] == -32003
    assert api.call("condenser_api.get_witness_count") == 4


def test_list_witnesses(api: ApiChain) -> None:
    def listed(order: str, start: object, limit: int = 10) -> list[str]:
        return owners(api.call("database_api.list_witnesses", start=start, limit=limit, order=order)["witnesses"])

    assert listed("by_name", "wit-a", 2) == ["wit-a", "wit-b"]
    assert listed("by_vote_name", [HUGE, ""]) == ["wit-b", "wit-a", "wit-c", "initminer"]
    assert listed("by_vote_name", [50, "wit-b"]) == ["wit-c", "initminer"]
    assert listed("by_vote_name", [0, ""]) == ["initminer"]
    # Missing members are 0 and "", and no votes come last.
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


def test_the_schedule(api: ApiChain) -> None:
    named, old = api.call("database_api.get_witness_schedule"), api.call("condenser_api.get_witness_schedule")
    assert named == api.call("debug_node_api.debug_get_witness_schedule")
    assert named["current_shuffled_witnesses"] == ["initminer", *[""] * 20]
    assert named["elected_weight"] == named["top19_weight"] == 1
    assert named["median_props"]["account_creation_fee"] == {"amount": "0", "precision": 3, "nai": "@@000000021"}
    assert old["median_props"]["account_creation_fee"] == "0.000 COIN"
    assert named["account_subsidy_rd"]["decay_params"] == {"decay_per_time_unit": 347321, "decay_per_time_unit_denom_shift": 36}


def test_active_witnesses_are_all_slots(api: ApiChain) -> None:
    slots = ["initminer", *[""] * 20]
    assert api.call("condenser_api.get_active_witnesses") == slots
    assert api.call("database_api.get_active_witnesses") == {"witnesses": slots}
