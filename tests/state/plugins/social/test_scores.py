"""Scores and displayed reputations, compared with tests/vectors/social.json."""

import math

from state.plugins.social.scores import hot, shown_reputation, trend
from state.plugins.tags import rows as tags_rows
from tests.helpers.social_fixtures import cases
from tests.helpers.social_scenario import seconds


def test_reputations() -> None:
    for case in cases("reputation_raw_to_ui"):
        assert shown_reputation(int(case["raw"])) == case["ui"], case


def test_scores() -> None:
    for case in cases("scores_bridge"):
        assert math.isclose(trend(case["rshares"], case["epoch"]), case["trend"], rel_tol=1e-12)
        assert math.isclose(hot(case["rshares"], case["epoch"]), case["hot"], rel_tol=1e-12)
    for case in cases("scores_tags_plugin"):
        created = seconds(case["created"])
        assert math.isclose(tags_rows.trending(case["net_rshares"], created), case["trend"], rel_tol=1e-12)
        assert math.isclose(tags_rows.hot(case["net_rshares"], created), case["hot"], rel_tol=1e-12)
