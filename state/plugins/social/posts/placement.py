"""Indexes posts and replies: community, permission to write, promotion, reblogs, notifications. No operation is refused here.
Source: social.md §1.1, §1.3, §1.10, §1.11.
"""

from typing import Any

from state.effects.comments import find_comment
from state.operations.content import Comment, DeleteComment, Vote
from state.operations.transfers import Transfer
from state.plugins.follow.operations import FollowOperation
from state.plugins.follow.rows import BLOG
from state.plugins.social.chain_reader import FUND_HARDFORK, rshares_of
from state.plugins.social.community_payloads import GUEST, MEMBER
from state.plugins.social.index import Social
from state.plugins.social.notifications.writer import Type, account_score, notify, notify_error, notify_mentions, notify_reply, notify_vote
from state.plugins.social.post_metadata import post_tags
from state.plugins.social.ranked_posts import RankedPosts
from state.plugins.social.rows import NO_POST, Reblog, SocialPost
from state.protocol.constants import COIN_NULL_ACCOUNT
from state.protocol.values.asset import SBD
from state.protocol.virtual import CommentPayoutUpdate, Hardfork
from state.tables import State
from state.tables.content import Comment as CommentRow

TOPIC, JOURNAL, COUNCIL = 1, 2, 3  # types of communities
NOT_AUTHORIZED = "not authorized"
DELETE = "delete"


def on_comment(state: State, kept: Social, operation: Comment) -> None:
    """Index a written or edited comment, mark it for ranking, and notify the affected accounts."""
    comment = find_comment(state, operation.author, operation.permlink)
    if comment is None:
        return
    post = kept.posts.by_comment.get(comment.id)
    if post is None:
        post = add_post(state, kept, comment)
        notify_reply(state, kept, comment, post)
    elif not post.is_reply and post.tags != (tags := tags_of(state, comment)):
        kept.posts.modify(post, tags=tags)
    kept.dirty.row(comment.id)
    content = state.comment_contents.by_comment.get(comment.id)
    if content is not None:
        notify_mentions(state, kept, comment, post, content.body)


def add_post(state: State, kept: Social, comment: CommentRow) -> SocialPost:
    """Index a new comment. If there is a row of a deleted comment with the same permlink, reuse that row.

    A root post belongs to the community named by its category, if that exists. A reply belongs to the community of its parent. This is
    final: edits don't move a post, and a community that is registered later doesn't adopt it. A post by an author without permission is
    muted, with an error notification. Every reply to a muted post is muted.
    """
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
        "tags": tags_of(state, comment),
        "rshares": None,
    }
    post = kept.post(comment.author, comment.permlink)
    if post is None:
        post = kept.posts.insert(SocialPost(author=comment.author, permlink=comment.permlink, **place))
    else:
        kept.posts.modify(post, **place)
    if not allowed:
        notify_error(state, kept, comment.author, NOT_AUTHORIZED, post.id)
    return post


def tags_of(state: State, comment: CommentRow) -> tuple[str, ...]:
    """Return the tags of a root post, by which lists contain it. A reply has none.

    Tags with a slash are dropped. Otherwise an author could add a post to a community's lists by a tag that equals the community's scope. A
    list of such a tag can't be requested anyway.
    """
    if comment.parent_author:
        return ()
    content = state.comment_contents.by_comment.get(comment.id)
    return post_tags(comment.category, "" if content is None else content.json_metadata)


def may_write(kept: Social, community: str, account: str, *, is_reply: bool) -> bool:
    """Whether an account has permission to post, or to reply, in a community."""
    row = kept.community(community)
    assert row is not None, "communities stay"
    members_only = row.type_id == COUNCIL or (row.type_id == JOURNAL and not is_reply)
    return kept.role(community, account) >= (MEMBER if members_only else GUEST)


def remember_deleted(state: State, kept: Social, operation: DeleteComment) -> None:
    """Store the row of a comment before the comment is deleted, because the index can't find the row after the deletion."""
    comment = find_comment(state, operation.author, operation.permlink)
    kept.leaving = None if comment is None else kept.posts.by_comment.get(comment.id)


