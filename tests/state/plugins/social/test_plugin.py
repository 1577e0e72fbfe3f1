"""Names of communities, compared with tests/vectors/social.json."""

from state.plugins.social.community_payloads import type_of
from tests.helpers.social_fixtures import cases


def test_names_of_communities() -> None:
    for case in cases("community_names"):
        assert type_of("coin-", case["name"]) == case["type_id"], case
