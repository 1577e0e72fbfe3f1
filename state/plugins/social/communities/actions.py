"""Effects and permissions of community operations. A forbidden operation changes nothing, and its actor gets an error notification.
Source: social.md §1.4, §1.7-§1.9.
"""

import re
from typing import Any

from state.operations.custom import CustomJson
from state.plugins.social.community_payloads import (
    ADMIN,
    GUEST,
    MOD,
    MUTED,
    ROLE_NAMES,
    NameLookups,
    Payload,
    compact,
    named_action,
    read_json,
    read_payload,
)
from state.plugins.social.index import Social
from state.plugins.social.notifications.writer import COMMUNITY_SCORE, STRANGER_SCORE, Type, is_sent, notify, notify_error, remember
from state.plugins.social.posts.placement import apply_reblog
from state.plugins.social.rows import LastRead as LastReadRow
from state.plugins.social.rows import Role, SocialPost, Subscription
from state.protocol.errors import ChainError, require
from state.protocol.values.text import time_from_text
from state.tables import State

COMMUNITY, FOLLOW, NOTIFY = "community", "follow", "notify"
DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", re.ASCII)
PLAIN_PROPS = ("title", "about", "lang", "is_nsfw", "description", "flag_text")


def on_custom_json(state: State, kept: Social, operation: CustomJson) -> None:
    """Apply a custom operation with one of this plugin's ids, if it requires only one account's posting authority. That account is the
    actor.
    """
    if operation.id not in (COMMUNITY, FOLLOW, NOTIFY) or operation.required_auths or len(operation.required_posting_auths) != 1:
        return
    text = operation.json
    if operation.id == FOLLOW and "reblog" not in text and "\\" not in text:
        return  # the first element isn't "reblog", even if the text is escaped; most operations with this id set a relation
    actor = operation.required_posting_auths[0]
    value = read_json(text)
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
    """Store the time up to which an account has read its notifications. A future time is ignored."""
    date = members.get("date")
    if members.keys() != {"date"} or not isinstance(date, str) or not DATE.fullmatch(date):
        return
    try:
        time = time_from_text(date)
    except ChainError:
        return
    if time > kept.moment(state):
        return
    row = kept.last_reads.by_account.get(actor)
    if row is None:
        kept.last_reads.insert(LastReadRow(account=actor, time=time))
    else:
        kept.last_reads.modify(row, time=time)


def apply_community(state: State, kept: Social, actor: str, value: Any) -> None:
    """Apply a payload, or notify the actor of the error.

    If the structure of a payload is invalid, the error notification has no receiver, because the reference checks the structure before it
    determines the actor.
    """
    try:
        action = named_action(value)
    except ChainError as error:
        notify_error(state, kept, "", error.text)
        return
    known = NameLookups(kept.community, lambda name: state.accounts.by_name.get(name) is not None, kept.post)
    try:
        payload = read_payload(known, action, value[1])
        require_permission(kept, actor, payload)
    except ChainError as error:
        notify_error(state, kept, actor, error.text)
        return
    act(state, kept, actor, payload)


def require_permission(kept: Social, actor: str, payload: Payload) -> None:
    """Require that an operation has an effect and that its actor has permission.

    The order of the two checks determines which text the actor gets. Most actions check the effect first.
    """
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
    """Refuse an action on a post that has no effect, or for which the actor doesn't have permission."""
    match payload.action:
        case "mutePost":
            require(not post.is_muted, "post is already muted")
            require(role >= MOD, "only mods can mute posts")
        case "unmutePost":
            require(post.is_muted, "post is already not muted")
            parent = kept.posts.get(post.parent)
            require(parent is None or not parent.is_muted, "parent post is muted")
            require(role >= MOD, "only mods can unmute posts")
        case "pinPost":
            require(not post.is_pinned, "post is already pinned")
            require(role >= MOD, "only mods can pin posts")
        case "unpinPost":
            require(post.is_pinned, "post is already not pinned")
            require(role >= MOD, "only mods can unpin posts")
        case "flagPost":
            require(role > MUTED, "muted users cannot flag posts")
            require(not is_sent(kept, Type.flag_post, post, actor), "user already flagged this post")


def require_settable(kept: Social, actor: str, role: int, payload: Payload) -> None:
    """Require that the new role and the account's current role are below the actor's role.

    For the actor's own account, only the new role must be below the actor's. Any actor from mod up can therefore give up the role, and an
    owner can't regain it.
    """
    require(role >= MOD, "only mods and up can alter roles")
    require(role > payload.role, "cannot promote to or above own rank")
    if actor != payload.account:
        current = kept.role(payload.community.name, payload.account)
        require(current < role, "cant modify higher-role user")
        require(current != payload.role, "role would not change")


def act(state: State, kept: Social, actor: str, payload: Payload) -> None:
    """Apply a community operation whose actor has permission, and write its notification."""
    match payload.action:
        case "subscribe" | "unsubscribe":
            subscribe(state, kept, actor, payload)
        case "setRole":
            set_role(kept, payload, role=payload.role)
            notify_target(state, kept, Type.set_role, actor, payload, ROLE_NAMES[payload.role])
        case "setUserTitle":
            set_role(kept, payload, title=payload.text)
            notify_target(state, kept, Type.set_label, actor, payload, payload.text)
        case "updateProps":
            update_props(kept, payload)
            notify(state, kept, Type.set_props, src=actor, community=payload.community.name, payload=compact(payload.props))
        case _:
            act_on_post(state, kept, actor, payload)


def subscribe(state: State, kept: Social, actor: str, payload: Payload) -> None:
    """Add or remove a subscription."""
    community, subscriptions = payload.community, kept.subscriptions
    row = subscriptions.by_pair.get(community.name, actor)
    # Already checked: if there is a row, the action is `unsubscribe`, otherwise `subscribe`.
    if row is not None:
        subscriptions.remove(row)
        kept.communities.modify(community, subscribers=community.subscribers - 1)
        return
    subscriptions.insert(Subscription(community=community.name, account=actor, created=kept.moment(state)))
    kept.communities.modify(community, subscribers=community.subscribers + 1)
    notify(state, kept, Type.subscribe, src=actor, community=community.name)


def set_role(kept: Social, payload: Payload, **changes: Any) -> None:
    """Change an account's role, its title, or both. `changes` contains the new values, and any other value stays the same."""
    community, account = payload.community.name, payload.account
    row = kept.role_row(community, account)
    if row is None:
        kept.roles.insert(Role(community=community, account=account, **({"role": GUEST} | changes)))
    else:
        kept.roles.modify(row, **changes)


def notify_target(state: State, kept: Social, kind: Type, actor: str, payload: Payload, text: str) -> None:
    """Notify an account of a new role or title. The score is lower if the account doesn't subscribe to the community."""
    community, account = payload.community.name, payload.account
    score = COMMUNITY_SCORE if kept.is_subscribed(community, account) else STRANGER_SCORE
    notify(state, kept, kind, score, src=actor, dst=account, community=community, payload=text)


def update_props(kept: Social, payload: Payload) -> None:
    """Set the properties of a community. The URL of the avatar is copied from the settings."""
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
    """Mute, unmute, pin, unpin or flag a post. A flag only writes a notification."""
    kind, changes = POST_CHANGES[payload.action]
    post = payload.post
    assert post is not None, "these actions are about posts"
    if changes:
        kept.posts.modify(post, **changes)
        kept.dirty.row(post.comment)
    else:
        remember(kept, kind, post, actor)
    notify(state, kept, kind, src=actor, post=post.id, community=payload.community.name, payload=payload.text)
