"""Comments: lookup, conditions for publishing and editing, and the initial values of a new comment.

Source: operations.md §2.3, §8.1, §8.3; state-objects.md §6.1.
"""

from sys import intern

from state.protocol import constants
from state.protocol.errors import Refused, UnknownKey, require
from state.protocol.values import text
from state.tables import State
from state.tables.accounts import Account
from state.tables.content import Comment

FULL_WEIGHT = constants.COIN_100_PERCENT
EARLY_INTERVAL = 60


def find_comment(state: State, author: str, permlink: str) -> Comment | None:
    """Return a comment by its author and permlink, or None. Only the part of the permlink before a NUL is compared.

    The reference stores permlinks as C strings, and those of the first blocks can contain any character.
    """
    return state.comments.by_permlink.get(author, to_nul(permlink) if "\0" in permlink else permlink)


def comment_of(state: State, author: str, permlink: str) -> Comment:
    """Return a comment by its author and permlink. An unknown comment is refused."""
    comment = find_comment(state, author, permlink)
    if comment is None:
        raise UnknownKey(kind="post", key=(author, permlink))
    return comment


def to_nul(value: str) -> str:
    """Return the part of a string before the first NUL, where a C string ends."""
    return value.partition("\0")[0]


def payout_time(state: State, comment: Comment) -> int:
    """Return a comment's payout time. Before hardfork 17 this is that of the discussion's root."""
    if state.hardfork >= 17 or not comment.parent_author:
        return comment.cashout_time
    return state.comments.find(comment.root_comment).cashout_time


def count_descendant(state: State, parent: Comment | None, delta: int) -> None:
    """Add `delta` to the descendant counts of a comment and all its ancestors, and set their activity time."""
    comments, now = state.comments, state.head_time
    while parent is not None:
        comments.set_activity(parent, parent.children + delta, now)
        author = parent.parent_author
        parent = comment_of(state, author, parent.parent_permlink) if author else None


def require_depth(state: State, parent: Comment) -> None:
    """Refuse a reply that is nested more than 65,535 levels deep. Before hardfork 17 the limit was 6 levels."""
    limit, name = constants.COIN_MAX_COMMENT_DEPTH, "COIN_MAX_COMMENT_DEPTH"
    if state.hardfork < 17:
        limit, name = constants.COIN_MAX_COMMENT_DEPTH_PRE_HF17, "COIN_MAX_COMMENT_DEPTH_PRE_HF17"
    if parent.depth >= limit:
        require_max_depth(parent, limit, f"parent->depth < {name}")


def require_max_depth(parent: Comment, limit: int, condition: str) -> None:
    """Refuse a reply to a comment at the depth limit. `condition` is the reference's source expression for this check."""
    require(parent.depth < limit, "Comment is nested ${x} posts deep, maximum depth is ${y}.", condition=condition, x=parent.depth, y=limit)


def require_open(state: State, parent: Comment) -> None:
    """Refuse a reply in a discussion whose root doesn't allow replies."""
    root = state.comments.find(parent.root_comment)
    require(root.allow_replies, "The parent comment has disabled replies.", condition="_db.get( parent->root_comment ).allow_replies")
    if 12 <= state.hardfork < 17:
        # In these hardforks the last payout closed a discussion.
        require(
            payout_time(state, parent) != constants.TIME_MAX,
            "Discussion is frozen.",
            condition="_db.calculate_discussion_payout_time( *parent ) != fc::time_point_sec::maximum()",
        )


def require_pause(state: State, author: Account, parent: Comment | None) -> None:
    """Refuse a post too soon after the author's last post.

    The interval is 5 minutes between roots, and 3 seconds between replies. Before hardfork 12 a root also had to wait 5 minutes after a
    reply. Before hardfork 6 the interval was a minute between any two posts.
    """
    now, hardfork = state.head_time, state.hardfork
    if hardfork < 6:
        if now - author.last_post <= EARLY_INTERVAL:
            raise Refused("You may only post once per minute.", condition="(now - auth.last_post) > fc::seconds(60)")
    elif parent is None:
        last, field = (author.last_root_post, "last_root_post") if hardfork >= 12 else (author.last_post, "last_post")
        if now - last <= constants.COIN_MIN_ROOT_COMMENT_INTERVAL:
            raise Refused("You may only post once every 5 minutes.", condition=f"( now - auth.{field} ) > COIN_MIN_ROOT_COMMENT_INTERVAL")
    elif hardfork >= 20:
        if now - author.last_post < constants.COIN_MIN_REPLY_INTERVAL_HF20:
            raise Refused("You may only comment once every 3 seconds.", condition="(now - auth.last_post) >= COIN_MIN_REPLY_INTERVAL_HF20")
    # Before hardfork 20 the interval of replies was 20 seconds.
    elif now - author.last_post <= constants.COIN_MIN_REPLY_INTERVAL:
        raise Refused("You may only comment once every 20 seconds.", condition="(now - auth.last_post) > COIN_MIN_REPLY_INTERVAL")


