"""Posts and replies as the social index takes them in: where they stand, who may write there, promotion, reblogs; and whom all that is
told. Nothing here ever refuses. Source: social.md §1.1, §1.3, §1.10, §1.11.
"""

from typing import Any

from state.effects.comments import find_comment
from state.operations.content import Comment, DeleteComment, Vote
from state.operations.transfers import Transfer
from state.plugins.follow import plugin as follow
from state.plugins.follow.operations import FollowOperation
from state.plugins.social.communities.payloads import GUEST, MEMBER
from state.plugins.social.index import Social, moment, plugin
from state.plugins.social.notifications.writing import Type, account_score, notify, notify_error, notify_mentions, notify_reply, notify_vote
from state.plugins.social.rows import NO_POST, Reblog, SocialPost
from state.protocol.constants import COIN_NULL_ACCOUNT
from state.protocol.values.asset import SBD
from state.protocol.virtual import CommentPayoutUpdate, Hardfork
from state.tables import State
from state.tables.content import Comment as CommentRow

TOPIC, JOURNAL, COUNCIL = 1, 2, 3
NOT_AUTHORIZED = "not authorized"
DELETE = "delete"

# ------------------------------------------------------------------ comments


def follow_comment(state: State, operation: Comment) -> None:
    """A post or reply was written or edited."""
    comment = find_comment(state, operation.author, operation.permlink)
    if comment is None:
        return
    kept = plugin(state)
    post = kept.posts.by_comment.get(comment.id)
    if post is None:
        post = enter(state, kept, comment)
        notify_reply(state, kept, comment, post)
    kept.changed.post(comment.id)
    content = state.comment_contents.by_comment.get(comment.id)
    if content is not None:
        notify_mentions(state, kept, comment, post, content.body)


def enter(state: State, kept: Social, comment: CommentRow) -> SocialPost:
    """Give a new comment its place; the row of a deleted one of that name is taken up again."""
    parent = kept.post(comment.parent_author, comment.parent_permlink) if comment.parent_author else None
    community = comment.category if parent is None and kept.community(comment.category) else ""
    if parent is not None:
        community = parent.community
    is_reply = bool(comment.parent_author)
    allowed = not community or may_write(kept, community, comment.author, is_reply=is_reply)
    place: dict[str, Any] = {
        "comment": comment.id,
        "parent": NO_POST if parent is None else parent.id,
        "parent_author": comment.parent_author,
        "is_reply": is_reply,
        "community": community,
        "is_muted": not allowed or (parent is not None and parent.is_muted),
        "is_pinned": False,
        "is_deleted": False,
    }
    post = kept.post(comment.author, comment.permlink)
    if post is None:
        post = kept.posts.insert(SocialPost(author=comment.author, permlink=comment.permlink, **place))
    else:
        kept.posts.modify(post, **place)
    if not allowed and not (parent is not None and parent.is_muted):
        notify_error(state, kept, comment.author, NOT_AUTHORIZED, post.id)
    return post


def may_write(kept: Social, community: str, account: str, *, is_reply: bool) -> bool:
    """Whether an account may post, or reply, in a community."""
    row = kept.community(community)
    assert row is not None, "communities stay"
    members_only = row.type_id == COUNCIL or (row.type_id == JOURNAL and not is_reply)
    return kept.role(community, account) >= (MEMBER if members_only else GUEST)


def forget_deleted(state: State, operation: DeleteComment) -> None:
    """A comment was deleted; its row stays."""
    kept = plugin(state)
    post = kept.post(operation.author, operation.permlink)
    if post is not None and not post.is_deleted and state.comments.get(post.comment) is None:
        kept.posts.modify(post, is_deleted=True)
        kept.changed.post(post.comment)


def follow_vote(state: State, operation: Vote) -> None:
    """A post or reply was voted on: it is ranked anew, and its author may have another reputation."""
    comment = find_comment(state, operation.author, operation.permlink)
    voter = state.accounts.by_name.get(operation.voter)
    if comment is None or voter is None:
        return
    kept = plugin(state)
    kept.changed.post(comment.id)
    kept.changed.author(comment.author)
    vote = state.comment_votes.by_comment_voter.get(comment.id, voter.id)
    post = kept.posts.by_comment.get(comment.id)
    if vote is not None and post is not None:
        notify_vote(state, kept, comment, post, vote, voter.name)


def follow_payout(state: State, operation: CommentPayoutUpdate) -> None:
    """A post or reply was paid."""
    comment = find_comment(state, operation.author, operation.permlink)
    if comment is not None:
        plugin(state).changed.post(comment.id)


def follow_hardfork(state: State, operation: Hardfork) -> None:
    """The rules of payouts may have changed for all."""
    kept = plugin(state)
    for comment in state.comments:
        kept.changed.post(comment.id)


def promote(state: State, operation: Transfer) -> None:
    """SBD that is destroyed with a post's name as memo promotes the post."""
    if operation.to != COIN_NULL_ACCOUNT or operation.amount.symbol != SBD:
        return
    memo = operation.memo
    if not memo.startswith("@") or memo.count("/") != 1:
        return
    author, permlink = memo[1:].split("/")
    comment = find_comment(state, author, permlink)
    kept = plugin(state)
    post = None if comment is None else kept.posts.by_comment.get(comment.id)
    if post is not None:
        kept.posts.modify(post, promoted=post.promoted + operation.amount.amount)
        kept.changed.post(post.comment)


# ------------------------------------------------------------------ follows and reblogs


def follow_follow(state: State, operation: FollowOperation, before: int, now: int) -> None:
    """Somebody is something else to somebody now: a new follower is told."""
    if now == follow.BLOG and not before and state.accounts.by_name.get(operation.following) is not None:
        kept = plugin(state)
        score = account_score(state, kept, operation.follower)
        notify(state, kept, Type.follow, score, src=operation.follower, dst=operation.following)


def apply_reblog(state: State, kept: Social, actor: str, members: dict[str, Any]) -> None:
    """Show a post to one's followers, or cease to; what can't be read, or isn't a post, is passed over."""
    account, author, permlink = (members.get(key) for key in ("account", "author", "permlink"))
    if not isinstance(author, str) or not isinstance(permlink, str) or account != actor:
        return
    comment = find_comment(state, author, permlink)
    if comment is None or comment.parent_author or state.accounts.by_name.get(actor) is None:
        return
    post = kept.posts.by_comment.get(comment.id)
    if post is None:
        return
    row = kept.reblogs.by_pair.get(post.id, actor)
    if members.get("delete") == DELETE:
        if row is not None:
            kept.reblogs.remove(row)
    elif row is None:
        kept.reblogs.insert(Reblog(account=actor, post=post.id, created=moment(state)))
        notify(state, kept, Type.reblog, account_score(state, kept, actor), src=actor, dst=author, post=post.id)
