"""Which comments carry which tags, and the lists of discussions under them. Nothing here ever refuses.

An entry shows its comment as it was when the comment, or something below it, was last written, voted on or paid.
Source: block-processing.md §7.6; rpc-api.md §6.5.
"""

from collections.abc import Iterator
from itertools import islice
from string import ascii_lowercase, ascii_uppercase

from msgspec import Struct

from state.effects.comments import find_comment
from state.operations.content import Comment, DeleteComment, Vote
from state.operations.transfers import Transfer
from state.plugins.tags.rows import (
    AuthorTag,
    AuthorTags,
    Notes,
    Place,
    StaleRoot,
    StaleRoots,
    TagCounter,
    TagCounters,
    Tagged,
    TaggedComments,
    TagRest,
    TagRests,
    added,
    contribution_of,
)
from state.plugins.tags.view import TagEntry, TagStats, View
from state.protocol.constants import COIN_NULL_ACCOUNT, TIME_MAX
from state.protocol.errors import ChainError
from state.protocol.values import jsontext, text
from state.protocol.values.asset import SBD
from state.protocol.values.convert import to_array, to_text
from state.protocol.virtual import CommentPayoutUpdate, CommentReward, Hardfork
from state.tables import State
from state.tables.content import Comment as CommentRow

NAME = "tags"
TAGS_MAX = 5  # of a comment's metadata, in their order as texts
TAG_BYTES_MAX = 32
SMALL_LETTERS = str.maketrans(ascii_uppercase, ascii_lowercase)
SCANNED_PER_FOUND = 10  # A list looks at no more than so many entries for each that it may hold.


class Tags:
    """What the plugin keeps."""

    def __init__(self, state: State) -> None:
        journal = state.journal
        self.tagged = TaggedComments(journal)
        self.rests = TagRests(journal)
        self.authors = AuthorTags(journal)
        self.counters = TagCounters(journal)
        self.counters.insert(TagCounter())
        self.stale = StaleRoots(journal)
        self.notes = Notes(journal)
        self.view = View(self.tagged, self.rests, self.notes)


def install(state: State) -> Tags:
    """Make the tables and listen."""
    on = state.listeners.on_operation
    on(forget_deleted, DeleteComment, after=False)
    on(follow_comment, Comment)
    on(follow_vote, Vote)
    on(follow_payout, CommentPayoutUpdate)
    on(follow_reward, CommentReward)
    on(promote, Transfer)
    on(follow_hardfork, Hardfork)
    return Tags(state)


def plugin(state: State) -> Tags:
    """What the plugin keeps on this state."""
    kept: Tags = state.plugins[NAME]
    return kept


class Order(Struct, frozen=True):
    """An order in which discussions are listed: an index of the entries, and what it is sorted by before the number."""

    index: str
    fields: tuple[str, ...]
    rshares_min: int | None = None  # Comments with fewer are passed over.


ORDERS = {
    "trending": Order("by_trending", ("tag", "parent", "trending"), 1),
    "hot": Order("by_hot", ("tag", "parent", "hot"), 1),
    "created": Order("by_created", ("tag", "parent", "created")),
    "active": Order("by_active", ("tag", "parent", "active")),
    "votes": Order("by_votes", ("tag", "parent", "net_votes")),
    "children": Order("by_children", ("tag", "parent", "children")),
    "promoted": Order("by_promoted", ("tag", "parent", "promoted")),
    "cashout": Order("by_cashout", ("tag", "cashout"), 0),
    "post_payout": Order("by_payout", ("tag", "is_reply", "net_rshares"), 1),
    "comment_payout": Order("by_payout", ("tag", "is_reply", "net_rshares"), 1),
}

# ------------------------------------------------------------------ reading


