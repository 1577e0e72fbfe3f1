"""Texts and links of notifications, compared with tests/vectors/social.json."""

from state.plugins.social.notifications.texts import Content, message, url
from state.plugins.social.notifications.writer import Type
from tests.helpers.social_fixtures import cases
from tests.helpers.social_scenario import SOCIAL


def test_texts_of_notifications() -> None:
    for case in cases("notification_render"):
        fields = {"src": "ann"} | case["fields"]
        content = Content(Type[case["type"]], **{name: value or "" for name, value in fields.items()})
        assert {"msg": message(content, "coin"), "url": url(content)} == case["expected"], case
    assert message(Content(Type.reblog, src="ann"), "steem") == "@ann resteemed your post"
    assert {kind.name: kind.value for kind in Type} == SOCIAL["notification_render"]["type_ids"]
