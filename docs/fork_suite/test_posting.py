"""Posts and replies beside those of the source."""

import json


def reply(chain, author, parent, permlink, body="I agree."):
    chain.broadcast(
        "comment",
        {
            "parent_author": parent[0],
            "parent_permlink": parent[1],
            "author": author,
            "permlink": permlink,
            "title": "",
            "body": body,
            "json_metadata": "{}",
        },
    )


def test_a_reply_is_part_of_the_discussion(coin_chain):
    discussion = coin_chain.call("bridge.get_discussion", {"author": "heidi", "permlink": "a-map-of-the-town"})
    assert len(discussion) == 3
    reply(coin_chain, "judy", ("heidi", "a-map-of-the-town"), "re-map")
    discussion = coin_chain.call("bridge.get_discussion", {"author": "heidi", "permlink": "a-map-of-the-town"})
    assert "judy/re-map" in discussion
    assert discussion["heidi/a-map-of-the-town"]["children"] == 3


def test_a_post_of_the_source_can_be_edited_by_its_author(coin_chain):
    post = coin_chain.call("condenser_api.get_content", ["erin", "beans-in-november"])
    fields = ("parent_author", "parent_permlink", "author", "permlink", "title", "json_metadata")
    coin_chain.broadcast("comment", {name: post[name] for name in fields} | {"body": "The beans are up."})
    assert coin_chain.call("condenser_api.get_content", ["erin", "beans-in-november"])["body"] == "The beans are up."


def test_an_unknown_parent_is_refused(coin_chain):
    with coin_chain.refused():
        reply(coin_chain, "carol", ("heidi", "no-such-post"), "re-nothing")


def test_a_reblog_is_in_the_blog(coin_chain):
    reblog = ["reblog", {"account": "dave", "author": "bob", "permlink": "the-slipway"}]
    coin_chain.broadcast(
        "custom_json", {"required_auths": [], "required_posting_auths": ["dave"], "id": "follow", "json": json.dumps(reblog)}
    )
    blog = coin_chain.call("condenser_api.get_blog_entries", ["dave", 0, 10])
    assert ("bob", "the-slipway") in {(entry["author"], entry["permlink"]) for entry in blog}
