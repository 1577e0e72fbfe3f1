"""What community operations do, and who may do it. What is refused changes nothing, and the actor is told.
Source: social.md §1.4, §1.7-§1.9.
"""

import re
from typing import Any

from state.operations.custom import CustomJson
from state.plugins.social.communities.payloads import (
    ADMIN,
    GUEST,
    MOD,
    MUTED,
    ROLE_NAMES,
    Known,
    Payload,
    compact,
    named_action,
    read_json,
    read_payload,
)
from state.plugins.social.index import Social, moment, plugin
from state.plugins.social.notifications.writing import COMMUNITY_SCORE, STRANGER_SCORE, Type, is_told, notify, notify_error, remember
from state.plugins.social.posts.placement import apply_reblog
from state.plugins.social.rows import LastRead as LastReadRow
from state.plugins.social.rows import Role, SocialPost, Subscription
from state.protocol.errors import ChainError, require
from state.protocol.values.text import time_from_text
from state.tables import State

COMMUNITY, FOLLOW, NOTIFY = "community", "follow", "notify"
DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", re.ASCII)
PLAIN_PROPS = ("title", "about", "lang", "is_nsfw", "description", "flag_text")


def follow_custom_json(state: State, operation: CustomJson) -> None:
    """A custom operation with one of the index's ids, signed by one posting authority."""
    if operation.id not in (COMMUNITY, FOLLOW, NOTIFY) or operation.required_auths or len(operation.required_posting_auths) != 1:
        return
    kept, actor = plugin(state), operation.required_posting_auths[0]
    value = read_json(operation.json)
    if operation.id == COMMUNITY:
        apply_community(state, kept, actor, value)
        return
    if not isinstance(value, list) or len(value) != 2 or not isinstance(value[1], dict):
        return
    if operation.id == FOLLOW and value[0] == "reblog":
        apply_reblog(state, kept, actor, value[1])
    elif operation.id == NOTIFY and value[0] == "setLastRead":
        apply_last_read(state, kept, actor, value[1])


def apply_last_read(state: State, kept: Social, actor: str, members: dict[str, Any]) -> None:
    """Note up to when an account has read its notifications; not later than now."""
    date = members.get("date")
    if members.keys() != {"date"} or not isinstance(date, str) or not DATE.fullmatch(date):
        return
    try:
        time = time_from_text(date)
    except ChainError:
        return
    if time > moment(state):
        return
    row = kept.last_reads.by_account.get(actor)
    if row is None:
        kept.last_reads.insert(LastReadRow(account=actor, time=time))
    else:
        kept.last_reads.modify(row, time=time)


# ------------------------------------------------------------------ community operations


def apply_community(state: State, kept: Social, actor: str, value: Any) -> None:
    """Do what a payload says, or write down why not."""
    try:
        action = named_action(value)
    except ChainError as error:
        notify_error(state, kept, "", error.text)
        return
    known = Known(kept.community, lambda name: state.accounts.by_name.get(name) is not None, kept.post)
    try:
        payload = read_payload(known, action, value[1])
        require_permission(kept, actor, payload)
    except ChainError as error:
        notify_error(state, kept, actor, error.text)
        return
    act(state, kept, actor, payload)


def require_permission(kept: Social, actor: str, payload: Payload) -> None:
    """Whether it would change anything, and whether the actor may."""
    community, post = payload.community.name, payload.post
    role = kept.role(community, actor)
    match payload.action:
        case "subscribe":
            require(not kept.is_subscribed(community, actor), "already subscribed")
        case "unsubscribe":
            require(kept.is_subscribed(community, actor), "already unsubscribed")
        case "setRole":
            require_settable(kept, actor, role, payload)
        case "updateProps":
            require(role >= ADMIN, "only admins can update props")
        case "setUserTitle":
            require(role >= MOD, "only mods can set user titles")
        case _:
            assert post is not None, "the other actions are about posts"
            require_post_action(kept, actor, role, payload, post)


def require_post_action(kept: Social, actor: str, role: int, payload: Payload, post: SocialPost) -> None:
    """Whether something may be done to a post."""
    match payload.action:
        case "mutePost":
            require(not post.is_muted, "post is already muted")
            require(role >= MOD, "only mods can mute posts")
        case "unmutePost":
            require(post.is_muted, "post is already not muted")
            require(not is_parent_muted(kept, post), "parent post is muted")
            require(role >= MOD, "only mods can unmute posts")
        case "pinPost":
            require(not post.is_pinned, "post is already pinned")
            require(role >= MOD, "only mods can pin posts")
        case "unpinPost":
            require(post.is_pinned, "post is already not pinned")
            require(role >= MOD, "only mods can unpin posts")
        case "flagPost":
            require(role > MUTED, "muted users cannot flag posts")
            require(not is_told(kept, Type.flag_post, post, actor), "user already flagged this post")


