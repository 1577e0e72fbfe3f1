"""Permissions, roles and custom operations, compared with tests/vectors/social.json.

CHAIN_DECIDES lists cases that are not compared, since the chain decides them instead of the recorded indexer (social.md §4.2).
"""

from typing import Any

from state.operations.custom import CustomJson
from state.plugins.follow.plugin import FOLLOW, apply_bare
from state.plugins.social.community_payloads import ROLES
from state.plugins.social.rows import Role
from tests.helpers.social_fixtures import COMMUNITY, cases, community_world, follow_state, last_error, small_world, world_of
from tests.helpers.social_scenario import SOCIAL

CHAIN_DECIDES = {"bare object above block 6000000", "three elements"}


def test_permissions() -> None:
    gina = {"community": COMMUNITY, "account": "gina"}
    post = {**gina, "permlink": "post-1", "notes": "n"}
    payloads: dict[str, dict[str, Any]] = {
        "updateProps": {"community": COMMUNITY, "props": {"title": "abc"}},
        "setUserTitle": {**gina, "title": "t"},
        "mutePost": post,
        "unmutePost": post | {"permlink": "post-muted"},
        "pinPost": {**gina, "permlink": "post-1"},
        "unpinPost": {**gina, "permlink": "post-pinned"},
        "flagPost": post,
        "subscribe": {"community": COMMUNITY},
        "unsubscribe": {"community": COMMUNITY},
    }
    actors = {"owner": COMMUNITY, "admin": "adam", "mod": "mona", "member": "adam2", "guest": "gina", "muted": "mute1"}
    world = community_world()
    world.act(COMMUNITY, ["setRole", {"community": COMMUNITY, "account": "adam2", "role": "member"}])
    journal = world.state.journal
    for action, row in SOCIAL["permission_matrix"]["matrix"].items():
        for role, wanted in row.items():
            mark = journal.position()
            if action == "unsubscribe":
                world.act(actors[role], ["subscribe", {"community": COMMUNITY}])
            world.act(actors[role], [action, payloads[action]])
            assert last_error(world, "" if wanted == "ok" else actors[role]) == (None if wanted == "ok" else wanted), (action, role)
            journal.undo(mark)


def test_roles() -> None:
    world = world_of(COMMUNITY, "actor", "target")
    columns = SOCIAL["set_role_matrix"]["columns"]
    journal, roles = world.state.journal, world.social.roles
    for row in SOCIAL["set_role_matrix"]["rows"]:
        case = dict(zip(columns, row, strict=True))
        mark = journal.position()
        roles.insert(Role(community=COMMUNITY, account="actor", role=ROLES[case["actor_role"]]))
        target = "actor" if case["target_role"] == "self" else "target"
        if target == "target":
            roles.insert(Role(community=COMMUNITY, account="target", role=ROLES[case["target_role"]]))
        world.act("actor", ["setRole", {"community": COMMUNITY, "account": target, "role": case["new_role"]}])
        ok = case["result"] == "ok"
        assert last_error(world, "" if ok else "actor") == (None if ok else case["result"]), case
        if ok:
            assert world.social.role(COMMUNITY, target) == ROLES[case["new_role"]]
        journal.undo(mark)


def test_envelopes() -> None:
    for case in cases("custom_json_envelope"):
        if case["case"] in CHAIN_DECIDES:
            continue
        world = small_world()
        op = case["op"]
        names = {name: tuple(op[name]) for name in ("required_auths", "required_posting_auths")}
        world.custom(id=op["id"], json=op["json"], **names)
        if case["case"].startswith("bare"):
            apply_bare(world.state, FOLLOW.of(world.state), operation_of(op))
        row = world.social.last_reads.by_account.get("ann")
        effect = "ignored"
        if follow_state(world):
            effect = "follow stored"
        elif row is not None:
            effect = f"lastread={world.call('unread_notifications', account='ann')['lastread']}"
        assert effect == case["effect"], case


def operation_of(op: dict[str, Any]) -> CustomJson:
    """Return the custom operation of a vector."""
    return CustomJson(id=op["id"], json=op["json"], required_posting_auths=tuple(op["required_posting_auths"]))
