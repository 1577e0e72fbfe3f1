"""Portable rows of the social index: communities with roles and subscriptions, places of posts, reblogs, notifications.

The place of a post that isn't given is derived: its community is the category of its discussion, if the community existed before.
"""

from typing import Any

from msgspec.structs import astuple

from state.effects.comments import find_comment
from state.plugins.plugin import ranged
from state.plugins.social import rows
from state.plugins.social.community_payloads import OWNER, ROLE_NAMES, compact, read_json, type_of
from state.plugins.social.index import Social
from state.plugins.social.notifications.texts import shown_amount
from state.plugins.social.notifications.writer import Type, is_sent, remember
from state.plugins.social.posts.lists import valid_reblog
from state.plugins.social.posts.placement import tags_of
from state.plugins.social.rows import NO_POST, SocialPost
from state.portable import Batch, Portable, PortableRow, declare
from state.portable.declarations import COMMENT
from state.portable.exports import exported_rows
from state.protocol.values.integers import INT64_MAX, WORD32
from state.store import Row
from state.tables import State
from state.tables.content import Comment

EXISTING = {value.value for value in Type}


class PlaceRow(Row):
    """The portable row of a post or reply, with the amount paid to promote it, in SBD."""

    author: str = ""
    permlink: str = ""
    community: str = ""
    is_muted: bool = False
    is_pinned: bool = False
    promoted: int = 0


class NoticeRow(Row):
    """The portable row of a notification. `author` and `permlink` are those of its post."""

    type: int = 0
    score: int = 0
    created: int = 0
    src: str = ""
    dst: str = ""
    author: str = ""
    permlink: str = ""
    community: str = ""
    payload: str = ""


class SocialReblogRow(Row):
    """The portable row of a reblog."""

    account: str = ""
    post: int = 0
    created: int = 0


COMMUNITIES = declare(
    "communities/communities", Portable(row=rows.Community, key=("name",), hidden={"account": "the account with its name"})
)
ROLES = declare("communities/roles", Portable(row=rows.Role, key=("community", "account"), is_default_absent=True))
SUBSCRIPTIONS = declare("communities/subscriptions", Portable(row=rows.Subscription, key=("community", "account")))
POSTS = declare("communities/posts", Portable(row=PlaceRow, key=("author", "permlink")))
REBLOGS = declare("communities/reblogs", Portable(row=SocialReblogRow, key=("account", "post"), references={"post": COMMENT}))
NOTIFICATIONS = declare(
    "communities/notifications",
    Portable(row=NoticeRow, key=("created", "type", "src", "dst", "author", "permlink", "community", "payload", "score")),
)
LAST_READS = declare("communities/last_reads", Portable(row=rows.LastRead, key=("account",), is_default_absent=True))


def import_rows(state: State, kept: Social, batch: Batch) -> None:
    """Add communities, posts, reblogs and notifications. Rows about posts that aren't here are omitted."""
    import_communities(state, kept, batch)
    import_posts(state, kept, batch)
    for values in batch.get("communities/reblogs", ()):
        post = kept.post(*values["post"])
        if post is not None and not post.is_deleted and kept.reblogs.by_pair.get(post.id, values["account"]) is None:
            # A reblog before the post's time counts as that of an older, deleted post.
            created = max(min(values.get("created", 0), state.head_time), state.comments.find(post.comment).created)
            kept.reblogs.insert(rows.Reblog(account=values["account"], post=post.id, created=created))
    import_notifications(kept, batch)
    for values in batch.get("communities/last_reads", ()):
        if kept.last_reads.by_account.get(values["account"]) is None:
            kept.last_reads.insert(rows.LastRead(account=values["account"], time=min(values.get("time", 0), state.head_time)))


# ------------------------------------------------------------------ communities


