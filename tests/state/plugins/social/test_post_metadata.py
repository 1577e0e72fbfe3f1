"""Tags, flags, blacklists and profiles, compared with tests/vectors/social.json."""

from state.plugins.social.post_metadata import blacklists, flag_weight, is_gray, post_tags, profile_of
from state.plugins.social.scores import is_low, shown_reputation
from tests.helpers.social_fixtures import cases


def test_tags() -> None:
    for case in cases("post_tags"):
        found = post_tags(case["category"], case["json_metadata"])
        assert (list(found), "nsfw" in found) == (case["tags"], case["is_nsfw"])


def test_stats() -> None:
    for case in cases("post_stats"):
        rshares = case["rshares"]
        assert flag_weight(rshares) == case["flag_weight"], case
        assert sum(value != 0 for value in rshares) == case["total_votes"]
        raw = int(case["author_reputation"])
        assert (shown_reputation(raw), is_low(raw)) == (case["author_rep"], case["legacy_gray"])


def test_blacklists() -> None:
    for case in cases("blacklists"):
        found = blacklists(case["reputation"], case["in_local_mute_list"])
        gray = is_gray(case["in_local_mute_list"], found)
        assert (found, gray) == (case["blacklists"], case["stats_gray_outside_community"])


def test_profiles() -> None:
    for case in cases("profile_sanitize"):
        assert profile_of(case["posting_json_metadata"], case["json_metadata"]) == case["profile"]
