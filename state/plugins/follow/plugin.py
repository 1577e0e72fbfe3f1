"""The plugin `follow`: relations of accounts, their blogs with own and reblogged posts, and the feeds of their followers.
Source: block-processing.md §7.4; rpc-api.md §6.4.
"""

from collections.abc import Iterator

from state.effects.comments import comment_of, find_comment
from state.operations.content import Comment, DeleteComment
from state.operations.custom import CustomBinary, CustomJson
from state.plugins.follow.operations import FollowOperation, Inner, read_bare, read_operations
from state.plugins.follow.operations import ReblogOperation as Reblog
from state.plugins.follow.portable import export_rows, import_rows
from state.plugins.follow.rows import BLOG, IGNORE, WORDS, BlogAuthor, Follow, FollowIndex, add_to_counts
from state.plugins.plugin import Plugin, bound
from state.plugins.reputation import REPUTATION
from state.plugins.reputation import install as install_reputations
from state.protocol.errors import ChainError, Refused, require
from state.store.serializers import ListsPart, SnapshotPart, TablePart, tables
from state.tables import State

CUSTOM_ID = "follow"
FEEDS = "feeds of followers"
FOLLOWERS_AT_ONCE = 10
# Work units per FOLLOWERS_AT_ONCE feeds. A post adds an entry to each feed. A reblog searches for the post, and also adds a row.
POST_UNITS, REBLOG_UNITS = 8, 20


def install(state: State) -> FollowIndex:
    """Create the tables, and register listeners and the interpreter of custom operations with the id `follow`."""
    # Share the table of the plugin `reputation` if that is enabled.
    reputations = REPUTATION.find(state)
    kept = FollowIndex(state, install_reputations(state) if reputations is None else reputations)
    state.interpreters[CUSTOM_ID] = bound(interpret, kept)
    on = state.listeners.on_operation
    on(bound(forget_deleted, kept), DeleteComment, after=False)
    on(bound(apply_bare, kept), CustomJson)
    on(bound(spread, kept), Comment)
    return kept


def interpret(state: State, kept: FollowIndex, operation: CustomJson | CustomBinary) -> None:
    """Apply the operations inside a custom operation, or refuse it."""
    apply_all(state, kept, read_operations(state.wire.codecs, operation))


def apply_bare(state: State, kept: FollowIndex, operation: CustomJson) -> None:
    """Apply a payload that consists of the bare fields of a follow operation, a form of the chain's first years.

    This function runs after the custom operation. The interpreter refuses payloads of this form, so nodes no longer accept transactions
    with them. Old blocks contain such transactions, and in blocks the interpreter's refusals have no effect. An invalid payload is ignored.
    A payload that is valid both in this form and in another one is applied twice, as on the reference.
    """
    if operation.id != CUSTOM_ID:
        return
    inner = read_bare(state.wire.codecs, operation)
    if not inner:
        return
    mark = state.journal.position()
    try:
        apply_all(state, kept, inner)
    except ChainError:
        state.journal.undo(mark)


def apply_all(state: State, kept: FollowIndex, operations: tuple[Inner, ...]) -> None:
    """Apply the operations of a custom operation in order."""
    for operation in operations:
        if isinstance(operation, FollowOperation):
            apply_follow(state, kept, operation)
        else:
            apply_reblog(state, kept, operation)


def apply_follow(state: State, kept: FollowIndex, operation: FollowOperation) -> None:
    """Set the relation of an account to another account. Unknown values in `what` are ignored."""
    what = 0
    for word in operation.what:
        what |= WORDS.get(word, 0)
    if what == BLOG | IGNORE:
        raise Refused("Cannot follow blog and ignore author at the same time", condition="!( what & ( 1 << blog ) )")

    row = kept.follows.by_pair.get(operation.follower, operation.following)
    before = 0 if row is None else row.what
    if row is None:
        row = kept.follows.insert(Follow(follower=operation.follower, following=operation.following, what=what))
        kept.relations.append(operation.following, row.id)
    else:
        kept.follows.modify(row, what=what)
    change = bool(what & BLOG) - bool(before & BLOG)
    add_to_counts(kept.counts, operation.follower, following=change)
    add_to_counts(kept.counts, operation.following, followers=change)
    for changed in kept.on_change:
        changed(state, operation, before, what)