def mark_deleted(state: State, kept: Social, operation: DeleteComment) -> None:
    """Mark the row of a comment as deleted, unless the comment still exists. Before hardfork 19 a deletion could have no effect."""
    post = kept.leaving
    if post is not None and state.comments.get(post.comment) is None:
        kept.posts.modify(post, is_deleted=True)
        kept.dirty.row(post.comment)


def on_vote(state: State, kept: Social, operation: Vote) -> None:
    """After a vote, notify the author, and mark the post and the author for ranking. The vote can have changed the author's reputation."""
    comment = find_comment(state, operation.author, operation.permlink)
    voter = state.accounts.by_name.get(operation.voter)
    if comment is None or voter is None:
        return
    kept.dirty.row(comment.id)
    kept.dirty.name(comment.author)
    vote = state.comment_votes.by_comment_voter.get(comment.id, voter.id)
    post = kept.posts.by_comment.get(comment.id)
    if vote is not None and post is not None:
        notify_vote(state, kept, comment, post, vote, voter.name)


def on_payout(state: State, kept: Social, operation: CommentPayoutUpdate) -> None:
    """Mark a post for ranking after its payout. Store the sum of its votes, which lists of its community need and which is now final."""
    comment = find_comment(state, operation.author, operation.permlink)
    if comment is None:
        return
    kept.dirty.row(comment.id)
    # Before hardfork 17 another payout can follow. On a partial chain, an import can add votes later.
    if state.hardfork < FUND_HARDFORK or state.spec.is_partial or comment.parent_author or kept.community(comment.category) is None:
        return
    post = kept.posts.by_comment.get(comment.id)
    if post is not None and post.community:
        kept.posts.modify(post, rshares=rshares_of(state, comment))


def on_hardfork(state: State, kept: Social, operation: Hardfork) -> None:
    """Rank all posts again after a hardfork, since it can have changed the rules of payouts."""
    kept.view.mark_all()
    state.journal.record((RankedPosts.undo_mark_all, kept.view, None))


def promote(state: State, kept: Social, operation: Transfer) -> None:
    """Permanently promote a post or reply, after a transfer of SBD to `null` with the post as memo (`@author/permlink`).

    The plugin `tags` has other rules for these transfers: it promotes only root posts, until their payout, and allows more slashes.
    """
    if operation.to != COIN_NULL_ACCOUNT or operation.amount.symbol != SBD:
        return
    memo = operation.memo
    if not memo.startswith("@") or memo.count("/") != 1:
        return
    author, permlink = memo[1:].split("/")
    comment = find_comment(state, author, permlink)
    post = None if comment is None else kept.posts.by_comment.get(comment.id)
    if post is not None:
        kept.posts.modify(post, promoted=post.promoted + operation.amount.amount)
        kept.dirty.row(post.comment)


def on_relation(state: State, kept: Social, operation: FollowOperation, before: int, now: int) -> None:
    """Notify an account of a new follower, unless a relation existed before."""
    if now == BLOG and not before and state.accounts.by_name.get(operation.following) is not None:
        score = account_score(state, kept, operation.follower)
        notify(state, kept, Type.follow, score, src=operation.follower, dst=operation.following)


def apply_reblog(state: State, kept: Social, actor: str, members: dict[str, Any]) -> None:
    """Add or remove a reblog. A payload that is invalid, or not about a root post, is ignored.

    The plugin `follow` interprets the same operation for follow_api, with stricter rules and separate rows. Here, as in the reference's
    indexer, a reblog can be removed, and an account can reblog its own post.
    """
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
    if row is not None and comment.created > row.created:
        # The row is a reblog of a deleted post with the same permlink.
        kept.reblogs.remove(row)
        row = None
    if members.get("delete") == DELETE:
        if row is not None:
            kept.reblogs.remove(row)
    elif row is None:
        kept.reblogs.insert(Reblog(account=actor, post=post.id, created=kept.moment(state)))
        notify(state, kept, Type.reblog, account_score(state, kept, actor), src=actor, dst=author, post=post.id)