def is_parent_muted(kept: Social, post: SocialPost) -> bool:
    """Whether what a reply replies to is muted."""
    parent = kept.posts.get(post.parent)
    return parent is not None and parent.is_muted


def require_settable(kept: Social, actor: str, role: int, payload: Payload) -> None:
    """Nobody gives a role as high as his own, nor takes one from somebody as high; everybody from mod up may lower himself."""
    require(role >= MOD, "only mods and up can alter roles")
    require(role > payload.role, "cannot promote to or above own rank")
    if actor != payload.account:
        current = kept.role(payload.community.name, payload.account)
        require(current < role, "cant modify higher-role user")
        require(current != payload.role, "role would not change")


def act(state: State, kept: Social, actor: str, payload: Payload) -> None:
    """Change what an allowed operation changes, and tell of it."""
    match payload.action:
        case "subscribe" | "unsubscribe":
            subscribe(state, kept, actor, payload)
        case "setRole":
            set_role(kept, payload, role=payload.role)
            tell_target(state, kept, Type.set_role, actor, payload, ROLE_NAMES[payload.role])
        case "setUserTitle":
            set_role(kept, payload, title=payload.text)
            tell_target(state, kept, Type.set_label, actor, payload, payload.text)
        case "updateProps":
            update_props(kept, payload)
            notify(state, kept, Type.set_props, src=actor, community=payload.community.name, payload=compact(payload.props))
        case _:
            act_on_post(state, kept, actor, payload)


def subscribe(state: State, kept: Social, actor: str, payload: Payload) -> None:
    """Add or remove a subscription."""
    community, subscriptions = payload.community, kept.subscriptions
    row = subscriptions.by_pair.get(community.name, actor)
    if row is not None:
        subscriptions.remove(row)
        kept.communities.modify(community, subscribers=community.subscribers - 1)
        return
    subscriptions.insert(Subscription(community=community.name, account=actor, created=moment(state)))
    kept.communities.modify(community, subscribers=community.subscribers + 1)
    notify(state, kept, Type.subscribe, src=actor, community=community.name)


def set_role(kept: Social, payload: Payload, **changes: Any) -> None:
    """Change an account's role or title; the other one stays."""
    community, account = payload.community.name, payload.account
    row = kept.role_row(community, account)
    if row is None:
        kept.roles.insert(Role(community=community, account=account, **({"role": GUEST} | changes)))
    else:
        kept.roles.modify(row, **changes)


def tell_target(state: State, kept: Social, kind: Type, actor: str, payload: Payload, text: str) -> None:
    """Tell an account what was done to it; it matters less to somebody who doesn't subscribe."""
    community, account = payload.community.name, payload.account
    score = COMMUNITY_SCORE if kept.is_subscribed(community, account) else STRANGER_SCORE
    notify(state, kept, kind, score, src=actor, dst=account, community=community, payload=text)


def update_props(kept: Social, payload: Payload) -> None:
    """Write properties; the picture of the settings is kept beside them, too."""
    props = payload.props
    changes = {name: props[name] for name in PLAIN_PROPS if name in props}
    if "settings" in props:
        changes["settings"] = compact(props["settings"])
        if "avatar_url" in props["settings"]:
            changes["avatar_url"] = props["settings"]["avatar_url"]
    kept.communities.modify(payload.community, **changes)


POST_CHANGES: dict[str, tuple[Type, dict[str, bool]]] = {
    "mutePost": (Type.mute_post, {"is_muted": True}),
    "unmutePost": (Type.unmute_post, {"is_muted": False}),
    "pinPost": (Type.pin_post, {"is_pinned": True}),
    "unpinPost": (Type.unpin_post, {"is_pinned": False}),
    "flagPost": (Type.flag_post, {}),
}


def act_on_post(state: State, kept: Social, actor: str, payload: Payload) -> None:
    """Mute, pin or flag a post; of a flag there is nothing but the notification."""
    kind, changes = POST_CHANGES[payload.action]
    post = payload.post
    assert post is not None, "these actions are about posts"
    if changes:
        kept.posts.modify(post, **changes)
        kept.changed.post(post.comment)
    else:
        remember(kept, kind, post, actor)
    notify(state, kept, kind, src=actor, post=post.id, community=payload.community.name, payload=payload.text)
