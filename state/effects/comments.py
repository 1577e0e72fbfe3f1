"""Comments as all who change them see them: how they are found, what publishing and editing need, what a new one is.
Source: operations.md §2.3, §8.1, §8.3; state-objects.md §6.1.
"""

from state.protocol.constants import (
    COIN_MAX_COMMENT_DEPTH,
    COIN_MAX_COMMENT_DEPTH_PRE_HF17,
    COIN_MAX_PERMLINK_LENGTH,
    COIN_MIN_COMMENT_EDIT_INTERVAL,
    COIN_MIN_REPLY_INTERVAL,
    COIN_MIN_REPLY_INTERVAL_HF20,
    COIN_MIN_ROOT_COMMENT_INTERVAL,
    COIN_POST_AVERAGE_WINDOW,
    COIN_POST_WEIGHT_CONSTANT,
    TIME_MAX,
)
from state.protocol.errors import UnknownKey, require
from state.protocol.values import text
from state.tables import State
from state.tables.accounts import Account
from state.tables.content import Comment

FULL_WEIGHT = 10000
EARLY_INTERVAL = 60


def find_comment(state: State, author: str, permlink: str) -> Comment | None:
    """A comment by its author and its permlink, of which only what stands in front of a NUL is compared."""
    return state.comments.by_permlink.get(author, to_nul(permlink) if "\0" in permlink else permlink)


def comment_of(state: State, author: str, permlink: str) -> Comment:
    """A comment by its author and permlink; an unknown one is refused."""
    comment = find_comment(state, author, permlink)
    if comment is None:
        raise UnknownKey
    return comment


def to_nul(value: str) -> str:
    """What a C string holds of a text."""
    return value.partition("\0")[0]


def payout_time(state: State, comment: Comment) -> int:
    """When a comment is paid out. Before hardfork 17 that was when its root was."""
    if state.hardfork >= 17 or not comment.parent_author:
        return comment.cashout_time
    return state.comments.find(comment.root_comment).cashout_time


def count_descendant(state: State, parent: Comment | None, delta: int) -> None:
    """One descendant more or less for a comment and all above it; it counts as activity."""
    comments, now = state.comments, state.head_time
    while parent is not None:
        comments.modify(parent, children=parent.children + delta, active=now)
        author = parent.parent_author
        parent = comment_of(state, author, parent.parent_permlink) if author else None


# ------------------------------------------------------------------ what publishing needs


def require_depth(state: State, parent: Comment) -> None:
    """A discussion has a limit; before hardfork 17 it was 6."""
    limit, name = COIN_MAX_COMMENT_DEPTH, "COIN_MAX_COMMENT_DEPTH"
    if state.hardfork < 17:
        limit, name = COIN_MAX_COMMENT_DEPTH_PRE_HF17, "COIN_MAX_COMMENT_DEPTH_PRE_HF17"
    if parent.depth >= limit:
        require_shallow(parent, limit, f"parent->depth < {name}")


def require_shallow(parent: Comment, limit: int, condition: str) -> None:
    """A comment that may be answered."""
    require(
        parent.depth < limit,
        "Comment is nested ${x} posts deep, maximum depth is ${y}.",
        condition=condition,
        x=parent.depth,
        y=limit,
    )


def require_open(state: State, parent: Comment) -> None:
    """A discussion that takes replies: its root decides."""
    root = state.comments.find(parent.root_comment)
    require(root.allow_replies, "The parent comment has disabled replies.", condition="_db.get( parent->root_comment ).allow_replies")
    if 12 <= state.hardfork < 17:
        # Only in these hardforks discussions were closed by their payout.
        require(
            payout_time(state, parent) != TIME_MAX,
            "Discussion is frozen.",
            condition="_db.calculate_discussion_payout_time( *parent ) != fc::time_point_sec::maximum()",
        )


def require_pause(state: State, author: Account, parent: Comment | None) -> None:
    """Some time since the author's last post. Before hardfork 12 any post counted, before 6 there was one rule for all."""
    now, hardfork = state.head_time, state.hardfork
    if hardfork < 6:
        require(
            now - author.last_post > EARLY_INTERVAL,
            "You may only post once per minute.",
            condition="(now - auth.last_post) > fc::seconds(60)",
        )
    elif parent is None:
        last, field = (author.last_root_post, "last_root_post") if hardfork >= 12 else (author.last_post, "last_post")
        require(
            now - last > COIN_MIN_ROOT_COMMENT_INTERVAL,
            "You may only post once every 5 minutes.",
            condition=f"( now - auth.{field} ) > COIN_MIN_ROOT_COMMENT_INTERVAL",
        )
    elif hardfork >= 20:
        require(
            now - author.last_post >= COIN_MIN_REPLY_INTERVAL_HF20,
            "You may only comment once every 3 seconds.",
            condition="(now - auth.last_post) >= COIN_MIN_REPLY_INTERVAL_HF20",
        )
    else:
        # Before hardfork 20 replies were 20 seconds apart.
        require(
            now - author.last_post > COIN_MIN_REPLY_INTERVAL,
            "You may only comment once every 20 seconds.",
            condition="(now - auth.last_post) > COIN_MIN_REPLY_INTERVAL",
        )