def apply_reblog(state: State, kept: FollowIndex, operation: Reblog) -> None:
    """Add a post to an account's blog and to its followers' feeds."""
    comment = comment_of(state, operation.author, operation.permlink)
    require(not comment.parent_author, "Only top level posts can be reblogged", condition="c.parent_author.size() == 0")
    require(
        kept.blogs.find(operation.account, comment.id) is None,
        "Account has already reblogged this post",
        condition="blog_itr == blog_comment_idx.end()",
    )

    now = state.head_time
    kept.blogs.add(operation.account, comment.id, now)
    guest = kept.authors.by_pair.get(operation.account, comment.author)
    if guest is None:
        kept.authors.insert(BlogAuthor(blogger=operation.account, guest=comment.author, count=1))
    else:
        kept.authors.modify(guest, count=guest.count + 1)
    for follower in counted_followers(state, kept, operation.account, REBLOG_UNITS):
        kept.feeds.reblog(follower, comment.id, operation.account, now)


def spread(state: State, kept: FollowIndex, operation: Comment) -> None:
    """Add a new post to its author's blog and to the feeds of the author's followers, after the comment operation."""
    if operation.parent_author:
        return
    comment = find_comment(state, operation.author, operation.permlink)
    # If a post is edited in the block that created it, the edit looks like a new post. The blog then already contains the post, and only
    # accounts that have followed the author in the meantime get it in their feeds.
    if comment is None or comment.created != state.head_time:
        return
    known = kept.blogs.find(operation.author, comment.id) is not None
    for follower in counted_followers(state, kept, operation.author, POST_UNITS):
        if not known or not kept.feeds.holds(follower, comment.id):
            kept.feeds.add(follower, comment.id)
    if not known:
        kept.blogs.prune(comment.author)
        # Share the objects of the comment's row. The operation's objects would stay in memory only for this entry.
        kept.blogs.add(comment.author, comment.id)


def counted_followers(state: State, kept: FollowIndex, account: str, units: int) -> Iterator[str]:
    """Yield the followers of an account's blog, and count the work for their feeds: `units` per FOLLOWERS_AT_ONCE followers.

    For the first post of a transaction, the work limit is raised by as much as the followers need, since a client can't split a post.
    """
    followers = [row.follower for row in map(kept.follows.peek, kept.relations.get(account)) if row is not None and row.what & BLOG]
    state.work.allow(-(-len(followers) // FOLLOWERS_AT_ONCE) * units, FEEDS)
    for place in range(0, len(followers), FOLLOWERS_AT_ONCE):
        state.work.spend(units, FEEDS)
        yield from followers[place : place + FOLLOWERS_AT_ONCE]


def forget_deleted(state: State, kept: FollowIndex, operation: DeleteComment) -> None:
    """Remove a post from all blogs and feeds before it is deleted."""
    comment = find_comment(state, operation.author, operation.permlink)
    if comment is None or comment.parent_author:
        return
    for entry in list(kept.blogs.of_comment(comment.id)):
        kept.blogs.remove(entry)
    kept.feeds.forget(comment.id)


def parts(state: State, kept: FollowIndex) -> dict[str, SnapshotPart]:
    """Return the snapshot parts of the plugin's data. The part for reputations is always named after the plugin `reputation`."""
    own = tables(kept, "follows", "counts", "blogs.entries", "blogs.spans", "feeds.reblogged", "authors")
    lists: dict[str, SnapshotPart] = {
        "relations": ListsPart(kept.relations, str, int),
        "feeds.places": ListsPart(kept.feeds.places, str, int),
    }
    shared: dict[str, SnapshotPart] = {} if REPUTATION.is_on(state) else {f"{REPUTATION.name}/rows": TablePart(kept.reputations)}
    return own | lists | shared


FOLLOW = Plugin(
    "follow",
    FollowIndex,
    install,
    serves=("follow_api",),
    uses=(REPUTATION,),
    parts=parts,
    unsaved=("reputations", "on_change", "blogs._comments", "feeds._comments"),
    import_rows=import_rows,
    export_rows=export_rows,
)