def require_new_permlink(permlink: str) -> None:
    """Refuse an invalid permlink of a new comment: empty, too long, or with characters other than a-z, 0-9 and hyphen."""
    if not 0 < text.size(permlink) < constants.COIN_MAX_PERMLINK_LENGTH:
        raise Refused(
            "Permlink is not a valid size.",
            condition="permlink.size() > COIN_MIN_PERMLINK_LENGTH && permlink.size() < COIN_MAX_PERMLINK_LENGTH",
        )
    bad = text.bad_permlink_character(permlink)
    if bad:
        raise Refused("Invalid permlink character: ${s}", condition="false", s=bad)


def require_editable(state: State, author: Account, comment: Comment) -> None:
    """Refuse an edit too soon after the author's last post or edit. In hardforks 10 to 16, also refuse an edit of an old comment."""
    hardfork = state.hardfork
    if hardfork >= 21 or state.is_pushing:
        # Before hardfork 21 this was checked only for pushed transactions.
        require(
            state.head_time - author.last_post_edit >= constants.COIN_MIN_COMMENT_EDIT_INTERVAL,
            "Can only perform one comment edit per block.",
            condition="now - auth.last_post_edit >= COIN_MIN_COMMENT_EDIT_INTERVAL",
        )
    if 14 <= hardfork < 17:
        require(
            payout_time(state, comment) != constants.TIME_MAX,
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
    """Refuse an edit that names another parent.

    Before hardfork 21 a different parent permlink of the same length was accepted. The reference required that the lengths are equal or
    that the texts are equal up to a NUL, instead of both.
    """
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


def publish(state: State, author: Account, parent: Comment | None, permlink: str, parent_permlink: str) -> Comment:
    """Insert a comment, and record the post on its author."""
    now, comments = state.head_time, state.comments
    last_root, bandwidth = author.last_root_post, author.post_bandwidth
    if parent is not None:
        comment = Comment(
            parent_author=parent.author,
            parent_permlink=parent.permlink,
            category=parent.category,
            depth=parent.depth + 1,
            root_comment=parent.root_comment,
        )
    else:
        # Many posts have the same category, and share its string.
        category = intern(parent_permlink)
        comment = Comment(parent_permlink=category, category=category, root_comment=comments.next_id)
        last_root = now
    comment.author, comment.permlink, comment.reward_weight = author.name, permlink, FULL_WEIGHT
    comment.created = comment.last_update = comment.active = now
    comment.cashout_time = first_payout_time(state, comment)
    if parent is None and 12 <= state.hardfork < 17:
        # In these hardforks an author of more than four roots per day earned less for each further root.
        bandwidth = post_bandwidth(state, author)
        comment.reward_weight = min(constants.COIN_POST_WEIGHT_CONSTANT * FULL_WEIGHT // bandwidth**2, FULL_WEIGHT)
    state.accounts.set_last_post(author, now, now, last_root, author.post_count + 1, bandwidth)
    return comments.insert(comment)


def first_payout_time(state: State, comment: Comment) -> int:
    """Return the payout time of a new comment: its creation plus a fixed period, which is 7 days on the main build.

    Before hardfork 17 only roots had a payout time, and before hardfork 12 they got it with the first vote.
    """
    if state.hardfork >= 17:
        return comment.created + state.spec.constants.COIN_CASHOUT_WINDOW_SECONDS
    if state.hardfork >= 12 and not comment.parent_author:
        return comment.created + state.spec.constants.COIN_CASHOUT_WINDOW_SECONDS_PRE_HF17
    return constants.TIME_MAX


def post_bandwidth(state: State, author: Account) -> int:
    """Return an author's posting average, which decays linearly within a day: the decayed last value plus 10000 for the new root post."""
    elapsed = min(state.head_time - author.last_root_post, constants.COIN_POST_AVERAGE_WINDOW)
    return author.post_bandwidth * (constants.COIN_POST_AVERAGE_WINDOW - elapsed) // constants.COIN_POST_AVERAGE_WINDOW + FULL_WEIGHT