def require_new_permlink(permlink: str) -> None:
    """A permlink that a new comment can have."""
    require(
        0 < text.size(permlink) < COIN_MAX_PERMLINK_LENGTH,
        "Permlink is not a valid size.",
        condition="permlink.size() > COIN_MIN_PERMLINK_LENGTH && permlink.size() < COIN_MAX_PERMLINK_LENGTH",
    )
    bad = text.bad_permlink_character(permlink)
    if bad:
        require(False, "Invalid permlink character: ${s}", condition="false", s=bad)


# ------------------------------------------------------------------ what editing needs


def require_editable(state: State, author: Account, comment: Comment) -> None:
    """A pause since the author's last post or edit; before hardfork 17 a comment could be too old as well."""
    hardfork = state.hardfork
    if hardfork >= 21 or state.is_pushing:
        # Before hardfork 21 only this node's own pushes were held to it.
        require(
            state.head_time - author.last_post_edit >= COIN_MIN_COMMENT_EDIT_INTERVAL,
            "Can only perform one comment edit per block.",
            condition="now - auth.last_post_edit >= COIN_MIN_COMMENT_EDIT_INTERVAL",
        )
    if 14 <= hardfork < 17:
        require(
            payout_time(state, comment) != TIME_MAX,
            "The comment is archived.",
            condition="_db.calculate_discussion_payout_time( comment ) != fc::time_point_sec::maximum()",
        )
    elif 10 <= hardfork < 14:
        require(
            comment.last_payout == 0,
            "Can only edit during the first 24 hours.",
            condition="comment.last_payout == fc::time_point_sec::min()",
        )


def require_same_parent(state: State, comment: Comment, parent_author: str, parent_permlink: str) -> None:
    """An edit names the same parent. Before hardfork 21 it was enough that the permlinks were equal, or as long."""
    require(
        comment.parent_author == parent_author,
        "The parent of a comment cannot change.",
        condition="com.parent_author == o.parent_author" if parent_author else "com.parent_author == account_name_type()",
    )
    kept = comment.parent_permlink
    if kept == parent_permlink:
        return
    same_size, same_text = text.size(kept) == text.size(parent_permlink), to_nul(kept) == to_nul(parent_permlink)
    require(
        (same_size and same_text) if state.hardfork >= 21 else (same_size or same_text),
        "The permlink of a comment cannot change.",
        condition="equal( com.parent_permlink, o.parent_permlink )",
    )


# ------------------------------------------------------------------ a new comment


def publish(state: State, author: Account, parent: Comment | None, permlink: str, parent_permlink: str) -> Comment:
    """Insert a comment, and note on its author that it has posted."""
    now, comments = state.head_time, state.comments
    noted = {"last_post": now, "last_post_edit": now, "post_count": author.post_count + 1}
    if parent is not None:
        comment = Comment(
            parent_author=parent.author,
            parent_permlink=parent.permlink,
            category=parent.category,
            depth=parent.depth + 1,
            root_comment=parent.root_comment,
        )
    else:
        comment = Comment(parent_permlink=parent_permlink, category=parent_permlink, root_comment=comments.next_id)
        noted["last_root_post"] = now
    comment.author, comment.permlink, comment.reward_weight = author.name, permlink, FULL_WEIGHT
    comment.created = comment.last_update = comment.active = now
    comment.cashout_time = first_payout_time(state, comment)
    if parent is None and 12 <= state.hardfork < 17:
        # Only in these hardforks who posted more than four times a day earned less.
        noted["post_bandwidth"] = bandwidth = post_bandwidth(state, author)
        comment.reward_weight = min(COIN_POST_WEIGHT_CONSTANT * FULL_WEIGHT // bandwidth**2, FULL_WEIGHT)
    state.accounts.modify(author, **noted)
    return comments.insert(comment)


def first_payout_time(state: State, comment: Comment) -> int:
    """When a new comment is paid out. Before hardfork 17 only roots had a time, before 12 votes gave them one."""
    constants = state.spec.constants
    if state.hardfork >= 17:
        return comment.created + constants.COIN_CASHOUT_WINDOW_SECONDS
    if state.hardfork >= 12 and not comment.parent_author:
        return comment.created + constants.COIN_CASHOUT_WINDOW_SECONDS_PRE_HF17
    return TIME_MAX


def post_bandwidth(state: State, author: Account) -> int:
    """How much an author posts: 10000 for each root, which wears off within a day of the next one."""
    elapsed = min(state.head_time - author.last_root_post, COIN_POST_AVERAGE_WINDOW)
    return author.post_bandwidth * (COIN_POST_AVERAGE_WINDOW - elapsed) // COIN_POST_AVERAGE_WINDOW + FULL_WEIGHT
