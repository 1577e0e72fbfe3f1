"""Proposals and their votes, in condenser_api and database_api: sort orders, directions and statuses."""

from typing import Any

import pytest

from state.protocol.values.text import time_text
from state.tables.proposals import Proposal, ProposalVote
from tests.helpers.api import NOW, ApiChain

DAY = 86400


@pytest.fixture
def api() -> ApiChain:
    """A chain with four proposals: 0 has ended, 1 is active, 2 has not started, and 3 has been removed. There are votes for existing,
    removed and missing proposals.
    """
    api = ApiChain()
    api.state.set_props(time=NOW)
    spans = [("carol", -9, -1, 40), ("bob", -2, 5, 10), ("alice", 1, 3, 2**40), ("alice", -1, 9, 5)]
    for number, (creator, start, end, votes) in enumerate(spans):
        fields: dict[str, Any] = {"proposal_id": number, "creator": creator, "receiver": "dan", "daily_pay": 24000, "subject": "a subject"}
        fields |= {"permlink": "plan", "total_votes": votes, "removed": number == 3}
        api.state.proposals.insert(Proposal(**fields, start_date=NOW + start * DAY, end_date=NOW + end * DAY))
    for voter, number in (("vic", 2), ("vic", 0), ("tom", 3), ("tom", 2), ("vic", 9)):
        api.state.proposal_votes.insert(ProposalVote(voter=voter, proposal_id=number))
    return api


def ids(rows: list[dict[str, Any]]) -> list[int]:
    return [row["id"] for row in rows]


def test_find_proposals(api: ApiChain) -> None:
    found = api.call("database_api.find_proposals", proposal_ids=[2, 9, 3, 0])["proposals"]
    assert ids(found) == [2, 0]
    assert (found[0]["proposal_id"], found[0]["total_votes"], found[0]["status"]) == ("2", str(2**40), "inactive")
    assert found[0]["daily_pay"] == {"amount": "24000", "precision": 3, "nai": "@@000000013"}
    (one,) = api.call("condenser_api.find_proposals", [1])
    assert (one["daily_pay"], one["total_votes"], one["status"]) == ("24.000 SBD", "10", "active")
    limit = "Assert Exception:args.proposal_ids.size() <= DATABASE_API_SINGLE_QUERY_LIMIT: "
    assert api.refused("database_api.find_proposals", proposal_ids=[1] * 1001) == (-32003, limit)


ORDERS = [
    ("by_creator", [2, 1, 0], ["b", 0], [1, 0], [2]),
    ("by_start_date", [0, 1, 2], [time_text(NOW - 2 * DAY), 1], [1, 2], [0]),
    ("by_end_date", [0, 2, 1], [time_text(NOW + 3 * DAY), 3], [1], [2, 0]),
    ("by_total_votes", [1, 0, 2], ["40", 0], [0, 2], [1]),
]


@pytest.mark.parametrize(("order", "every", "start", "from_start", "below"), ORDERS)
def test_list_proposals(api: ApiChain, order: str, every: list[int], start: list[Any], from_start: list[int], below: list[int]) -> None:
    def listed(**arguments: Any) -> list[int]:
        return ids(api.call("database_api.list_proposals", order=order, **arguments)["proposals"])

    assert listed() == listed(start=[]) == every
    assert listed(start=start) == from_start
    assert listed(order_direction="descending") == listed(start=[], order_direction="descending") == every[::-1]
    assert listed(start=start, order_direction="descending") == below
    assert listed(limit=2) == every[:2]
    assert ids(api.call("condenser_api.list_proposals", start, 10, order)) == from_start
    assert ids(api.call("condenser_api.list_proposals", start, 10, order, "descending", "all")) == below


def test_statuses(api: ApiChain) -> None:
    def listed(status: str, **arguments: Any) -> list[int]:
        return ids(api.call("database_api.list_proposals", order="by_start_date", status=status, **arguments)["proposals"])

    assert listed("all") == [0, 1, 2]
    assert (listed("expired"), listed("active"), listed("inactive")) == ([0], [1], [2])
    assert listed("votable") == [1, 2]
    # Proposals that the filter excludes don't count towards the limit.
    assert listed("votable", limit=1) == [1]


@pytest.mark.parametrize(("moment", "status"), [(NOW - 2 * DAY - 1, "inactive"), (NOW - 2 * DAY, "active"), (NOW + 5 * DAY, "active")])
def test_the_first_and_the_last_second_are_active(api: ApiChain, moment: int, status: str) -> None:
    api.state.set_props(time=moment)
    assert api.call("condenser_api.find_proposals", [1])[0]["status"] == status
    api.state.set_props(time=NOW + 5 * DAY + 1)
    assert api.call("condenser_api.find_proposals", [1])[0]["status"] == "expired"


def test_list_proposal_votes(api: ApiChain) -> None:
    """The list omits votes for proposals that were removed or have never existed."""

    def listed(**arguments: Any) -> list[tuple[str, str]]:
        rows = api.call("database_api.list_proposal_votes", **arguments)["proposal_votes"]
        return [(row["voter"], row["proposal"]["proposal_id"]) for row in rows]

    assert listed() == [("tom", "2"), ("vic", "0"), ("vic", "2")]
    assert listed(start=["vic", 1]) == [("vic", "2")]
    assert listed(start=["vic", 1], order_direction="descending") == [("vic", "0"), ("tom", "2")]
    assert listed(order="by_proposal_voter") == [("vic", "0"), ("tom", "2"), ("vic", "2")]
    assert listed(order="by_proposal_voter", start=[2, "u"], status="active") == [("vic", "2")]
    assert listed(limit=1) == [("tom", "2")]


def test_invalid_arguments_are_refused(api: ApiChain) -> None:
    def refused(*arguments: Any) -> str:
        return api.refused("condenser_api.list_proposals", *arguments)[1]

    count = "Assert Exception:args.size() >= 3 && args.size() <= 5: Expected 3-5 argument, was 2"
    assert refused([], 10) == count
    assert refused([], 1001, "by_creator") == "Assert Exception:args.limit <= DATABASE_API_SINGLE_QUERY_LIMIT: "
    assert refused([], 10, "by_name") == "Assert Exception:false: Unknown or unsupported sort order"
    enum = "coin::plugins::database_api::order_direction_type"
    assert refused([], 10, "by_creator", "sideways") == f"Bad Cast:invalid name 'sideways' in enum '{enum}'"
    assert refused([], 10, "by_creator", "ascending", "x").startswith(
        "Bad Cast:invalid name 'x' in enum 'coin::plugins::database_api::prop"
    )


@pytest.mark.parametrize("number", [2**63, 2**64 - 1, str(2**63)])
def test_ids_wrap_from_2_to_the_63rd(api: ApiChain, number: Any) -> None:
    def listed(order: str, start: list[Any]) -> list[int]:
        return ids(api.call("database_api.list_proposals", order=order, start=start)["proposals"])

    assert listed("by_total_votes", [10, number]) == listed("by_total_votes", [10, 0]) == [1, 0, 2]
    assert listed("by_total_votes", [10, 2**63 - 1]) == [0, 2]
    assert listed("by_creator", ["bob", number]) == [1, 0]

    def voted(order: str, start: list[Any]) -> list[str]:
        rows = api.call("database_api.list_proposal_votes", order=order, start=start)["proposal_votes"]
        return [row["voter"] for row in rows]

    assert voted("by_proposal_voter", [number, "z"]) == ["vic", "tom", "vic"]
    assert voted("by_voter_proposal", ["vic", number]) == ["vic", "vic"]
