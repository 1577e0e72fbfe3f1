"""Writes notifications: their types, their scores, and conditions for omitting them. Source: social.md §2.5, §2.9.

The score is the importance of a notification. Clients filter by a minimum score.
"""

import re
from enum import IntEnum

from state.plugins.social.chain_reader import ignores, payout_of
from state.plugins.social.index import Social
from state.plugins.social.rows import NO_POST, Notification, SentOnce, SocialPost
from state.tables import State
from state.tables.content import Comment, CommentVote


class Type(IntEnum):
    """Type of a notification, with the numbers of the reference."""

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
LAST_SCORE = 20
RANK_SCORES = (70, 60, 50, 40, 30, LAST_SCORE)  # of accounts below the first of RANKS (chain_reader.py), below the second, and so on
VOTE_RSHARES_MIN = 10**10
CONTRIBUTION_MIN = 20  # thousandths of an SBD
SCORE_MAX, SCORE_OF_DIGIT = 100, 25
MENTION_STEP = 2
# (score bound, limit): an account whose score is below the bound can mention this many accounts in a post.
MENTIONS_MAX = ((30, 5), (60, 10))
MENTIONS_MOST = 25

# The first group is a name of 3 to 16 characters that is not inside a word, an address or a path.
MENTION = re.compile(r"(?:^|[^a-zA-Z0-9_!#$%&*@/])@([a-zA-Z0-9][a-zA-Z0-9.-]{1,14}[a-zA-Z0-9])(?![a-z])")


def notify(state: State, kept: Social, kind: Type, score: int = COMMUNITY_SCORE, **fields: object) -> None:
    """Write a notification. `fields` are fields of its row. The field `created` defaults to the time of the operation."""
    created = fields.pop("created", None)
    row = Notification(type=int(kind), score=score, created=kept.moment(state) if created is None else created, **fields)  # type: ignore[arg-type]
    kept.notifications.insert(row)


def notify_error(state: State, kept: Social, account: str, text: str, post: int = NO_POST) -> None:
    """Notify an account that its operation had no effect, with the reason."""
    notify(state, kept, Type.error, dst=account, payload=text, post=post)


def is_sent(kept: Social, kind: Type, post: SocialPost, account: str) -> bool:
    """Whether this account's notification was already written. This kind of notification is sent only once per post and account."""
    return kept.sent_once.by_all.get(kind, post.id, account) is not None


def remember(kept: Social, kind: Type, post: SocialPost, account: str) -> None:
    """Record that this account's notification was written, because this kind of notification is sent only once per post and account."""
    kept.sent_once.insert(SentOnce(type=int(kind), post=post.id, account=account))


def account_score(state: State, kept: Social, name: str) -> int:
    """Return the score of notifications that an account causes."""
    account = state.accounts.by_name.get(name)
    return LAST_SCORE if account is None else RANK_SCORES[kept.facts.rank_class(state, account)]


def mentions_most(score: int) -> int:
    """Return the number of accounts that an account with this score can mention in a post."""
    return next((most for bound, most in MENTIONS_MAX if score < bound), MENTIONS_MOST)


def mention_score(score: int, count: int) -> int:
    """Return the score of each mention in a post that mentions `count` accounts. `score` is that of the post's author."""
    return score - min(score, MENTION_STEP * (count - 1))


def contribution(payout: int, net_rshares: int, rshares: int) -> int:
    """Return a vote's contribution to the current payout, in thousandths of an SBD: the share of its rshares in `net_rshares`."""
    return payout * rshares // net_rshares if net_rshares > 0 else 0


def vote_score(thousandths: int) -> int:
    """Return the score of a vote from its contribution: 25 for each digit after the first, at most 100."""
    return min(SCORE_MAX, SCORE_OF_DIGIT * (len(str(thousandths)) - 1))


def mentioned(body: str) -> list[str]:
    """Return the names that a text mentions, each once, in order of appearance."""
    return list(dict.fromkeys([name.lower() for name in MENTION.findall(body)]))


def notify_reply(state: State, kept: Social, comment: Comment, post: SocialPost) -> None:
    """Notify the author of the parent of a new comment.

    No notification is written if this author also wrote the comment, or ignores the comment's author.
    """
    to, author = comment.parent_author, comment.author
    if not to or to == author or to in kept.irredeemables or ignores(state, to, author):
        return
    kind = Type.reply if comment.depth == 1 else Type.reply_comment
    notify(state, kept, kind, account_score(state, kept, author), created=comment.last_update, src=author, dst=to, post=post.id)


def notify_mentions(state: State, kept: Social, comment: Comment, post: SocialPost, body: str) -> None:
    """Notify the accounts that a text mentions, or no account if it mentions too many.

    Accounts that ignore the author, or were already notified for this post, count as mentioned but get no notification.
    """
    if "@" not in body:
        return
    known = state.accounts.by_name
    names = [name for name in mentioned(body) if name not in (comment.author, comment.parent_author) and known.get(name) is not None]
    if not names:
        return
    score = account_score(state, kept, comment.author)
    if len(names) > mentions_most(score):
        return
    # The reference's order is undefined. The names are sorted so that all nodes number the notifications in the same way.
    for name in sorted(names):
        if not is_sent(kept, Type.mention, post, name) and not ignores(state, name, comment.author):
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
    """Notify an author of a vote that contributes at least CONTRIBUTION_MIN to the payout, once per voter."""
    if vote.rshares < VOTE_RSHARES_MIN or is_sent(kept, Type.vote, post, voter):
        return
    payout = payout_of(state, kept.facts, comment, kept.facts.worth(state)).total
    # Use net_rshares, not the sum of all votes. After a payout net_rshares is 0, and so is the contribution.
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
