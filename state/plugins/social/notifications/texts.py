"""Texts and links of notifications. Source: social.md §3.4."""

from msgspec import Struct

from state.plugins.social.index import Social
from state.plugins.social.notifications.writer import Type
from state.plugins.social.rows import NO_POST, Notification
from state.plugins.social.scores import cents

TEXTS = {
    Type.new_community: "@{dst} was created",
    Type.set_role: "@{src} set @{dst} {payload}",
    Type.set_props: "@{src} set properties {payload}",
    Type.set_label: "@{src} label @{dst} {payload}",
    Type.mute_post: "@{src} mute @{post} - {payload}",
    Type.unmute_post: "@{src} unmute @{post} - {payload}",
    Type.pin_post: "@{src} pin @{post}",
    Type.unpin_post: "@{src} unpin @{post}",
    Type.flag_post: "@{src} flag @{post} - {payload}",
    Type.error: "error: {payload}",
    Type.subscribe: "@{src} subscribed to {title}",
    Type.reply: "@{src} replied to your post",
    Type.reply_comment: "@{src} replied to your comment",
    Type.reblog: "@{src} {reblogged} your post",
    Type.follow: "@{src} followed you",
    Type.mention: "@{src} mentioned you",
    Type.vote: "@{src} voted on your post{amount}",
}


class Content(Struct):
    """Values for the text and the link of a notification. `post` is author/permlink, and `title` is the title of the notification's
    community.
    """

    type: Type
    src: str = ""
    dst: str = ""
    post: str = ""
    community: str = ""
    title: str = ""
    payload: str = ""


def content_of(kept: Social, row: Notification) -> Content:
    """Return the values for the text and the link of a notification, with its post and community looked up."""
    community = kept.community(row.community) if row.community else None
    post = None if row.post == NO_POST else kept.posts.find(row.post)
    return Content(
        type=Type(row.type),
        src=row.src,
        dst=row.dst,
        post="" if post is None else f"{post.author}/{post.permlink}",
        community=row.community,
        title="" if community is None else community.title,
        payload=row.payload,
    )


def message(content: Content, brand: str) -> str:
    """Return the text of a notification. A reblog is called `resteemed` on chains of the brand steem, and `reblogged` on others."""
    return TEXTS[content.type].format(
        src=content.src,
        dst=content.dst,
        post=content.post,
        title=content.title,
        payload=content.payload or "null",
        reblogged="resteemed" if brand == "steem" else "reblogged",
        amount=shown_amount(content.payload) if content.type is Type.vote else "",
    )


def shown_amount(payload: str) -> str:
    """Format the contribution of a vote, rounded to cents, in parentheses; "" below one cent."""
    amount = payload.removeprefix("$")
    if not amount or int(amount.replace(".", "")) < 10:
        return ""
    return f" (${cents(amount)})"


def url(content: Content) -> str:
    """Return the link of a notification: to its post if it has one, else to its community, else to an account."""
    if content.post:
        return f"@{content.post}"
    if content.community:
        return f"trending/{content.community}"
    return f"@{content.src or content.dst}"