def discussions(
    state: State,
    order: str,
    tag: str,
    limit: int,
    *,
    parent: int = 0,
    start: int | None = None,
    since: int = 0,
    hidden: frozenset[str] = frozenset(),
) -> list[TagEntry]:
    """The entries of a tag ("": of all comments with any) in one of ORDERS: root posts, or replies to `parent`.

    `start` is the id of the comment to begin at; one without the tag is passed over. `since` is the earliest time of payout
    in the order `cashout`. Comments with one of the `hidden` tags are left out.
    """
    entries = walk(state, ORDERS[order], tag, order_group(order, parent), start, since)
    found: list[TagEntry] = []
    for entry in islice(entries, SCANNED_PER_FOUND * limit):
        if order == "promoted" and not entry.promoted:
            break
        if order == "cashout" and entry.parent != parent:
            continue
        least = ORDERS[order].rshares_min
        if least is not None and state.comments.find(entry.comment).net_rshares < least:
            continue
        if hidden and not hidden.isdisjoint(tags_of(state, entry.comment)):
            continue
        found.append(entry)
        if len(found) == limit:
            break
    return found


def order_group(order: str, parent: int) -> tuple[int | bool, ...]:
    """What the entries of a list have in common beside the tag, in the terms of the index."""
    match order:
        case "cashout":
            return ()
        case "post_payout" | "comment_payout":
            return (order == "comment_payout",)
        case _:
            return (parent,)


def walk(state: State, order: Order, tag: str, group: tuple[int | bool, ...], start: int | None, since: int) -> Iterator[TagEntry]:
    """The entries of one tag and group in an order, from the entry of a comment on if it has one."""
    view = plugin(state).view
    index = getattr(view.entries, order.index)
    first = None if start is None else view.entry(tag, start)
    prefix = (tag, *group) if group else (tag, since)
    if first is not None:
        prefix = (*[getattr(first, field) for field in order.fields], first.number)
    common = order.fields[: 1 + len(group)]
    for entry in index.starting(*prefix):
        if tuple([getattr(entry, field) for field in common]) != (tag, *group):
            return
        yield entry


def trending_tags(state: State, start: str, limit: int) -> list[TagStats]:
    """Tags by trending score, from the rank of the first one that is not below `start` by name on; "" is the whole list."""
    stats = plugin(state).view.stats
    if not start:
        return list(islice(stats.by_trending, limit))
    first = next(stats.by_name.starting(start), None)
    return [] if first is None else list(islice(stats.by_trending.starting(first.total_trending, first.tag), limit))


def tags_by_author(state: State, author: str) -> Iterator[AuthorTag]:
    """The tags that an author has used, the most frequent ones first."""
    return plugin(state).authors.by_author.equal(author)


def tags_of(state: State, comment: int) -> tuple[str, ...]:
    """The tags that a comment has entries under."""
    row = plugin(state).tagged.by_comment.get(comment)
    return () if row is None else tuple([tag for tag, _, _ in row.tags])


def promoted(state: State, comment: int) -> int | None:
    """What was paid to promote a comment, in SBD; None without entries."""
    row = plugin(state).tagged.by_comment.get(comment)
    return None if row is None else row.tags[0][2]


# ------------------------------------------------------------------ what changes entries


def follow_comment(state: State, operation: Comment) -> None:
    """A comment was written or edited: one with metadata says which tags it has."""
    comment = find_comment(state, operation.author, operation.permlink)
    if comment is None:
        return
    kept = plugin(state)
    if operation.json_metadata:
        retag(state, kept, comment)
        update_above(state, kept, comment)
    else:
        update(state, kept, comment)


def follow_vote(state: State, operation: Vote) -> None:
    """A comment was voted on. Before hardfork 17 that moved the payout of its whole discussion."""
    comment = find_comment(state, operation.author, operation.permlink)
    if comment is None:
        return
    kept = plugin(state)
    refresh(state, kept, comment)
    # What it replies to is shown as it is, but for few discussions: a vote changes nothing there.
    if comment.parent_author and (state.hardfork < 17 or kept.stale.by_root.get(comment.root_comment) is not None):
        update_above(state, kept, comment)


def follow_payout(state: State, operation: CommentPayoutUpdate) -> None:
    """A comment's payout is over."""
    comment = find_comment(state, operation.author, operation.permlink)
    if comment is not None:
        update(state, plugin(state), comment)


