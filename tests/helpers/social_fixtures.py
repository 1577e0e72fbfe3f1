"""Small states for the vectors of the social index: one with a community, and one with two accounts and a post."""

from typing import Any

from state.plugins.follow.plugin import FOLLOW
from state.plugins.social.notifications.writer import Type
from tests.helpers.social_scenario import SOCIAL, SocialScenario

COMMUNITY = "coin-123456"
NOW = "2020-01-10T00:00:00"


def cases(name: str) -> Any:
    """Return the recorded cases of a rule."""
    return SOCIAL[name]["cases"]


def last_error(world: SocialScenario, actor: str) -> str | None:
    """Return the text of the newest notification if it is an error, else None. The error must be addressed to `actor`."""
    rows = list(world.social.notifications)
    if not rows or rows[-1].type != Type.error:
        return None
    assert rows[-1].dst == actor
    assert (rows[-1].score, rows[-1].community) == (35, "")
    return rows[-1].payload


def world_of(*names: str) -> SocialScenario:
    """Return a state with these accounts."""
    world = SocialScenario()
    world.at(NOW)
    for name in names:
        world.account(name)
    return world


def community_world() -> SocialScenario:
    """Return the state to which each payload of the vectors is applied."""
    roles = {"adam": "admin", "adam2": "admin", "mona": "mod", "mona2": "mod", "mike": "member", "mute1": "muted", "gina": "guest"}
    world = world_of(COMMUNITY, *roles)
    world.comment(author="gina", permlink="post-1", parent_permlink=COMMUNITY)
    world.comment(author="gina", permlink="post-muted", parent_permlink=COMMUNITY)
    world.comment(author="gina", permlink="post-pinned", parent_permlink=COMMUNITY)
    world.comment(author="gina", permlink="elsewhere", parent_permlink="life")
    for name, role in roles.items():
        if role != "guest":
            world.act(COMMUNITY, ["setRole", {"community": COMMUNITY, "account": name, "role": role}])
    gina = {"community": COMMUNITY, "account": "gina"}
    world.act("adam", ["mutePost", {**gina, "permlink": "post-muted", "notes": "n"}])
    world.act("adam", ["pinPost", {**gina, "permlink": "post-pinned"}])
    world.act("mike", ["subscribe", {"community": COMMUNITY}])
    world.comment(author="mike", permlink="re-muted", parent_author="gina", parent_permlink="post-muted")
    assert last_error(world, "") is None
    return world


def small_world() -> SocialScenario:
    """Return a state with Ann, Bob, and a post by Bob that has a reply."""
    world = world_of("ann", "bob")
    world.comment(author="bob", permlink="root", parent_permlink="life")
    world.comment(author="bob", permlink="re", parent_author="bob", parent_permlink="root")
    return world


def follow_state(world: SocialScenario) -> int | None:
    """Return how Ann follows Bob: 1 follows, 2 ignores."""
    row = FOLLOW.of(world.state).follows.by_pair.get("ann", "bob")
    return None if row is None else row.what >> 1


def notified(world: SocialScenario, kind: Type) -> int:
    """Return the number of notifications of a type."""
    return sum(row.type == kind for row in world.social.notifications)
