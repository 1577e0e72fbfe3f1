"""The ids that new rows get."""

from tests.helpers.api import ApiChain


def test_the_next_id_is_that_of_the_next_row() -> None:
    api = ApiChain("dev")
    found = {row["table"]: row["next_id"] for row in api.call("explorer_api.get_next_ids")}
    assert found["accounts"] == len(api.state.accounts)
    api.state.accounts.remove(list(api.state.accounts)[-1])
    assert {row["table"]: row["next_id"] for row in api.call("explorer_api.get_next_ids")} == found