def follow_reward(state: State, operation: CommentReward) -> None:
    """A comment was paid: its tags count that, those that it would get now."""
    comment = find_comment(state, operation.author, operation.permlink)
    if comment is None:
        return
    kept = plugin(state)
    update(state, kept, comment)
    for tag in wanted_tags(state, comment):
        rest = rest_of(kept, stored(tag))
        kept.rests.modify(rest, total_payout=rest.total_payout + operation.payout.amount)
        kept.notes.tag(rest.tag)


def promote(state: State, operation: Transfer) -> None:
    """SBD that is destroyed with a post's name as memo promotes the post."""
    if operation.to != COIN_NULL_ACCOUNT or operation.amount.symbol != SBD:
        return
    parts = operation.memo.split("/")
    if len(parts) < 2 or not parts[0].startswith("@"):
        return
    comment = find_comment(state, parts[0][1:], parts[1])
    if comment is None or comment.parent_author:
        return
    kept = plugin(state)
    row = kept.tagged.by_comment.get(comment.id)
    if row is not None and row.cashout != TIME_MAX:
        places = tuple([(tag, number, paid + operation.amount.amount) for tag, number, paid in row.tags])
        kept.tagged.modify(row, tags=places)
        kept.notes.comment(comment.id)


def follow_hardfork(state: State, operation: Hardfork) -> None:
    """Hardfork 17 moved the payout of every comment."""
    if operation.hardfork_id == 17:
        kept = plugin(state)
        for row in kept.tagged:
            note_stale(kept, state.comments.find(row.comment))


def forget_deleted(state: State, operation: DeleteComment) -> None:
    """A comment that is about to be deleted leaves all tags, which go on counting it."""
    comment = find_comment(state, operation.author, operation.permlink)
    if comment is None:
        return
    kept = plugin(state)
    row = kept.tagged.by_comment.get(comment.id)
    if row is not None:
        count_on(kept, row, row.tags)
        drop(kept, row)
    if comment.parent_author:
        note_stale(kept, comment)


# ------------------------------------------------------------------ rules


def update(state: State, kept: Tags, comment: CommentRow) -> None:
    """Show a comment, and all above it, as they are now."""
    refresh(state, kept, comment)
    update_above(state, kept, comment)


def update_above(state: State, kept: Tags, comment: CommentRow) -> None:
    """Show all that a comment replies to as it is now."""
    above: CommentRow | None = comment
    while above is not None and above.parent_author:
        above = find_comment(state, above.parent_author, above.parent_permlink)
        if above is not None:
            refresh(state, kept, above)


def refresh(state: State, kept: Tags, comment: CommentRow) -> None:
    """Show a comment under its tags as it is now; one that is paid leaves them."""
    row = kept.tagged.by_comment.get(comment.id)
    if row is None:
        return
    if comment.cashout_time == TIME_MAX:
        drop(kept, row)
    else:
        show(kept, row, comment)


def note_stale(kept: Tags, comment: CommentRow) -> None:
    """Something in a comment's discussion is not shown as it is."""
    if kept.stale.by_root.get(comment.root_comment) is None:
        kept.stale.insert(StaleRoot(root=comment.root_comment))


def show(kept: Tags, row: Tagged, comment: CommentRow) -> None:
    """Copy what a comment's entries show of it, if that has changed."""
    if (
        row.net_rshares != comment.net_rshares
        or row.net_votes != comment.net_votes
        or row.children != comment.children
        or row.active != comment.active
        or row.cashout != comment.cashout_time
    ):
        kept.tagged.modify(row, **shown(comment))
        kept.notes.comment(comment.id)


def shown(comment: CommentRow) -> dict[str, int]:
    """What a comment's entries show of it."""
    return {
        "net_rshares": comment.net_rshares,
        "net_votes": comment.net_votes,
        "children": comment.children,
        "active": comment.active,
        # Before hardfork 17 a reply is paid with its root and has no time of its own, so its new entries come last in the order of payouts.
        "cashout": comment.cashout_time,
    }