def import_communities(state: State, kept: Social, batch: Batch) -> None:
    """Add communities with their roles and subscriptions. If the community of an account of the batch isn't given, it has only an owner."""
    given = {values["name"]: values for values in batch.get("communities/communities", ())}
    for name in given.keys() | {values["name"] for values in batch.get("accounts", ())}:
        account, type_id = state.accounts.by_name.get(name), type_of(state.spec.community_prefix, name)
        if account is None or type_id is None or kept.community(name) is not None:
            continue
        row = rows.Community(**({"name": name, "created": account.created} | given.get(name, {})))
        row.account, row.type_id = account.id, type_id
        ranged((row.subscribers,), 0, WORD32 - 1)
        settings = read_json(row.settings)
        row.settings = compact(settings) if isinstance(settings, dict) else "{}"
        kept.communities.insert(row)
        if name not in given:
            kept.roles.insert(rows.Role(community=name, account=name, role=OWNER))
    for values in batch.get("communities/roles", ()):
        role = rows.Role(**values)
        if role.role not in ROLE_NAMES:
            raise ValueError(f"an unknown role {role.role}")
        if kept.community(role.community) is not None and kept.role_row(role.community, role.account) is None:
            kept.roles.insert(role)
    for values in batch.get("communities/subscriptions", ()):
        subscription = rows.Subscription(**values)
        community = kept.community(subscription.community)
        if community is not None and not kept.is_subscribed(community.name, subscription.account):
            subscription.created = min(subscription.created, state.head_time)
            kept.subscriptions.insert(subscription)


# ------------------------------------------------------------------ posts


def import_posts(state: State, kept: Social, batch: Batch) -> None:
    """Index the comments of the batch, parents first."""
    given = {(values["author"], values["permlink"]): values for values in batch.get("communities/posts", ())}
    places = [(values["author"], values["permlink"]) for values in batch.get("comments", ())]
    comments = [comment for place in places if (comment := find_comment(state, *place)) is not None]
    for comment in sorted(comments, key=lambda comment: (comment.depth, comment.id)):
        if kept.posts.by_comment.get(comment.id) is None:
            index_post(state, kept, comment, given.get((comment.author, comment.permlink)))


def index_post(state: State, kept: Social, comment: Comment, given: dict[str, Any] | None) -> None:
    """Index a comment that comes in, as `placement.add_post` does."""
    parent = kept.post(comment.parent_author, comment.parent_permlink) if comment.parent_author else None
    place = PlaceRow(**given) if given is not None else derived_place(kept, comment, parent)
    ranged((place.promoted,), 0, INT64_MAX)
    community = place.community if kept.community(place.community) is not None else ""
    post = kept.posts.insert(
        SocialPost(
            author=comment.author,
            permlink=comment.permlink,
            comment=comment.id,
            parent=NO_POST if parent is None else parent.id,
            parent_author=comment.parent_author,
            is_reply=bool(comment.parent_author),
            community=community,
            is_muted=bool(community) and place.is_muted,
            is_pinned=bool(community) and place.is_pinned,
            promoted=place.promoted,
            tags=tags_of(state, comment),
        )
    )
    kept.dirty.row(comment.id)
    # Replies that were here before their parent.
    for reply in state.comments.by_parent.equal(comment.author, comment.permlink):
        row = kept.posts.by_comment.get(reply.id)
        if row is not None and row.parent == NO_POST:
            kept.posts.modify(row, parent=post.id)


def derived_place(kept: Social, comment: Comment, parent: SocialPost | None) -> PlaceRow:
    """Return the place of a comment that isn't given."""
    if parent is not None:
        return PlaceRow(community=parent.community, is_muted=parent.is_muted)
    community = kept.community(comment.category)
    return PlaceRow(community=comment.category if community is not None and community.created <= comment.created else "")


# ------------------------------------------------------------------ notifications


