"""Notifications: their types, what they score, when there is none, and how they read. Source: social.md §2.5, §2.9, §3.4."""

import re
from enum import IntEnum

from msgspec import Struct

from state.plugins.social.facts import ignores, payout_of
from state.plugins.social.index import Social, moment
from state.plugins.social.rows import NO_POST, Notification, SocialPost, ToldOnce
from state.plugins.social.scores import cents
from state.tables import State
from state.tables.content import Comment, CommentVote


class Type(IntEnum):
    """What a notification is about."""

    new_community = 1
    set_role = 2
    set_props = 3
    set_label = 4
    mute_post = 5
    unmute_post = 6
    pin_post = 7
    unpin_post = 8
    flag_post = 9
    error = 10
    subscribe = 11
    reply = 12
    reply_comment = 13
    reblog = 14
    follow = 15
    mention = 16
    vote = 17


COMMUNITY_SCORE, STRANGER_SCORE = 35, 15
RANK_SCORES = ((200, 70), (1000, 60), (6500, 50), (25_000, 40), (100_000, 30))
LAST_SCORE = 20
VOTE_RSHARES_MIN = 10**10
CONTRIBUTION_MIN = 20  # thousandths of an SBD
SCORE_MAX, SCORE_OF_DIGIT = 100, 25
MENTION_STEP = 2
MENTIONS_MAX = ((30, 5), (60, 10))
MENTIONS_MOST = 25

MENTION = re.compile(
    r"(?:^|[^a-zA-Z0-9_!#$%&*@/])@([a-zA-Z0-9][a-zA-Z0-9.-]{1,14}[a-zA-Z0-9])(?![a-z])",
)


def notify(state: State, kept: Social, kind: Type, score: int = COMMUNITY_SCORE, **fields: object) -> None:
    """Write a notification of now; the fields are those of the row."""
    created = fields.pop("created", None)
    row = Notification(type=kind, score=score, created=moment(state) if created is None else created, **fields)  # type: ignore[arg-type]
    kept.notifications.insert(row)


def notify_error(state: State, kept: Social, account: str, text: str, post: int = NO_POST) -> None:
    """Tell an account that something it did had no effect."""
    notify(state, kept, Type.error, dst=account, payload=text, post=post)


def is_told(kept: Social, kind: Type, post: SocialPost, account: str) -> bool:
    """Whether there is a notification that isn't written twice."""
    return kept.told_once.by_all.get(kind, post.id, account) is not None


def remember(kept: Social, kind: Type, post: SocialPost, account: str) -> None:
    """Note that such a notification is written."""
    kept.told_once.insert(ToldOnce(type=kind, post=post.id, account=account))


# ------------------------------------------------------------------ scores


def rank_score(rank: int | None) -> int:
    """What the notifications of somebody in this position score."""
    if rank is not None:
        for bound, score in RANK_SCORES:
            if rank < bound:
                return score
    return LAST_SCORE


def account_score(state: State, kept: Social, name: str) -> int:
    """What an account's notifications score."""
    account = state.accounts.by_name.get(name)
    return LAST_SCORE if account is None else rank_score(kept.facts.rank(state, account))


def mentions_most(score: int) -> int:
    """How many may be mentioned at once by somebody of this score."""
    return next((most for bound, most in MENTIONS_MAX if score < bound), MENTIONS_MOST)


def mention_score(score: int, count: int) -> int:
    """What each of so many mentions scores."""
    return score - min(score, MENTION_STEP * (count - 1))


def contribution(payout: int, net_rshares: int, rshares: int) -> int:
    """What a vote adds to a payout, in thousandths of an SBD, as the payout is."""
    return payout * rshares // net_rshares if net_rshares > 0 else 0


def vote_score(thousandths: int) -> int:
    """What a vote scores by its contribution."""
    return min(SCORE_MAX, SCORE_OF_DIGIT * (len(str(thousandths)) - 1))


# ------------------------------------------------------------------ posts


def mentioned(body: str) -> list[str]:
    """The names that a text mentions, in its order, each once."""
    return list(dict.fromkeys([name.lower() for name in MENTION.findall(body)]))


def notify_reply(state: State, kept: Social, comment: Comment, post: SocialPost) -> None:
    """Tell the author of what a new comment replies to, unless he doesn't want to hear of it."""
    to, author = comment.parent_author, comment.author
    if not to or to == author or to in kept.irredeemables or ignores(state, to, author):
        return
    kind = Type.reply if comment.depth == 1 else Type.reply_comment
    notify(state, kept, kind, account_score(state, kept, author), created=comment.last_update, src=author, dst=to, post=post.id)


def notify_mentions(state: State, kept: Social, comment: Comment, post: SocialPost, body: str) -> None:
    """Tell those whom a text mentions; nobody, when they are too many."""
    if "@" not in body:
        return
    known = state.accounts.by_name
    names = [name for name in mentioned(body) if name not in (comment.author, comment.parent_author) and known.get(name) is not None]
    if not names:
        return
    score = account_score(state, kept, comment.author)
    if len(names) > mentions_most(score):
        return
    for name in sorted(names):
        if not is_told(kept, Type.mention, post, name) and not ignores(state, name, comment.author):
            remember(kept, Type.mention, post, name)
            notify(
                state,
                kept,
                Type.mention,
                mention_score(score, len(names)),
                created=comment.last_update,
                src=comment.author,
                dst=name,
                post=post.id,
            )


def notify_vote(state: State, kept: Social, comment: Comment, post: SocialPost, vote: CommentVote, voter: str) -> None:
    """Tell an author of a vote that adds something to the payout, once for each voter."""
    if vote.rshares < VOTE_RSHARES_MIN or is_told(kept, Type.vote, post, voter):
        return
    payout = payout_of(state, kept.facts, comment, kept.facts.worth(state)).total
    added = contribution(payout, comment.net_rshares, vote.rshares)
    if added < CONTRIBUTION_MIN:
        return
    remember(kept, Type.vote, post, voter)
    notify(
        state,
        kept,
        Type.vote,
        vote_score(added),
        created=vote.last_update,
        src=voter,
        dst=comment.author,
        post=post.id,
        payload=f"${added // 1000}.{added % 1000:03}",
    )


# ------------------------------------------------------------------ how they read


class Told(Struct):
    """What a text of a notification is made of; `post` is author/permlink, `title` the community's."""

    type: Type
    src: str = ""
    dst: str = ""
    post: str = ""
    community: str = ""
    title: str = ""
    payload: str = ""


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
    Type.reblog: "@{src} reblogged your post",
    Type.follow: "@{src} followed you",
    Type.mention: "@{src} mentioned you",
    Type.vote: "@{src} voted on your post{amount}",
}


def message(told: Told) -> str:
    """The text of a notification."""
    return TEXTS[told.type].format(
        src=told.src,
        dst=told.dst,
        post=told.post,
        title=told.title,
        payload=told.payload or "null",
        amount=shown_amount(told.payload) if told.type is Type.vote else "",
    )


def shown_amount(payload: str) -> str:
    """The contribution of a vote, rounded to cents, in brackets; nothing for less than a cent."""
    amount = payload.removeprefix("$")
    if not amount or int(amount.replace(".", "")) < 10:
        return ""
    return f" (${cents(amount)})"


def url(told: Told) -> str:
    """Where a notification leads."""
    if told.post:
        return f"@{told.post}"
    if told.community:
        return f"trending/{told.community}"
    return f"@{told.src or told.dst}"