def retag(state: State, kept: Tags, comment: CommentRow) -> None:
    """Give a comment the tags that its metadata names now."""
    wanted = wanted_tags(state, comment)
    row = kept.tagged.by_comment.get(comment.id)
    old = () if row is None else row.tags
    stay = [place for place in old if place[0] in wanted]
    if comment.cashout_time == TIME_MAX:
        # A paid comment's entries go when they are updated; those that are new stay until the next time.
        stay = []
        note_stale(kept, comment)
    gone = [place for place in old if place[0] not in wanted]
    known = {tag for tag, _, _ in old}
    fresh = [stored(tag) for tag in wanted if tag not in known]
    if row is not None and gone:
        count_on(kept, row, gone)
        for tag, _, _ in gone:
            count_use(kept, comment.author, tag, -1)
    places = (*stay, *enter(kept, comment.author, fresh))
    if not places:
        if row is not None:
            drop(kept, row)
        return
    if row is None:
        parent = parent_id(state, comment)
        kept.tagged.insert(Tagged(comment=comment.id, parent=parent, created=comment.created, tags=places, **shown(comment)))
        kept.notes.comment(comment.id)
        return
    if places != old:
        kept.tagged.modify(row, tags=places)
        kept.notes.comment(comment.id)
    show(kept, row, comment)


def enter(kept: Tags, author: str, tags: list[str]) -> list[Place]:
    """Numbered places for new entries of an author."""
    if not tags:
        return []
    counter = kept.counters.find(0)
    first = counter.following
    kept.counters.modify(counter, following=first + len(tags))
    for tag in tags:
        rest_of(kept, tag)
        count_use(kept, author, tag, 1)
    return [(tag, number, 0) for number, tag in enumerate(tags, first)]


def drop(kept: Tags, row: Tagged) -> None:
    """Take all entries of a comment away."""
    kept.notes.comment(row.comment)
    kept.tagged.remove(row)


def count_on(kept: Tags, row: Tagged, places: Iterator[Place] | list[Place] | tuple[Place, ...]) -> None:
    """Let tags go on counting entries that are about to go, with what these showed last."""
    counted = contribution_of(row)
    for tag, _, _ in places:
        rest = rest_of(kept, tag)
        kept.rests.modify(rest, beyond=added(rest.beyond, counted))
        kept.notes.tag(tag)


def count_use(kept: Tags, author: str, tag: str, change: int) -> None:
    """Count how often an author has used a tag."""
    row = kept.authors.by_pair.get(author, tag)
    if row is None:
        kept.authors.insert(AuthorTag(author=author, tag=tag, total_posts=change))
    else:
        kept.authors.modify(row, total_posts=row.total_posts + change)


def rest_of(kept: Tags, tag: str) -> TagRest:
    """The row of a tag, which is made at its first use."""
    row = kept.rests.by_tag.get(tag)
    if row is None:
        row = kept.rests.insert(TagRest(tag=tag))
        kept.notes.tag(tag)
    return row


def parent_id(state: State, comment: CommentRow) -> int:
    """The id of what a comment replies to, 0 for a post; replies to the first comment of a chain count as posts therefore."""
    if not comment.parent_author:
        return 0
    parent = find_comment(state, comment.parent_author, comment.parent_permlink)
    return 0 if parent is None else parent.id


# ------------------------------------------------------------------ tags of a comment


def wanted_tags(state: State, comment: CommentRow) -> list[str]:
    """The tags that a comment has by its metadata, in order; "" stands for all comments that are not voted below zero."""
    content = state.comment_contents.by_comment.get(comment.id)
    tags = set() if content is None or not content.json_metadata else named_tags(content.json_metadata)
    if comment.net_rshares >= 0:
        tags.add("")
    return in_order(tags)


def named_tags(metadata: str) -> set[str]:
    """The first tags that metadata names, in small letters; what can't be read names none."""
    try:
        value = jsontext.read(metadata)
        named = {to_text(tag) for tag in to_array(value.get("tags", []))} if type(value) is dict else set()
    except ChainError:
        return set()
    return {tag.translate(SMALL_LETTERS) for tag in in_order(named)[:TAGS_MAX] if tag}


def in_order(tags: set[str]) -> list[str]:
    """Tags as their bytes are ordered."""
    return sorted(tags) if all(map(str.isascii, tags)) else sorted(tags, key=text.encode)


def stored(tag: str) -> str:
    """As much of a tag as is kept."""
    return text.cut(tag, TAG_BYTES_MAX)