def import_notifications(kept: Social, batch: Batch) -> None:
    """Add notifications in the order of the batch. Those that were here before are omitted, since an account and a community share some."""
    known: dict[tuple[str, str], set[tuple[Any, ...]]] = {}
    for values in in_order(batch.get("communities/notifications", [])):
        notice = NoticeRow(**{column: value for column, value in values.items() if column != "id"})
        if notice.type not in EXISTING:
            raise ValueError(f"an unknown type of notification {notice.type}")
        ranged((notice.score,), 0, WORD32 - 1)
        post = kept.post(notice.author, notice.permlink) if notice.permlink else None
        if notice.permlink and (post is None or post.is_deleted):
            continue
        row = rows.Notification(
            type=notice.type,
            score=notice.score,
            created=notice.created,
            src=notice.src,
            dst=notice.dst,
            post=NO_POST if post is None else post.id,
            community=notice.community,
            payload=notice.payload,
        )
        owner = notice.dst, "" if notice.dst else notice.community
        if owner not in known:
            index = kept.notifications.by_dst if notice.dst else kept.notifications.by_community
            known[owner] = {astuple(notice_of(kept, other)) for other in index.equal(notice.dst or notice.community)}
        if astuple(notice) not in known[owner]:
            kept.notifications.insert(row)
            remember_sent(kept, row, post)


def in_order(notices: list[PortableRow]) -> list[PortableRow]:
    """Return notifications in the order of their ids, as far as they have some. Those with the same id are one, seen from two sides."""
    found: dict[Any, PortableRow] = {}
    for place, values in enumerate(notices):
        known = found.setdefault(values.get("id", (place,)), {})
        known.update({column: value for column, value in values.items() if value or column not in known})
    return sorted(found.values(), key=lambda values: values.get("id", -1))


def remember_sent(kept: Social, row: rows.Notification, post: SocialPost | None) -> None:
    """Record that a notification was written which is sent only once."""
    kind = Type(row.type)
    account = row.dst if kind is Type.mention else row.src
    if kind in (Type.vote, Type.mention, Type.flag_post) and post is not None and not is_sent(kept, kind, post, account):
        remember(kept, kind, post, account)


# ------------------------------------------------------------------ export


def export_rows(state: State, kept: Social) -> Batch:
    """Return the portable rows of the plugin's data, without deleted posts, and without notifications that no method shows."""
    posts = [PlaceRow(**{field: getattr(post, field) for field in POSTS.columns}) for post in kept.posts if not post.is_deleted]
    reblogs = []
    for reblog in kept.reblogs:
        found = valid_reblog(state, kept, reblog)
        if found is not None:
            reblogs.append(SocialReblogRow(account=reblog.account, post=found[1].id, created=reblog.created))
    notices = [notice_of(kept, row) for row in kept.notifications if is_visible(state, kept, row)]
    return {
        "communities/communities": exported_rows(state, kept.communities, COMMUNITIES),
        "communities/roles": exported_rows(state, kept.roles, ROLES),
        "communities/subscriptions": exported_rows(state, kept.subscriptions, SUBSCRIPTIONS),
        "communities/posts": exported_rows(state, posts, POSTS),
        "communities/reblogs": exported_rows(state, reblogs, REBLOGS),
        "communities/notifications": exported_rows(state, notices, NOTIFICATIONS),
        "communities/last_reads": exported_rows(state, kept.last_reads, LAST_READS),
    }


def is_visible(state: State, kept: Social, row: rows.Notification) -> bool:
    """Whether a method lists a notification.

    For an account whose name begins like that of a community, only the notifications of the community are listed.
    """
    if row.post != NO_POST:
        return not kept.posts.find(row.post).is_deleted
    return bool(row.community) or (bool(row.dst) and not row.dst.startswith(state.spec.community_prefix))


def notice_of(kept: Social, row: rows.Notification) -> NoticeRow:
    """Return the portable row of a notification. Its payload is as precise as the text that methods show."""
    values = {field: getattr(row, field) for field in ("type", "score", "created", "src", "dst", "community")}
    payload = "" if row.payload == "null" else row.payload
    if row.type == Type.vote:
        amount = shown_amount(payload)
        payload = f"{amount.strip(' ()')}0" if amount else ""
    post = None if row.post == NO_POST else kept.posts.find(row.post)
    author, permlink = ("", "") if post is None else (post.author, post.permlink)
    return NoticeRow(payload=payload, author=author, permlink=permlink, **values)
